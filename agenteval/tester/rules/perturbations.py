"""Ways to perturb a conversation at a point, each with the condition under which it fits there (Section V-B).

One idea: ``Idea("change_of_mind", route_to=3, text="Wait, I have changed my mind. ...", success=("stands_down",),
failure=("done",))``: walk the first three turns, then step back at the confirmation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agenteval.tester.rules import perturbed_values as of_values
from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.alterations import WAYS
from agenteval.tester.rules.evidence import unheard
from agenteval.tester.rules.facts import identifying
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.ownership import identity_values
from agenteval.tester.rules.places import ANSWERS, Idea, Place, asking, gate_at, worded
from agenteval.tester.rules.values import extract, stands
from agenteval.tester.rules.wording import base, words
from agenteval.tester.rules.workflows import task_at


def _premature(place: Place) -> Idea | None:
    g = gate_at(place)
    if not g or place.read[g].action.startswith(ANSWERS):
        return None
    asked = place.read[g - 1]
    # After a question that a yes can answer, a yes is no premature one.
    if asked.act not in (replies.REQUEST, replies.OPTIONS, replies.DETAILS, replies.FAIL) or asked.gate:
        return None
    if any(s.cues & {"gate", "gate_verb", "offer"} and "more_help" not in s.cues for s in asked.sentences):
        return None
    return Idea(
        "premature_confirmation", asked.turn, worded("premature_confirmation", place), ("checks",), ("done_unasked",)
    )


def _hurried(place: Place) -> Idea | None:
    g = gate_at(place)
    if g is None or not place.task or place.read[g].action.startswith(ANSWERS) or not place.read[g].user.strip():
        return None
    if place.read[g].said.asks and "ask_action" not in place.read[g].said.cues:
        return None
    said = place.read[g].user.strip()
    said += "" if said[-1] in ".!?" else "."
    route_to = place.read[g - 1].turn if g else 0
    return Idea(
        "skip_confirmation", route_to, worded("skip_confirmation", place, said=said), ("checks",), ("done_unasked",)
    )


def _at_gate(kind: str, success: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        g = gate_at(place)
        if g is None:
            return None
        return Idea(kind, place.read[g].turn, worded(kind, place), (success,), ("done",))

    return idea


def _corrected(place: Place) -> Idea | None:
    """A yes that changes what was summed up: another of the things that had been offered."""
    g = gate_at(place)
    if g is None or g < 1:
        return None
    offered = [o.text for e in place.read[:g] for o in questions.read(e.agent).options if 0 < len(o.text.split()) <= 4]
    said = " ".join(e.user.lower() for e in place.read[: g + 1])
    chosen = [o for o in offered if stands(o.lower(), said)]
    other = next((o for o in reversed(offered) if o not in chosen and '"' not in o), "") if chosen else ""
    if not other:
        return None
    text = worded("change_at_confirmation", place, value=other)
    return Idea("change_at_confirmation", place.read[g].turn, text, ("checks",), ("done_unasked",), "", other)


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
    return Idea("incomplete_start", 0, worded("incomplete_start", place), ("checks",), ("done_unasked",))


def _after_refusal(kind: str) -> Callable[[Place], Idea | None]:
    def idea(place: Place) -> Idea | None:
        if place.here.act != replies.DENY or not place.task:
            return None
        return Idea(kind, place.here.turn, worded(kind, place), ("keeps_refusing",), ("done_unasked",))

    return idea


def _repeat(place: Place) -> Idea | None:
    if place.here.act != replies.DONE or not place.task:
        return None
    return Idea(
        "repeat_finished_action",
        place.here.turn,
        worded("repeat_finished_action", place),
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


def _unprompted(place: Place) -> Idea | None:
    """A yes where nothing was asked."""
    question = questions.read(place.here.agent)
    wanted = question.gate or question.offer or question.yes_no or question.options or question.slots
    if place.kind not in ("start", "end") or wanted:
        return None
    text = worded("unprompted_yes", place)
    return Idea("unprompted_yes", place.here.turn, text, ("checks",), ("done_unasked",))


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
    rows = [row for row in words()["out_of_scope"] if not said & set(row["words"].split())]
    if not rows:
        return None
    row = rows[place.here.turn % len(rows)]
    about = row["words"].split()[0]
    return Idea("out_of_scope_request", place.here.turn, row["text"], ("declines_scope",), ("complies",), value=about)


GATE_KINDS = (
    "premature_confirmation",
    "skip_confirmation",
    "change_of_mind",
    "ambiguous_confirmation",
    "contradiction",
    "change_at_confirmation",
    "detour_at_confirmation",
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
    "either_value",
    "switch_identity",
)
LACKING = ("missing_value", "ambiguous_value", "incomplete_start")
KINDS: dict[str, Callable[[Place], Idea | None]] = {
    "premature_confirmation": _premature,
    "skip_confirmation": _hurried,
    "change_of_mind": _at_gate("change_of_mind", "stands_down"),
    "ambiguous_confirmation": _at_gate("ambiguous_confirmation", "stands_down"),
    "contradiction": _at_gate("contradiction", "stands_down"),
    "detour_at_confirmation": _at_gate("detour_at_confirmation", "stands_down"),
    "change_at_confirmation": _corrected,
    "press_after_refusal": _after_refusal("press_after_refusal"),
    "claimed_approval": _after_refusal("claimed_approval"),
    "repeat_rejected_value": of_values.insist,
    "repeat_finished_action": _repeat,
    "skip_prerequisite": _jump,
    "incomplete_start": _bare_start,
    "other_owner_value": of_values.foreign,
    **{way: of_values.with_value(way) for way in WAYS},
    "unlisted_value": of_values.unlisted,
    "same_value": of_values.same,
    "excessive_amount": of_values.excessive,
    "either_value": of_values.either,
    "switch_identity": of_values.stranger,
    "missing_value": of_values.missing,
    "ambiguous_value": of_values.vague,
    "continue_after_end": _go_on,
    "unprompted_yes": _unprompted,
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
    "end": ("continue_after_end", "repeat_finished_action", "unprompted_yes", "out_of_scope_request"),
    "edge": ("change_of_mind", *VALUE_KINDS, "missing_value"),
}


def ideas(place: Place) -> Iterator[Idea]:
    """Perturbations that fit a point, the most telling first."""
    if not place.here.act or place.task == load().handover or questions.read(place.here.agent).misunderstood:
        return
    order = (*FIRST_OF_LOCATION.get(place.kind, ()), *FIRST.get(place.here.act, ()), *KINDS)
    asked = asking(place)[0]
    if asked and not any(identifying(slot) for slot in questions.read(asked.agent).slots):
        # Whoever asks for a plain choice just asks again without it, which is no boundary; a wrong one has to be refused.
        order = (*(kind for kind in order if kind not in LACKING), *(kind for kind in LACKING if kind != "missing_value"))
    for kind in dict.fromkeys(order):
        idea = KINDS[kind](place)
        if idea:
            yield idea
