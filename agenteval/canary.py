"""Reset canary: whether an agent's sessions stay apart, found out before exploration relies on it."""

from __future__ import annotations

from agenteval.chat import Session
from agenteval.errors import ChatError
from agenteval.subjects.address import Subject

CANARY = "4711-CANARY"


def isolates(subject: Subject, timeout: float) -> bool:
    """Reset canary: whether sessions stay apart.

    A made-up number is told in one session; a session that begins afterwards, and one that was open all the time, are
    asked for it. An agent that repeats it shares state. The canary can miss a leak; it never fails an agent that has none.
    """

    def leaks(session: Session) -> bool:
        return not session.over and CANARY in session.say("What is the reference number that I told you?").agent

    try:
        beside = Session(subject.open_chat(), budget=2, timeout=timeout)
        teller = Session(subject.open_chat(), budget=2, timeout=timeout)
        teller.say(f"Hello. My reference number is {CANARY}.")
        return not (leaks(beside) or leaks(Session(subject.open_chat(), budget=2, timeout=timeout)))
    except ChatError:
        # No session at all: discovery will say so, unit by unit.
        return True
