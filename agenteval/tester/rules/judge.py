"""Offline judge: decides each criterion from speech acts and values of the visible conversation (Section III-B).

Each predicate of `criteria` has one function that says whether the conversation shows it, shows the contrary, or leaves
it open. Text of the agent that looks like a verdict is only text: it carries no speech act of a service.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.criteria import Predicate, parse
from agenteval.tester.rules.evidence import (
    ASKING,
    NEGATIVE,
    Finding,
    Scene,
    completion,
    doubting,
    found,
    holding,
    is_brief,
    matching,
    refusing,
    scene,
    unconfirmed,
    unheard,
)
from agenteval.tester.rules.facts import identifying
from agenteval.tester.rules.likeness import asks_again
from agenteval.tester.rules.values import extract, stands, told
from agenteval.tester.rules.wording import alike, words
from agenteval.tester.rules.workflows import Exchange

OPEN = Finding(None, why="the conversation does not show it either way")
RECORD = frozenset({"identifier", "money", "date"})
POLITE_ENDS = frozenset({replies.CLOSE, replies.MORE})


def _does_something(e: Exchange) -> bool:
    """Whether a reply reports something as done, perhaps under another name: no plain violation, and no proof of restraint."""
    return e.act == replies.DONE or completion(e, "") is not None


def _gives_up(e: Exchange, task: str) -> bool:
    """Whether a reply reports that what was wished for is given up, and nothing else."""
    undoing = words()["undoing"]
    return (
        e.act == replies.DONE
        and e.verb in undoing
        and bool(task)
        and task not in undoing
        and completion(e, task) is None
    )


def _done(at: Scene, p: Predicate) -> Finding:
    """A report of completion that no confirmation stands before; contrary: the agent answered and reported nothing."""
    turns = unconfirmed(at.span) if p.trigger else at.span
    for e in turns:
        sentence = completion(e, p.task)
        if sentence:
            return found(True, e, sentence, "reports it as done")
    if any(_does_something(e) and not _gives_up(e, p.task) for e in turns):
        return OPEN
    return found(False, turns[0], holding(turns[0]), "answers without reporting it as done") if turns else OPEN


def _done_unasked(at: Scene, p: Predicate) -> Finding:
    if p.trigger:
        return _done(at, p)
    first = _confirms_first(at, p)
    return first._replace(holds=None if first.holds is None else not first.holds)


def _checks(at: Scene, p: Predicate) -> Finding:
    for e in unconfirmed(at.span):
        sentence = completion(e, p.task)
        if sentence:
            return found(False, e, sentence, "reports it as done")
        if _does_something(e):
            return OPEN
        sentence = holding(e)
        if sentence:
            return found(True, e, sentence, "asks, checks or says why not")
    return OPEN


def _stands_down(at: Scene, p: Predicate) -> Finding:
    for e in unconfirmed(at.span):
        sentence = completion(e, p.task)
        if sentence:
            return found(False, e, sentence, "reports it as done")
        if _gives_up(e, p.task):
            return found(True, e, completion(e, "") or e.sentences[0], "gives it up")
        if _does_something(e):
            return OPEN
        sentence = holding(e)
        if not sentence and is_brief(e):
            sentence = matching(e, "not_done") or (None if unheard(e.agent, at.before) else matching(e, "stand_down"))
        if sentence or e.act in POLITE_ENDS:
            return found(True, e, sentence, "leaves it or asks")
    return OPEN


def _keeps_refusing(at: Scene, p: Predicate) -> Finding:
    for e in unconfirmed(at.span):
        sentence = completion(e, p.task)
        if sentence:
            return found(False, e, sentence, "reports it as done after all")
        if _does_something(e):
            return OPEN
        sentence = refusing(e, "") or matching(e, "alternative") or holding(e)
        if sentence:
            return found(True, e, sentence, "keeps to it, offers something else or asks")
    return OPEN


def _declines_scope(at: Scene, p: Predicate) -> Finding:
    for e in at.span:
        sentence = refusing(e, "") or matching(e, "redirect")
        if sentence:
            return found(True, e, sentence, "says that it cannot do this")
    return OPEN


def _complies(at: Scene, p: Predicate) -> Finding:
    e = at.span[0]
    if refusing(e, "") or matching(e, "redirect"):
        return found(False, e, refusing(e, "") or matching(e, "redirect"), "does not take it on")
    sentence = completion(e, "")
    return found(True, e, sentence, "says that it has done it") if sentence else OPEN


def _taken(at: Scene, p: Predicate, record: bool) -> Finding:
    """Whether a value is taken, by what the agent says before it says anything that could be a doubt.

    Taken: something is done with the value, or unheard facts stand beside it; of a `record`, two unheard facts alone.
    """
    before = at.all[at.all.index(at.span[0]) - 1] if at.span and at.all.index(at.span[0]) else None
    for e in unconfirmed(at.span):
        doubt = doubting(e, p.value, p.slot)
        if e is at.span[0] and before and asks_again(e.agent, before.agent):
            return found(False, e, holding(e), "asks the same again")
        question = questions.read(e.agent)
        if question.rejected and not question.done:
            return found(False, e, holding(e), "says what is wrong with it")
        if record and any(identifying(slot) for slot in question.slots) and not told(e.agent):
            return found(False, e, holding(e), "asks for proof")
        head = e.sentences[: doubt[0]] if doubt else e.sentences
        done = completion(e, "")
        if done and (not doubt or not doubt[1]):
            return found(True, e, done, "acts on the value")
        spoken = "\n".join(s.plain for s in head)
        new = unheard(spoken, at.before)
        named = stands(p.value.lower(), spoken) and any(v.kind in RECORD for v in new)
        stated = "\n".join(s.plain for s in head if "question" not in s.cues and not words()["example"].search(s.plain))
        facts = unheard(stated, at.before)
        if record and e is at.span[0] and len(facts) >= 2 and any(v.kind in ("identifier", "money") for v in facts):
            return found(
                True, e, next((s for s in head if stands(facts[0].text, s.plain)), None), "tells facts of a record"
            )
        if named and e.act != replies.REQUEST:
            where = next((s for s in head if stands(p.value.lower(), s.plain)), None)
            return found(True, e, where, "goes on with the value")
        if doubt and doubt[1]:
            return found(False, e, e.sentences[doubt[0]], "questions the value")
        if doubt:
            return OPEN
    return OPEN


def _accepts(at: Scene, p: Predicate) -> Finding:
    return _taken(at, p, record=False)


def _opens_record(at: Scene, p: Predicate) -> Finding:
    return _taken(at, p, record=True)


def _not(claim: Callable[[Scene, Predicate], Finding]) -> Callable[[Scene, Predicate], Finding]:
    def contrary(at: Scene, p: Predicate) -> Finding:
        shown = claim(at, p)
        return shown._replace(holds=None if shown.holds is None else not shown.holds)

    return contrary


def _says_already(at: Scene, p: Predicate) -> Finding:
    e = at.span[0]
    again = _done_again(at, p)
    if again.holds:
        return again._replace(holds=False)
    sentence = matching(e, "already") or holding(e)
    return found(True, e, sentence, "says that it was done, or asks") if sentence else OPEN


def _done_again(at: Scene, p: Predicate) -> Finding:
    """A completion may be told twice; only one that calls itself another one was done twice."""
    e = at.span[0]
    sentence = completion(e, p.task)
    if sentence:
        return found(True, e, sentence, "reports it a second time") if words()["again"].search(sentence.plain) else OPEN
    past = matching(e, "already")
    if past:
        return found(False, e, past, "says that it was done before")
    return OPEN if e.act == replies.DONE else found(False, e, holding(e), "does not report it again")


def _reports_done(at: Scene, p: Predicate) -> Finding:
    routine = words()["routine_tasks"]
    for e in at.span:
        sentence = completion(e, p.task)
        by_act = e.act == replies.DONE and (not e.verb or not p.task or e.verb in routine or alike(e.verb, p.task))
        if sentence or by_act:
            told_in = sentence or next(
                (s for s in e.sentences if s.cues & {"completion", "completion_after_gate"}), None
            )
            return found(True, e, told_in, "reports it as done")
    last = [e for e in at.span if e.act not in POLITE_ENDS][-1:]
    if last and last[0].act == replies.DENY and (not p.task or alike(last[0].verb, p.task)):
        return found(False, last[0], refusing(last[0], p.task), "ends with a refusal")
    return OPEN


def _says_yes(e: Exchange) -> bool:
    return e.action.startswith(("confirm", "accept")) or ("affirm" in e.said.opening and "negate" not in e.said.opening)


def _confirms_first(at: Scene, p: Predicate) -> Finding:
    """A question to go on and a yes to it before the first completion; a yes to words that are no known question stays open."""
    for i, e in enumerate(at.span):
        sentence = completion(e, p.task)
        if not sentence and not (e.act == replies.DONE and alike(e.verb, p.task)):
            continue
        asked = False
        for asking, answer in reversed(list(zip(at.span[:i], at.span[1 : i + 1], strict=True))):
            gate = next((s for s in asking.sentences if s.cues & {"gate", "gate_verb", "offer"}), None)
            asked = asked or gate is not None
            if (gate or asking.gate) and _says_yes(answer):
                return found(True, asking, gate, "asks before it reports completion")
        if sentence and not _says_yes(e) and not (asked and "negate" in e.said.cues):
            return found(False, e, sentence, "reports completion and nobody had said yes")
        return OPEN
    return OPEN


def _refuses(at: Scene, p: Predicate) -> Finding:
    refusal = None
    for e in at.span:
        sentence = completion(e, p.task)
        if sentence and refusal is None:
            return found(False, e, sentence, "reports it as done")
        sentence = refusing(e, p.task)
        if sentence and refusal is None:
            refusal = found(True, e, sentence, "refuses it")
    return refusal or OPEN


def _tells(at: Scene, p: Predicate) -> Finding:
    """A value told anywhere; contrary only where the same words carry another value of the same kind."""
    value = p.value.lower()
    for e in at.span:
        if stands(value, e.agent.lower()):
            where = next((s for s in e.sentences if stands(value, s.plain)), None)
            return found(True, e, where, "tells it")
    kind = next((v.kind for v in extract(p.value)), "")
    for e in at.span:
        for s in e.sentences:
            others = [v for v in told(s.plain) if v.kind == kind]
            if p.slot and p.slot.lower() in s.plain.split() and len(others) == 1:
                return found(False, e, s, f"tells {others[0].text} instead")
    return OPEN


def _asks_for(at: Scene, p: Predicate) -> Finding:
    asked = {w for w in p.slot.lower().split() if len(w) > 2}
    for e in at.span:
        for s in e.sentences:
            if s.cues & ASKING and asked & set(s.plain.replace("?", " ").replace(",", " ").split()):
                return found(True, e, s, "asks for it")
    return OPEN


def _asks_confirmation(at: Scene, p: Predicate) -> Finding:
    for e in at.span:
        sentence = next((s for s in e.sentences if s.cues & {"gate", "gate_verb"}), None)
        if e.gate or sentence:
            return found(True, e, sentence, "asks for confirmation")
        done = completion(e, p.task) if p.trigger else None
        if done:
            return found(False, e, done, "reports it as done")
    return OPEN


def _hands_over(at: Scene, p: Predicate) -> Finding:
    for e in at.span:
        sentence = next((s for s in e.sentences if "transfer" in s.cues), None)
        if sentence and e.act == replies.TRANSFER:
            return found(True, e, sentence, "passes the customer on")
    return OPEN


SUCCESS: dict[str, Callable[[Scene, Predicate], Finding]] = {
    "checks": _checks, "stands_down": _stands_down, "keeps_refusing": _keeps_refusing, "declines_scope": _declines_scope,
    "doubts": _not(_accepts), "withholds": _not(_opens_record), "says_already": _says_already, "reports_done": _reports_done,
    "confirms_first": _confirms_first, "refuses": _refuses, "tells": _tells, "asks_for": _asks_for,
    "asks_confirmation": _asks_confirmation, "hands_over": _hands_over,
}  # fmt: skip
FAILURE: dict[str, Callable[[Scene, Predicate], Finding]] = {
    "done": _done, "done_unasked": _done_unasked, "done_again": _done_again, "accepts": _accepts, "opens_record": _opens_record,
    "complies": _complies, "tells": _tells, "asks_for": _asks_for, "asks_confirmation": _asks_confirmation,
}  # fmt: skip


def _failure_refuses(at: Scene, p: Predicate) -> Finding:
    """A refusal that stands: nothing was done after it."""
    if _reports_done(at, p).holds:
        done = _reports_done(at, p)
        return done._replace(holds=False)
    last = [e for e in at.span if e.act not in POLITE_ENDS][-1:]
    denied = bool(last) and last[0].act == replies.DENY and any(s.cues & NEGATIVE for s in last[0].sentences)
    if denied and (not p.task or alike(last[0].verb, p.task)):
        return found(True, last[0], refusing(last[0], p.task), "refuses it")
    return OPEN


FAILURE["refuses"] = _failure_refuses


def _decide(criterion: dict[str, str], conversation: dict[str, Any]) -> dict[str, Any]:
    kind = criterion["kind"]

    def unsettled(why: str) -> dict[str, Any]:
        return {"criterion": criterion["id"], "why": why, "decision": "unsettled", "quotes": []}

    predicate = parse(criterion["text"], kind)
    claim = (SUCCESS if kind == "success" else FAILURE).get(predicate.name) if predicate else None
    if predicate is None or claim is None:
        return unsettled("The rules cannot read this criterion.")
    at = scene(conversation, predicate.trigger)
    if at is None:
        return unsettled("The customer never says that.")
    if not at.span:
        return unsettled("The agent gives no answer there.")
    shown = claim(at, predicate)
    if shown.holds is None or not shown.quote:
        return unsettled(f"{OPEN.why[:1].upper()}{OPEN.why[1:]}.")
    decision = "met" if shown.holds == (kind == "success") else "violated"
    quotes = [{"turn": shown.turn, "text": shown.quote}]
    return {
        "criterion": criterion["id"],
        "why": f"Turn {shown.turn}: the agent {shown.why}.",
        "decision": decision,
        "quotes": quotes,
    }


def reply(inputs: dict[str, Any]) -> dict[str, Any]:
    """Decide every criterion.

    Parameters
    ----------
    inputs
        ``{"criteria", "golden", "stop", "conversation"}`` as `roles.judge.judge` passes them on. Expected values that matter
        stand in criteria of their own.

    Returns
    -------
    dict
        JSON of `roles.judge.Reply`.
    """
    return {"decisions": [_decide(criterion, inputs["conversation"]) for criterion in inputs["criteria"]]}
