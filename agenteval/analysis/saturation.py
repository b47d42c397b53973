"""Whether more exploration would still change the graph: unseen mass, and growth over sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agenteval.analysis.stats import Unseen, chao1
from agenteval.types import Graph, LabelledTrace


class Saturation(NamedTuple):
    """Chao1 unseen mass of a graph."""

    states: Unseen
    transitions: Unseen


def saturation(graph: Graph) -> Saturation:
    """Estimate how many states and transitions were not met yet.

    Examples
    --------
    >>> from agenteval.tester.graph import Log, mine_log
    >>> saturation(mine_log(Log(list("ababac"), ["x"] * 6, [6], [False]))).states.unseen
    0.0
    """
    return Saturation(chao1([s.support for s in graph.states]), chao1([t.frequency for t in graph.transitions]))


def growth(labelled: Sequence[LabelledTrace]) -> list[tuple[int, int, int]]:
    """States and transitions after each session, in the order given.

    Returns
    -------
    list of tuple of int
        (sessions, states, transitions).

    Examples
    --------
    >>> from agenteval.types import LabelledTurn
    >>> turns = tuple(LabelledTurn(turn=i, action="x", activity=a) for i, a in enumerate("aba", 1))
    >>> growth([LabelledTrace(id="1", turns=turns), LabelledTrace(id="2", turns=turns)])
    [(1, 2, 2), (2, 2, 2)]
    """
    states: set[str] = set()
    transitions: set[tuple[str, str]] = set()
    curve = []
    for number, trace in enumerate(labelled, 1):
        path = [turn.activity for turn in trace.turns]
        states.update(a for a in path if a)
        transitions.update((a, b) for a, b in zip(path, path[1:], strict=False) if a and b)
        curve.append((number, len(states), len(transitions)))
    return curve
