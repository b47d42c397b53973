"""Waist 1: whatever an agent does becomes a typed turn."""

from __future__ import annotations

import threading

import pytest

from agenteval.chat import Session
from agenteval.errors import ChatError, ChatRefused, ChatTimeout


class Echo:
    """An agent that says what it is told to say, or does what a callable does."""

    def __init__(self, *replies, greeting="Hello"):
        self.replies = list(replies)
        self.greeting = greeting

    def reset(self):
        if isinstance(self.greeting, Exception):
            raise self.greeting
        return self.greeting

    def invoke(self, text):
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply() if callable(reply) else reply


@pytest.mark.parametrize(("reply", "status", "agent"), [
    ("Sure.", "ok", "Sure."), ("", "empty", ""), (" \n", "empty", ""), (None, "empty", ""), (RuntimeError("secret"), "error", ""),
    (ChatRefused("no"), "refused", ""), (ChatTimeout("late"), "timeout", ""), (lambda: threading.Event().wait(5), "timeout", ""),
    ("a\ud800b", "ok", "a\ufffdb"), ("x" * 200_000, "ok", "x" * 200_000), (42, "ok", "42"),
])  # fmt: skip
def test_turn_status(reply, status, agent):
    session = Session(Echo(reply), budget=3, timeout=0.2)
    turn = session.say("hi")
    assert (turn.status, turn.agent) == (status, agent)
    assert "secret" not in session.trace(0, "objective").model_dump_json()
    assert session.over is (status in ("error", "timeout", "refused"))


def test_budget_and_trace():
    session = Session(Echo("a", "b", "c", greeting=None), budget=2)
    session.say("1")
    session.say("2")
    assert session.over
    with pytest.raises(ValueError, match="over after 2 of 2"):
        session.say("3")
    trace = session.trace(7, "budget")
    assert trace.id.startswith("00007-") and trace.greeting == "" and [t.agent for t in trace.turns] == ["a", "b"]
    assert trace == session.trace(7, "budget"), "equal content, equal id"


def test_a_session_that_cannot_begin():
    with pytest.raises(ChatError, match="raised ZeroDivisionError"):
        Session(Echo(greeting=ZeroDivisionError()), budget=2)
