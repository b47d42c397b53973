"""The paper's pipeline over an agent: discover, abstract, mine, plan, run and judge (Figure 3).

Settings stand in the manifest of a run folder; every stage reads them there, so that each can be called alone and again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from agenteval.canary import isolates
from agenteval.chat import Chat
from agenteval.errors import BudgetReached, RunFolderError
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
from agenteval.store import Run, content_id, write_text
from agenteval.subjects.address import Subject, open_subject
from agenteval.tester import synthesize
from agenteval.tester.discover import Budget as Exploration
from agenteval.tester.discover import Round, Strategy, discover
from agenteval.tester.execute import Outcome, execute
from agenteval.tester.gates import gate_strength
from agenteval.tester.targets import rank, targets
from agenteval.types import Brief, Failure, Graph, LabelledTrace, Record, Target, Test, TestRun, Trace, Verdict


class Settings(Record):
    """What the results of a run depend on. Field names are those of the paper where it has them."""

    subject: str
    brief: Brief
    profile: str = "offline"
    seed: int = 0
    discovery: Strategy = "phase_guided"
    arm: synthesize.Arm = "guided"
    rounds: int = Field(12, ge=1)
    """R_disc"""
    turns: int = Field(6, ge=1)
    """B_turn"""
    warmup: tuple[int, int, int] = (1, 2, 1)
    """m_cap, m_hp, m_cc"""
    functional: int = Field(50, ge=0)
    """N_f"""
    boundary: int = Field(50, ge=0)
    """N_b"""
    repetitions: int = Field(1, ge=1)
    limit: int | None = Field(None, ge=1)
    """Tests that are run at most, in the order of the plan."""
    timeout: float = Field(60.0, gt=0)
    """Seconds that the agent may take for one reply."""


class Context(NamedTuple):
    """A run folder with everything that its stages need."""

    run: Run
    settings: Settings
    subject: Subject
    purse: Purse
    serial: bool
    """Sessions go one after the other, because reset does not isolate them."""
    progress: Progress


class Watch:
    """Opens chats for the tester and keeps the privileged log of each, where the agent is one of ours and has one."""

    def __init__(self, context: Context, stage: str):
        self.context = context
        self.stage = stage
        self.chats: dict[str, Chat] = {}

    def open(self, unit: str) -> Chat:
        self.chats[unit] = chat = self.context.subject.open_chat()
        return chat

    def keep(self, unit: str, id: str) -> None:
        """Write the log of a unit that is over, under the id of its record."""
        for number, event in enumerate(self.context.subject.log_of(self.chats.pop(unit))):
            self.context.run.append_raw(
                "privileged/tools", {"id": id, "stage": self.stage, "position": number, **event}
            )

    def close(self, known: set[str]) -> None:
        """Sort the log, and drop what a killed process wrote about a unit that was done again."""
        run = self.context.run
        latest: dict[tuple[str, str, int], dict[str, Any]] = {}
        for event in run.lines("privileged/tools"):
            if event["stage"] != self.stage or event["id"] in known:
                latest[event["id"], event["stage"], event["position"]] = event
        run.replace_raw("privileged/tools", [latest[key] for key in sorted(latest)])


# ---- stages


def discover_stage(context: Context) -> dict[str, Any]:
    """Explore the agent; every round is kept as soon as it is over."""
    run, settings = context.run, context.settings
    finished = run.read("traces", Trace)
    total = settings.rounds
    done = [len(finished)]
    context.progress("discover", done[0], total)

    watch = Watch(context, "discover")

    def keep(round: Round) -> None:
        if round.trace is not None:
            watch.keep(round.trace.id.split("-")[0], round.trace.id)
            run.append("traces", [round.trace])
        if round.failure is not None:
            run.append("failures", [round.failure])
        done[0] += 1
        context.progress("discover", done[0], total)

    traces = discover(
        watch.open, settings.brief, context.purse.model("tester"), strategy=settings.discovery,
        budget=Exploration(settings.rounds, settings.turns, settings.warmup), seed=settings.seed, timeout=settings.timeout,
        finished=finished, keep=keep,
    )  # fmt: skip
    watch.close({trace.id for trace in traces})
    run.replace("traces", traces)
    run.replace("failures", run.read("failures", Failure))
    return {"sessions": len(traces), "turns": sum(len(t.turns) for t in traces)}


def targets_stage(context: Context) -> dict[str, Any]:
    """Enumerate and rank the boundary targets."""
    run = context.run
    graph = run.read_json("graph", Graph)
    labelled = run.read("labels", LabelledTrace)
    found = targets(graph, gate_strength(labelled))
    ranked = rank(
        found,
        context.purse.model("tester"),
        traces=run.read("traces", Trace),
        labelled=labelled,
        seed=context.settings.seed,
    )
    write_list(run, "targets", ranked)
    return {"targets": len(ranked)}


def plan_stage(context: Context) -> dict[str, Any]:
    """Write the functional and the boundary tests."""
    run, settings, progress = context.run, context.settings, context.progress
    traces = run.read("traces", Trace)
    model = context.purse.model("tester")
    functional = synthesize.functional_tests(
        traces,
        settings.brief,
        model,
        most=settings.functional,
        seed=settings.seed,
        progress=lambda d, t: progress("functional", d, t),
    )
    boundary = synthesize.boundary_tests(
        settings.arm, traces, run.read("labels", LabelledTrace), run.read_json("graph", Graph), settings.brief, model,
        ranked=run.read("targets", Target), most=settings.boundary, seed=settings.seed, progress=lambda d, t: progress("boundary", d, t),
    )  # fmt: skip
    write_list(run, "plan", [*functional.tests, *boundary.tests])
    return {
        name: {
            "generated": len(made.generated),
            "delivered": len(made.tests),
            "dropped": dict(sorted(Counter(g.drop.reason for g in made.generated if g.drop is not None).items())),
        }
        for name, made in (("functional", functional), ("boundary", boundary))
    }


def write_list(run: Run, name: str, records: Sequence[Target] | Sequence[Test]) -> None:
    """Write records whose order carries meaning: a ranking, a plan."""
    run.replace(name, records, ordered=True)


def execute_stage(context: Context) -> dict[str, Any]:
    """Run and judge every enabled test of the plan; each outcome is kept as soon as it is there."""
    run, settings = context.run, context.settings
    tests = [t for t in run.read("plan", Test) if t.enabled][: settings.limit]
    total = len(tests) * settings.repetitions
    # A verdict is written after its run, so a run without one is judged again together with being run again.
    finished = run.done("verdicts")
    failed = {f.id for f in run.read("failures", Failure) if f.stage in ("run", "judge")}
    run.replace("runs", [r for r in run.read("runs", TestRun) if r.id in finished | failed])
    done = [len(finished | failed)]
    context.progress("run", done[0], total)

    watch = Watch(context, "run")

    def keep(outcome: Outcome) -> None:
        if outcome.run is not None:
            watch.keep(outcome.run.id, outcome.run.id)
            run.append("runs", [outcome.run])
        if outcome.verdict is not None:
            run.append("verdicts", [outcome.verdict])
        if outcome.failure is not None:
            run.append("failures", [outcome.failure])
        done[0] += 1
        context.progress("run", done[0], total)

    execute(
        tests, watch.open, settings.brief, context.purse.model("tester"), context.purse.model("judge"),
        repetitions=settings.repetitions, seed=settings.seed, timeout=settings.timeout,
        workers=1 if context.serial else context.purse.concurrency, finished=frozenset(finished | failed), keep=keep,
    )  # fmt: skip
    watch.close({r.id for r in run.read("runs", TestRun)})
    for name, kind in (("runs", TestRun), ("verdicts", Verdict), ("failures", Failure)):
        run.replace(name, run.read(name, kind))
    verdicts = Counter(v.verdict for v in run.read("verdicts", Verdict))
    errors = sum(f.stage in ("run", "judge") for f in run.read("failures", Failure))
    return {**{name: verdicts[name] for name in ("pass", "fail", "inconclusive")}, "errors": errors}


STAGES: dict[str, Callable[[Context], dict[str, Any]]] = {
    "discover": discover_stage,
    "abstract": lambda context: abstract_stage(context.run, context.purse, context.settings.seed, context.progress),
    "graph": lambda context: graph_stage(context.run, context.progress),
    "targets": targets_stage,
    "plan": plan_stage,
    "run": execute_stage,
}
"""In order. A stage is refused while one before it is open."""


def settings_of(out: Path) -> Settings:
    """The settings that a run folder was made with.

    Raises
    ------
    RunFolderError
        It has none.
    """
    try:
        return Settings.model_validate(Run(out).manifest["config"]["settings"])
    except (KeyError, ValidationError) as error:
        raise RunFolderError(
            f"{out} was not made by discover, all or run --plan, so it has no settings to go on with"
        ) from error


def open_run(
    out: Path,
    settings: Settings | None,
    *,
    plan: Sequence[Test] = (),
    profiles: Path | None = None,
    store: Path = STORE,
    budget: Budget = Budget(),
    concurrency: int = 4,
    progress: Progress = silent,
) -> Context:
    """Open a run folder: a new one with settings, or an old one with those of its manifest.

    Parameters
    ----------
    plan
        Tests of a kept plan, which are run without exploring first.

    Raises
    ------
    UsageError
        Another configuration, an unknown subject or profile.
    """
    config: dict[str, Any] = {"command": "chain"}
    if settings is None:
        config, settings = Run(out).manifest["config"], settings_of(out)
    elif plan:
        config = {"command": "regression", "plan": content_id([test.model_dump(mode="json") for test in plan])}
    profile = load(settings.profile, profiles, roles=("tester", "judge"))
    subject = open_subject(settings.subject, seed=settings.seed, profile=settings.profile, profiles=profiles)
    models = model_names(profile, ("tester", "judge")) | ({"subject": subject.model} if subject.model else {})
    config |= {
        "source": settings.subject, "profile": settings.profile, "models": models,
        "max_input_tokens": profile.tester.max_input_tokens,
        "settings": settings.model_dump(mode="json"),
    }  # fmt: skip
    run = Run(out, config, secrets=(*secrets(profile), *subject.secrets))
    run.save_manifest(versions=versions())
    if plan and not run.file("plan").exists():
        run.replace("plan", plan, ordered=True)
    if "isolated" not in run.manifest:
        run.save_manifest(isolated=isolates(subject, settings.timeout))
    purse = Purse(run, profile, store=store, budget=budget, concurrency=concurrency)
    return Context(run, settings, subject, purse, not run.manifest["isolated"], progress)


SHARED = ("discover", "abstract", "graph", "targets")
"""Stages that the arms of an ablation have in common."""


def fork(source: Path, out: Path, settings: Settings) -> None:
    """A run folder with the exploration, graph and targets of another, for a further arm over the same traces.

    Raises
    ------
    RunFolderError
        The source has not come so far, was made with other settings than the arm, or `out` is in use.
    """
    run = Run(source)
    theirs = Settings.model_validate(run.manifest["config"]["settings"])
    if theirs.model_copy(update={"arm": settings.arm}) != settings:
        raise RunFolderError(f"{source} was made with other settings than the arm")
    missing = [stage for stage in SHARED if not run.closed(stage)]
    if missing:
        raise RunFolderError(f"{source}: {COMMANDS[missing[0]]} is not finished")
    copied = run.copy(
        out, config={**run.manifest["config"], "settings": settings.model_dump(mode="json")}, stages=SHARED
    )
    copied.replace("failures", [f for f in copied.read("failures", Failure) if f.stage not in ("run", "judge")])
    copied.replace_raw(
        "privileged/tools", [event for event in copied.lines("privileged/tools") if event["stage"] == "discover"]
    )


COMMANDS = {
    "discover": "discover",
    "abstract": "mine",
    "graph": "mine",
    "targets": "plan",
    "plan": "plan",
    "run": "run",
}
"""The command that does a stage."""


def run_stages(names: Sequence[str], context: Context) -> dict[str, dict[str, Any]]:
    """Do stages in order, each once.

    Raises
    ------
    RunFolderError
        A stage before them is not finished; names the command that does it.
    """
    run = context.run
    order = list(STAGES)
    for name in names:
        for earlier in order[: order.index(name)]:
            if not run.closed(earlier) and run.manifest["config"]["command"] != "regression":
                raise RunFolderError(
                    f"{run.path}: {COMMANDS[name]} needs what {COMMANDS[earlier]} makes; "
                    f"run `agenteval {COMMANDS[earlier]} -o {run.path}` first"
                )
        if not run.closed(name):
            started = time.monotonic()
            try:
                with context.purse:  # what one stage negotiated with an endpoint the next one knows
                    facts = STAGES[name](context)
            except (BudgetReached, KeyboardInterrupt):
                write_report(run)
                raise
            run.close_stage(name, [], seconds=round(time.monotonic() - started, 3), **facts)
    write_report(run)
    return {name: run.manifest["stages"][name] for name in names}


def write_junit(run: Run, file: Path) -> None:
    """Write the verdicts of a run as JUnit XML."""
    from agenteval.analysis.junit import junit

    failures = [f for f in run.read("failures", Failure) if f.stage in ("run", "judge")]
    write_text(file, junit(run.read("plan", Test), run.read("verdicts", Verdict), failures))


def exit_code(run: Run) -> int:
    """Exit code of an executed plan: 0 all conclusive tests passed, 1 some failed, 2 nothing was conclusive."""
    verdicts = Counter(v.verdict for v in run.read("verdicts", Verdict))
    if verdicts["fail"]:
        return 1
    return 0 if verdicts["pass"] else 2
