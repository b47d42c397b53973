"""Agreement of two auditors on cases of known answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.analysis.agreement import agreement
from agenteval.audit.records import Audit, Card

CARD = Card(capability="c", guard="g", perturbation="p", expected="e", forbidden="f")


def functional(id: str, *covers: str, outcome: str = "TN") -> Audit:
    if not covers:
        return Audit(id=id, kind="functional", valid=False, reason="covers_nothing")
    return Audit(id=id, kind="functional", valid=True, covers=covers, outcomes={"0": outcome})


def boundary(id: str, cluster: int) -> Audit:
    return Audit(id=id, kind="boundary", valid=True, card=CARD, cluster=cluster)


def test_covered_items_are_compared_as_sets_over_all_tests():
    truth = [functional("a", "x", "y"), functional("b", "z")]
    found = [functional("a", "x"), functional("b", "y")]
    assert agreement(truth, found).covered == pytest.approx(2 / 3), "who covers an item does not matter"
    assert math.isnan(agreement([functional("a")], [functional("a")]).covered)


def test_validity_and_outcomes_beyond_chance():
    truth = [functional("a", "x"), functional("b", "x"), functional("c"), functional("d")]
    found = [functional("a", "x"), functional("b"), functional("c"), functional("d")]
    seen = agreement(truth, found)
    # Observed 3/4; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2.
    assert (seen.validity, seen.validity_kappa) == (0.75, pytest.approx(0.5))
    assert seen.outcomes == 1 and math.isnan(seen.outcomes_kappa), "one run that both call TN"
    other = agreement([functional("a", "x", outcome="FP"), truth[1]], [truth[0], truth[1]])
    assert other.outcomes == 0.5


def test_clusters_are_compared_by_pairs():
    truth = [boundary("a", 0), boundary("b", 0), boundary("c", 0), boundary("d", 1)]
    found = [boundary("a", 7), boundary("b", 7), boundary("c", 3), boundary("d", 3)]
    seen = agreement(truth, found)
    assert (seen.precision, seen.recall) == (0.5, pytest.approx(1 / 3))
    assert seen.f1 == pytest.approx(0.4)
    assert math.isnan(agreement(truth[2:], found[:2]).f1) and agreement(truth[2:], found[:2]).tests == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_agreement_stays_within_bounds_and_is_whole_with_oneself(clusters):
    truth = [boundary(str(n), a) for n, (a, _) in enumerate(clusters)]
    found = [boundary(str(n), b) for n, (_, b) in enumerate(clusters)]
    seen = agreement(truth, found)
    assert seen.tests == len(clusters)
    assert all(math.isnan(v) or -1 <= v <= 1 for v in seen[1:])
    swapped = agreement(found, truth)
    assert [seen.precision, seen.recall] == pytest.approx([swapped.recall, swapped.precision], nan_ok=True)
    assert agreement(truth, truth).f1 in (1, pytest.approx(math.nan, nan_ok=True))
