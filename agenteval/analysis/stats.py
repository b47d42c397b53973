"""Agreement measures and intervals, over plain sequences and counts.

Agreement between event abstraction and a reference (Section IV-A of the paper) is given by three measures, because
each alone can be led astray: V rewards one label per turn, B-cubed a single label, and only the adjusted Rand index is
corrected for chance. Heavy imports happen inside functions, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class BCubed(NamedTuple):
    """B-cubed precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


class Interval(NamedTuple):
    """An estimate with the ends of its interval."""

    estimate: float
    low: float
    high: float


class Agreement(NamedTuple):
    """V-measure, adjusted Rand index and B-cubed F1, each an array over the leading axes of the tables."""

    v: np.ndarray
    ari: np.ndarray
    b3: np.ndarray


def _same_length(truth: Sequence, labels: Sequence) -> None:
    if len(truth) != len(labels):
        raise ValueError(f"got {len(truth)} true labels and {len(labels)} labels, expected as many; pair them first")


def adjusted_rand(truth: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Return the Rand index corrected for chance: 1 for equal partitions, about 0 for unrelated ones.

    Parameters
    ----------
    truth, labels : sequence of hashable, equal length
        Only the grouping matters, not the names.

    Returns
    -------
    float
        NaN without items.

    Notes
    -----
    Hubert and Arabie, "Comparing partitions", Journal of Classification 2, 1985.

    Examples
    --------
    By hand: of 6 pairs the truth joins 2, the labels join 1 and both join 1; expected 2*1/6 = 1/3, maximum 3/2, so
    (1 - 1/3) / (3/2 - 1/3) = 4/7.

    >>> round(adjusted_rand("aabb", [1, 1, 2, 3]), 4) == round(4 / 7, 4)
    True
    """
    _same_length(truth, labels)
    if not len(truth):
        return float("nan")
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(_codes(truth), _codes(labels)))


def v_measure(truth: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Return the harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    truth, labels : sequence of hashable, equal length

    Returns
    -------
    float
        NaN without items. Not corrected for chance: many small groups score high.

    Notes
    -----
    Rosenberg and Hirschberg, "V-measure", EMNLP 2007.

    Examples
    --------
    By hand: homogeneity 1; H(labels) = 1.5 bit, of which the truth leaves 0.5 open, so completeness 2/3 and V = 4/5.

    >>> round(v_measure("aabb", [1, 1, 2, 3]), 4)
    0.8
    """
    _same_length(truth, labels)
    if not len(truth):
        return float("nan")
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(_codes(truth), _codes(labels)))


