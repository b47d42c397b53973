"""Waist 1: the agent under test is a `Chat`, and a `Session` turns a chat into a trace.

Nothing else crosses: no prompt, no tool call, no log. Whatever the agent does wrong becomes a typed turn::

    {"agent": "", "status": "timeout", "user": "Cancel my booking."}
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from agenteval.errors import ChatError, ChatRefused, ChatTimeout
from agenteval.store import clean, content_id
from agenteval.types import StopReason, Trace, Turn

T = TypeVar("T")


class Chat(Protocol):
    """The black box (Section II-A): two operations."""

    def reset(self) -> str | None:
        """Begin a fresh session; returns the greeting, or nothing."""
        ...

    def invoke(self, text: str) -> str:
        """Send one user utterance and return the visible reply."""
        ...


class Session:
    """One session with an agent: at most `budget` turns, each within `timeout` seconds.

    Parameters
    ----------
    chat
        A chat that nobody else uses at the same time.
    budget
        Turns allowed (B_turn); the greeting is not counted.
    timeout
        Seconds for each operation; None waits for ever. A call that does not come back is left behind on a daemon
        thread, and the session is over.

    Raises
    ------
    ChatError
        `reset` failed; no session began.
    """

    def __init__(self, chat: Chat, *, budget: int, timeout: float | None = 60.0):
        self.chat = chat
        self.budget = budget
        self.timeout = timeout
        self.turns: list[Turn] = []
        greeting = _within(timeout, chat.reset)
        self.greeting = clean(str(greeting)) if greeting else ""

    @property
    def over(self) -> bool:
        """Whether no further turn is possible."""
        return len(self.turns) >= self.budget or bool(
            self.turns and self.turns[-1].status in ("error", "timeout", "refused")
        )

    def say(self, text: str) -> Turn:
        """Send one utterance; the turn that comes back is `ok` or says what went wrong."""
        if self.over:
            raise ValueError(f"the session is over after {len(self.turns)} of {self.budget} turns")
        try:
            reply = _within(self.timeout, lambda: self.chat.invoke(text))
            said = clean(reply if isinstance(reply, str) else "" if reply is None else str(reply))
            turn = (
                Turn(user=clean(text), agent=said, status="ok")
                if said.strip()
                else Turn(user=clean(text), agent="", status="empty")
            )
        except ChatTimeout:
            turn = Turn(user=clean(text), agent="", status="timeout")
        except ChatRefused:
            turn = Turn(user=clean(text), agent="", status="refused")
        except Exception:
            # The agent under test may raise anything; its text belongs to the privileged side, so only the status stays.
            turn = Turn(user=clean(text), agent="", status="error")
        self.turns.append(turn)
        return turn

    def trace(
        self,
        position: int,
        stop: StopReason,
        *,
        repetition: int = 0,
        phase: str = "",
        objective: str = "",
        strategy: str = "",
    ) -> Trace:
        """The session as a trace; `position` orders it among its siblings."""
        turns = tuple(self.turns)
        digest = content_id(self.greeting, [t.model_dump() for t in turns], repetition)
        return Trace(
            id=f"{position:05d}-{digest}", greeting=self.greeting, turns=turns, stop=stop, repetition=repetition,
            phase=phase, objective=objective, strategy=strategy,
        )  # fmt: skip


def _within(timeout: float | None, call: Callable[[], T]) -> T:
    if timeout is None:
        return call()
    box: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            box.append(call())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise ChatTimeout(f"no reply within {timeout:g} seconds")
    if failure:
        if isinstance(failure[0], ChatError):
            raise failure[0]
        raise ChatError(f"the agent raised {type(failure[0]).__name__}") from failure[0]
    return box[0]
