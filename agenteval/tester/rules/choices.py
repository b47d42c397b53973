"""Ordinary choices of a customer: a date, a number, one of what is offered. Never a value that identifies somebody.

Asked ``"For which day? We have 4 May and 6 May."`` the customer takes ``4 May``, and ``6 May`` if that is gone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.enumerations import Option, inline_options, listing
from agenteval.tester.rules.facts import is_place, naming
from agenteval.tester.rules.questions import Question, Slot
from agenteval.tester.rules.services import alike, content, split
from agenteval.tester.rules.shapes import MONEY, TIME, calendar, dates, dressed, later
from agenteval.tester.rules.talk import Talk, load
from agenteval.tester.rules.text import clean, sentences


def best_option(options: Sequence[Option], about: frozenset[str], told: str, skip: int = 0) -> Option:
    """The option that the wish is about, else the first that the customer has not yet been refused.

    Parameters
    ----------
    about
        Content words of what the customer wants.
    told
        What the customer has said so far: an option of which it names the beginning was tried before.
    skip
        How many choices were rejected.
    """
    ranked = sorted(options, key=lambda o: -round(alike(content(o.text), about), 2)) if about else list(options)
    if about and alike(content(ranked[0].text), about) < 0.5:
        ranked = list(options)
    return ranked[min(skip, len(ranked) - 1)]


def label(option: Option, talk: Talk) -> str:
    """An option as a customer names it: without the explanation behind it.

    >>> from agenteval.tester.rules.talk import load
    >>> label(Option("1", "**Dune** (due 3 May)"), load())
    'Dune'
    """
    text = option.text.strip("*_ .;,\"'")
    short = talk.patterns["cut_option"].sub("", text).strip("*_ .;,\"'")
    return (short or text)[:80]


def _today(replies: Sequence[str], talk: Talk) -> date | None:
    for reply in reversed(replies):
        for m in talk.patterns["today"].finditer(reply.lower()):
            if day := calendar(reply[m.start() : m.end() + 40]):
                return day
    return None


def a_date(
    slot: Slot, question: Question, replies: Sequence[str], said: str, attempt: int, place: int, talk: Talk
) -> str:
    """A day that suits what the agent said: offered, within its bounds, or a week after its today."""
    today = _today(replies, talk)
    year = next((d.year for r in reversed(replies) for x in dates(r) if (d := calendar(x))), 0)
    low = question.text.lower()
    offered, bounds = [], []
    for value in dates(question.text):
        at = low.find(value.lower())
        if talk.patterns["today"].search(low[max(0, at - 30) : at]):
            continue
        (bounds if talk.patterns["relation"].search(low[max(0, at - 14) : at]) else offered).append(value)
    days = [(x, calendar(x, year)) for x in dates(said)]
    mine = [d for _, d in days if d]
    if mine and naming(slot.name).owners & talk.words["end_dates"]:
        return dressed(later(mine[-1], 2), question.text + said)
    example = talk.patterns["examples"].search(low)
    if offered and not (example and len(offered) == 1):
        fresh = [x for x in offered if x.lower() not in said.lower()] or offered
        return fresh[0]
    known = [d for x in bounds if (d := calendar(x, year))]
    last = max((d for r in replies for x in dates(r) if (d := calendar(x, year))), default=None)
    base = (max(known) if known else None) or today or last
    if talk.patterns["before"].search(low) and known:
        return dressed(later(min(known), -1 - attempt), question.text)
    if base:
        return dressed(later(base, 7 * (attempt + 1) + 2 * place), question.text)
    shown = dates(slot.wish) or talk.patterns["date_order"].search(low) or attempt
    day = later(date.fromisoformat(talk.single["fallback_date"]), 7 * max(0, attempt - 1) + 2 * place)
    return dressed(day, question.text) if shown else talk.say["some_day"][place % len(talk.say["some_day"])]


def a_number(slot: Slot, question: Question, talk: Talk) -> str:
    """A count within the bounds that the agent names, or nothing."""
    low = re.sub(r"(?<=\d),(?=\d{3})", "", question.text.lower())
    least, most = talk.patterns["at_least"].search(low), talk.patterns["at_most"].search(low)
    if least:
        return least[1] or least[2] if least.lastindex else ""
    if most:
        return most[1] if len(most[1]) > 1 else str(min(2, int(most[1])))
    return ""


def a_figure(question: Question, replies: Sequence[str], attempt: int) -> str:
    """A figure a little above the largest that the agent named, or nothing."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", question.text)
    figures = [int(n) for n in re.findall(r"(?<![\w.-])\d{3,9}(?![\w-])", text)]
    return str(max(figures) + max(1, max(figures) // 100) * (attempt + 1)) if figures else ""


def enumerated(replies: Sequence[str]) -> list[str]:
    """Four or more things that one of the last replies names in a row: what a rejected choice may be replaced by.

    >>> enumerated(["We do not serve Cork. We serve Atlanta, Boston, New York and Denver."])
    ['Atlanta', 'Boston', 'New York', 'Denver']
    """
    for reply in reversed(replies[-2:]):
        for sentence in sentences(clean(reply), lexicon.load()):
            parts = listing([sentence], load())
            if len(parts) > 3 and all(len(part.split()) < 4 for part in parts):
                return parts
    return []


def candidates(
    slot: Slot,
    question: Question,
    replies: Sequence[str],
    said: str,
    about: frozenset[str],
    attempt: int,
    place: int,
    talk: Talk,
) -> list[str]:
    """Values for an ordinary choice, best first; empty when nothing sensible is known."""
    parts = naming(slot.name)
    names = set(slot.name.split("_")) | parts.owners
    whole = {talk.classes.get(w, w) for w in names} | names
    found: list[str] = []
    found += inline_options(slot.wish, talk) if len(question.slots) > 1 and not question.options else []
    owner = next((s for s in question.slots if not s.name.startswith("number_of")), slot)
    dated = whole & talk.words["date_slots"] and not is_place(parts)
    daily = [o for o in question.options if dates(o.text) or talk.patterns["day_words"].search(o.text.lower())]
    if question.options and slot == owner and (daily or not dated):
        ranked = sorted(question.options, key=lambda o: -round(alike(content(o.text), about), 2))
        found += [label(o, talk) for o in ranked]
    if talk.patterns["changes"].search(slot.wish.lower()) and not found:
        found.append(talk.single["change_default"])
    if dated and not found:
        days = [a_date(slot, question, replies, said, n, place, talk) for n in range(attempt + 2)]
        # Whoever asks for dates wants a beginning and an end.
        both = slot.name.split("_")[-1] == talk.single["dates"]
        found += [f"{days[0]} {talk.single['until']} {days[1]}"] if both else days[-2::-1]
    elif whole & talk.words["time_slots"] and not found:
        found += [m.group() for m in TIME.finditer(question.text)]
    if not found and (m := talk.patterns["examples"].search(question.text.lower())):
        rest = re.split(r"[.?!;)\n]", question.text[m.end() :])[0]
        parted = [p.strip(" '\"*") for p in split(rest, talk)]
        found += [p for p in parted if 0 < len(p.split()) <= 5]
    numeric = slot.name.startswith("number_of") or whole & {"quantity", "total"}
    if numeric and (number := a_number(slot, question, talk)):
        found.insert(0, number)
    if (
        not found
        and talk.patterns["figures"].search(slot.wish.lower())
        and (figure := a_figure(question, replies, attempt))
    ):
        found.append(figure)
    if not found and (number := a_number(slot, question, talk)):
        found.append(number)
    if whole & {"total"}:
        found += [m.group() for m in MONEY.finditer(question.text)]
    if not found and (question.rejected or question.refused or question.misunderstood):
        found += enumerated(replies)
    for words, value in talk.free:
        if whole & words:
            found.append(value)
            break
    else:
        if not slot.name or not found:
            spoken = set(re.findall(r"\w+", slot.wish.lower()))
            found += [value for words, value in talk.free if spoken & words][:1]
    if slot.name.startswith("number_of") and not found:
        found.append("2")
    return list(dict.fromkeys(found))
