"""Values in free text, by type: dates, counts, yes and no, names. Nothing here knows a domain.

>>> dates("from Sept 20 to the 23rd", "2025-09-17")
[Found(value='2025-09-20', raw='Sept 20', at=5), Found(value='2025-09-23', raw='the 23rd', at=16)]
>>> dates("on Feb 30", "2025-09-17")
[Found(value=None, raw='Feb 30', at=3)]
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple


class Found(NamedTuple):
    """A value and where it stood; `value` is None where the text has the shape but names nothing that exists."""

    value: str | None
    raw: str
    at: int


NUMBERS = {
    "zero": 0,
    "no": 0,
    "none": 0,
    "a": 1,
    "an": 1,
    "one": 1,
    "single": 1,
    "two": 2,
    "couple": 2,
    "both": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
NUMBER = r"(?<![\w-])(?:-?\d{1,3}(?![\w])|" + "|".join(NUMBERS) + r")(?![\w])"
ORDINALS = {
    "first": 1,
    "1st": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
    "fifth": 5,
    "5th": 5,
}

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = "|".join(f"{m[:3]}(?:{m[3:]})?" if m != "september" else "sept?(?:ember)?" for m in _MONTHS)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DATE = re.compile(
    rf"(?P<iso>(?<!\d)\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))"
    rf"|(?P<us>(?<![\d/])\d{{1,2}}/\d{{1,2}}(?:/(?:\d{{4}}|\d{{2}}))?(?![\d/]))"
    rf"|(?P<md>\b(?:{_MONTH})\.?\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b(?!:\d)(?:,?\s+\d{{4}}\b)?)"
    rf"|(?P<dm>\b(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH})\b\.?(?:,?\s+\d{{4}}\b)?)"
    r"|(?P<nth>\bthe\s+\d{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<in>\bin\s+(?:\d{1,2}|two|three|four|five|six|seven|ten)\s+(?:days?|weeks?)\b)"
    r"|(?P<word>\b(?:today|tonight|tomorrow|tmrw|tmr|2morrow|yesterday|day after tomorrow"
    r"|(?:next\s+|this\s+|coming\s+)?"
    rf"(?:{'|'.join(_DAYS)}))\b)",
    re.IGNORECASE,
)


# The same as one group without names, for use inside other patterns.
DATE = "(?:" + re.sub(r"\(\?P<\w+>", "(?:", _DATE.pattern) + ")"


def dates(text: str, today: str) -> list[Found]:
    """All dates, as ISO days. A day without a year is the next one that comes, unless it lies only a month back."""
    out = []
    for match in _DATE.finditer(text):
        kind, raw = match.lastgroup, match.group()
        # "Saturday, September 20" is one date: the weekday adds nothing.
        if kind == "word" and _DATE.match(
            text, match.end() + len(re.match(r"[, ]*(?:the )?", text[match.end() :]).group())
        ):
            continue
        out.append(Found(_day(kind or "", raw, date.fromisoformat(today)), raw, match.start()))
    return out


def _day(kind: str, raw: str, today: date) -> str | None:
    low = raw.lower()
    figures = [int(n) for n in re.findall(r"\d+", low)]
    if kind == "iso":
        return _make(*figures)
    if kind == "us":
        year = figures[2] if len(figures) > 2 else None
        if year is not None and year < 100:
            year += 2000 if year < 40 else 1900
        month, day = figures[:2]
        if month > 12 >= day:
            month, day = day, month
        return _make(year, month, day, today)
    if kind in ("md", "dm"):
        month = next(i for i, m in enumerate(_MONTHS, 1) if re.search(rf"\b{m[:3]}|\d(?:st|nd|rd|th)?\s*{m[:3]}", low))
        return _make(figures[1] if len(figures) > 1 else None, month, figures[0], today)
    if kind == "nth":
        same = _make(today.year, today.month, figures[0])
        if same and same >= today.isoformat():
            return same
        month = today.month % 12 + 1
        return _make(today.year + (month == 1), month, figures[0])
    if kind == "in":
        count = figures[0] if figures else NUMBERS[low.split()[1]]
        return (today + timedelta(days=count * (7 if "week" in low else 1))).isoformat()
    if low in ("today", "tonight"):
        return today.isoformat()
    if low == "yesterday":
        return (today - timedelta(days=1)).isoformat()
    if low in ("tomorrow", "tmrw", "tmr", "2morrow"):
        return (today + timedelta(days=1)).isoformat()
    if low == "day after tomorrow":
        return (today + timedelta(days=2)).isoformat()
    ahead = (_DAYS.index(low.split()[-1]) - today.weekday()) % 7 or 7
    return (today + timedelta(days=ahead)).isoformat()


def _make(year: int | None, month: int, day: int, today: date | None = None) -> str | None:
    try:
        if year is None and today is not None:
            guess = date(today.year, month, day)
            return (guess if guess >= today - timedelta(days=45) else date(today.year + 1, month, day)).isoformat()
        return date(year or 0, month, day).isoformat()
    except ValueError:
        return None


def clock(text: str) -> list[str]:
    """Times of day that the first one in a text may mean, as HH:MM.

    >>> clock("the 1:30 one"), clock("at 4 pm"), clock("gate 7")
    (['01:30', '13:30'], ['16:00'], [])
    """
    match = re.search(r"\b(\d{1,2}):(\d{2})(?: ?([ap])\.?m)?\b|\b(\d{1,2}) ?([ap])\.?m\b", text, re.IGNORECASE)
    if not match:
        return []
    hour, minute = int(match.group(1) or match.group(4)), match.group(2) or "00"
    half = (match.group(3) or match.group(5) or "").lower()
    hours = [hour % 12 + 12 * (half == "p")] if half else [hour] if hour > 12 or hour == 0 else [hour, hour % 12 + 12]
    return [f"{h:02d}:{minute}" for h in hours]


def number(text: str) -> int:
    """The count that a match of `NUMBER` means."""
    return NUMBERS[text.lower()] if text.lower() in NUMBERS else int(text)


def counts(text: str, nouns: str) -> list[Found]:
    """Numbers that stand before one of the nouns (a pattern), with up to two words between.

    >>> [f.value for f in counts("two checked bags and 3 people", "bags?")]
    ['2']
    """
    pattern = re.compile(
        rf"({NUMBER})(?:\s+(?!{NUMBER}|(?:for|on|at|to|and|in|with|or|my|is)\b)[a-z-]+){{0,2}}?\s+(?:{nouns})\b",
        re.IGNORECASE,
    )
    return [Found(str(number(m.group(1))), m.group(), m.start()) for m in pattern.finditer(text)]


def bare_number(text: str) -> int | None:
    """The number of a short answer such as "2", "just one" or "four please"."""
    found = re.findall(NUMBER, text, re.IGNORECASE)
    found = [n for n in found if n.lower() not in ("a", "an")] or found
    return number(found[0]) if found and len(text.split()) <= 8 else None


def ordinal(text: str) -> int | None:
    """ "the second one", "option 3", "number 2", "#1": the place in a list, "last" is -1."""
    match = re.search(r"(?:option|choice|number|no\.|#)\s*(\d{1,2}|one|two|three|four|five)\b", text, re.IGNORECASE)
    if match:
        return number(match.group(1))
    place = r"(first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|last)"
    # "first tell me ..." and "second thoughts" choose nothing.
    match = re.search(
        rf"\bthe (?:very )?{place}\b(?!\s+(?:class|name))"
        rf"|\b{place}(?:\s+(?:one|option|flight|choice|booking|reservation|trip)\b|\W*$)",
        text,
        re.IGNORECASE,
    )
    if match:
        word = (match.group(1) or match.group(2)).lower()
        return -1 if word == "last" else ORDINALS[word]
    match = re.fullmatch(r"\W*([1-9])\W*", text)
    return int(match.group(1)) if match else None


_NAME = re.compile(r"\b([A-Z][a-zA-Z'’-]+(?:\s+[A-Z]\.)?)\s+((?:(?:de|van|von|da|la)\s+)?[A-Z][a-zA-Z'’-]+)\b")


def names(text: str, stop: frozenset[str]) -> list[Found]:
    """Pairs of capitalised words that are no known other thing (`stop`, lower case)."""
    out, at = [], 0
    while match := _NAME.search(text, at):
        first, last = match.groups()
        if {first.lower(), last.lower()} & stop:
            # The second word of a refused pair may begin a name: "Hi Kevin Smith".
            at = match.start() + len(first) if first.lower() in stop else match.end()
            continue
        out.append(Found(f"{first} {last}", match.group(), match.start()))
        at = match.end()
    return out
