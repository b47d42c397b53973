"""Services that an agent says it has, in its own words, and requests for them.

``"I can help with renewing loans, reserving books and paying fines."`` names three; each has content words by
which it is found again in what customers and agents say later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.enumerations import Option
from agenteval.tester.rules.questions import Question, read
from agenteval.tester.rules.talk import Talk, load, say
from agenteval.tester.rules.text import sentences

ENUMERATED = 4
_NUMBERED = re.compile(r"\(?\b\d{1,2}[).]\s+")
MOST_WORDS = 8
KEYS = (
    ("services_base", "base"),
    ("services_question", "base"),
    ("services_noun", "noun"),
    ("services_offer", "base"),
)
"""What introduces services in a sentence, and the grammar of what follows."""
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


class Service(NamedTuple):
    """A service in the agent's words, as they fit into a request."""

    text: str
    form: Literal["base", "ing", "noun"]
    """Grammar: an infinitive, a gerund, or a noun phrase."""
    words: frozenset[str]
    """What it is about, free of inflection."""


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """Words that carry meaning, each reduced to its task or its first letters.

    >>> sorted(content("Renewing my loans")) == sorted(content("a loan renewal"))
    True
    """
    lex, talk = lexicon.load(), load()
    found = set()
    words = [word.removesuffix("'s") for word in _WORD.findall(text.lower())]
    # A booking is what is cancelled in "cancel a booking", and what is done in "new bookings".
    acted = any(code in "BDGN" and task != lex.generic for word in words for code, task in lex.forms.get(word, ()))
    for word in words:
        if word in lex.forms:
            tasks = [task for code, task in lex.forms[word] if task != lex.generic and code != lexicon.LOOKUP_CODE]
            if tasks:
                found.add(talk.classes.get(word, tasks[0]) if acted else tasks[0])
                continue
        if len(word) < 3 or word in talk.words["service_stop"] or word in lex.words["slot_stop"]:
            continue
        if word in talk.classes:
            found.add(talk.classes[word])
            continue
        found.add(stem(word))
    return frozenset(found)


def stem(word: str) -> str:
    """A word without its commonest endings; crude on purpose, for comparing only."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "als", "al", "es", "ed", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:6]


def alike(a: frozenset[str], b: frozenset[str]) -> float:
    """Share of the smaller set of words that the other has."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _form(text: str, led_by: str) -> Literal["base", "ing", "noun"]:
    lex = lexicon.load()
    first, *rest = text.lower().split()
    if first in lex.words["determiners"]:
        return "noun"
    codes = {code for code, _ in lex.forms.get(first, ())}
    if first.endswith("ing") and len(first) > 5:
        return "ing"
    if (
        led_by == "base"
        or (codes and codes <= set("BL") and rest)
        or ("B" in codes and rest and rest[0] in lex.words["determiners"])
        or (rest and rest[0] in lex.words["determiners"] - lex.words["slot_prepositions"] and not codes)
    ):
        return "base"
    return "noun"


def _service(phrase: str, led_by: str, talk: Talk, *, listed: bool = False) -> Service | None:
    text = phrase.strip(" \t.,;:!?\"'*-")
    for _ in range(3):
        text = re.sub(talk.patterns["service_noise"].pattern, "", text, flags=re.I).strip()
    text = talk.patterns["cut_option"].sub("", text)
    for pattern, turned in talk.turned:
        text = pattern.sub(turned, text)
    if led_by == "base" and (served := talk.patterns["serves"].search(text.lower())):
        text, led_by = text[served.end() :], "noun"
    one = re.match(r"\s*(?:and |or )?(an? )", phrase, re.I)
    if led_by == "noun" and one and text:
        text = one[1] + text
    words = text.split()
    if not words or len(words) > MOST_WORDS or not content(text) or talk.patterns["leave_options"].search(text.lower()):
        return None
    first = words[0].lower()
    if re.search(r"\d{3}", text):
        return None
    if talk.patterns["pronoun_object"].search(text.lower()):
        return None
    if first in talk.words["choosing"] or first in lexicon.load().words["slot_prepositions"]:
        return None
    if first in talk.words["service_stop"] and led_by != "item" and not (listed and len(words) > 2):
        return None
    if words[0][:1].isupper() and not words[0].isupper():
        text = text[0].lower() + text[1:]
    return Service(text, _form(text, led_by), content(text))


