"""How far two auditors of one run agree: the exact one as the truth, the model one as what is measured.

Of tests that only one of them could audit nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from agenteval.analysis.metrics import share
from agenteval.analysis.stats import cohen_kappa, f_score
from agenteval.audit.records import Audit


class Agreement(NamedTuple):
    """Agreement in numbers; NaN where there was nothing to compare."""

    tests: int
    """Tests that both audited."""
    covered: float
    """Jaccard overlap of the documented behaviours that either found covered (as in Table II)."""
    validity: float
    """Share of the tests on whose validity they agree."""
    validity_kappa: float
    """The same beyond chance; NaN where both said one and the same of all."""
    outcomes: float
    """Share of the runs that both labelled alike, of tests that both found valid."""
    outcomes_kappa: float
    precision: float
    """Of the pairs of boundary tests that the model auditor put together, the share that belongs together."""
    recall: float
    """Of the pairs that belong together, the share that it put together."""
    f1: float


def agreement(truth: Iterable[Audit], found: Iterable[Audit]) -> Agreement:
    """Compare the records of two auditors.

    Examples
    --------
    >>> a = Audit(id="f", kind="functional", valid=True, covers=("x", "y"), outcomes={"0": "TN"})
    >>> b = a.model_copy(update={"covers": ("y", "z")})
    >>> round(agreement([a], [b]).covered, 4), agreement([a], [b]).outcomes
    (0.3333, 1.0)
    """
    theirs = {a.id: a for a in found}
    both = [(a, theirs[a.id]) for a in truth if a.id in theirs]
    first = [a.valid for a, _ in both]
    second = [b.valid for _, b in both]
    runs = [
        (a.outcomes[run], b.outcomes[run])
        for a, b in both
        if a.valid and b.valid
        for run in sorted(set(a.outcomes) & set(b.outcomes))
    ]
    pairs = [
        (a.cluster == c.cluster, b.cluster == d.cluster)
        for (a, b), (c, d) in combinations([(a, b) for a, b in both if a.card and b.card], 2)
    ]
    hits = sum(true and put for true, put in pairs)
    precision, recall = share(hits, sum(put for _, put in pairs)), share(hits, sum(true for true, _ in pairs))
    return Agreement(
        tests=len(both),
        covered=_jaccard(_covered(a for a, _ in both), _covered(b for _, b in both)),
        validity=share(sum(a.valid == b.valid for a, b in both), len(both)),
        validity_kappa=cohen_kappa(first, second),
        outcomes=share(sum(a == b for a, b in runs), len(runs)),
        outcomes_kappa=cohen_kappa([a for a, _ in runs], [b for _, b in runs]),
        precision=precision,
        recall=recall,
        f1=math.nan if math.isnan(precision + recall) else f_score(precision, recall),
    )


def _covered(audits: Iterable[Audit]) -> set[str]:
    return {item for a in audits if a.valid for item in a.covers}


def _jaccard(first: set[str], second: set[str]) -> float:
    return share(len(first & second), len(first | second))
