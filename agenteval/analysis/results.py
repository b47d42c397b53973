"""The page of a whole run: graph, plan, verdicts with their evidence, conversations, cost."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agenteval.analysis import report
from agenteval.types import Failure, Quote, Test, TestRun, Verdict

MARKS = {"pass": "✓ pass", "fail": "✗ fail", "inconclusive": "~ inconclusive"}


def highlighted(said: str, quotes: Sequence[str], most: int = report.REPLY) -> str:
    """Escaped text with the quoted words marked; like the check of quotes, it forgives white space and case.

    >>> highlighted("Done <b>. Bye", ["done  <B>"])
    '<mark>Done &lt;b&gt;</mark>. Bye'
    """
    shown = said[:most]
    wanted = [r"\s+".join(map(re.escape, words)) for quote in quotes if (words := quote.split())]
    spans = sorted(found.span() for pattern in wanted if (found := re.search(pattern, shown, re.IGNORECASE)))
    parts, at = [], 0
    for start, end in spans:
        if start >= at:
            parts += [report.text(shown[at:start]), f"<mark>{report.text(shown[start:end])}</mark>"]
            at = end
    parts.append(report.text(shown[at:]))
    return "".join(parts) + (
        f' <span class="cut">[{len(said) - most:,} more characters]</span>' if len(said) > most else ""
    )


def verdict_table(verdicts: Sequence[Verdict], tests: Mapping[str, Test], failures: Sequence[Failure]) -> str:
    """How many tests of each kind ended how."""
    counted: dict[str, Counter[str]] = {"functional": Counter(), "boundary": Counter()}
    for verdict in verdicts:
        counted[tests[verdict.test].kind][verdict.verdict] += 1
    for failure in failures:
        if failure.stage in ("run", "judge"):
            known = tests.get(failure.id.rpartition("-")[0])
            counted[known.kind if known else "functional"]["error"] += 1
    columns = ("pass", "fail", "inconclusive", "error")
    rows = [[kind, *(str(counts[c]) for c in columns)] for kind, counts in counted.items()]
    return report.table(["tests", *columns], rows)


AUDITED = {
    "functional": (
        "generated", "delivered", "errors", "valid", "validity as generated", "validity as delivered", "coverage", "FAR", "sensitivity",
        "accuracy_all", "accuracy_conclusive", "inconclusive",
    ),
    "boundary": (
        "generated", "delivered", "errors", "valid", "validity as generated", "validity as delivered", "distinct", "duplicate rate",
        "distinct as proposed", "duplicate rate as proposed", "failed comparisons", "FAR", "sensitivity", "accuracy_all",
        "accuracy_conclusive", "inconclusive",
    ),
}  # fmt: skip
"""Figures of an audit in the order in which they are shown."""


def audit_section(audited: Mapping[str, Mapping[str, Any]]) -> str:
    """What the auditors found, in numbers and closed codes: nothing that they read or wrote is shown.

    Parameters
    ----------
    audited
        `exact` and `model` to their figures by kind of test, and `agreement` where there are both.
    """
    parts = ["<h2>Audit</h2>"]
    auditors = [name for name in ("exact", "model") if name in audited]
    names = {name: f"{name}: {audited[name]['model']}" if "model" in audited[name] else name for name in auditors}
    for kind, figures in AUDITED.items():
        shown = [f for f in figures if any(f in audited[name][kind] for name in auditors)]
        parts.append(
            report.table(
                [f"{kind} tests", *(report.text(names[name]) for name in auditors)],
                [[report.text(f), *(_figure(audited[name][kind].get(f)) for name in auditors)] for f in shown],
            )
        )
    reasons = [
        [kind, report.text(reason), *(str(audited[name][kind]["rejected"].get(reason, 0)) for name in auditors)]
        for kind in AUDITED
        for reason in sorted({r for name in auditors for r in audited[name][kind]["rejected"]})
    ]
    if reasons:
        parts.append(report.table(["tests", "rejected as", *(report.text(names[name]) for name in auditors)], reasons))
    if any(audited[name].get("warning") for name in auditors):
        parts.append(f"<p>{report.text(next(w for name in auditors if (w := audited[name].get('warning'))))}</p>")
    if "agreement" in audited:
        rows = [[report.text(k.replace("_", " ")), _figure(v)] for k, v in audited["agreement"].items()]
        parts.append(report.table(["agreement of model and exact auditor", "value"], rows))
    return "".join(parts)


def _figure(value: Any) -> str:
    """A count or a rate; a dash where there was nothing to count."""
    return "\u2013" if value is None else f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def cost_section(calls: Iterable[Mapping[str, Any]]) -> str:
    """Calls and tokens of each role; a call that an interruption made twice counts once, so that the page stays the same; a failed one counts nothing."""
    once = {(c["id"], c["repetition"], c["attempt"]): c for c in calls if c["usage"] is not None}
    roles: dict[str, list[Mapping[str, Any]]] = {}
    for call in once.values():
        roles.setdefault(call["role"], []).append(call)
    rows = [
        [
            report.text(role),
            *(f"{n:,}" for n in (len(made), *(sum(c["usage"][k] for c in made) for k in ("input", "output")))),
        ]
        for role, made in sorted(roles.items())
    ]
    estimated = any(c["usage"]["estimated"] for c in once.values())
    note = "<p>Tokens are estimated from the texts.</p>" if estimated else ""
    return "<h2>Cost</h2>" + report.table(["role", "calls", "tokens in", "tokens out"], rows) + note if rows else ""


def one_test(test: Test, run: TestRun | None, verdict: Verdict | None, failure: Failure | None) -> str:
    """A test with its run, judged criteria and marked evidence."""
    ended = (
        MARKS[verdict.verdict]
        if verdict
        else f"error: {failure.reason}"
        if failure
        else "not run"
        if test.enabled
        else "disabled"
    )
    about = ", ".join(filter(None, [test.kind, test.boundary, test.perturbation, test.target]))
    decided = verdict.decisions if verdict else {}
    criteria = "".join(
        f"<li>{report.text(c.kind)}: {report.text(c.text)} <b>{report.text(decided.get(c.id, '–'))}</b></li>"
        for c in test.criteria
    )
    quotes: Sequence[Quote] = verdict.quotes if verdict else ()
    turns = []
    for number, turn in enumerate(run.trace.turns if run else (), 1):
        here = [q.text for q in quotes if q.turn == number]
        part = ' <span class="mark gate">perturbation</span>' if run and run.perturbed == number else ""
        said = highlighted(turn.agent, here) if turn.status == "ok" else f"[{turn.status}]"
        turns.append(
            f'<div class="turn"><div class="bubble user said">{highlighted(turn.user, here)}</div><div>{number}{part}</div>'
            f'<div class="bubble agent said">{said}</div><div></div></div>'
        )
    stop = f"<p>ended: {report.text(run.trace.stop)}</p>" if run else ""
    return (
        f"<details><summary><b>{html.escape(ended)}</b> {report.text(test.id)}: {report.text(test.goal)}</summary>"
        f"<p>{report.text(about)}</p><ul>{criteria}</ul>{''.join(turns)}{stop}</details>"
    )


def tests_section(
    tests: Sequence[Test],
    runs: Sequence[TestRun],
    verdicts: Sequence[Verdict],
    failures: Sequence[Failure],
    most: int = 300,
) -> str:
    """Plan and verdicts, failing tests first."""
    by_id = {test.id: test for test in tests}
    run_of = {run.test: run for run in runs if run.repetition == 0}
    verdict_of = {verdict.test: verdict for verdict in verdicts if verdict.repetition == 0}
    failure_of = {f.id.rpartition("-")[0]: f for f in failures if f.stage in ("run", "judge")}
    order = {"fail": 0, "inconclusive": 2, "pass": 3}

    def rank(test: Test) -> tuple[int, str]:
        verdict = verdict_of.get(test.id)
        return (1 if verdict is None else order[verdict.verdict], test.id)

    shown = sorted(tests, key=rank)[:most]
    listed = "".join(one_test(t, run_of.get(t.id), verdict_of.get(t.id), failure_of.get(t.id)) for t in shown)
    more = (
        f'<p class="cut">{len(tests) - most:,} more tests stand in visible/plan.jsonl.</p>' if len(tests) > most else ""
    )
    return "<h2>Tests</h2>" + verdict_table(verdicts, by_id, failures) + listed + more
