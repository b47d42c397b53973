"""The page of a run: nothing that anybody said runs, loads or hides there, and evidence stands where it was said."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agenteval.analysis import results
from agenteval.analysis.draw import MOST_TRANSITIONS, draw
from agenteval.analysis.report import mining_report
from agenteval.tester.graph import mine
from agenteval.types import (
    Criterion,
    Failure,
    Graph,
    LabelledTrace,
    LabelledTurn,
    Quote,
    Step,
    Test,
    TestRun,
    Trace,
    Turn,
    Verdict,
)

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)"> </details></main> "quoted" \'single\' &amp; '
    "\u202eevil\u202c \u200bzero javascript:alert(3) <a href='https://evil.example/'>link</a>"
)


class Page(HTMLParser):
    """Tags and attributes of a page, and whether every tag was closed."""

    VOID = {"meta", "br", "wbr", "img", "input", "link", "hr", "path", "polygon", "ellipse", "polyline"}

    def __init__(self, source: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def page_of(said: str = HOSTILE, where: str = HOSTILE, label: str = HOSTILE, **more) -> str:
    traces = [
        Trace(id="s1", greeting=said, source=where, turns=(Turn(user=said, agent=said), Turn(user=said, agent="")))
    ]
    labelled = [
        LabelledTrace(id="s1", turns=(
            LabelledTurn(turn=1, action=label, activity=label),
            LabelledTurn(turn=2, action=label, activity="confirm_completion_pay"))),
    ]  # fmt: skip
    graph = mine(labelled)
    return mining_report(
        graph, svg=draw(graph, format="svg"), traces=traces, labelled=labelled,
        strengths={(label, "confirm_completion_pay"): 1.0},
        failures=[Failure(id="s2", stage="import", reason="truncated", detail=where)],
        facts={"input": where, "profile": where}, **more,
    )  # fmt: skip


def test_nothing_that_was_said_becomes_part_of_the_page():
    source = page_of()
    page = Page(source)
    assert page.open == []
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 1 and not {"img", "iframe", "object"} & set(tags)
    assert not [a for _, attributes in page.tags for a in attributes if a.endswith("href")]
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert "\u202e" not in source and "\u200b" not in source and "\\u202e" in source
    assert sum("<script>alert(1)</script>" in words for words in page.words) >= 4, "it is there as text"


def test_the_page_loads_and_sends_nothing():
    source = page_of("plain", "plain", "plain")
    page = Page(source)
    loading = {"src", "srcset", "href", "xlink:href", "action", "formaction", "data", "poster", "background", "ping"}
    assert [(tag, a) for tag, a in page.tags if loading & set(a)] == []
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv")]
    assert "default-src 'none'" in policy and "http" not in policy
    assert set(re.findall(r"https?://[^\s\"'<]+", source)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(|sendBeacon|WebSocket", source)


def test_the_policy_lets_our_own_script_run_and_it_finds_what_it_moves():
    source = page_of()
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Page(source)
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv")]
    assert f"script-src 'sha256-{digest}'" in policy
    assert set(re.findall(r"#(\w+)\"", script)) == {"larger", "smaller", "whole"} <= {a.get("id") for _, a in page.tags}
    assert 'querySelector(".graph")' in script and [a for t, a in page.tags if t == "svg" and "viewbox" in a]


def test_a_picture_is_let_in_without_what_could_run_or_load():
    svg = (
        b'<?xml version="1.0"?><!DOCTYPE svg><svg viewBox="0 0 9 9" onload="a()">'
        b'<script>b()</script><style>@import "c"</style>'
        b'<image xlink:href="http://evil.example/d"/><a href="javascript:e()" xlink:title="kept"><text>kept</text></a>'
        b'<image href="http://evil.example/f"></image><foreignObject><p>g</p></foreignObject></svg>'
    )
    source = mining_report(Graph(), svg=svg, traces=[], labelled=[], failures=[], strengths={}, facts={})
    graph = source[source.index("<svg") : source.index("</svg>")]
    assert graph.count("kept") == 2 and 'viewBox="0 0 9 9"' in graph
    assert not re.search(r"script|@import|evil|href|onload|foreignObject", graph)


def test_equal_input_gives_equal_bytes():
    assert page_of() == page_of()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_equal_input_gives_equal_bytes_in_any_process(seed):
    code = (
        f"import sys, hashlib; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_report\n"
        "print(hashlib.sha256(test_report.page_of().encode()).hexdigest())"
    )
    environment = {"PYTHONHASHSEED": seed, "PATH": ""}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert other.stdout.strip() == hashlib.sha256(page_of().encode()).hexdigest()


def rows(source: str, heading: str) -> list[list[str]]:
    """Texts of the cells of the table below a heading."""
    body = source[source.index(f"<h2>{heading}</h2>") :].split("<tbody>")[1].split("</tbody>")[0]
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
        for row in body.split("</tr>")[:-1]
    ]


def test_the_figures_and_tables_are_those_of_the_graph():
    steps = ["request_id", "request_confirmation_pay", "confirm_completion_pay"]
    labelled = [
        LabelledTrace(id=f"s{n}", turns=tuple(
            LabelledTurn(turn=i, action="give", activity=a) for i, a in enumerate(path, 1)))
        for n, path in enumerate([steps, steps[:2], [*steps[:2], "close"]])
    ]  # fmt: skip
    traces = [
        Trace(id=t.id, turns=tuple(Turn(user="u", agent=f"said {x.activity}") for x in t.turns)) for t in labelled
    ]
    graph = mine(labelled)
    source = mining_report(
        graph, svg=draw(graph, format="svg"), traces=traces, labelled=labelled,
        failures=[Failure(id="s9", stage="import", reason="truncated")], strengths={(steps[1], steps[2]): 0.25},
        facts={},
    )  # fmt: skip
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", source))
    assert figures == {
        "sessions": "3", "turns": "8", "states": "4", "seen once": "2", "transitions": "3",
        "completions directly after a gate": "1 of 1", "left out": "1",
    }  # fmt: skip
    states = {
        name: (support, kinds.split(), before, said) for name, support, kinds, before, said in rows(source, "States")
    }
    assert {name: int(support) for name, (support, *_) in states.items()} == {s.id: s.support for s in graph.states}
    assert {name: kinds for name, (_, kinds, *_) in states.items()} == {
        "request_id": ["entry"], "request_confirmation_pay": ["gate", "end"],
        "confirm_completion_pay": ["completion", "end"], "close": ["end"],
    }  # fmt: skip
    assert states[steps[1]][2] == "confirm_completion_pay 25%" and states[steps[0]][2] == ""
    assert states["close"][3] == "said close s2, turn 3"
    assert rows(source, "Transitions") == [
        ["request_id", "request_confirmation_pay", "3", "give 3"],
        ["request_confirmation_pay", "close", "1", "give 1"],
        ["request_confirmation_pay", "confirm_completion_pay", "1", "give 1"],
    ]
    assert rows(source, "Left out") == [["s9", "import", "truncated", ""]]


def plan(verdict: str, quotes: tuple[Quote, ...]) -> tuple[Test, TestRun, Verdict]:
    test = Test(
        id=f"b-{verdict}", kind="boundary", goal=HOSTILE, budget=3, target="node:request_id",
        boundary=HOSTILE, perturbation="change_of_mind",
        steps=(Step(text="go", part="route"), Step(text=HOSTILE, part="perturbation")),
        criteria=(Criterion(id="s1", kind="success", text=HOSTILE),),
    )  # fmt: skip
    trace = Trace(
        id="r", turns=(Turn(user="go", agent="Sure & done."), Turn(user=HOSTILE, agent="I did <it> now. Bye."))
    )
    run = TestRun(id=f"{test.id}-0", test=test.id, trace=trace, perturbed=2)
    return (
        test,
        run,
        Verdict(id=run.id, test=test.id, verdict=verdict, reason="judged", decisions={"s1": "met"}, quotes=quotes),
    )


def test_quotes_are_marked_where_they_were_said():
    test, run, verdict = plan(
        "fail", (Quote(criterion="s1", turn=2, text="did <it> now"), Quote(criterion="s1", turn=1, text="now"))
    )
    section = results.tests_section([test], [run], [verdict], [])
    assert section.count("<mark>") == 1 and "I <mark>did &lt;it&gt; now</mark>. Bye." in section
    assert Page(section).open == [] and "perturbation</span>" in section


def test_a_mark_covers_the_quote_whatever_stands_around_it():
    assert results.highlighted("a <b> & done", ["& DONE"]) == "a &lt;b&gt; <mark>&amp; done</mark>"
    assert results.highlighted("one two three", ["two three", "one two"]) == "<mark>one two</mark> three"
    assert results.highlighted("\u202eone two", ["two"]) == "\\u202eone <mark>two</mark>"
    assert results.highlighted("one", ["two", ""]) == "one"


def test_a_mark_is_not_shifted_by_letters_that_fold_to_two():
    assert (
        results.highlighted("Stra\u00dfe 5: done now. Bye", ["done now"]) == "Stra\u00dfe 5: <mark>done now</mark>. Bye"
    )


def test_a_quote_across_lines_is_marked():
    assert results.highlighted("It is\ndone now.", ["is done"]) == "It <mark>is\ndone</mark> now."


def test_failing_tests_come_first_and_errors_are_told_apart():
    rows = [plan(v, ()) for v in ("pass", "inconclusive", "fail")]
    lost = rows[0][0].model_copy(update={"id": "b-lost"})
    section = results.tests_section(
        [r[0] for r in rows] + [lost], [r[1] for r in rows], [r[2] for r in rows],
        [Failure(id="b-lost-0", stage="run", reason="timeout", detail="")],
    )  # fmt: skip
    places = [section.index(f"b-{v}:") for v in ("fail", "lost", "inconclusive", "pass")]
    assert places == sorted(places) and "error: timeout" in section
    assert re.search(r"<td>boundary</td>(<td class=\"number\">1</td>){4}", section)


def test_a_call_that_was_made_twice_costs_once_on_the_page():
    usage = {"input": 1000, "output": 20, "estimated": True}
    calls = [
        {"id": i, "repetition": 0, "attempt": a, "role": "judge", "usage": usage}
        for i, a in (("x", 0), ("x", 0), ("x", 1), ("y", 0))
    ]
    section = results.cost_section(calls)
    assert re.search(
        r"judge</td><td class=\"number\">3</td><td class=\"number\">3,000</td><td class=\"number\">60</td>", section
    )
    assert "estimated" in section and results.cost_section([]) == ""


@pytest.mark.parametrize("tests", [(), "plan only"])
def test_an_empty_run_has_a_page(tests):
    sections = [results.tests_section([plan("pass", ())[0]], [], [], [])] if tests else []
    source = mining_report(
        Graph(),
        svg=draw(Graph(), format="svg"),
        traces=[],
        labelled=[],
        failures=[],
        strengths={},
        facts={},
        sections=sections,
    )
    page = Page(source)
    assert page.open == [] and "Nothing to draw" in " ".join(page.words)
    assert ("not run" in source) == bool(tests)


def test_long_texts_are_cut_with_their_length():
    source = page_of("word " * 40_000, "plain", "plain")
    assert len(source) < 60_000 and "198,000 more characters" in source


@pytest.mark.slow
@pytest.mark.parametrize(("states", "seconds"), [(150, 15), (500, 40)])
def test_a_large_graph_has_a_page_within_seconds(states, seconds):
    names = [f"request_detail_{i:03d}" for i in range(states)]
    paths = [names, *([names[i], names[i * 7 % states], names[i * 13 % states]] for i in range(states))]
    labelled = [
        LabelledTrace(id=f"s{n}", turns=tuple(
            LabelledTurn(turn=i, action="give", activity=a) for i, a in enumerate(path, 1)))
        for n, path in enumerate(paths)
    ]  # fmt: skip
    traces = [Trace(id=t.id, turns=tuple(Turn(user="u", agent="word " * 50) for _ in t.turns)) for t in labelled]
    graph = mine(labelled)
    started = time.monotonic()
    source = mining_report(
        graph, svg=draw(graph, format="svg"), traces=traces, labelled=labelled, failures=[], strengths={}, facts={}
    )
    assert time.monotonic() - started < seconds
    page = Page(source)
    assert page.open == [] and len(source) < 4_000_000
    drawn = Counter((a.get("id") or "").partition("-")[0] for tag, a in page.tags if a.get("class") in ("node", "edge"))
    assert (drawn["node"], drawn["edge"]) == (states, min(len(graph.transitions), MOST_TRANSITIONS))
    assert len(rows(source, "States")) == states and len(rows(source, "Transitions")) == len(graph.transitions)
