"""What a reply of an agent wants of the customer: details, a choice, a yes, an open answer, or nothing.

``"Please type YES to continue."`` reads as a gate whose word is ``YES``; ``"Which size: small or large?"`` as a choice of
two. Speech acts of sentences come from the labeller (`acts`), names of details from `slots`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.acts import Sentence, read_sentence
from agenteval.tester.rules.slots import requested
from agenteval.tester.rules.talk import Talk, load
from agenteval.tester.rules.text import clean, sentences

ITEM = re.compile(r"^\s*(?:\(?(\d{1,2}|[A-Za-z])[.):](?=\s)|\[(\w{1,2})\]|(\d)\ufe0f?\u20e3|[-*\u2022\u00b7>]+(?=\s)|(\d{1,2}) -(?=\s))\s*(\S.*)$")
PAIR = re.compile(r"^([A-Za-z][\w /'-]{1,30}?):\s*(\S.*)$")
_INLINE = re.compile(r"(?:^|[\s,;:])\(?(\d)[.)]\s+(.+?)(?=[\s,;]+(?:or |and )?\(?\d[.)]\s|[.?!\n]|$)")
MOST_WORDS = 9


class Slot(NamedTuple):
    """A detail that is asked for, and the sentence in which it is."""

    name: str
    """Snake case; empty for a question whose object is not named."""
    wish: str


class Option(NamedTuple):
    """One of several things to choose from; the key is its number or letter, if it has one."""

    key: str
    text: str


class Question(NamedTuple):
    """A reply as seen by somebody who has to answer it. Several things may hold at once."""

    text: str
    slots: tuple[Slot, ...] = ()
    options: tuple[Option, ...] = ()
    items: tuple[Option, ...] = ()
    """Lines of lists, whether or not they are to choose from."""
    gate: bool = False
    word: str = ""
    """What to type at the gate."""
    offer: str = ""
    """A sentence that offers to do something."""
    yes_no: str = ""
    """A question that wants a yes or a no."""
    keyed: bool = False
    """The choice is wanted as a number."""
    open: bool = False
    more: bool = False
    refused: bool = False
    rejected: bool = False
    misunderstood: bool = False
    done: bool = False
    settles: bool = False
    """Reports something done if it follows a yes: "it is on its way"."""
    closed: bool = False
    transferred: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything is wanted at all."""
        return bool(self.slots or self.options or self.gate or self.offer or self.yes_no or self.open or self.more)


def inline_options(sentence: str, talk: Talk) -> list[str]:
    """The alternatives within one sentence; the last is the surest, because it ends with the question.

    >>> inline_options("Would you like standard or express delivery?", load())
    ['standard', 'express delivery']
    >>> inline_options("Which colour: black, blue or red?", load())
    ['black', 'blue', 'red']
    """
    body = re.sub(r"\s*[?.!]*\s*$", "", sentence)
    enclosed = re.search(r"\(([^()]{3,120})\)\s*$", body)
    if enclosed and re.search(rf"[,/]|{talk.single['or']}", enclosed[1]):
        body = enclosed[1]
    else:
        body = re.sub(r"\s*\([^()]*\)", "", body)
    if body != (enclosed and enclosed[1]) and "/" in body and (m := re.search(r"\b(\w+(?:/\w+)+)\b", body)) and not any(c.isdigit() for c in m[1]):
        return m[1].split("/")
    before, found, last = body.rpartition(talk.single["or"])
    if not found:
        parts = body.rsplit(":", 1)
        if len(parts) == 2 and parts[1].count(",") >= 1:
            return [p.strip() for p in parts[1].split(",") if p.strip()]
        return [] if not (enclosed and body == enclosed[1]) else [p.strip() for p in re.split(r"[,/]", body) if p.strip()]
    openers = list(talk.patterns["or_openers"].finditer(before.lower()))
    left = before[openers[-1].end() :] if openers else before
    if last and (m := talk.patterns["or_openers"].search(last.lower())) and len(last[: m.start()].split()) < 3:
        tail = last[m.end() :].strip()
        last = tail or last
    names = [re.sub(r"^(?:\W+)|(?:\W+)$", "", p) for p in [*re.split(r",|/", left), last]]
    return [n for n in names if n and len(n.split()) <= MOST_WORDS and not talk.patterns["or_vague"].search(n.lower())]


