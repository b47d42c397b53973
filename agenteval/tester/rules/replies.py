"""The act of a whole reply: sentences' cues weighed together, with the user's question and the task at hand.

``Your seat is cancelled. Shall I book the new one?`` is a completion followed by a gate and keeps both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agenteval.tester.rules.acts import (
    ANNOUNCE,
    ANSWER,
    CLOSE,
    DENY,
    DETAILS,
    DONE,
    FAIL,
    GATE,
    GREET,
    MORE,
    NONE,
    OFFER,
    OPTIONS,
    REQUEST,
    STRONG,
    TRANSFER,
    Sentence,
    looks_up,
    read_sentence,
    tasks_in,
    verb_at,
    verb_in,
)
from agenteval.tester.rules.lexicon import Lexicon
from agenteval.tester.rules.slots import requested
from agenteval.tester.rules.text import clean, listed, sentences
from agenteval.tester.rules.utterances import Utterance, asks_to_know

SHORT = 12
_VALUE = re.compile(r"\d")
POLITE = frozenset({"courtesy", "more_help", "close", "greet"})


class Reading(NamedTuple):
    """What the rules see in one reply, before the vote."""

    act: str
    verb: str = ""
    slots: tuple[str, ...] = ()
    gate_after: str | None = None
    """Task of a gate that the same reply opens after its completion or failure; None without one."""
    firm: bool = False
    """The wording leaves no doubt, so that the vote of like replies does not count."""
    purpose: str = ""
    """Task that a request or a record serves, once the session has come to its subject matter."""


class Body(NamedTuple):
    """The sentences of one reply: all of them, those with weight, and those that are not the ritual last question."""

    every: list[Sentence]
    weighty: list[Sentence]
    open: list[Sentence]
    items: int
    words: int
    valued: bool

    def first(self, cue: str) -> Sentence | None:
        """Return the first open sentence with a cue."""
        return next((s for s in self.open if cue in s.cues), None)

    def last(self, cue: str) -> Sentence | None:
        """Return the last open sentence with a cue."""
        return next((s for s in reversed(self.open) if cue in s.cues), None)


class Context(NamedTuple):
    """What was said before a reply."""

    said: Utterance
    action: str
    """User action that the reply answers."""
    before: str
    """The agent's previous act, empty at the start."""
    task: str
    """Task that the session is about, or empty."""
    asked: frozenset[str]
    """Tasks that the user has asked for so far."""


def _body(text: str, confirmed: bool, lexicon: Lexicon) -> Body:
    cleaned = clean(text)
    every = [read_sentence(s, lexicon.language) for s in sentences(cleaned, lexicon)]
    weighty = [
        s
        for s in every
        if not (POLITE & s.cues)
        or s.cues & {"gate", "completion", "deny"}
        or (confirmed and "completion_after_gate" in s.cues and "more_help" not in s.cues)
    ]
    return Body(
        every,
        weighty,
        [s for s in weighty if "gate" in s.cues or "more_help_question" not in s.cues],
        listed(cleaned),
        len(cleaned.split()),
        bool(_VALUE.search(cleaned)),
    )


def _task_of(sentence: Sentence, others: list[Sentence], context: Context, lexicon: Lexicon) -> str:
    """Name the task of a sentence: what it says, else what was asked for and the reply mentions, else the session's."""
    own = tasks_in(sentence.marked, lexicon, STRONG)
    wished = [t for t in own if t in context.asked]
    acting = [t for t in own if t not in lexicon.words["settling"]]
    if wished or acting:
        return ([t for t in acting if t in context.asked] or acting or wished)[0]
    weak = [t for t in tasks_in(sentence.marked, lexicon) if t in context.asked or not context.task]
    nearby = [t for s in reversed(others) for t in tasks_in(s.marked, lexicon, STRONG) if t in context.asked]
    rest = [t for s in reversed(others) for t in tasks_in(s.marked, lexicon)]
    return next(iter(weak + nearby), "") or context.task or next(iter(own + rest), "")


def _is_gate(sentence: Sentence, items: int, context: Context, lexicon: Lexicon) -> bool:
    """Tell a gate from an offer: what is confirmed was asked for, or its details are on the table.

    Leave to look something up is no gate, and neither is leave to hand over to a person.
    """
    named = tasks_in(sentence.marked, lexicon)
    if lexicon.handover in named or (not named and looks_up(sentence.marked)):
        return False
    if "gate" in sentence.cues:
        return True
    known = items >= 2 or context.before == GATE or bool(_VALUE.search(sentence.plain))
    return "gate_verb" in sentence.cues and (known or verb_in(sentence.marked, lexicon) in context.asked)


