"""Offline functional writer: one test for each workflow with an observed outcome (Section V-A).

Criteria are proposed from the outcome and kept when the recorded session meets them: a test asks for nothing that its
session does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from agenteval.tester.rules import judge
from agenteval.tester.rules.criteria import Predicate, render, trigger_of
from agenteval.tester.rules.evidence import unheard
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.ownership import identity_values, people
from agenteval.tester.rules.values import Value, cite, extract
from agenteval.tester.rules.wording import noun, words
from agenteval.tester.rules.workflows import Exchange, Workflow, read_session, workflows

MOST_GOLDEN, SHORTEST = 2, 3


class _Told(NamedTuple):
    name: str
    value: str
    turn: int


def _name(value: Value, text: str) -> str:
    """The word that a told value stands behind, such as the fee or the total; else the kind of value."""
    lexicon = load()
    before = words()["label_noun"].search(text[max(0, value.start - 40) : value.start].lower())
    vague = lexicon.words["determiners"] | lexicon.words["slot_stop"] | lexicon.words["days"]
    return before.group(1) if before and before.group(1) not in vague else words()["kind_words"][value.kind]


def _golden(read: tuple[Exchange, ...], flow: Workflow) -> list[_Told]:
    """Amounts and dates that the agent told at the outcome or at the confirmation before it, and the customer had not said."""
    said = "\n".join(e.user for e in read if e.turn <= flow.end)
    kinds = ("money", "date", "identifier", "time") if flow.outcome == "information" else ("money", "date")
    found: dict[str, _Told] = {}
    for e in reversed([e for e in read if e.turn <= flow.end][-2:]):
        if e.turn != flow.end and not (flow.outcome == "completion" and e.gate):
            continue
        for v in unheard(e.agent, said):
            if v.kind in kinds and v.text not in found:
                found[v.text] = _Told(_name(v, e.agent), v.text, e.turn)
    return list(found.values())[:MOST_GOLDEN]


def _about(read: tuple[Exchange, ...], flow: Workflow) -> str:
    """What distinguishes the workflow: the record that the customer names, or the question."""
    if flow.outcome in ("proof", "handover"):
        return ""
    if flow.outcome == "information":
        return trigger_of(next(e.user for e in read if e.turn == flow.end))
    known = identity_values(read)
    spoken = [v for e in read if e.turn in flow.steps for v in extract(e.user) if v.text not in known]
    spoken.sort(
        key=lambda v: ("identifier", "date", "money").index(v.kind) if v.kind in ("identifier", "date", "money") else 3
    )
    return next((v.text for v in spoken if v.kind != "quoted" and len(v.text) >= SHORTEST), "")


def _draft(session: dict[str, Any], flow: Workflow, brief: dict[str, Any]) -> dict[str, Any] | None:
    read = read_session(session)
    data = words()
    golden = _golden(read, flow)
    goal = data["goals"][flow.outcome].replace("{task}", noun(flow.task)).replace("{slot}", flow.slot)
    trigger = trigger_of(next(e.user for e in read if e.turn == flow.end))
    about = _about(read, flow)
    if about and '"' not in about:
        goal += " " + data["goals"]["about"].replace("{value}", about)
    proposals = {
        "completion": ([Predicate("reports_done", task=flow.task), Predicate("confirms_first", task=flow.task)], [Predicate("refuses", task=flow.task)]),
        "refusal": ([Predicate("refuses", task=flow.task)], [Predicate("done", task=flow.task)]),
        "information": ([], []),
        "handover": ([Predicate("hands_over")], []),
        "confirmation": ([Predicate("asks_confirmation", trigger, flow.task)], [Predicate("done", task=flow.task)]),
        "proof": ([Predicate("asks_for", trigger, "", flow.slot)], []),
    }  # fmt: skip
    success, failure = proposals[flow.outcome]
    success = success + [Predicate("tells", slot=g.name, value=g.value) for g in golden if '"' not in g.value]
    played = {"greeting": session.get("greeting", ""), "turns": [t for t in session["turns"] if t["turn"] <= flow.end]}

    def shown(predicates: list[Predicate], kind: str) -> list[str]:
        asked = [{"id": str(i), "kind": kind, "text": render(p)} for i, p in enumerate(predicates)]
        decided = judge.reply({"criteria": asked, "golden": [], "stop": "recorded", "conversation": played})[
            "decisions"
        ]
        return [c["text"] for c, d in zip(asked, decided, strict=True) if d["decision"] == "met"]

    kept, kept_failure = shown(success, "success"), shown(failure, "failure")
    outcome = render(success[0]) if success else ""
    if not kept or kept[0] != outcome:
        return None
    said = {e.turn: e.user for e in read}
    if len(people((said[t] for t in flow.steps), brief)) > 1:
        return None
    steps = [{"text": said[t], "turn": t} for t in flow.steps]
    texts = [goal, *(s["text"] for s in steps), *kept, *kept_failure]
    told = [{"name": g.name, "value": g.value, "session": session["id"], "turn": g.turn} for g in golden]
    return {
        "why": f"{session['id']}: {flow.outcome} {flow.task}".strip(), "session": session["id"], "goal": goal, "steps": steps,
        "success": kept, "failure": kept_failure, "values": cite(texts, session, brief, (), flow.steps), "golden": told,
    }  # fmt: skip


def _ordered(sessions: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Workflow]]:
    """Workflows of all sessions: the first of each task and outcome, then those that take another path."""
    every = [(s, flow, tuple(sorted({(e.act, e.slots) for e in read_session(s) if e.turn in flow.steps})))
             for s in sessions for flow in workflows(s)]  # fmt: skip
    every.sort(key=lambda row: row[1].outcome in ("confirmation", "proof"))
    seen: set[Any] = set()
    later = []
    for session, flow, path in every:
        key = (flow.outcome, flow.slot or flow.task)
        if key in seen:
            later.append((session, flow, path))
        else:
            seen |= {key, (key, path)}
            yield session, flow
    for session, flow, path in later:
        key = (flow.outcome, flow.slot or flow.task)
        if (key, path) not in seen:
            seen.add((key, path))
            yield session, flow


def reply(inputs: dict[str, Any]) -> dict[str, Any]:
    """Write a small batch of functional tests.

    Parameters
    ----------
    inputs
        ``{"sessions", "brief", "accepted", "batch"}`` as `roles.functional.write` passes them on.

    Returns
    -------
    dict
        JSON of `roles.functional.Reply`; no tests when every workflow is covered.
    """
    covered = {a["goal"] for a in inputs["accepted"]}
    tests: list[dict[str, Any]] = []
    for session, flow in _ordered(inputs["sessions"]):
        if len(tests) >= inputs["batch"]:
            break
        draft = _draft(session, flow, inputs["brief"])
        if draft and draft["goal"] not in covered:
            covered.add(draft["goal"])
            tests.append(draft)
    return {"tests": tests}
