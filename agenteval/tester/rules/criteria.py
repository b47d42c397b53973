"""Criteria as sentences that the judge can read back: a predicate, its fillers and the utterance that it refers to.

``After the customer says "Yes, do it.", the agent says that the cancellation is done.`` is
``Predicate("done", trigger="Yes, do it.", task="cancel")``. The judge sees no target and no steps, so each criterion about
a moment quotes it (design decision 9).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from agenteval.tester.rules.acts import mark, tasks_in
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.wording import noun, task_of, words

TRIGGER, SHORTEST = 90, 12
_HOLES = {"task": r"(?P<task>[\w' -]+?)", "slot": r"(?P<slot>[^\"]+?)", "value": r"(?P<value>[^\"\n]*)"}


class Predicate(NamedTuple):
    """What a criterion claims."""

    name: str
    trigger: str = ""
    """What the customer says at that moment; empty for the whole conversation."""
    task: str = ""
    slot: str = ""
    """In words."""
    value: str = ""


def trigger_of(message: str, value: str = "") -> str:
    """The stretch of a message by which a criterion can name it: one line without quotation marks, around a value or at the end.

    >>> trigger_of('He said "no". Please go on.')
    '. Please go on.'
    """
    pieces = [p.strip() for p in re.split(r"[\"\u201c\u201d\n\r]", message)]
    holding = [p for p in pieces if value and value in p]
    long_enough = [p for p in pieces if len(p) >= SHORTEST]
    best = holding[0] if holding else long_enough[-1] if long_enough else max(pieces, key=len, default="")
    if len(best) <= TRIGGER:
        return best
    end = min(len(best), best.index(value) + len(value) + TRIGGER // 3) if holding else len(best)
    start = max(0, end - TRIGGER)
    # Whole sentences where they fit, whole words otherwise.
    sentence = re.search(r"[.!?] ", best[start:end])
    if (
        sentence
        and end - start - sentence.end() >= SHORTEST
        and (not holding or value in best[start + sentence.end() : end])
    ):
        start += sentence.end()
    elif start:
        start += best[start:end].find(" ") + 1
    if end < len(best) and " " in best[start:end] and value not in best[start:end].rsplit(" ", 1)[1]:
        end = start + best[start:end].rindex(" ")
    return best[start:end].strip()


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] + "."


def render(predicate: Predicate) -> str:
    """The sentence of a predicate.

    >>> render(Predicate("done", task="cancel"))
    'The agent says that the cancellation is done.'
    """
    data = words()
    clause = data["criteria"][predicate.name]
    fills = {"task": noun(predicate.task), "slot": predicate.slot or data["no_slot"], "value": predicate.value}
    for name, fill in fills.items():
        clause = clause.replace(f"{{{name}}}", fill.replace("{", "(").replace("}", ")"))
    if not predicate.trigger:
        return _capital(clause)
    return data["trigger"].replace("{trigger}", predicate.trigger) + clause + "."


@lru_cache(maxsize=8)
def _readers(language: str) -> tuple[re.Pattern, list[tuple[str, re.Pattern]]]:
    data = words(language)

    def reader(template: str) -> str:
        parts = re.split(r"\{(\w+)\}", template)
        seen: set[str] = set()
        pattern = ""
        for i, part in enumerate(parts):
            if i % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else _HOLES[part]
                seen.add(part)
        return pattern

    opening = re.escape(data["trigger"]).replace(re.escape("{trigger}"), r"(?P<trigger>[^\"\n]*)")
    clauses = [(name, re.compile(rf"{reader(text)}\.?", re.IGNORECASE)) for name, text in data["criteria"].items()]
    return re.compile(opening, re.IGNORECASE), clauses


def parse(sentence: str, kind: str) -> Predicate | None:
    """The predicate of a sentence; by keywords when other people wrote it, None when it cannot be told.

    Parameters
    ----------
    kind
        `success` or `failure`: one wording means another predicate in either.

    Examples
    --------
    >>> parse('After the customer says "No.", the agent refuses the refund.', "success")
    Predicate(name='refuses', trigger='No.', task='refund', slot='', value='')
    >>> parse("The agent is nice.", "success") is None
    True
    """
    opening, clauses = _readers("en")
    text = sentence.strip()
    found = opening.match(text)
    trigger, rest = (found.group("trigger"), text[found.end() :]) if found else ("", text)
    fitting = []
    for name, pattern in clauses:
        match = pattern.fullmatch(rest)
        if match:
            got = match.groupdict()
            fitting.append(
                Predicate(
                    name,
                    trigger,
                    task_of((got.get("task") or "").lower()),
                    got.get("slot") or "",
                    got.get("value") or "",
                )
            )
    if fitting:
        # A report of completion is wanted as a success and feared as a failure.
        twins = {"done": "reports_done", "reports_done": "done"}
        first = fitting[0]
        wrong = first.name == ("done" if kind == "success" else "reports_done")
        return first._replace(name=twins[first.name]) if wrong else first
    return _by_keywords(rest, trigger, kind)


def _by_keywords(text: str, trigger: str, kind: str) -> Predicate | None:
    """Read somebody else's sentence: one plain statement about the agent, or nothing."""
    data, lexicon = words(), load()
    plain = text.lower()
    name = next((n for n, pattern in data["keywords"] if pattern.search(plain)), None)
    if name is None:
        return None
    marked, _ = mark(plain, lexicon)
    tasks = tasks_in(marked, lexicon, "BDGN") or tasks_in(marked, lexicon)
    task = tasks[0] if len(tasks) == 1 else ""
    if name in ("done_unasked", "checks", "confirms_first"):
        if (name == "done_unasked") != (kind == "failure"):
            return None
        return Predicate(name, trigger, task)
    if data["negation"].search(plain) or data["conjunction"].search(plain):
        return None
    if name == "asks_for":
        asked = data["asked_noun"].search(plain)
        return Predicate(name, trigger, "", asked.group(1).strip()) if asked else None
    if name == "tells":
        quoted = re.findall(r"\"([^\"\n]+)\"", text)
        return Predicate(name, trigger, "", "", quoted[0]) if len(quoted) == 1 else None
    if name == "reports_done" and not task:
        return None
    if name == "reports_done" and kind == "failure":
        name = "done"
    return Predicate(name, trigger, task)