def split(phrase: str, talk: Talk) -> list[str]:
    """The parts of an enumeration; a lone verb takes the object of the part after it.

    >>> split("book, change or cancel appointments, and order medicine", load())
    ['book appointments', 'change appointments', 'cancel appointments', 'order medicine']
    """
    lex = lexicon.load()
    parts = [p.strip() for p in re.split(rf",|{talk.patterns['and_words'].pattern}", phrase) if p.strip()]
    whole: list[str] = []
    for i, part in enumerate(parts):
        words = part.lower().split()
        codes = {code for code, _ in lex.forms.get(words[0], ())}
        known = "B" in codes or words[0].endswith("ing")
        if len(words) == 1 and known:
            later = next((p for p in parts[i + 1 :] if len(p.split()) > 1), "")
            whole.append(f"{part} {' '.join(later.split()[1:])}" if later else part)
        else:
            whole.append(part)
    return whole


def _with_objects(parts: Sequence[str], talk: Talk) -> list[str]:
    """Infinitives of an enumeration, with the object that a pronoun stands for.

    >>> _with_objects(["book trips", "cancel them"], load())
    ['book trips', 'cancel trips']
    """
    whole: list[str] = []
    thing = ""
    for part in parts:
        first, *rest = part.split()
        if thing and rest and talk.patterns["pronoun_object"].search(part.lower()):
            rest = [*(word for word in thing.split() if not talk.patterns["new_words"].fullmatch(word)), *rest[1:]]
        whole.append(" ".join([first, *rest]))
        thing = " ".join(rest) or thing
    return whole


def _acts(part: str) -> bool:
    """Whether a part of an enumeration of infinitives may be one: it begins with a known verb, or is too long for a thing."""
    words = part.split()
    return len(words) > 2 or "B" in dict(lexicon.load().forms.get(words[0].lower(), ()))


def _proper(part: str) -> bool:
    """Whether a part of an enumeration is a name, such as a city: all words capital, none of which is known.

    >>> _proper("New York"), _proper("Refunds"), _proper("new bookings")
    (True, False, False)
    """
    words = _WORD.findall(part)
    known = lexicon.load().forms.keys() | load().classes.keys()
    return bool(words) and all(w[0].isupper() for w in words) and not any(w.lower() in known for w in words)


@lru_cache(maxsize=4096)
def services(text: str, early: bool = False) -> tuple[Service, ...]:
    """Services that one reply names: in lists under a lead, in sentences, and in offers.

    `early` says that the reply is a greeting, or answers the question what the agent can do.
    """
    talk, lex = load(), lexicon.load()
    p = talk.patterns
    question = read(text)
    found: list[Service | None] = []
    if menu(question, early):
        verbal = _verbal(question.items)
        found += [_service(o.text, "base" if verbal else "item", talk, listed=True) for o in question.items]
    items = {o.text for o in question.items}
    for sentence in sentences(question.text, lex):
        low = sentence.lower()
        if sentence in items or p["more_question"].search(low) and low.endswith("?"):
            continue
        for key, led_by in KEYS:
            m = p[key].search(low)
            if key == "services_offer" and not question.refused:
                continue
            if not m or p["refuse_service"].search(low[: m.end()]):
                continue
            if low.endswith("?") and led_by == "noun" and not p["helps"].search(low):
                continue
            rest = sentence[m.end() :]
            if end := p["service_end"].search(rest.lower()):
                rest = rest[: end.start()]
            parts = split(rest, talk)
            if led_by == "base":
                parts = _with_objects(parts, talk)
            grammar = [led_by if led_by == "noun" or n == 0 or _acts(part) else "noun" for n, part in enumerate(parts)]
            offered = [
                None if n and _proper(part) else _service(part, how, talk, listed=len(parts) > 1)
                for n, (part, how) in enumerate(zip(parts, grammar, strict=True))
            ]
            if sum(map(_proper, parts)) * 2 > len(parts):
                continue
            if key == "services_question" and not (early or len(parts) > 1):
                continue
            if led_by == "base":
                # After infinitives, one or two words without a verb are further things to ask about.
                verbal = [s for s in offered if s and (len(s.text.split()) > 1 or s.text.lower() in lex.forms)]
                found += verbal if verbal and offered[0] == verbal[0] else []
            elif len(offered) > 1 or any(
                s and (s.form == "ing" or s.text.endswith(talk.single["plural"])) for s in offered
            ):
                found += offered
    if early and question.options and not question.items and not any(found):
        found += [_service(part, "noun", talk) for part in split(", ".join(o.text for o in question.options), talk)]
    if early and not any(found):
        found += [_service(part, "noun", talk, listed=True) for part in _enumerated(question.text, talk)]
    kept: list[Service] = []
    for service in found:
        if service and not any(service.words == other.words for other in kept):
            kept.append(service)
    return tuple(kept)


