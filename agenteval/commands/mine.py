"""`agenteval mine --from`: recorded conversations go in, a mined graph with pictures and a report comes out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agenteval.llm.wrappers import Budget
from agenteval.pipeline import (
    STORE,
    Progress,
    Purse,
    abstract_stage,
    graph_stage,
    model_names,
    silent,
    versions,
    write_report,
)
from agenteval.profiles import load, secrets
from agenteval.store import Run, discard
from agenteval.tester.abstract import plan
from agenteval.transcripts.files import files, locate
from agenteval.transcripts.imports import fingerprint, import_transcripts


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
    progress: Progress = silent,
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
        "profile": profile, "models": model_names(chosen), "max_input_tokens": chosen.tester.max_input_tokens,
    }  # fmt: skip
    if fresh:
        discard(out)
    run = Run(out, config, secrets=secrets(chosen))
    run.save_manifest(versions=versions())
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[Run], dict[str, Any]]) -> None:
        if not run.closed(stage):
            started = time.monotonic()
            facts = work(run)
            seconds[stage] = round(time.monotonic() - started, 3)
            run.close_stage(stage, [], seconds=seconds[stage], **facts)

    timed("read", lambda run: _read(run, path, format, limit, progress))
    with Purse(run, chosen, store=store, budget=budget or Budget()) as purse:
        timed("abstract", lambda run: abstract_stage(run, purse, seed, progress))
    timed("graph", lambda run: graph_stage(run, progress))
    if seconds or not (out / "report.html").exists():
        write_report(run)
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


def estimate(
    source: str, *, format: str | None, profile: str, profiles: Path | None, limit: int | None
) -> dict[str, Any]:
    """What `mine` would do (`--dry-run`): conversations, calls and tokens; nothing is written and nobody is asked."""
    chosen = load(profile, profiles)
    imported = import_transcripts(locate(source), format, limit=limit)
    calls, tokens = plan(imported.traces, chosen.tester.max_input_tokens)
    return {
        "conversations": len(imported.traces),
        "turns": sum(len(t.turns) for t in imported.traces),
        "failures": dict(sorted(Counter(f.reason for f in imported.failures).items())),
        "models": model_names(chosen),
        "calls": calls,
        "input_tokens_estimated": tokens,
    }
