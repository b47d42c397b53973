"""A session read turn by turn, and the workflows with an outcome that it shows.

One turn, read: ``Exchange(turn=3, action="confirm_cancel", act="confirm_completion", task="cancel", ...)``. A workflow
is a stretch of turns that ends in something done, refused or told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.acts import STRONG, Sentence, read_sentence, tasks_in
from agenteval.tester.rules.facts import identifying
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.replies import Context, read_reply
from agenteval.tester.rules.text import clean, sentences
from agenteval.tester.rules.utterances import Utterance, read_utterance, user_action
from agenteval.tester.rules.values import told
from agenteval.tester.rules.wording import alike, words

SMALL_TALK = frozenset({"thank_and_close", "decline_more_help", "say_nothing"})


class Exchange(NamedTuple):
    """One turn with what the rules see in it."""

    turn: int
    user: str
    agent: str
    said: Utterance
    action: str
    act: str
    """Act of the reply, empty for a turn that failed."""
    verb: str
    """Task that the reply names."""
    task: str
    """Task that the session is about by then."""
    slots: tuple[str, ...]
    gate: bool
    """The reply asks for confirmation, also after something else."""
    sentences: tuple[Sentence, ...]


class Workflow(NamedTuple):
    """An observed outcome and the turns that led to it."""

    outcome: str
    """`completion`, `refusal`, `information`, `handover`, `confirmation` or `proof`: the last two are asked for, not given."""
    task: str
    end: int
    """Turn of the outcome."""
    steps: tuple[int, ...]
    """Turns whose utterances drive it."""
    slot: str = ""
    """What is asked for as a proof, in words."""


@lru_cache(maxsize=512)
def _read(pairs: tuple[tuple[int, str, str], ...]) -> tuple[Exchange, ...]:
    lexicon = load()
    read: list[Exchange] = []
    before, before_verb, task = "", "", ""
    asked: set[str] = set()
    for number, user, agent in pairs:
        said = read_utterance(user, lexicon)
        action = user_action(said, before, before_verb, bool(user.strip()))
        if said.tasks:
            task = next((t for t in said.tasks if t not in lexicon.words["settling"]), said.tasks[0])
            asked |= set(said.tasks)
        if not agent.strip():
            read.append(Exchange(number, user, agent, said, action, "", "", task, (), False, ()))
            continue
        seen = read_reply(agent, Context(said, action, before, task, frozenset(asked)), lexicon)
        gate = seen.act == replies.GATE or seen.gate_after is not None
        spoken = tuple(read_sentence(s, lexicon.language) for s in sentences(clean(agent), lexicon))
        read.append(Exchange(number, user, agent, said, action, seen.act, seen.verb, task, seen.slots, gate, spoken))
        verb = seen.verb if seen.gate_after is None else seen.gate_after
        if seen.act in (replies.GATE, replies.DONE, replies.DENY):
            task = verb or task
        before, before_verb = (replies.GATE if gate else seen.act), verb
    return tuple(read)


def read_session(session: dict[str, Any]) -> tuple[Exchange, ...]:
    """Read the turns of a session in order; what was asked for before colours each reading.

    Parameters
    ----------
    session
        ``{"turns": [{"turn", "user", "agent"}]}``.
    """
    return _read(tuple((t["turn"], t["user"], t["agent"]) for t in session["turns"]))


def _named(e: Exchange) -> list[str]:
    """Tasks that the telling sentences of a reply name; of the whole reply where it names only one."""
    lexicon, skip = load(), words()["routine_tasks"] | {load().handover}
    telling = [s for s in e.sentences if s.cues & {"gate", "gate_verb", "completion", "completion_after_gate", "deny"}]
    for stretch in (telling, e.sentences):
        tasks = [t for s in stretch for t in tasks_in(s.marked, lexicon, STRONG) if t not in skip]
        if tasks and (stretch is telling or len(set(tasks)) == 1):
            return tasks
    return []


def task_at(read: Sequence[Exchange], turn: int) -> str:
    """Task that a turn belongs to: what its reply names, else what the customer asked for; settling is no task of its own."""
    here = next((e for e in read if e.turn == turn), None)
    if here is None:
        return ""
    skip = words()["routine_tasks"] | {load().handover, ""}
    asked = [t for e in read if e.turn <= turn and (e.said.cues & {"ask_action"} or "question" not in e.said.cues)
             for t in e.said.tasks if t not in skip]  # fmt: skip
    closing = (replies.GATE, replies.DONE, replies.DENY)
    own = _named(here) if here.act in closing or here.gate else []
    gate = next((e for e in reversed(read) if e.turn < turn and e.gate), None) if here.act == replies.DONE else None
    own += _named(gate) if gate else []
    # An agent names much that settles or adorns a task; what the customer asked for says what it is about.
    wished = [a for t in own for a in reversed(asked) if alike(a, t)]
    later = [t for e in read if e.turn > turn and (e.gate or e.act == replies.DONE) for t in _named(e)]
    return next(iter(wished + own[:1] + asked[-1:] + [t for t in [here.verb, here.task] if t not in skip] + later), "")


def steps_to(read: Sequence[Exchange], turn: int) -> tuple[int, ...]:
    """Turns up to and with `turn` whose utterances carry a conversation on: no thanks, nothing that failed."""
    return tuple(
        e.turn for e in read if e.turn <= turn and e.user.strip() and (e.action not in SMALL_TALK or e.said.valued)
    )


def workflows(session: dict[str, Any]) -> list[Workflow]:
    """Workflows with an observed outcome, in their order (Section V-A)."""
    read = read_session(session)
    found: list[Workflow] = []
    for e in read:
        steps = steps_to(read, e.turn)
        if not steps or steps[-1] != e.turn:
            continue
        outcome, slot = _outcome(e)
        task = task_at(read, e.turn)
        if not outcome or (outcome in ("completion", "refusal", "confirmation") and not task):
            continue
        found.append(Workflow(outcome, task, e.turn, steps, slot))
    return found


def _outcome(e: Exchange) -> tuple[str, str]:
    """What a reply brings a workflow to, and the proof that it wants."""
    gate = any("gate" in s.cues for s in e.sentences)
    if e.act == replies.DONE:
        return "completion", ""
    if e.act in (replies.DENY, replies.FAIL) and not gate:
        return "refusal", ""
    if e.act == replies.TRANSFER:
        return "handover", ""
    if e.act == replies.GATE:
        return "confirmation", ""
    asked = questions.read(e.agent)
    if e.act in (replies.ANSWER, replies.DETAILS, replies.OPTIONS) and not asked.asks and told(e.agent):
        return "information", ""
    proof = next((slot.name for slot in asked.slots if identifying(slot)), "")
    return ("proof", proof.replace("_", " ")) if e.act == replies.REQUEST and proof else ("", "")


_SENTENCE = re.compile(r"[^\n]*?(?:[.!?](?=[\s\"')\]*]|$)|\n|$)")
_WORD = re.compile(r"\w+")


def quotation(raw: str, plain: str) -> str:
    """The words of a raw text that a read sentence came from: an exact substring of it.

    >>> quotation("Hello. **It** is  done! Bye.", "it is done!")
    '**It** is  done!'
    """
    wanted = set(_WORD.findall(plain.lower()))
    best, score = "", 0.0
    for match in _SENTENCE.finditer(raw):
        piece = match.group().strip()
        have = set(_WORD.findall(piece.lower()))
        shared = len(wanted & have) / (len(wanted | have) or 1)
        if shared > score:
            best, score = piece, shared
    return (best or raw.strip())[:300].rstrip()
