"""Small slips of the keyboard, put right before anything is read.

Only words that matter are restored: those of the lists `spelling.yaml` (here for any service, in a domain's folder for
its own). A word is mended when it has five letters or more, is no word of the lists, and exactly one listed word is one
slip away: a letter missing, added, wrong, or two letters swapped (two slips from nine letters on). Names of people stay
as they are: a capitalised word becomes only what is listed with a capital, unless it begins a sentence.

>>> mend("Plese chagne my flihgt to Bostn", vocabulary(Path(__file__).with_name("airline")))
'Please change my flight to Boston'
>>> mend("Ask Marsha Bolton about the plane", vocabulary(Path(__file__).with_name("airline")))
'Ask Marsha Bolton about the plane'
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"(?<![\w@.'-])[A-Za-z]{4,16}(?![\w@-])")


class Vocabulary(NamedTuple):
    """Words that are restored, and right words that only look like them."""

    words: frozenset[str]
    right: frozenset[str]


@cache
def vocabulary(folder: Path) -> Vocabulary:
    """The engine's words and those of a domain's folder."""
    import yaml

    files = [path / "spelling.yaml" for path in (Path(__file__).parent, folder)]
    tables = [yaml.safe_load(path.read_text("utf-8")) for path in files if path.exists()]
    return Vocabulary(
        frozenset(word for table in tables for word in table["words"].split()),
        frozenset(word for table in tables for word in table["right"].split()),
    )


def mend(text: str, known: Vocabulary) -> str:
    """The text with its slips put right; nothing else in it changes."""

    def restore(match: re.Match[str]) -> str:
        word = match.group()
        begins = not re.search(r"[^.!?:\s]\s*$", text[max(0, match.start() - 3) : match.start()])
        found = _nearest(word.lower(), known, proper=word[0].isupper() and not begins and not word.isupper())
        if found is None:
            return word
        return found.upper() if word.isupper() else found.capitalize() if word[0].isupper() else found

    return _WORD.sub(restore, text)


@cache
def _listed(known: Vocabulary) -> frozenset[str]:
    return frozenset(word.lower() for word in (*known.words, *known.right))


def _nearest(low: str, known: Vocabulary, *, proper: bool) -> str | None:
    if low in _listed(known):
        return None
    most = 2 if len(low) >= 9 else 1
    found: dict[str, int] = {}
    for word in known.words:
        if (proper and word.islower()) or word[0].lower() not in low[:2] or abs(len(word) - len(low)) > most:
            continue
        slips = _slips(low, word.lower())
        if slips <= most and (len(low) > 4 or (slips == 1 and sorted(low) == sorted(word.lower()))):
            found[word.lower()] = min(slips, found.get(word.lower(), slips))
    best = [word for word, slips in found.items() if slips == min(found.values())]
    return best[0] if len(best) == 1 else None


def _slips(a: str, b: str) -> int:
    """Letters missing, added, wrong or swapped with their neighbour between two words."""
    before, row = [], list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