def _closed(body: Body, confirmed: bool, context: Context, lexicon: Lexicon) -> Reading | None:
    """Read the acts that a graph needs as states of their own: gate, completion, refusal, failure, hand-over."""
    gate = next((s for s in reversed(body.open) if _is_gate(s, body.items, context, lexicon)), None)
    done, deny, fail, none = (body.first(c) for c in ("completion", "deny", "failure", "unavailable"))
    if confirmed and not done and not gate:
        done = body.first("completion_after_gate")
    asking = any("request" in s.cues and "offer" not in s.cues for s in body.open)
    if not deny and not asking:
        deny = body.first("deny_by_rule")

    def at(sentence: Sentence, cue: str) -> str:
        alike = [sentence, *(s for s in body.open if cue in s.cues)]
        named = [verb_at(s, cue, lexicon) for s in alike]
        verb = next(filter(None, named), "")
        wished = [t for t in tasks_in(sentence.marked, lexicon, STRONG) if t in context.asked and cue == "completion"]
        return (wished[0] if wished and verb not in context.asked else verb) or context.task

    if gate:
        task = _task_of(gate, body.weighty, context, lexicon)
        trouble = next((s for s in body.open if s.cues & {"failure", "unavailable"} and "hard_failure" in s.cues), gate)
        first = min((s for s in (done, trouble, gate) if s), key=body.open.index)
        if first is gate:
            return Reading(GATE, task)
        act, cue = (DONE, "completion") if first is done else (FAIL, "failure")
        return Reading(act, at(first, cue), gate_after=task)
    if done and not (deny and body.open.index(deny) < body.open.index(done)):
        return Reading(DONE, at(done, "completion"))
    answers = bool(body.weighty) and "answer_opening" in body.weighty[0].cues
    if context.said.asks and answers and not deny and not any(s.cues & {"question", "request"} for s in body.open):
        return Reading(ANSWER, firm=True)
    if none and not deny:
        return Reading(NONE)
    if deny:
        generic = any("generic_statement" in s.cues for s in body.weighty)
        if asks_to_know(context.said) and (generic or answers):
            return Reading(ANSWER, firm=True)
        return Reading(DENY, at(deny, "deny"))
    if fail:
        return Reading(FAIL, at(fail, "failure"))
    return Reading(TRANSFER) if body.first("transfer") else None


def _open(body: Body, context: Context, lexicon: Lexicon) -> Reading:
    """Read the other acts: offers, options, requests, records, answers, courtesy."""
    asking = [s for s in body.open if s.cues & {"request", "gate_verb"}]
    slots = [name for s in asking for name in requested(s.plain, lexicon)]
    if asking and body.items >= 2:
        slots += [name for s in body.weighty if s not in asking for name in requested(s.plain, lexicon, item=True)]
    choice, offer = body.last("options"), body.last("offer")
    offered = verb_in(offer.marked, lexicon) if offer else ""
    if offer and not (choice and body.items) and ("gate_verb" in offer.cues or offered == lexicon.handover):
        return Reading(OFFER, offered)
    if choice and (body.items or "question" not in choice.cues or not slots):
        return Reading(OPTIONS)
    if offer and "question" in offer.cues and offered:
        return Reading(OFFER, offered)
    if body.items and body.first("details"):
        return Reading(DETAILS)
    if asking:
        return Reading(REQUEST, context.task, tuple(dict.fromkeys(slots)))
    if len(body.weighty) == 1 and body.first("announce"):
        return Reading(ANNOUNCE)
    cues = frozenset().union(*(s.cues for s in body.every))
    if context.action in ("thank_and_close", "decline_more_help") and body.words <= SHORT and not body.valued:
        return Reading(MORE if "more_help_question" in cues else CLOSE)
    if body.weighty:
        if asks_to_know(context.said):
            return Reading(ANSWER)
        return Reading(OPTIONS if "lookup" in context.said.cues else DETAILS)
    for cue, act in (("greet", GREET), ("close", CLOSE), ("more_help", MORE), ("courtesy", ANNOUNCE)):
        if cue in cues:
            return Reading(act)
    return Reading(DETAILS)


def read_reply(text: str, context: Context, lexicon: Lexicon) -> Reading:
    """Read one reply of the agent.

    Parameters
    ----------
    text : str
        The reply; not blank.
    context : Context
        The utterance that it answers and what came before.
    lexicon : Lexicon

    Returns
    -------
    Reading
        For a reply in which no rule finds anything, a record or an answer.
    """
    confirmed = "affirm" in context.said.opening and (context.before == GATE or "agree" in context.said.opening)
    body = _body(text, confirmed, lexicon)
    return _closed(body, confirmed, context, lexicon) or _open(body, context, lexicon)
