"""What other tools read: each file is read again by the tool it is for, and says what the graph and the log say."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree

import networkx as nx
import pandas as pd
import pygraphviz

from agenteval.tester.graph import mine
from agenteval.transcripts.exports import dot, events_csv, graphml, mermaid, xes
from agenteval.types import Graph, LabelledTrace, LabelledTurn, State, Trace, Turn

HOSTILE = ['say "yes" & <b>', "two\nlines", "=1+1", "right\u202eto left", "nul\x00", "a,b;c\td"]
LABELLED = [
    LabelledTrace(id="s1", turns=(
        LabelledTurn(turn=1, action="request_pay", activity="request_id"),
        LabelledTurn(turn=2, action="provide_details", activity="request_confirmation_pay"),
        LabelledTurn(turn=3, action="confirm", activity="confirm_completion_pay"))),
    LabelledTrace(id="s2", cut=True, turns=(
        LabelledTurn(turn=1, action="request_pay", activity="request_id"),
        LabelledTurn(turn=2, action="say_nothing", activity=""),
        LabelledTurn(turn=3, action="provide_details", activity="request_confirmation_pay"))),
]  # fmt: skip
TRACES = [
    Trace(id="s1", turns=(Turn(user=HOSTILE[0], agent=HOSTILE[1]), Turn(user=HOSTILE[2], agent=HOSTILE[3]), Turn(user="x", agent=HOSTILE[4]))),
    Trace(id="s2", turns=(Turn(user="-5", agent="?"), Turn(user="", agent="", status="timeout"), Turn(user="M-1", agent=HOSTILE[5]))),
]  # fmt: skip
GRAPH = mine(LABELLED)


def test_dot_is_read_by_graphviz():
    read = pygraphviz.AGraph(string=dot(GRAPH))
    assert {n: int(read.get_node(n).attr["support"]) for n in read.nodes()} == {s.id: s.support for s in GRAPH.states}
    assert {(e[0], e[1]): int(e.attr["frequency"]) for e in read.edges()} == {
        (t.source, t.target): t.frequency for t in GRAPH.transitions
    }
    assert read.get_node("request_confirmation_pay").attr["gate"] == "true"
    assert read.get_node("request_id").attr["entry"] == "2"


def test_graphml_is_read_by_networkx():
    read = nx.parse_graphml(graphml(GRAPH))
    assert {n: d["support"] for n, d in read.nodes(data=True)} == {s.id: s.support for s in GRAPH.states}
    assert {(a, b): d["frequency"] for a, b, d in read.edges(data=True)} == {
        (t.source, t.target): t.frequency for t in GRAPH.transitions
    }
    assert read.nodes["confirm_completion_pay"]["completion"] and read.nodes["confirm_completion_pay"]["ends"] == 1


def test_mermaid_has_a_line_for_everything():
    lines = mermaid(GRAPH).splitlines()
    assert lines[0] == "flowchart TD"
    nodes = [line for line in lines if re.match(r'  s\d+(\[|\{\{|\[\[)"', line)]
    edges = [line for line in lines if "-->|" in line]
    assert (len(nodes), len(edges)) == (len(GRAPH.states), len(GRAPH.transitions))
    assert sum("{{" in line for line in nodes) == 1 and sum("[[" in line for line in nodes) == 1


def test_xes_has_an_event_for_every_answered_turn_and_no_times():
    root = ElementTree.fromstring(xes(LABELLED).encode())
    space = {"x": "http://www.xes-standard.org/"}
    cases = root.findall("x:trace", space)
    assert [c.find("x:string[@key='concept:name']", space).get("value") for c in cases] == ["s1", "s2"]
    names = [
        [e.find("x:string[@key='concept:name']", space).get("value") for e in c.findall("x:event", space)]
        for c in cases
    ]
    assert names == [[t.activity for t in trace.turns if t.activity] for trace in LABELLED]
    assert "time:timestamp" not in xes(LABELLED)


def test_the_event_log_is_a_row_a_turn_in_order_and_no_formula():
    text = events_csv(LABELLED, TRACES)
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    assert list(zip(table["case"], table["position"], strict=True)) == [
        (t.id, str(turn.turn)) for t in LABELLED for turn in t.turns
    ]
    assert list(table["activity"]) == [turn.activity for t in LABELLED for turn in t.turns]
    assert table["agent"][0] == "two\nlines" and table["status"][4] == "timeout"
    rows = list(csv.reader(io.StringIO(text)))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert "'=1+1" in rows[2] and "'-5" in rows[4]


def test_hostile_labels_leave_every_file_readable():
    labelled = [
        LabelledTrace(
            id="h", turns=tuple(LabelledTurn(turn=i, action=HOSTILE[-i], activity=a) for i, a in enumerate(HOSTILE, 1))
        )
    ]
    graph = mine(labelled)
    assert len(ElementTree.fromstring(xes(labelled).encode()).findall("{*}trace/{*}event")) == len(HOSTILE)
    assert (
        len(
            nx.parse_graphml(
                graphml(Graph(states=tuple(State(id=n, support=1) for n in HOSTILE if "\x00" not in n)))
            ).nodes
        )
        == 5
    )
    assert len(mermaid(graph).splitlines()) == 1 + len(graph.states) + len(graph.transitions) + 2
    assert len(pygraphviz.AGraph(string=dot(graph)).nodes()) == len(HOSTILE)
