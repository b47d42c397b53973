"""The model auditor: any subject that has a dossier, judged by a language model that sees what the tester could not (Section VI-B).

A test is one unit: its validity, then coverage or card, then the outcome of each of its runs. A unit whose call failed is
a failure, never a record. The exact auditor of scripted subjects gives the same records (`exact`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from agenteval.audit.linkage import candidates, complete_linkage
from agenteval.audit.records import Audit, Card, Outcome, Pair
from agenteval.audit.roles import card, coverage, grouping, outcome, same_boundary, validity
from agenteval.audit.views import Case, Execution
from agenteval.errors import ContextOverflow, CutOff, ModelError, ModelRefused, ModelUnreachable, ReplyInvalid
from agenteval.llm.model import Completion, Model, Request
from agenteval.store import derive_seed
from agenteval.types import Brief, Failure, Verdict

UNUSABLE = (ReplyInvalid, CutOff, ModelRefused, ContextOverflow)
"""Errors of one question; every other one stops the audit, to be gone on with."""
BATCH = 8
"""Pairs of cards in one call."""
DECIDED: Mapping[tuple[str, str], Outcome] = {
    ("fail", "at_fault"): "TP",
    ("fail", "correct"): "FP",
    ("pass", "correct"): "TN",
    ("pass", "at_fault"): "FN",
}


class Dossier(NamedTuple):
    """What a model auditor reads about a subject, besides the calls of tools of each run."""

    policy: str
    sources: Mapping[str, str]
    """Name to text of the tools' sources."""
    inventory: Mapping[str, Mapping[str, Any]]
    """Documented behaviour to `behaviour` and `section`."""

    @property
    def items(self) -> list[dict[str, str]]:
        """The inventory as it is shown: whatever proves an item in a log is left out."""
        return [
            {"item": item, "behaviour": row["behaviour"], "section": row["section"]}
            for item, row in self.inventory.items()
        ]


def audit(
    cases: Sequence[Case],
    dossier: Dossier,
    brief: Brief,
    model: Model,
    *,
    seed: int = 0,
    workers: int = 4,
    keep: Callable[[Audit | Failure], None],
) -> None:
    """Audit tests, `workers` at a time.

    Parameters
    ----------
    keep
        Called with each record or failure, from one thread, as soon as it is there.

    Raises
    ------
    ModelError, BudgetReached
        The first error that stops the audit for good; what was finished was kept.
    """

    def work(case: Case, model: Model) -> Audit | Failure:
        try:
            return audit_case(case, dossier, brief, model, seed=seed)
        except UNUSABLE as error:
            return failure(case.test.id, error)

    _each(cases, work, model, keep, workers)


def audit_case(case: Case, dossier: Dossier, brief: Brief, model: Model, *, seed: int = 0) -> Audit:
    """Audit one test with its runs.

    Raises
    ------
    ReplyInvalid, ModelError
        No record: a failed call is never a verdict.
    """
    known: dict[str, Any] = {"id": case.test.id, "kind": case.test.kind}
    first = case.executions[0] if case.executions else None
    if first is None or not first.conversation["turns"]:
        return Audit(**known, valid=False, reason="not_actionable", why="no session came about")
    given = {"policy": dossier.policy, "sources": dossier.sources, "test": case.scenario}
    unit = derive_seed(seed, "audit", case.id)
    shown = {**given, "conversation": first.conversation, "tools": first.tools, "seed": unit}
    decided = validity.decide(model, **shown, inventory=dossier.items, brief=brief.model_dump(), session=case.session)
    known["why"] = decided.why
    if decided.decision != "valid":
        return Audit(**known, valid=False, reason=decided.decision)
    reasons: dict[str, str] = {}
    if case.test.kind == "functional":
        covered = coverage.cover(model, **shown, inventory=dossier.items)
        if not covered:
            return Audit(**known | {"why": "the run exercises no item"}, valid=False, reason="covers_nothing")
        known["covers"] = tuple(c.item for c in covered)
        reasons["coverage"] = "\n".join(f"{c.item}: {c.why}" for c in covered)
    else:
        known["card"] = card.describe(model, **shown)
    outcomes: dict[str, Outcome] = {}
    for execution in case.executions:
        label, why = outcome_of(execution, given, model, seed=unit)
        outcomes[str(execution.repetition)] = label
        if why:
            reasons[str(execution.repetition)] = why
    return Audit(**known, valid=True, outcomes=outcomes, reasons=reasons)


def outcome_of(
    execution: Execution, given: Mapping[str, Any], model: Model, *, seed: int | None = None
) -> tuple[Outcome, str]:
    """The label of a run and the reason; what the judge left open is inconclusive without a question."""
    judged = execution.verdict
    if judged is None or judged.verdict == "inconclusive":
        return "INC", ""
    reply = outcome.establish(
        model, **given, conversation=execution.conversation, tools=execution.tools, stop=execution.stop, verdict=_said(judged),
        repetition=execution.repetition, seed=seed,
    )  # fmt: skip
    return DECIDED.get((judged.verdict, reply.decision), "INC"), reply.why


def _said(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.verdict,
        "decisions": verdict.decisions,
        "quotes": [quote.model_dump() for quote in verdict.quotes],
    }


# ---- clusters


