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
    phase: str = ""
    """Exploration phase of a discovery session; empty elsewhere."""
    objective: str = ""
    strategy: str = ""


class Brief(Record):
    """What a tester may know in advance: the domain's name and public seeds.

    One seed is one person or record, a flat mapping such as `{"name": "Ann Lee", "member_number": "M-12"}`.
    """

    domain: str
    seeds: tuple[dict[str, str], ...] = ()


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


Location = Literal["node", "edge", "start", "end"]


class Target(Record):
    """One structural location of the graph (Table I)."""

    id: str
    """`node:<state>`, `edge:<source>><target>`, `start:<state>`, `end:<state>`."""
    kind: Location
    state: str
    """The state that the location is about; of an edge its target."""
    source: str = ""
    """Of an edge: where it begins."""
    support: int
    """How often the location was seen."""
    actions: dict[str, int] = {}
    """User actions seen there."""
    tests: str
    """What stressing it can show."""
    strength: float = 0.0
    """Largest gate strength of the state for a completion; breaks ties only."""
    potential: float | None = None
    """Boundary potential in [0, 1]; None before ranking."""
    label: str = ""
    """The boundary that a test would stress, in a few words."""


class Source(Record):
    """Where a concrete value of a test comes from."""

    value: str
    origin: Literal["turn", "brief", "perturbed"]
    """Copied from a turn of a session, from a seed of the brief, or made up on purpose as the perturbation."""
    session: str = ""
    turn: int = 0
    """From 1; 0 is the greeting."""
    seed: int = -1
    """Position of the seed in the brief."""


class Step(Record):
    """One user turn of a test."""

    text: str
    part: Literal["route", "perturbation", "after"] = "route"
    """`route` re-issues what was observed and may be adapted; `perturbation` is what the test is about."""
    expects: str = ""
    """What the agent had just said when this step was observed; the runner adapts when it says something else."""


class Criterion(Record):
    """An observable condition on the trace, decided on its own."""

    id: str
    kind: Literal["success", "failure"]
    text: str


class Golden(Record):
    """An expected value, copied from a visible turn of an unmutated session (design decision 11)."""

    name: str
    value: str
    session: str
    turn: int


class Test(Record):
    """An executable objective (Section II-A, Figure 5)."""

    __test__ = False

    id: str
    kind: Literal["functional", "boundary"]
    goal: str
    steps: tuple[Step, ...]
    criteria: tuple[Criterion, ...]
    budget: int
    """User turns allowed: the steps and two more."""
    values: tuple[Source, ...] = ()
    golden: tuple[Golden, ...] = ()
    session: str = ""
    """The session whose route and identity the test uses."""
    arm: str = ""
    target: str = ""
    """Id of the target; empty for functional tests and for arms without targets."""
    boundary: str = ""
    """Label of the boundary that is stressed."""
    perturbation: str = ""
    """Kind of perturbation."""
    enabled: bool = True


class TestRun(Record):
    """One execution of a test."""

    __test__ = False

    id: str
    """`<test>-<repetition>`."""
    test: str
    repetition: int = 0
    trace: Trace
    perturbed: int = 0
    """Turn, from 1, at which the perturbation was sent; 0 when the run never came to it."""
    replayed: int = 0
    """Route steps that were sent while the agent said what it had said when they were observed."""


class Quote(Record):
    """Evidence: words that stand in the trace."""

    criterion: str
    turn: int
    text: str


class Verdict(Record):
    """What the judge decided, computed by code from its decisions per criterion."""

    id: str
    """Id of the run."""
    test: str
    repetition: int = 0
    verdict: Literal["pass", "fail", "inconclusive"]
    reason: str
    """A closed code: `all_met`, `success_violated`, `failure_triggered`, `unsettled`, or why there was nothing to judge."""
    decisions: dict[str, str] = {}
    """Criterion to `met`, `violated` or `unsettled`."""
    quotes: tuple[Quote, ...] = ()


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
