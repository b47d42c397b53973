"""The words of one language: everything the rule labeller knows about English stands in ``lexicon/en.yaml``.

The rules themselves (`acts`, `replies`, `utterances`, `slots`) name no word of any language; they ask a `Lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

CODES = {"base": "B", "done": "D", "ing": "G", "noun": "N", "weak": "W"}
LOOKUP_CODE = "L"
_MARKED = r"\w[\w'-]*~[A-Z]*[{codes}][A-Z]*:\w+"
_MACROS = {
    "{base}": _MARKED.format(codes="B"),
    "{done}": _MARKED.format(codes="D"),
    "{ing}": _MARKED.format(codes="G"),
    "{noun}": _MARKED.format(codes="NW"),
    "{verb}": _MARKED.format(codes="BDGNW"),
    "{look}": _MARKED.format(codes=LOOKUP_CODE),
    "{gap}": r"(?:\S+ ){0,4}",
}
_PATTERN_KEYS = (
    "courtesy",
    "more_help",
    "more_help_question",
    "close",
    "greet",
    "gate",
    "gate_verb",
    "gate_guard",
    "completion",
    "completion_after_gate",
    "completion_guard",
    "background",
    "deny",
    "deny_by_rule",
    "deny_guard",
    "generic_statement",
    "failure",
    "failure_guard",
    "hard_failure",
    "unavailable",
    "unavailable_guard",
    "transfer",
    "transfer_guard",
    "open_question",
    "offer",
    "announce",
    "options",
    "details",
    "request",
    "request_guard",
    "answer_opening",
)
_USER_KEYS = (
    "affirm",
    "agree",
    "negate",
    "correct",
    "thank",
    "close",
    "alternatives",
    "select",
    "question",
    "ask_action",
    "unknown",
    "contest",
    "handover",
    "lookup",
)
_WORD_KEYS = (
    "settling",
    "determiners",
    "phrase_ends",
    "abbreviations",
    "months",
    "days",
    "lookups",
    "slot_openers",
    "weak_slot_openers",
    "slot_links",
    "question_openers",
    "slot_prepositions",
    "slot_joints",
    "vague_slots",
    "slot_stop",
    "slot_noise",
    "slot_of",
)


class Cue(NamedTuple):
    """Alternatives of one cue: some read the plain sentence, those with a macro read the marked one."""

    plain: re.Pattern | None
    marked: re.Pattern | None


class Lexicon(NamedTuple):
    """Words and cues of one language, read once and never changed."""

    language: str
    forms: Mapping[str, tuple[tuple[str, str], ...]]
    """Word form to its readings, pairs of code (``B D G N W L``) and task name."""
    generic: str
    handover: str
    words: Mapping[str, frozenset[str]]
    cues: Mapping[str, Cue]
    user_cues: Mapping[str, Cue]
    question_slots: tuple[tuple[re.Pattern, str], ...]
    slot_max_words: int


def _cue(patterns: list[str]) -> Cue:
    plain = [p for p in patterns if not any(m in p for m in _MACROS)]
    marked = [p for p in patterns if any(m in p for m in _MACROS)]
    for macro, expansion in _MACROS.items():
        marked = [p.replace(macro, expansion) for p in marked]
    return Cue(
        re.compile("|".join(f"(?:{p})" for p in plain)) if plain else None,
        re.compile("|".join(f"(?:{p})" for p in marked)) if marked else None,
    )


def _forms(verbs: dict, lookups: str) -> dict[str, tuple[tuple[str, str], ...]]:
    forms: dict[str, list[tuple[str, str]]] = {}
    for name, rows in verbs.items():
        for kind, words in rows.items():
            for word in words.split():
                forms.setdefault(word, []).append((CODES[kind], name))
    for word in lookups.split():
        forms.setdefault(word, []).append((LOOKUP_CODE, "search"))
    return {word: tuple(readings) for word, readings in forms.items()}


@lru_cache(maxsize=8)
def load(language: str = "en") -> Lexicon:
    """Read the lexicon of a language from its data file.

    Parameters
    ----------
    language : str
        Name of a file in ``lexicon/`` without its suffix.

    Returns
    -------
    Lexicon

    Raises
    ------
    ValueError
        When the file lacks a key, has an unknown one, or names the wrong language.
    """
    path = Path(__file__).with_name("lexicon") / f"{language}.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    expected = {"language", "verbs", "generic", "handover", "question_slots", "slot_max_words", "user"}
    expected |= set(_PATTERN_KEYS) | set(_WORD_KEYS)
    if set(data) != expected or set(data["user"]) != set(_USER_KEYS) or data["language"] != language:
        odd = sorted((set(data) ^ expected) | (set(data["user"]) ^ set(_USER_KEYS)))
        raise ValueError(f"lexicon {path.name}: keys missing or unknown: {odd}; compare with lexicon/en.yaml")
    return Lexicon(
        language=language,
        forms=_forms(data["verbs"], data["lookups"]),
        generic=data["generic"],
        handover=data["handover"],
        words={key: frozenset(data[key].split()) for key in _WORD_KEYS},
        cues={key: _cue(data[key]) for key in _PATTERN_KEYS},
        user_cues={key: _cue(data["user"][key]) for key in _USER_KEYS},
        question_slots=tuple((re.compile(pattern), name) for pattern, name in data["question_slots"]),
        slot_max_words=int(data["slot_max_words"]),
    )
