"""The airline: what it adds to the engine of scripted subjects.

The rules follow tau-bench's airline policy in our own words (`policy.md`); people, bookings and flights are invented.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted.airline import (
    identity,
    language,
    merging,
    workflows_book,
    workflows_cancel,
    workflows_change,
    workflows_info,
)
from agenteval.subjects.scripted.airline.tools import Tools
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Domain

FOLDER = Path(__file__).parent
NAME = "an airline's customer service: bookings, cancellations, changes, baggage, flight information and complaints"

WORKFLOWS = {
    "book": workflows_book.book,
    "cancel": workflows_cancel.cancel,
    "change_flights": workflows_change.change_flights,
    "change_cabin": workflows_change.change_cabin,
    "change_passengers": workflows_change.change_passengers,
    "change_bags": workflows_change.change_bags,
    "add_insurance": workflows_change.add_insurance,
    "vague_change": workflows_change.vague_change,
    "compensation": workflows_cancel.compensation,
    "transfer": workflows_cancel.transfer,
    "show": workflows_info.show,
    "profile": workflows_info.profile,
    "flight_info": workflows_info.flight_info,
    "search": workflows_info.search,
    "status": workflows_info.status,
    "airports": workflows_info.airports,
}

TITLES = {
    "book": "your new booking",
    "cancel": "the cancellation",
    "change_flights": "the change of flights",
    "change_cabin": "the cabin change",
    "change_passengers": "the passenger details",
    "change_bags": "the baggage",
    "add_insurance": "the insurance",
    "vague_change": "your change",
    "compensation": "your complaint",
    "transfer": "the transfer",
    "show": "your reservations",
    "profile": "your profile",
    "flight_info": "the flight information",
    "search": "the flight search",
    "status": "the flight status",
    "airports": "our network",
}

# While a task is open, these intents are usually values for it and no new topic.
KEPT = {
    "book": (
        "search",
        "change_flights",
        "change_cabin",
        "change_passengers",
        "change_bags",
        "add_insurance",
        "vague_change",
        "show",
        "compensation",
    ),
    "search": ("change_flights", "vague_change"),
    "change_flights": ("search", "vague_change", "book"),
    "change_cabin": ("vague_change", "change_flights", "book"),
    "change_passengers": ("vague_change", "change_flights"),
    "change_bags": ("vague_change",),
    "cancel": ("change_flights", "vague_change", "status", "compensation"),
    "compensation": ("status", "search"),
    "status": ("search", "compensation"),
    "vague_change": (),
}


_MOVES_OWN = re.compile(r"\b(?:move|change|reschedule|shift|push|postpone) (?:it|my|that)\b")


@cache
def data() -> dict[str, Any]:
    """The committed data, read once; `Tools` copies what can change."""
    return json.loads((FOLDER / "data.json").read_text("utf-8"))


def keep(s: Talk, intent: str) -> bool:
    """Whether an intent belongs to the open task: its own, or one of those that are values for it."""
    task, r = s.task, s.reading.slots
    if intent == task.name:
        return True
    if intent not in KEPT.get(task.name, ()):
        return False
    if intent in ("compensation", "status", "change_flights") and task.name == "cancel":
        # "The airline cancelled my flight" and "a change of plan" are reasons; "change it to Friday instead" is not.
        return r["reason"] is not None
    if task.name == "change_cabin" and intent == "change_flights":
        # "Change my flight to business" is one wish, with another day it is two.
        return bool(r["cabin"]) and not (r["dates"] or r["shift"])
    if task.name == "search" and intent == "change_flights":
        # "A later flight?" is another search, "move it a day later" is about what is booked.
        return not _MOVES_OWN.search(s.reading.text.lower())
    if intent in merging.ON_RESERVATION and task.name == "book":
        # Another reservation is meant when its id is said.
        return not r["reservations"]
    return True


def seeds() -> list[dict[str, str]]:
    """What a tester may know in advance: one flat mapping per customer."""
    out = []
    for user in data()["users"].values():
        seed = {
            "user_id": user["user_id"],
            "name": f"{user['name']['first_name']} {user['name']['last_name']}",
            "date_of_birth": user["dob"],
        }
        seed |= {f"reservation_id_{n}": r for n, r in enumerate(user["reservations"], 1)}
        seed |= {f"payment_id_{n}": p for n, p in enumerate(user["payment_methods"], 1)}
        out.append(seed)
    return out


DOMAIN = Domain(
    "airline",
    FOLDER,
    data,
    Tools,
    language.extract,
    identity.listen,
    merging.merge,
    keep,
    WORKFLOWS,
    ("show", "search", "status"),
    TITLES,
    ("book", "cancel", "vague_change", "show", "flight_info", "compensation"),
    "reservation",
    ("cancel",),
)
