"""The command line: a light wrapper. Progress on stderr, results on stdout; a user's mistake is one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from agenteval.errors import AgentEvalError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Black-box boundary testing of conversational agents with mined workflow graphs.",
    epilog="Try it: agenteval mine --from example:harbour_cycles -o runs/first",
)


def _print(value: dict[str, Any], as_json: bool, lines: list[str]) -> None:
    typer.echo(json.dumps(value, sort_keys=True) if as_json else "\n".join(lines))


@app.callback()
def _root() -> None:
    pass


@app.command()
def mine(
    source: Annotated[str, typer.Option("--from", help="File or folder of recorded conversations, or example:NAME.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Run folder; the same command again continues in it.")],
    format: Annotated[str | None, typer.Option(help="tau-bench, tau2, tau2-lines or openai-chat; recognised when left out.")] = None,
    profile: Annotated[str, typer.Option(help="offline, openai, replay, or one of --profiles.")] = "offline",
    profiles: Annotated[Path | None, typer.Option(help="YAML file with further profiles.")] = None,
    store: Annotated[Path, typer.Option(help="Call store: answers that were paid for.")] = Path(".agenteval/calls.sqlite"),
    seed: Annotated[int, typer.Option(help="Passed on to models that take one.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Read at most this many conversations.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop before this many model calls were made.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Stop when this many tokens were spent.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop at this cost; the profile needs a price table.")] = None,
    max_minutes: Annotated[float | None, typer.Option(min=0, help="Start no call after this time.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again in a folder that holds a run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show conversations, calls and tokens; ask and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")] = False,
) -> None:
    """Mine a workflow graph from recorded conversations: graph, pictures, event log and report."""
    from agenteval.llm.wrappers import Budget
    from agenteval.commands.mine import estimate, mine_transcripts

    if dry_run:
        plan = estimate(source, format=format, profile=profile, profiles=profiles, limit=limit)
        _print(plan, as_json, [
            f"{plan['conversations']} conversations with {plan['turns']} turns; tester: {plan['models']['tester']}",
            f"{plan['calls']} model calls, about {plan['input_tokens_estimated']:,} tokens of input",
            *_failure_line(plan["failures"]),
        ])  # fmt: skip
        return
    seconds = None if max_minutes is None else 60 * max_minutes
    with _Bar() as bar:
        done = mine_transcripts(
            source, out, format=format, profile=profile, profiles=profiles, store=store, seed=seed, limit=limit,
            budget=Budget(max_calls, max_tokens, max_cost, seconds), fresh=fresh, progress=bar.update,
        )  # fmt: skip
    share = f"{done['completions_after_gate']} of {done['completions']}"
    _print(done, as_json, [
        f"{done['labelled']} conversations, {done['turns']} turns",
        f"{done['states']} states ({done['singletons']} seen once), {done['transitions']} transitions, "
        f"{done['entries']} entries, {done['ends']} ends",
        f"completions directly after a gate: {share}",
        *_failure_line(done["failures"]),
        f"{done['calls']} model calls, {_tokens(done['usage'])}",
        f"report: {out / 'report.html'}",
    ])  # fmt: skip
    if done["labelled"] == 0:
        raise AgentEvalError(f"no conversation could be labelled; see {out / 'visible' / 'failures.jsonl'}")


def _tokens(usage: dict[str, Any]) -> str:
    return f"{usage['input']:,} tokens in, {usage['output']:,} out" + (" (estimated)" if usage["estimated"] else "")


def _failure_line(failures: dict[str, int]) -> list[str]:
    if not failures:
        return []
    return ["left out: " + ", ".join(f"{n} {reason}" for reason, n in failures.items()) + " (named in the report and in failures.jsonl)"]


class _Bar:
    """Progress with time left, on stderr; plain lines where stderr is no terminal."""

    def __enter__(self) -> _Bar:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self.console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description:<6}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal,
        )  # fmt: skip
        self.tasks: dict[str, Any] = {}
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def update(self, stage: str, done: int, total: int) -> None:
        if not self.console.is_terminal:
            print(f"{stage} {done}/{total}", file=sys.stderr)
            return
        if stage not in self.tasks:
            self.tasks[stage] = self.progress.add_task(stage, total=total)
        self.progress.update(self.tasks[stage], completed=done, total=total)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")] = False) -> None:
    """Check this installation: packages, clashes, drawing, notebooks, keys, disk."""
    from agenteval.commands.doctor import examine

    checks = examine()
    _print({c.name: {"ok": c.ok, "detail": c.detail} for c in checks}, as_json, [
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
