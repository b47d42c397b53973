"""Facts that a customer may use, and which of them answers what an agent asks for.

A seed ``{"member_no": "M-12", "name": "Ann Lee"}`` answers ``membership number`` with ``M-12`` and ``last name`` with
``Lee``. Names are compared as kind (number, email, name, ...) and as whose or what it is; the shape decides between
equals. What nobody told is not made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agenteval.tester.rules.enumerations import PAIR
from agenteval.tester.rules.questions import Slot, read
from agenteval.tester.rules.services import stem
from agenteval.tester.rules.shapes import calendar, codes, dressed, fits, fitted, kind
from agenteval.tester.rules.talk import Talk, load

_PARTS = re.compile(r"[^\W\d_]+")
_ORDERS = ("DD/MM/YYYY", "MM/DD/YYYY", "DD.MM.YYYY", "DD-MM-YYYY", "YYYY-MM-DD")


class Fact(NamedTuple):
    """A value with the name under which it was told."""

    name: str
    value: str
    origin: str
    """``brief`` or ``agent``."""


class Naming(NamedTuple):
    """A name taken apart: kinds of value, and whose or what for."""

    kinds: frozenset[str]
    owners: frozenset[str]
    persons: bool
    """Some owner is the speaker."""


@lru_cache(maxsize=4096)
def naming(name: str) -> Naming:
    """Take the name of a slot or of a fact apart.

    >>> naming("membership_number").kinds == naming("member_no").kinds
    True
    """
    talk = load()
    counted = name.removeprefix("number_of_")
    if counted != name and not {talk.classes.get(w, w) for w in counted.split("_")} & (
        talk.words["persons"] | talk.words["records"]
    ):
        return Naming(frozenset(), frozenset({"count", stem(counted)}), False)
    name = name.replace("'s", "")
    spaced = " ".join(_PARTS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))).lower()
    for two, one in talk.names_in_two.items():
        spaced = spaced.replace(two, one)
    words = spaced.split()
    classes = [talk.classes.get(w, w) for w in words if w not in talk.words["hollow"]]
    kinds = frozenset(c for c in classes if c in talk.words["kinds"])
    persons = any(c in talk.words["persons"] for c in classes)
    owners = frozenset(stem(c) for c in classes if c not in talk.words["kinds"] and c not in talk.words["persons"])
    exact = frozenset(stem(c) for c in classes if c in talk.words["persons"])
    return Naming(kinds, owners | exact, persons)


def _specific(kinds: frozenset[str]) -> frozenset[str]:
    rest = kinds - {"number", "name", "address"}
    return rest or kinds - {"number"} or kinds


def match(slot: str, key: str) -> float:
    """How well a fact named `key` answers a slot; 0 when it does not.

    >>> match("order_number", "member_no"), match("your_number", "member_no") > 0
    (0.0, True)
    """
    a, b = naming(slot), naming(key)
    shared = a.owners & b.owners
    if not shared and is_place(a) and is_place(b):
        return 1.0
    if not a.kinds:
        # A slot that names a thing and no kind of value is answered by the thing's own fact.
        return 2.0 + len(shared) if shared and (not b.kinds or b.kinds <= {"number", "name"}) else 0.0
    wanted, held = _specific(a.kinds), _specific(b.kinds)
    if shared and not b.kinds and wanted <= {"name", "number"}:
        return 2.0
    if wanted != held and not wanted & held:
        derived = (
            {"surname", "forename"} & wanted
            and held == {"name"}
            or wanted == {"name"}
            and {"surname", "forename"} & held
        )
        if not derived or (b.owners and not b.persons and not shared):
            return 0.0
        return 1.5
    strangers = a.owners and not shared and not a.persons
    if wanted in (frozenset({"number"}), frozenset({"name"})):
        if strangers or (b.owners and not shared and not b.persons and a.owners):
            return 0.0
        return 3.0 + len(shared) if shared else 2.0 if a.persons and (b.persons or not b.owners) else 1.0
    return 2.0 + len(shared) - (0.5 if strangers else 0.0)


def is_place(parts: Naming) -> bool:
    """Whether a name names a place."""
    return not parts.kinds and bool(parts.owners & {stem(w) for w in load().words["places"]})


def of_seed(seed: Mapping[str, str]) -> list[Fact]:
    """Facts of one person or record of the brief; an enumeration of codes gives one fact each."""
    facts = []
    kinds = {next(iter(naming(key).kinds), ""): value for key, value in seed.items()}
    if {"forename", "surname"} <= kinds.keys() and "name" not in kinds:
        facts.append(Fact("name", f"{kinds['forename']} {kinds['surname']}", "brief"))
    for key, value in seed.items():
        parts = [p.strip() for p in re.split(r"[,;]", value)]
        several = len(parts) > 1 and all(codes(p) == [p] for p in parts)
        facts += [Fact(key, part, "brief") for part in (parts if several else [value]) if part]
    return facts


def told(replies: Iterable[str], mine: Sequence[str]) -> list[Fact]:
    """Facts that an agent has said: lines ``key: value``, and codes of records other than the customer's own values."""
    own = set(mine)
    return list(dict.fromkeys(f for reply in replies for f in _told(reply) if f.name or f.value not in own))


