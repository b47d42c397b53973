"""Pictures of the graph: complete, the same each time, whole whatever the labels hold, and drawn within seconds."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from collections import Counter
from xml.etree import ElementTree

import pytest

from agenteval.analysis.draw import MOST_STATES, MOST_TRANSITIONS, draw, draw_all, element_ids
from agenteval.printable import printable
from agenteval.types import Graph, State, Transition

SVG = "{http://www.w3.org/2000/svg}"
TITLE = "{http://www.w3.org/1999/xlink}title"
HOSTILE = [
    "\nleading_newline", "\\nleading_escape", "\r\n", "two\nlines", "<script>alert(1)</script>",
    'quote"_and_&amp;', "back\\slash\\", "right\u202eto_left",
    "zero\u200bwidth", "tab\tand\x00nul", "x" * 10_000, "", " ", "{curly}|pipe", "<<B>bold</B>>", "\\N\\G\\l",
]  # fmt: skip


def graph_of(names: list[str], pairs: list[tuple[int, int]]) -> Graph:
    counted = Counter(pairs)
    return Graph(
        states=tuple(State(id=n, support=i + 1) for i, n in enumerate(sorted(names))),
        transitions=tuple(
            Transition(source=names[a], target=names[b], frequency=n, actions={"provide_details": n})
            for (a, b), n in sorted(counted.items(), key=lambda item: (names[item[0][0]], names[item[0][1]]))
        ),
        entries={names[0]: 2}, ends={names[-1]: 3}, cut_ends={names[-1]: 1},
    )  # fmt: skip


def ring(n: int, extra: int) -> Graph:
    """A graph of n states with a way through all of them and further transitions of all lengths."""
    names = [f"request_detail_{i:03d}" for i in range(n)]
    pairs = [(i, (i + 1) % n) for i in range(n)] + [(i * 7 % n, i * 13 % n) for i in range(extra)]
    return graph_of(names, pairs)


SMALL = graph_of(["request_id", "request_confirmation_pay", "confirm_completion_pay"], [(0, 1), (0, 1), (1, 2), (1, 1)])


def elements(svg: bytes) -> dict[str, str]:
    """Id to title of every node and edge in a picture."""
    root = ElementTree.fromstring(svg)
    return {g.get("id"): "".join(g.itertext()) for g in root.iter(f"{SVG}g") if g.get("class") in ("node", "edge")}


def titles(svg: bytes) -> dict[str, str]:
    """Id to tooltip of every node and edge in a picture."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {g.get("id"): g.find(f".//{SVG}a").get(TITLE) for g in groups if g.get("class") in ("node", "edge")}