def _lists(cleaned: str, talk: Talk) -> tuple[list[Option], str, list[str]]:
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
    return items[:40], lead, rest


def _named(plain: str, talk: Talk, lex: lexicon.Lexicon) -> list[str]:
    """What a sentence asks for; where the labeller finds no kind of value, the phrases that end in one."""
    plain = re.sub(r"\s*\([^()]*\)", "", plain)
    for two, one in talk.names_in_two.items():
        plain = plain.replace(two, one)
    hollow = talk.words["hollow"]
    names = ["_".join(w for w in n.split("_") if w not in hollow or w == "of") for n in requested(plain, lex)]
    names = [n for n in names if n.strip("_of")]
    if any(talk.classes.get(w, w) in talk.words["kinds"] for n in names for w in n.split("_")):
        return names
    return _kinds_named(plain, talk, lex) or names


def _kinds_named(plain: str, talk: Talk, lex: lexicon.Lexicon) -> list[str]:
    """Phrases of a sentence that end in a word for a kind of value."""
    stops = lex.words["slot_stop"] | lex.words["determiners"] | talk.words["hollow"]
    phrases: list[list[str]] = []
    held: list[str] = []
    for word in [*re.findall(r"[\w'-]+|[,.;:?!()]", plain), "."]:
        if word in stops or not word[0].isalpha():
            if held and talk.classes.get(held[-1], held[-1]) in talk.words["kinds"]:
                phrases.append(held[-3:])
            held = []
        else:
            held.append(word)
    return ["_".join(p).replace("-", "_") for p in phrases]


def _own(plain: str, talk: Talk) -> bool:
    return bool(re.search(talk.single["owned"], plain))


def _names_services(plain: str, talk: Talk, lex: lexicon.Lexicon) -> bool:
    """Whether a sentence enumerates what the agent can do: it helps, or several verbs follow."""
    if talk.patterns["helps"].search(plain):
        return True
    m = talk.patterns["services_base"].search(plain)
    parts = re.split(rf",|{talk.patterns['and_words'].pattern}", plain[m.end() :]) if m else []
    return sum(bool(part.split()) and part.split()[0] in lex.forms for part in parts) > 1


def _unled(first: str, length: int) -> str:
    """The first of an enumeration without the words that introduce it: what follows a preposition, or as long as the second."""
    tokens = first.split()
    places = [i for i, word in enumerate(tokens) if word.lower() in lexicon.load().words["slot_prepositions"]]
    if places and places[-1] + 1 < len(tokens):
        return " ".join(tokens[places[-1] + 1 :])
    return " ".join(tokens[-length:]) if len(tokens) > length else first


def _field(text: str, talk: Talk) -> str:
    """The name of what an item of a list asks for; empty when the item tells something."""
    m = PAIR.match(text)
    if not m:
        return text
    value = m[2].strip()
    return m[1] if value.endswith("?") or value.startswith("(") or talk.patterns["plea"].search(value.lower()) else ""


def listing(spoken: list[str], talk: Talk) -> list[str]:
    """Things that sentences enumerate: after a colon or an introduction of examples, or in quotation marks.

    >>> listing(["You have two books out: The Sea, Dublin Walks."], load())
    ['The Sea', 'Dublin Walks']
    """
    single: list[str] = []
    for sentence in spoken:
        if sentence.endswith("?") and " - " not in sentence and ": " not in sentence:
            continue
        body = re.sub(r"\s*\([^()]*\)", "", sentence.split(" - ")[0]).rstrip(" .?!")
        quoted = re.findall(r"\"([^\"]{2,60})\"", body)
        if len(quoted) > 1:
            return quoted
        m = next(reversed([m for m in talk.patterns["examples"].finditer(body.lower()) if body[m.end() :].strip()]), None)
        _, colon, rest = body.partition(": ")
        if m and not (colon and m.start() < body.find(": ")):
            rest = re.split(r"[;)]", body[m.end() :])[0]
        rest = rest or body
        joined = talk.patterns["and_words"].search(f"{rest} ")
        parts = [p.strip(" \"'()") for p in re.split(rf",|;|{talk.patterns['and_words'].pattern}", rest) if p.strip(" \"'()")]
        parts = [talk.patterns["option_tail"].sub("", p) for p in parts]
        if len(parts) > 1 and not (colon or m):
            parts[0] = _unled(parts[0], len(parts[1].split()))
        if parts and all(len(p.split()) <= MOST_WORDS for p in parts):
            if len(parts) > 1 and (colon or joined):
                return parts[:12]
            single = single or (parts if colon else [])
    return single


