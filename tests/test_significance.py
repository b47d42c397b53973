"""Tests of hypotheses against published values and properties."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from agenteval.analysis.significance import exact_interval, holm, mcnemar, paired_permutation, rarefaction

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Eighths of an inch, Darwin's crossed less self-fertilised plants, as Fisher gives them."""


def test_permutation_gives_fishers_count_for_darwins_maize():
    found = paired_permutation({"maize": MAIZE})
    assert round(found.p * 2**15) == 1726
    assert found.pairs == 15


def test_domains_count_alike_whatever_their_number_of_pairs():
    assert paired_permutation({"a": [1.0] * 4, "b": [0.0]}).difference == 0.5


def test_many_pairs_are_drawn_and_the_seed_settles_the_result():
    pairs = {"a": [float(n % 5) - 1.5 for n in range(40)]}
    assert paired_permutation(pairs) == paired_permutation(pairs)
    assert 0 < paired_permutation(pairs).p < 1


def test_nothing_to_compare_is_no_number():
    assert all(math.isnan(v) for v in paired_permutation({"a": [math.nan]})[:2])


def test_clopper_pearson_of_the_papers_judge():
    low, high = exact_interval(22, 27)  # Table VI: 22 of 27 caught
    assert (round(low, 3), round(high, 3)) == (0.619, 0.937)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(a >= p or math.isclose(a, p) for a, p in zip(adjusted, p_values, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted[i] for i in order)


@given(st.integers(0, 12), st.integers(0, 12))
def test_mcnemar_is_symmetric_and_a_probability(first, second):
    assert 0 < mcnemar(first, second) <= 1
    assert math.isclose(mcnemar(first, second), mcnemar(second, first))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_rarefied_to_everything_is_the_number_of_kinds(sizes):
    assert math.isclose(rarefaction(sizes, sum(sizes)), len(sizes))
    assert math.isclose(rarefaction(sizes, 1), 1)
