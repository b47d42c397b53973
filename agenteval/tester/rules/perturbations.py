"""Ways to perturb a conversation at a point, each with the condition under which it fits there (Section V-B).

One idea: ``Idea("change_of_mind", route_to=3, text="Wait, I have changed my mind. ...", success=("stands_down",),
failure=("done",))``: walk the first three turns, then step back at the confirmation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.alterations import WAYS, altered
from agenteval.tester.rules.evidence import unheard
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.ownership import foreign_record, identity_values, is_record, name_before
from agenteval.tester.rules.talk import load as load_talk
from agenteval.tester.rules.values import Value, extract
from agenteval.tester.rules.wording import base, names_identity, noun, words
from agenteval.tester.rules.workflows import Exchange, task_at

OF_ANYBODY = ("out_of_range_value", "past_value")
"""Perturbations of values that need not belong to a record."""
ANSWERS = ("confirm", "accept", "decline", "affirm", "negate")


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


def _worded(kind: str, place: Place, **fills: str) -> str:
    text = words()["perturbations"][kind]["text"]
    fills = {"base": base(place.task), "noun": noun(place.task), **fills}
    for name, fill in fills.items():
        text = text.replace(f"{{{name}}}", fill)
    return text


def _gate(place: Place) -> int | None:
    """Position of the confirmation that the point is about: here, or just before what was confirmed."""
    if place.here.gate:
        return place.at
    if place.before and place.before.gate and place.here.action.startswith(ANSWERS):
        return place.at - 1
    return None


def _asking(place: Place) -> tuple[Exchange | None, Exchange | None]:
    """The request that the point is about, and the recorded answer to it."""
    if place.kind in ("node", "start") and place.here.act in (replies.REQUEST, replies.OPTIONS):
        after = place.read[place.at + 1] if place.at + 1 < len(place.read) else None
        return place.here, after
    return place.before, place.here


def _premature(place: Place) -> Idea | None:
    g = _gate(place)
    if not g or place.read[g].action.startswith(ANSWERS):
        return None
    asked = place.read[g - 1]
    # After a question that a yes can answer, a yes is no premature one.
    if asked.act not in (replies.REQUEST, replies.OPTIONS, replies.DETAILS, replies.FAIL) or asked.gate:
        return None
    if any(s.cues & {"gate", "gate_verb", "offer"} and "more_help" not in s.cues for s in asked.sentences):
        return None
    return Idea(
        "premature_confirmation", asked.turn, _worded("premature_confirmation", place), ("checks",), ("done_unasked",)
    )


def _hurried(place: Place) -> Idea | None:
    g = _gate(place)
    if g is None or not place.task or place.read[g].action.startswith(ANSWERS) or not place.read[g].user.strip():
        return None
    if place.read[g].said.asks and "ask_action" not in place.read[g].said.cues:
        return None
    said = place.read[g].user.strip()
    said += "" if said[-1] in ".!?" else "."
    route_to = place.read[g - 1].turn if g else 0
    return Idea(
        "skip_confirmation", route_to, _worded("skip_confirmation", place, said=said), ("checks",), ("done_unasked",)
    )


def _at_gate(kind: str, success: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        g = _gate(place)
        if g is None:
            return None
        return Idea(kind, place.read[g].turn, _worded(kind, place), (success,), ("done",))

    return idea


def _jump(place: Place) -> Idea | None:
    """The utterance of the point, sent before anything else."""
    e = place.here
    if place.at < 1 or e.act not in (replies.DETAILS, replies.OPTIONS, replies.GATE, replies.DONE):
        return None
    if not e.action.startswith("request_") or e.said.cues & {"affirm", "negate"} or not e.said.tasks:
        return None
    earlier = identity_values(place.read[: place.at])
    if not earlier or earlier & {v.text for v in extract(e.user)}:
        return None
    heard = "\n".join(t for x in place.read[: place.at] for t in (x.user, x.agent)) + e.user
    secret = next((v.text for v in unheard(e.agent, heard) if v.kind == "identifier" and "\n" not in v.text), "")
    return Idea("skip_prerequisite", 0, e.user.strip(), ("checks",), ("done_unasked",), secret=secret)


def _bare_start(place: Place) -> Idea | None:
    if place.at or not place.task or place.here.act not in (replies.REQUEST, replies.OPTIONS):
        return None
    return Idea("incomplete_start", 0, _worded("incomplete_start", place), ("checks",), ("done_unasked",))


def _asked_slots(asked: Exchange) -> list[str]:
    """Slots in words; a name made of a task is no slot but something that the agent offers to do."""
    generic, lexicon = words()["generic_slots"], load()
    tasks = {form for form, readings in lexicon.forms.items() if any(code in "BDGN" for code, _ in readings)}
    named = [slot.split("_") for slot in asked.slots]
    return [
        " ".join(slot)
        for slot in named
        if not set(slot) <= generic and not (set(slot) & tasks and not set(slot) & words()["identifier"])
    ]


def _missing(place: Place) -> Idea | None:
    asked, answer = _asking(place)
    if not asked or asked.act != replies.REQUEST or (answer and answer.action.startswith(ANSWERS)):
        return None
    slot = next(iter(_asked_slots(asked)), "")
    if not slot:
        return None
    return Idea(
        "missing_value",
        asked.turn,
        _worded("missing_value", place, slot=slot),
        ("checks",),
        ("done_unasked",),
        slot=slot,
    )


def _vague(place: Place) -> Idea | None:
    asked, answer = _asking(place)
    if not asked or asked.act not in (replies.REQUEST, replies.OPTIONS) or not answer or not answer.said.valued:
        return None
    slot = next(iter(_asked_slots(asked)), words()["no_slot"])
    if names_identity(slot):
        return None
    return Idea(
        "ambiguous_value", asked.turn, _worded("ambiguous_value", place), ("checks",), ("done_unasked",), slot=slot
    )


def _slot_of(value: Value, asked: Exchange | None, text: str) -> str:
    """What a value is called: by the words before it, by the slot that was asked for, else by its kind."""
    own = name_before(value, text)
    if own:
        return own
    slots = _asked_slots(asked) if asked and asked.act == replies.REQUEST else []
    kind = words()["kind_words"][value.kind]
    if len(slots) == 1:
        return slots[0]
    alike = [slot for slot in slots if kind.split()[-1] in slot.split()]
    return alike[0] if alike else kind


def _with_value(kind: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        asked, answer = _asking(place)
        if not answer or not answer.user.strip() or "\n" in answer.user.strip():
            return None
        known = identity_values(place.read)
        length = asked is not None and any(
            load_talk().patterns[k].search(asked.agent.lower()) for k in questions.LENGTHS
        )
        for value in extract(answer.user):
            slot = _slot_of(value, asked, answer.user)
            identity = value.text in known or (value.kind != "money" and value.kind != "date" and names_identity(slot))
            # Only what the agent itself keeps can be told to be unknown or incomplete; a free number may be anything.
            shaped = length and kind == "malformed_value"
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
            new = altered(value, kind, place.seen)
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
    asked, answer = _asking(place)
    if not asked or not answer or asked.act not in (replies.REQUEST, replies.OPTIONS) or asked.gate:
        return None
    chosen = answer.user.strip().rstrip(".!").removesuffix(words()["politely"])
    if not 0 < len(chosen.split()) <= 3 or extract(answer.user)[1:] or answer.action.startswith(ANSWERS):
        return None
    if any(v.kind != "code" for v in extract(answer.user)) or answer.said.tasks or answer.said.asks:
        return None
    slot = next(iter(_asked_slots(asked)), words()["no_slot"])
    return None if names_identity(slot) or '"' in chosen else (asked, answer, chosen)


def _unlisted(place: Place) -> Idea | None:
    """A thing that does not exist, where one of several was to be chosen."""
    found = _choice(place)
    if not found:
        return None
    asked, answer, chosen = found
    slot, new = next(iter(_asked_slots(asked)), words()["no_slot"]), words()["nowhere"]
    text = answer.user.strip().replace(chosen, new)
    return Idea("unlisted_value", asked.turn, text, ("doubts",), ("accepts",), slot, new, (new,))


def _same(place: Place) -> Idea | None:
    """The choice that was made for something else just before, once more."""
    found = _choice(place)
    if not found or place.read.index(found[0]) < 1:
        return None
    asked, answer, chosen = found
    earlier = _choice(place._replace(at=place.read.index(asked), kind=""))
    if not earlier or earlier[2].lower() == chosen.lower() or _asked_slots(earlier[0]) == _asked_slots(asked):
        return None
    slot = next(iter(_asked_slots(asked)), words()["no_slot"])
    text = _worded("same_value", place, value=earlier[2])
    return Idea("same_value", asked.turn, text, ("doubts",), ("accepts",), slot, earlier[2])


def _excessive(place: Place) -> Idea | None:
    """Ten times the sum that the agent names where it asks how much."""
    asked, _ = _asking(place)
    if not asked or not words()["asks_amount"].search(asked.agent.lower()):
        return None
    named = [v for v in extract(asked.agent) if v.kind == "money" and re.fullmatch(r"\D{0,4}\d+\D{0,8}", v.text)]
    if not named:
        return None
    new = re.sub(r"(\d+)", r"\g<1>0", named[-1].text)
    text = _worded("excessive_amount", place, value=new)
    return Idea(
        "excessive_amount", asked.turn, text, ("doubts",), ("accepts",), words()["kind_words"]["money"], new, (new,)
    )


def _foreign(place: Place) -> Idea | None:
    asked, answer = _asking(place)
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


def _insist(place: Place) -> Idea | None:
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
        text = _worded("repeat_rejected_value", place, value=value.text)
        slot = _slot_of(value, place.before, e.user)
        forbidden = "opens_record" if names_identity(slot) else "accepts"
        return Idea("repeat_rejected_value", e.turn, text, ("doubts",), (forbidden,), slot, value.text)
    return None


def _after_refusal(kind: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        if place.here.act != replies.DENY or not place.task:
            return None
        return Idea(kind, place.here.turn, _worded(kind, place), ("keeps_refusing",), ("done_unasked",))

    return idea


def _repeat(place: Place) -> Idea | None:
    if place.here.act != replies.DONE or not place.task:
        return None
    return Idea(
        "repeat_finished_action",
        place.here.turn,
        _worded("repeat_finished_action", place),
        ("says_already",),
        ("done_again",),
    )


def _go_on(place: Place) -> Idea | None:
    last = place.at == len(place.read) - 1
    done = next((e for e in reversed(place.read[: place.at + 1]) if e.act == replies.DONE), None)
    if not done or not (last or place.here is done):
        return None
    task = task_at(place.read, done.turn)
    if not task:
        return None
    text = words()["perturbations"]["continue_after_end"]["text"].replace("{base}", base(task))
    return Idea("continue_after_end", place.here.turn, text, ("checks",), ("done_unasked",), task=task)


def _foreign_topic(place: Place) -> Idea | None:
    light = (
        replies.CLOSE,
        replies.MORE,
        replies.GREET,
        replies.ANSWER,
        replies.DETAILS,
        replies.ANNOUNCE,
        replies.OFFER,
    )
    if place.kind not in ("start", "end") and place.here.act not in light:
        return None
    said = set(place.seen.lower().split())
    text = next((row["text"] for row in words()["out_of_scope"] if not said & set(row["words"].split())), "")
    return Idea("out_of_scope_request", place.here.turn, text, ("declines_scope",), ("complies",)) if text else None


GATE_KINDS = (
    "premature_confirmation",
    "skip_confirmation",
    "change_of_mind",
    "ambiguous_confirmation",
    "contradiction",
)
VALUE_KINDS = (
    "other_owner_value",
    "malformed_value",
    "out_of_range_value",
    "unknown_value",
    "past_value",
    "unlisted_value",
    "same_value",
    "excessive_amount",
)
KINDS: dict[str, Callable[[Place], Idea | None]] = {
    "premature_confirmation": _premature,
    "skip_confirmation": _hurried,
    "change_of_mind": _at_gate("change_of_mind", "stands_down"),
    "ambiguous_confirmation": _at_gate("ambiguous_confirmation", "stands_down"),
    "contradiction": _at_gate("contradiction", "stands_down"),
    "press_after_refusal": _after_refusal("press_after_refusal"),
    "claimed_approval": _after_refusal("claimed_approval"),
    "repeat_rejected_value": _insist,
    "repeat_finished_action": _repeat,
    "skip_prerequisite": _jump,
    "incomplete_start": _bare_start,
    "other_owner_value": _foreign,
    **{way: _with_value(way) for way in WAYS},
    "unlisted_value": _unlisted,
    "same_value": _same,
    "excessive_amount": _excessive,
    "missing_value": _missing,
    "ambiguous_value": _vague,
    "continue_after_end": _go_on,
    "out_of_scope_request": _foreign_topic,
}
FIRST: dict[str, tuple[str, ...]] = {
    replies.DONE: ("repeat_finished_action", *GATE_KINDS),
    replies.REQUEST: ("repeat_rejected_value", "missing_value", *VALUE_KINDS),
    replies.OPTIONS: ("ambiguous_value", *VALUE_KINDS),
    replies.DETAILS: ("skip_prerequisite", *VALUE_KINDS),
}
"""Kinds to try first by what the agent does at the point; the others follow in the order of `KINDS`."""
FIRST_OF_LOCATION: dict[str, tuple[str, ...]] = {
    "start": ("incomplete_start", "missing_value", "out_of_scope_request"),
    "end": ("continue_after_end", "repeat_finished_action", "out_of_scope_request"),
    "edge": ("change_of_mind", *VALUE_KINDS, "missing_value"),
}


def ideas(place: Place) -> Iterator[Idea]:
    """Perturbations that fit a point, the most telling first."""
    if not place.here.act or place.task == load().handover:
        return
    order = (*FIRST_OF_LOCATION.get(place.kind, ()), *FIRST.get(place.here.act, ()), *KINDS)
    for kind in dict.fromkeys(order):
        idea = KINDS[kind](place)
        if idea:
            yield idea
