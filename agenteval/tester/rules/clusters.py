"""Replies of like wording, found over all sessions at once: TF-IDF, average linkage, a vote within each cluster.

Wording that many sessions share speaks for one activity even where a single reply is read amiss; clusters put right
such readings, and never touch the acts that a graph needs as gates (the labeller says which).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

THRESHOLD = 0.8
LARGEST = 3000
HINT_WEIGHT = 0.5


def cluster(
    texts: Sequence[str], hints: Sequence[tuple[str, ...]], *, threshold: float = THRESHOLD, weight: float = HINT_WEIGHT
) -> list[int]:
    """Assign each text to a cluster.

    Equal texts are compared once, in sorted order, so that neither repetition nor the order of sessions matters.
    Beyond `LARGEST` distinct texts the most frequent are linked and each other text joins its nearest cluster.

    Parameters
    ----------
    texts : sequence of str
        Delexicalised replies.
    hints : sequence of tuple of str
        What the rules saw in each reply: its act and slots. They pull like readings together, and no more.
    weight : float
        Weight of the hints beside words and letters, each of weight 1.
    threshold : float
        Cosine distance at which average linkage is cut.

    Returns
    -------
    list of int
        One cluster number per text.
    """
    pairs = list(zip(texts, hints, strict=True))
    counts = Counter(pairs)
    unique = sorted(counts)
    if len(unique) < 2:
        return [0] * len(texts)
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.sparse import hstack
    from scipy.spatial.distance import squareform
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    shared = {"sublinear_tf": True, "lowercase": False, "dtype": np.float32}
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", **shared)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **shared)
    hinted = TfidfVectorizer(analyzer=list, **shared)
    padded = [text or "zempty" for text, _ in unique]
    blocks = [
        words.fit_transform(padded),
        letters.fit_transform(padded),
        weight * hinted.fit_transform([hint or ("none",) for _, hint in unique]),
    ]
    matrix = normalize(hstack(blocks).tocsr())
    order = sorted(range(len(unique)), key=lambda i: (-counts[unique[i]], unique[i]))
    core = sorted(order[:LARGEST])
    inner = matrix[core]
    distance = 1.0 - (inner @ inner.T).toarray()
    np.clip(distance, 0.0, 1.0, out=distance)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(np.round(distance, 6), checks=False)
    groups = fcluster(linkage(condensed, method="average"), threshold, criterion="distance")
    number = dict(zip((unique[i] for i in core), groups.tolist(), strict=True))
    rest = order[LARGEST:]
    if rest:
        centres = np.zeros((groups.max() + 1, matrix.shape[1]), dtype=np.float32)
        for group in range(1, groups.max() + 1):
            centres[group] = inner[np.flatnonzero(groups == group)].mean(axis=0)
        nearest = np.asarray(matrix[rest] @ centres.T)[:, 1:].argmax(axis=1) + 1
        number.update(zip((unique[i] for i in rest), nearest.tolist(), strict=True))
    return [number[pair] for pair in pairs]


def majority(values: Sequence[str]) -> str:
    """Return the most frequent value, the alphabetically first among equals.

    >>> majority(["b", "a", "b", "a"])
    'a'
    """
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))
