"""User actions: what an utterance does, read in the light of the agent's previous act.

``yes`` confirms at a gate, accepts after an offer and selects after options (paper, Section IV-A: a user action is a
step taken by the user).
"""

from __future__ import annotations

from typing import NamedTuple

from agenteval.tester.rules.acts import (
    ANSWER,
    CLOSE,
    DENY,
    DETAILS,
    DONE,
    FAIL,
    GATE,
    MORE,
    NONE,
    OFFER,
    OPTIONS,
    REQUEST,
    mark,
    matches,
    tasks_in,
)
from agenteval.tester.rules.lexicon import Lexicon
from agenteval.tester.rules.text import clean, sentences

SHORT = 6
# What a user has bought or ordered is past; what is wished has another form.
WISHED = "BGN"


class Utterance(NamedTuple):
    """Cues of a user's utterance and the tasks it names."""

    words: int
    cues: frozenset[str]
    opening: frozenset[str]
    """Cues of the first sentence only: a yes or no counts where it opens the answer."""
    tasks: tuple[str, ...]
    asks: bool
    """Some sentence ends as a question."""
    valued: bool
    """A value with a digit is given."""


def read_utterance(text: str, lexicon: Lexicon) -> Utterance:
    """Find the cues and task verbs of an utterance.

    >>> from agenteval.tester.rules.lexicon import load
    >>> read_utterance("Please cancel my booking.", load()).tasks
    ('cancel',)
    """
    cues: set[str] = set()
    opening: frozenset[str] = frozenset()
    tasks: list[str] = []
    spoken = [s.lower() for s in sentences(clean(text), lexicon)]
    for i, plain in enumerate(spoken):
        marked, _ = mark(plain, lexicon)
        found = {key for key, cue in lexicon.user_cues.items() if matches(cue, plain, marked)}
        if found & {"thank", "close"} and not plain.endswith("?"):
            found.discard("ask_action")
        if i == 0:
            opening = frozenset(found)
        cues |= found
        if "negate" not in found or "ask_action" in found:
            tasks += tasks_in(marked, lexicon, WISHED)
            if f"B:{lexicon.generic}" in marked and not tasks:
                # Who makes an appointment or places an order wants what the noun is about.
                tasks += tasks_in(marked, lexicon, "W")[:1]
    words = sum(len(s.split()) for s in spoken)
    return Utterance(
        words,
        frozenset(cues),
        opening,
        tuple(dict.fromkeys(tasks)),
        any(s.endswith("?") for s in spoken),
        any(c.isdigit() for s in spoken for c in s),
    )


def asks_to_know(said: Utterance) -> bool:
    """Tell whether the user asks for information, as against another option or an action."""
    return "question" in said.cues and "alternatives" not in said.cues


def user_action(said: Utterance, before: str, before_verb: str, spoken: bool = True) -> str:
    """Name the action of an utterance.

    Parameters
    ----------
    said : Utterance
    before : str
        The agent's previous act, empty at the start of a session.
    before_verb : str
        The task of that act, or empty.
    spoken : bool
        False for a blank utterance.

    Returns
    -------
    str
        A verb phrase in snake case.
    """
    if not spoken:
        return "say_nothing"
    cues = said.cues
    yes = "affirm" in said.opening and "negate" not in said.opening
    no = "negate" in said.opening
    brief = said.words <= SHORT
    action = ""
    if before == GATE:
        action = _at_gate(said, yes, no, before_verb)
    elif before == OFFER:
        action = "decline_offer" if no and said.words <= 2 * SHORT else ""
        action = action or ("accept_offer" if yes and "question" not in cues else "")
    elif before in (MORE, DONE, CLOSE, ANSWER):
        parting = bool(cues & {"thank", "close"}) or (no and brief)
        if parting and not cues & {"ask_action", "question"}:
            action = "decline_more_help" if no or before == MORE else "thank_and_close"
    if not action and "handover" in cues and not no:
        action = "request_transfer"
    if not action and before in (DENY, FAIL, NONE):
        action = "decline_offer" if no and brief else "accept_offer" if yes and brief else ""
        action = action or ("contest_denial" if "contest" in cues else "")
    if not action and before in (OPTIONS, DETAILS, ANSWER, OFFER, NONE) and "alternatives" in cues:
        action = "ask_for_alternatives"
    if not action and before in (OPTIONS, DETAILS, ANSWER):
        action = _at_options(said, yes)
    if not action and before == REQUEST:
        if "unknown" in cues and said.words <= 4 * SHORT:
            action = "lack_information"
        elif "question" not in cues or said.valued:
            action = "provide_details"
    return action or _anywhere(said, before, yes, no)


def _at_gate(said: Utterance, yes: bool, no: bool, verb: str) -> str:
    cues = said.cues
    if "correct" in cues and ("correct" in said.opening or no):
        return "correct_details"
    if no or (yes and "question" not in cues):
        return ("decline" if no else "confirm") + (f"_{verb}" if verb else "")
    if "question" in cues:
        return "confirm_and_ask_question" if yes else "ask_question"
    if "ask_action" not in cues or not said.tasks or verb in said.tasks:
        return "correct_details"
    return ""


def _at_options(said: Utterance, yes: bool) -> str:
    cues = said.cues
    if yes and "ask_action" in cues and "question" not in cues and (said.tasks or "lookup" in cues):
        return f"select_option_and_request_{said.tasks[0] if said.tasks else 'search'}"
    if "select" in cues or (yes and not cues & {"question", "ask_action"}):
        return "select_option"
    return ""


def _anywhere(said: Utterance, before: str, yes: bool, no: bool) -> str:
    cues = said.cues
    parting = bool(cues & {"thank", "close"})
    if "ask_action" in cues:
        if said.tasks:
            return f"request_{said.tasks[0]}"
        if "lookup" in cues:
            return "request_search"
        return "ask_question" if "question" in cues else "request_help"
    if "question" in cues:
        return "ask_question"
    if parting and said.words <= 4 * SHORT:
        return "thank_and_close"
    if yes or no:
        return "affirm" if yes else "negate"
    if parting:
        return "thank_and_close"
    if said.asks:
        return "ask_question"
    if before == OPTIONS and said.words <= SHORT:
        return "select_option"
    return "provide_details" if before else "request_help"
