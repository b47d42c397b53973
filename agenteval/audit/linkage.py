"""Which tests stress the same boundary, from decisions on pairs of cards (design decision 10).

Two cards are compared only where their capability is the same after normalising. Tests form one cluster only when all
its pairs are the same; an uncertain pair stays separate.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

STEM = 5
"""Letters of a word that count, so that forms of one word meet."""
_EMPTY = frozenset({"a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"})


def normalised(capability: str) -> str:
    """A capability without word order, endings and small words.

    >>> normalised("Cancellation of the reservation") == normalised("cancel_reservations")
    True
    >>> normalised("cancel_reservation") == normalised("change_reservation")
    False
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", capability)
    words = re.findall(r"[^\W_]+", spaced.casefold())
    return " ".join(sorted({word[:STEM] for word in words if word not in _EMPTY}))


def candidates(capabilities: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs to be compared: tests whose capabilities fall into one block, each pair and the list in order of ids."""
    blocks: dict[str, list[str]] = {}
    for test in sorted(capabilities):
        blocks.setdefault(normalised(capabilities[test]), []).append(test)
    return sorted(pair for members in blocks.values() for pair in combinations(members, 2))


def complete_linkage(tests: Iterable[str], same: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """Clusters in which every pair is the same, none of which could be joined with another.

    Parameters
    ----------
    same
        Pairs of tests that were found to be the same; every other pair is not.

    Returns
    -------
    list of tuple of str
        A partition of the tests; it does not depend on their order.

    Examples
    --------
    That a is like b and b like c does not make a like c:

    >>> complete_linkage("abc", {frozenset("ab"), frozenset("bc")})
    [('a', 'b'), ('c',)]
    """
    clusters: list[list[str]] = []
    for test in sorted(set(tests)):
        home = next((c for c in clusters if all(frozenset((test, other)) in same for other in c)), None)
        if home is None:
            clusters.append([test])
        else:
            home.append(test)
    return [tuple(cluster) for cluster in clusters]
