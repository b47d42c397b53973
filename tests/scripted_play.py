"""Plays conversations of the scripted subjects' YAML files and checks what is said."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import Any

import yaml

from agenteval.store import derive_seed
from agenteval.subjects.scripted import folder, open_scripted, wording

KINDS = {"identity", "prerequisite", "eligibility", "confirmation", "validation", "limit", "scope", "recovery"}


@lru_cache
def read(domain: str, name: str) -> Any:
    return yaml.safe_load((folder(domain) / name).read_text("utf-8"))


def holds(check: str, reply: str, words: dict[str, list[str]]) -> bool:
    """One check of a witness on the visible reply."""
    bare = check.removeprefix("!")
    hit = bool(re.search(bare[1:-1], reply)) if bare.startswith("/") else wording.shows(words, bare, reply)
    return hit != check.startswith("!")


def play(domain: str, turns, *, name: str = "a", fault: str | None = None, seed: int = 0):
    """Failed checks of a witness, and the log."""
    chat = open_scripted(domain, wording=name, fault=fault, seed=seed)
    words = wording.load(folder(domain) / "wordings" / f"{name}.yaml")
    chat.reset()
    failed = [
        (turn[0], check)
        for turn in turns
        for reply in [chat.invoke(turn[0])]
        for check in turn[1:]
        if not holds(check, reply, words)
    ]
    return failed, chat.log


def walk(domain: str, turns, **options):
    chat = open_scripted(domain, **options)
    return [chat.reset(), *(chat.invoke(turn) for turn in turns)], chat


HOSTILE = [
    "", " ", "\n\n", "🛫🧳😡", "<script>alert(1)</script>", "x" * 200_000, "a_b_1 " * 40_000, "{user_id} {items} {0}", "%s %d",
    "\x00\ud800", "'; DROP TABLE users; --", "__import__('os').system('touch owned')", "${7*7} {{7*7}}", "1" * 5000, "-5 bags",
    "from from to to", "yes no yes no", "99/99/9999", "0000-00-00", "Feb 30", "LW1", "to " * 2000, "My " * 2000, "?" * 3000,
    "#W0 " * 500, "$-1", "$1e309", "555-" * 300,
]  # fmt: skip


def vocabulary(domain):
    """Everything that some conversation of the domain says, and what fits everywhere."""
    words = [turn for turns in read(domain, "walks.yaml") for turn in turns]
    for name in ("witnesses.yaml", "conversations.yaml"):
        words += [turn[0] for turns in read(domain, name).values() for turn in turns]
    return (
        words
        + HOSTILE[:5]
        + ["yes", "no", "I don't know", "the second one", "2", "never mind", "sorry, I meant the other one"]
    )


def stroll(domain, n, fault=None):
    """A conversation with utterances in it that do not fit."""
    draw, words = random.Random(derive_seed("walk", n)), vocabulary(domain)
    chat = open_scripted(domain, fault=fault, seed=n)
    chat.reset()
    told = [[t[0] for t in turns] for turns in read(domain, "conversations.yaml").values()]
    for turn in draw.choice([*read(domain, "walks.yaml"), *told]):
        for text in [*draw.choices(words, k=draw.choice([0, 0, 1, 2])), turn]:
            assert chat.invoke(text).strip(), text
    return chat.log
