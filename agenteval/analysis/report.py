"""One self-contained HTML page about a mined graph.

Everything that an agent, a user or a recording said is untrusted: it is escaped, invisible and direction-changing
characters are shown as code points, and a content security policy forbids the page to load or send anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from agenteval.printable import printable
from agenteval.tester.gates import gated_completions
from agenteval.types import Failure, Graph, LabelledTrace, Trace, is_completion, is_gate

CONVERSATIONS = 50
"""Conversations shown in full."""
REPLY = 2000
"""Characters of an utterance shown in a conversation."""
VARIANT = 300
"""Characters of a surface variant."""
VARIANTS = 3
_NUMBER = re.compile(r"[\d.,%]+")


def text(value: object) -> str:
    r"""Escaped text; characters that cannot be seen are written out.

    >>> text("<b> \u202e")
    '&lt;b&gt; \\u202e'
    """
    return html.escape(printable(str(value), keep="\n\t"))


def _capped(value: str, most: int) -> str:
    if len(value) <= most:
        return text(value)
    return f'{text(value[:most])} <span class="cut">[{len(value) - most:,} more characters]</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; a column of numbers is set to the right."""
    rows = list(rows)
    numbers = [bool(rows) and all(_NUMBER.fullmatch(row[i]) for row in rows) for i in range(len(head))]
    kinds = [' class="number"' if number else "" for number in numbers]
    heads = "".join(f'<th scope="col"{kind}>{text(h)}</th>' for h, kind in zip(head, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _label(name: str) -> str:
    return f'<span class="label">{text(name).replace("_", "_<wbr>")}</span>'


def _picture(svg: bytes) -> str:
    """The SVG without its prologue and without anything that could run or load."""
    source = svg.decode("utf-8")
    source = source[source.index("<svg") :]
    source = re.sub(
        r"<(script|foreignObject|image|style)\b(?:[^>]*/>|.*?</\1>)", "", source, flags=re.DOTALL | re.IGNORECASE
    )
    source = re.sub(r"\s(?:on\w+|href|xlink:href)\s*=\s*(\"[^\"]*\"|'[^']*')", "", source)
    return source.replace("<svg", '<svg role="img" aria-label="The mined workflow graph"', 1)


def _figures(graph: Graph, labelled: Sequence[LabelledTrace], failures: Sequence[Failure]) -> str:
    completions, gated = gated_completions(labelled)
    figures = {
        "sessions": len(labelled),
        "turns": sum(len(t.turns) for t in labelled),
        "states": len(graph.states),
        "seen once": sum(s.support == 1 for s in graph.states),
        "transitions": len(graph.transitions),
        "completions directly after a gate": f"{gated} of {completions}" if completions else "\u2013",
        "left out": len(failures),
    }
    return (
        '<dl class="figures">'
        + "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in figures.items())
        + "</dl>"
    )


def _states(
    graph: Graph,
    traces: Mapping[str, Trace],
    labelled: Sequence[LabelledTrace],
    strengths: Mapping[tuple[str, str], float],
) -> str:
    variants: dict[str, list[str]] = {}
    for labels in labelled:
        for turn in labels.turns:
            shown = variants.setdefault(turn.activity, [])
            if turn.activity and len(shown) < VARIANTS:
                where = f'<span class="where">{text(labels.id)}, turn {turn.turn}</span>'
                shown.append(
                    f'<div class="said">{_capped(traces[labels.id].turns[turn.turn - 1].agent, VARIANT)} {where}</div>'
                )
    before: dict[str, list[str]] = {}
    for (state, completion), share in sorted(strengths.items(), key=lambda item: (-item[1], item[0])):
        if len(before.setdefault(state, [])) < 3:
            before[state].append(f"{_label(completion)} {share:.0%}")
    rows = []
    for state in sorted(graph.states, key=lambda s: (-s.support, s.id)):
        kinds = {
            "gate": is_gate(state.id), "completion": is_completion(state.id), "entry": state.id in graph.entries, "end": state.id in graph.ends,
        }  # fmt: skip
        marks = " ".join(f'<span class="mark {kind}">{kind}</span>' for kind, holds in kinds.items() if holds)
        rows.append(
            [
                _label(state.id),
                f"{state.support:,}",
                marks,
                "<br>".join(before.get(state.id, [])),
                "".join(variants.get(state.id, [])),
            ]
        )
    return table(
        ["state", "support", "kind", "precedes (share of the completions)", "what the agent said, for example"], rows
    )


def _transitions(graph: Graph) -> str:
    rows = []
    for t in sorted(graph.transitions, key=lambda t: (-t.frequency, t.source, t.target)):
        actions = ", ".join(
            f"{_label(a)} {n}" for a, n in sorted(t.actions.items(), key=lambda item: (-item[1], item[0]))
        )
        rows.append([_label(t.source), _label(t.target), f"{t.frequency:,}", actions])
    return table(["from", "to", "frequency", "user actions"], rows)


def conversation(trace: Trace, labels: LabelledTrace | None) -> str:
    """A session as a chat, with its labels beside it."""
    parts = (
        [f'<div class="turn"><div class="bubble agent said">{_capped(trace.greeting, REPLY)}</div></div>']
        if trace.greeting
        else []
    )
    for number, turn in enumerate(trace.turns, 1):
        given = labels.turns[number - 1] if labels is not None else None
        action, activity = (_label(given.action), _label(given.activity)) if given else ("", "")
        said = _capped(turn.agent, REPLY) if turn.status == "ok" else f"[{turn.status}]"
        failed = "" if turn.status == "ok" else " failed"
        parts.append(
            f'<div class="turn"><div class="bubble user said">{_capped(turn.user, REPLY)}</div><div>{action}</div>'
            f'<div class="bubble agent said{failed}">{said}</div><div>{activity}</div></div>'
        )
    if trace.closing:
        parts.append(
            f'<div class="turn"><div class="bubble user said">{_capped(trace.closing, REPLY)}</div><div class="cut">not answered</div></div>'
        )
    return "".join(parts)


def _conversations(traces: Sequence[Trace], labelled: Sequence[LabelledTrace]) -> str:
    labels = {t.id: t for t in labelled}
    shown = "".join(
        f"<details><summary>{text(trace.id)}, {len(trace.turns)} turns"
        f"{f', from {text(trace.source)}' if trace.source else ''}</summary>{conversation(trace, labels.get(trace.id))}</details>"
        for trace in traces[:CONVERSATIONS]
    )
    more = len(traces) - CONVERSATIONS
    return shown + (
        f'<p class="cut">{more:,} more conversations stand in visible/traces.jsonl.</p>' if more > 0 else ""
    )


def page(title: str, body: str) -> str:
    """A complete page with our style and script, and a policy that lets nothing else in."""
    folder = resources.files("agenteval.analysis")
    style, script = (folder / "report.css").read_text("utf-8"), (folder / "report.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def mining_report(
    graph: Graph,
    *,
    svg: bytes,
    traces: Sequence[Trace],
    labelled: Sequence[LabelledTrace],
    failures: Sequence[Failure],
    strengths: Mapping[tuple[str, str], float],
    facts: Mapping[str, str],
    sections: Sequence[str] = (),
    cost: str = "",
) -> str:
    """The report of a run: figures, picture, states, transitions, conversations, and what was left out.

    Parameters
    ----------
    svg
        The picture, from `draw_all`.
    strengths
        Gate strength by (state, completion).
    facts
        What a reader must know to trust the page: input, profile, model, version.
    sections
        Further HTML, put before the graph.
    cost
        HTML about calls and tokens, put behind the conversations.

    Returns
    -------
    str
        Equal inputs give equal bytes; there are no dates on the page.
    """
    by_id = {trace.id: trace for trace in traces}
    counted = Counter(f.reason for f in failures)
    left_out = table(
        ["what", "stage", "reason", "detail"],
        [[text(f.id), text(f.stage), text(f.reason), text(f.detail)] for f in failures],
    )
    left_line = ", ".join(f"{n} {text(reason)}" for reason, n in sorted(counted.items()))
    body = [
        f"<h1>{text(facts.get('input', 'Recorded conversations'))}</h1>",
        _figures(graph, labelled, failures),
        *sections,
        "<h2>Graph</h2>",
        '<div class="zoom"><button type="button" id="larger" aria-label="Zoom in">+</button>'
        '<button type="button" id="smaller" aria-label="Zoom out">\u2212</button>'
        '<button type="button" id="whole">whole graph</button></div>',
        f'<div class="graph" tabindex="0" role="region" aria-label="Graph, scrollable">{_picture(svg)}</div>',
        "<h2>States</h2>",
        _states(graph, by_id, labelled, strengths),
        "<h2>Transitions</h2>",
        _transitions(graph),
        "<h2>Conversations</h2>",
        _conversations(traces, labelled),
        *(["<h2>Left out</h2>", f"<p>{left_line}</p>", left_out] if failures else []),
        cost,
        "<h2>About this page</h2>",
        table(["fact", "value"], [[text(k), text(v)] for k, v in facts.items()]),
    ]
    return page(f"agenteval: {facts.get('input', 'report')}", "\n".join(body))
