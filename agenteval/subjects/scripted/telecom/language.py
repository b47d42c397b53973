"""Values that a phone customer names: numbers, ids, name and date of birth, lines, plans, amounts of data, what the device shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted import slots
from agenteval.subjects.scripted.understand import patterns

TODAY = "2025-06-11"
_PHONE = re.compile(r"\(?\b(\d{3})\)?[ .-]?(\d{3})[ .-]?(\d{4})\b")
_PHONE_LIKE = re.compile(r"\b\d[\d .-]{3,12}\d\b")
_LINE = re.compile(r"\bL\s?(\d{4})\b", re.IGNORECASE)
_CUSTOMER = re.compile(r"\bC\s?(\d{3,6})\b", re.IGNORECASE)
_AMOUNT = re.compile(r"(-?\d+(?:[.,]\d+)?) ?(?:gb|gigs?|gigabytes?)\b", re.IGNORECASE)
_PLAN = re.compile(r"\b(?:the |an? |to |my )?([A-Za-z]+) (?:plan|tariff)\b|\bplan (?:called |named )?([A-Z][a-z]+)\b")
_NO_PLAN = frozenset(
    """
    my the a another other new different current present phone data which what this that change of your better
    cheaper bigger
    """.split()  # noqa: SIM905
)
_STOP = frozenset(
    """
    hi hello hey i'm i'd i'll i've that's don't my name is the for i am it's this yes no please thanks thank you good
    mr mrs ms dear basic plus family traveller plan line lines number customer id mobile data wren roaming bill bills
    sim card and also actually sure ok okay what can do want would like need have from with in at of not january
    february march april may june july august september october november december born on change add show
    """.split()  # noqa: SIM905
)


def extract(text: str, asked: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """Everything in a text that is a value; `asked` gives short answers their meaning."""
    table, low = patterns(Path(__file__).with_name("language.yaml")), text.lower()
    phones = [f"{m.group(1)}-{m.group(2)}-{m.group(3)}" for m in _PHONE.finditer(text)]
    by_phone = {line["phone_number"]: line["line_id"] for line in data["lines"].values()}
    births = list(slots.dates(text, TODAY))
    rest = text
    for found in births:
        rest = rest.replace(found.raw, " ")
    rest = _PHONE.sub(" ", _LINE.sub(" ", _CUSTOMER.sub(" ", rest)))
    like = _PHONE_LIKE.search(rest) if asked in ("identity", "phone") and not phones else None
    amount = _AMOUNT.search(text)
    number = slots.bare_number(text) if asked == "amount" and not amount else None
    named = next((p for p in data["plans"] if re.search(rf"\b{p.lower()}\b", low)), None)
    other = _PLAN.search(text) if not named else None
    word = next((g for g in other.groups() if g), "") if other else ""
    if (
        asked == "plan"
        and not named
        and not word
        and (alone := re.fullmatch(r"\W*(?:the )?([A-Za-z]{3,15})(?:,? please)?\W*", text))
    ):
        word = alone.group(1)
    people = [f.value for f in slots.names(_capital(rest, asked), _STOP)]
    return {
        "lines": list(dict.fromkeys([f"L{m.group(1)}" for m in _LINE.finditer(text)] + [by_phone[p] for p in phones if p in by_phone])),
        "phones": phones,
        "phone_like": like.group() if like else None,
        "customers": [f"C{m.group(1)}" for m in _CUSTOMER.finditer(text)],
        "person": people[0] if people else None,
        "birth": next((d.value for d in births if d.value), None),
        "bad_birth": next((d.raw for d in births if not d.value), None),
        "plan": named,
        "bad_plan": word.title() if word and word.lower() not in _NO_PLAN and (asked == "plan" or word[:1].isupper()) else None,
        "amount": float(amount.group(1).replace(",", ".")) if amount else float(number) if number is not None else None,
        "direction": next((name for name, pattern in table["directions"].items() if pattern.search(low)), None),
        "paid": bool(table["paid"].search(low)),
        "device": [name for name, pattern in table["device"].items() if pattern.search(low)],
        "ordinal": slots.ordinal(text),
    }  # fmt: skip


def _capital(text: str, asked: str | None) -> str:
    """Names are typed in lower case where they were asked for."""
    words = re.sub(r"\d+|[^\w\s]", " ", text).split()
    plain = 2 <= len(words) <= 3 and text == text.lower() and "'" not in text
    return text.title() if asked in ("identity", "name") and plain else text
