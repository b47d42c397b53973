"""The workflow graph as a picture: SVG, PNG and PDF from one layout.

States and transitions are numbered by sorted position, so that ids in a picture are safe and stable whatever the labels
hold; `element_ids` is the table::

    {"node-1": ("request_confirmation_cancel",), "edge-1": ("request_confirmation_cancel", "confirm_completion_cancel")}

Fonts are the machine's, so bytes are equal on one machine only.
"""

from __future__ import annotations

import contextlib
import html
import math
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from agenteval.printable import printable
from agenteval.types import Graph, State, Transition, is_completion, is_gate

if TYPE_CHECKING:
    from pygraphviz import AGraph

Strengths = Mapping[tuple[str, str], float]
"""(state, completion) to the share of the completion's occurrences that the state preceded."""

LABELLED = 220
"""Transitions up to which edges carry their actions and a start point its arrows; above, dot may need minutes for them."""
CURVED = 500
"""Transitions up to which edges are routed around states; above, straight lines keep the layout within seconds."""
MOST_STATES, MOST_TRANSITIONS = 500, 1000
"""What a picture holds at most; a larger graph is drawn as the excerpt that was seen most often."""

_FONT = "DejaVu Sans,Verdana,Arial,Helvetica,sans-serif"
_SIDE, _PIXELS = 8000, 18_000_000
"""Largest PNG: far below cairo's 32,767 and a few megabytes."""
_PDF_SIDE = 14_000
"""Points; viewers refuse pages above 14,400."""
_MARGIN = 0.2
_INK, _QUIET = "#1F2933", "#52606D"
_PLAIN = {"fillcolor": "#EEF3FA", "color": "#486581", "shape": "box", "style": "rounded,filled"}
_GATE = {
    "fillcolor": "#FFC53D",
    "color": "#8A5A00",
    "shape": "hexagon",
    "style": "filled",
    "penwidth": "2",
    "margin": "0,.03",
}
_COMPLETION = {"fillcolor": "#C9EBC5", "color": "#22652B", "shape": "box", "style": "filled", "peripheries": "2"}
# No gradient: Graphviz numbers those per process, and the second picture would differ from the first.
_BOTH = {"fillcolor": "#FFC53D", "color": "#22652B", "shape": "hexagon", "style": "filled", "peripheries": "2"}

# Graphviz keeps global state, and so does the redirection of file descriptor 2.
_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def quiet_c_stderr() -> Iterator[None]:
    """Discard what C code writes to descriptor 2: fontconfig's warning, which notebooks show as a red box."""
    with _ONE_AT_A_TIME:
        if sys.stderr is not None:
            sys.stderr.flush()
        keep, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, 2)
            yield
        finally:
            os.dup2(keep, 2)
            os.close(keep)
            os.close(null)


