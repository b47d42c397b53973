"""What the commands print: results on stdout, in words or as JSON; progress on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer


def show(value: dict[str, Any], as_json: bool, lines: list[str]) -> None:
    typer.echo(json.dumps(_finite(value), sort_keys=True) if as_json else "\n".join(lines))


def _finite(value: Any) -> Any:
    """The same value for JSON, which knows no NaN: a rate without cases is null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and value != value else value


def tokens(usage: dict[str, Any]) -> str:
    return f"{usage['input']:,} tokens in, {usage['output']:,} out" + (" (estimated)" if usage["estimated"] else "")


def failure_line(failures: dict[str, int]) -> list[str]:
    if not failures:
        return []
    return [
        "left out: "
        + ", ".join(f"{n} {reason}" for reason, n in failures.items())
        + " (named in the report and in failures.jsonl)"
    ]


def facts(values: dict[str, Any]) -> str:
    """Facts of a stage in words; what is counted by reason stands in brackets."""
    summary = {k: v for k, v in values.get("summary", {}).items() if k in ("states", "transitions")}
    shown = {k: v for k, v in values.items() if k not in ("closed", "seconds", "usage", "cost", "summary")} | summary
    return ", ".join(
        f"{name} {value}" if not isinstance(value, dict) else f"{name} ({facts(value)})"
        for name, value in shown.items()
        if value != {}
    )


def rate(value: Any) -> Any:
    """A rate for the eye; what has no cases is a dash."""
    return value if not isinstance(value, float) else "-" if value != value else f"{value:.2f}"


class Bar:
    """Progress with time left, on stderr; plain lines where stderr is no terminal."""

    def __enter__(self) -> Bar:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description:<6}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal,
        )  # fmt: skip
        self.tasks: dict[str, Any] = {}
        self.line = ""
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def tell(self, line: str) -> None:
        """One line on stderr, above the progress."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def update(self, stage: str, done: int, total: int) -> None:
        if not self.console.is_terminal:
            line = f"{stage} {done}/{total}"
            if line != self.line:
                print(line, file=sys.stderr)
            self.line = line
            return
        if stage not in self.tasks:
            self.tasks[stage] = self.progress.add_task(stage, total=total)
        self.progress.update(self.tasks[stage], completed=done, total=total)
