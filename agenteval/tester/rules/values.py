"""Concrete values in a text: identifiers, amounts, dates, times, addresses, numbers, codes, quoted words.

One value: ``Value("HC-20418", "identifier", 11)``. Kinds are told by shape alone, so that the agent's trade does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from agenteval.tester.rules.lexicon import load

LONGEST = 12000


class Value(NamedTuple):
    """A value as it stands in the text."""

    text: str
    kind: str
    start: int


@lru_cache(maxsize=8)
def _shapes(language: str) -> tuple[tuple[str, re.Pattern], ...]:
    months = "|".join(sorted(load(language).words["months"], key=len, reverse=True))
    shapes = (
        ("quoted", r"\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d"),
        ("email", r"[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,40}){1,4}"),
        ("url", r"https?://\S{1,200}"),
        ("money", r"[$\u20ac\u00a3]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*(?:\.\d+)?\s?(?:\u20ac|usd\b|eur\b|dollars\b|euros\b|pounds\b)"),
        ("date", r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b|\b\d{1,2}\.\d{1,2}\.\d{2,4}\b"),
        ("date", rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{months})\b\.?(?:,? \d{{4}}\b)?"),
        ("date", rf"\b(?:{months})\b\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"),
        ("time", r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b)?|\b\d{1,2}\s?[ap]m\b"),
        ("phone", r"\+\d[\d ()-]{6,18}\d|\b\d{3}[- ]\d{3}[- ]\d{4}\b|\b\d{3}-\d{4}\b"),
        ("identifier", r"#?\b(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z_])[A-Za-z0-9_]{1,40}(?:-[A-Za-z0-9_]{1,40}){0,4}\b|#\d+\b|\b\d+(?:-\d+){1,4}\b"),
        ("number", r"-?\b\d[\d,]*(?:\.\d+)?%?"),
        ("code", r"\b[A-Z]{3,12}\b"),
    )  # fmt: skip
    return tuple((kind, re.compile(pattern, re.IGNORECASE if kind != "code" else 0)) for kind, pattern in shapes)


_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|x|h|am|pm|kg|km)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def extract(text: str, language: str = "en") -> tuple[Value, ...]:
    """Values of a text in their order, without overlap; the more telling shape wins.

    Examples
    --------
    >>> [v[:2] for v in extract("HC-20418 paid $94 on 15 June.")]
    [('HC-20418', 'identifier'), ('$94', 'money'), ('15 June', 'date')]
    """
    text = text[:LONGEST]
    taken = bytearray(len(text))
    found: list[Value] = []
    for kind, pattern in _shapes(language):
        for match in pattern.finditer(text):
            start, end = match.span()
            value = match.group().rstrip(".,;:")
            if any(taken[start:end]) or not value:
                continue
            taken[start:end] = b"\1" * (end - start)
            if kind == "quoted":
                value, start = value[1:-1], start + 1
            if kind == "identifier" and _ORDINAL.match(value):
                found.append(Value(value, "number", start))
            else:
                found.append(Value(value, kind, start))
    return tuple(sorted(found, key=lambda v: v.start))


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as a whole: not as a part of a longer number or word.

    >>> stands("R-61", "R-6120"), stands("R-6120", "(R-6120)")
    (False, True)
    """
    return bool(value) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def told(
    text: str, kinds: frozenset[str] = frozenset({"identifier", "money", "date", "time", "phone", "email"})
) -> list[Value]:
    """Values that tell something about a record."""
    return [v for v in extract(text) if v.kind in kinds]


def shape(value: str) -> str:
    """Digits and letters of a value as classes, so that two values of one format compare equal.

    >>> shape("HC-204"), shape("Z7G")
    ('AA-999', 'A9A')
    """
    return "".join("9" if c.isdigit() else "a" if c.islower() else "A" if c.isalpha() else c for c in value)


def names_of(brief: dict[str, Any]) -> list[str]:
    """Values of the seeds, longest first: names have no shape of their own."""
    found = {str(value) for seed in brief.get("seeds", []) for value in seed.values() if len(str(value)) > 1}
    return sorted(found, key=lambda v: (-len(v), v))


def _turn_with(value: str, session: dict[str, Any], prefer: Iterable[int]) -> int | None:
    texts = {t["turn"]: (t["user"], t["agent"]) for t in session["turns"]}
    texts[0] = ("", session.get("greeting", ""))
    order = [n for n in prefer if n in texts] + sorted(texts)
    return next((n for n in order if any(stands(value, text) for text in texts[n])), None)


def cite(
    texts: Iterable[str],
    session: dict[str, Any],
    brief: dict[str, Any],
    perturbed: Iterable[str] = (),
    prefer: Iterable[int] = (),
) -> list[dict[str, Any]]:
    """Cite every concrete value of the texts (Section V-A: each value is copied from a turn or a seed).

    Parameters
    ----------
    texts
        Goal, steps and criteria of a test.
    perturbed
        Values that were made up or altered as the perturbation.
    prefer
        Turns that are looked at first.

    Returns
    -------
    list of dict
        `Source` as dictionaries. A value that stands nowhere counts as perturbed: the writers alter nothing else.
    """
    perturbed, prefer = list(dict.fromkeys(perturbed)), list(prefer)
    wanted: list[str] = list(perturbed)
    seeds = names_of(brief)
    for text in texts:
        wanted += [v.text for v in extract(text)] + [name for name in seeds if stands(name, text)]
        # A quotation is a value, and may hold others.
        wanted += [v.text for q in extract(text) if q.kind == "quoted" for v in extract(q.text)]
    cited = []
    for value in dict.fromkeys(wanted):
        source = {"value": value, "origin": "perturbed", "session": "", "turn": 0, "seed": -1}
        turn = None if value in perturbed else _turn_with(value, session, prefer)
        if turn is not None:
            source.update(origin="turn", session=session["id"], turn=turn)
        elif value not in perturbed:
            seed = next(
                (i for i, s in enumerate(brief.get("seeds", [])) if any(stands(value, str(v)) for v in s.values())), -1
            )
            if seed >= 0:
                source.update(origin="brief", seed=seed)
        cited.append(source)
    return cited
