"""Tests of hypotheses: paired permutation within domains, Holm's correction, exact binomial, McNemar; rarefaction.

Pairs are (domain, seed): the seeds of one domain share a subject, so signs are exchanged within a domain and each domain's
mean difference counts alike. Such a p-value speaks of seeds of fixed subjects, not of other subjects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Comparison(NamedTuple):
    """A paired comparison."""

    difference: float
    """Mean over domains of the mean difference of its pairs; NaN without pairs."""
    p: float
    """Two-sided p-value; NaN without pairs."""
    pairs: int


def paired_permutation(differences: Mapping[str, Sequence[float]], *, draws: int = 20_000, seed: int = 0) -> Comparison:
    """Two-sided permutation test of paired differences, signs exchanged within each domain.

    Parameters
    ----------
    differences : mapping of str to sequence of float
        Domain to the difference of each of its pairs; NaN pairs are left out.
    draws : int
        Random assignments of signs where there are too many to try all (more than 2^15).

    Returns
    -------
    Comparison

    Notes
    -----
    Fisher, "The Design of Experiments", 1935, section 21: of the 2^15 assignments of signs to the differences of his 15
    pairs of maize plants 1,726 give a sum at least as far from zero, so p = 0.0527 (checked in the tests).

    Examples
    --------
    By hand: of the eight assignments of signs to three equal differences two are as far from zero.

    >>> paired_permutation({"airline": [1.0, 1.0, 1.0]})
    Comparison(difference=1.0, p=0.25, pairs=3)
    """
    import numpy as np

    kept = {domain: [v for v in values if not math.isnan(v)] for domain, values in differences.items()}
    kept = {domain: values for domain, values in kept.items() if values}
    if not kept:
        return Comparison(math.nan, math.nan, 0)
    # A pair's weight is that of its domain's mean in the mean over domains.
    weighted = np.array([v / len(values) / len(kept) for values in kept.values() for v in values])
    n, observed = len(weighted), abs(weighted.sum())
    near = observed * (1 - 1e-9) - 1e-15
    if n <= 15:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        p = float(np.mean(np.abs(signs @ weighted) >= near))
    else:
        signs = np.random.default_rng(seed).choice([-1, 1], (draws, n))
        p = float((1 + np.sum(np.abs(signs @ weighted) >= near)) / (draws + 1))
    return Comparison(float(weighted.sum()), p, n)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for being several, step down.

    Notes
    -----
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    By hand: .01 * 4, .02 * 3 (both .06 or more by then), .03 * 2 raised to what came before, .04 * 1 likewise.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03, 0.02])]
    [0.04, 0.06, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [math.nan] * len(p_values), 0.0
    known = [i for i in order if not math.isnan(p_values[i])]
    for rank, i in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def p_value(p: float) -> str:
    """A p-value in words.

    >>> p_value(0.0312), p_value(0.00002), p_value(float("nan"))
    ('p = 0.031', 'p < 0.001', 'no p-value')
    """
    return "no p-value" if math.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def exact_interval(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval of a share.

    Notes
    -----
    Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.

    Examples
    --------
    No hit in ten: the upper end solves (1 - p)^10 = .025, so it is 1 - .025^(1/10).

    >>> low, high = exact_interval(0, 10)
    >>> low, round(high, 4), round(1 - 0.025 ** 0.1, 4)
    (0.0, 0.3085, 0.3085)
    """
    if not trials:
        return math.nan, math.nan
    from scipy.stats import binomtest

    interval = binomtest(hits, trials).proportion_ci(confidence_level=level, method="exact")
    return float(interval.low), float(interval.high)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two procedures, tried on the same items, succeed equally often.

    Parameters
    ----------
    only_first, only_second : int
        Items on which one succeeded and the other did not; the others say nothing.

    Notes
    -----
    McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12, 1947.

    Examples
    --------
    By hand: six items, all in favour of one side, so 2 / 2^6.

    >>> mcnemar(6, 0)
    0.03125
    >>> mcnemar(0, 0)
    1.0
    """
    total = only_first + only_second
    if not total:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_first, total, 0.5).pvalue)


def rarefaction(sizes: Sequence[int], drawn: int) -> float:
    """Expected number of kinds among `drawn` items taken without replacement, from how many items each kind has.

    Notes
    -----
    Hurlbert, "The nonconcept of species diversity", Ecology 52, 1971.

    Examples
    --------
    By hand: of two kinds with two items and one, the three pairs hold 1, 2 and 2 kinds.

    >>> round(rarefaction([2, 1], 2), 4)
    1.6667
    >>> rarefaction([2, 1], 4)
    nan
    """
    total = sum(sizes)
    if not 0 < drawn <= total:
        return math.nan
    every = math.comb(total, drawn)
    return math.fsum(1 - math.comb(total - size, drawn) / every for size in sizes)
