"""Grounding: every concrete value of a test was copied from somewhere, and all of them belong to one session.

Code decides, not a model (design decision 7): a value cites the turn or the brief entry in which it literally stands, or
is declared as the perturbed one. A draft that fails is repaired once, by finding citations that the writer forgot; what
still fails is dropped and counted by its reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agenteval.store import content_id
from agenteval.tester.roles import boundary, functional
from agenteval.tester.views import excerpt
from agenteval.types import Brief, Criterion, Golden, Source, Step, Test, Trace

EXPECTS = 600
"""Characters of the agent's words that a step remembers."""
EXTRA_TURNS = 2
"""Turns of a test beyond its steps (design decision 5)."""

# What counts as concrete: codes and numbers with a digit, addresses, amounts, and words in capitals.
_CONCRETE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.]+|[$€£]?\s?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[^\s,;!?\"()\[\]]*\d[^\s,;!?\"()\[\]]*|\b[A-Z]{3,}\b"
)
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th)?$")
_PLAIN = {"PASS", "FAIL", "YES", "NOT", "AND", "THE"}


class Drop(NamedTuple):
    """A draft that was not taken."""

    reason: str
    """`unknown_session`, `no_steps`, `no_criteria`, `route_not_observed`, `value_not_found`, `value_uncited`,
    `foreign_identity`, `golden_not_found`, `duplicate`, `near_duplicate`."""
    detail: str


def folded(text: str) -> str:
    """Text for comparisons: case and white space do not count."""
    return " ".join(text.casefold().split())


def concrete(text: str) -> list[str]:
    """Values in a text that must come from somewhere.

    >>> concrete("Cancel booking B-77 for 2 people, ann@example.org, ABC, and pay $20.")
    ['B-77', 'ann@example.org', 'ABC', '$20']
    """
    found = []
    for value in _CONCRETE.findall(text):
        value = value.strip(" .:'*_`“”‘’")
        if value and value not in _PLAIN and not _ORDINAL.match(value):
            found.append(value)
    return found


def ground(
    draft: functional.Draft | boundary.Draft,
    *,
    traces: Mapping[str, Trace],
    brief: Brief,
    arm: str = "",
    target: str = "",
) -> Test | Drop:
    """Check a draft and make it a test.

    Returns
    -------
    Test or Drop
        The test with an id from its content, budget and remembered replies; or the first reason against it.
    """
    trace = traces.get(draft.session)
    if trace is None:
        return Drop("unknown_session", draft.session)
    if not draft.steps:
        return Drop("no_steps", draft.goal)
    if not [text for text in draft.success if text.strip()]:
        return Drop("no_criteria", draft.goal)
    problem = _route(draft, trace)
    if problem is not None:
        return problem
    values = _repaired(draft, trace, brief)
    problem = _values(draft, values, traces, brief)
    if problem is not None:
        return problem
    return _test(draft, trace, values, arm, target)


def _route(draft: functional.Draft | boundary.Draft, trace: Trace) -> Drop | None:
    """Steps that claim to repeat a turn must repeat it, in order."""
    last = 0
    for step in draft.steps:
        if step.turn == 0:
            if getattr(step, "part", "route") == "route":
                return Drop("route_not_observed", f"step without a turn: {step.text[:80]}")
            continue
        if not last <= step.turn <= len(trace.turns):
            return Drop("route_not_observed", f"turn {step.turn} of {len(trace.turns)}")
        last = step.turn
        if getattr(step, "part", "route") == "route":
            said = set(re.findall(r"\w+", folded(trace.turns[step.turn - 1].user)))
            words = re.findall(r"\w+", folded(step.text))
            if sum(word in said for word in words) < 0.8 * len(words):
                return Drop("route_not_observed", f"turn {step.turn} was not: {step.text[:80]}")
    return None


def _turn_text(trace: Trace, number: int) -> str | None:
    if number == 0:
        return folded(trace.greeting)
    if 1 <= number <= len(trace.turns):
        turn = trace.turns[number - 1]
        return folded(f"{turn.user}\n{turn.agent}")
    return None


def _stands(source: Source, traces: Mapping[str, Trace], brief: Brief) -> bool:
    value = folded(source.value)
    if not value:
        return False
    if source.origin == "brief":
        return 0 <= source.seed < len(brief.seeds) and any(
            value in folded(v) for v in brief.seeds[source.seed].values()
        )
    if source.origin == "turn":
        text = _turn_text(traces[source.session], source.turn) if source.session in traces else None
        return text is not None and value in text
    return True


def _texts(draft: functional.Draft | boundary.Draft) -> list[str]:
    return [draft.goal, *(step.text for step in draft.steps), *draft.success, *draft.failure]


