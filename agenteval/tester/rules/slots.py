"""Objects of a request: the noun phrases that an agent asks for, found in the sentence and not in a list.

``Could you please provide your user ID and the order number?`` -> ``("user_id", "order_number")``.
"""

from __future__ import annotations

import re

from agenteval.tester.rules.lexicon import Lexicon

_TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[,;:()/?.]")
_LABEL = re.compile(r"^([^\W\d][\w /'-]{1,40}?)\s*[:(?]")
MAX_SLOTS = 6


def _phrase(tokens: list[str], start: int, lexicon: Lexicon) -> tuple[str, int]:
    """Return the noun phrase that begins at or after `start`, and the place after it."""
    words, noise = lexicon.words, lexicon.words["slot_noise"]
    joints = words["slot_joints"]
    kept: list[str] = []
    i = start
    while i < len(tokens):
        token = tokens[i]
        if token in joints and kept and kept[-1] in words["slot_of"]:
            kept.append(token)
        elif not token[0].isalpha() or "'" in token or token in words["slot_stop"]:
            if not (kept and kept[-1] in joints and token in words["determiners"]):
                break
        elif token not in noise:
            kept.append(token)
        i += 1
    while kept and kept[-1] in joints:
        kept.pop()
    if joints & set(kept):
        kept = kept[: lexicon.slot_max_words]
        while kept[-1] in joints:
            kept.pop()
    return "_".join(kept[-lexicon.slot_max_words :]).replace("-", "_"), i


def requested(sentence: str, lexicon: Lexicon, *, item: bool = False) -> list[str]:
    """List what a sentence asks for, in its order and without repetition.

    Parameters
    ----------
    sentence : str
        Lower-case sentence.
    lexicon : Lexicon
        Question words, openers and stop words.
    item : bool
        The sentence is an item of a list, whose head up to a colon is a name.

    Returns
    -------
    list of str
        At most `MAX_SLOTS` names in snake case.
    """
    found: list[str] = []
    if item:
        label = _LABEL.match(sentence)
        if label:
            name, _ = _phrase(_TOKEN.findall(label.group(1)), 0, lexicon)
            return [name] if name else []
    asked = ""
    for pattern, name in lexicon.question_slots:
        match = pattern.search(sentence)
        if match:
            filled = name
            if match.groups() and match.group(1):
                words = [w for w in match.group(1).split() if w not in lexicon.words["slot_stop"]]
                filled = name.format("_".join(words[:1])) if words else ""
            if filled:
                found.append(filled)
                asked = match.group()
            break
    tokens = _TOKEN.findall(sentence)
    opened = _opened(tokens, lexicon.words["slot_openers"], lexicon)
    if not opened and not found:
        opened = _opened(tokens, lexicon.words["weak_slot_openers"], lexicon)
    if opened and found and found[0] in lexicon.words["vague_slots"]:
        found = []
    if found:
        opened = [n for n in opened if n not in found and not set(n.split("_")) <= set(asked.split())]
    return (found + opened)[:MAX_SLOTS]


def _opened(tokens: list[str], openers: frozenset[str], lexicon: Lexicon) -> list[str]:
    """Noun phrases behind the openers, and those that continue them after a comma or a conjunction."""
    words = lexicon.words
    found: list[str] = []
    i, linked = 0, False
    while i < len(tokens):
        fresh = not found or tokens[i] in words["question_openers"]
        inside = i > 0 and tokens[i - 1] in words["slot_prepositions"]
        opens = tokens[i] in openers and fresh and (not inside or tokens[i] in words["question_openers"])
        if not (opens or linked):
            i += 1
            continue
        i += opens
        while i < len(tokens) and tokens[i] in words["determiners"] | openers:
            i += 1
        name, after = _phrase(tokens, i, lexicon)
        if name and name not in found:
            found.append(name)
        i = max(after, i + (not opens))
        linked = bool(found) and i < len(tokens) and tokens[i] in words["slot_links"]
        i += linked
    return found
