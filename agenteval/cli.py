"""The command line: a light wrapper. Progress on stderr, results on stdout; a user's mistake is one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from agenteval.errors import AgentEvalError
from agenteval.terminal import Bar, facts, failure_line, rate, show, tokens

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Black-box boundary testing of conversational agents with mined workflow graphs.",
    epilog="Try it: agenteval mine --from example:harbour_cycles -o runs/first",
)


@app.callback()
def _root() -> None:
    pass


Out = Annotated[Path, typer.Option("--output", "-o", help="Run folder; the same command again continues in it.")]
Store = Annotated[Path, typer.Option(help="Call store: answers that were paid for.")]
Profiles = Annotated[Path | None, typer.Option(help="YAML file with further profiles.")]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Stop before more model calls than this were made.")]
MaxTokens = Annotated[int | None, typer.Option(min=0, help="Stop when this many tokens were spent.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop at this cost; the profile needs a price table.")]
MaxMinutes = Annotated[float | None, typer.Option(min=0, help="Start no call after this time.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")]
Concurrency = Annotated[int, typer.Option(min=1, help="Tests that run at once.")]
DEFAULT_STORE = Path(".agenteval/calls.sqlite")


@app.command()
def mine(
    out: Out,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="File or folder of recorded conversations, or example:NAME; left out: the sessions of -o."
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="tau-bench, tau2, tau2-lines or openai-chat; recognised when left out.")
    ] = None,
    profile: Annotated[str, typer.Option(help="offline, openai, replay, or one of --profiles.")] = "offline",
    profiles: Profiles = None,
    store: Store = DEFAULT_STORE,
    seed: Annotated[int, typer.Option(help="Passed on to models that take one.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Read at most this many conversations.")] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again in a folder that holds a run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show conversations, calls and tokens; ask and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Mine a workflow graph from recorded conversations, or from the sessions of a run: graph, pictures, event log, report."""
    from agenteval.commands.mine import estimate, mine_transcripts

    budget = _budget(max_calls, max_tokens, max_cost, max_minutes)
    if source is None and dry_run:
        from agenteval.chain import settings_of

        return _estimate(settings_of(out), ("abstract",), as_json)
    if source is None:
        _stages(("abstract", "graph"), out, None, profiles=profiles, store=store, budget=budget, as_json=as_json)
        return
    if dry_run:
        plan = estimate(source, format=format, profile=profile, profiles=profiles, limit=limit)
        show(plan, as_json, [
            f"{plan['conversations']} conversations with {plan['turns']} turns; tester: {plan['models']['tester']}",
            f"{plan['calls']} model calls, about {plan['input_tokens_estimated']:,} tokens of input",
            *failure_line(plan["failures"]),
        ])  # fmt: skip
        return
    with Bar() as bar:
        done = mine_transcripts(
            source, out, format=format, profile=profile, profiles=profiles, store=store, seed=seed, limit=limit,
            budget=budget, fresh=fresh, progress=bar.update,
        )  # fmt: skip
    share = f"{done['completions_after_gate']} of {done['completions']}"
    show(done, as_json, [
        f"{done['labelled']} conversations, {done['turns']} turns",
        f"{done['states']} states ({done['singletons']} seen once), {done['transitions']} transitions, "
        f"{done['entries']} entries, {done['ends']} ends",
        f"completions directly after a gate: {share}",
        *failure_line(done["failures"]),
        f"{done['calls']} model calls, {tokens(done['usage'])}",
        f"report: {out / 'report.html'}",
    ])  # fmt: skip
    if done["labelled"] == 0:
        raise AgentEvalError(f"no conversation could be labelled; see {out / 'visible' / 'failures.jsonl'}")


def _budget(calls: int | None, tokens: int | None, cost: float | None, minutes: float | None) -> Any:
    from agenteval.llm.wrappers import Budget

    return Budget(calls, tokens, cost, None if minutes is None else 60 * minutes)


