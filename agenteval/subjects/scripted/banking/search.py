"""Search in the knowledge base: BM25 over short articles, deterministic.

>>> from agenteval.subjects.scripted.banking import articles
>>> search("how much is a wire transfer abroad?", articles())[0].id
'wire_fee'
>>> search("may I paint my roof?", articles())
[]
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

K1, B = 1.5, 0.75
LEAST = 2.2
"""Score below which nothing counts as found."""
_WORD = re.compile(r"[a-z]{2,}")
_STOP = frozenset(
    """
    the an is are was do does did what how much many long which when where who can could may my your you to for of in
    on at it its be and or with have has there about tell me know want would like need please will if from that this
    as so by not no one any get make take work works question
    """.split()  # noqa: SIM905
)


class Hit(NamedTuple):
    """An article that fits."""

    id: str
    score: float


def words(text: str) -> list[str]:
    """Words that carry meaning, cut to a stem."""
    return [stem(w) for w in _WORD.findall(text.lower()) if w not in _STOP]


def stem(word: str) -> str:
    """A word without its ending.

    >>> stem("transfers") == stem("transferring") == stem("transfer"), stem("disputes") == stem("disputing")
    (True, True)
    """
    for ending in ("ing", "ies", "es", "ed", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)]
            return bare[:-1] if ending in ("ing", "ed") and bare[-1] == bare[-2] else bare
    return word


def search(query: str, articles: Mapping[str, Sequence[str]], most: int = 3) -> list[Hit]:
    """Articles by falling score; titles count twice, ties go by name."""
    documents = {key: Counter(words(f"{title} {title} {text}")) for key, (title, text) in articles.items()}
    mean = sum(d.total() for d in documents.values()) / len(documents)
    frequency = Counter(word for d in documents.values() for word in d)
    found = []
    for key, document in documents.items():
        score = 0.0
        for word in dict.fromkeys(words(query)):
            count = document[word]
            idf = math.log(1 + (len(documents) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            score += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * document.total() / mean))
        if score >= LEAST:
            found.append(Hit(key, round(score, 4)))
    return sorted(found, key=lambda hit: (-hit.score, hit.id))[:most]
