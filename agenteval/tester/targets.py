"""Boundary targets: every structural location of the graph, and their ranking (Section V-B, Table I, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agenteval.llm.model import Model
from agenteval.tester.roles import potential
from agenteval.tester.views import excerpt
from agenteval.types import Graph, LabelledTrace, Location, Target, Trace

TESTS: dict[Location, str] = {
    "node": "whether the agent guards, clarifies or recovers when the context that this activity needs is perturbed",
    "edge": "whether a continuation that is skipped, incomplete, ambiguous or unsupported is handled visibly",
    "start": "whether the agent asks for the context it needs before it proceeds from another or an incomplete start",
    "end": "whether a continuation, or a follow-up that is not supported, is handled after an observed end",
}
"""What stressing each kind of location can show (Table I)."""

BATCH = 100
"""Targets that are scored in one call."""
EXAMPLES = 2
"""Observed turns that a ranker is shown for each target."""


class Place(NamedTuple):
    """An observed turn at a location."""

    session: str
    turn: int


def targets(graph: Graph, strengths: Mapping[tuple[str, str], float] | None = None) -> tuple[Target, ...]:
    """One target for every node, edge, entry and terminal state, in that order and sorted by name.

    Parameters
    ----------
    strengths
        Gate strength by (state, completion); the largest of a state breaks ties in the ranking.

    Examples
    --------
    >>> from agenteval.tester.graph import Log, mine_log
    >>> [t.id for t in targets(mine_log(Log(["a", "b"], ["x", "y"], [2], [False])))]
    ['node:a', 'node:b', 'edge:a>b', 'start:a', 'end:b']
    """
    strength: dict[str, float] = {}
    for (state, _), share in (strengths or {}).items():
        strength[state] = max(share, strength.get(state, 0.0))
    into: dict[str, dict[str, int]] = {}
    for t in graph.transitions:
        actions = into.setdefault(t.target, {})
        for action, n in t.actions.items():
            actions[action] = actions.get(action, 0) + n

    def target(kind: Location, id: str, state: str, support: int, actions: dict[str, int], source: str = "") -> Target:
        return Target(
            id=f"{kind}:{id}", kind=kind, state=state, source=source, support=support, actions=dict(sorted(actions.items())),
            tests=TESTS[kind], strength=strength.get(state, 0.0),
        )  # fmt: skip

    found = [target("node", s.id, s.id, s.support, into.get(s.id, {})) for s in graph.states]
    found += [
        target("edge", f"{t.source}>{t.target}", t.target, t.frequency, t.actions, t.source) for t in graph.transitions
    ]
    found += [target("start", state, state, n, {}) for state, n in graph.entries.items()]
    found += [target("end", state, state, n, into.get(state, {})) for state, n in graph.ends.items()]
    return tuple(found)


def places(labelled: Iterable[LabelledTrace]) -> dict[str, list[Place]]:
    """The observed turns at each target, shortest prefix first.

    The order is by turn, then by session, so the first place of a target is the end of its route.
    """
    found: dict[str, list[Place]] = {}
    for trace in labelled:
        path = [(turn.turn, turn.activity) for turn in trace.turns]
        seen = [(number, activity) for number, activity in path if activity]
        for number, activity in seen:
            found.setdefault(f"node:{activity}", []).append(Place(trace.id, number))
        for (_, before), (number, activity) in zip(path, path[1:], strict=False):
            if before and activity:
                found.setdefault(f"edge:{before}>{activity}", []).append(Place(trace.id, number))
        if seen:
            found.setdefault(f"start:{seen[0][1]}", []).append(Place(trace.id, seen[0][0]))
            found.setdefault(f"end:{seen[-1][1]}", []).append(Place(trace.id, seen[-1][0]))
    return {target: sorted(turns, key=lambda p: (p.turn, p.session)) for target, turns in found.items()}


def target_view(target: Target, at: Sequence[Place], traces: Mapping[str, Trace]) -> dict[str, Any]:
    """What a ranker or a writer is shown of a target."""
    examples = []
    for place in at[:EXAMPLES]:
        turn = traces[place.session].turns[place.turn - 1]
        examples.append({**place._asdict(), "user": excerpt(turn.user, 400), "agent": excerpt(turn.agent, 600)})
    shown = target.model_dump(include={"id", "kind", "state", "source", "support", "actions", "tests", "label"})
    return {**shown, "examples": examples}


def rank(
    found: Sequence[Target],
    model: Model,
    *,
    traces: Sequence[Trace],
    labelled: Sequence[LabelledTrace],
    seed: int | None = None,
) -> tuple[Target, ...]:
    """Score every target's boundary potential and sort: highest first, ties by gate strength, support and id.

    A target that the model left out keeps no score and comes last.

    Raises
    ------
    ModelError
        A batch could not be scored.
    """
    by_id = {trace.id: trace for trace in traces}
    at = places(labelled)
    scored: list[Target] = []
    for start in range(0, len(found), BATCH):
        batch = found[start : start + BATCH]
        views = [target_view(target, at.get(target.id, []), by_id) for target in batch]
        scores = potential.score(model, targets=views, seed=seed)
        for target in batch:
            score = scores.get(target.id)
            update = {} if score is None else {"potential": score.potential, "label": score.label}
            scored.append(target.model_copy(update=update))
    return tuple(sorted(scored, key=_order))


def _order(target: Target) -> tuple[float, float, int, str]:
    return (1.0 if target.potential is None else -target.potential, -target.strength, -target.support, target.id)
