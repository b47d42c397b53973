"""Models around models: cached, recorded, metered, budgeted.

The usual order, from the outside: `Recorded(Cached(Budgeted(Metered(OpenAI))))`. A stored answer passes neither budget
nor meter; the record shows it with `stored: true`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agenteval.errors import AgentEvalError, BudgetReached, ReplyInvalid
from agenteval.llm.calls import CallStore
from agenteval.llm.model import Completion, Model, Request, Usage
from agenteval.llm.parse import parse


class Cached:
    """Asks the call store first, and keeps what is complete and fits its schema."""

    def __init__(self, model: Model, store: CallStore):
        self.model = model
        self.store = store
        self.name = model.name

    def complete(self, request: Request) -> Completion:
        # An answer that did not fit was paid for and not kept; the one that was asked for instead stands for it.
        for attempt in range(request.attempt, 2):
            found = self.store.get(request.model_copy(update={"attempt": attempt}), self.name)
            if found is not None:
                return found
        completion = self.model.complete(request)
        if completion.finish == "stop" and _fits(request, completion):
            self.store.put(request, self.name, completion)
        return completion


def _fits(request: Request, completion: Completion) -> bool:
    if request.reply is None:
        return bool(completion.text.strip())
    try:
        parse(completion.text, request.reply)
    except ReplyInvalid:
        return False
    return True


class Recorded:
    """Writes one line per call: key, role, model, usage, seconds, outcome; also when it fails.

    Parameters
    ----------
    write
        Takes the line as a dictionary; usually `run.append_raw` on `calls`.
    """

    def __init__(self, model: Model, write: Callable[[dict[str, Any]], None]):
        self.model = model
        self.write = write
        self.name = model.name

    def complete(self, request: Request) -> Completion:
        started = time.monotonic()
        line: dict[str, Any] = {
            "id": request.key(self.name), "role": request.role, "model": self.name,
            "attempt": request.attempt, "repetition": request.repetition, "stored": False, "usage": None,
        }  # fmt: skip
        try:
            completion = self.model.complete(request)
        except AgentEvalError as error:
            self.write({**line, "outcome": error.reason, "seconds": round(time.monotonic() - started, 4)})
            raise
        outcome = completion.finish
        if outcome == "stop" and not _fits(request, completion):
            outcome = "reply_invalid"
            line["text"] = completion.text
        self.write({
            **line, "outcome": outcome, "stored": completion.stored, "usage": completion.usage.model_dump(),
            "seconds": round(time.monotonic() - started, 4),
        })  # fmt: skip
        return completion


class Price(NamedTuple):
    """Money per million tokens, from the user's own table."""

    input: float
    output: float


class Ledger:
    """What was spent, shared by the models of a run; starts from what earlier sessions of the run spent."""

    def __init__(self, calls: int = 0, usage: Usage | None = None, cost: float | None = None):
        self.calls = calls
        self.usage = usage or Usage()
        self.cost = cost
        """None as soon as one call had no price."""
        self.in_flight = 0
        """Calls that were let through and have not come back: they count against the cap of calls."""
        self.started: float | None = None
        """When the first model of this process was made: the cap of time counts from there, over all stages."""
        self.lock = threading.Lock()

    def add(self, usage: Usage, price: Price | None) -> None:
        with self.lock:
            self.usage += usage
            self.calls += 1
            if price is None:
                self.cost = None
            elif self.cost is not None or self.calls == 1:
                self.cost = (self.cost or 0.0) + (usage.input * price.input + usage.output * price.output) / 1e6


class Metered:
    """Adds usage to the ledger. Answers that turn out unusable were paid for too."""

    def __init__(self, model: Model, ledger: Ledger, price: Price | None = None):
        self.model = model
        self.ledger = ledger
        self.price = price
        self.name = model.name

    def complete(self, request: Request) -> Completion:
        completion = self.model.complete(request)
        self.ledger.add(completion.usage, self.price)
        return completion


class Budget(NamedTuple):
    """Caps of a whole run; None means none."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Budgeted:
    """Checks the caps before each call, so that nothing is started that may not be paid.

    Raises
    ------
    BudgetReached
        Names the cap. Everything finished is kept and the same command with a higher cap goes on.
    """

    def __init__(self, model: Model, ledger: Ledger, budget: Budget, clock: Callable[[], float] = time.monotonic):
        self.model = model
        self.ledger = ledger
        self.budget = budget
        self.clock = clock
        if ledger.started is None:
            ledger.started = clock()
        self.name = model.name

    def complete(self, request: Request) -> Completion:
        with self.ledger.lock:
            self._check()
            self.ledger.in_flight += 1
        try:
            return self.model.complete(request)
        finally:
            with self.ledger.lock:
                self.ledger.in_flight -= 1

    def _check(self) -> None:
        ledger, budget = self.ledger, self.budget
        tokens = ledger.usage.input + ledger.usage.output
        seconds = self.clock() - (ledger.started or 0.0)
        spent: Mapping[str, tuple[float | None, float | None, str]] = {
            "calls": (ledger.calls + ledger.in_flight, budget.calls, "--max-calls"),
            "tokens": (tokens, budget.tokens, "--max-tokens"),
            "cost": (ledger.cost, budget.cost, "--max-cost"),
            "seconds": (seconds, budget.seconds, "--max-minutes"),
        }
        for what, (have, cap, flag) in spent.items():
            if cap is not None and have is not None and have >= cap:
                raise BudgetReached(
                    f"budget reached: {have:g} of {cap:g} {what}. All results are kept; raise {flag} to go on"
                )
