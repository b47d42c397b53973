"""Discovery: a planner and a driver explore the agent in fresh sessions (Section III-A).

Warm-up rounds hold the default of their phase and cost no planning; afterwards the planner sees all traces. The naive
arm has the same driver, rounds and turns, one constant objective, no phases, no planner and no memory across sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from agenteval.chat import Chat, Session
from agenteval.errors import ChatError
from agenteval.llm.model import Model
from agenteval.store import derive_seed
from agenteval.tester.roles import driver, planner
from agenteval.tester.vetting import Message, converse
from agenteval.tester.views import excerpt, trace_view, turn_view
from agenteval.types import Brief, Failure, Trace

Strategy = Literal["phase_guided", "naive"]


class Plan(NamedTuple):
    phase: str
    objective: str
    strategy: str


DEFAULTS = {
    "capability_discovery": Plan(
        "capability_discovery",
        "Learn what the agent can do for a customer and what it needs to know for each service.",
        "Ask openly what it can help with, then ask what it needs for the services that it names.",
    ),
    "happy_path": Plan(
        "happy_path",
        "Carry one ordinary request through to its completion.",
        "Ask for one service that the agent offers, give what it asks for, and confirm when it asks whether to go ahead. "
        "When that is over and turns are left, ask for something else.",
    ),
    "consistency_check": Plan(
        "consistency_check",
        "Find out whether a request that was made before is handled the same way again.",
        "Repeat the request of an earlier session, give the same facts, and follow it to the same point.",
    ),
}
"""Objective and strategy of each phase in the warm-up."""

NAIVE = Plan("", "Explore what the agent does for its customers.", "Talk to it as a customer would.")


class Budget(NamedTuple):
    """Interaction budget of discovery: R_disc, B_turn and the warm-up (m_cap, m_hp, m_cc)."""

    rounds: int = 12
    turns: int = 6
    warmup: tuple[int, int, int] = (1, 2, 1)


class Round(NamedTuple):
    """What one round gave: a trace, or a failure where no session began."""

    trace: Trace | None
    failure: Failure | None


def schedule(budget: Budget) -> list[str]:
    """Phases of the warm-up rounds, in order.

    >>> schedule(Budget())
    ['capability_discovery', 'happy_path', 'happy_path', 'consistency_check']
    """
    phases = [phase for phase, n in zip(DEFAULTS, budget.warmup, strict=True) for _ in range(n)]
    return phases[: budget.rounds]


def discover(
    open_chat: Callable[[str], Chat],
    brief: Brief,
    model: Model,
    *,
    strategy: Strategy = "phase_guided",
    budget: Budget = Budget(),
    seed: int = 0,
    timeout: float | None = 60.0,
    finished: Sequence[Trace] = (),
    keep: Callable[[Round], None] = lambda round: None,
) -> tuple[Trace, ...]:
    """Explore the agent for `budget.rounds` sessions.

    Parameters
    ----------
    open_chat
        Makes an independent chat for the round of that name; called once a round.
    finished
        Traces of rounds that an earlier process finished; they are not walked again.
    keep
        Called with each round as soon as it is over.

    Returns
    -------
    tuple of Trace
        All rounds that began, in order.

    Raises
    ------
    ModelError
        The tester's model cannot be asked; finished rounds were kept.
    """
    traces = {int(trace.id.split("-")[0]): trace for trace in finished}
    warmup = schedule(budget)
    for number in range(budget.rounds):
        if number in traces:
            continue
        past = [traces[n] for n in sorted(traces)]
        unit_seed = derive_seed(seed, "discover", number)
        if strategy == "naive":
            plan, past = NAIVE, []
        elif number < len(warmup):
            plan = DEFAULTS[warmup[number]]
        else:
            plan = _planned(model, brief, past, unit_seed)
        try:
            trace = walk(
                open_chat(f"{number:05d}"),
                brief,
                model,
                plan=plan,
                past=past,
                number=number,
                turns=budget.turns,
                seed=unit_seed,
                timeout=timeout,
            )
        except ChatError as error:
            keep(
                Round(
                    None, Failure(id=f"{number:05d}", stage="discover", reason=error.reason, detail="no session began")
                )
            )
            continue
        traces[number] = trace
        keep(Round(trace, None))
    return tuple(traces[n] for n in sorted(traces))


def session_view(trace: Trace) -> dict[str, Any]:
    """What planner and driver are shown of an earlier session."""
    return {**trace_view(trace), "phase": trace.phase, "objective": trace.objective, "strategy": trace.strategy}


def _planned(model: Model, brief: Brief, past: Sequence[Trace], seed: int) -> Plan:
    counted = Counter(trace.phase for trace in past)
    phases = {phase: counted[phase] for phase in DEFAULTS}
    reply = planner.plan(model, brief=brief, phases=phases, sessions=[session_view(t) for t in past], seed=seed)
    return Plan(reply.phase, reply.objective, reply.strategy)


def walk(
    chat: Chat,
    brief: Brief,
    model: Model,
    *,
    plan: Plan,
    past: Sequence[Trace],
    number: int,
    turns: int,
    seed: int,
    timeout: float | None,
) -> Trace:
    """One session by one plan.

    Raises
    ------
    ChatError
        `reset` failed: there was no session.
    """
    session = Session(chat, budget=turns, timeout=timeout)
    earlier = [session_view(trace) for trace in past]

    def write(attempt: int) -> Message:
        view = {
            "greeting": excerpt(session.greeting),
            "turns": [turn_view(n, t) for n, t in enumerate(session.turns, 1)],
        }
        asked = {**plan._asdict(), "turns_left": turns - len(session.turns)}
        reply = driver.drive(
            model, plan=asked, brief=brief, earlier=earlier, conversation=view, repetition=attempt, seed=seed + len(session.turns)
        )  # fmt: skip
        return Message(reply.message, reply.done)

    stop = converse(session, write)
    return session.trace(number, stop, phase=plan.phase, objective=plan.objective, strategy=plan.strategy)