Subject = Annotated[
    str | None, typer.Option(help="Agent under test: scripted:DOMAIN, python:MODULE:FACTORY, http:FILE, openai:FILE.")
]
Brief = Annotated[Path | None, typer.Option(help="What a tester may know in advance (YAML: domain, seeds).")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Settings file, as `agenteval init` writes one.")]
Profile = Annotated[str | None, typer.Option(help="offline, openai, replay, or one of --profiles.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the run.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Run at most this many tests of the plan.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show calls and tokens to be expected; ask and write nothing.")]


def _stages(
    names: tuple[str, ...], out: Path, settings: Any, *, fresh: bool = False, as_json: bool = False, **options: Any
) -> Any:
    """Do stages of a run folder and print what they gave."""
    from agenteval.chain import open_run, run_stages
    from agenteval.store import discard

    if fresh:
        discard(out)
    with Bar() as bar:
        context = open_run(out, settings, progress=bar.update, **options)
        models = context.run.manifest["config"]["models"]
        bar.tell("models: " + ", ".join(f"{role} {name}" for role, name in sorted(models.items())))
        done = run_stages(names, context)
    lines = [f"{name}: {facts(values)}" for name, values in done.items()]
    if context.serial:
        lines.append("reset does not keep this agent's sessions apart, so they ran one after the other")
    show(done, as_json, [*lines, f"report: {out / 'report.html'}"])
    return context.run


def _estimate(settings: Any, stages: tuple[str, ...], as_json: bool, tests: int | None = None) -> None:
    """Print what stages may cost."""
    from agenteval.commands.estimate import estimate
    from agenteval.subjects.address import open_subject

    open_subject(settings.subject, seed=settings.seed)
    _expected(estimate(settings, stages, tests), as_json)


def _expected(found: dict[str, Any], as_json: bool) -> None:
    """Print calls and tokens to be expected."""
    show(found, as_json, [
        *(f"{r['role']}: {r['calls']:,} calls, {r['input']:,} tokens in, {r['output']:,} out" for r in found["roles"]),
        f"at most about {found['calls']:,} calls, {found['input']:,} tokens in, {found['output']:,} out (estimated); nothing was asked",
    ])  # fmt: skip


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write brief.yaml and agenteval.yaml.")] = Path(),
) -> None:
    """Write a commented brief and settings file to fill in."""
    from agenteval.commands.configure import FILES
    from agenteval.commands.configure import init as write

    written = write(folder)
    for name in FILES:
        path = folder / name
        typer.echo(f"wrote {path}" if path in written else f"kept {path}, which was there")
    typer.echo(f"next: fill in {folder / FILES[0]}, then agenteval all --config {folder / FILES[1]} -o runs/first")


@app.command()
def chat(
    subject: Annotated[str, typer.Argument(help="Address of the agent.")],
    seed: Annotated[int, typer.Option(help="Seed of a scripted agent's wording.")] = 0,
) -> None:
    """Talk to an agent; an empty line or Ctrl-D ends."""
    from agenteval.chat import Session
    from agenteval.subjects.address import open_subject

    session = Session(open_subject(subject, seed=seed).open_chat(), budget=1000, timeout=120)
    typer.echo(session.greeting or "(the agent waits for you to begin)")
    while not session.over:
        try:
            said = input("> ").strip()
        except EOFError:
            break
        if not said:
            break
        turn = session.say(said)
        typer.echo(turn.agent if turn.status == "ok" else f"({turn.status})")


