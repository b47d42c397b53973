"""The stages chained, over a run folder.

Each stage is entered in the manifest when it is finished and not done again. Discovery and execution keep every session as
soon as it is over and go on behind it; the other stages are made at once and start over when they were interrupted. What a
model had answered by then comes from the call store.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from agenteval.llm.calls import CallStore
from agenteval.llm.limiter import Limiter
from agenteval.llm.model import Model, Usage
from agenteval.llm.wrappers import Budget, Ledger
from agenteval.profiles import Profile, Role, build
from agenteval.store import Run
from agenteval.tester.abstract import abstract
from agenteval.tester.gates import gate_strength, gated_completions
from agenteval.tester.graph import mine
from agenteval.types import Failure, Graph, LabelledTrace, Test, TestRun, Trace, Verdict

STORE = Path(".agenteval/calls.sqlite")
PICTURES = ("svg", "png", "pdf")

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


def silent(stage: str, done: int, total: int) -> None:
    pass


def model_names(profile: Profile, roles: Sequence[Role] = ("tester",)) -> dict[str, str]:
    """Who plays each role, for the manifest: another model is another run. The rules are named with their hash."""
    from agenteval.tester.rules.model import rules_hash

    names = {}
    for role in roles:
        spec = getattr(profile, role)
        names[role] = f"rules@{rules_hash()}" if spec.provider == "rules" else f"{spec.provider}:{spec.model or ''}"
    return names


def versions() -> dict[str, str]:
    names = ("networkx", "numpy", "openai", "pandas", "pydantic", "pygraphviz", "scikit-learn", "scipy")
    from agenteval import __version__

    return {"agenteval": __version__, "python": platform.python_version(), **{n: metadata.version(n) for n in names}}


class Purse:
    """What the stages of one process share: models by role, what was spent, and the caps.

    Use as a context manager: what was negotiated with the endpoints goes to the manifest at the end, also after an error.
    """

    def __init__(
        self,
        run: Run,
        profile: Profile,
        *,
        store: Path = STORE,
        budget: Budget = Budget(),
        concurrency: int = 4,
        log: str = "calls",
    ):
        self.log = log  # where each call leaves a line: those of an auditor are privileged
        self.run = run
        self.profile = profile
        self.store = store
        self.budget = budget
        self.concurrency = concurrency
        self.ledger = _ledger(run, profile, log)
        self.limiters: dict[str, Limiter] = {}
        self.bare: dict[str, Model] = {}
        self._stores: list[CallStore] = []

    def __enter__(self) -> Purse:
        return self

    def __exit__(self, *_: object) -> None:
        found = {role: model.negotiated for role, model in self.bare.items() if hasattr(model, "negotiated")}
        if found:
            self.run.save_manifest(negotiated={**self.run.manifest.get("negotiated", {}), **found})

    def model(self, role: Role) -> Model:
        """The wrapped model of a role."""
        spec = getattr(self.profile, role)
        wrapped, self.bare[role] = build(
            spec, store=self._store, ledger=self.ledger, budget=self.budget, write=lambda line: self.run.append_raw(self.log, line),
            limiters=self.limiters, concurrency=self.concurrency, negotiated=self.run.manifest.get("negotiated", {}).get(role),
        )  # fmt: skip
        return wrapped

    def _store(self) -> CallStore:
        if not self._stores:
            self._stores.append(CallStore(self.store))
        return self._stores[0]

    def spent(self) -> dict[str, Any]:
        return {"calls": self.ledger.calls, "usage": self.ledger.usage.model_dump(), "cost": self.ledger.cost}


def _ledger(run: Run, profile: Profile, log: str) -> Ledger:
    """What earlier sessions of this run spent."""
    prices = {s.model: s.price for s in (profile.tester, profile.judge, profile.auditor) if s is not None}
    calls, usage, cost = 0, Usage(), 0.0
    known = True
    for line in run.lines(log):
        if line["usage"] is not None and not line["stored"]:
            one = Usage.model_validate(line["usage"])
            calls, usage = calls + 1, usage + one
            price = prices.get(line["model"])
            known = known and price is not None
            cost += 0.0 if price is None else (one.input * price.input + one.output * price.output) / 1e6
    return Ledger(calls, usage, cost if known and calls else None)


def abstract_stage(run: Run, purse: Purse, seed: int, progress: Progress) -> dict[str, Any]:
    """Label the traces of a run folder."""
    traces = run.read("traces", Trace)
    labels = abstract(
        traces, purse.model("tester"), limit=purse.profile.tester.max_input_tokens, seed=seed,
        progress=lambda done, total: progress("label", done, total),
    )  # fmt: skip
    failures = [f for f in run.read("failures", Failure) if f.stage != "abstract"]
    run.replace("failures", [*failures, *labels.failures])
    run.replace("labels", labels.labelled)
    return {"labelled": len(labels.labelled), "chunks": labels.chunks, **purse.spent()}


def graph_stage(run: Run, progress: Progress) -> dict[str, Any]:
    """Mine, draw and export the graph of a run folder."""
    from agenteval.analysis.draw import draw_all
    from agenteval.transcripts import exports

    traces = run.read("traces", Trace)
    labelled = run.read("labels", LabelledTrace)
    failures = run.read("failures", Failure)
    graph = mine(labelled)
    run.write_json("graph", graph)
    summary = summarise(graph, traces, labelled, failures)
    strengths = gate_strength(labelled)
    progress("draw", 0, 1)
    pictures = draw_all(graph, PICTURES, strengths=strengths)
    for kind, data in pictures.items():
        run.write_file(f"exports/graph.{kind}", data)
    run.write_file("exports/graph.dot", exports.dot(graph))
    run.write_file("exports/graph.mmd", exports.mermaid(graph))
    run.write_file("exports/graph.graphml", exports.graphml(graph))
    run.write_file("exports/events.csv", exports.events_csv(labelled, traces))
    run.write_file("exports/events.xes", exports.xes(labelled))
    progress("draw", 1, 1)
    return {"summary": summary}


def write_report(run: Run) -> None:
    """Write the page of a run, as far as the run has come.

    Times and money stand in the manifest only: after an interruption they may differ, and the page may not.
    """
    from agenteval.analysis.report import mining_report
    from agenteval.analysis.results import audit_section, cost_section, tests_section

    picture = run.path / "exports" / "graph.svg"
    drawn = run.closed("graph")
    labelled = run.read("labels", LabelledTrace)
    failures = run.read("failures", Failure)
    tests = run.read("plan", Test)
    sections = (
        [tests_section(tests, run.read("runs", TestRun), run.read("verdicts", Verdict), failures)] if tests else []
    )
    if run.manifest.get("audit"):
        sections.insert(0, audit_section(run.manifest["audit"]))
    config = run.manifest["config"]
    facts = {
        "input": config["source"], "profile": config["profile"], **dict(sorted(config["models"].items())),
        "agenteval": run.manifest["versions"]["agenteval"],
    }  # fmt: skip
    if run.manifest.get("isolated") is False:
        facts["sessions"] = "one after the other: the agent's reset does not keep sessions apart"
    page = mining_report(
        run.read_json("graph", Graph) if drawn else Graph(), svg=picture.read_bytes() if drawn else b"<svg/>",
        traces=run.read("traces", Trace), labelled=labelled, failures=failures, strengths=gate_strength(labelled), facts=facts,
        sections=sections, cost=cost_section(run.lines("visible/calls")),
    )  # fmt: skip
    run.write_file("report.html", page)


def summarise(
    graph: Graph, traces: list[Trace], labelled: list[LabelledTrace], failures: list[Failure]
) -> dict[str, Any]:
    """The figures of a mined graph."""
    from agenteval.analysis.saturation import saturation

    completions, gated = gated_completions(labelled)
    unseen = saturation(graph)
    return {
        "conversations": len(traces),
        "labelled": len(labelled),
        "turns": sum(len(t.turns) for t in labelled),
        "failed_turns": sum(turn.activity == "" for t in labelled for turn in t.turns),
        "states": len(graph.states),
        "transitions": len(graph.transitions),
        "singletons": sum(s.support == 1 for s in graph.states),
        "unseen_states": _share(unseen.states.share),
        "unseen_transitions": _share(unseen.transitions.share),
        "entries": len(graph.entries),
        "ends": len(graph.ends),
        "completions": completions,
        "completions_after_gate": gated,
        "failures": dict(sorted(Counter(f.reason for f in failures).items())),
    }


def _share(value: float) -> float | None:
    return None if value != value else round(value, 4)
