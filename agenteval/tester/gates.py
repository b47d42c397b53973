"""Which states stand before a completion: by observation (gate strength) and by structure (dominators).

Both break ties in the ranking of targets and mark pictures; neither is part of G (design decision 14).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agenteval.types import Graph, LabelledTrace, is_completion, is_gate

ENTRY = ""
"""The virtual node before all entry states; no label is empty."""


def gate_strength(labelled: Iterable[LabelledTrace]) -> dict[tuple[str, str], float]:
    """Share of the observed completions that were preceded by a state since the previous completion.

    A reply that reports one thing done and asks to confirm the next counts as previous completion and, because it is a
    gate as well, as preceding the next one.

    Returns
    -------
    dict
        (state, completion) to a share in (0, 1]; pairs that never occurred are absent.

    Examples
    --------
    >>> from agenteval.types import LabelledTurn
    >>> def trace(*labels):
    ...     turns = tuple(LabelledTurn(turn=i, action="x", activity=a) for i, a in enumerate(labels, 1))
    ...     return LabelledTrace(id="t", turns=turns)
    >>> s = gate_strength([trace("request_confirmation_pay", "confirm_completion_pay"), trace("confirm_completion_pay")])
    >>> s
    {('request_confirmation_pay', 'confirm_completion_pay'): 0.5}
    """
    completions: Counter[str] = Counter()
    preceded: Counter[tuple[str, str]] = Counter()
    for trace in labelled:
        since: set[str] = set()
        for turn in trace.turns:
            if is_completion(turn.activity):
                completions[turn.activity] += 1
                preceded.update((state, turn.activity) for state in since)
                since = {turn.activity} if is_gate(turn.activity) else set()
            elif turn.activity:
                since.add(turn.activity)
    return {pair: n / completions[pair[1]] for pair, n in sorted(preceded.items())}


def gated_completions(labelled: Iterable[LabelledTrace]) -> tuple[int, int]:
    """How many completions were seen, and how many of them directly after a gate.

    Returns
    -------
    tuple of int
        (completions, of them directly after a gate); a failed turn between the two separates them.
    """
    total = gated = 0
    for trace in labelled:
        before = ""
        for turn in trace.turns:
            if is_completion(turn.activity):
                total += 1
                gated += is_gate(before)
            before = turn.activity
    return total, gated


def dominators(graph: Graph) -> dict[str, tuple[str, ...]]:
    """States that every path from an entry to a state must pass, nearest last; the state itself left out.

    Edges are observed successions, so this speaks about paths of the graph, not about what the agent enforces: a path may
    join two sessions that nobody walked in one.

    Examples
    --------
    >>> from agenteval.tester.graph import Log, mine_log
    >>> dominators(mine_log(Log(list("abcac"), list("xxxxx"), [3, 2], [False] * 2)))["c"]
    ('a',)
    """
    import networkx as nx

    from agenteval.tester.graph import network

    G = network(graph)
    G.add_edges_from((ENTRY, state) for state in graph.entries)
    if ENTRY not in G:
        return {}
    nearest = nx.immediate_dominators(G, ENTRY)
    chains: dict[str, tuple[str, ...]] = {}
    for state in (s.id for s in graph.states):
        chain = []
        at = nearest.get(state, ENTRY)
        while at != ENTRY:
            chain.append(at)
            at = nearest[at]
        chains[state] = tuple(reversed(chain))
    return chains
