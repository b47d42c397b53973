"""The stages chained: from recorded conversations to a mined graph, its pictures and its report.

Each stage is entered in the manifest when it is finished and not done again; a stage that was interrupted starts over,
and what a model had answered by then comes from the call store.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from agenteval.errors import FormatError
from agenteval.llm.calls import CallStore
from agenteval.llm.model import Usage
from agenteval.llm.wrappers import Budget, Ledger
from agenteval.profiles import Profile, build, load, secrets
from agenteval.store import Run, discard
from agenteval.tester.abstract import abstract, plan
from agenteval.tester.gates import gate_strength, gated_completions
from agenteval.tester.graph import mine
from agenteval.transcripts.files import Conversation, files, locate, read
from agenteval.transcripts.messages import split
from agenteval.types import Failure, Graph, LabelledTrace, ToolEvent, Trace

STORE = Path(".agenteval/calls.sqlite")
PICTURES = ("svg", "png", "pdf")

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


class Import(NamedTuple):
    """What reading gave."""

    traces: tuple[Trace, ...]
    tools: tuple[ToolEvent, ...]
    failures: tuple[Failure, ...]
    merged: int
    """User messages that were joined with the next one, because the agent did not answer between."""


def _silent(stage: str, done: int, total: int) -> None:
    pass


def import_transcripts(path: Path, format: str | None = None, *, limit: int | None = None) -> Import:
    """Read recorded conversations.

    Parameters
    ----------
    limit
        Stop after this many conversations.

    Raises
    ------
    FormatError
        Nothing in `path` is a conversation that can be used.
    """
    traces: list[Trace] = []
    tools: list[ToolEvent] = []
    failures: list[Failure] = []
    merged = position = 0
    for item in read(path, format):
        if isinstance(item, Failure):
            failures.append(item)
            continue
        if limit is not None and position >= limit:
            break
        imported = split(item, position)
        position += 1
        if isinstance(imported, Failure):
            failures.append(imported)
            _keep_error(item, tools)
            continue
        traces.append(imported.trace)
        tools += imported.tools
        merged += imported.merged
    if not traces:
        counted = ", ".join(f"{n} {reason}" for reason, n in sorted(Counter(f.reason for f in failures).items()))
        raise FormatError(f"{path}: no conversation could be read ({counted or 'the folder is empty'}); see --format")
    return Import(tuple(traces), tuple(tools), tuple(failures), merged)


def _keep_error(conversation: Conversation, tools: list[ToolEvent]) -> None:
    """The text of a recorded failure is not for the tester's eyes."""
    if conversation.error:
        tools.append(ToolEvent(id=conversation.name, turn=0, role="note", name="error", content=conversation.error))


