"""Whether a message that a tester model wrote may be sent as a customer's.

Language-independent where it can be: blank, a copy of what the agent said, an answer that never was one. What fails is
regenerated once; then the session ends as `tester_fault` and stays out of all rates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agenteval.types import Turn

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
