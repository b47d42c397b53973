"""`agenteval audit`: a privileged auditor scores a run that the tester has finished."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agenteval.analysis import metrics
from agenteval.analysis.agreement import agreement
from agenteval.audit import exact
from agenteval.audit.dossier import scripted_dossier
from agenteval.audit.records import Audit
from agenteval.chain import Settings, settings_of
from agenteval.commands import model_audit
from agenteval.errors import RunFolderError, UsageError
from agenteval.llm.wrappers import Budget
from agenteval.pipeline import STORE, Progress, silent, write_report
from agenteval.store import Run
from agenteval.types import Failure, Test, TestRun, Verdict

AUDITORS = ("exact", "model")


def audit_run(
    out: Path,
    *,
    auditor: str | None = None,
    profile: str | None = None,
    profiles: Path | None = None,
    dossier: Path | None = None,
    store: Path = STORE,
    budget: Budget = Budget(),
    concurrency: int = 4,
    fresh: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Audit a run and keep the records in `privileged/`; the report gets the numbers.

    Parameters
    ----------
    auditor
        `exact` or `model`; None takes the exact one for a scripted subject under the offline profile.
    profile
        The profile whose `auditor` is asked; None takes that of the run.
    dossier
        What the model auditor reads about a subject that comes without a dossier.
    tell
        Takes one line before the first call, and warnings.

    Returns
    -------
    dict
        Rates by kind of test, NaN where there was nothing to count; `agreement` where both auditors have been at work.

    Raises
    ------
    UsageError
        The run is not finished, or what the auditor needs is missing.
    """
    run, settings, tests = _opened(out)
    plan = run.manifest["stages"].get("plan", {})
    chosen = chosen_auditor(auditor, settings, profile)
    if chosen == "exact":
        audits, inventory = _exact(run, settings, tests)
        rates = rates_by_kind(audits, plan, inventory)
        _entered(run, "exact", rates)
    else:
        work = model_audit.open_audit(run, settings, tests, profile=profile, profiles=profiles, dossier=dossier, fresh=fresh)  # fmt: skip
        audits, failures, spent = model_audit.audit(
            work, store=store, budget=budget, concurrency=concurrency, progress=progress, tell=tell
        )
        rates = rates_by_kind(audits, plan, work.dossier.inventory, errors_by_kind(failures, tests))
        shared = model_audit.same_family(work)
        _entered(run, "model", rates, **work.config, **spent, warning=model_audit.warning(shared) if shared else None)
    both = run.manifest["audit"]
    if {"exact", "model"} <= set(both):
        known = {test.id for test in tests}
        truth, found = ([a for a in run.read(f"privileged/{name}", Audit) if a.id in known] for name in ("audit", "audit-model"))  # fmt: skip
        rates["agreement"] = agreement(truth, found)._asdict()
        run.save_manifest(audit={**both, "agreement": plain(rates["agreement"])})
    write_report(run)
    return rates


def estimate_run(
    out: Path,
    *,
    auditor: str | None = None,
    profile: str | None = None,
    profiles: Path | None = None,
    dossier: Path | None = None,
    fresh: bool = False,
) -> dict[str, Any]:
    """Calls and tokens that an audit may cost; the exact auditor asks nobody."""
    run, settings, tests = _opened(out)
    if chosen_auditor(auditor, settings, profile) == "exact":
        return {"roles": [], "calls": 0, "input": 0, "output": 0}
    return model_audit.estimate(
        model_audit.open_audit(run, settings, tests, profile=profile, profiles=profiles, dossier=dossier, fresh=fresh)
    )


def chosen_auditor(auditor: str | None, settings: Settings, profile: str | None) -> str:
    """The auditor that was asked for, or else the one that fits.

    Raises
    ------
    UsageError
        There is none of that name.
    """
    if auditor is None:
        offline = (profile or settings.profile) == "offline"
        return "exact" if settings.subject.startswith("scripted:") and offline else "model"
    if auditor not in AUDITORS:
        raise UsageError(f"unknown auditor {auditor[:60]!r}; expected {' or '.join(AUDITORS)}")
    return auditor


