"""`agenteval audit`: the privileged auditor scores a run that the tester has finished."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from agenteval.analysis import metrics
from agenteval.audit.dossier import scripted_dossier
from agenteval.audit.exact import audit
from agenteval.audit.records import Audit
from agenteval.chain import settings_of
from agenteval.errors import RunFolderError
from agenteval.store import Run
from agenteval.types import Test, TestRun, Verdict


def audit_run(out: Path) -> dict[str, Any]:
    """Audit a run and keep the records in `privileged/audit.jsonl`.

    Returns
    -------
    dict
        Rates by kind of test; NaN where there was nothing to count.

    Raises
    ------
    RunFolderError
        The run is not finished, or its privileged log is missing.
    UsageError
        The subject keeps no log.
    """
    settings = settings_of(out)
    dossier = scripted_dossier(settings.subject)
    run = Run(out)
    if not run.closed("run"):
        raise RunFolderError(f"{out}: the plan was not run to its end; agenteval run -o {out} goes on")
    tests, runs = run.read("plan", Test), run.read("runs", TestRun)
    log = list(run.lines("privileged/tools"))
    if runs and not log:
        raise RunFolderError(f"{out}: privileged/tools.jsonl is missing or empty, so there is nothing to audit by")
    audits = audit([t for t in tests if t.enabled], runs, run.read("verdicts", Verdict), log, dossier, settings.brief)
    run.replace("privileged/audit", audits)
    return rates_by_kind(audits, run.manifest["stages"].get("plan", {}), dossier.inventory)


def rates_by_kind(audits: list[Audit], plan: dict[str, Any], inventory: Any) -> dict[str, Any]:
    """The benchmark's figures for functional and for boundary tests (design section 6)."""
    found: dict[str, Any] = {}
    for kind in ("functional", "boundary"):
        mine = [a for a in audits if a.kind == kind]
        generated = plan.get(kind, {}).get("generated")
        found[kind] = {
            "generated": generated,
            "delivered": len(mine),
            "valid": sum(a.valid for a in mine),
            "validity as generated": metrics.validity(mine, generated) if generated is not None else math.nan,
            "validity as delivered": metrics.validity(mine),
            "rejected": {r: n for r in sorted({a.reason for a in mine if a.reason}) if (n := sum(a.reason == r for a in mine))},
            **({"coverage": metrics.coverage(mine, inventory)} if kind == "functional" else {}),
            **({"distinct": metrics.distinct(mine), "duplicate rate": metrics.duplicates(mine)} if kind == "boundary" else {}),
            **metrics.rates(mine),
        }  # fmt: skip
    return found