def element_ids(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The table of ids in pictures: `node-17` to (state,), `edge-3` to (source, target); from 1, sorted by name.

    Examples
    --------
    >>> element_ids(Graph(states=(State(id="b", support=1), State(id="a", support=2))))
    {'node-1': ('a',), 'node-2': ('b',)}
    """
    nodes = sorted(s.id for s in graph.states)
    edges = sorted((t.source, t.target) for t in graph.transitions)
    return {f"node-{i}": (name,) for i, name in enumerate(nodes, 1)} | {f"edge-{i}": e for i, e in enumerate(edges, 1)}


def wrap(label: str, width: int = 20) -> list[str]:
    """Lines of a label, broken after underscores, and inside a word only when it is longer than a line.

    Examples
    --------
    >>> wrap("request_confirmation_cancel_reservation")
    ['request_', 'confirmation_cancel_', 'reservation']
    """
    lines = [""]
    for word in (part for part in label.replace("_", "_\0").split("\0") if part):
        while len(word) > width:
            lines += [word[:width]]
            word = word[width:]
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return [line for line in lines if line] or [""]


def layout(graph: Graph, *, strengths: Strengths | None = None, labels: bool = True) -> AGraph:
    """The graph with positions, ready to be drawn in any format.

    Parameters
    ----------
    strengths
        Gate strengths; the largest one of a gate stands in it.
    labels
        Whether edges carry their most frequent actions; above `LABELLED` transitions they never do.
    """
    import pygraphviz

    shown = _excerpt(graph)
    n_edges = len(shown.transitions)
    small = n_edges <= LABELLED
    labels = labels and small
    picture = pygraphviz.AGraph(
        name="workflow graph", directed=True, strict=False, rankdir="TB", bgcolor="white", pad=str(_MARGIN), nodesep=".25",
        ranksep=".4", fontname=_FONT, fontsize="11", fontcolor=_INK, labelloc="t", labeljust="l",
        label=_legend(graph, shown, labels, small), tooltip="workflow graph",
    )  # fmt: skip
    picture.node_attr.update(
        fontname=_FONT, fontsize="11", fontcolor=_INK, margin=".12,.06", height=".3", penwidth="1.2"
    )
    picture.edge_attr.update(fontname=_FONT, fontsize="9", fontcolor=_INK, arrowsize=".7")
    if not small:
        picture.graph_attr.update(
            nslimit=".1", nslimit1=".1", mclimit=".3", splines="true" if n_edges <= CURVED else "line"
        )
    ids = {name: element for element, name in element_ids(graph).items()}
    states, transitions = _reading_order(shown)
    if small and shown.entries:
        _add_start(picture)
    for state in states:
        _add_state(picture, ids[(state.id,)], state, graph, strengths or {})
    if small:
        _add_entries(picture, ids, shown)
    most = max((t.frequency for t in transitions), default=1)
    backbone = _backbone(transitions, len(states))
    for transition in transitions:
        _add_transition(picture, ids, transition, most, labels, aside=transition not in backbone)
    with quiet_c_stderr():
        picture.layout("dot")
    return picture


def draw_all(
    graph: Graph,
    formats: Iterable[str] = ("svg", "png", "pdf"),
    *,
    strengths: Strengths | None = None,
    labels: bool = True,
) -> dict[str, bytes]:
    """Pictures in several formats from one layout.

    Parameters
    ----------
    formats
        Of `svg`, `png`, `pdf`.
    """
    picture = layout(graph, strengths=strengths, labels=labels)
    return {format: _render(picture, format) for format in formats}


def draw(graph: Graph, *, format: str, strengths: Strengths | None = None, labels: bool = True) -> bytes:
    """One picture of the graph, in `svg`, `png` or `pdf`."""
    return draw_all(graph, [format], strengths=strengths, labels=labels)[format]


def _render(picture: AGraph, format: str) -> bytes:
    width, height = _points(picture)
    scale = {"dpi": "", "size": ""}
    if format == "png":
        scale["dpi"] = f"{72 * min(2, _SIDE / max(width, height), math.sqrt(_PIXELS / (width * height))):.2f}"
    elif format == "pdf" and max(width, height) > _PDF_SIDE:
        scale["size"] = f"{_PDF_SIDE / 72:.1f}"
    picture.graph_attr.update(scale)
    with quiet_c_stderr():
        data = picture.draw(format=format)
    # The writer of PDF puts the clock into the file; equal graphs give equal bytes.
    return re.sub(rb"(?<=/CreationDate \(D:)\d{14}", b"20000101000000", data)


def _points(picture: AGraph) -> tuple[float, float]:
    """Width and height of the picture with its margin."""
    _, _, width, height = map(float, picture.graph_attr["bb"].replace(",", " ").split())
    return width + 144 * _MARGIN, height + 144 * _MARGIN


def _excerpt(graph: Graph) -> Graph:
    """The part that is drawn: everything, or the states and transitions that were seen most often."""
    if len(graph.states) <= MOST_STATES and len(graph.transitions) <= MOST_TRANSITIONS:
        return graph
    states = sorted(graph.states, key=lambda s: (-s.support, s.id))[:MOST_STATES]
    kept = {s.id for s in states}
    inside = [t for t in graph.transitions if t.source in kept and t.target in kept]
    transitions = sorted(inside, key=lambda t: (-t.frequency, t.source, t.target))[:MOST_TRANSITIONS]
    entries = {state: n for state, n in graph.entries.items() if state in kept}
    return graph.model_copy(update={"states": tuple(states), "transitions": tuple(transitions), "entries": entries})


def _reading_order(graph: Graph) -> tuple[list[State], list[Transition]]:
    """States and transitions along the most frequent ways from the entries.

    dot turns edges around to break cycles in the order in which it meets them: met in this order, work flows downwards.
    """
    leaving: dict[str, list[Transition]] = {}
    for t in sorted(graph.transitions, key=lambda t: (-t.frequency, t.target)):
        leaving.setdefault(t.source, []).append(t)
    states = {s.id: s for s in graph.states}
    begin = sorted(graph.entries, key=lambda e: (-graph.entries[e], e))
    waiting = [*sorted(states, key=lambda s: (-states[s].support, s), reverse=True), *reversed(begin)]
    order: dict[str, None] = {}
    while waiting:
        state = waiting.pop()
        if state not in order:
            order[state] = None
            waiting.extend(t.target for t in reversed(leaving.get(state, [])))
    return [states[s] for s in order], [t for s in order for t in leaving.get(s, [])]


def _add_state(picture: AGraph, element: str, state: State, graph: Graph, strengths: Strengths) -> None:
    gate, completion = is_gate(state.id), is_completion(state.id)
    style = _BOTH if gate and completion else _GATE if gate else _COMPLETION if completion else _PLAIN
    before = sorted(
        ((share, name) for (name_of, name), share in strengths.items() if name_of == state.id),
        key=lambda p: (-p[0], p[1]),
    )
    notes = [f"support {state.support:,}"]
    if gate and before:
        notes.append(f"before {before[0][0]:.0%} of a completion")
    begins, ends = graph.entries.get(state.id, 0), graph.ends.get(state.id, 0)
    if begins:
        notes.append(f"▶ begins {begins:,}")
    if ends:
        notes.append(f"■ ends {ends:,}")
    # Graphviz refuses an empty <B>, and with it the whole label.
    name = "<BR/>".join(map(_html, wrap(printable(state.id)))) or "&#160;"
    # The low line keeps the underscores of the name off the notes.
    small = '<BR/><FONT POINT-SIZE="3"> </FONT>' + "".join(f'<BR/><FONT POINT-SIZE="9">{n}</FONT>' for n in notes)
    told = [state.id, f"support {state.support:,}"]
    told += [kind for kind, is_so in (("confirmation gate", gate), ("completion", completion)) if is_so]
    if begins:
        told.append(f"{begins:,} sessions begin here")
    if ends:
        told.append(f"{ends:,} sessions end here, {graph.cut_ends.get(state.id, 0):,} of them cut by the turn budget")
    told += [f"before {share:.0%} of {completion_of}" for share, completion_of in before]
    if begins or ends:
        style = {**style, "penwidth": "3"}
    picture.add_node(element, id=element, label=f"<<B>{name}</B>{small}>", tooltip=_escaped(told), **style)


def _backbone(transitions: list[Transition], n_states: int) -> list[Transition]:
    """Transitions that shape the layout: all of a sparse graph; of a dense one the most frequent, and the best way into and
    out of every state. The rest is drawn in light grey and moves nothing: with it dot needs a minute, and all is a tangle."""
    if len(transitions) <= LABELLED:
        return transitions
    ordered = sorted(transitions, key=lambda t: (-t.frequency, t.source, t.target))
    kept = ordered[:n_states]
    entered, left = {t.target for t in kept}, {t.source for t in kept}
    for t in ordered[n_states:]:
        if t.source != t.target and (t.target not in entered or t.source not in left):
            kept.append(t)
            entered.add(t.target)
            left.add(t.source)
    return kept


def _add_transition(
    picture: AGraph, ids: Mapping[tuple[str, ...], str], transition: Transition, most: int, labels: bool, *, aside: bool
) -> None:
    pair = (transition.source, transition.target)
    actions = sorted(transition.actions.items(), key=lambda a: (-a[1], a[0]))
    share = math.log1p(transition.frequency) / math.log1p(most) if most > 1 else 0
    told = [f"{transition.source} → {transition.target}", f"{transition.frequency:,} times"]
    told += [f"{name or 'no action'}: {n:,}" for name, n in actions]
    label = ""
    if labels:
        names = ["\n".join(wrap(printable(name), 24)) for name, _ in actions[:2]] + (
            [f"+{len(actions) - 2}"] if actions[2:] else []
        )
        # Spaces keep the text off its edge; the second line of a name is set in.
        label = "".join(f"  {_html(name)}\\l".replace("\n", "\\l    ") for name in names)
    picture.add_edge(
        ids[pair[:1]], ids[pair[1:]], key=ids[pair], id=ids[pair], label=label, tooltip=_escaped(told), labeltooltip=_escaped(told),
        penwidth=f"{0.8 + 3.2 * share:.2f}", weight=str(1 + round(4 * share)),
        **({"color": "#C5CDD8", "constraint": "false"} if aside else {"color": _QUIET if transition.frequency > 1 else "#9AA5B1"}),
    )  # fmt: skip


def _add_start(picture: AGraph) -> None:
    picture.add_node("start", id="start", shape="circle", style="filled", fillcolor=_INK, color=_INK, label="", width=".22",
                     height=".22", fixedsize="true", tooltip="start of a session")  # fmt: skip
    picture.add_subgraph(["start"], name="top", rank="source")


def _add_entries(picture: AGraph, ids: Mapping[tuple[str, ...], str], shown: Graph) -> None:
    for number, (state, sessions) in enumerate(sorted(shown.entries.items()), 1):
        told = _escaped([f"{sessions:,} sessions begin with {state}"])
        picture.add_edge("start", ids[(state,)], key=f"entry-{number}", id=f"entry-{number}", color=_INK, penwidth="2.6",
                         label=f" {sessions:,}", tooltip=told, labeltooltip=told)  # fmt: skip


def _legend(graph: Graph, shown: Graph, labels: bool, small: bool) -> str:
    if not graph.states:
        return "Nothing to draw: no activity was observed."
    sizes = f"{len(graph.states):,} states, {len(graph.transitions):,} transitions"
    if shown is not graph:
        sizes = (f"Excerpt: the {len(shown.states):,} most frequent of {len(graph.states):,} states, "
                 f"{len(shown.transitions):,} of {len(graph.transitions):,} transitions")  # fmt: skip
    begin = "● bold arrow: a session begins &#160; " if small else ""
    edge = (
        "edge: user action, wider when frequent"
        if labels
        else "edge: wider when frequent, actions in tooltip and table"
    )
    cell = '<TD BGCOLOR="{}" COLOR="{}" BORDER="{}">&#160;{}&#160;</TD>'.format
    double = '<TD BORDER="1" COLOR="{1}" CELLPADDING="2"><TABLE BORDER="1" COLOR="{1}" BGCOLOR="{0}" CELLBORDER="0" ' \
             'CELLPADDING="2" CELLSPACING="0"><TR><TD>&#160;completion&#160;</TD></TR></TABLE></TD>'  # fmt: skip
    return (
        '<<FONT POINT-SIZE="10"><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6" CELLPADDING="4"><TR>'
        f'<TD ALIGN="LEFT" COLSPAN="4"><B>{sizes}</B></TD></TR><TR>'
        + cell(_GATE["fillcolor"], _GATE["color"], 2, "hexagon: confirmation gate")
        + double.format(_COMPLETION["fillcolor"], _COMPLETION["color"])
        + cell(_PLAIN["fillcolor"], _PLAIN["color"], 1, "other state")
        + cell("white", "white", 0, "thick border: sessions begin (▶) or end (■) here")
        + '</TR><TR><TD ALIGN="LEFT" COLSPAN="4">'
        + begin
        + edge
        + "</TD></TR></TABLE></FONT>>"
    )


def _html(text: str) -> str:
    """Text inside a label; doubled, a backslash means itself, and `\\N` is not the node's id."""
    return html.escape(text).replace("\\", "\\\\")


def _escaped(lines: Iterable[str]) -> str:
    """Lines of a tooltip: entities and backslashes of the text mean themselves, which Graphviz unescapes here twice."""
    return "\\n".join(_html(printable(line)).replace("\\", "\\\\") for line in lines)
