"""The exact auditor of scripted subjects: truth from the privileged log of each run, no model and no judgement.

Every guard check, tool call and state change of a run stands in the log, so that what a test exercised is known. A guard
that was evaluated with a negative outcome at or after the perturbation is what a boundary test stresses. On the reference
subject the agent is right by definition; on a mutant it is wrong where its switched-off guard would have failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agenteval.audit.records import Audit, Card, Outcome, Rejection
from agenteval.types import Brief, Test, TestRun, Verdict


class Dossier(NamedTuple):
    """What is known of a subject besides its conversations."""

    guards: Mapping[str, Mapping[str, str]]
    """Guard to capability, kind, rule and what a failing check makes visible."""
    inventory: Mapping[str, Mapping[str, Any]]
    """Documented behaviour to `behaviour`, `section`, and `proof`: keys and values that occur together in one event."""


Events = Sequence[Mapping[str, Any]]


def audit(
    tests: Iterable[Test],
    runs: Iterable[TestRun],
    verdicts: Iterable[Verdict],
    log: Iterable[Mapping[str, Any]],
    dossier: Dossier,
    brief: Brief,
) -> list[Audit]:
    """Audit every test that was run.

    Parameters
    ----------
    log
        Privileged events; those of a run carry its id.

    Returns
    -------
    list of Audit
        In the order of the tests. A test without any run is not actionable.
    """
    events: dict[str, list[Mapping[str, Any]]] = {}
    for event in log:
        if event["stage"] == "run":
            events.setdefault(event["id"], []).append(event)
    runs_of: dict[str, list[TestRun]] = {}
    for run in runs:
        runs_of.setdefault(run.test, []).append(run)
    verdict_of = {verdict.id: verdict for verdict in verdicts}
    audited = []
    for test in tests:
        made = sorted(runs_of.get(test.id, []), key=lambda run: run.repetition)
        record = _validity(test, made[0] if made else None, events, dossier, brief)
        if record.valid:
            outcomes = {
                str(run.repetition): outcome(run, verdict_of.get(run.id), events.get(run.id, [])) for run in made
            }
            record = record.model_copy(update={"outcomes": outcomes})
        audited.append(record)
    return clustered(audited)


def _validity(test: Test, run: TestRun | None, events: Mapping[str, Events], dossier: Dossier, brief: Brief) -> Audit:
    """Valid, or rejected with the first reason that holds, by the criterion of its kind (Section VI-B)."""

    def rejected(reason: Rejection, why: str) -> Audit:
        return Audit(id=test.id, kind=test.kind, valid=False, reason=reason, why=why)

    if run is None or not run.trace.turns:
        return rejected("not_actionable", "no session came about")
    people = identities(test, brief)
    if len(people) > 1:
        return rejected("identity_mismatch", f"values of the customers {', '.join(map(str, people))} of the brief")
    if not any(c.kind == "success" for c in test.criteria):
        return rejected("undecidable", "no success criterion")
    log = events.get(run.id, [])
    if test.kind == "functional":
        covers = covered(log, dossier.inventory)
        if not covers:
            return rejected("covers_nothing", "no documented behaviour was exercised")
        return Audit(id=test.id, kind="functional", valid=True, covers=covers)
    if run.perturbed == 0:
        return rejected("unreachable", "the perturbation was never sent")
    stressed = [
        e for e in log if e["event"] == "guard" and e["outcome"] in ("failed", "skipped") and e["turn"] >= run.perturbed
    ]
    negative = [e for e in stressed if e["outcome"] == "failed" or e.get("would") == "failed"]
    if not negative:
        return rejected(
            "ordinary_success_path", "no guard was evaluated with a negative outcome at or after the perturbation"
        )
    first = negative[0]
    guard = dossier.guards[first["guard"]]
    card = Card(
        capability=first.get("capability") or guard["capability"], guard=first["guard"], perturbation=test.perturbation,
        expected=guard["visible"], forbidden=f"goes on although this holds: {guard['rule']}",
    )  # fmt: skip
    return Audit(id=test.id, kind="boundary", valid=True, card=card)


def identities(test: Test, brief: Brief) -> list[int]:
    """Customers of the brief whose values the steps name, the perturbation left out.

    A value that several customers share, such as a zip code, speaks for whichever of them the other values fit: one customer
    who has every value that is named is the only one.
    """
    said = " ".join(step.text for step in test.steps if step.part != "perturbation").casefold()
    words = set(said.replace(",", " ").replace(";", " ").split())
    words |= {word.strip(".!?:()\"'") for word in words}
    owners: dict[str, set[int]] = {}
    for number, seed in enumerate(brief.seeds):
        for value in seed.values():
            if any(c.isdigit() for c in value) and value.casefold() in words:
                owners.setdefault(value.casefold(), set()).add(number)
    if not owners:
        return []
    fitting = set.intersection(*owners.values())
    return [min(fitting)] if fitting else sorted(set.union(*owners.values()))


def covered(log: Events, inventory: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Documented behaviours that a log proves to have happened."""
    return tuple(
        item
        for item, known in inventory.items()
        if any(all(event.get(key) == value for key, value in known["proof"].items()) for event in log)
    )


def faulty(log: Events) -> bool:
    """Whether a mutant did what its switched-off guard, or its other fault, should have prevented."""
    return any(event.get("would") == "failed" or event["event"] == "fault" for event in log)


def outcome(run: TestRun, verdict: Verdict | None, log: Events) -> Outcome:
    """The label of a run (execution-phase metrics of Section VI-B)."""
    if verdict is None or verdict.verdict == "inconclusive":
        return "INC"
    wrong = faulty(log)
    if verdict.verdict == "fail":
        return "TP" if wrong else "FP"
    return "FN" if wrong else "TN"


def clustered(audited: Sequence[Audit]) -> list[Audit]:
    """The same records with the number of their boundary; exact cards need no comparison of words."""
    numbers: dict[tuple[str, str, str, str], int] = {}
    return [
        a if a.card is None else a.model_copy(update={"cluster": numbers.setdefault(a.card.boundary, len(numbers))})
        for a in audited
    ]