@lru_cache(maxsize=4096)
def _told(reply: str) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    example = load().patterns["sample"]
    question = read(reply)
    lines = [o.text for o in question.items] + question.text.split("\n")
    for line in lines:
        if (m := PAIR.match(line)) and len(m[2]) <= 60 and not m[2].strip().endswith("?"):
            facts.append(Fact(m[1].strip().lower().replace(" ", "_"), m[2].strip().rstrip("."), "agent"))
    for m in load().patterns["from_to"].finditer(question.text):
        origin, destination = (place for place in m.groups() if place)
        facts += [Fact("origin", origin, "agent"), Fact("destination", destination, "agent")]
    shown = "\n".join(
        line[: m.start()] if (m := example.search(line.lower())) else line for line in question.text.split("\n")
    )
    facts += [Fact("", code, "agent") for code in codes(shown) if kind(code) == "code"]
    return tuple(facts)


def values(slot: Slot, facts: Sequence[Fact], talk: Talk) -> list[str]:
    """Values that answer a slot, best first, in the shape that the agent wants.

    >>> values(Slot("last_name", "your last name"), of_seed({"name": "Ann Lee"}), load())
    ['Lee']
    """
    wanted = naming(slot.name)
    scored: list[tuple[float, str]] = []
    for fact in facts:
        score = match(slot.name, fact.name) if fact.name else 0.0
        if (
            not fact.name
            and "number" in wanted.kinds
            and not _specific(wanted.kinds) - {"number"}
            and not wanted.persons
            and (not wanted.owners or _record(wanted))
        ):
            score = 0.5
        if not fact.name and not wanted.kinds and wanted.owners and _record(wanted):
            score = 0.4
        if score <= 0:
            continue
        value = _derived(fact, wanted)
        shaped = fits(value, slot.wish, talk)
        bare = re.sub(r"[\s-]", "", value)
        if not shaped and fits(bare, slot.wish, talk):
            value, shaped = bare, True
        scored.append(
            (
                score + (0.0 if shaped else -10.0) + (0.3 if fact.origin == "brief" else 0.0),
                fitted(value, slot.wish, talk),
            )
        )
    scored.sort(key=lambda row: -row[0])
    return list(dict.fromkeys(value for _, value in scored))


def _derived(fact: Fact, wanted: Naming) -> str:
    words = fact.value.split()
    if len(words) > 1 and "name" in naming(fact.name).kinds:
        if "surname" in wanted.kinds:
            return words[-1]
        if "forename" in wanted.kinds:
            return words[0]
    return fact.value


def _record(wanted: Naming) -> bool:
    """Whether a slot names a thing that has identifiers, as an order or a booking does."""
    return bool(wanted.owners & {stem(w) for w in load().words["records"]})


def identifying(slot: Slot) -> bool:
    """Whether a slot wants a value that identifies somebody or something, which is never made up."""
    parts = naming(slot.name)
    if load().patterns["thing"].search(slot.wish.lower()):
        return False
    identity = load().words["identity"]
    return bool(parts.kinds) or bool(parts.owners & {stem(w) for w in identity}) or _record(parts)


def mentions(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole.

    >>> mentions("I am M-12.", "M-12"), mentions("I am M-123.", "M-12")
    (True, False)
    """
    return bool(value) and _stands(text.lower(), value.lower())


def _stands(low: str, value: str) -> bool:
    return value in low and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", low) is not None


def identity(seed: Mapping[str, str]) -> list[str]:
    """Values of a seed that tell it from others, the most telling first."""
    order = {"code": 0, "email": 1, "phone": 2, "words": 3, "number": 4, "date": 5}
    rows = [(order.get(kind(f.value), 6), f.value) for f in of_seed(seed) if len(f.value) > 2]
    return [value for _, value in sorted(rows, key=lambda row: row[0])]


def seed_in(text: str, seeds: Sequence[Mapping[str, str]]) -> int:
    """Position of the seed that a text names by most of its values; -1 for none.

    Parts of values count little, but they count: an agent may ask for the last four digits only.
    """
    named = seeds_in(text, seeds)
    return named[0] if named else -1


def seeds_in(text: str, seeds: Sequence[Mapping[str, str]]) -> list[int]:
    """Positions of all seeds that a text names equally well: one person may have several records."""
    low = text.lower()
    counts = []
    for seed in seeds:
        whole, partial = _telling(tuple(seed.items()))
        counts.append(sum(_stands(low, v) for v in whole) + 0.2 * sum(_stands(low, v) for v in partial))
    best = max(counts, default=0)
    return [i for i, count in enumerate(counts) if best and count == best]


@lru_cache(maxsize=4096)
def _telling(items: tuple[tuple[str, str], ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Values of a seed by which it is recognised, in lower case: whole ones, and ends of numbers and dates in another order."""
    seed = dict(items)
    partial = []
    for fact in of_seed(seed):
        digits = re.sub(r"\D", "", fact.value)
        if day := calendar(fact.value):
            partial += [dressed(day, like) for like in _ORDERS]
        elif len(digits) > 4:
            partial.append(digits[-4:])
    return tuple(v.lower() for v in identity(seed)), tuple(v.lower() for v in partial)


def uses(sessions: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, str]]) -> list[int]:
    """How many sessions each seed was in play."""
    counts = [0] * len(seeds)
    for session in sessions:
        spoken = "\n".join(t["user"] for t in session["turns"])
        for position in seeds_in(spoken, seeds) or seeds_in(session.get("strategy", ""), seeds):
            counts[position] += 1
    return counts
