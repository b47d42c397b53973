"""Execution: runs every test in a fresh session and judges the trace afterwards (Section III-B).

The runner never sees criteria or target; the judge never sees target, arm or steps. A verdict is computed by code from
the judge's decisions, and a decision whose quote does not stand in the trace counts as unsettled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Literal, NamedTuple

from agenteval.chat import Chat, Session
from agenteval.errors import ChatError, CutOff, ModelRefused, ReplyInvalid
from agenteval.llm.model import Model
from agenteval.store import derive_seed
from agenteval.tester.ground import folded
from agenteval.tester.roles import judge as judge_role
from agenteval.tester.roles import runner
from agenteval.tester.vetting import Message, converse
from agenteval.tester.views import excerpt, trace_view, turn_view
from agenteval.types import Brief, Failure, Quote, Test, TestRun, Turn, Verdict


class Stoppable:
    """A chat that answers nothing more once the run was stopped, so that its session ends after one reply at most."""

    def __init__(self, chat: Chat, stopped: threading.Event):
        self.chat = chat
        self.stopped = stopped

    def reset(self) -> str | None:
        return self._unless_stopped(self.chat.reset)

    def invoke(self, text: str) -> str:
        return self._unless_stopped(lambda: self.chat.invoke(text))

    def _unless_stopped(self, say: Callable[[], Any]) -> Any:
        if self.stopped.is_set():
            raise ChatError("the run was stopped")
        return say()


class Outcome(NamedTuple):
    """One execution: run and verdict, or the failure that stands in their place."""

    run: TestRun | None
    verdict: Verdict | None
    failure: Failure | None


def run_id(test: Test, repetition: int) -> str:
    return f"{test.id}-{repetition}"


def run_test(
    test: Test,
    open_chat: Callable[[str], Chat],
    brief: Brief,
    model: Model,
    *,
    repetition: int = 0,
    seed: int = 0,
    timeout: float | None = 60.0,
) -> TestRun:
    """Carry out one test, up to its turn budget, in a chat that `open_chat` makes for the run of that id.

    Raises
    ------
    ChatError
        No session began.
    ModelError
        The tester's model cannot be asked.
    """
    session = Session(open_chat(run_id(test, repetition)), budget=test.budget, timeout=timeout)
    steps = [{"step": n, "text": s.text, "part": s.part, "expects": s.expects} for n, s in enumerate(test.steps, 1)]
    unit_seed = derive_seed(seed, "run", test.id, repetition)
    sent: list[int] = []
    chosen = [0]

    def write(attempt: int) -> Message:
        turns = [
            {**turn_view(n, t), "step": step} for n, (t, step) in enumerate(zip(session.turns, sent, strict=True), 1)
        ]
        view = {"greeting": excerpt(session.greeting), "turns": turns}
        asked = {"goal": test.goal, "steps": steps, "turns_left": test.budget - len(session.turns)}
        reply = runner.run(
            model, test=asked, brief=brief, conversation=view, repetition=2 * repetition + attempt, seed=unit_seed + len(sent)
        )  # fmt: skip
        chosen[0] = reply.step
        planned = reply.step > 0 and folded(reply.message) == folded(test.steps[reply.step - 1].text)
        return Message(reply.message, reply.done, planned)

    stop = converse(session, write, lambda: sent.append(chosen[0]))
    trace = session.trace(0, stop, repetition=repetition)
    perturbing = [n for n, s in enumerate(test.steps, 1) if s.part == "perturbation"]
    perturbed = next((n for n, step in enumerate(sent, 1) if step in perturbing), 0)
    routed = [step for step, turn in zip(sent, session.turns, strict=True) if step and test.steps[step - 1].part == "route"
              and folded(turn.user) == folded(test.steps[step - 1].text)]  # fmt: skip
    return TestRun(
        id=run_id(test, repetition),
        test=test.id,
        repetition=repetition,
        trace=trace,
        perturbed=perturbed,
        replayed=len(set(routed)),
    )


NOT_JUDGED: dict[str, str] = {"tester_fault": "tester_fault", "subject_error": "subject_error"}
"""Stop reasons after which there is nothing to judge: the verdict is inconclusive and stays out of all rates."""


def judge_run(test: Test, run: TestRun, model: Model, *, repetition: int = 0, seed: int = 0) -> Verdict:
    """Judge one run, once, after the session.

    Parameters
    ----------
    repetition
        Of the judgement: the same trace may be judged several times.

    Raises
    ------
    ReplyInvalid, ModelError
        No verdict: a failed call is an error record, never a verdict.
    """
    known = {"id": run.id, "test": test.id, "repetition": run.repetition}
    if run.trace.stop in NOT_JUDGED:
        return Verdict(**known, verdict="inconclusive", reason=NOT_JUDGED[run.trace.stop])
    if not run.trace.turns:
        return Verdict(**known, verdict="inconclusive", reason="nothing_said")
    decisions = judge_role.judge(
        model,
        criteria=[c.model_dump() for c in test.criteria],
        golden=[{"name": g.name, "value": g.value} for g in test.golden],
        stop=run.trace.stop,
        conversation={k: v for k, v in trace_view(run.trace).items() if k != "id"},
        repetition=repetition,
        seed=derive_seed(seed, "judge", run.id),
    )
    return verdict_of(test, run, decisions)


def verdict_of(test: Test, run: TestRun, decisions: Sequence[judge_role.Decision]) -> Verdict:
    """The verdict that decisions amount to (design decision 9).

    Any violated criterion: fail. Else any unsettled one: inconclusive. Else pass. A decision without a quote that stands
    in the trace is unsettled.
    """
    given = {decision.criterion: decision for decision in decisions}
    settled: dict[str, str] = {}
    quotes: list[Quote] = []
    misquoted = False
    for criterion in test.criteria:
        decision = given[criterion.id]
        standing = [q for q in decision.quotes if stands(q.text, q.turn, run.trace.turns, run.trace.greeting)]
        settled[criterion.id] = decision.decision if standing else "unsettled"
        misquoted = misquoted or (decision.decision != "unsettled" and not standing)
        quotes += [Quote(criterion=criterion.id, turn=q.turn, text=q.text) for q in standing]
    violated = {c.kind for c in test.criteria if settled[c.id] == "violated"}
    verdict: Literal["pass", "fail", "inconclusive"]
    if violated:
        verdict, reason = "fail", "failure_triggered" if "failure" in violated else "success_violated"
    elif "unsettled" in settled.values():
        verdict, reason = "inconclusive", "quote_not_found" if misquoted else "unsettled"
    else:
        verdict, reason = "pass", "all_met"
    return Verdict(
        id=run.id,
        test=test.id,
        repetition=run.repetition,
        verdict=verdict,
        reason=reason,
        decisions=settled,
        quotes=tuple(quotes),
    )


def stands(quote: str, turn: int, turns: Sequence[Turn], greeting: str = "") -> bool:
    """Whether quoted words stand in a turn of the trace (turn 0 is the greeting); white space and case do not count.

    >>> stands("go  ahead", 1, [Turn(user="ok", agent="Shall I go ahead?")]), stands("PASS", 1, [Turn(user="ok", agent="no")])
    (True, False)
    """
    if not folded(quote):
        return False
    if turn == 0:
        return folded(quote) in folded(greeting)
    return 1 <= turn <= len(turns) and any(
        folded(quote) in folded(t) for t in (turns[turn - 1].agent, turns[turn - 1].user)
    )


def execute(
    tests: Sequence[Test],
    open_chat: Callable[[str], Chat],
    brief: Brief,
    model: Model,
    judge: Model,
    *,
    repetitions: int = 1,
    seed: int = 0,
    timeout: float | None = 60.0,
    workers: int = 4,
    finished: frozenset[str] = frozenset(),
    keep: Callable[[Outcome], None] = lambda outcome: None,
) -> None:
    """Run and judge every enabled test, each in a chat of its own, `workers` at a time.

    Parameters
    ----------
    finished
        Ids of runs that have a record already; they are not run again.
    keep
        Called with each outcome, from one thread at a time, as soon as it is there.

    Raises
    ------
    AgentEvalError
        The first error that stops a run for good (a budget, an endpoint that is gone); what was finished was kept.
    """
    stopped = threading.Event()

    def chat_for(id: str) -> Chat:
        return Stoppable(open_chat(id), stopped)

    units = [(t, r) for t in tests if t.enabled for r in range(repetitions) if run_id(t, r) not in finished]

    def work(test: Test, repetition: int) -> Outcome:
        id = run_id(test, repetition)
        try:
            run = run_test(test, chat_for, brief, model, repetition=repetition, seed=seed, timeout=timeout)
        except ChatError as error:
            return Outcome(None, None, Failure(id=id, stage="run", reason=error.reason, detail="no session began"))
        except (ReplyInvalid, CutOff, ModelRefused) as error:
            return Outcome(
                None, None, Failure(id=id, stage="run", reason=error.reason, detail="the runner gave no usable answer")
            )
        try:
            return Outcome(run, judge_run(test, run, judge, seed=seed), None)
        except (ReplyInvalid, CutOff, ModelRefused) as error:
            return Outcome(
                run, None, Failure(id=id, stage="judge", reason=error.reason, detail="the judge gave no usable answer")
            )

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        waiting = iter(units)
        running = {pool.submit(work, *unit) for unit in islice(waiting, 2 * workers)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    keep(future.result())
                    unit = next(waiting, None)
                    if unit is not None:
                        running.add(pool.submit(work, *unit))
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
