"""A session with the agent, and whether a message that a tester model wrote may be sent in it as a customer's.

Vetting is language-independent where it can be: blank, a copy of what the agent said, an answer that never was one. What
fails is regenerated once; then the session ends as `tester_fault` and stays out of all rates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from agenteval.chat import Session
from agenteval.types import StopReason, Turn

_LEAK = re.compile(
    r"</?think|<\|im_|\"(?:message|done|why)\"\s*:|^\s*(?:agent|assistant|system|customer service)\s*:|\bas an ai (?:language )?model\b"
    r"|\b(?:the|my) (?:objective|strategy|test case|system prompt)\b.{0,40}\b(?:is|says|requires)\b",
    re.IGNORECASE | re.MULTILINE,
)
_DECLINE = re.compile(
    r"^\W*(?:i'?m sorry,? but )?i (?:can(?:no|')?t|am unable to|won'?t) (?:assist|help|comply|continue|write|generate|create)\b[^?]{0,80}"
    r"\b(?:request|that|this|content|test|prompt)\b",
    re.IGNORECASE,
)
LONGEST = 4000
"""Characters of a customer's message."""


def fault(message: str, turns: Sequence[Turn], greeting: str = "") -> str | None:
    """Why a message may not be sent, or None.

    Returns
    -------
    str or None
        `blank`, `leak`, `role_flip`, `declined` or `too_long`.

    Examples
    --------
    >>> fault("Cancel my booking, please.", []), fault(" ", []), fault('{"message": "hi"}', [])
    (None, 'blank', 'leak')
    """
    said = " ".join(message.split())
    if not said:
        return "blank"
    if len(message) > LONGEST:
        return "too_long"
    if _LEAK.search(message):
        return "leak"
    if _DECLINE.search(said):
        return "declined"
    replies = {" ".join(text.split()) for text in (greeting, *(turn.agent for turn in turns))}
    if said in replies and len(said) > 40:
        return "role_flip"
    return None


def loops(turns: Sequence[Turn], width: int = 3) -> bool:
    """Whether the conversation goes round: the same exchange, or pair of exchanges, `width` times over.

    Examples
    --------
    >>> loops([Turn(user="bye", agent="bye")] * 3), loops([Turn(user="bye", agent="bye")] * 2)
    (True, False)
    """
    said = [(" ".join(t.user.lower().split()), " ".join(t.agent.lower().split())) for t in turns]
    same_reply = len(said) >= width and len({reply for _, reply in said[-width:]}) == 1 and said[-1][1] != ""
    pairs = len(said) >= 4 and said[-4:-2] == said[-2:]
    return same_reply or pairs


class Message(NamedTuple):
    """What a role wants to say next."""

    text: str
    done: bool
    """Nothing is to follow; one more reply of the agent is read all the same."""
    planned: bool = False
    """Stands in the test as it is, so that it may be blank-ish, odd or long on purpose and is not vetted."""


def converse(session: Session, write: Callable[[int], Message], sent: Callable[[], None] = lambda: None) -> StopReason:
    """Carry a session on until it is over (design decision 8); the reason why it ended.

    Parameters
    ----------
    write
        Asks the role for the next message; gets 0, or 1 when the first one could not be sent.
    sent
        Called after each message that was sent.
    """
    while not session.over:
        for attempt in (0, 1):
            message = write(attempt)
            finished = message.done and not message.text.strip()
            unfit = None if finished or message.planned else fault(message.text, session.turns, session.greeting)
            if unfit is None:
                break
        else:
            return "tester_fault"
        if finished:
            return "objective"
        turn = session.say(message.text)
        sent()
        if turn.status in ("error", "timeout", "refused"):
            return "subject_error"
        if message.done:
            return "objective"
        if loops(session.turns):
            return "loop"
    return "budget"
