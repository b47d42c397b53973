"""Whose a value is: what identifies the customer of a session, and records that belong to somebody else.

The writers pair a customer only with that customer's records, and borrow somebody else's on purpose alone (Section VI-D).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from agenteval.tester.rules import replies
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.values import Value, extract, shape, stands
from agenteval.tester.rules.wording import names_identity, words
from agenteval.tester.rules.workflows import Exchange, read_session

_WORD = re.compile(r"[A-Za-z][\w'-]*")
RECORDS = frozenset({"identifier", "code"})
TELLING = 3
"""Shortest value that tells people apart."""


def identity_values(read: Sequence[Exchange]) -> set[str]:
    """Values by which the customer said who they are."""
    found: set[str] = set()
    for i, e in enumerate(read):
        asked = i > 0 and any(names_identity(slot) for slot in read[i - 1].slots)
        for v in extract(e.user):
            if v.kind == "email" or (
                v.kind in ("identifier", "phone") and (asked or _named_by(v, e.user, words()["identity"]))
            ):
                found.add(v.text)
    return found


def people(texts: Iterable[str], brief: dict[str, Any]) -> set[int]:
    """Seeds of the brief that texts speak of, by values that no other seed has.

    >>> seeds = [{"id": "A-1", "zip": "10001"}, {"id": "A-2", "zip": "10001"}]
    >>> people(["I am A-1 of 10001."], {"seeds": seeds})
    {0}
    """
    said = "\n".join(texts).lower()
    held = [
        {str(v).lower() for v in seed.values() if len(str(v)) >= TELLING and any(c.isdigit() for c in str(v))}
        for seed in brief.get("seeds", [])
    ]
    count = Counter(value for values in held for value in values)
    return {n for n, values in enumerate(held) if any(count[v] == 1 and stands(v, said) for v in values)}


def _named_by(value: Value, text: str, names: frozenset[str]) -> bool:
    """Whether the nearest word before a value that is no mere link is one of `names`."""
    before = [w.lower() for w in _WORD.findall(text[max(0, value.start - 60) : value.start])]
    nearest = next((w for w in reversed(before) if w not in words()["linking"]), "")
    return nearest in names or (bool(before) and before[-1] in names)


def name_before(value: Value, text: str) -> str:
    """What a text calls a value just before it: `user id` in "my user ID is X"; empty where it is called nothing."""
    stop = load().words["slot_stop"] | load().words["determiners"]
    before = [w.lower() for w in _WORD.findall(text[max(0, value.start - 40) : value.start])]
    while before and before[-1] in stop:
        before.pop()
    named: list[str] = []
    while before and len(named) < 2 and before[-1] not in stop and "'" not in before[-1]:
        named.insert(0, before.pop())
    data = words()
    return " ".join(named) if set(named) & (data["identity"] | data["identifier"]) else ""


def is_record(value: Value, text: str, slot: str = "") -> bool:
    """Whether a value names a record of the customer's: a booking, an order, whatever tasks are done to."""
    if value.kind not in RECORDS or names_identity(slot):
        return False
    forms = frozenset(load().forms)
    return _named_by(value, text, forms) or bool(forms & set(slot.replace("_", " ").split()))


def own_record(value: Value, session: dict[str, Any], brief: dict[str, Any]) -> str | None:
    """Another record of the same customer that looks like `value`: of the same seed, else told by the agent."""
    seeds = [[str(v) for v in seed.values()] for seed in brief.get("seeds", [])]
    held = next((texts for texts in seeds if any(stands(value.text, text) for text in texts)), [])
    told = [turn["agent"] for turn in session["turns"]]
    for text in [*held, *told]:
        for other in extract(text):
            if other.kind == value.kind and shape(other.text) == shape(value.text) and other.text != value.text:
                return other.text
    return None


def foreign_identity(mine: set[str], brief: dict[str, Any]) -> tuple[str, str] | None:
    """Name and value by which another customer of the brief would be known; None where nobody knows who this one is."""
    seeds = [{key: str(text) for key, text in seed.items()} for seed in brief.get("seeds", [])]
    own = [i for i, seed in enumerate(seeds) if mine & set(seed.values())]
    if not own:
        return None
    keys = [key for key, text in seeds[own[0]].items() if text in mine]
    for seed in seeds[own[0] + 1 :] + seeds[: own[0]]:
        for key in keys:
            if seed.get(key) and seed[key] not in mine and '"' not in seed[key]:
                return key.replace("_", " "), seed[key]
    return None


def foreign_record(
    value: Value, session: dict[str, Any], sessions: Sequence[dict[str, Any]], brief: dict[str, Any]
) -> str | None:
    """A record of somebody else's that looks like `value`: from another session, else from another seed.

    None where nobody said who the customer of this session, or of the other one, is.
    """
    mine = identity_values(read_session(session))
    if not mine:
        return None
    own_text = "\n".join(
        [session.get("greeting", ""), *(t for turn in session["turns"] for t in (turn["user"], turn["agent"]))]
    )

    def fits(candidate: Value | str) -> bool:
        text = candidate if isinstance(candidate, str) else candidate.text
        return shape(text) == shape(value.text) and not stands(text, own_text) and text not in mine

    for other in sessions:
        if other["id"] == session["id"]:
            continue
        read = read_session(other)
        theirs = identity_values(read)
        if not theirs or theirs & mine:
            continue
        for e, before in zip(read, (None, *read), strict=False):
            slot = " ".join(before.slots) if before and before.act == replies.REQUEST else ""
            for v in extract(e.user):
                if fits(v) and v.text not in theirs and is_record(v, e.user, slot):
                    return v.text
    seeds = brief.get("seeds", [])
    own = [i for i, s in enumerate(seeds) if mine & {str(x) for x in s.values()}]
    if not own:
        return None
    for i, seed in enumerate(seeds):
        if i not in own:
            for key, text in sorted(seed.items()):
                if not names_identity(key) and fits(str(text)):
                    return str(text)
    return None
