"""What a conversation shows: sentences of the agent that report, ask, refuse or tell, each with its turn.

One piece of evidence: ``Finding(True, 3, "R-6120 is cancelled.", "reports the cancellation as done")``. A correct agent
speaks in ways that nobody foresaw, so that only plain words count as a violation; all else stays open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from agenteval.tester.rules import questions, replies, talk
from agenteval.tester.rules.acts import Sentence, tasks_in
from agenteval.tester.rules.facts import identifying
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.likeness import wanted
from agenteval.tester.rules.services import content
from agenteval.tester.rules.values import Value, extract, stands, told
from agenteval.tester.rules.wording import alike, names_identity, words
from agenteval.tester.rules.workflows import Exchange, quotation, read_session

NEGATIVE = frozenset({"deny", "deny_by_rule", "failure", "unavailable"})
ASKING = frozenset({"gate", "gate_verb", "request", "question", "offer"})
HOLLOW = ("not_done", "conditional")
"""Patterns of sentences that carry the words of a completion and report none."""
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
NEAR, BRIEF, SAME_MATTER = 0.85, 50, 3


class Finding(NamedTuple):
    """Whether a claim holds (True), its contrary does (False), or nothing is shown (None)."""

    holds: bool | None
    turn: int = 0
    quote: str = ""
    why: str = ""


OPEN = Finding(None, why="the conversation does not show it either way")


class Scene(NamedTuple):
    """The turns that a criterion is about: all of them, or those from the trigger on."""

    all: tuple[Exchange, ...]
    span: tuple[Exchange, ...]
    """Turns from the trigger on that the agent answered."""
    before: str
    """All that was said before the first reply of the span, the trigger included."""

    @property
    def before_it(self) -> Exchange | None:
        """The turn before the span."""
        place = self.all.index(self.span[0]) if self.span else 0
        return self.all[place - 1] if place else None


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().lower()


def scene(conversation: dict[str, Any], trigger: str) -> Scene | None:
    """The turns from the first utterance on that says `trigger`; None when the customer never says it.

    A runner may reword a message a little; nearly all of its words must be there.
    """
    read = read_session(conversation)
    start = 0
    if trigger:
        wanted = _plain(trigger)
        said = [_plain(e.user) for e in read]
        start = next((i for i, text in enumerate(said) if wanted in text), -1)
        have = set(_WORD.findall(wanted))
        if start < 0 and len(have) >= 5:
            shares = [len(have & set(_WORD.findall(text))) / len(have) for text in said]
            start = next((i for i, share in enumerate(shares) if share >= NEAR), -1)
        if start < 0:
            return None
    texts = [str(conversation.get("greeting", ""))]
    texts += [t for e in read[:start] for t in (e.user, e.agent)] + [e.user for e in read[start : start + 1]]
    return Scene(read, tuple(e for e in read[start:] if e.act), "\n".join(texts))


def found(holds: bool, e: Exchange, sentence: Sentence | None, why: str) -> Finding:
    """A finding that quotes a sentence of a reply, or its beginning."""
    return Finding(
        holds,
        e.turn,
        quotation(e.agent, sentence.plain if sentence else e.sentences[0].plain if e.sentences else ""),
        why,
    )


def completion(e: Exchange, task: str) -> Sentence | None:
    """The sentence that plainly reports a task as done; any task when none is named.

    A sentence that denies, that speaks of a request only, or beside which the agent still asks whether to do it,
    reports nothing.
    """
    data, lexicon = words(), load()
    for s in e.sentences:
        named = tasks_in(s.marked, lexicon)
        if "gate" in s.cues and (not task or not named or any(alike(t, task) for t in named)):
            return None
    items = [o.text.lower() for o in questions.read(e.agent).items]
    listed = items if len(items) > 1 else []
    open_reply = any(s.cues & (NEGATIVE | {"request"}) and "more_help" not in s.cues for s in e.sentences)
    for s in e.sentences:
        if s.cues & NEGATIVE or "question" in s.cues or any(data[k].search(s.plain) for k in HOLLOW):
            continue
        if any(item in s.plain for item in listed):
            continue  # A line of a list tells how things are.
        made = [v for v in s.verbs if "D" in v.code]
        begun = data["begun"].search(s.plain) is not None
        success = begun or data["success"].search(s.plain) is not None
        if data["request_only"].search(s.plain) and not success:
            continue
        sure = "completion" in s.cues or begun or (success and "completion_after_gate" in s.cues)
        if not (sure or ("completion_after_gate" in s.cues and made and task)):
            continue
        if data["past"].search(s.plain) and "completion" not in s.cues:
            continue
        named = [t for t in tasks_in(s.marked, lexicon, "GN") if t not in data["routine_tasks"]]
        # Who cancels a cancellation does not cancel.
        done = [v.task for v in made if v.task != lexicon.generic and v.task not in tasks_in(s.marked, lexicon, "N")]
        if sure and len(done) == 0:
            # A weak noun, such as an order, is more often what is acted upon.
            done = [] if any(v.task in named for v in made) else named or tasks_in(s.marked, lexicon, "W")
        if task and any(alike(t, task) for t in done):
            return s
        if not task and any(t not in data["routine_tasks"] for t in done):
            return s
        if sure and not tasks_in(s.marked, lexicon) and not open_reply:
            return s
    return None


def misunderstood(s: Sentence) -> bool:
    """Whether a sentence says that the message was not understood."""
    return talk.load().patterns["misunderstood"].search(s.plain) is not None


def holding(e: Exchange) -> Sentence | None:
    """The sentence by which a reply asks, checks, refuses or hands over instead of going on."""
    for s in e.sentences:
        if s.cues & (NEGATIVE | {"transfer"}) or words()["withheld"].search(s.plain) or misunderstood(s):
            return s
        if s.cues & ASKING and "more_help" not in s.cues and "more_help_question" not in s.cues:
            return s
    wanted = questions.read(e.agent)
    if wanted.slots or wanted.options:
        return next((s for s in e.sentences if s.plain.endswith("?")), e.sentences[-1] if e.sentences else None)
    return None


def going_on(e: Exchange, before: Exchange | None, value: str = "", slot: str = "") -> Sentence | None:
    """The sentence by which a reply plainly goes on: it asks for a confirmation, or for something new, and doubts nothing.

    Whoever asks for a proof, for the same thing once more, or says that something is wrong does not go on.
    """
    question = questions.read(e.agent)
    if question.rejected or question.misunderstood or question.refused or question.transferred:
        return None
    if any(s.cues & (NEGATIVE | {"transfer"}) or words()["rejects"].search(s.plain) for s in e.sentences):
        return None
    if names_identity(slot) and words()["identity"] & set(_WORD.findall(e.agent.lower())) and not question.gate:
        return None  # Whoever asks for another proof does not go on.
    named = not value or stands(value.lower(), e.agent.lower())
    last = questions.read(before.agent) if before is not None else None
    if not named and not (last and (last.slots or last.options)):
        return None  # What nobody had asked for may have been passed over.
    if question.gate:
        kind = next((v.kind for v in extract(value)), "")
        if not named and any(v.kind == kind for v in extract(e.agent)):
            return None  # It sums up something else than it was told.
        return next((s for s in e.sentences if s.cues & {"gate", "gate_verb"} or s.plain.endswith("?")), None)
    if any(identifying(s) for s in question.slots) or doubting(e, value, slot):
        return None
    asked = {word for s in question.slots for word in s.name.split("_")}
    if asked & (set(slot.lower().split()) - words()["generic_slots"]):
        return None
    if last and (wanted(last) & wanted(question) or {s.name for s in last.slots} & {s.name for s in question.slots}):
        return None
    if before is not None and len(content(e.agent) & content(before.agent)) >= SAME_MATTER:
        return None  # The same question in other words.
    # Records to choose from are the question for a record again.
    if any(v.kind == "identifier" for o in (*question.options, *question.items) for v in extract(o.text)):
        return None
    known = {o.text for o in last.options} if last else set()
    choice = question.options and not known & {o.text for o in question.options}
    if not question.slots and not choice:
        return None
    return next((s for s in e.sentences if s.cues & ASKING or s.plain.endswith("?")), None)


def taken_for(e: Exchange, value: str, before: str) -> Sentence | None:
    """The sentence that tells of another record as if it had been named: one that differs from `value` by a slip.

    A question whether it is that one, and a list to choose from, take it for nothing.
    """
    new = {v.text.lower() for v in unheard(e.agent, before) if v.kind == "identifier"}
    if questions.read(e.agent).options or sum(len(n) == len(m) for n in new for m in new) > len(new):
        return None
    for s in e.sentences:
        if ("question" in s.cues and "gate" not in s.cues) or words()["example"].search(s.plain):
            continue
        for v in unheard(s.plain, before):
            if v.kind == "identifier" and _slip(v.text.lower(), value.lower()):
                return s
    return None


def _slip(one: str, other: str) -> bool:
    """Whether two ids differ by an ending or by few characters in their places."""
    if one == other or min(len(one), len(other)) < 3:
        return False
    if one.startswith(other) or other.startswith(one):
        return True
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= max(1, len(one) // 3)


def repeats(e: Exchange, before: Exchange | None) -> bool:
    """Whether a reply says what the one before it said, in whatever words, and nothing is done or asked to be confirmed in it."""
    if before is None or not before.agent or e.gate or completion(e, "") or questions.read(e.agent).done:
        return False
    return len(content(e.agent) & content(before.agent)) >= SAME_MATTER


def refusing(e: Exchange, task: str) -> Sentence | None:
    """The sentence that refuses a task, or says that it cannot be done."""
    lexicon = load()
    for s in e.sentences:
        if s.cues & NEGATIVE:
            named = tasks_in(s.marked, lexicon)
            if not task or not named or any(alike(t, task) for t in named) or e.act == replies.DENY:
                return s
    return None


def matching(e: Exchange, key: str) -> Sentence | None:
    """The first sentence that a pattern of the data file finds."""
    return next((s for s in e.sentences if words()[key].search(s.plain)), None)


def doubting(e: Exchange, value: str, slot: str = "") -> tuple[int, bool] | None:
    """Where a reply first questions a value, and whether it plainly speaks of that value.

    A refusal, a failure, a word of doubt, or the same question again. Words of doubt may be about something else.
    """
    data = words()
    asked = set(slot.lower().split()) - data["generic_slots"]
    told_of = asked - data["identifier"]
    first = None
    for i, s in enumerate(e.sentences):
        have = set(_WORD.findall(s.plain))
        if misunderstood(s):
            return i, True
        if "gate" in s.cues:
            continue
        if told_of and "request" in s.cues and told_of & have:
            return i, True
        if data["rejects"].search(s.plain):
            return i, True
        if s.cues & NEGATIVE or data["doubt"].search(s.plain):
            if stands(value.lower(), s.plain) or asked & have or "deny" not in s.cues and data["identifier"] & have:
                return i, True
            if s.cues & {"failure", "unavailable"} and i < 3:
                return i, True
            first = i if first is None else first
    return None if first is None else (first, False)


def unheard(text: str, before: str) -> list[Value]:
    """Values of a text of the agent that nobody had said before it."""
    heard = before.lower()
    return [v for v in told(text) if not stands(v.text.lower(), heard)]


def is_brief(e: Exchange) -> bool:
    """Whether a reply is short enough for one phrase of it to say what it does."""
    return sum(len(s.plain.split()) for s in e.sentences) <= BRIEF


def unconfirmed(span: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The turns of a span before the customer answers a question of the span with a yes.

    What follows was confirmed anew and breaks no gate.
    """
    for i, e in enumerate(span):
        asked = i > 0 and any(s.cues & ASKING for earlier in span[:i] for s in earlier.sentences)
        yes = e.action.startswith(("confirm", "accept", "select")) or (
            "affirm" in e.said.opening and "negate" not in e.said.opening
        )
        if asked and yes:
            return tuple(span[:i])
    return tuple(span)