def compare(
    audits: Iterable[Audit],
    model: Model,
    *,
    decided: Iterable[Pair] = (),
    seed: int = 0,
    workers: int = 4,
    keep: Callable[[Pair | Failure], None],
) -> None:
    """Decide the pairs of cards of one capability, a few in each call.

    Calls whose pairs are all decided are not made again; the others are made as they would have been at first.

    Parameters
    ----------
    keep
        Called with each decision, or with the failure that stands in the place of those of one call.
    """
    cards = {a.id: a.card for a in audits if a.card is not None}
    done = {pair.id for pair in decided}
    pairs = candidates({test: c.capability for test, c in cards.items()})
    literal = [pair for pair in pairs if cards[pair[0]].boundary == cards[pair[1]].boundary]
    for pair in literal:
        if pair_id(*pair) not in done:
            keep(Pair(id=pair_id(*pair), decision="same", why="the cards say the same to the letter"))
    asked = sorted(set(pairs) - set(literal))
    # All the pairs of a card in a row would invite to decide them by one another.
    asked.sort(key=lambda pair: derive_seed(seed, "pair", *sorted(_words(cards[test]) for test in pair)))
    batches = [asked[at : at + BATCH] for at in range(0, len(asked), BATCH)]
    todo = [batch for batch in batches if not all(pair_id(*pair) in done for pair in batch)]

    def work(pairs: Sequence[tuple[str, str]], model: Model) -> Failure | list[Pair]:
        try:
            return _compared(pairs, cards, model, seed)
        except UNUSABLE as error:
            return failure(" ".join(pair_id(*pair) for pair in pairs), error)

    def each(found: Failure | list[Pair]) -> None:
        for one in [found] if isinstance(found, Failure) else found:
            keep(one)

    _each(todo, work, model, each, workers)


def _compared(pairs: Sequence[tuple[str, str]], cards: Mapping[str, Card], model: Model, seed: int) -> list[Pair]:
    names = neutral({test: cards[test] for pair in pairs for test in pair}, seed)
    asked = {f"p{n}": pair for n, pair in enumerate(pairs, 1)}
    reply = same_boundary.compare(
        model, cards={names[test]: _shown(cards[test]) for test in names},
        pairs={id: tuple(sorted((names[a], names[b]))) for id, (a, b) in asked.items()}, seed=derive_seed(seed, "same_boundary"),
    )  # fmt: skip
    return [Pair(id=pair_id(*asked[c.pair]), decision=c.decision, why=c.why) for c in reply]


def propose(audits: Iterable[Audit], model: Model, *, seed: int = 0) -> list[tuple[str, ...]]:
    """The paper's variant: clusters of tests as the model proposes them for all cards in one call."""
    cards = {a.id: a.card for a in audits if a.card is not None}
    if len(cards) < 2:
        return [(test,) for test in cards]
    names = neutral(cards, seed)
    tests = {name: test for test, name in names.items()}
    groups = grouping.group(
        model, cards={names[test]: _shown(cards[test]) for test in names}, seed=derive_seed(seed, "grouping")
    )
    return [tuple(tests[name] for name in group) for group in groups]


def clustered(audits: Sequence[Audit], pairs: Iterable[Pair], proposed: Iterable[Iterable[str]] = ()) -> list[Audit]:
    """The same records with the numbers of their clusters, counted in the order of the records."""
    tests = [a.id for a in audits if a.card is not None]
    own = _numbers(tests, complete_linkage(tests, {pair.tests for pair in pairs if pair.decision == "same"}))
    theirs = _numbers(tests, proposed)
    return [
        a.model_copy(update={"cluster": own.get(a.id, -1), "proposed": theirs.get(a.id, -1)}) if a.card else a
        for a in audits
    ]


def _numbers(tests: Iterable[str], clusters: Iterable[Iterable[str]]) -> dict[str, int]:
    cluster_of = {test: tuple(sorted(cluster)) for cluster in map(tuple, clusters) for test in cluster}
    numbers: dict[tuple[str, ...], int] = {}
    return {test: numbers.setdefault(cluster_of[test], len(numbers)) for test in tests if test in cluster_of}


def pair_id(first: str, second: str) -> str:
    return " ".join(sorted((first, second)))


def neutral(cards: Mapping[str, Card], seed: int) -> dict[str, str]:
    """Names for the cards of tests, in an order that the seed and the cards' words settle."""
    order = sorted(cards, key=lambda test: (derive_seed(seed, "card", _words(cards[test])), test))
    return {test: f"k{n:02d}" for n, test in enumerate(order, 1)}


def _words(card: Card) -> str:
    return " | ".join(card.boundary)


def _shown(card: Card) -> dict[str, str]:
    return card.model_dump(exclude={"forbidden"})


# ---- calls


def failure(unit: str, error: ModelError) -> Failure:
    """The record of a question without a usable answer."""
    return Failure(id=unit, stage="audit", reason=error.reason, detail=str(error)[:300])


class _Stoppable:
    """A model that is asked nothing more once the audit was stopped, so that every unit under way ends after one answer."""

    def __init__(self, model: Model, stopped: threading.Event):
        self.model = model
        self.stopped = stopped
        self.name = model.name

    def complete(self, request: Request) -> Completion:
        if self.stopped.is_set():
            raise ModelUnreachable("the audit was stopped")
        return self.model.complete(request)


def _each(
    units: Sequence[Any], work: Callable[[Any, Model], Any], model: Model, keep: Callable[[Any], None], workers: int
) -> None:
    """Do units in threads and keep what each gives, as it comes."""
    stopped = threading.Event()
    stoppable = _Stoppable(model, stopped)
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        futures = [pool.submit(work, unit, stoppable) for unit in units]
        try:
            for future in as_completed(futures):
                keep(future.result())
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
