"""Perturbations of values: missing, vague, malformed, unknown, out of range, somebody else's, or given twice (Section V-B).

Each function looks at a place and gives an idea, or None where the perturbation does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.alterations import altered
from agenteval.tester.rules.evidence import unheard
from agenteval.tester.rules.facts import identifying, is_place, naming
from agenteval.tester.rules.likeness import asks_day
from agenteval.tester.rules.ownership import (
    foreign_identity,
    foreign_record,
    identity_values,
    is_record,
    name_before,
    own_record,
)
from agenteval.tester.rules.places import ANSWERS, Idea, Place, asked_slots, asking, worded
from agenteval.tester.rules.shapes import lengths
from agenteval.tester.rules.talk import load as load_talk
from agenteval.tester.rules.values import Value, extract, names_of
from agenteval.tester.rules.wording import names_identity, words
from agenteval.tester.rules.workflows import Exchange

OF_ANYBODY = ("out_of_range_value", "past_value")
"""Perturbations of values that need not belong to a record."""
PLAIN = frozenset({"date", "time", "money", "number"})


def missing(place: Place) -> Idea | None:
    asked, answer = asking(place)
    if not asked or asked.act != replies.REQUEST or (answer and answer.action.startswith(ANSWERS)):
        return None
    slot = next(iter(asked_slots(asked)), "")
    if not slot:
        return None
    return Idea(
        "missing_value",
        asked.turn,
        worded("missing_value", place, slot=slot),
        ("checks",),
        ("done_unasked", "goes_without") if names_identity(slot) else ("done_unasked",),
        slot=slot,
    )


def vague(place: Place) -> Idea | None:
    asked, answer = asking(place)
    if not asked or asked.act not in (replies.REQUEST, replies.OPTIONS) or not answer or not answer.said.valued:
        return None
    question = questions.read(asked.agent)
    # Whoever asks for a plain detail asks once more; a choice and a record have to be told from others.
    if asks_day(question) or not (question.options or any(identifying(s) for s in question.slots)):
        return None
    slot = next(iter(asked_slots(asked)), words()["no_slot"])
    if names_identity(slot):
        return None
    return Idea(
        "ambiguous_value", asked.turn, worded("ambiguous_value", place), ("checks",), ("done_unasked",), slot=slot
    )


def _slot_of(value: Value, asked: Exchange | None, text: str) -> str:
    """What a value is called: by the words before it, by the slot that was asked for, else by its kind."""
    own = name_before(value, text)
    if own:
        return own
    slots = asked_slots(asked) if asked and asked.act == replies.REQUEST else []
    kind = words()["kind_words"][value.kind]
    if len(slots) == 1:
        return slots[0]
    alike = [slot for slot in slots if kind.split()[-1] in slot.split()]
    return alike[0] if alike else kind


def _finds(value: Value, asked: Exchange | None, text: str) -> bool:
    """Whether a customer may be found by a value alone: a number, a phone, an address, and not what merely proves it."""
    kinds = naming(_slot_of(value, asked, text).replace(" ", "_")).kinds
    return value.kind in ("email", "phone") or bool(kinds) and kinds <= {"number", "phone", "email"}


def with_value(kind: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        asked, answer = asking(place)
        if not answer or not answer.user.strip() or "\n" in answer.user.strip():
            return None
        if asked and questions.read(asked.agent).misunderstood:
            return None
        known = identity_values(place.read)
        # Who gives a name as well may be found by that.
        by_name = any(" " in n and not any(c.isdigit() for c in n) and n in answer.user for n in names_of(place.brief))
        length = asked is not None and bool(lengths(asked.agent, load_talk()))
        for value in extract(answer.user):
            slot = _slot_of(value, asked, answer.user)
            identity = value.text in known or (value.kind != "money" and value.kind != "date" and names_identity(slot))
            # Only what the agent itself keeps can be told to be unknown or incomplete; a free number may be anything.
            # Who gives two numbers of their own may be found by the other one.
            if identity and by_name and value.kind != "date":
                continue
            if identity and any(_finds(v, asked, answer.user) for v in extract(answer.user) if v.text != value.text):
                continue
            shaped = kind == "malformed_value" and (length or value.kind == "date")
            if kind not in OF_ANYBODY and not (identity or shaped or is_record(value, answer.user, slot)):
                continue
            if value.kind == "number" and (identity or shaped) != (kind == "malformed_value"):
                continue
            if (
                kind == "out_of_range_value"
                and value.kind == "number"
                and (len(value.text) > 3 or not value.text.isdigit())
            ):
                continue
            # In a line that names a record the rest is what it looks like.
            if value.kind in PLAIN and any(v.kind == "identifier" for v in extract(answer.user)):
                continue
            new = altered(value, kind, place.seen, place.here.turn)
            if not new or '"' in new:
                continue
            forbidden = "opens_record" if identity else "accepts"
            end = value.start + len(value.text)
            text = (answer.user[: value.start] + new + answer.user[end:]).strip()
            route_to = asked.turn if asked else 0
            return Idea(kind, route_to, text, ("doubts",), (forbidden,), slot, new, (new,))
        return None

    return idea


def _choice(place: Place) -> tuple[Exchange, Exchange, str] | None:
    """A request, the answer that chose something in a few plain words, and those words."""
    asked, answer = asking(place)
    if not asked or not answer or asked.act not in (replies.REQUEST, replies.OPTIONS) or asked.gate:
        return None
    chosen = answer.user.strip().rstrip(".!").removesuffix(words()["politely"])
    if not 0 < len(chosen.split()) <= 3 or extract(answer.user)[1:] or answer.action.startswith(ANSWERS):
        return None
    if any(v.kind != "code" for v in extract(answer.user)) or answer.said.tasks or answer.said.asks:
        return None
    slot = next(iter(asked_slots(asked)), words()["no_slot"])
    return None if names_identity(slot) or '"' in chosen else (asked, answer, chosen)


def unlisted(place: Place) -> Idea | None:
    """A thing that does not exist, where one of several was to be chosen."""
    found = _choice(place)
    if not found:
        return None
    asked, answer, chosen = found
    question = questions.read(asked.agent)
    if question.misunderstood or asks_day(question):
        return None
    slot, new = next(iter(asked_slots(asked)), words()["no_slot"]), words()["nowhere"]
    text = answer.user.strip().replace(chosen, new)
    return Idea("unlisted_value", asked.turn, text, ("doubts",), ("accepts",), slot, new, (new,))


def _alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two details are different ones of a kind: two places, two dates, two accounts."""
    if not one or not other or one[0] == other[0]:
        return False
    a, b = naming(one[0]), naming(other[0])
    return is_place(a) and is_place(b) or bool(a.kinds & b.kinds or a.owners & b.owners)


