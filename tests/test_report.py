"""The page of a run: nothing that anybody said runs, loads or hides there, and the evidence stands where it was said."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from agenteval.analysis import results
from agenteval.analysis.draw import draw
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

    VOID = {"meta", "br", "img", "input", "link", "hr", "path", "polygon", "ellipse", "polyline"}

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


def page_of(said: str = HOSTILE, where: str = HOSTILE, **more) -> str:
    traces = [
        Trace(id="s1", greeting=said, source=where, turns=(Turn(user=said, agent=said), Turn(user=said, agent="")))
    ]
    labelled = [LabelledTrace(id="s1", turns=(LabelledTurn(turn=1, action="ask", activity="request_id"),
                                              LabelledTurn(turn=2, action="ask", activity="confirm_completion_pay")))]  # fmt: skip
    graph = mine(labelled)
    return mining_report(
        graph, svg=draw(graph, format="svg"), traces=traces, labelled=labelled, strengths={},
        failures=[Failure(id="s2", stage="import", reason="truncated", detail=where)], facts={"input": where, "profile": where}, **more,
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
    page = Page(page_of("plain", "plain"))
    links = [
        a.get(name) for _, a in page.tags for name in ("src", "href", "action", "data", "xlink:href") if a.get(name)
    ]
    assert links == []
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv")]
    assert "default-src 'none'" in policy and "http" not in policy
    assert not re.search(r"@import|url\(", page_of("plain", "plain"))


def test_equal_input_gives_equal_bytes():
    assert page_of() == page_of()


def plan(verdict: str, quotes: tuple[Quote, ...]) -> tuple[Test, TestRun, Verdict]:
    test = Test(
        id=f"b-{verdict}", kind="boundary", goal=HOSTILE, budget=3, target="node:request_id", boundary=HOSTILE, perturbation="change_of_mind",
        steps=(Step(text="go", part="route"), Step(text=HOSTILE, part="perturbation")), criteria=(Criterion(id="s1", kind="success", text=HOSTILE),),
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
    source = page_of("word " * 40_000, "plain")
    assert len(source) < 60_000 and "198,000 more characters" in source
