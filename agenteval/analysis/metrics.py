"""Rates of an audited run, exactly as the benchmark defines them (Section VI-B; design section 6).

A rate without cases is NaN. `accuracy_conclusive` is what the paper's tables contain; `accuracy_all` counts an
inconclusive run as a wrong one. FAR says little without sensitivity on faulty agents: a judge that passes all has FAR 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from agenteval.analysis.significance import rarefaction
from agenteval.audit.records import Audit


def share(part: float, whole: float) -> float:
    """A share, or NaN of nothing.

    >>> share(1, 4), math.isnan(share(0, 0))
    (0.25, True)
    """
    return part / whole if whole else math.nan


def validity(audits: Sequence[Audit], generated: int | None = None) -> float:
    """|Tv| / |T|. As delivered; with `generated`, every draft counts in T, dropped ones as invalid."""
    return share(sum(a.valid for a in audits), len(audits) if generated is None else generated)


def coverage(audits: Iterable[Audit], inventory: Iterable[str]) -> float:
    """|C| / |I|: documented behaviours that valid functional tests cover."""
    known = set(inventory)
    return share(len({item for a in audits if a.valid for item in a.covers} & known), len(known))


def distinct(audits: Iterable[Audit]) -> int:
    """|U|: clusters of valid boundary tests."""
    return len({a.cluster for a in audits if a.valid and a.card is not None})


def duplicates(audits: Sequence[Audit]) -> float:
    """1 - |U| / |Tv|."""
    valid = sum(a.valid and a.card is not None for a in audits)
    return 1 - share(distinct(audits), valid)


def rarefied(audits: Iterable[Audit], size: int) -> float:
    """Expected number of distinct boundaries in `size` valid tests drawn without replacement (Hurlbert 1971).

    Makes arms with different |Tv| comparable; NaN where there are fewer.

    Examples
    --------
    >>> from agenteval.audit.records import Card
    >>> card = Card(capability="c", guard="g", perturbation="p", expected="e", forbidden="f")
    >>> drawn = [Audit(id=str(i), kind="boundary", valid=True, card=card, cluster=c) for i, c in enumerate([0, 0, 1])]
    >>> round(rarefied(drawn, 2), 4)  # of the three pairs two hold both boundaries: (1 + 2 + 2) / 3
    1.6667
    """
    sizes = Counter(a.cluster for a in audits if a.valid and a.card is not None)
    return rarefaction(list(sizes.values()), size)


def outcomes(audits: Iterable[Audit]) -> Counter[str]:
    """TP, FP, TN, FN and INC over all runs of valid tests."""
    return Counter(label for a in audits if a.valid for label in a.outcomes.values())


def rates(audits: Iterable[Audit]) -> dict[str, float]:
    """False alarms, accuracies and inconclusive runs.

    Examples
    --------
    >>> found = rates([Audit(id="a", kind="functional", valid=True, outcomes={"0": "TN", "1": "FP", "2": "INC", "3": "TN"})])
    >>> round(found["FAR"], 3), found["accuracy_all"], round(found["accuracy_conclusive"], 3), found["inconclusive"]
    (0.333, 0.5, 0.667, 0.25)
    """
    n = outcomes(audits)
    total = sum(n.values())
    right = n["TP"] + n["TN"]
    return {
        "FAR": share(n["FP"], n["FP"] + n["TN"]),
        "accuracy_all": share(right, total),
        "accuracy_conclusive": share(right, total - n["INC"]),
        "inconclusive": share(n["INC"], total),
        "sensitivity": share(n["TP"], n["TP"] + n["FN"]),
    }
