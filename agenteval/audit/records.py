"""What an auditor says about each test of a plan and about each of its runs (Section VI-B).

One record: the test is valid, covers two documented behaviours, stresses the guard of its card, and its first run was
rightly passed: ``Audit(id="b-1", kind="boundary", valid=True, card=Card(...), outcomes={"0": "TN"})``.
"""

from __future__ import annotations

from typing import Literal

from agenteval.types import Record

Rejection = Literal[
    "ungrounded",
    "not_actionable",
    "covers_nothing",
    "ordinary_success_path",
    "undecidable",
    "identity_mismatch",
    "unreachable",
]
Outcome = Literal["TP", "FP", "TN", "FN", "INC"]


class Card(Record):
    """A boundary card (c, g, p, e, f)."""

    capability: str
    guard: str
    perturbation: str
    expected: str
    forbidden: str

    @property
    def boundary(self) -> tuple[str, str, str, str]:
        """What makes two cards the same boundary: all but what is forbidden (design decision 10)."""
        return self.capability, self.guard, self.perturbation, self.expected


class Audit(Record):
    """The audit of one test."""

    id: str
    """Id of the test."""
    kind: Literal["functional", "boundary"]
    valid: bool
    reason: Rejection | None = None
    """Why the test was rejected; None for a valid one."""
    why: str = ""
    """The reason in words."""
    covers: tuple[str, ...] = ()
    """Documented behaviours that the test exercises, for functional tests."""
    card: Card | None = None
    """What a valid boundary test stresses."""
    cluster: int = -1
    """Tests of one number stress the same boundary; -1 where there is no card."""
    proposed: int = -1
    """The same by the paper's variant, in which a model groups all cards in one call; -1 where it was not asked."""
    outcomes: dict[str, Outcome] = {}
    """Outcome of each repetition of a valid test's run, by its number."""
    reasons: dict[str, str] = {}
    """A model auditor's reasons for further decisions: `coverage`, and the outcome of each repetition by its number."""


class Pair(Record):
    """What a model auditor says about the cards of two tests."""

    id: str
    """Both tests, the lesser id first: `<test> <test>`."""
    decision: Literal["same", "different", "uncertain"]
    why: str = ""

    @property
    def tests(self) -> frozenset[str]:
        return frozenset(self.id.split(" "))
