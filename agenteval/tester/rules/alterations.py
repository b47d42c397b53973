"""Values altered on purpose: incomplete, unknown, out of range; derived from a value that was seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agenteval.tester.rules.values import Value, stands

_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}")


def _incomplete(value: str) -> Iterator[str]:
    if "@" in value:
        yield value.replace("@", ".")
        return
    yield value[:-1].rstrip("-_@. ") if len(value) > 2 else value + "XX"
    yield value[: (len(value) + 1) // 2].rstrip("-_@. ") if len(value) > 5 else value + "XX"
    yield value + "XX"


def _impossible(value: str) -> Iterator[str]:
    """A day that no calendar has."""
    if re.fullmatch(r"\d{4}\D\d{1,2}\D\d{1,2}", value):
        yield re.sub(r"\d{1,2}$", "45", value)
    else:
        yield re.sub(r"\d{1,2}(?:st|nd|rd|th)?", "45", value, count=1)


def _unknown(value: str) -> Iterator[str]:
    for step in (5, 3, 7, 1):
        digits = sum(c.isdigit() for c in value)
        if digits:
            yield _DIGIT.sub(lambda m, step=step: str((int(m.group()) + step) % 10), value)
        else:
            yield "".join(
                chr((ord(c) - ord(first) + step) % 26 + ord(first)) if c.isascii() and c.isalpha() else c
                for c in value for first in ("a" if c.islower() else "A",)
            )  # fmt: skip


def _beyond(value: str, kind: str) -> Iterator[str]:
    if kind == "date":
        yield _YEAR.sub("2199", value, count=1) if _YEAR.search(value) else f"{value}, 2199"
    elif kind == "time":
        yield re.sub(r"\d{1,2}", "37", value, count=1)
    elif kind in ("money", "number"):
        yield re.sub(r"-?\d[\d,.]*\d|\d", "-3", value, count=1)
        yield re.sub(r"-?\d[\d,.]*\d|\d", "900000", value, count=1)


def _past(value: str) -> Iterator[str]:
    if _YEAR.search(value):
        yield _YEAR.sub("1999", value, count=1)
    elif "/" in value:
        yield f"{value}/1999"
    else:
        yield f"{value}, 1999"


WAYS: dict[str, tuple[frozenset[str], Callable[[Value], Iterator[str]]]] = {
    "malformed_value": (
        frozenset({"identifier", "email", "phone", "code", "number", "date"}),
        lambda v: _impossible(v.text) if v.kind == "date" else _incomplete(v.text),
    ),
    "unknown_value": (frozenset({"identifier", "phone", "code"}), lambda v: _unknown(v.text)),
    "out_of_range_value": (frozenset({"date", "time", "money", "number"}), lambda v: _beyond(v.text, v.kind)),
    "past_value": (frozenset({"date"}), lambda v: _past(v.text)),
}
"""Kind of perturbation to the kinds of values that it suits and its proposals."""


def altered(value: Value, way: str, seen: str, turn: int = 0) -> str | None:
    """An alteration of a value that stands nowhere in what was seen; None when the way does not suit the value.

    Which of several comes first depends on `turn`, for variety.

    Examples
    --------
    >>> altered(Value("R-6120", "identifier", 0), "malformed_value", "R-6120"), altered(Value("15 June", "date", 0), "out_of_range_value", "")
    ('R-612', '15 June, 2199')
    """
    kinds, propose = WAYS[way]
    if value.kind not in kinds:
        return None
    proposals = list(propose(value))
    first = turn % len(proposals) if proposals else 0
    ordered = proposals[first:] + proposals[:first]
    return next((new for new in ordered if new and new != value.text and not stands(new, seen)), None)
