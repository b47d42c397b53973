"""Names of what a sentence of an agent asks for, and whether it rather names what the agent can do.

The labeller's `slots` finds noun phrases after a request; this adds phrases that end in a kind of value, so that
``"Pop me your member ID and surname."`` names two details although nothing in it reads as a request.
"""

from __future__ import annotations

import re

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.acts import Sentence
from agenteval.tester.rules.slots import requested
from agenteval.tester.rules.talk import Talk


def named(plain: str, talk: Talk, lex: lexicon.Lexicon) -> list[str]:
    """What a sentence asks for; where the labeller finds no kind of value, the phrases that end in one."""
    plain = re.sub(r"\s*\([^()]*\)", "", plain)
    plain = talk.patterns["and_not"].sub("", plain)
    for two, one in talk.names_in_two.items():
        plain = plain.replace(two, one)
    hollow = talk.words["hollow"]
    names = ["_".join(w for w in n.split("_") if w not in hollow or w == "of") for n in requested(plain, lex)]
    names = [n for n in names if n.strip("_of")]
    phrases = kinds_named(plain, talk, lex)
    known: set[str] = set()
    kept = []
    for name in names:
        kinds = {talk.classes.get(word, word) for word in name.split("_")} & talk.words["kinds"]
        # One birthday or e-mail address is meant, however often a sentence names it; numbers may be several.
        if not kinds or not kinds <= known or "number" in kinds:
            kept.append(name)
        known |= kinds
    if not known:
        return phrases or names
    return kept + [p for p in phrases if talk.classes.get(p.split("_")[-1], p.split("_")[-1]) not in known]


def kinds_named(plain: str, talk: Talk, lex: lexicon.Lexicon) -> list[str]:
    """Phrases of a sentence that end in a word for a kind of value."""
    plain = talk.patterns["imperative"].sub("", plain)
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


def names_services(plain: str, talk: Talk, lex: lexicon.Lexicon) -> bool:
    """Whether a sentence enumerates what the agent can do: it helps, or several verbs follow."""
    if talk.patterns["helps"].search(plain) or len(talk.patterns["own_clause"].findall(plain)) > 1:
        return True
    m = talk.patterns["services_base"].search(plain)
    parts = re.split(rf",|{talk.patterns['and_words'].pattern}", plain[m.end() :]) if m else []
    parts = [part for part in parts if part.strip()]
    return (len(parts) > 2 and all(len(part.split()) > 1 for part in parts)) or sum(
        bool(part.split()) and part.split()[0] in lex.forms for part in parts
    ) > 1


def is_gate(s: Sentence, talk: Talk, lex: lexicon.Lexicon) -> bool:
    """Whether a sentence asks for the final yes, and not for a detail to be confirmed."""
    if talk.patterns["wh"].match(s.plain) or not ("gate" in s.cues or talk.patterns["gate_more"].search(s.plain)):
        return False
    asked = {word for name in requested(s.plain, lex) for word in name.split("_")}
    return not asked & talk.words["kinds"] or any(c.isdigit() for c in s.plain)