def _repaired(draft: functional.Draft | boundary.Draft, trace: Trace, brief: Brief) -> tuple[Source, ...]:
    """The draft's citations, wrong ones replaced and missing ones added where the value can be found."""
    traces = {trace.id: trace}
    kept = []
    for source in draft.values:
        if source.origin != "perturbed" and not _stands(source, {**traces}, brief):
            source = _find(source.value, trace, brief) or source
        kept.append(source)
    cited = [folded(source.value) for source in kept]
    for value in dict.fromkeys(v for text in _texts(draft) for v in concrete(text)):
        if not any(folded(value) in c or c in folded(value) for c in cited):
            found = _find(value, trace, brief)
            if found is not None:
                kept.append(found)
    return tuple(kept)


def _find(value: str, trace: Trace, brief: Brief) -> Source | None:
    for number in range(len(trace.turns) + 1):
        if folded(value) in (_turn_text(trace, number) or ""):
            return Source(value=value, origin="turn", session=trace.id, turn=number)
    for seed, facts in enumerate(brief.seeds):
        if any(folded(value) in folded(fact) for fact in facts.values()):
            return Source(value=value, origin="brief", seed=seed)
    return None


def _values(
    draft: functional.Draft | boundary.Draft, values: Sequence[Source], traces: Mapping[str, Trace], brief: Brief
) -> Drop | None:
    cited = []
    for source in values:
        if source.origin == "turn" and source.session != draft.session:
            return Drop("foreign_identity", f"{source.value!r} comes from session {source.session}")
        if not _stands(source, traces, brief):
            return Drop("value_not_found", f"{source.value!r} does not stand where it is said to")
        cited.append(folded(source.value))
    if len({source.seed for source in values if source.origin == "brief"}) > 1:
        return Drop("foreign_identity", "values of several persons or records of the brief")
    for text in _texts(draft):
        for value in concrete(text):
            if not any(folded(value) in c or c in folded(value) for c in cited):
                return Drop("value_uncited", f"{value!r} in {text[:80]!r}")
    for golden in draft.golden:
        text = (
            traces[draft.session].turns[golden.turn - 1].agent
            if 1 <= golden.turn <= len(traces[draft.session].turns)
            else ""
        )
        if golden.session != draft.session or folded(golden.value) not in folded(text):
            return Drop("golden_not_found", f"{golden.name} {golden.value!r}")
    return None


def _test(
    draft: functional.Draft | boundary.Draft, trace: Trace, values: tuple[Source, ...], arm: str, target: str
) -> Test:
    steps = []
    before = trace.greeting
    for step in draft.steps:
        part = getattr(step, "part", "route")
        if step.turn:
            before = trace.turns[step.turn - 2].agent if step.turn > 1 else trace.greeting
        steps.append(Step(text=step.text, part=part, expects=excerpt(before, EXPECTS) if part == "route" else ""))
    criteria = [
        Criterion(id=f"s{n}", kind="success", text=text) for n, text in enumerate(draft.success, 1) if text.strip()
    ]
    criteria += [
        Criterion(id=f"f{n}", kind="failure", text=text) for n, text in enumerate(draft.failure, 1) if text.strip()
    ]
    kind = "boundary" if isinstance(draft, boundary.Draft) else "functional"
    content = {
        "kind": kind, "goal": draft.goal, "steps": tuple(steps), "criteria": tuple(criteria), "budget": len(steps) + EXTRA_TURNS,
        "values": values, "golden": tuple(Golden(**g.model_dump()) for g in draft.golden), "session": draft.session,
    }  # fmt: skip
    if isinstance(draft, boundary.Draft):
        content |= {"boundary": draft.boundary, "perturbation": draft.perturbation}
    test = Test(id="", arm=arm, target=target, **content)
    digest = content_id(test.model_dump(mode="json", exclude={"id", "arm", "target"}))
    return test.model_copy(update={"id": f"{kind[0]}-{digest}"})


def duplicate(test: Test, others: Sequence[Test]) -> Drop | None:
    """Whether a test says again what another says: the same messages, or nearly the same with the same perturbation."""
    steps = [folded(step.text) for step in test.steps]
    words = _words(test)
    for other in others:
        if steps == [folded(step.text) for step in other.steps]:
            return Drop("duplicate", other.id)
        theirs = _words(other)
        alike = len(words & theirs) / max(1, len(words | theirs))
        if alike >= 0.9 and (test.kind, test.perturbation) == (other.kind, other.perturbation):
            return Drop("near_duplicate", other.id)
    return None


def _words(test: Test) -> set[str]:
    return set(re.findall(r"\w+", folded(" ".join([test.goal, *(step.text for step in test.steps)]))))
