"""The workflow graph: Algorithm 1, by counting over integer codes.

Three levels, each on top of the next: `mine` takes labelled traces, `mine_log` flat lists of labels, and `count` integer
codes. The greeting is not part of it; a failed turn has no activity and breaks the edge only (design decision 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from agenteval.types import Graph, LabelledTrace, State, Transition

if TYPE_CHECKING:
    import numpy as np

_DENSE = 1 << 22
"""Largest table of (source, target, action) that is counted by `bincount`; above it sorted unique keys are cheaper."""


class Log(NamedTuple):
    """An event log as flat columns, sessions one after the other."""

    activities: Sequence[str]
    """Activity of each turn; empty for a failed turn."""
    actions: Sequence[str]
    lengths: Sequence[int]
    """Turns of each session."""
    cut: Sequence[bool]
    """Whether the budget ended the session."""


class Counts(NamedTuple):
    """What Algorithm 1 counts, over codes."""

    support: np.ndarray
    """Shape (activities,)."""
    edges: np.ndarray
    """Shape (distinct, 3): source, target, action."""
    frequency: np.ndarray
    """Shape (distinct,): how often each row of `edges` was seen."""
    entries: np.ndarray
    """Shape (activities,): sessions that began there."""
    ends: np.ndarray
    cut_ends: np.ndarray


def count(
    activities: np.ndarray,
    actions: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
    *,
    n_activities: int,
    n_actions: int,
) -> Counts:
    """Algorithm 1 over integer codes.

    Parameters
    ----------
    activities, actions
        Shape (events,), sessions one after the other; a negative activity marks a failed turn.
    lengths, cut
        Shape (sessions,): number of events, and whether the budget ended the session.
    n_activities, n_actions
        Number of distinct codes.

    Examples
    --------
    Two sessions, A B C and A B:

    >>> import numpy as np
    >>> c = count(np.array([0, 1, 2, 0, 1]), np.zeros(5, int), np.array([3, 2]), np.zeros(2, bool), n_activities=3, n_actions=1)
    >>> c.edges[:, :2].tolist(), c.frequency.tolist(), c.ends.tolist()
    ([[0, 1], [1, 2]], [2, 1], [0, 1, 1])
    """
    import numpy as np

    n = len(activities)
    stop = np.cumsum(lengths)
    start = stop - lengths
    linked = np.ones(n + 1, bool)
    """linked[i]: an edge may lead from event i - 1 to event i."""
    linked[start] = False
    linked[n] = False
    nonempty = np.asarray(lengths) > 0
    if n and int(activities.min()) < 0:
        ok = activities >= 0
        # After compression an event is linked only to the neighbour it really followed.
        linked[:n] &= ok
        linked[1:n] &= ok[:-1]
        before = np.concatenate(([0], np.cumsum(ok)))
        start, stop = before[start], before[stop]
        nonempty = stop > start
        activities, actions = activities[ok], actions[ok]
        linked = np.append(linked[:n][ok], False)
        n = len(activities)

    first, last = activities[start[nonempty]], activities[stop[nonempty] - 1]
    keep = linked[1:n]
    key = activities[:-1].astype(np.int64 if n_activities * n_activities * n_actions >= 1 << 31 else np.int32)
    key *= n_activities
    key += activities[1:]
    key *= n_actions
    key += actions[1:]
    key = key[keep]
    bins = n_activities * n_activities * n_actions
    if bins <= _DENSE:
        table = np.bincount(key, minlength=bins)
        found = np.flatnonzero(table)
        frequency = table[found]
    else:
        found, frequency = np.unique(key, return_counts=True)
    edges = np.stack(
        (found // (n_activities * n_actions), found // n_actions % n_activities, found % n_actions), axis=1
    )
    return Counts(
        support=np.bincount(activities, minlength=n_activities),
        edges=edges,
        frequency=frequency,
        entries=np.bincount(first, minlength=n_activities),
        ends=np.bincount(last, minlength=n_activities),
        cut_ends=np.bincount(last[np.asarray(cut, bool)[nonempty]], minlength=n_activities),
    )


def _codes(labels: Sequence[str]) -> tuple[list[str], np.ndarray]:
    import numpy as np

    names = sorted(set(labels))
    place = dict(zip(names, range(len(names)), strict=True))
    return names, np.fromiter(map(place.__getitem__, labels), np.int32, len(labels))


def mine_log(log: Log) -> Graph:
    """Algorithm 1 over flat columns of labels.

    Examples
    --------
    >>> g = mine_log(Log(["ask", "confirm"], ["open", "yes"], [2], [False]))
    >>> g.transitions[0].source, g.transitions[0].target, g.transitions[0].actions
    ('ask', 'confirm', {'yes': 1})
    """
    import numpy as np

    if not log.activities:
        return Graph()
    names, activities = _codes(log.activities)
    verbs, actions = _codes(log.actions)
    if names[0] == "":
        names, activities = names[1:], activities - 1
    if not names:
        return Graph()
    counts = count(
        activities, actions, np.asarray(log.lengths, np.int64), np.asarray(log.cut, bool),
        n_activities=len(names), n_actions=len(verbs),
    )  # fmt: skip
    drivers: dict[tuple[int, int], dict[str, int]] = {}
    for (source, target, action), frequency in zip(counts.edges.tolist(), counts.frequency.tolist(), strict=True):
        drivers.setdefault((source, target), {})[verbs[action]] = frequency

    def named(values: np.ndarray) -> dict[str, int]:
        return {names[i]: int(values[i]) for i in np.flatnonzero(values)}

    return Graph(
        states=tuple(State(id=name, support=int(s)) for name, s in zip(names, counts.support, strict=True)),
        transitions=tuple(
            Transition(source=names[s], target=names[t], frequency=sum(by.values()), actions=by)
            for (s, t), by in drivers.items()
        ),
        entries=named(counts.entries),
        ends=named(counts.ends),
        cut_ends=named(counts.cut_ends),
    )


def mine(labelled: Iterable[LabelledTrace]) -> Graph:
    """The workflow graph of labelled traces (Section IV-B, Algorithm 1).

    Nodes are the distinct activities with their support; an edge joins activities of successive turns and carries its
    frequency and the user actions of the later turn; S and T hold each session's first and last activity. The result
    does not depend on the order of the traces.
    """
    labelled = list(labelled)
    turns = [trace.turns for trace in labelled]
    return mine_log(
        Log(
            activities=[t.activity for t in chain.from_iterable(turns)],
            actions=[t.action for t in chain.from_iterable(turns)],
            lengths=[len(t) for t in turns],
            cut=[trace.cut for trace in labelled],
        )
    )


def network(graph: Graph):
    """The graph as a `networkx.DiGraph` with `support`, `frequency` and `actions`, for what that library knows."""
    import networkx as nx

    G = nx.DiGraph()
    G.add_nodes_from((s.id, {"support": s.support}) for s in graph.states)
    G.add_edges_from((t.source, t.target, {"frequency": t.frequency, "actions": t.actions}) for t in graph.transitions)
    return G