def fingerprint(path: Path) -> str:
    """Hash of the names and contents of the input files."""
    digest = hashlib.sha256()
    for file in files(path):
        digest.update(file.relative_to(path.parent).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _model_names(profile: Profile) -> dict[str, Any]:
    from agenteval.tester.rules.model import rules_hash

    spec = profile.tester
    tester = f"rules@{rules_hash()}" if spec.provider == "rules" else f"{spec.provider}:{spec.model or ''}"
    return {"tester": tester, "max_input_tokens": spec.max_input_tokens}


def _versions() -> dict[str, str]:
    names = ("networkx", "numpy", "openai", "pandas", "pydantic", "pygraphviz", "scikit-learn", "scipy")
    from agenteval import __version__

    return {"agenteval": __version__, "python": platform.python_version(), **{n: metadata.version(n) for n in names}}


def mine_transcripts(
    source: str,
    out: Path | str,
    *,
    format: str | None = None,
    profile: str = "offline",
    profiles: Path | None = None,
    store: Path = STORE,
    seed: int = 0,
    limit: int | None = None,
    budget: Budget | None = None,
    fresh: bool = False,
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Mine a workflow graph from recorded conversations into a run folder.

    Parameters
    ----------
    source
        File, folder, or `example:NAME`.
    out
        The run folder. The same call again goes on where an earlier one was interrupted.
    seed
        Passed on to models that take one; the rules have no use for chance.
    progress
        Called with (stage, done, total).

    Returns
    -------
    dict
        The summary that `--json` prints.

    Raises
    ------
    UsageError
        Unusable input, profile or folder.
    ModelError, BudgetReached, StoreError
        Interrupted; everything finished is kept.
    """
    out = Path(out)
    path = locate(source)
    chosen = load(profile, profiles)
    config = {
        "command": "mine", "source": path.name, "input": fingerprint(path), "format": format, "limit": limit, "seed": seed,
        "profile": profile, "models": _model_names(chosen),
    }  # fmt: skip
    if fresh:
        discard(out)
    run = Run(out, config, secrets=secrets(chosen))
    run.save_manifest(versions=_versions())
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[Run], dict[str, Any]]) -> None:
        if not run.closed(stage):
            started = time.monotonic()
            facts = work(run)
            seconds[stage] = round(time.monotonic() - started, 3)
            run.close_stage(stage, [], seconds=seconds[stage], **facts)

    timed("read", lambda run: _read(run, path, format, limit, progress))
    timed("abstract", lambda run: _abstract(run, chosen, store, seed, budget or Budget(), progress))
    timed("graph", lambda run: _graph(run, progress))
    spent = {k: run.manifest["stages"]["abstract"][k] for k in ("calls", "usage", "cost")}
    return {**run.manifest["stages"]["graph"]["summary"], **spent, "folder": str(out), "seconds": seconds}


def _read(run: Run, path: Path, format: str | None, limit: int | None, progress: Progress) -> dict[str, Any]:
    progress("read", 0, 1)
    imported = import_transcripts(path, format, limit=limit)
    run.replace("privileged/tools", imported.tools)
    run.replace("failures", imported.failures)
    run.replace("traces", imported.traces)
    progress("read", 1, 1)
    return {"files": len(files(path)), "conversations": len(imported.traces), "merged_user_messages": imported.merged}


def _abstract(run: Run, profile: Profile, store: Path, seed: int, budget: Budget, progress: Progress) -> dict[str, Any]:
    traces = run.read("traces", Trace)
    ledger = _ledger(run)
    model, bare = build(
        profile.tester, store=lambda: CallStore(store), ledger=ledger, budget=budget,
        write=lambda line: run.append_raw("calls", line), limiters={}, negotiated=run.manifest.get("negotiated"),
    )  # fmt: skip
    try:
        labels = abstract(
            traces, model, limit=profile.tester.max_input_tokens, seed=seed,
            progress=lambda done, total: progress("label", done, total),
        )  # fmt: skip
    finally:
        negotiated = getattr(bare, "negotiated", None)
        if negotiated is not None:
            run.save_manifest(negotiated=negotiated)
    failures = [f for f in run.read("failures", Failure) if f.stage != "abstract"]
    run.replace("failures", [*failures, *labels.failures])
    run.replace("labels", labels.labelled)
    usage = ledger.usage.model_dump()
    return {"labelled": len(labels.labelled), "chunks": labels.chunks, "calls": ledger.calls, "usage": usage, "cost": ledger.cost}


def _ledger(run: Run) -> Ledger:
    """What earlier sessions of this run spent."""
    calls, usage = 0, Usage()
    for line in run.lines("calls"):
        if line["usage"] is not None and not line["stored"]:
            calls += 1
            usage += Usage.model_validate(line["usage"])
    return Ledger(calls, usage)


def _graph(run: Run, progress: Progress) -> dict[str, Any]:
    from agenteval.analysis.draw import draw_all
    from agenteval.analysis.report import mining_report
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
    config = run.manifest["config"]
    # Calls and tokens stand in the manifest: after an interruption they may differ, and the page may not.
    facts = {
        "input": config["source"], "profile": config["profile"], "tester": config["models"]["tester"],
        "agenteval": run.manifest["versions"]["agenteval"],
    }  # fmt: skip
    page = mining_report(
        graph, svg=pictures["svg"], traces=traces, labelled=labelled, failures=failures, strengths=strengths, facts=facts
    )
    run.write_file("report.html", page)
    progress("draw", 1, 1)
    return {"summary": summary}


def summarise(graph: Graph, traces: list[Trace], labelled: list[LabelledTrace], failures: list[Failure]) -> dict[str, Any]:
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


def estimate(source: str, *, format: str | None, profile: str, profiles: Path | None, limit: int | None) -> dict[str, Any]:
    """What `mine` would do (`--dry-run`): conversations, calls and tokens; nothing is written and nobody is asked."""
    chosen = load(profile, profiles)
    imported = import_transcripts(locate(source), format, limit=limit)
    calls, tokens = plan(imported.traces, chosen.tester.max_input_tokens)
    return {
        "conversations": len(imported.traces),
        "turns": sum(len(t.turns) for t in imported.traces),
        "failures": dict(sorted(Counter(f.reason for f in imported.failures).items())),
        "models": _model_names(chosen),
        "calls": calls,
        "input_tokens_estimated": tokens,
    }
