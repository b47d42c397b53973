"""Public seeds of the tau-bench domains: what the tasks say that their customers know of themselves.

One seed is one person::

    {"name": "Anya Garcia", "user_id": "anya_garcia_5901", "reservation_id_1": "JMO1MG", "reservation_id_2": "3RK2T9"}

Read are the known information and the reason for the call, which a customer tells anyway. Expected actions, evaluation criteria,
the instructions on how to behave, and the data of the environment are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

KNOWN: dict[str, str] = {
    "name": r"\b(?:[Yy]ou(?:r)? name is|You are|You're|called) ([A-Z][a-z'-]+(?: [A-Z][a-z'-]+)*)",
    "user_id": r"\b([a-z]+_[a-z]+_\d{4})\b",
    "email": r"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    "phone_number": r"\b(\d{3}-\d{3}-\d{4})\b",
    "zip": r"(?<![\w#])(\d{5})(?!\w)",
    "reservation_id": r"(?:reservation|confirmation) (?:number|id|ID)\s*(?:is|:)?\s*([A-Z0-9]{6})\b",
}
"""Field to pattern, for the known information of airline, retail and telecom."""
REASON: dict[str, str] = {
    "order_id": r"\b(W\d{7})\b",
    "reservation_id": r"(?:reservations?|bookings?|confirmation)\b[^.\n]*?\b((?!HAT)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6})\b",
}
"""Field to pattern, for the reason of the call."""
PROSE: dict[str, str] = {
    "name": r"character(?: is|:\**)[^.\n]*?\b((?:[A-Z][a-z]+ )[A-Z][\w'-]+)",
    "user_id": r"\bYour user ID is (\w+)",
    "date_of_birth": r"\b[Yy]our date of birth is ([A-Z][a-z]+ \d{1,2}, \d{4}|\d{1,2}/\d{1,2}/\d{4})",
    "email": r"\b[Yy]our email(?: address)? is ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    "phone_number": r"\b[Yy]our phone number is (\d{3}-\d{3}-\d{4})",
    "address": r"\b[Yy]our address is (\d[^\n]*? [A-Z]{2} \d{5})",
    "annual_income": r"\b[Yy]our annual income is (\$[\d,]*\d)",
}
"""Field to pattern, for banking, whose scenarios are one text."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
KEYS = ("user_id", "email", "phone_number")
"""Who shares one of these is the same person. A name alone says nothing: different customers share one."""

Facts = dict[str, list[str]]


def seeds(scenarios: Iterable[Any]) -> tuple[dict[str, str], ...]:
    """One flat mapping for each person, from the user scenarios of the tasks."""
    people: list[Facts] = []
    for scenario in scenarios:
        facts = known(scenario.instructions)
        person = next((p for p in people if _same(p, facts)), None)
        if person is None:
            people.append(facts)
            continue
        for field, values in facts.items():
            person[field] = [*person.get(field, []), *(v for v in values if v not in person.get(field, []))]
    flats = [_flat(person) for person in people]
    return tuple(flat for flat in flats if set(flat) - {"name"})


def known(instructions: Any) -> Facts:
    """What a customer knows: field to values, in the order of the text."""
    if isinstance(instructions, str):
        facts = _found(PROSE, instructions)
        if "date_of_birth" in facts:
            facts["date_of_birth"] = list(dict.fromkeys(_date(text) for text in facts["date_of_birth"]))
        return facts
    facts = _found(KNOWN, getattr(instructions, "known_info", None) or "")
    for field, values in _found(REASON, getattr(instructions, "reason_for_call", None) or "").items():
        facts[field] = list(dict.fromkeys([*facts.get(field, []), *values]))
    if "order_id" in facts:
        facts["order_id"] = [f"#{value}" for value in facts["order_id"]]
    return facts


def _found(patterns: dict[str, str], text: str) -> Facts:
    found = {field: list(dict.fromkeys(re.findall(pattern, text))) for field, pattern in patterns.items()}
    return {field: values for field, values in found.items() if values}


def _date(text: str) -> str:
    """A date in figures, as the bank keeps it.

    >>> _date("December 5, 1993"), _date("12/05/1993")
    ('12/05/1993', '12/05/1993')
    """
    if text[0].isdigit():
        return text
    month, day, year = text.replace(",", "").split()
    return f"{MONTHS.index(month[:3]) + 1:02}/{int(day):02}/{year}" if month[:3] in MONTHS else text


def _same(one: Facts, other: Facts) -> bool:
    if any(set(one.get(key, [])) & set(other.get(key, [])) for key in KEYS):
        return True
    both = [field for field in ("name", "zip") if set(one.get(field, [])) & set(other.get(field, []))]
    return both == ["name", "zip"]


def _flat(facts: Facts) -> dict[str, str]:
    flat = {}
    for field, values in facts.items():
        if field == "name":
            flat[field] = max(values, key=len)
        elif len(values) == 1:
            flat[field] = values[0]
        else:
            flat |= {f"{field}_{number}": value for number, value in enumerate(values, 1)}
    return flat
