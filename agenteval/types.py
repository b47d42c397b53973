"""The nouns of the project, as frozen records.

One trace, as it stands in `visible/traces.jsonl`::

    {"closing": "", "greeting": "Hello!", "id": "00003-5f0c1b2a", "repetition": 0, "schema": 1, "source": "log.json#3",
     "stop": "recorded", "turns": [{"agent": "Which one?", "status": "ok", "user": "Cancel my booking."}]}

Field names follow the vocabulary of the design; the paper's symbol stands beside them where it has one.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

SCHEMA = 1
"""Version of every record on disk. A run folder of another version is refused, never guessed at."""

TurnStatus = Literal["ok", "empty", "error", "timeout", "refused"]
StopReason = Literal["objective", "budget", "loop", "subject_error", "tester_fault", "recorded"]


class Record(BaseModel):
    """Base of everything that touches disk or a model: frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(Record):
    """One user utterance and the visible reply to it: (u, r)."""

    user: str
    """What was sent (u)."""
    agent: str
    """The visible reply (r); empty unless the status is `ok`."""
    status: TurnStatus = "ok"
    """How the invocation ended. Only an `ok` turn has an activity."""


class Trace(Record):
    """The ordered turns of one session (sigma)."""

    id: str
    """Position and content hash, so that sorting by id keeps the order in which sessions came."""
    greeting: str = ""
    """What the agent says on reset. Outside Algorithm 1 and outside turn budgets."""
    turns: tuple[Turn, ...] = ()
    closing: str = ""
    """Last words of the user that the agent was never given to answer (a stop sign of a user simulator)."""
    stop: StopReason = "recorded"
    """Why the session ended; `budget` marks an end that was cut and is no end of a workflow."""
    source: str = ""
    """File and position of an imported conversation."""
    repetition: int = 0


class LabelledTurn(Record):
    """Event abstraction of one turn (Section IV-A)."""

    turn: int
    """Position in the session, from 1."""
    action: str
    """What the user did (u), snake_case."""
    activity: str
    """The workflow state that the reply made visible (a), snake_case; empty for a failed turn."""
    summary: str = ""
    """One sentence."""


class LabelledTrace(Record):
    """The abstracted trace of one session, an element of the event log (Sigma)."""

    id: str
    """Id of the trace."""
    turns: tuple[LabelledTurn, ...]
    cut: bool = False
    """True where the turn budget ended the session."""


class State(Record):
    """A node of the workflow graph (v)."""

    id: str
    support: int
    """Number of observed replies with this label."""


class Transition(Record):
    """An edge of the workflow graph (v, v')."""

    source: str
    target: str
    frequency: int
    """How often the succession was seen."""
    actions: dict[str, int]
    """User actions that drove it, with how often each did; they sum to `frequency`."""


class Graph(Record):
    """The conversational workflow graph G = (V, E, S, T) of Section II-D, sorted by name."""

    states: tuple[State, ...] = ()
    transitions: tuple[Transition, ...] = ()
    entries: dict[str, int] = {}
    """S with the number of sessions that began there."""
    ends: dict[str, int] = {}
    """T with the number of sessions whose last activity it was."""
    cut_ends: dict[str, int] = {}
    """Those of `ends` where the budget cut the session (design decision 13)."""


class ToolEvent(Record):
    """A message of an imported conversation that the user never saw. Privileged."""

    id: str
    """Id of the trace."""
    turn: int
    """The turn during which it happened; 0 before the first user utterance."""
    role: str
    """`system`, `call`, `result` or `note` (text written beside a call)."""
    name: str = ""
    content: str = ""


class Failure(Record):
    """A unit that gave no result. Never a verdict and never a zero."""

    id: str
    """The unit: a conversation, a file, a chunk, a test."""
    stage: str
    reason: str
    """A closed reason code of `errors` or of the reader."""
    detail: str = ""
    """Our own words; texts of exceptions and tools belong to the privileged side."""


_GATE = re.compile(r"(?:^|_and_)request_confirmation(?:_|$)")
_COMPLETION = re.compile(r"(?:^|_and_)confirm_completion(?:_|$)")


def is_gate(label: str) -> bool:
    """Whether a state asks for confirmation of something. Derived for pictures and ties, never part of G.

    >>> is_gate("request_confirmation_cancel"), is_gate("confirm_completion_cancel_and_request_confirmation_book")
    (True, True)
    >>> is_gate("request_user_id")
    False
    """
    return bool(_GATE.search(label))


def is_completion(label: str) -> bool:
    """Whether a state reports that something was done.

    >>> is_completion("confirm_completion_cancel"), is_completion("request_confirmation_cancel")
    (True, False)
    """
    return bool(_COMPLETION.search(label))