def b_cubed(truth: Sequence[Hashable], labels: Sequence[Hashable]) -> BCubed:
    """Return B-cubed precision, recall and F1: per item, the share of its group that belongs with it.

    Parameters
    ----------
    truth, labels : sequence of hashable, equal length

    Returns
    -------
    BCubed
        NaN without items.

    Notes
    -----
    Bagga and Baldwin, "Entity-based cross-document coreferencing", COLING-ACL 1998.

    Examples
    --------
    By hand: every group of labels is pure, and two of the four items find half of their true class, so precision 1,
    recall 3/4, F1 6/7.

    >>> score = b_cubed("aabb", [1, 1, 2, 3])
    >>> score.precision, score.recall, round(score.f1, 4)
    (1.0, 0.75, 0.8571)
    """
    _same_length(truth, labels)
    if not len(truth):
        return BCubed(float("nan"), float("nan"), float("nan"))
    table = contingency(truth, labels).astype(float)
    squares, total = table**2, table.sum()
    precision = float((squares.sum(axis=0) / table.sum(axis=0)).sum() / total)
    recall = float((squares.sum(axis=1) / table.sum(axis=1)).sum() / total)
    return BCubed(precision, recall, 2 * precision * recall / (precision + recall))


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return the agreement of two annotators beyond chance.

    Parameters
    ----------
    first, second : sequence of hashable, equal length
        Here the names matter.

    Returns
    -------
    float
        NaN without items, or when both use one and the same name throughout.

    Notes
    -----
    Cohen, "A coefficient of agreement for nominal scales", 1960.

    Examples
    --------
    By hand: observed agreement 3/4, expected 1/2 * 1/4 + 1/2 * 3/4 = 1/2, so (3/4 - 1/2) / (1/2) = 1/2.

    >>> cohen_kappa("aabb", "abbb")
    0.5
    """
    _same_length(first, second)
    if not len(first) or len(set(first) | set(second)) < 2:
        return float("nan")
    from sklearn.metrics import cohen_kappa_score

    names = {name: code for code, name in enumerate(sorted(set(first) | set(second), key=repr))}
    return float(cohen_kappa_score([names[n] for n in first], [names[n] for n in second]))


def contingency(truth: Sequence[Hashable], labels: Sequence[Hashable]) -> np.ndarray:
    """Count how often each true class (row) meets each label (column), both in order of appearance.

    >>> contingency("aab", [7, 8, 8]).tolist()
    [[1, 1], [0, 1]]
    """
    import numpy as np

    _same_length(truth, labels)
    rows, columns = _codes(truth), _codes(labels)
    table = np.zeros((max(rows, default=-1) + 1, max(columns, default=-1) + 1), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def agreement(tables: np.ndarray) -> Agreement:
    """Return V, ARI and B-cubed F1 of many contingency tables at once, as a bootstrap over sessions needs.

    Parameters
    ----------
    tables : ndarray, shape (..., classes, labels)
        Counts; rows and columns may be empty.

    Returns
    -------
    Agreement
        Arrays of shape (...); NaN where a table is empty.

    Examples
    --------
    The values of the three functions above on the same four items:

    >>> [round(float(x), 4) for x in agreement(contingency("aabb", [1, 1, 2, 3]))]
    [0.8, 0.5714, 0.8571]
    """
    import numpy as np

    tables = np.asarray(tables, dtype=float)
    total = tables.sum(axis=(-2, -1))
    row, column = tables.sum(axis=-1), tables.sum(axis=-2)

    def plogp(counts: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return (counts * np.log(np.where(counts > 0, counts, 1.0))).sum(axis=axes)

    def pairs(counts: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return (counts * (counts - 1) / 2).sum(axis=axes)

    with np.errstate(divide="ignore", invalid="ignore"):
        log_total = total * np.log(total)
        inside, of_rows, of_columns = plogp(tables, (-2, -1)), plogp(row, (-1,)), plogp(column, (-1,))
        h_truth, h_labels = log_total - of_rows, log_total - of_columns
        mutual = inside - of_rows - of_columns + log_total
        tiny = 1e-9 * np.maximum(total, 1)
        homogeneity = np.where(h_truth > tiny, mutual / h_truth, 1.0)
        completeness = np.where(h_labels > tiny, mutual / h_labels, 1.0)
        both = homogeneity + completeness
        v = np.where(both > 1e-12, 2 * homogeneity * completeness / both, 0.0)
        joined, in_rows, in_columns = pairs(tables, (-2, -1)), pairs(row, (-1,)), pairs(column, (-1,))
        expected = in_rows * in_columns / (total * (total - 1) / 2)
        most = (in_rows + in_columns) / 2
        ari = np.where(most - expected != 0, (joined - expected) / (most - expected), 1.0)
        squares = tables**2
        precision = np.nansum(squares.sum(axis=-2) / column, axis=-1) / total
        recall = np.nansum(squares.sum(axis=-1) / row, axis=-1) / total
        b3 = 2 * precision * recall / (precision + recall)
    nothing = total == 0
    return Agreement(*(np.where(nothing, np.nan, x) for x in (v, ari, b3)))


def percentile_interval(
    estimate: float, draws: Sequence[float] | np.ndarray, *, level: float = 0.95, recentre: bool = False
) -> Interval:
    """Return the percentile interval of bootstrap draws.

    Parameters
    ----------
    estimate : float
        The value on the whole sample.
    draws : sequence of float
        The value on each resample; NaN draws are left out.
    level : float
        Share of the draws between the ends.
    recentre : bool
        Shift the interval so that the median of the draws falls on the estimate. Measures of consistency need it: a
        session that is drawn twice agrees with itself, so raw draws lie above the estimate.

    Returns
    -------
    Interval

    Examples
    --------
    By hand: the draws 0..40 have the 2.5th and 97.5th percentiles 1 and 39 and the median 20.

    >>> percentile_interval(30.0, range(41))
    Interval(estimate=30.0, low=1.0, high=39.0)
    >>> percentile_interval(30.0, range(41), recentre=True)
    Interval(estimate=30.0, low=11.0, high=49.0)
    """
    import numpy as np

    values = np.asarray(draws, dtype=float)
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(estimate, float("nan"), float("nan"))
    tail = round(50 * (1 - level), 9)
    low, middle, high = np.percentile(values, [tail, 50, 100 - tail])
    shift = estimate - middle if recentre else 0.0
    return Interval(float(estimate), float(low + shift), float(high + shift))


def bootstrap_interval(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a percentile bootstrap interval of a statistic, the mean by default.

    Parameters
    ----------
    values : sequence of float
        Independent units: sessions, seeds or dialogues, not turns of one session.
    statistic : callable, optional
        From the values to a number.
    level, resamples, seed
        Coverage, number of resamples, and seed of the resampling.

    Returns
    -------
    Interval
        A sample without spread gives an interval of no width; no value gives NaN.

    Examples
    --------
    >>> bootstrap_interval([2.0, 2.0, 2.0])
    Interval(estimate=2.0, low=2.0, high=2.0)
    >>> interval = bootstrap_interval([0.0, 1.0] * 50)
    >>> interval.estimate, 0.38 < interval.low < 0.42, 0.58 < interval.high < 0.62
    (0.5, True, True)
    """
    import numpy as np

    sample = np.asarray(values, dtype=float)
    if not len(sample):
        return Interval(float("nan"), float("nan"), float("nan"))
    estimate = float((statistic or np.mean)(sample))
    if np.ptp(sample) == 0:
        return Interval(estimate, estimate, estimate)
    from scipy.stats import bootstrap

    result = bootstrap(
        (sample,),
        np.mean if statistic is None else lambda x: statistic(x),  # scipy calls the mean once, on all resamples
        vectorized=statistic is None,
        confidence_level=level,
        n_resamples=resamples,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Interval(estimate, float(result.confidence_interval.low), float(result.confidence_interval.high))


def f_score(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 when both are 0.

    >>> f_score(1.0, 0.5) == 2 / 3
    True
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _codes(values: Sequence[Hashable]) -> list[int]:
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(value, len(seen)) for value in values]


class Unseen(NamedTuple):
    """How much of a population was not met yet."""

    seen: int
    """Distinct kinds observed."""
    unseen: float
    """Estimated number of further kinds."""
    share: float
    """`unseen` as a share of all kinds, NaN when nothing was observed."""


def chao1(counts: Sequence[int]) -> Unseen:
    """Return the bias-corrected Chao1 estimate of kinds that were not observed.

    Parameters
    ----------
    counts : sequence of int
        How often each observed kind was met; zeros are left out.

    Notes
    -----
    Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of Statistics 11,
    1984. A lower bound in expectation: with few singletons it says little.

    Examples
    --------
    By hand: three kinds met once, one twice, so 3 * 2 / (2 * 2) = 1.5 more on top of five.

    >>> chao1([1, 1, 1, 2, 7])
    Unseen(seen=5, unseen=1.5, share=0.23076923076923078)
    """
    met = [n for n in counts if n > 0]
    once, twice = sum(n == 1 for n in met), sum(n == 2 for n in met)
    unseen = once * (once - 1) / (2 * (twice + 1))
    return Unseen(len(met), unseen, unseen / (len(met) + unseen) if met else float("nan"))
