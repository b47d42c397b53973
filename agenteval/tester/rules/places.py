"""Points of a recorded session at which a perturbation can stand, and what can be said about them.

``Place(session, read, at=2, kind="edge", ...)`` is the third turn of a session, looked at as the end of an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agenteval.tester.rules import replies
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.wording import base, noun, words
from agenteval.tester.rules.workflows import Exchange, task_at

ANSWERS = ("confirm", "accept", "decline", "affirm", "negate")
"""How the customer's actions begin that answer a yes-or-no question."""


class Place(NamedTuple):
    """A point of a session with all that was seen."""

    session: dict[str, Any]
    read: tuple[Exchange, ...]
    at: int
    """Position of the turn in `read`."""
    kind: str
    """Kind of location, empty without one."""
    sessions: Sequence[dict[str, Any]]
    brief: dict[str, Any]
    seen: str
    """All texts of all sessions and the values of the brief."""

    @property
    def here(self) -> Exchange:
        return self.read[self.at]

    @property
    def before(self) -> Exchange | None:
        return self.read[self.at - 1] if self.at else None

    @property
    def task(self) -> str:
        return task_at(self.read, self.here.turn)


class Idea(NamedTuple):
    """One perturbation of one point."""

    kind: str
    route_to: int
    """Last turn of the route; 0 for none."""
    text: str
    success: tuple[str, ...]
    failure: tuple[str, ...]
    slot: str = ""
    value: str = ""
    perturbed: tuple[str, ...] = ()
    secret: str = ""
    """A value that the agent must not tell there."""
    task: str = ""
    """Task that it is about, where that is not the task of the point."""


def worded(kind: str, place: Place, **fills: str) -> str:
    text = words()["perturbations"][kind]["text"]
    fills = {"base": base(place.task), "noun": noun(place.task), **fills}
    for name, fill in fills.items():
        text = text.replace(f"{{{name}}}", fill)
    return text


def gate_at(place: Place) -> int | None:
    """Position of the confirmation that the point is about: here, or just before what was confirmed."""
    if place.here.gate:
        return place.at
    if place.before and place.before.gate and place.here.action.startswith(ANSWERS):
        return place.at - 1
    return None


def asking(place: Place) -> tuple[Exchange | None, Exchange | None]:
    """The request that the point is about, and the recorded answer to it."""
    if place.kind in ("node", "start") and place.here.act in (replies.REQUEST, replies.OPTIONS):
        after = place.read[place.at + 1] if place.at + 1 < len(place.read) else None
        return place.here, after
    return place.before, place.here


def asked_slots(asked: Exchange) -> list[str]:
    """Slots in words; a name made of a task is no slot but something that the agent offers to do."""
    generic, lexicon = words()["generic_slots"], load()
    tasks = {form for form, readings in lexicon.forms.items() if any(code in "BDGN" for code, _ in readings)}
    named = [slot.split("_") for slot in asked.slots]
    return [
        " ".join(slot)
        for slot in named
        if not set(slot) <= generic and not (set(slot) & tasks and not set(slot) & words()["identifier"])
    ]
