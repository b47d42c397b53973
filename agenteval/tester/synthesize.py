"""Test synthesis: functional tests from raw traces (Section V-A), boundary tests in four arms (Section V-B, Algorithm 2).

All arms share one writer, one set of filters and the same traces; they differ in what they lay before the writer. There is
no back-filling: validity is reported as generated and as delivered.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from agenteval.errors import ContextOverflow, CutOff, ModelRefused, ReplyInvalid
from agenteval.llm.model import Model
from agenteval.store import derive_seed
from agenteval.tester.ground import Drop, duplicate, ground
from agenteval.tester.roles import boundary, functional
from agenteval.tester.targets import Place, places, target_view, targets
from agenteval.tester.views import trace_view
from agenteval.types import Brief, Graph, LabelledTrace, Target, Test, Trace

Arm = Literal["prompt_only", "graph_context", "guided", "structural_random"]
ARMS: tuple[Arm, ...] = ("prompt_only", "graph_context", "guided", "structural_random")
MOST = 50
"""N_f and N_b."""
BATCH = 5
"""Functional tests asked for at a time."""
PASSES = 8
"""Passes over the targets before giving up on more tests."""


class Generated(NamedTuple):
    """One draft and what became of it."""

    number: int
    test: Test | None
    """The delivered test; None when it was dropped."""
    drop: Drop | None
    target: str = ""


class Synthesis(NamedTuple):
    tests: tuple[Test, ...]
    generated: tuple[Generated, ...]


def functional_tests(
    traces: Sequence[Trace],
    brief: Brief,
    model: Model,
    *,
    most: int = MOST,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda d, t: None,
) -> Synthesis:
    """Functional tests that replay observed workflows; no graph is read.

    Small batches that carry the accepted tests forward; stops at `most` or after two batches without a new test.
    """
    by_id = {trace.id: trace for trace in traces}
    sessions = [trace_view(trace) for trace in traces]
    tests: list[Test] = []
    generated: list[Generated] = []
    barren = calls = 0
    while len(tests) < most and barren < 2 and len(generated) < 4 * most:
        accepted = [{"goal": test.goal, "session": test.session} for test in tests]
        batch = min(BATCH, most - len(tests))
        try:
            drafts = functional.write(
                model,
                sessions=sessions,
                brief=brief,
                accepted=accepted,
                batch=batch,
                seed=derive_seed(seed, "functional", calls),
            )
        except (ReplyInvalid, CutOff, ContextOverflow, ModelRefused) as error:
            generated.append(Generated(len(generated), None, Drop(error.reason, "the writer gave no usable answer")))
            barren, calls = barren + 1, calls + 1
            continue
        calls += 1
        before = len(tests)
        for draft in drafts[:batch]:
            _take(ground(draft, traces=by_id, brief=brief), tests, generated)
        barren = barren + 1 if len(tests) == before else 0
        progress(len(tests), most)
    return Synthesis(tuple(tests), tuple(generated))


def _take(result: Test | Drop, tests: list[Test], generated: list[Generated], target: str = "") -> None:
    drop = result if isinstance(result, Drop) else duplicate(result, tests)
    generated.append(Generated(len(generated), None if drop else result, drop, target))  # type: ignore[arg-type]
    if drop is None:
        tests.append(result)  # type: ignore[arg-type]


class Prompt(NamedTuple):
    """What an arm lays before the writer for one test."""

    target: str
    material: dict[str, Any]
    sessions: tuple[str, ...]


def boundary_tests(
    arm: Arm,
    traces: Sequence[Trace],
    labelled: Sequence[LabelledTrace],
    graph: Graph,
    brief: Brief,
    model: Model,
    *,
    ranked: Sequence[Target] = (),
    most: int = MOST,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda d, t: None,
) -> Synthesis:
    """Boundary tests of one arm.

    Parameters
    ----------
    ranked
        Targets by boundary potential, for `guided`; made by `rank`.
    most
        Drafts generated at most (N_b); fewer are delivered.
    """
    by_id = {trace.id: trace for trace in traces}
    tests: list[Test] = []
    generated: list[Generated] = []
    silent = 0
    for number, prompt in enumerate(prompts(arm, traces, labelled, graph, ranked=ranked, seed=seed)):
        if len(generated) >= most or silent > 4 * most:
            break
        accepted = [
            {"boundary": t.boundary, "perturbation": t.perturbation, "goal": t.goal, "target": t.target} for t in tests
        ]
        try:
            drafts = boundary.write(
                model, material=prompt.material, sessions=[trace_view(by_id[id]) for id in prompt.sessions], brief=brief,
                accepted=accepted, batch=1, seed=derive_seed(seed, arm, number),
            )  # fmt: skip
        except (ReplyInvalid, CutOff, ContextOverflow, ModelRefused) as error:
            generated.append(
                Generated(len(generated), None, Drop(error.reason, "the writer gave no usable answer"), prompt.target)
            )
            continue
        silent += not drafts
        for draft in drafts[:1]:
            _take(
                ground(draft, traces=by_id, brief=brief, arm=arm, target=prompt.target), tests, generated, prompt.target
            )
        progress(len(generated), most)
    return Synthesis(tuple(tests), tuple(generated))


def prompts(
    arm: Arm,
    traces: Sequence[Trace],
    labelled: Sequence[LabelledTrace],
    graph: Graph,
    *,
    ranked: Sequence[Target] = (),
    seed: int = 0,
) -> Iterator[Prompt]:
    """What the arm shows the writer, one test at a time; the selection is what the ablation compares.

    `guided` walks the targets by rank, `structural_random` in an order drawn without ranking. `prompt_only` draws turns of
    the traces, `graph_context` states in proportion to the support in the textual summary, each without replacement;
    further passes begin again, and the writer finds other perturbations.
    """
    random_ = random.Random(derive_seed(seed, "boundary", arm))
    by_id = {trace.id: trace for trace in traces}
    at = places(labelled)
    everything = tuple(by_id)
    summary = {"graph": graph_summary(graph)} if arm == "graph_context" else {}
    if arm in ("guided", "structural_random"):
        order = list(ranked) if arm == "guided" else list(targets(graph))
        for pass_ in range(PASSES):
            if arm == "structural_random":
                random_.shuffle(order)
            for target in order:
                found = at[target.id]
                place = found[min(pass_, len(found) - 1)]
                view = target_view(target, found[pass_:] or found, by_id)
                yield Prompt(target.id, {"location": view, "at": place._asdict()}, (place.session,))
        return
    for _ in range(PASSES):
        if arm == "prompt_only":
            drawn = [Place(t.id, n) for t in traces for n, turn in enumerate(t.turns, 1) if turn.status == "ok"]
            random_.shuffle(drawn)
        else:
            drawn = list(_by_support(graph, at, random_))
        for place in drawn:
            yield Prompt("", {**summary, "at": place._asdict()}, everything)


def _by_support(graph: Graph, at: Mapping[str, list[Place]], random_: random.Random) -> Iterator[Place]:
    """Turns of states that are drawn in proportion to their support, each turn once."""
    left = {state.id: list(at[f"node:{state.id}"]) for state in graph.states}
    weight = {state.id: state.support for state in graph.states}
    while left:
        names = sorted(left)
        name = random_.choices(names, [weight[n] for n in names])[0]
        yield left[name].pop(0)
        if not left[name]:
            del left[name]


def graph_summary(graph: Graph) -> str:
    """The graph in words, for the arm that gives it to the writer as context only."""
    lines = [f"{s.id} (seen {s.support} times)" for s in sorted(graph.states, key=lambda s: (-s.support, s.id))]
    lines += [f"{t.source} -> {t.target} ({t.frequency} times, by {', '.join(t.actions)})" for t in graph.transitions]
    return "\n".join(lines)
