"""From an utterance to a `Reading`: speech acts, intents by word patterns, values by type.

Patterns are data: `english.yaml` for any service conversation, `language.yaml` of the domain for its intents. What
the agent asked last is context for the domain's extractor. Text is cut to its first 4,000 characters, which keeps every
pattern fast on hostile input; nothing in it is ever run, formatted or evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HEARD = 4000
FLAGS = (
    "thanks",
    "bye",
    "greeting",
    "smalltalk",
    "press",
    "unknown",
    "help",
    "correction",
    "again",
    "but",
    "abandon",
    "cancel_that",
    "price",
    "hold",
    "retract",
    "elsewhere",
    "ack",
)


@dataclass
class Reading:
    """What one utterance says."""

    text: str
    answer: str | None = None
    """`yes`, `no`, or None; a yes with a "but" has the flag `but`."""
    flags: set[str] = field(default_factory=set)
    intents: list[str] = field(default_factory=list)
    """In order of appearance."""
    places: dict[str, int] = field(default_factory=dict)
    """Where in the text each intent stands."""
    topics: list[str] = field(default_factory=list)
    """Questions about rules that have a prepared answer."""
    outside: list[str] = field(default_factory=list)
    """Requests that are no business of the domain."""
    slots: dict[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> bool:
        return "?" in self.text or bool(
            re.match(
                r"\W*(?:what|how|when|why|which|who|where|is|are|can|could|do|does|will|would)\b", self.text.lower()
            )
        )


def tidy(text: str) -> str:
    """One line of plain characters: straight quotes, single spaces, at most `HEARD` long."""
    text = text[:HEARD].replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    text = re.sub("[\U0001f44d\u2705\U0001f44c]", " yes ", re.sub("[\U0001f44e\u274c]", " no ", text))
    return re.sub(r"\s+", " ", text.replace("\u2013", "-").replace("\u2014", " - ")).strip()


@cache
def patterns(path: Path) -> dict[str, Any]:
    """A file of patterns, compiled: lists of patterns become one alternation, mappings are followed."""
    import yaml

    def compile_all(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: compile_all(item) for key, item in value.items()}
        return re.compile("|".join(f"(?:{p})" for p in value))

    return compile_all(yaml.safe_load(path.read_text("utf-8")))


def read(text: str, language: dict[str, Any]) -> Reading:
    """Speech acts, intents, topics and outside requests; the domain adds `slots`."""
    english = patterns(Path(__file__).with_name("english.yaml"))
    text = tidy(text)
    low = text.lower()
    reading = Reading(text, flags={flag for flag in FLAGS if english[flag].search(low)})
    reading.answer = _answer(low, english, reading.flags)
    reading.places = _by_place(low, language["intents"], language.get("not", {}))
    reading.intents = list(reading.places)
    reading.topics = list(_by_place(low, language["topics"], {}))
    reading.outside = list(_by_place(low, language["outside"], {}))
    return reading


def _answer(low: str, english: dict[str, Any], flags: set[str]) -> str | None:
    """Hear a yes or no; a condition ("before I confirm, ...") and a question ("can you confirm it?") are neither."""
    low = english["condition"].sub(" ", low)
    no, yes = english["answer_no"].search(low), english["answer_yes"].search(low)
    soft = english["soft_yes"].search(low) and not english["answer_yes"].search(re.sub(r"^\W*\w+\W*", "", low))
    if yes and (soft or english["asks"].search(low)):
        yes = None
    if yes and (not no or (no.start() > yes.start() == 0 and "but" in flags)):
        return "yes"
    return "no" if no else None


def _by_place(low: str, table: dict[str, re.Pattern[str]], excluded: dict[str, re.Pattern[str]]) -> dict[str, int]:
    found = {}
    for name, pattern in table.items():
        match = pattern.search(low)
        if match and not (name in excluded and excluded[name].search(low)):
            found[name] = match.start()
    return dict(sorted(found.items(), key=lambda item: item[1]))
