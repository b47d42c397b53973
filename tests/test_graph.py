"""Algorithm 1, routes and gates: properties over random logs, and exact figures."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.tester import graph as graph_module
from agenteval.tester.gates import dominators, gate_strength, gated_completions
from agenteval.tester.graph import Log, mine, mine_log, network
from agenteval.tester.routes import routes
from agenteval.types import Graph, LabelledTrace, LabelledTurn, Trace, Turn, is_completion, is_gate

ACTIVITIES = [
    "request_id", "request_confirmation_pay", "confirm_completion_pay", "confirm_completion_pay_and_request_confirmation_book",
    "deny", "",
]  # fmt: skip
events = st.tuples(st.sampled_from(ACTIVITIES), st.sampled_from(["ask", "confirm", "provide"]))
sessions = st.lists(st.tuples(st.lists(events, max_size=8), st.booleans()), max_size=8)


def log_of(drawn) -> list[LabelledTrace]:
    return [
        LabelledTrace(
            id=f"s{n}", cut=cut,
            turns=tuple(LabelledTurn(turn=i, action=u, activity=a) for i, (a, u) in enumerate(turns, 1)),
        )
        for n, (turns, cut) in enumerate(drawn)
    ]  # fmt: skip


def traces_of(labelled) -> list[Trace]:
    return [
        Trace(id=t.id, turns=tuple(
            Turn(user=f"{t.id}:{turn.turn}", agent="x" if turn.activity else "", status="ok" if turn.activity else "error")
            for turn in t.turns
        ))
        for t in labelled
    ]  # fmt: skip


def plain(labelled) -> Graph:
    """Algorithm 1 as the paper writes it, with design decision 1."""
    support, frequency, entries, ends, cut_ends = Counter(), Counter(), Counter(), Counter(), Counter()
    actions: dict = defaultdict(Counter)
    for trace in labelled:
        seen = [t.activity for t in trace.turns if t.activity]
        support.update(seen)
        for one, two in pairwise(trace.turns):
            if one.activity and two.activity:
                frequency[one.activity, two.activity] += 1
                actions[one.activity, two.activity][two.action] += 1
        if seen:
            entries[seen[0]] += 1
            ends[seen[-1]] += 1
            cut_ends[seen[-1]] += trace.cut
    return Graph.model_validate({
        "states": [{"id": a, "support": n} for a, n in sorted(support.items())],
        "transitions": [
            {"source": s, "target": t, "frequency": n, "actions": dict(sorted(actions[s, t].items()))}
            for (s, t), n in sorted(frequency.items())
        ],
        "entries": dict(sorted(entries.items())), "ends": dict(sorted(ends.items())), "cut_ends": dict(+cut_ends),
    })  # fmt: skip


@given(sessions)
def test_counting_equals_the_plain_loop(drawn):
    labelled = log_of(drawn)
    assert mine(labelled) == plain(labelled)


@given(sessions)
def test_sparse_counting_equals_dense(drawn):
    labelled = log_of(drawn)
    dense = mine(labelled)
    before = graph_module._DENSE
    graph_module._DENSE = 0
    try:
        assert mine(labelled) == dense
    finally:
        graph_module._DENSE = before


@given(sessions, st.randoms())
def test_properties_of_the_graph(drawn, random):
    labelled = log_of(drawn)
    graph = mine(labelled)
    shuffled = list(labelled)
    random.shuffle(shuffled)
    assert mine(shuffled) == graph, "order of the traces does not matter"
    assert sum(s.support for s in graph.states) == sum(bool(t.activity) for trace in labelled for t in trace.turns)
    walked = {(a.activity, b.activity) for trace in labelled for a, b in pairwise(trace.turns)}
    for transition in graph.transitions:
        assert (transition.source, transition.target) in walked
        assert sum(transition.actions.values()) == transition.frequency > 0
    begun = sum(any(t.activity for t in trace.turns) for trace in labelled)
    assert sum(graph.entries.values()) == sum(graph.ends.values()) == begun
    assert all(graph.cut_ends[s] <= graph.ends[s] for s in graph.cut_ends)
    assert [s.id for s in graph.states] == sorted(s.id for s in graph.states)
    assert Graph.model_validate_json(graph.model_dump_json()) == graph
    assert set(network(graph)) == {s.id for s in graph.states}


@given(sessions)
def test_routes_are_observed_prefixes_and_the_shortest(drawn):
    labelled = log_of(drawn)
    traces = traces_of(labelled)
    graph, found = mine(labelled), routes(traces, labelled)
    assert set(found.states) == {s.id for s in graph.states}
    assert set(found.transitions) == {(t.source, t.target) for t in graph.transitions}
    said = {t.id: [turn.user for turn in t.turns] for t in traces}
    path = {t.id: [turn.activity for turn in t.turns] for t in labelled}
    for state, route in found.states.items():
        assert list(route.utterances) == said[route.session][: route.turn]
        assert list(route.activities) == path[route.session][: route.turn] and route.activities[-1] == state
        clean_prefixes = [p.index(state) + 1 for p in path.values() if state in p and "" not in p[: p.index(state)]]
        if clean_prefixes:
            assert route.turn == min(clean_prefixes) and "" not in route.activities
    for (source, target), route in found.transitions.items():
        assert route.activities[-2:] == (source, target)


def test_ties_between_routes_go_to_the_more_frequent_then_the_first():
    def one(id, *activities):
        return LabelledTrace(
            id=id, turns=tuple(LabelledTurn(turn=i, action="x", activity=a) for i, a in enumerate(activities, 1))
        )

    labelled = [one("s1", "a", "z"), one("s2", "b", "z"), one("s3", "b", "y"), one("s4", "b", "z")]
    found = routes(traces_of(labelled), labelled)
    assert found.states["z"].session == "s2"
    assert found.transitions["a", "z"].session == "s1"


@given(sessions)
def test_gate_strength_is_a_share_of_what_was_seen(drawn):
    labelled = log_of(drawn)
    for (state, completion), share in gate_strength(labelled).items():
        assert 0 < share <= 1 and is_completion(completion) and state
    total, gated = gated_completions(labelled)
    assert 0 <= gated <= total


def test_gate_strength_counts_since_the_previous_completion():
    gate, done = "request_confirmation_pay", "confirm_completion_pay"
    both = "confirm_completion_pay_and_request_confirmation_book"

    def one(*activities):
        turns = tuple(LabelledTurn(turn=i, action="x", activity=a) for i, a in enumerate(activities, 1))
        return LabelledTrace(id="s", turns=turns)

    assert gate_strength([one(gate, done, done)]) == {(gate, done): 0.5}
    assert gate_strength([one(gate, "ask", done)]) == {("ask", done): 1.0, (gate, done): 1.0}
    assert gate_strength([one(gate, both, done)]) == {(gate, both): 1.0, (both, done): 1.0}
    assert gated_completions([one(gate, both, done), one("ask", done), one(gate, "", done)]) == (4, 2)


def test_gates_and_completions_are_told_by_their_labels():
    assert is_gate("request_confirmation") and not is_gate("request_confirmations_of_nothing")
    assert not is_completion("deny_confirm_completion")


@given(sessions)
def test_a_dominator_lies_on_every_path(drawn):
    """Removing a dominator of a state cuts it off from every entry; removing another state does not."""
    import networkx as nx

    graph = mine(log_of(drawn))
    chains = dominators(graph)
    G = network(graph)
    G.add_edges_from(("", entry) for entry in graph.entries)
    assert set(chains) == {s.id for s in graph.states}
    for state in chains:
        if "" not in G or state not in nx.descendants(G, ""):
            continue
        for other in set(chains) - {state}:
            rest = G.copy()
            rest.remove_node(other)
            cut_off = state not in nx.descendants(rest, "")
            assert cut_off == (other in chains[state])


def test_empty_logs():
    assert mine([]) == Graph() == mine([LabelledTrace(id="s", turns=())])
    failed = LabelledTrace(id="s", turns=(LabelledTurn(turn=1, action="ask", activity=""),))
    assert mine([failed]) == Graph() and dominators(Graph()) == {}


def test_large_codes_do_not_overflow():
    n = 60_000
    log = Log([f"a{i}" for i in range(n)], [f"u{i % 997}" for i in range(n)], [n], [False])
    graph = mine_log(log)
    assert len(graph.transitions) == n - 1
    assert {t.frequency for t in graph.transitions} == {1}
    last = {(t.source, t.target): t.actions for t in graph.transitions}["a59998", "a59999"]
    assert last == {f"u{59999 % 997}": 1}


def expected(path):
    given = json.loads(path.read_text())
    return given["activities"], given["start"], given["end"], {(a, b): n for a, b, n in given["dfg"]}


def figures(cases: dict[str, list[str]]):
    activities = [a for case in cases.values() for a in case]
    graph = mine_log(Log(activities, ["x"] * len(activities), [len(c) for c in cases.values()], [False] * len(cases)))
    return (
        {s.id: s.support for s in graph.states}, graph.entries, graph.ends,
        {(t.source, t.target): t.frequency for t in graph.transitions},
    )  # fmt: skip


def test_the_textbook_log_equals_the_reference(data):
    cases: dict[str, list[str]] = defaultdict(list)
    with (data / "process-mining" / "running-example.csv").open() as file:
        for row in sorted(csv.DictReader(file), key=lambda r: r["time:timestamp"]):
            cases[row["case:concept:name"]].append(row["concept:name"])
    (reference,) = (data / "process-mining" / "expected").glob("running*.json")
    assert figures(cases) == expected(reference)


def test_tool_calls_of_real_runs_equal_the_reference(data):
    with gzip.open(data / "tau-bench-v1" / "airline_gpt-4o_tool-calling_4trials.json.gz") as file:
        runs = json.load(file)
    cases = {}
    for run in runs:
        calls = [c["function"]["name"] for m in run["traj"] for c in m.get("tool_calls") or []]
        if calls:
            cases[f"{run['task_id']}-{run['trial']}"] = calls
    (reference,) = (data / "process-mining" / "expected").glob("airline*.json")
    assert figures(cases) == expected(reference)


def test_count_checks_nothing_twice():
    counts = graph_module.count(
        np.array([0, -1, 1, 1]),
        np.array([0, 0, 0, 1]),
        np.array([2, 0, 2]),
        np.array([True, True, False]),
        n_activities=2,
        n_actions=2,
    )
    assert counts.edges.tolist() == [[1, 1, 1]] and counts.support.tolist() == [1, 2]
    assert counts.entries.tolist() == [1, 1] and counts.ends.tolist() == [1, 1] and counts.cut_ends.tolist() == [1, 0]


@pytest.mark.parametrize("label", ["", "x"])
def test_one_turn_sessions_have_no_edges(label):
    trace = LabelledTrace(id="s", turns=(LabelledTurn(turn=1, action="a", activity=label),))
    assert mine([trace]).transitions == ()
