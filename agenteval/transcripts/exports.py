"""Writers of what other tools read: DOT, Mermaid and GraphML of a graph; CSV and XES of an event log."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from xml.etree import ElementTree

from agenteval.printable import printable
from agenteval.tester.graph import network
from agenteval.types import Graph, LabelledTrace, Trace, Transition, is_completion, is_gate

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def _actions(transition: Transition) -> str:
    ordered = sorted(transition.actions.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} ({n})" for name, n in ordered)


def dot(graph: Graph) -> str:
    """The graph in the DOT language, without a layout.

    Examples
    --------
    >>> from agenteval.types import State
    >>> print(dot(Graph(states=(State(id="ask", support=2),), entries={"ask": 1})))
    digraph workflow {
      "ask" [support=2, entry=1];
    }
    <BLANKLINE>
    """

    def quoted(text: str) -> str:
        # A single backslash would hide the closing quote, or begin a line, and an empty first line crashes pygraphviz.
        return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["digraph workflow {"]
    for state in graph.states:
        marks = [f"support={state.support}"]
        if is_gate(state.id):
            marks.append("shape=hexagon, gate=true")
        if is_completion(state.id):
            marks.append("peripheries=2, completion=true")
        marks += [
            f"{name}={counts[state.id]}"
            for name, counts in (("entry", graph.entries), ("end", graph.ends))
            if state.id in counts
        ]
        lines.append(f"  {quoted(state.id)} [{', '.join(marks)}];")
    for t in graph.transitions:
        lines.append(
            f"  {quoted(t.source)} -> {quoted(t.target)} [frequency={t.frequency}, label={quoted(_actions(t))}];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(graph: Graph) -> str:
    """The graph as a Mermaid flowchart: gates as hexagons, completions as subroutines, ids numbered.

    Examples
    --------
    >>> from agenteval.types import State
    >>> print(mermaid(Graph(states=(State(id="ask", support=2),), entries={"ask": 1})))
    flowchart TD
      s0["ask (2)"]
      start((start)) --> s0
    <BLANKLINE>
    """

    def escaped(text: str) -> str:
        return "".join(c if c.isalnum() or c in " _-.,()" else f"#{ord(c)};" for c in text)

    place = {state.id: f"s{number}" for number, state in enumerate(graph.states)}
    lines = ["flowchart TD"]
    for state in graph.states:
        opening, closing = (
            ("{{", "}}") if is_gate(state.id) else ("[[", "]]") if is_completion(state.id) else ("[", "]")
        )
        lines.append(f'  {place[state.id]}{opening}"{escaped(state.id)} ({state.support})"{closing}')
    lines += [f"  start((start)) --> {place[state]}" for state in graph.entries]
    lines += [f'  {place[t.source]} -->|"{escaped(_actions(t))}"| {place[t.target]}' for t in graph.transitions]
    lines += [f"  {place[state]} --> stop((end))" for state in graph.ends]
    return "\n".join(lines) + "\n"


def graphml(graph: Graph) -> str:
    """The graph as GraphML with support, frequency, actions and marks, for Gephi, yEd or networkx."""
    import networkx as nx

    G = network(graph)
    for state, data in G.nodes(data=True):
        data.update(
            gate=is_gate(state),
            completion=is_completion(state),
            entries=graph.entries.get(state, 0),
            ends=graph.ends.get(state, 0),
        )
    for t in graph.transitions:
        G.edges[t.source, t.target]["actions"] = _NOT_XML.sub("\ufffd", _actions(t))
    # Names, too, hold what XML cannot; as escapes they stay apart from each other.
    G = nx.relabel_nodes(G, {state: printable(state) for state in G})
    return "\n".join(nx.generate_graphml(G)) + "\n"


def events_csv(labelled: Sequence[LabelledTrace], traces: Sequence[Trace]) -> str:
    """The event log with the texts, one turn a row.

    A cell that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    by_id = {trace.id: trace for trace in traces}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["case", "position", "activity", "action", "user", "agent", "status"])
    for labels in labelled:
        for turn, said in zip(labels.turns, by_id[labels.id].turns, strict=True):
            row = [labels.id, turn.turn, turn.activity, turn.action, said.user, said.agent, said.status]
            writer.writerow(
                [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]
            )
    return out.getvalue()


def xes(labelled: Sequence[LabelledTrace]) -> str:
    """The event log as XES, for process mining tools. Failed turns have no event; there are no times, and none are made up."""
    log = ElementTree.Element(
        "log", {"xes.version": "1.0", "xes.features": "", "xmlns": "http://www.xes-standard.org/"}
    )
    extension = {"name": "Concept", "prefix": "concept", "uri": "http://www.xes-standard.org/concept.xesext"}
    ElementTree.SubElement(log, "extension", extension)
    ElementTree.SubElement(log, "classifier", {"name": "Activity", "keys": "concept:name"})

    def string(parent: ElementTree.Element, key: str, value: str) -> None:
        ElementTree.SubElement(parent, "string", {"key": key, "value": _NOT_XML.sub("\ufffd", value)})

    for labels in labelled:
        case = ElementTree.SubElement(log, "trace")
        string(case, "concept:name", labels.id)
        for turn in labels.turns:
            if turn.activity:
                event = ElementTree.SubElement(case, "event")
                string(event, "concept:name", turn.activity)
                string(event, "action", turn.action)
                ElementTree.SubElement(event, "int", {"key": "turn", "value": str(turn.turn)})
    ElementTree.indent(log, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(log, encoding="unicode") + "\n"
