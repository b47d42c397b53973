"""Speech acts of one sentence of an agent: which cues of the lexicon it carries, and which task verbs.

``Your order has been cancelled.`` -> cues ``{completion}``, verbs ``(W order), (D cancel)``. A guard takes a cue back:
a past fact with its date is background, a refusal that waits for a missing detail is a request.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from agenteval.tester.rules.lexicon import LOOKUP_CODE, Cue, Lexicon, load

_TOKEN = re.compile(r"[\w][\w'-]*")
# Names of the acts of a reply, the heads of all activities.
GATE, DONE, DENY, FAIL = "request_confirmation", "confirm_completion", "deny_and_explain_policy", "report_failure"
NONE, OFFER, TRANSFER, REQUEST = "report_unavailable", "offer", "transfer", "request"
OPTIONS, DETAILS, ANSWER = "present_options", "present_details", "answer_question"
CLOSE, MORE, ANNOUNCE, GREET = "close", "offer_more_help", "announce_action", "greet"

STRONG = "BDGN"
_MARK = re.compile(r"~([A-Z]+):(\w+)")


class Verb(NamedTuple):
    """A task verb in a sentence: the code of its form (``B D G N W L``, several when undecided) and the task."""

    code: str
    task: str


class Sentence(NamedTuple):
    """One sentence, lower case, beside its marked form and what was found in it."""

    plain: str
    marked: str
    verbs: tuple[Verb, ...]
    cues: frozenset[str]


def mark(plain: str, lexicon: Lexicon) -> tuple[str, tuple[Verb, ...]]:
    """Mark each verb form with its readings; after a determiner only a noun reading is left."""
    verbs: list[Verb] = []
    determiners = lexicon.words["determiners"]
    last = ["", 0]

    def replace(match: re.Match) -> str:
        word, before = match.group(), last[0]
        last[0] = word
        readings = lexicon.forms.get(word)
        if not readings:
            return word
        if "_".join(plain[match.end() :].split(maxsplit=2)[:2]).strip(".,;:!?") in lexicon.words["phrase_ends"]:
            return word
        nouns = [r for r in readings if r[0] in "NW"]
        if before in determiners or before.isdigit():
            readings = nouns
        if not readings:
            return word
        task = readings[0][1]
        code = "".join(sorted({c for c, t in readings if t == task}))
        verbs.append(Verb(code, task))
        return f"{word}~{code}:{task}"

    return _TOKEN.sub(replace, plain), tuple(verbs)


def matches(cue: Cue, plain: str, marked: str) -> re.Match | None:
    """Return the first match of a cue, on the marked sentence when it has one there."""
    found = cue.marked.search(marked) if cue.marked else None
    if found is None and cue.plain:
        found = cue.plain.search(plain)
    return found


def tasks_in(marked: str, lexicon: Lexicon, codes: str = "BDGNW") -> list[str]:
    """List the tasks named in a marked stretch of text by forms of the given codes, in order.

    >>> tasks_in("the cancellation~N:cancel has been processed~D:do", load())
    ['cancel']
    """
    found = [
        task
        for code, task in _MARK.findall(marked)
        if task != lexicon.generic and LOOKUP_CODE not in code and set(code) & set(codes)
    ]
    return list(dict.fromkeys(found))


def looks_up(marked: str) -> bool:
    """Tell whether a stretch of text names a lookup, such as to check or to find."""
    return any(LOOKUP_CODE in code for code, _ in _MARK.findall(marked))


def verb_in(marked: str, lexicon: Lexicon) -> str:
    """Name the task of a marked stretch of text: an action before its settling, an action before a weak noun.

    >>> verb_in("refund~BN:refund the cancellation~N:cancel of my order~W:order", load())
    'cancel'
    """
    strong = tasks_in(marked, lexicon, STRONG)
    chosen = [t for t in strong if t not in lexicon.words["settling"]] or strong or tasks_in(marked, lexicon)
    return chosen[0] if chosen else ""


def verb_at(sentence: Sentence, key: str, lexicon: Lexicon) -> str:
    """Name the task beside a cue: the first from the cue on, else the first of the sentence.

    The place is counted in words, because a mark lengthens a word but never splits it.
    """
    match = matches(lexicon.cues[key], sentence.plain, sentence.marked)
    if match:
        words = len(match.string[: match.start()].split())
        rest = " ".join(sentence.marked.split()[words:])
        if tasks_in(rest, lexicon, STRONG):
            return verb_in(rest, lexicon)
    return verb_in(sentence.marked, lexicon)


def _completes(key: str, plain: str, marked: str, lexicon: Lexicon) -> bool:
    """Tell whether a completion is claimed: a condition or negation takes it back from before only."""
    match = matches(lexicon.cues[key], plain, marked)
    if match is None or plain.endswith("?"):
        return False
    said = _MARK.sub("", match.string[: match.end()])
    return matches(lexicon.cues["completion_guard"], said, said) is None


@lru_cache(maxsize=1 << 15)
def read_sentence(text: str, language: str = "en") -> Sentence:
    """Read one sentence of an agent.

    Parameters
    ----------
    text : str
        A sentence as `text.sentences` returns it.
    language : str
        Lexicon to read it with.

    Returns
    -------
    Sentence
        With the cues that no guard took back.
    """
    lexicon = load(language)
    plain = text.lower().strip()
    marked, verbs = mark(plain, lexicon)

    def has(key: str) -> bool:
        return matches(lexicon.cues[key], plain, marked) is not None

    cues = {
        key
        for key in (
            "courtesy",
            "more_help",
            "more_help_question",
            "close",
            "greet",
            "generic_statement",
            "hard_failure",
            "offer",
            "announce",
            "options",
            "details",
            "open_question",
            "answer_opening",
        )
        if has(key)
    }
    if "open_question" in cues and plain.endswith("?"):
        cues.discard("offer")
    if has("gate") and not has("gate_guard"):
        cues.add("gate")
    elif has("gate_verb") and "open_question" not in cues:
        cues.add("gate_verb")
    if not has("background"):
        cues |= {key for key in ("completion", "completion_after_gate") if _completes(key, plain, marked, lexicon)}
    for key in ("deny", "failure", "unavailable", "transfer", "request"):
        if has(key) and not has(f"{key}_guard"):
            cues.add(key)
    if has("deny_by_rule") and not has("deny_guard"):
        cues.add("deny_by_rule")
    if plain.endswith("?"):
        cues.add("question")
    return Sentence(plain, marked, verbs, frozenset(cues))