def written(svg: bytes) -> dict[str, str]:
    """Id to the words of every node and edge in a picture, without white space."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    found = {g.get("id"): "".join(t.text or "" for t in g.iter(f"{SVG}text")) for g in groups}
    return {element: re.sub(r"\s", "", words) for element, words in found.items()}


def test_every_state_and_transition_is_told_by_its_title():
    shown = titles(draw(SMALL, format="svg"))
    ids = {name: element for element, name in element_ids(SMALL).items()}
    for state in SMALL.states:
        assert shown[ids[(state.id,)]].splitlines()[:2] == [state.id, f"support {state.support}"]
    for t in SMALL.transitions:
        assert shown[ids[t.source, t.target]].splitlines() == [
            f"{t.source} → {t.target}", f"{t.frequency} times", *(f"{name}: {n}" for name, n in t.actions.items()),
        ]  # fmt: skip
    assert "2 sessions begin here" in shown[ids[("request_id",)]]
    assert "3 sessions end here, 1 of them cut" in shown[ids[("confirm_completion_pay",)]]
    assert shown["entry-1"] == "2 sessions begin with request_id"


def test_a_gate_says_how_strong_it_is():
    gate, done = "request_confirmation_pay", "confirm_completion_pay"
    picture = draw(SMALL, format="svg", strengths={(gate, done): 0.5, ("request_id", done): 1.0})
    shown = {name: elements(picture)[i] for i, (name, *_) in element_ids(SMALL).items() if i.startswith("node")}
    assert "before 50% of a completion" in shown[gate] and "of a completion" not in shown["request_id"]
    assert f"before 50% of {done}" in titles(picture)[next(i for i, n in element_ids(SMALL).items() if n == (gate,))]


def test_every_state_and_transition_is_in_the_picture():
    found = elements(draw(SMALL, format="svg"))
    ids = element_ids(SMALL)
    assert set(ids) == {i for i in found if i.startswith(("node-", "edge-"))} and len(ids) == 3 + 3
    for state in SMALL.states:
        (element,) = [i for i, name in ids.items() if name == (state.id,)]
        assert f"support {state.support}" in found[element]
    assert "begins 2" in "".join(found.values()) and "ends 3" in "".join(found.values())


def test_gates_completions_entries_and_width_can_be_seen():
    root = ElementTree.fromstring(draw(SMALL, format="svg"))
    ids = element_ids(SMALL)
    groups = {g.get("id"): g for g in root.iter(f"{SVG}g")}
    fills = {ids[i][0]: [p.get("fill") for p in groups[i].iter() if p.get("fill")] for i in ids if i.startswith("node")}
    assert len({tuple(f) for f in fills.values()}) == 3, "plain, gate and completion differ"
    borders = {
        ids[i][0]: [float(p.get("stroke-width", 1)) for p in groups[i].iter() if p.get("stroke")]
        for i in ids
        if i.startswith("node")
    }
    assert max(borders["request_id"]) == max(borders["confirm_completion_pay"]) == 3, "an entry and an end"
    assert max(borders["request_confirmation_pay"]) < 3
    widths = {}
    for element, pair in ids.items():
        if element.startswith("edge"):
            line = next(groups[element].iter(f"{SVG}path"))
            widths[pair] = float(line.get("stroke-width", 1))
    assert (
        widths["request_id", "request_confirmation_pay"] > widths["request_confirmation_pay", "confirm_completion_pay"]
    )
    assert "start" in groups and "entry-1" in groups


def test_formats_have_their_marks_and_a_size():
    pictures = draw_all(SMALL)
    assert pictures["png"].startswith(b"\x89PNG\r\n\x1a\n") and pictures["pdf"].startswith(b"%PDF-")
    width, height = (int.from_bytes(pictures["png"][at : at + 4]) for at in (16, 20))
    assert 200 < width < 8000 and 200 < height < 8000
    assert len(pictures["png"]) > 5000 and len(pictures["pdf"]) > 2000
    svg = ElementTree.fromstring(pictures["svg"])
    points = [float(svg.get(side).removesuffix("pt")) for side in ("width", "height")]
    page = [float(n) for n in re.search(rb"/MediaBox \[([^]]*)\]", pictures["pdf"]).group(1).split()]
    assert page[2:] == pytest.approx([p + 72 for p in points], abs=2), "one layout, and half an inch around it"
    assert [width, height] == pytest.approx([2 * p for p in points], abs=4), "pixels for a dense screen"


def test_equal_graphs_give_equal_bytes_in_any_process():
    here = draw_all(SMALL)
    assert draw_all(Graph.model_validate(SMALL.model_dump())) == here
    code = (
        "import sys, hashlib; from agenteval.analysis.draw import draw_all; from agenteval.types import Graph\n"
        f"pictures = draw_all(Graph.model_validate({SMALL.model_dump()!r}))\n"
        "print(hashlib.sha256(b''.join(pictures[f] for f in sorted(pictures))).hexdigest())"
    )
    digests = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                       env={"PYTHONHASHSEED": seed, "PATH": ""}).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert digests == {hashlib.sha256(b"".join(here[f] for f in sorted(here))).hexdigest() + "\n"}


def test_no_label_breaks_a_picture():
    graph = graph_of(HOSTILE, [(i, (i + 1) % len(HOSTILE)) for i in range(len(HOSTILE))])
    pictures = draw_all(graph)
    assert len([i for i in elements(pictures["svg"]) if i.startswith("node-")]) == len(HOSTILE)
    svg = pictures["svg"].decode()
    assert "<script" not in svg and "\u202e" not in svg and "\u200b" not in svg
    assert "leading_newline" in svg and "&lt;script&gt;" in svg
    told = [title.splitlines()[0] for i, title in titles(pictures["svg"]).items() if i.startswith("node-")]
    assert {printable(name) for name in HOSTILE} <= set(told), "each under its own name"
    words = written(pictures["svg"])
    for element, (name, *_) in element_ids(graph).items():
        if element.startswith("node-"):
            assert words[element].startswith(re.sub(r"\s", "", printable(name)) + "support"), name[:40]
    assert pictures["png"].startswith(b"\x89PNG") and pictures["pdf"].startswith(b"%PDF-")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_action_breaks_nothing(name):
    graph = Graph(
        states=(State(id="a", support=1), State(id="b", support=1)),
        transitions=(Transition(source="a", target="b", frequency=1, actions={name: 1}),),
    )
    picture = draw(graph, format="svg")
    assert set(elements(picture)) == {"node-1", "node-2", "edge-1"}
    assert written(picture)["edge-1"] == re.sub(r"\s", "", printable(name))
    assert titles(picture)["edge-1"].splitlines() == ["a → b", "1 times", f"{printable(name) or 'no action'}: 1"]


def test_an_empty_graph_says_so():
    pictures = draw_all(Graph())
    assert b"Nothing to draw" in pictures["svg"] and elements(pictures["svg"]) == {}
    assert pictures["png"].startswith(b"\x89PNG") and pictures["pdf"].startswith(b"%PDF-")


@pytest.mark.parametrize(("states", "extra", "seconds"), [
    (150, 150, 12), pytest.param(150, 900, 20, marks=pytest.mark.slow),
    pytest.param(500, 700, 40, marks=pytest.mark.slow),
])  # fmt: skip
def test_large_graphs_are_drawn_within_seconds(states, extra, seconds):
    graph = ring(states, extra)
    started = time.monotonic()
    picture = draw(graph, format="svg")
    assert time.monotonic() - started < seconds
    assert len([i for i in elements(picture) if i.startswith("node-")]) == states


@pytest.mark.slow
def test_a_graph_beyond_the_limits_is_drawn_as_an_excerpt_that_says_so():
    graph = ring(MOST_STATES + 40, MOST_TRANSITIONS)
    picture = draw(graph, format="svg")
    shown = {element_ids(graph)[i] for i in elements(picture) if i.startswith(("node-", "edge-"))}
    kept = {s.id for s in graph.states if s.support > 40}
    assert {name for name, *target in shown if not target} == kept and len(kept) == MOST_STATES
    inside = {(t.source, t.target) for t in graph.transitions if {t.source, t.target} <= kept}
    assert {pair for pair in shown if len(pair) == 2} <= inside
    assert len(shown) == MOST_STATES + min(len(inside), MOST_TRANSITIONS)
    assert re.search(rb"Excerpt: the 500 most frequent of 540 states", picture)


@pytest.mark.slow
def test_a_long_picture_fits_what_can_be_opened():
    """A chain of 500 states is 26,000 points high; viewers take 14,400, and a PNG of that size would be no use."""
    pictures = draw_all(ring(500, 0))
    width, height = (int.from_bytes(pictures["png"][at : at + 4]) for at in (16, 20))
    assert max(width, height) <= 8001 and width * height < 18_100_000
    page = [float(n) for n in re.search(rb"/MediaBox \[([^]]*)\]", pictures["pdf"]).group(1).split()]
    assert 10_000 < max(page) < 14_400