@app.command()
def discover(
    out: Out,
    subject: Subject = None,
    brief: Brief = None,
    config: ConfigFile = None,
    profile: Profile = None,
    profiles: Profiles = None,
    store: Store = DEFAULT_STORE,
    seed: Seed = None,
    discovery: Annotated[str | None, typer.Option(help="phase_guided or naive.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Sessions.")] = None,
    turns: Annotated[int | None, typer.Option(help="Turns of a session at most.")] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again in a folder that holds a run.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Explore an agent in fresh sessions; then mine, plan and run go on in the same folder."""
    from agenteval.commands.configure import settings

    chosen = settings(config, {
        "subject": subject, "brief": brief, "profile": profile, "seed": seed, "discovery": discovery, "rounds": rounds, "turns": turns,
    })  # fmt: skip
    if dry_run:
        return _estimate(chosen, ("discover",), as_json)
    _stages(("discover",), out, chosen, fresh=fresh, as_json=as_json, profiles=profiles, store=store,
            budget=_budget(max_calls, max_tokens, max_cost, max_minutes))  # fmt: skip


@app.command()
def plan(
    out: Out,
    profiles: Profiles = None,
    store: Store = DEFAULT_STORE,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Rank the targets of a mined run and write its tests."""
    if dry_run:
        from agenteval.chain import settings_of

        return _estimate(settings_of(out), ("targets", "plan"), as_json)
    _stages(("targets", "plan"), out, None, as_json=as_json, profiles=profiles, store=store,
            budget=_budget(max_calls, max_tokens, max_cost, max_minutes))  # fmt: skip


@app.command(name="run")
def run_plan(
    out: Out,
    plan: Annotated[Path | None, typer.Option(help="A kept plan.jsonl; left out: the plan of -o.")] = None,
    subject: Subject = None,
    brief: Brief = None,
    profile: Profile = None,
    profiles: Profiles = None,
    store: Store = DEFAULT_STORE,
    seed: Seed = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Runs of each test.")] = None,
    limit: Limit = None,
    max_concurrency: Concurrency = 4,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again in a folder that holds a run.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Run and judge a plan: of this run, or a kept one against any agent (exit 0 passed, 1 failed, 2 nothing conclusive)."""
    from agenteval.chain import exit_code, settings_of, write_junit
    from agenteval.commands.configure import settings
    from agenteval.commands.regression import read_plan
    from agenteval.errors import UsageError
    from agenteval.store import Run
    from agenteval.types import Test

    given = {
        "subject": subject,
        "brief": brief,
        "profile": profile,
        "seed": seed,
        "repetitions": repetitions,
        "limit": limit,
    }
    if plan is None and any(value is not None for value in given.values()):
        raise UsageError(
            "--subject, --brief, --profile, --seed, --repetitions and --limit go with --plan; a run folder has its own settings"
        )
    tests = () if plan is None else read_plan(plan)
    chosen = None if plan is None else settings(None, given)
    if dry_run:
        kept = settings_of(out) if chosen is None else chosen
        known = tests or Run(out).read("plan", Test)
        return _estimate(kept, ("run",), as_json, sum(test.enabled for test in known))
    run = _stages(("run",), out, chosen, plan=tests, fresh=fresh,
                  as_json=as_json, profiles=profiles, store=store, concurrency=max_concurrency,
                  budget=_budget(max_calls, max_tokens, max_cost, max_minutes))  # fmt: skip
    if junit is not None:
        write_junit(run, junit)
    raise typer.Exit(exit_code(run))


@app.command()
def report(out: Out) -> None:
    """Write the page of a run again."""
    from agenteval.pipeline import write_report
    from agenteval.store import Run

    write_report(Run(out))
    typer.echo(out / "report.html")


@app.command(name="all")
def all_stages(
    out: Out,
    subject: Subject = None,
    brief: Brief = None,
    config: ConfigFile = None,
    profile: Profile = None,
    profiles: Profiles = None,
    store: Store = DEFAULT_STORE,
    seed: Seed = None,
    discovery: Annotated[str | None, typer.Option(help="phase_guided or naive.")] = None,
    arm: Annotated[str | None, typer.Option(help="prompt_only, graph_context, guided or structural_random.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Sessions.")] = None,
    turns: Annotated[int | None, typer.Option(help="Turns of a session at most.")] = None,
    functional: Annotated[int | None, typer.Option(help="Functional tests at most.")] = None,
    boundary: Annotated[int | None, typer.Option(help="Boundary tests at most.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="Runs of each test.")] = None,
    limit: Limit = None,
    max_concurrency: Concurrency = 4,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again in a folder that holds a run.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Explore, mine, plan, run and judge an agent, from the first word to the report."""
    from agenteval.chain import STAGES, exit_code, write_junit
    from agenteval.commands.configure import settings

    chosen = settings(config, {
        "subject": subject, "brief": brief, "profile": profile, "seed": seed, "discovery": discovery, "arm": arm, "rounds": rounds,
        "turns": turns, "functional": functional, "boundary": boundary, "repetitions": repetitions, "limit": limit,
    })  # fmt: skip
    if dry_run:
        return _estimate(chosen, tuple(STAGES), as_json)
    run = _stages(tuple(STAGES), out, chosen, fresh=fresh, as_json=as_json, profiles=profiles, store=store, concurrency=max_concurrency,
                  budget=_budget(max_calls, max_tokens, max_cost, max_minutes))  # fmt: skip
    if junit is not None:
        write_junit(run, junit)
    raise typer.Exit(exit_code(run))


@app.command()
def audit(
    out: Out,
    auditor: Annotated[
        str | None,
        typer.Option(
            help="exact (scripted agents, by their log) or model; left out: exact for a scripted agent under the offline profile."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profile that names the auditor's model; left out: that of the run.")
    ] = None,
    profiles: Profiles = None,
    dossier: Annotated[
        Path | None,
        typer.Option(help="What the model auditor reads about the agent (YAML: schema, policy, sources, inventory)."),
    ] = None,
    store: Store = DEFAULT_STORE,
    max_concurrency: Concurrency = 4,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_minutes: MaxMinutes = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin a model's audit again.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Score a finished run by what the tester never saw; the records stay in privileged/, the report gets the numbers."""
    from agenteval.commands.audit import audit_run, estimate_run

    chosen: dict[str, Any] = {
        "auditor": auditor, "profile": profile, "profiles": profiles, "dossier": dossier, "fresh": fresh,
    }  # fmt: skip
    if dry_run:
        return _expected(estimate_run(out, **chosen), as_json)
    with Bar() as bar:
        found = audit_run(
            out, **chosen, store=store, budget=_budget(max_calls, max_tokens, max_cost, max_minutes),
            concurrency=max_concurrency, progress=bar.update, tell=bar.tell,
        )  # fmt: skip
    lines = [
        f"{kind}: {facts({k: rate(v) for k, v in rates.items() if v is not None})}" for kind, rates in found.items()
    ]
    show(found, as_json, [*lines, f"report: {out / 'report.html'}"])


@app.command()
def mutants(out: Out, as_json: Json = False) -> None:
    """Run a finished plan on every mutant of its scripted agent: which faults it finds, and why the others survive."""
    from agenteval.commands.mutants import mutate_run
    from agenteval.faults.mutants import SURVIVALS

    with Bar() as bar:
        found = mutate_run(out, progress=bar.update)
    lost = [f"{SURVIVALS[reason]}: {', '.join(faults)}" for reason, faults in found["survivors"].items()]
    counted = {k: rate(v) for k, v in found["scores"].items() if k not in SURVIVALS}
    show(found, as_json, [facts(counted), *lost])


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, such as rq1 stability; left out: all.")] = None,
    profile: Annotated[str, typer.Option(help="offline, openai, replay, or one of --profiles.")] = "offline",
    profiles: Profiles = None,
    agents: Annotated[str, typer.Option(help="Agents under test: scripted, or tau (tau-bench).")] = "scripted",
    domains: Annotated[str, typer.Option(help="airline,retail,...; left out: those of the experiment.")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, ...; left out: as many as the experiment says.")] = None,
    wording: Annotated[str, typer.Option(help="Wordings of scripted agents: a, b, or a,b.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that does the cells instead.")] = None,
    root: Annotated[Path | None, typer.Option(help="Checkout with experiments/ and notebooks/.")] = None,
    results: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results, below the root.")] = Path("results"),
    cells: Annotated[Path, typer.Option(help="Folder of finished cells, below the root.")] = Path("runs/cells"),
    store: Store = DEFAULT_STORE,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Cap of model calls for each cell.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Cap of tokens for each cell.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Cap of cost for each cell; needs a price table.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List cells, calls and tokens; run nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's tables: run the cells of experiments once, execute the notebooks, write results/PROFILE/."""
    from agenteval.commands import reproduce as command
    from agenteval.commands.experiments import find_root

    chosen = command.studies(
        names or (), root=find_root(root), profile=profile, profiles=profiles, agents=agents,
        domains=[d for d in domains.split(",") if d], seeds=seeds, wording=[w for w in wording.split(",") if w],
        store=cells, calls=store, budget=_budget(max_calls, max_tokens, max_cost, None),
    )  # fmt: skip
    if dry_run:
        rows = command.preview(chosen)
        lines = [command.expected_line(row) for row in rows]
        more = "a model auditor's calls come on top: three for each test, and those that compare boundaries"
        return show({"experiments": rows}, as_json, lines if profile == "offline" else [*lines, more])
    with Bar() as bar:
        made = command.reproduce(chosen, results=results, workers=workers, dask=dask, progress=bar.update, tell=bar.tell)
    show({"experiments": made}, as_json, [
        f"{row['experiment']}: {row['folder']}{'' if row['made'] else ' (nothing changed)'}" for row in made
    ])  # fmt: skip


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")] = False) -> None:
    """Check this installation: packages, clashes, drawing, notebooks, keys, disk."""
    from agenteval.commands.doctor import examine

    checks = examine()
    show({c.name: {"ok": c.ok, "detail": c.detail} for c in checks}, as_json, [
        f"{'ok  ' if c.ok else 'note' if c.ok is None else 'FAIL'} {c.name}: {c.detail}" for c in checks
    ])  # fmt: skip
    if any(c.ok is False for c in checks):
        raise typer.Exit(2)


def main() -> None:
    """Entry point: runs the app and turns every expected failure into one line and the exit code of the design."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False) or 0
    except AgentEvalError as error:
        print(f"agenteval: {error}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except Exception as error:
        if hasattr(error, "format_message"):  # click's usage errors, wherever typer keeps its click
            print(f"agenteval: {error.format_message()} (agenteval --help shows what there is)", file=sys.stderr)
            return 3
        raise
    if code == 130:  # typer catches Ctrl-C itself
        print("agenteval: interrupted. Everything finished so far is kept; the same command continues", file=sys.stderr)
    return code
