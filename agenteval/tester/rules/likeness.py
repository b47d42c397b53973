"""Whether two replies of an agent say the same thing, as far as the one who answers them is concerned.

``"Which order is it? #W1 or #W2?"`` is like ``"Which order do you mean? I see #W7."``: the same is wanted.
"""

from __future__ import annotations

from functools import lru_cache

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.facts import naming
from agenteval.tester.rules.questions import Question, read
from agenteval.tester.rules.services import content
from agenteval.tester.rules.talk import load
from agenteval.tester.rules.text import clean, delexicalise

SAME_WORDS = 0.6
RELATED_WORDS = 0.3


@lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """Words of a reply with its values masked."""
    return frozenset(delexicalise(clean(text), lexicon.load()).split())


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def purpose(question: Question) -> str:
    """The one thing that a reply is for, of those that it does."""
    if question.gate:
        return "gate"
    if question.slots:
        return "slots"
    if question.options:
        return "options"
    for name in ("done", "refused", "rejected", "offer", "yes_no", "open", "more", "closed"):
        if getattr(question, name):
            return name
    return ""


def wanted(question: Question) -> frozenset[str]:
    """What is asked for, as kinds and owners."""
    return frozenset().union(*((naming(s.name).kinds | naming(s.name).owners) for s in question.slots), frozenset())


def asks_day(question: Question) -> bool:
    """Whether a day is asked for."""
    days = load().words["date_slots"]
    return any(set(slot.name.split("_")) & days for slot in question.slots)


def asks_again(reply: str, before: str) -> bool:
    """Whether a reply asks for what the reply before it asked for, and for nothing else.

    >>> asks_again("Sorry, for which day was that?", "For which day?"), asks_again("How many?", "For which day?")
    (True, False)
    """
    a, b = read(reply), read(before)
    if a.done or purpose(a) != purpose(b) or purpose(a) not in ("slots", "options", "open"):
        return False
    if a.slots:
        return bool(wanted(a)) and wanted(a) == wanted(b) or asks_day(a) and asks_day(b)
    return bool(a.options) and {o.text for o in a.options} == {o.text for o in b.options}


def resembles(reply: str, expected: str) -> bool:
    """Whether a reply does what the expected one did; an empty expectation is always met.

    >>> resembles("Your order number, please?", "Which number does your order have?")
    True
    >>> resembles("Your order number, please?", "Do you really want to cancel?")
    False
    """
    if not expected.strip():
        return True
    if not reply.strip():
        return False
    a, b = read(reply), read(expected)
    likeness = _overlap(words(reply), words(expected))
    if likeness >= SAME_WORDS:
        return True
    if purpose(a) != purpose(b) or not purpose(a):
        return False
    if purpose(a) == "slots":
        return bool(wanted(a) & wanted(b))
    if purpose(a) == "open":
        return True
    about = content(reply) & content(expected)
    return (
        likeness >= RELATED_WORDS
        or len(about) >= 2
        or purpose(a) in ("more", "closed")
        or (purpose(a) == "gate" and bool(about))
    )
