"""Choosing the auditor's model (Table II): candidates by how far the behaviours that they find covered are an expert's.

The expert of scripted agents is the exact auditor, who reads the log. Agreement is the Jaccard overlap of the covered items;
what an estimate of it is worth is shown on auditors with a known rate of misses.
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Sequence

from agenteval.analysis.agreement import agreement
from agenteval.analysis.tables import Measurement
from agenteval.audit.records import Audit
from agenteval.commands.audit import audit_run
from agenteval.commands.experiments import Study
from agenteval.store import Run, derive_seed

EXPERT = "exact auditor"


def candidates(study: Study, profiles: Sequence[str]) -> list[Measurement]:
    """Let the auditors of some profiles audit copies of a study's finished cells, beside the exact auditor.

    Parameters
    ----------
    profiles
        Names of profiles; the auditor of each is a candidate.

    Returns
    -------
    list of Measurement
        `coverage recall` and `agreement` in [0, 1] of each candidate on each cell; its arm is the profile's name.
    """
    bench, found = study.bench, []
    for cell in study.cells:
        for name in profiles:
            out = bench.folder / f"{cell.folder}-auditor-{name}"
            if not out.exists():
                half = out.with_name(f".{out.name}")
                shutil.rmtree(half, ignore_errors=True)
                shutil.copytree(bench.folder / cell.folder, half)
                half.rename(out)
            audit_run(out, auditor="exact")
            rates = audit_run(
                out, auditor="model", profile=name, profiles=bench.profiles, store=bench.calls, budget=bench.budget
            )
            for metric, value in (
                ("coverage recall", rates["functional"]["coverage"]),
                ("agreement", rates["agreement"]["covered"]),
            ):
                found.append(Measurement(cell.domain, cell.wording, name, cell.seed, metric, round(value, 6)))
    return found


def expert(cells: Sequence[Measurement]) -> list[Measurement]:
    """The exact auditor's coverage recall, as a row of the table."""
    return [c._replace(arm=EXPERT, metric="coverage recall") for c in cells if c.metric == "functional coverage"]


def simulated(study: Study, missed: float, *, draws: int = 50) -> list[Measurement]:
    """Agreement, as estimated, of an auditor that overlooks each covered behaviour with a known probability.

    The answer is known: the expected Jaccard overlap is `1 - missed`, whatever the number of behaviours.
    """
    found = []
    for cell in study.cells:
        audits = Run(study.bench.folder / cell.folder).read("privileged/audit", Audit)
        truth = [audit for audit in audits if audit.kind == "functional"]
        covered = sorted({item for audit in truth if audit.valid for item in audit.covers})
        rng = random.Random(derive_seed(cell.seed, "auditor", cell.domain))
        estimates = []
        for _ in range(draws):
            lost = {item for item in covered if rng.random() < missed}
            weaker = [a.model_copy(update={"covers": tuple(i for i in a.covers if i not in lost)}) for a in truth]
            estimates.append(agreement(truth, weaker).covered)
        mean = math.nan if not covered else round(math.fsum(estimates) / draws, 6)
        found.append(Measurement(cell.domain, cell.wording, "simulated", cell.seed, "agreement", mean))
    return found
