"""Enumerations in a reply: lines of lists, menus within a line, alternatives of a question, things that are named.

``"Press 1 for billing, 2 for support."`` has the items ``1 billing`` and ``2 support``; ``"red or blue?"`` has two.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.shapes import dates
from agenteval.tester.rules.talk import Talk

_KEY = r"\(?(\d{1,2}|[A-Za-z])[.):](?=\s)|\[(\w{1,2})\]|(\d)\ufe0f?\u20e3|(\d{1,2}) -(?=\s)"
ITEM = re.compile(rf"^\s*(?:{_KEY}|[-*\u2022\u00b7>]+(?=\s))\s*(\S.*)$")
PAIR = re.compile(r"^([A-Za-z][\w /'-]{1,30}?):\s*(\S.*)$")
_INLINE = re.compile(r"(?:^|[\s,;:])[(\[]?(\d)[.)\]]\s+(.+?)(?=[\s,;]+(?:or |and )?[(\[]?\d[.)\]]\s|[.?!\n]|$)")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
MOST_WORDS = 9
MOST_ITEMS = 40


class Option(NamedTuple):
    """One of several things to choose from; the key is its number or letter, if it has one."""

    key: str
    text: str


def whole_dates(text: str) -> str:
    """A text whose dates hold no comma, at which an enumeration would be cut.

    >>> whole_dates("out on May 4, 2025 and back on May 9, 2025")
    'out on May 4 2025 and back on May 9 2025'
    """
    for value in dates(text):
        text = text.replace(value, value.replace(",", ""))
    return text


def inline_options(sentence: str, talk: Talk) -> list[str]:
    """The alternatives within one sentence; the last is the surest, because it ends with the question.

    >>> from agenteval.tester.rules.talk import load
    >>> inline_options("Would you like standard or express delivery?", load())
    ['standard', 'express delivery']
    >>> inline_options("Which colour: black, blue or red?", load())
    ['black', 'blue', 'red']
    """
    body = whole_dates(re.sub(r"\s*[?.!]*\s*$", "", sentence))
    told = talk.patterns["which_of_these"].search(body.lower())
    if told:
        parts = re.split(rf",|;|{talk.patterns['and_words'].pattern}|{talk.single['or']}", body[: told.start()])
        named = [part.strip() for part in parts if part.strip()]
        if len(named) > 1:
            first = _unled(named[0], len(named[1].split())) if len(named[0].split()) > MOST_WORDS else named[0]
            lead = talk.patterns["option_lead"]
            return [n for n in (lead.sub("", n) for n in [first, *named[1:]]) if len(n.split()) <= MOST_WORDS]
    enclosed = re.search(r"\(([^()]{3,120})\)\s*$", body)
    if enclosed and body.count("(") == 1 and re.search(rf"[,/]|{talk.single['or']}", enclosed[1]):
        return [p.strip() for p in re.split(rf"[,/]|{talk.single['or']}", enclosed[1]) if p.strip()]
    body = _BRACKETS.sub("", body)
    slashed = re.search(r"\b(\w+(?:/\w+)+)\b", body)
    if slashed and not any(c.isdigit() for c in slashed[1]):
        return slashed[1].split("/")
    before, found, last = body.rpartition(talk.single["or"])
    if not found:
        _, colon, rest = body.rpartition(":")
        return [p.strip() for p in rest.split(",") if p.strip()] if colon and "," in rest else []
    proposal = talk.patterns["proposes_to"].search(before.lower())
    openers = [proposal] if proposal else list(talk.patterns["or_openers"].finditer(before.lower()))
    left = before[openers[-1].end() :] if openers else before
    opener = talk.patterns["or_openers"].search(last.lower())
    if opener and len(last[: opener.start()].split()) < 3:
        last = last[opener.end() :].strip() or last
    lead = talk.patterns["option_lead"]
    names = [lead.sub("", re.sub(r"^(?:\W+)|(?:\W+)$", "", p)) for p in [*re.split(r",|/", left), last]]
    if any(talk.patterns["wh"].search(n.lower()) for n in names):
        return []  # "Until what date, or for how many nights?" is two ways to ask for one thing.
    return [n for n in names if n and len(n.split()) <= MOST_WORDS and not talk.patterns["or_vague"].search(n.lower())]


def items_of(cleaned: str, talk: Talk) -> tuple[list[Option], str, list[str]]:
    """Items of lists, the line before the first of them, and the lines that are no items."""
    items: list[Option] = []
    rest: list[str] = []
    lead = ""
    for line in cleaned.split("\n"):
        m = ITEM.match(line)
        if m:
            if not items:
                lead = rest[-1] if rest else ""
            items.append(Option(next((g for g in m.groups()[:4] if g), ""), m[5].strip()))
        else:
            rest.append(line)
    if not items:
        found = _INLINE.findall(cleaned)
        if len(found) >= 2 and [k for k, _ in found][:2] == ["1", "2"]:
            items = [Option(k, v.strip(" ,;")) for k, v in found]
            lead = cleaned[: cleaned.find(found[0][1])]
            rest = [*(p for p in [_INLINE.sub(" ", cleaned)] if p.strip())]
        else:
            pressed = talk.patterns["press_for"].findall(cleaned.lower())
            if len(pressed) >= 2:
                items, lead = [Option(k, v.strip()) for k, v in pressed], cleaned.split("\n")[0]
    return items[:MOST_ITEMS], lead, rest


def _unled(first: str, length: int) -> str:
    """The first of an enumeration without its introduction: what follows a preposition, or as long as the second."""
    tokens = first.split()
    places = [i for i, word in enumerate(tokens) if word.lower() in lexicon.load().words["slot_prepositions"]]
    if places and places[-1] + 1 < len(tokens):
        return " ".join(tokens[places[-1] + 1 :])
    return " ".join(tokens[-length:]) if len(tokens) > length else first


def field(text: str, talk: Talk) -> str:
    """The name of what an item of a list asks for; empty when the item tells something."""
    m = PAIR.match(text)
    if not m:
        return text
    value = m[2].strip()
    return m[1] if value.endswith("?") or value.startswith("(") or talk.patterns["plea"].search(value.lower()) else ""


def listing(spoken: list[str], talk: Talk) -> list[str]:
    """Things that sentences enumerate: after a colon or an introduction of examples, or in quotation marks.

    >>> from agenteval.tester.rules.talk import load
    >>> listing(["You have two books out: The Sea, Dublin Walks."], load())
    ['The Sea', 'Dublin Walks']
    """
    single: list[str] = []
    for sentence in spoken:
        if sentence.endswith("?") and " - " not in sentence and ": " not in sentence:
            continue
        if talk.patterns["imperative"].search(sentence.lower()) and ": " not in sentence:
            continue
        body = whole_dates(_BRACKETS.sub("", sentence.split(" - ")[0]).rstrip(" .?!"))
        quoted = re.findall(r"\"([^\"]{2,60})\"", body)
        if len(quoted) > 1:
            return quoted
        introductions = [m for m in talk.patterns["examples"].finditer(body.lower()) if body[m.end() :].strip()]
        m = introductions[-1] if introductions else None
        _, colon, rest = body.partition(": ")
        if m and not (colon and m.start() < body.find(": ")):
            rest = re.split(r"[;)]", body[m.end() :])[0]
        if colon and sentence.endswith("?") and talk.patterns["wh"].search(rest.lower()):
            continue
        rest = rest or body
        joined = talk.patterns["and_words"].search(f"{rest} ")
        pieces = [p.strip(" \"'()") for p in re.split(rf",|;|{talk.patterns['and_words'].pattern}", rest)]
        parts = [talk.patterns["option_tail"].sub("", p) for p in pieces if p]
        if len(parts) > 1 and not (colon or m):
            if talk.patterns["refuse_service"].search(rest.lower()):
                parts = parts[2:]  # What is turned down stands first, and perhaps a clause about the rest.
            else:
                length = len(parts[1].split())
                bare = talk.patterns["option_lead"].sub("", parts[0])
                parts[0] = bare if bare != parts[0] and len(bare.split()) <= length + 1 else _unled(parts[0], length)
        if parts and all(len(p.split()) <= MOST_WORDS for p in parts):
            if len(parts) > 1 and (colon or joined) or len(parts) > 3:
                return parts[:12]
            single = single or (parts if colon else [])
    return single
