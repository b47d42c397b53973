"""What the roles are shown of recorded sessions: visible texts, capped."""

from __future__ import annotations

from typing import Any

from agenteval.types import Trace, Turn

EXCERPT = 6000
"""Characters of one utterance that are shown to a model; the recording keeps all."""


def excerpt(text: str, most: int = EXCERPT) -> str:
    """A text of at most `most` characters that says how much is missing.

    >>> excerpt("abcdef", 3)
    'abc [... 3 characters cut]'
    """
    return text if len(text) <= most else f"{text[:most]} [... {len(text) - most} characters cut]"


def turn_view(number: int, turn: Turn) -> dict[str, Any]:
    """One turn; a turn that failed shows its status instead of a reply."""
    view = {"turn": number, "user": excerpt(turn.user), "agent": excerpt(turn.agent) if turn.status == "ok" else ""}
    return view if turn.status == "ok" else {**view, "status": turn.status}


def trace_view(trace: Trace) -> dict[str, Any]:
    """A whole session."""
    turns = [turn_view(number, turn) for number, turn in enumerate(trace.turns, 1)]
    return {"id": trace.id, "greeting": excerpt(trace.greeting), "turns": turns}
