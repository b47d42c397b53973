"""What a model auditor is shown of a test and its runs, and what it is not.

It never sees the arm, the target, the label of the location, which message is the perturbation or when it was sent, nor
the ids and the order of the plan. A test is known to it by a hash of what it sees of it, and comes in an order that the
seed settles.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agenteval.store import content_id, derive_seed
from agenteval.tester.views import excerpt, trace_view
from agenteval.types import Test, TestRun, Trace, Verdict

RESULT = 3000
"""Characters of a tool's result that are shown; the log keeps all."""


class Execution(NamedTuple):
    """One run of a test with what happened behind it."""

    repetition: int
    verdict: Verdict | None
    stop: str
    conversation: dict[str, Any]
    tools: list[dict[str, Any]]


class Case(NamedTuple):
    """A test as the auditor gets it."""

    test: Test
    """For our own records; what is shown of it is the scenario."""
    scenario: dict[str, Any]
    session: dict[str, Any]
    """The recorded session that the test was drawn from; empty without one."""
    executions: tuple[Execution, ...]

    @property
    def id(self) -> str:
        return self.scenario["id"]


def cases(
    tests: Iterable[Test],
    runs: Iterable[TestRun],
    verdicts: Iterable[Verdict],
    log: Iterable[Mapping[str, Any]],
    traces: Iterable[Trace],
    *,
    seed: int,
) -> list[Case]:
    """Tests with their runs, shuffled by seed."""
    events: dict[str, list[Mapping[str, Any]]] = {}
    for event in log:
        if event["stage"] == "run":
            events.setdefault(event["id"], []).append(event)
    verdict_of = {verdict.id: verdict for verdict in verdicts}
    recorded = {trace.id: conversation(trace) for trace in traces}
    executions: dict[str, list[Execution]] = {}
    for run in sorted(runs, key=lambda run: run.repetition):
        executions.setdefault(run.test, []).append(
            Execution(run.repetition, verdict_of.get(run.id), run.trace.stop, conversation(run.trace), calls(events.get(run.id, ())))
        )  # fmt: skip
    made = [
        Case(test, scenario(test), recorded.get(test.session, {}), tuple(executions.get(test.id, ()))) for test in tests
    ]
    return sorted(made, key=lambda case: (derive_seed(seed, "audit", case.id), case.test.id))


def scenario(test: Test) -> dict[str, Any]:
    """A test without what would tell where it came from."""
    origins = {"turn": "the recorded session", "brief": "known in advance", "perturbed": "made up for the test"}
    shown = {
        "kind": test.kind,
        "goal": test.goal,
        "messages": [step.text for step in test.steps],
        "criteria": [criterion.model_dump() for criterion in test.criteria],
        "expected_values": [{"name": golden.name, "value": golden.value} for golden in test.golden],
        "values": [{"value": source.value, "from": origins[source.origin]} for source in test.values],
        "turns_at_most": test.budget,
    }
    return {"id": f"t-{content_id(shown)}", **shown}


def conversation(trace: Trace) -> dict[str, Any]:
    """Greeting and turns, without an id."""
    return {key: value for key, value in trace_view(trace).items() if key != "id"}


def calls(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Calls of tools only: guard checks and state changes of a scripted subject would be the answer key."""
    kept = ("turn", "name", "arguments", "result", "error")
    return [
        {key: _short(event[key]) for key in kept if key in event} for event in events if event.get("event") == "tool"
    ]


def _short(value: Any) -> Any:
    if isinstance(value, int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return value if len(text) <= RESULT else excerpt(text, RESULT)
