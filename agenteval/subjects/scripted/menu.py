"""Short answers to what the agent offered when nothing is under way: "1", "the second", "new bookings, please".

The domain's `menu` gives the places of the list of services their meaning; the `nouns` of its `language.yaml` name
services without a verb. Both count only while no task is open, where a bare noun can be no value of one.
"""

from __future__ import annotations

import re

from agenteval.subjects.scripted import slots
from agenteval.subjects.scripted.understand import Reading

_POLITE = re.compile(
    r"^(?:(?:ok(?:ay)?|hi|hello|hey|well|so|um+|actually|oh|no|please|then|and|now|maybe|just|only|i think|i guess"
    r"|i(?:'d| would)? (?:like|love|want|need|choose|pick|take)|i'll (?:take|have)|i (?:have|am here|am calling|was)"
    r"|(?:can|could) (?:i|you|we)|may i|get|give me|do|make|help(?: me)?|with|regarding|concerning|to|it'?s|it is"
    r"|this is|that would be|let'?s|go(?: (?:with|for))?|about|for|of|the|my|a|an|some|option|choice|number|no\.?)"
    r"(?![\w'])[\s,.:!-]*)+"
)
_TAIL = re.compile(
    r"(?:[\s,.!?-]*\b(?:please|then|thanks|thank you|instead|now|first|options?|one|thing|stuff)\b)*\W*$"
)


def chosen(reading: Reading, language: dict, menu: tuple[str, ...], *, offered: bool) -> list[str]:
    """The intent of a short answer, if it is one.

    Parameters
    ----------
    reading
        The utterance.
    language
        The domain's patterns, with `nouns`.
    menu
        Intents in the order in which the services were listed.
    offered
        Whether the last reply listed them.
    """
    place = slots.ordinal(reading.text) if offered else None
    if place and place <= len(menu):
        return [menu[place - 1 if place > 0 else -1]]
    low = reading.text.lower()
    bare = _TAIL.sub("", _POLITE.sub("", low, count=1)).strip()
    if not bare or len(bare.split()) > 8:
        return []
    return [name for name, nouns in language["nouns"].items() if nouns.fullmatch(bare)][:1]