def _enumerated(text: str, talk: Talk) -> list[str]:
    """The longest enumeration of a text, of four things or more: whoever is asked what they do and enumerates names services.

    >>> _enumerated("Refunds, new cards, loans and statements: that is what I do.", load())
    ['Refunds', 'new cards', 'loans', 'statements']
    >>> _enumerated("I do: 1) refunds, 2) new cards, 3) loans, 4) statements.", load())
    ['refunds', 'new cards', 'loans', 'statements']
    """
    flat = " ".join(text.split())
    numbered = [part.strip(" ,;.") for part in _NUMBERED.split(flat)[1:]]
    if len(numbered) >= ENUMERATED:
        return numbered
    stretches = [split(side, talk) for sentence in sentences(flat, lexicon.load()) for side in sentence.strip(" .!?").split(":")]
    longest = max(stretches, key=len, default=[])
    return longest if len(longest) >= ENUMERATED and sum(len(part.split()) for part in longest) <= 4 * len(longest) else []


def _verbal(items: Sequence[Option]) -> bool:
    """Whether the items of a menu begin with verbs: most of them do, so that the others, less known, do too."""
    first = [o.text.lower().strip("*_ ").partition(" ")[0] for o in items]
    known = [lexicon.load().forms.get(word, ()) for word in first]
    return sum("B" in dict(readings) for readings in known) * 2 > len(items)


def menu(question: Question, early: bool = False) -> bool:
    """Whether the list of a reply is one of services, and not of records, choices or details.

    A greeting (`early`) knows no records yet: what it lists to choose from is services.
    """
    talk = load()
    if len(question.items) < 2 or question.slots or question.gate:
        return False
    lines = question.text.split("\n")
    first = next((i for i, line in enumerate(lines) if question.items[0].text in line), 0)
    lead = " ".join(lines[max(0, first - 2) : first + 1]).lower()
    verbal = sum(_form(o.text.strip("*_ ") or "-", "item") != "noun" for o in question.items)
    if (
        early
        and question.options
        or question.open
        and verbal * 2 >= len(question.items)
        or talk.patterns["press_for"].search(lead)
    ):
        return True
    return bool(talk.patterns["lists_services"].search(lead)) and (
        verbal * 2 >= len(question.items) or not question.options
    )


def named(sessions: Iterable[Mapping[str, Any]]) -> list[Service]:
    """Services that sessions name, in order of first mention, without near repetitions.

    What a greeting lists, and what is listed when the customer asks what the agent can do, is services.
    """
    asks = load().patterns["asks_services"]
    kept: list[Service] = []
    for session in sessions:
        told = [(session["greeting"], True)]
        told += [(turn["agent"], asks.search(turn["user"].lower()) is not None) for turn in session["turns"]]
        for text, early in told:
            for service in services(text, early):
                if not any(service.words <= other.words or _same(service.words, other.words) for other in kept):
                    kept.append(service)
    return kept


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    if min(len(a), len(b)) > 1 and (a <= b or b <= a):
        return True
    return len(a & b) / len(a | b) >= 0.6 if a | b else True


def request(service: Service, key: Any) -> str:
    """A request for a service, in a customer's words."""
    return say(load(), service.form, (key, service.text), x=service.text)


def in_a_verb(goal: str, key: Any) -> str:
    """A request whose task is named by a noun, said with the verb; empty where there is none.

    >>> in_a_verb("I am interested in cancellations.", 0)
    'I want to cancel something.'
    """
    lex, talk = lexicon.load(), load()
    words = [(m.group().lower(), m.end()) for m in _WORD.finditer(goal)]
    for word, end in words:
        readings = dict(lex.forms.get(word, ()))
        # A weak noun, such as a booking, is what is done only where a new one is meant.
        task = readings.get("N") or (readings.get("W") if talk.patterns["new_words"].search(goal.lower()) else None)
        if not task or "B" in readings:
            continue
        of = re.match(r"\s+(?:\w{2,3})\s+([\w' -]+)", goal[end:])
        thing = of[1] if of and of[1].split()[0] not in talk.words["service_stop"] else talk.single["something"]
        return say(talk, "in_a_verb", (key, goal), x=f"{task} {thing}")
    return ""


def meant(session: Mapping[str, Any]) -> list[str]:
    """What the customer said in a session, with a choice by number replaced by what was chosen.

    >>> greeting = "Please reply with a number: 1) Book a visit 2) Cancel a visit"
    >>> meant({"greeting": greeting, "turns": [{"user": "2", "agent": ""}]})
    ['Cancel a visit']
    """
    before = [session["greeting"], *(turn["agent"] for turn in session["turns"])]
    said = []
    for reply, turn in zip(before, session["turns"], strict=False):
        keyed = {o.key: o.text for o in read(reply).options if o.key}
        said.append(keyed.get(turn["user"].strip(" ."), turn["user"]))
    return said
