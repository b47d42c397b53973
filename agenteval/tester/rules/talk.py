"""The words of the customer that the offline rules play: ``lexicon/en_talk.yaml``, read once.

>>> load().classes["reservation"]
'booking'
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml


class Talk(NamedTuple):
    """Words, patterns and sentences of one language."""

    classes: Mapping[str, str]
    """Word to the name of its class of like words."""
    words: Mapping[str, frozenset[str]]
    patterns: Mapping[str, re.Pattern]
    numerals: Mapping[str, int]
    months: tuple[str, ...]
    free: tuple[tuple[frozenset[str], str], ...]
    """Ordinary choices: words of a slot, and a value."""
    fresh: tuple[tuple[frozenset[str], str], ...]
    """Values for a slot that records something new."""
    spelling: Mapping[str, str]
    names_in_two: Mapping[str, str]
    order_words: Mapping[str, str]
    turned: tuple[tuple[re.Pattern, str], ...]
    """Second person to first person."""
    say: Mapping[str, tuple[str, ...]]
    plan: Mapping[str, str]
    single: Mapping[str, str]
    """Single phrases and the date of last resort."""


@lru_cache(maxsize=4)
def load(language: str = "en") -> Talk:
    """Read the file of a language.

    Raises
    ------
    KeyError
        When a key is missing.
    """
    path = Path(__file__).with_name("lexicon") / f"{language}_talk.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows = [row.split() for row in data["same"]]
    listed = {key: [rows] if isinstance(rows, str) else rows for key, rows in data["patterns"].items()}
    return Talk(
        classes={word: row[0] for row in rows for word in row},
        words={key: frozenset(words.split()) for key, words in data["words"].items()},
        patterns={key: re.compile("|".join(f"(?:{row})" for row in rows)) for key, rows in listed.items()},
        numerals=data["numerals"],
        months=tuple(data["months"].split()),
        free=tuple((frozenset(words.split()), value) for words, value in data["free"]),
        fresh=tuple((frozenset(words.split()), value) for words, value in data["fresh"]),
        spelling=data["spelling"],
        names_in_two=data["names_in_two"],
        order_words=data["order_words"],
        turned=tuple((re.compile(pattern, re.I), words) for pattern, words in data["turned"]),
        say={key: tuple(lines) for key, lines in data["say"].items()},
        plan=data["plan"],
        single={key: str(value) for key, value in data["phrases"].items()},
    )


def pick(key: Any, choices: tuple[str, ...] | list[str]) -> str:
    """Choose by the hash of a key: varied, and the same for equal keys."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode("utf-8", "replace")).digest()
    return choices[int.from_bytes(digest[:4]) % len(choices)]


def say(talk: Talk, kind: str, key: Any, **values: str) -> str:
    """A sentence of a kind, chosen by the hash of a key, with its places filled.

    Places are filled in one pass, because a value that the agent has said may contain braces.
    """
    return re.sub(r"\{(\w+)\}", lambda m: values[m.group(1)], pick((kind, key), talk.say[kind]))
