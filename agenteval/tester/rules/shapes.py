"""Shapes of values: what stands in a text as date, time, sum or code, and the shape in which an agent wants a value.

``"Enter it as DD/MM/YYYY"`` turns ``"1990-04-12"`` into ``"12/04/1990"``; ``"the last four digits"`` cuts.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

from agenteval.tester.rules.talk import Talk, load

EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b")
MONEY = re.compile(
    r"[$\u20ac\u00a3]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*(?:\.\d+)?\s?(?:usd|eur|gbp|euros?|dollars|pounds)\b", re.I
)
TIME = re.compile(r"\b(?:[01]?\d|2[0-3])[:.][0-5]\d(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?", re.I)
CODE = re.compile(r"#?\b(?=[\w/-]{0,30}\d)(?=[\w/-]{3,30}\b)[A-Za-z0-9][\w/-]{2,29}\b|\b[A-Z]{6,8}\b")
PHONE = re.compile(r"\+?\d[\d ()-]{6,18}\d")
_ORDER = re.compile(r"\b([dmy]{1,4})([-/. ])([dmy]{1,4})\2([dmy]{2,4})\b", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SLASHED = re.compile(r"\b(\d{1,2})([/.-])(\d{1,2})\2(\d{4})\b")


@lru_cache(maxsize=4)
def _named(language: str) -> re.Pattern:
    months = "|".join(f"{m}|{m[:3]}" for m in load(language).months)
    return re.compile(
        rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({months})\b\.?,?(?: (\d{{4}}))?"
        rf"|\b({months})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}})\b)?",
        re.I,
    )


def dates(text: str, language: str = "en") -> list[str]:
    """Dates of a text as they stand there, in its order; words for days come last.

    >>> dates("Free on 2025-03-04, 5 May or next Monday.")
    ['2025-03-04', '5 May', 'next Monday']
    """
    found = [(m.start(), m.group().strip(" .,")) for p in (_ISO, _SLASHED, _named(language)) for m in p.finditer(text)]
    days = [m.group() for m in re.finditer(load(language).patterns["day_words"].pattern, text, re.I)]
    return list(dict.fromkeys([value for _, value in sorted(found)] + days))


def calendar(text: str, year: int = 0, language: str = "en") -> date | None:
    """The day that a date names; without a year of its own it needs one.

    >>> calendar("12 May", 2025), calendar("31/12/2025"), calendar("soon")
    (datetime.date(2025, 5, 12), datetime.date(2025, 12, 31), None)
    """
    months = [m[:3] for m in load(language).months]
    try:
        if m := _ISO.search(text):
            return date(*map(int, m.groups()))
        if m := _SLASHED.search(text):
            first, second, year = int(m[1]), int(m[3]), int(m[4])
            return date(year, second, first) if second <= 12 else date(year, first, second)
        if m := _named(language).search(text):
            day, month, own = (m[1], m[2], m[3]) if m[1] else (m[5], m[4], m[6])
            year = int(own or year)
            return date(year, months.index(month[:3].lower()) + 1, int(day)) if year else None
    except ValueError:
        return None
    return None


def _order(text: str) -> re.Match[str] | None:
    """The order of day, month and year that a text asks for, in letters or in words."""
    for word, letters in load().order_words.items():
        text = re.sub(rf"\b{word}\b(?=[-/.])|(?<=[-/.]){word}\b", letters, text, flags=re.I)
    return _ORDER.search(text)


def dressed(day: date, like: str) -> str:
    """A day in the order that a text asks for or shows.

    >>> dressed(date(2025, 5, 2), "as DD/MM/YYYY"), dressed(date(2025, 5, 2), "e.g. 14 June")
    ('02/05/2025', '2 May')
    """
    if m := _order(like):
        parts = {"d": f"{day.day:02d}", "m": f"{day.month:02d}", "y": f"{day.year}"}
        return m[2].join(parts[m[i][0].lower()] for i in (1, 3, 4))
    if _ISO.search(like):
        return day.isoformat()
    if m := _SLASHED.search(like):
        return f"{day.day:02d}{m[2]}{day.month:02d}{m[2]}{day.year}"
    if m := _named("en").search(like):
        month = load().months[day.month - 1].capitalize()
        year = f" {day.year}" if (m[3] or m[6]) else ""
        return f"{day.day} {month}{year}" if m[1] else f"{month} {day.day}{',' + year if year else ''}"
    return day.isoformat()


def later(day: date, days: int) -> date:
    """A day after a day, within the calendar."""
    return min(day, date(9998, 1, 1)) + timedelta(days=days)


def kind(value: str) -> str:
    """``email date time money phone code number words``."""
    value = value.strip()
    if EMAIL.fullmatch(value):
        return "email"
    if _ISO.fullmatch(value) or _SLASHED.fullmatch(value) or _named("en").fullmatch(value):
        return "date"
    if TIME.fullmatch(value):
        return "time"
    if MONEY.fullmatch(value):
        return "money"
    if re.fullmatch(r"\d{1,4}", value):
        return "number"
    if PHONE.fullmatch(value) and sum(c.isdigit() for c in value) >= 7:
        return "phone"
    return "code" if CODE.fullmatch(value) else "words"


def codes(text: str) -> list[str]:
    """Identifiers of a text: tokens with a digit that are no date, time, sum or measure, and short words in capitals.

    >>> codes("Order #W1234 of 2025-01-02 costs $20; reservation Z7GOZK at 10:30, 2nd of 3 items.")
    ['W1234', 'Z7GOZK']
    """
    common, measure = load().words["capitals"], load().patterns["measure"]
    masked = EMAIL.sub(" ", MONEY.sub(" ", TIME.sub(" ", text)))
    for value in dates(masked):
        masked = masked.replace(value, " ")
    found = []
    for m in CODE.finditer(masked):
        value = m.group().lstrip("#").strip("/-")
        if (
            measure.match(masked[m.start() : m.end() + 10].lower())
            or (value.isdigit() and len(value) < 4)
            or value.isalpha()
            and value.lower() in common
        ):
            continue
        if re.fullmatch(r"(?:19|20)\d\d", value):
            continue
        found.append(value)
    return list(dict.fromkeys(found))


def _count(word: str, talk: Talk) -> int:
    return int(word) if word.isdigit() and len(word) < 3 else talk.numerals.get(word, 0)


def lengths(wish: str, talk: Talk) -> list[int]:
    """How many digits, letters or characters an agent's sentence says that a value has.

    >>> lengths("a code of six digits", load()), lengths("the number of guests", load())
    ([6], [])
    """
    keys = ("length_wish", "letters_wish", "characters_wish")
    return [n for key in keys for m in talk.patterns[key].finditer(wish.lower()) if (n := _count(m[1], talk))]


def fits(value: str, wish: str, talk: Talk) -> bool:
    """Whether a value has as many letters and digits as an agent's sentence says; True where it says nothing.

    >>> wish = "two letters followed by five digits"
    >>> fits("AB12345", wish, load()), fits("12345", wish, load())
    (True, False)
    """
    low = wish.lower()
    digits = [n for m in talk.patterns["length_wish"].finditer(low) if (n := _count(m[1], talk))]
    letters = [n for m in talk.patterns["letters_wish"].finditer(low) if (n := _count(m[1], talk))]
    whole = [n for m in talk.patterns["characters_wish"].finditer(low) if (n := _count(m[1], talk))]
    if talk.patterns["last_n"].search(low) or talk.patterns["first_n"].search(low):
        return True
    if whole and sum(c.isalnum() for c in value) not in whole:
        return False
    return (not digits or sum(c.isdigit() for c in value) in (*digits, sum(digits))) and (
        not letters or sum(c.isalpha() for c in value) in (*letters, sum(letters))
    )


def made_to_fit(value: str, wish: str, talk: Talk) -> str:
    """A new value of digits with as many as are wanted; any other value as it is.

    >>> made_to_fit("4815", "a new code of six digits", load())
    '481592'
    """
    counts = [n for m in talk.patterns["length_wish"].finditer(wish.lower()) if (n := _count(m[1], talk))]
    return (value + "9263704815" * 2)[: counts[0]] if value.isdigit() and counts else value


def fitted(value: str, wish: str, talk: Talk) -> str:
    """A value as a sentence wants it: its end, its beginning, its year, or a date in another order.

    >>> fitted("+353 87 1234567", "the last four digits of your phone", load())
    '4567'
    >>> fitted("1990-04-12", "Please use DD.MM.YYYY", load())
    '12.04.1990'
    """
    low = wish.lower()
    for key in ("last_n", "first_n"):
        m = talk.patterns[key].search(low)
        if m and (n := _count(m[1], talk)):
            plain = re.sub(r"[^\w@]", "", value)
            return plain[-n:] if key == "last_n" else plain[:n]
    day = calendar(value) if kind(value) == "date" else None
    if day and talk.patterns["year_of"].search(low):
        return str(day.year)
    if day and (_order(wish) or _ISO.search(wish)):
        return dressed(day, wish)
    return value