def _opened(out: Path) -> tuple[Run, Settings, list[Test]]:
    settings = settings_of(out)
    run = Run(out)
    if not run.closed("run"):
        raise RunFolderError(f"{out}: the plan was not run to its end; agenteval run -o {out} goes on")
    return run, settings, [t for t in run.read("plan", Test) if t.enabled][: settings.limit]


def _exact(run: Run, settings: Settings, tests: Sequence[Test]) -> tuple[list[Audit], Mapping[str, Any]]:
    dossier = scripted_dossier(settings.subject)
    runs, log = run.read("runs", TestRun), list(run.lines("privileged/tools"))
    if runs and not log:
        raise RunFolderError(
            f"{run.path}: privileged/tools.jsonl is missing or empty, so the exact auditor has nothing to audit by; "
            "--auditor model can do without it"
        )
    audits = exact.audit(tests, runs, run.read("verdicts", Verdict), log, dossier, settings.brief)
    run.replace("privileged/audit", audits)
    return audits, dossier.inventory


def _entered(run: Run, auditor: str, rates: Mapping[str, Any], **facts: Any) -> None:
    """Enter what an auditor found in the manifest, in numbers and codes."""
    entry = {**facts, **plain(rates)}
    run.save_manifest(audit={**run.manifest.get("audit", {}), auditor: entry})


def plain(value: Any) -> Any:
    """The same value for the manifest: JSON knows no NaN.

    >>> plain({"rate": float("nan"), "n": 1})
    {'n': 1, 'rate': None}
    """
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in sorted(value)}
    return None if isinstance(value, float) and math.isnan(value) else value


def errors_by_kind(failures: Iterable[Failure], tests: Sequence[Test]) -> dict[str, int]:
    """Tests without a record by kind, and how many calls about clusters failed (`clusters`)."""
    kinds = {test.id: test.kind for test in tests}
    return dict(Counter(kinds.get(failure.id, "clusters") for failure in failures))


def rates_by_kind(
    audits: Sequence[Audit], plan: Mapping[str, Any], inventory: Any, errors: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The benchmark's figures for functional and for boundary tests (design section 6).

    Parameters
    ----------
    errors
        How many tests of each kind have no record because a call failed: they stand in no rate. None where no call was made.
    """
    found: dict[str, Any] = {}
    for kind in ("functional", "boundary"):
        mine = [a for a in audits if a.kind == kind]
        missing = (errors or {}).get(kind, 0)
        generated = plan.get(kind, {}).get("generated")
        boundary = kind == "boundary"
        found[kind] = {
            "generated": generated,
            "delivered": len(mine) + missing,
            "valid": sum(a.valid for a in mine),
            **({"errors": missing} if errors is not None else {}),
            "validity as generated": metrics.validity(mine, generated - missing) if generated is not None else math.nan,
            "validity as delivered": metrics.validity(mine),
            "rejected": {r: n for r in sorted({a.reason for a in mine if a.reason}) if (n := sum(a.reason == r for a in mine))},
            **({"distinct": metrics.distinct(mine), "duplicate rate": metrics.duplicates(mine)} if boundary else {}),
            **({"coverage": metrics.coverage(mine, inventory)} if not boundary else {}),
            **(_proposed(mine, (errors or {}).get("clusters", 0)) if boundary and errors is not None else {}),
            **metrics.rates(mine),
        }  # fmt: skip
    return found


def _proposed(audits: Sequence[Audit], failed: int) -> dict[str, Any]:
    """The paper's variant of clustering beside ours, and the calls about clusters that failed."""
    theirs = [a.model_copy(update={"cluster": a.proposed}) for a in audits]
    known = all(a.proposed >= 0 for a in audits if a.card is not None)
    return {
        "distinct as proposed": metrics.distinct(theirs) if known else None,
        "duplicate rate as proposed": metrics.duplicates(theirs) if known else math.nan,
        "failed comparisons": failed,
    }
