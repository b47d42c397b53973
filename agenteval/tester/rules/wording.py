"""Words of the test writers and of the judge, read once from the data file of a language.

``noun("cancel")`` is ``cancellation``: the action noun under which criteria name a task of the lexicon.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from agenteval.tester.rules.lexicon import load

_PATTERNS = [
    "doubt",
    "asks_amount",
    "withheld",
    "past",
    "example",
    "success",
    "begun",
    "conditional",
    "rejects",
    "not_done",
    "request_only",
    "already",
    "again",
    "identified",
    "taken_on",
    "redirect",
    "alternative",
    "stand_down",
    "label_noun",
    "asked_noun",
    "negation",
    "conjunction",
]
_WORDS = ["identity", "identifier", "generic_slots", "routine_tasks", "undoing", "linking"]


@lru_cache(maxsize=8)
def words(language: str = "en") -> dict[str, Any]:
    """The data file of a language, its patterns compiled and its word lists as sets."""
    path = Path(__file__).with_name("lexicon") / f"{language}_tests.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    if data["language"] != language:
        raise ValueError(f"{path.name}: language {data['language']!r} instead of {language!r}")
    for key in _PATTERNS:
        data[key] = re.compile(data[key])
    for key in _WORDS:
        data[key] = frozenset(data[key].split())
    data["keywords"] = [(name, re.compile(pattern)) for name, pattern in data["keywords"]]
    return data


@lru_cache(maxsize=8)
def _names(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Noun of each task, and task of each noun."""
    lexicon = load(language)
    best: dict[str, tuple[int, str]] = {}
    for form, readings in lexicon.forms.items():
        for code, task in readings:
            if code in "NWG" and (task not in best or "NWG".index(code) < best[task][0]):
                best[task] = ("NWG".index(code), form)
    nouns = {task: form for task, (_, form) in best.items() if task != lexicon.generic}
    return nouns, {form: task for task, form in nouns.items()}


def noun(task: str, language: str = "en") -> str:
    """Action noun of a task; the word for an unnamed request when there is no task.

    >>> noun("cancel"), noun("book"), noun("")
    ('cancellation', 'booking', 'request')
    """
    return _names(language)[0].get(task, words(language)["no_task"]["noun"])


def task_of(name: str, language: str = "en") -> str:
    """Task of an action noun, empty for an unnamed request.

    >>> task_of("cancellation"), task_of("request")
    ('cancel', '')
    """
    return _names(language)[1].get(name, "")


def base(task: str, language: str = "en") -> str:
    """Verb of a task, to be asked for."""
    return task if task in _names(language)[0] else words(language)["no_task"]["base"]


def alike(one: str, other: str, language: str = "en") -> bool:
    """Whether one task may be reported under the name of the other.

    >>> alike("book", "rent"), alike("book", "cancel")
    (True, False)
    """
    return one == other or any({one, other} <= set(group.split()) for group in words(language)["alike"])


def names_identity(slot: str, language: str = "en") -> bool:
    """Whether a slot asks who the customer is.

    >>> names_identity("membership_number"), names_identity("order_number")
    (True, False)
    """
    return bool(words(language)["identity"] & set(slot.replace("_", " ").split()))
