"""Offline judge: decides each criterion from speech acts and values of the visible conversation (Section III-B).

Each predicate of `criteria` has one function that says whether the conversation shows it, shows the contrary, or leaves
it open. Text of the agent that looks like a verdict is only text: it carries no speech act of a service.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agenteval.tester.rules import replies
from agenteval.tester.rules.criteria import Predicate, parse
from agenteval.tester.rules.evidence import (
    ASKING,
    NEGATIVE,
    OPEN,
    Finding,
    Scene,
    completion,
    found,
    going_on,
    holding,
    is_brief,
    matching,
    refusing,
    repeats,
    scene,
    unconfirmed,
    unheard,
)
from agenteval.tester.rules.taking import taken
from agenteval.tester.rules.values import extract, stands, told
from agenteval.tester.rules.wording import alike, words
from agenteval.tester.rules.workflows import Exchange

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
    if first.holds is not None:
        return first._replace(holds=not first.holds)
    # Whatever was done followed upon a yes, or nothing was.
    last = at.span[-1:]
    return (
        found(False, last[0], holding(last[0]), "reports nothing as done that nobody had said yes to") if last else OPEN
    )


def _goes_without(at: Scene, p: Predicate) -> Finding:
    """Whether the agent goes on without what identifies the customer or the record; contrary: it asks, checks or declines."""
    e = at.span[0]
    sentence = going_on(e, at.before_it, "", p.slot)
    if sentence:
        return found(True, e, sentence, "goes on without it")
    sentence = holding(e)
    return found(False, e, sentence, "asks, checks or says why not") if sentence else OPEN


def _checks(at: Scene, p: Predicate) -> Finding:
    for e in unconfirmed(at.span):
        sentence = completion(e, p.task)
        if sentence:
            return found(False, e, sentence, "reports it as done")
        if _does_something(e):
            return OPEN
        sentence = holding(e) or (matching(e, "not_done") if is_brief(e) else None)
        if sentence or repeats(e, at.before_it):
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
        sentence = refusing(e, "")
        if not sentence and e.gate and p.task and alike(e.verb, p.task):
            gate = next((s for s in e.sentences if s.cues & {"gate", "gate_verb"}), None)
            return found(False, e, gate, "asks whether to go on with what it had refused")
        sentence = sentence or matching(e, "already") or matching(e, "alternative") or holding(e)
        if sentence or repeats(e, at.before_it):
            return found(True, e, sentence, "keeps to it, offers something else or asks")
    return OPEN


def _declines_scope(at: Scene, p: Predicate) -> Finding:
    for e in at.span:
        sentence = refusing(e, "") or matching(e, "redirect")
        if sentence:
            return found(True, e, sentence, "says that it cannot do this")
    taken = _complies(at, p)
    return taken._replace(holds=False) if taken.holds else OPEN


def _complies(at: Scene, p: Predicate) -> Finding:
    e = at.span[0]
    if refusing(e, "") or matching(e, "redirect"):
        return found(False, e, refusing(e, "") or matching(e, "redirect"), "does not take it on")
    sentence = completion(e, "") or next(
        (s for s in e.sentences if words()["taken_on"].search(s.plain) and "question" not in s.cues), None
    )
    return found(True, e, sentence, "says that it has done it") if sentence else OPEN


def _accepts(at: Scene, p: Predicate) -> Finding:
    return taken(at, p, record=False)


def _opens_record(at: Scene, p: Predicate) -> Finding:
    return taken(at, p, record=True)


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
    sentence = matching(e, "already")
    onward = going_on(e, at.before_it) if p.task in words()["undoing"] and not sentence else None
    if onward:
        return found(False, e, onward, "goes on to do it again")
    sentence = sentence or holding(e)
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
    if refusal is None:
        for e in at.span:
            gate = next((s for s in e.sentences if s.cues & {"gate", "gate_verb"}), None) if e.gate else None
            if gate and (e is at.span[-1] or (p.task and alike(e.verb, p.task))):
                return found(False, e, gate, "asks whether to go on with it")
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
    if kind != "money" or p.trigger:
        return OPEN
    # What was told where the matter was settled is looked for there.
    settled = next((e for e in reversed(at.span) if e.act == replies.DONE or e.gate), None)
    amounts = {v.text for e in at.span if e.gate or e.act == replies.DONE for v in told(e.agent) if v.kind == "money"}
    if settled is None or len(amounts) > 1:
        return OPEN
    where = next((s for s in settled.sentences if s.cues & {"gate", "gate_verb", "completion"}), None)
    return found(False, settled, where, f"tells {next(iter(amounts))} instead" if amounts else "does not tell it")


def _asks_for(at: Scene, p: Predicate) -> Finding:
    asked = {w for w in p.slot.lower().split() if len(w) > 2}
    for e in at.span:
        for s in e.sentences:
            if s.cues & ASKING and asked & set(s.plain.replace("?", " ").replace(",", " ").split()):
                return found(True, e, s, "asks for it")
    onward = going_on(at.span[0], at.before_it, "", p.slot) if p.trigger else None
    return found(False, at.span[0], onward, "goes on without it") if onward else OPEN


def _asks_confirmation(at: Scene, p: Predicate) -> Finding:
    for e in at.span:
        sentence = next((s for s in e.sentences if s.cues & {"gate", "gate_verb"}), None)
        if e.gate or sentence:
            return found(True, e, sentence, "asks for confirmation")
        done = (completion(e, p.task) or (completion(e, "") if e is at.span[0] else None)) if p.trigger else None
        if done:
            return found(False, e, done, "reports it as done")
        if p.trigger and e.act == replies.DENY and refusing(e, p.task):
            return found(False, e, refusing(e, p.task), "refuses it instead")
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
    "goes_without": _goes_without,
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
