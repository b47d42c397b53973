"""What the agent says, from acts and values: templates of a wording file, chosen by hash.

A reply is a list of acts. For each, the file holds at least four variants with `{placeholders}`; sha256 of (seed,
session, turn, act) chooses one. A value may be a list of items, each an act with values of its own. Dates and times are
written in one style per session. Placeholders are replaced in one pass, so that braces in what a user wrote stay what
they are.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from agenteval.store import derive_seed

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_TIME = re.compile(r"\b(\d{2}):(\d{2}):00\b")
_MONTHS = """
    January February March April May June July August September October November December
    """.split()  # noqa: SIM905
LIST_STYLES = ("dash", "number", "star", "inline")


@cache
def load(path: Path) -> dict[str, list[str]]:
    """The variants of each act."""
    import yaml

    return yaml.safe_load(path.read_text("utf-8"))


def render(
    wording: dict[str, list[str]], said: list[tuple[str, dict[str, Any]]], *, seed: int, session: int, turn: int
) -> str:
    """One visible reply."""
    style = derive_seed(seed, session, "style")
    parts = []
    for place, (act, values) in enumerate(said):
        variants = wording[act]
        template = variants[derive_seed(seed, session, turn, act, place) % len(variants)]
        part = _fill(template, values, wording, derive_seed(seed, session, turn, act, "items"), style)
        parts.append(part[0].upper() + part[1:] if "_" not in part.split(" ", 1)[0] else part)
    glue = "\n\n" if any("\n" in part for part in parts) or style % 3 == 0 else " "
    return glue.join(parts)


def shows(wording: dict[str, list[str]], act: str, reply: str) -> bool:
    """Whether a reply contains some variant of an act, whatever the values.

    >>> shows({"bye": ["So long, {name}!"]}, "bye", "Done. So long, Ada!")
    True
    """
    return any(_shape(variant).search(reply) for variant in wording[act])


@lru_cache(maxsize=2048)
def _shape(template: str) -> re.Pattern[str]:
    pieces = PLACEHOLDER.split(template.strip())
    text = "".join(".*?" if n % 2 else re.escape(piece).replace(r"\n", r"\s+") for n, piece in enumerate(pieces))
    return re.compile(text, re.DOTALL)


def _fill(template: str, values: dict[str, Any], wording: dict[str, list[str]], pick: int, style: int) -> str:
    def value(match: re.Match[str]) -> str:
        item = values[match.group(1)]
        if isinstance(item, list):
            return _items(
                [_fill(wording[act][pick % len(wording[act])], facts, wording, pick, style) for act, facts in item],
                pick,
            )
        return _figures(str(item), style)

    return PLACEHOLDER.sub(value, template)


def _items(lines: list[str], pick: int) -> str:
    kind = LIST_STYLES[pick // 7 % 4]
    if kind == "inline" and len(lines) <= 3:
        return " " + "; ".join(lines) + "."
    marks = {"dash": "- ", "star": "* ", "inline": "• "}
    return "\n" + "\n".join((marks.get(kind) or f"{n}. ") + line for n, line in enumerate(lines, 1))


def _figures(text: str, style: int) -> str:
    def day(match: re.Match[str]) -> str:
        year, month, number = (int(g) for g in match.groups())
        try:
            date(year, month, number)
        except ValueError:
            return match.group()
        if style // 3 % 3 == 0:
            return match.group()
        return (
            f"{_MONTHS[month - 1]} {number}, {year}"
            if style // 3 % 3 == 1
            else f"{number} {_MONTHS[month - 1][:3]} {year}"
        )

    def clock(match: re.Match[str]) -> str:
        hour, minute = int(match.group(1)), match.group(2)
        return (
            f"{hour:02d}:{minute}" if style // 11 % 2 else f"{hour % 12 or 12}:{minute} {'am' if hour < 12 else 'pm'}"
        )

    return _TIME.sub(clock, _ISO.sub(day, text))
