"""Every metric of one audited run, by the names that the tables use (design section 6).

What a run cannot show is NaN: guards of an agent without a privileged log, distinct boundaries without boundary tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agenteval.analysis import metrics
from agenteval.analysis.saturation import saturation
from agenteval.audit.records import Audit
from agenteval.chain import Settings, settings_of
from agenteval.commands.audit import audit_run
from agenteval.llm.wrappers import Budget
from agenteval.pipeline import STORE
from agenteval.store import Run
from agenteval.tester.abstract import abstract
from agenteval.types import Graph, LabelledTrace, Test, TestRun, Trace

RATES = ("FAR", "accuracy_conclusive", "accuracy_all", "inconclusive")
RAREFIED = 20
"""Valid boundary tests to which distinct boundaries are rarefied, so that arms with different |Tv| compare."""
FREE = {"prompt_only": {"labeller", "potential"}, "graph_context": {"potential"}, "structural_random": {"potential"}}
"""Roles whose calls an arm does not need, though they were made for the others over the same traces."""


def measure(
    out: Path, *, profiles: Path | None = None, store: Path = STORE, budget: Budget = Budget()
) -> dict[str, float]:
    """Audit a finished run and measure it.

    Returns
    -------
    dict
        Metric to value: rates in [0, 1], counts, tokens in millions or thousands as their names say.
    """
    rates = audit_run(out, profiles=profiles, store=store, budget=budget)
    run, settings = Run(out), settings_of(out)
    exact = run.file("privileged/audit").exists()
    audits = run.read("privileged/audit" if exact else "privileged/audit-model", Audit)
    found: dict[str, float] = {}
    for kind in ("functional", "boundary"):
        found |= _tests(kind, rates[kind])
    clusters = [a for a in audits if a.kind == "boundary"]
    found[f"boundary distinct of {RAREFIED} valid"] = metrics.rarefied(clusters, RAREFIED)
    if not settings.boundary:
        found["boundary distinct"] = math.nan  # not zero: none was asked for
    graph = run.read_json("graph", Graph)
    unseen = saturation(graph)
    found |= {
        "graph states": len(graph.states),
        "graph transitions": len(graph.transitions),
        "unseen states": unseen.states.share,
        "unseen transitions": unseen.transitions.share,
    }
    if settings.subject.startswith("scripted:"):
        found |= _guards(run, settings, audits)
    return {**found, "route replay rate": replay_rate(run), **cost(run, settings, found["boundary distinct"])}


def _tests(kind: str, rates: Mapping[str, Any]) -> dict[str, float]:
    found = {
        f"{kind} generated": rates["generated"],
        f"{kind} |T|": rates["delivered"],
        f"{kind} |Tv|": rates["valid"],
        f"{kind} validity": rates["validity as delivered"],
        f"{kind} validity as generated": rates["validity as generated"],
        **{f"{kind} {name}": rates[name] for name in RATES},
    }
    if kind == "functional":
        return {**found, "functional coverage": rates["coverage"]}
    proposed = rates.get("distinct as proposed")
    return {
        **found,
        "boundary distinct": rates["distinct"],
        "boundary duplicate rate": rates["duplicate rate"],
        "boundary distinct as proposed": math.nan if proposed is None else proposed,
        "boundary duplicate rate as proposed": rates.get("duplicate rate as proposed", math.nan),
    }


def _guards(run: Run, settings: Settings, audits: Iterable[Audit]) -> dict[str, float]:
    """What the privileged log tells: behaviours and guards met in discovery, guards stressed by boundary tests."""
    from agenteval.audit.dossier import scripted_dossier
    from agenteval.audit.exact import covered

    dossier = scripted_dossier(settings.subject)
    log = list(run.lines("privileged/tools"))
    discovered = [e for e in log if e["stage"] == "discover"]
    met = set(covered(discovered, dossier.inventory))
    items = {item for a in audits if a.valid for item in a.covers}
    evaluated = {e["guard"] for e in discovered if e["event"] == "guard"}
    runs = {r.id: r for r in run.read("runs", TestRun)}
    kinds = {t.id: t.kind for t in run.read("plan", Test)}
    stressed = {
        e["guard"] for e in log
        if e["event"] == "guard" and e["outcome"] == "failed" and e["stage"] == "run"
        and kinds[runs[e["id"]].test] == "boundary" and 0 < runs[e["id"]].perturbed <= e["turn"]
    }  # fmt: skip
    return {
        "inventory met in discovery": len(met),
        "functional coverage of met": metrics.share(len(items & met), len(met)),
        "guards met in discovery": len(evaluated),
        "guards stressed": len(stressed),
        "guards stressed of met": metrics.share(len(stressed & evaluated), len(evaluated)),
        "guards stressed of all": metrics.share(len(stressed), len(dossier.guards)),
    }


def replay_rate(run: Run) -> float:
    """Share of the boundary tests with a route that came to their perturbation in the state in which the route had ended.

    Discovery sessions and runs are labelled together by the offline rules, so that both have one vocabulary and the
    measurement asks no model.
    """
    from agenteval.tester.rules.model import Rules

    tests = {t.id: t for t in run.read("plan", Test)}
    traces = {t.id: t for t in run.read("traces", Trace)}
    routed: list[tuple[TestRun, Test, str]] = []
    for r in run.read("runs", TestRun):
        test = tests[r.test]
        route = [step.text for step in test.steps if step.part == "route"]
        if test.kind == "boundary" and route and test.session in traces:
            routed.append((r, test, route[-1]))
    if not routed:
        return math.nan
    again = [r.trace.model_copy(update={"id": r.id}) for r, _, _ in routed]
    labels = {t.id: t for t in abstract([*traces.values(), *again], Rules()).labelled}
    same = 0
    for r, test, said in routed:
        turn = _place(traces[test.session], said)
        there = _activity(labels.get(test.session), turn)
        same += bool(there) and there == _activity(labels.get(r.id), r.perturbed - 1)
    return same / len(routed)


def _place(trace: Trace, text: str) -> int:
    """Turn of a session, from 1, at which the user said a text; 0 when nowhere as it stands."""
    return next((n for n, turn in enumerate(trace.turns, 1) if turn.user.strip() == text.strip()), 0)


def _activity(labels: LabelledTrace | None, turn: int) -> str:
    return labels.turns[turn - 1].activity if labels and 0 < turn <= len(labels.turns) else ""


def cost(run: Run, settings: Settings, distinct: float) -> dict[str, float]:
    """Calls and tokens of a whole configuration, discovery included, and tokens for each distinct boundary (Table VIII).

    Calls that an interruption made twice count once, answers from the call store as if asked. A configuration without boundary
    tests needs no graph.
    """
    free = FREE.get(settings.arm, set()) if settings.boundary else {"labeller", "potential"}
    once = {
        (call["id"], call["repetition"], call["attempt"]): call["usage"]
        for call in run.lines("calls")
        if call["usage"] is not None and call["role"] not in free
    }
    spent = sum(usage["input"] + usage["output"] for usage in once.values())
    return {
        "LLM calls": len(once),
        "tokens (M)": spent / 1e6,
        "hours": hours(run, settings),
        "tokens per distinct boundary (K)": metrics.share(spent / 1e3, 0 if math.isnan(distinct) else distinct),
    }


def hours(run: Run, settings: Settings) -> float:
    """Wall time of the stages; NaN where no model was waited for."""
    if settings.profile in ("offline", "replay"):
        return math.nan
    return sum(stage.get("seconds", 0.0) for stage in run.manifest["stages"].values()) / 3600