def _is_gate(s: Sentence, talk: Talk, lex: lexicon.Lexicon) -> bool:
    if talk.patterns["wh"].match(s.plain) or not ("gate" in s.cues or talk.patterns["gate_more"].search(s.plain)):
        return False
    return not set().union(*(n.split("_") for n in requested(s.plain, lex)), ()) & talk.words["kinds"] or bool(
        re.search(r"\d", s.plain))


@lru_cache(maxsize=4096)
def read(text: str) -> Question:
    """Read one reply.

    >>> q = read("Thanks! Could you give me your member number and your date of birth?")
    >>> [s.name for s in q.slots], q.gate
    (['date_of_birth', 'member_number'], False)
    >>> read("You will lose the seat. Type YES to go on.").word
    'YES'
    """
    talk, lex = load(), lexicon.load()
    p = talk.patterns
    cleaned = clean(text)
    items, lead, rest = _lists(cleaned, talk)
    spoken = sentences("\n".join(rest), lex)
    read_all = [read_sentence(s, lex.language) for s in spoken]
    facts: dict[str, bool | str] = {}
    slots: list[Slot] = []
    inline: list[str] = []
    surely = False
    chosen = bool(items) and bool(p["chooses"].search(lead.lower()) or p["wants_number"].search(cleaned.lower()))
    for i, s in enumerate(read_all):
        plain, question = s.plain, s.plain.endswith("?")
        following = read_all[i + 1].plain if i + 1 < len(read_all) else ""
        if "completion" in s.cues:
            facts["done"] = True
        if "completion_after_gate" in s.cues and not question:
            facts["settles"] = True
        if "transfer" in s.cues:
            facts["transferred"] = True
        if p["misunderstood"].search(plain):
            facts["misunderstood"] = True
        elif p["rejected"].search(plain) and not question:
            facts["rejected"] = True
        elif ({"deny", "unavailable"} & s.cues or p["refused_more"].search(plain)) and not (question or p["pending"].search(plain)):
            facts["refused"] = True
        m = p["type_phrase"].search(plain)
        if m and not p["type_phrase_not"].search(m[1]):
            facts["gate"] = True
            facts.setdefault("word", spoken[i][m.start(1) : m.end(1)] if len(spoken[i]) == len(plain) else m[1])
            continue
        if m:
            continue
        m = p["type_word"].search(plain)
        if m and m[1] in talk.words["yes_words"]:
            facts["gate"] = True
            facts["word"] = spoken[i][m.start(1) : m.end(1)] if len(spoken[i]) == len(plain) else m[1]
            continue
        if p["more_question"].search(plain) and (question or "more_help" in s.cues):
            facts["more"] = True
            continue
        if p["open_question"].search(plain):
            facts["open"] = True
            continue
        if "close" in s.cues and not question:
            facts["closed"] = True
        if _is_gate(s, talk, lex):
            facts["gate"] = True
            surely = surely or question
            continue
        if p["not_a_request"].search(plain):
            _, comma, rest = plain.partition(", ")
            if not (question and comma):
                continue
            plain = rest
        if p["exclaims"].search(plain):
            continue
        wh = bool(p["wh"].search(plain))
        if question and not wh and ({"gate_verb", "offer"} & s.cues or p["proposal"].search(plain)) and talk.single["or"] not in plain:
            facts["offer"] = spoken[i]
            continue
        label = plain.endswith(":") and not items
        if not (question or label or "request" in s.cues or p["imperative"].search(plain) or p["requires"].search(plain)):
            continue
        if wh and i and p["which"].search(plain) and _names_services(read_all[i - 1].plain, talk, lex):
            facts["open"] = True
            continue
        if question and p["any_of"].search(plain):
            slots.append(Slot("", f"{spoken[i]} {following}"))
            continue
        if items and (p["chooses"].search(plain)):
            chosen = True
        if items and p["wants_number"].search(plain):
            chosen = True
            continue
        alternatives = inline_options(spoken[i], talk) if question or ":" in plain else []
        names = [n for n in _named(plain, talk, lex) if len(n) > 1]
        if wh and p["which"].search(plain) and not surely and items:
            facts.pop("gate", None)
        if alternatives and p["goes_on"].search(alternatives[0].lower()):
            facts["gate"] = True
        elif len(alternatives) >= 2 and not set("_".join(names).split("_")) & talk.words["identity"]:
            inline = alternatives
            if wh:
                slots += [Slot(n, f"{plain} {following}") for n in names[:1]]
        elif names and (wh or not question or p["asks_for"].search(plain) or not p["aux"].search(plain)):
            slots += [Slot(n, f"{spoken[i]} {following}") for n in names if n not in {x.name for x in slots}]
        elif wh:
            slots.append(Slot("", f"{spoken[i]} {following}"))
        elif question:
            facts["yes_no"] = spoken[i]
    if not slots and not inline and not facts.keys() & {"gate", "offer", "yes_no", "open", "done", "more"}:
        # A request in words that the lexicon does not know still names what it wants as the customer's own.
        for i, s in enumerate(read_all):
            if _own(s.plain, talk) and not p["not_a_request"].search(s.plain):
                slots += [Slot(n, spoken[i]) for n in _kinds_named(s.plain, talk, lex)]
    options: list[Option] = []
    fields = [_field(o.text.strip("*_ "), talk) for o in items]
    valued = sum(bool({talk.classes.get(w, w) for n in _named(f.lower(), talk, lex) for w in n.split("_")} & talk.words["kinds"]) for f in fields)
    valued += sum("?" in o.text and bool(f) for o, f in zip(items, fields, strict=True))
    if items and 2 * valued > len(items):
        chosen = False
    if items and not chosen and p["asks_for"].search(lead.lower()) and not facts.keys() & {"gate", "done"} and (
        2 * valued > len(items) or not p["lists_services"].search(lead.lower())
    ):
        named = [(requested(f"{f.lower()}:", lex, item=True) or _named(f.lower(), talk, lex), o.text)
                 for f, o in zip(fields, items, strict=True) if f]
        slots = [Slot(n[0], t) for n, t in named if n] or slots
        facts.pop("yes_no", None)
    elif items and not facts.get("gate") and (chosen or facts.get("open") or p["lists_services"].search(lead.lower())
                                             or (not slots and any(s.plain.endswith("?") for s in read_all))):
        keyed_items = [o for o in items if o.key]
        options = [] if all(PAIR.match(o.text) for o in items if not o.key) and not keyed_items else keyed_items or items
    elif inline:
        options = [Option("", name) for name in inline]
    keyed = bool(options and all(o.key for o in options) and p["wants_number"].search(cleaned.lower()))
    if not options and not facts.get("gate") and any(
        p["which"].search(s.wish.lower()) or p["any_of"].search(s.wish.lower()) for s in slots
    ):
        asking = {s.wish for s in slots}
        options = [Option("", name) for name in listing([x for x in spoken if not any(x in wish for wish in asking)] + spoken, talk)]
    return Question(text=cleaned, slots=tuple(slots[:6]), options=tuple(options), items=tuple(items), keyed=keyed, **facts)


def outcome(reply: str, before: str) -> str:
    """What a reply decides: ``done``, ``refused``, or nothing yet.

    >>> outcome("That is on its way.", "Shall I go ahead?"), outcome("That is on its way.", "")
    ('done', '')
    """
    question = read(reply)
    if question.done or (question.settles and not (question.gate or question.slots) and (read(before).gate or read(before).offer)):
        return "done"
    return "refused" if question.refused else ""


def outcomes(session: Mapping[str, Any]) -> list[str]:
    """The outcome of each turn of a session."""
    replies = [session["greeting"], *(turn["agent"] for turn in session["turns"])]
    return [outcome(reply, before) for before, reply in zip(replies, replies[1:], strict=False)]
