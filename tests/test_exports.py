"""What other tools read: each file is read again by the tool it is for, and says what the graph and the log say."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pandas as pd
import pygraphviz
import pytest

from agenteval.printable import printable
from agenteval.tester.graph import mine
from agenteval.transcripts.exports import dot, events_csv, graphml, mermaid, xes
from agenteval.types import Graph, LabelledTrace, LabelledTurn, State, Trace, Transition, Turn, is_completion, is_gate

XES = {"x": "http://www.xes-standard.org/"}
HOSTILE = [
    'say "yes" & <b>', "two\nlines", "=1+1", "right\u202eto left", "nul\x00", "a,b;c\td",
    "\nleading_newline", "\\nleading",
    "back\\slash\\", 'quote\\"', "zero\u200bwidth", "esc\x1b[0m", "not a character \ufffe",
    "\r\n", "`#35;end]]>", "\\N\\G\\l", "x" * 10_000,
]  # fmt: skip
LABELLED = [
    LabelledTrace(id="s1", turns=(
        LabelledTurn(turn=1, action="request_pay", activity="request_id"),
        LabelledTurn(turn=2, action="provide_details", activity="request_confirmation_pay"),
        LabelledTurn(turn=3, action="confirm", activity="confirm_completion_pay"))),
    LabelledTrace(id="s2", cut=True, turns=(
        LabelledTurn(turn=1, action="request_pay", activity="request_id"),
        LabelledTurn(turn=2, action="say_nothing", activity=""),
        LabelledTurn(turn=3, action="provide_details", activity="request_confirmation_pay"))),
    LabelledTrace(id="s3", turns=(
        LabelledTurn(turn=1, action="request_pay", activity="request_id"),
        LabelledTurn(turn=2, action="ask_question", activity="request_confirmation_pay"))),
]  # fmt: skip
TRACES = [
    Trace(id="s1", turns=(Turn(user=HOSTILE[0], agent=HOSTILE[1]),
                          Turn(user=HOSTILE[2], agent=HOSTILE[3]), Turn(user="x", agent=HOSTILE[4]))),
    Trace(id="s2", turns=(Turn(user="-5", agent="?"), Turn(user="", agent="", status="timeout"),
                          Turn(user="M-1", agent=HOSTILE[5]))),
    Trace(id="s3", turns=(Turn(user="@all", agent="NA"), Turn(user="007", agent="Größe: 5 €"))),
]  # fmt: skip
GRAPH = mine(LABELLED)
HOSTILE_LOG = [
    LabelledTrace(
        id="h", turns=tuple(LabelledTurn(turn=i, action=HOSTILE[-i], activity=a) for i, a in enumerate(HOSTILE, 1))
    )
]
HOSTILE_GRAPH = mine(HOSTILE_LOG)


def test_the_graph_is_worth_exporting():
    assert len(GRAPH.states) == 3 and GRAPH.ends == {"confirm_completion_pay": 1, "request_confirmation_pay": 2}
    assert [t.actions for t in GRAPH.transitions] == [{"confirm": 1}, {"ask_question": 1, "provide_details": 1}]


def test_dot_is_read_by_graphviz():
    read = pygraphviz.AGraph(string=dot(GRAPH))
    assert {n: int(read.get_node(n).attr["support"]) for n in read.nodes()} == {s.id: s.support for s in GRAPH.states}
    assert {(e[0], e[1]): int(e.attr["frequency"]) for e in read.edges()} == {
        (t.source, t.target): t.frequency for t in GRAPH.transitions
    }
    assert (
        read.get_edge("request_id", "request_confirmation_pay").attr["label"] == "ask_question (1), provide_details (1)"
    )
    for mark, counts in (("entry", GRAPH.entries), ("end", GRAPH.ends)):
        assert {n: int(v) for n in read.nodes() if (v := read.get_node(n).attr[mark])} == counts
    for node in read.nodes():
        attributes = read.get_node(node).attr
        assert (attributes["gate"] == "true") == (attributes["shape"] == "hexagon") == is_gate(node)
        assert (attributes["completion"] == "true") == (attributes["peripheries"] == "2") == is_completion(node)


def test_the_most_frequent_action_comes_first():
    edge = Transition(source="a", target="b", frequency=4, actions={"x": 1, "z": 2, "y": 1})
    graph = Graph(states=(State(id="a", support=1), State(id="b", support=4)), transitions=(edge,))
    assert 'label="z (2), x (1), y (1)"' in dot(graph) and '-->|"z (2), x (1), y (1)"|' in mermaid(graph)
    assert nx.parse_graphml(graphml(graph)).edges["a", "b"]["actions"] == "z (2), x (1), y (1)"


def test_graphml_is_read_by_networkx():
    read = nx.parse_graphml(graphml(GRAPH))
    assert dict(read.nodes(data=True)) == {
        s.id: {
            "support": s.support, "gate": is_gate(s.id), "completion": is_completion(s.id),
            "entries": GRAPH.entries.get(s.id, 0), "ends": GRAPH.ends.get(s.id, 0),
        }
        for s in GRAPH.states
    }  # fmt: skip
    assert {(a, b): d["frequency"] for a, b, d in read.edges(data=True)} == {
        (t.source, t.target): t.frequency for t in GRAPH.transitions
    }
    edge = read.edges["request_id", "request_confirmation_pay"]
    assert edge["actions"] == "ask_question (1), provide_details (1)"


def mermaid_parts(text: str) -> tuple[dict, dict, list, list]:
    """Nodes, edges, entries and ends of a flowchart; any other line is an error."""
    first, *lines = text.removesuffix("\n").split("\n")
    assert first == "flowchart TD"
    nodes, edges, entries, ends = {}, {}, [], []
    for line in lines:
        if node := re.fullmatch(r'  (s\d+)(\[|\{\{|\[\[)"([^"\n]*) \((\d+)\)"(\]|\}\}|\]\])', line):
            assert (node[2], node[5]) in [("[", "]"), ("{{", "}}"), ("[[", "]]")]
            nodes[node[1]] = (node[2], node[3], int(node[4]))
        elif edge := re.fullmatch(r'  (s\d+) -->\|"([^"\n]+)"\| (s\d+)', line):
            edges[edge[1], edge[3]] = edge[2]
        elif entry := re.fullmatch(r"  start\(\(start\)\) --> (s\d+)", line):
            entries.append(entry[1])
        else:
            ends.append(re.fullmatch(r"  (s\d+) --> stop\(\(end\)\)", line)[1])
    assert {*entries, *ends, *(s for pair in edges for s in pair)} <= set(nodes)
    return nodes, edges, entries, ends


def test_mermaid_has_a_line_for_everything():
    nodes, edges, entries, ends = mermaid_parts(mermaid(GRAPH))
    name = {place: state for place, (_, state, _) in nodes.items()}
    assert {state: n for _, state, n in nodes.values()} == {s.id: s.support for s in GRAPH.states}
    assert {state: shape for shape, state, _ in nodes.values()} == {
        "request_id": "[", "request_confirmation_pay": "{{", "confirm_completion_pay": "[[",
    }  # fmt: skip
    assert {(name[a], name[b]): actions for (a, b), actions in edges.items()} == {
        ("request_id", "request_confirmation_pay"): "ask_question (1), provide_details (1)",
        ("request_confirmation_pay", "confirm_completion_pay"): "confirm (1)",
    }
    assert [name[e] for e in entries] == list(GRAPH.entries) and [name[e] for e in ends] == list(GRAPH.ends)


def value(element: ElementTree.Element, key: str) -> str:
    return element.find(f"x:*[@key='{key}']", XES).get("value")


def test_xes_has_an_event_for_every_answered_turn_and_no_times():
    root = ElementTree.fromstring(xes(LABELLED).encode())
    assert root.tag == "{http://www.xes-standard.org/}log"
    cases = root.findall("x:trace", XES)
    assert [value(case, "concept:name") for case in cases] == ["s1", "s2", "s3"]
    events = [
        [(value(e, "concept:name"), value(e, "action"), int(value(e, "turn"))) for e in case.findall("x:event", XES)]
        for case in cases
    ]
    assert events == [[(t.activity, t.action, t.turn) for t in trace.turns if t.activity] for trace in LABELLED]
    assert sum(map(len, events)) == sum(s.support for s in GRAPH.states)
    assert not list(root.iter("{http://www.xes-standard.org/}date")) and "time:timestamp" not in xes(LABELLED)
    (prefix,) = [e.get("prefix") for e in root.findall("x:extension", XES)]
    assert prefix == "concept", "every prefix of a key is declared"


def test_the_event_log_is_a_row_a_turn_in_order_and_no_formula():
    text = events_csv(LABELLED, TRACES)
    table = pd.read_csv(io.StringIO(text, newline=""), dtype=str, keep_default_na=False)
    assert list(table.columns) == ["case", "position", "activity", "action", "user", "agent", "status"]
    assert [tuple(row) for row in table[["case", "position", "activity", "action"]].itertuples(index=False)] == [
        (t.id, str(turn.turn), turn.activity, turn.action) for t in LABELLED for turn in t.turns
    ]
    said = [turn for trace in TRACES for turn in trace.turns]
    assert [cell.removeprefix("'") for cell in table["user"]] == [turn.user for turn in said]
    assert list(table["agent"]) == [turn.agent for turn in said] and list(table["status"]) == [t.status for t in said]
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    assert [rows[i][4] for i in (2, 4, 7)] == ["'=1+1", "'-5", "'@all"]


def test_hostile_labels_leave_dot_readable():
    read = pygraphviz.AGraph(string=dot(HOSTILE_GRAPH))
    assert (len(read.nodes()), len(read.edges())) == (len(HOSTILE), len(HOSTILE) - 1)
    assert {n.replace("\\\\", "\\"): int(read.get_node(n).attr["support"]) for n in read.nodes()} == {
        printable(s.id): s.support for s in HOSTILE_GRAPH.states
    }


def test_hostile_labels_in_dot_are_drawn():
    """In a process of its own: pygraphviz 2.0.4 crashes on a label that begins with a newline, also an escaped one."""
    code = (
        "import pygraphviz, sys; picture = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())\n"
        "picture.layout('dot'); sys.stdout.buffer.write(picture.draw(format='svg'))"
    )
    drawn = subprocess.run([sys.executable, "-c", code], input=dot(HOSTILE_GRAPH).encode(), capture_output=True)
    assert drawn.returncode == 0, drawn.returncode
    groups = ElementTree.fromstring(drawn.stdout).iter("{http://www.w3.org/2000/svg}g")
    words = ["".join(g.find("{*}text").itertext()) for g in groups if g.get("class") == "node"]
    assert len(words) == len(HOSTILE) and {"\\nleading_newline", "\\nleading", "back\\slash\\"} <= set(words)


def test_hostile_labels_leave_graphml_readable():
    read = nx.parse_graphml(graphml(HOSTILE_GRAPH))
    assert {n: d["support"] for n, d in read.nodes(data=True)} == {
        printable(s.id): s.support for s in HOSTILE_GRAPH.states
    }
    assert len(read.edges) == len(HOSTILE_GRAPH.transitions)
    assert {HOSTILE_GRAPH.transitions[0].frequency} == {d["frequency"] for *_, d in read.edges(data=True)}


def test_hostile_labels_leave_mermaid_readable():
    nodes, edges, entries, ends = mermaid_parts(mermaid(HOSTILE_GRAPH))
    assert (len(nodes), len(edges)) == (len(HOSTILE), len(HOSTILE) - 1) and len(entries) == len(ends) == 1
    written = [re.sub(r"#(\d+);", lambda code: chr(int(code[1])), state) for _, state, _ in nodes.values()]
    assert written == [s.id for s in HOSTILE_GRAPH.states], "entities give the label again"
    assert not re.search(r"[<>`\\\u200b\u202e\x00\x1b]", mermaid(HOSTILE_GRAPH).replace("-->", ""))


def test_hostile_labels_leave_xes_readable():
    events = ElementTree.fromstring(xes(HOSTILE_LOG).encode()).findall("x:trace/x:event", XES)
    replaced = [re.sub("[\x00\x1b\ufffe]", "\ufffd", name) for name in HOSTILE]
    assert [value(e, "concept:name") for e in events] == replaced
    assert [value(e, "action") for e in events] == replaced[::-1]


def test_hostile_texts_leave_the_event_log_readable():
    traces = [Trace(id="h", turns=tuple(Turn(user=name, agent=name) for name in HOSTILE))]
    text = events_csv(HOSTILE_LOG, traces)
    table = pd.read_csv(io.StringIO(text, newline=""), dtype=str, keep_default_na=False)
    for column in ("activity", "user", "agent"):
        assert [cell.removeprefix("'") for cell in table[column]] == HOSTILE
        assert not [cell for cell in table[column] if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    assert list(table["position"]) == [str(i) for i in range(1, len(HOSTILE) + 1)]


def test_nothing_gives_files_all_the_same():
    assert len(pygraphviz.AGraph(string=dot(Graph())).nodes()) == len(nx.parse_graphml(graphml(Graph()))) == 0
    assert mermaid_parts(mermaid(Graph())) == ({}, {}, [], [])
    assert ElementTree.fromstring(xes([]).encode()).findall("x:trace", XES) == []
    assert len(pd.read_csv(io.StringIO(events_csv([], [])))) == 0


def digest() -> str:
    texts = [dot(GRAPH), graphml(GRAPH), mermaid(GRAPH), xes(LABELLED), events_csv(LABELLED, TRACES)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_equal_input_gives_equal_bytes_in_any_process(seed):
    folder = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {folder!r}); import test_exports; print(test_exports.digest())"
    environment = {"PYTHONHASHSEED": seed, "PATH": ""}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert other.stdout.strip() == digest()