def same(place: Place) -> Idea | None:
    """The choice that was made for something else just before, once more."""
    found = _choice(place)
    if not found or place.read.index(found[0]) < 1:
        return None
    asked, answer, chosen = found
    earlier = _choice(place._replace(at=place.read.index(asked), kind=""))
    if not earlier or earlier[2].lower() == chosen.lower() or not _alike(earlier[0].slots, asked.slots):
        return None
    slot = next(iter(asked_slots(asked)), words()["no_slot"])
    text = worded("same_value", place, value=earlier[2])
    return Idea("same_value", asked.turn, text, ("doubts",), ("accepts",), slot, earlier[2])


def excessive(place: Place) -> Idea | None:
    """Ten times the sum that the agent names where it asks how much."""
    asked, _ = asking(place)
    if not asked or not words()["asks_amount"].search(asked.agent.lower()):
        return None
    named = [v for v in extract(asked.agent) if v.kind == "money" and re.fullmatch(r"\D{0,4}\d+\D{0,8}", v.text)]
    if not named:
        return None
    new = re.sub(r"(\d+)", r"\g<1>0", named[-1].text)
    text = worded("excessive_amount", place, value=new)
    return Idea(
        "excessive_amount", asked.turn, text, ("doubts",), ("accepts",), words()["kind_words"]["money"], new, (new,)
    )


def foreign(place: Place) -> Idea | None:
    asked, answer = asking(place)
    if not answer or not answer.user.strip():
        return None
    known = identity_values(place.read)
    given = identity_values(place.read[: place.read.index(answer)])
    for value in extract(answer.user):
        slot = _slot_of(value, asked, answer.user)
        if (
            value.text in known
            or not (given or known & {v.text for v in extract(answer.user)})
            or not is_record(value, answer.user, slot)
        ):
            continue
        new = foreign_record(value, place.session, place.sessions, place.brief)
        if new:
            end = value.start + len(value.text)
            text = (answer.user[: value.start] + new + answer.user[end:]).strip()
            route_to = asked.turn if asked else 0
            return Idea("other_owner_value", route_to, text, ("withholds",), ("opens_record",), slot, new, (new,))
    return None


def either(place: Place) -> Idea | None:
    """Two records of the customer's own, where one is wanted."""
    asked, answer = asking(place)
    if not asked or not answer or asked.act not in (replies.REQUEST, replies.OPTIONS):
        return None
    known = identity_values(place.read)
    for value in extract(answer.user):
        slot = _slot_of(value, asked, answer.user)
        if value.text in known or not is_record(value, answer.user, slot):
            continue
        other = own_record(value, place.session, place.brief)
        if other:
            text = worded("either_value", place, value=value.text, other=other)
            return Idea("either_value", asked.turn, text, ("checks",), ("done_unasked",), slot, value.text)
    return None


def stranger(place: Place) -> Idea | None:
    """Another customer, in the middle of a session that belongs to the first."""
    mine = identity_values(place.read[: place.at + 1])
    if not mine or place.here.act not in (replies.DETAILS, replies.REQUEST, replies.OPTIONS, replies.GATE):
        return None
    found = foreign_identity(mine, place.brief)
    if not found:
        return None
    slot, value = found
    text = worded("switch_identity", place, slot=slot, value=value)
    return Idea("switch_identity", place.here.turn, text, ("withholds",), ("opens_record",), slot, value, (value,))


def insist(place: Place) -> Idea | None:
    e = place.here
    if e.act not in (replies.FAIL, replies.NONE) and not (
        e.act == replies.REQUEST and questions.read(e.agent).rejected
    ):
        return None
    heard = "\n".join(t for x in place.read[: place.at] for t in (x.user, x.agent)) + e.user
    if unheard(e.agent, heard):
        return None
    for value in extract(e.user):
        if value.kind in ("quoted", "code", "url") or (value.kind == "number" and len(value.text) < 3):
            continue
        text = worded("repeat_rejected_value", place, value=value.text)
        slot = _slot_of(value, place.before, e.user)
        forbidden = "opens_record" if names_identity(slot) else "accepts"
        return Idea("repeat_rejected_value", e.turn, text, ("doubts",), (forbidden,), slot, value.text)
    return None
