"""Whether a value that a customer gives is taken, as the conversation shows it.

``It is K-77.`` -> ``Which day would suit you?``: the agent goes on as if K-77 were right. A value that is questioned, asked
for again or not found is not taken; whatever nobody had asked for may have been passed over, and stays open.
"""

from __future__ import annotations

from agenteval.tester.rules import questions, replies
from agenteval.tester.rules.criteria import Predicate
from agenteval.tester.rules.evidence import (
    OPEN,
    Finding,
    Scene,
    completion,
    doubting,
    found,
    going_on,
    holding,
    matching,
    repeats,
    taken_for,
    unconfirmed,
    unheard,
)
from agenteval.tester.rules.facts import identifying
from agenteval.tester.rules.likeness import asks_again
from agenteval.tester.rules.values import stands, told
from agenteval.tester.rules.wording import names_identity, words

RECORD = frozenset({"identifier", "money", "date"})


def taken(at: Scene, p: Predicate, record: bool) -> Finding:
    """Whether a value is taken, by what the agent says before it says anything that could be a doubt.

    Taken: something is done with the value, or unheard facts stand beside it; of a `record`, two unheard facts alone.
    """
    before = at.before_it
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
        if record and done and before and before.gate and not stands(p.value.lower(), e.agent.lower()):
            return OPEN  # Something was confirmed, and nothing is told of the other one.
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
        if e is at.span[0]:
            other = taken_for(e, p.value, at.before)
            if other:
                return found(True, e, other, "takes it for another one that it knows")
            known = matching(e, "identified") if names_identity(p.slot) else None
            if known and not (doubt and doubt[1]):
                return found(True, e, known, "takes the customer for somebody it knows")
        onward = going_on(e, before, p.value, p.slot) if e is at.span[0] else None
        # Who repeats a value at a confirmation and tells nothing of it may still be checking.
        if onward and (facts or not question.gate):
            return found(True, e, onward, "goes on as if the value were right")
        if e is at.span[0] and question.asks and not facts and repeats(e, before):
            return found(False, e, holding(e), "asks the same in other words")
        if doubt and doubt[1]:
            return found(False, e, e.sentences[doubt[0]], "questions the value")
        if doubt and record and not facts:
            return found(False, e, e.sentences[doubt[0]], "tells nothing and says why not")
        if doubt:
            return OPEN
    return OPEN
