"""Synonyms: finds labels of one vocabulary that mean the same, after labelling in chunks.

Example reply::

    {"groups": [{"why": "both ask for the code of the booking", "keep": "request_booking_code",
                 "merge": ["request_code_of_booking"]}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agenteval.llm import Model, ask
from agenteval.types import Record


class Group(Record):
    why: str
    keep: str
    merge: list[str]


class Reply(Record):
    groups: list[Group]


PROMPT = """\
The labels below name the steps of one service agent (or of its users). They were given in several passes over recorded
conversations, so one step may have got two names. Find labels that name the same step in other words.

- Merge only labels that mean the same. Labels for different tasks, for asking and for reporting, for a question before
  an action and for its completion, stay apart. When in doubt, leave them apart.
- keep is one of the labels of the group, the most frequent where no other is clearly better; merge lists the others.
- Labels that have no synonym are not mentioned. An empty list is a good answer.

Labels with their frequency and one example:
{{labels}}

Answer with one JSON object: {"groups": [{"why": "...", "keep": "...", "merge": ["..."]}]}
"""


def merge(model: Model, *, labels: Sequence[dict[str, Any]], seed: int | None = None) -> dict[str, str]:
    """Which labels to replace by which.

    Parameters
    ----------
    labels
        `{"label", "frequency", "example"}` each.

    Returns
    -------
    dict
        Label to the label that is kept; labels without a synonym are absent.
    """
    known = {entry["label"] for entry in labels}

    def check(reply: Reply) -> None:
        unknown = {name for group in reply.groups for name in (group.keep, *group.merge)} - known
        if unknown:
            raise ValueError(f"unknown labels {sorted(unknown)[:3]}")

    inputs = {"labels": list(labels)}
    reply = ask(model, role="synonyms", prompt=PROMPT, inputs=inputs, reply=Reply, check=check, seed=seed)
    replaced = {name: group.keep for group in reply.groups for name in group.merge if name != group.keep}
    return {name: _last(name, replaced) for name in replaced}


def _last(name: str, replaced: dict[str, str]) -> str:
    """Follow a chain of replacements to its end; a cycle ends at its smallest label."""
    seen = [name]
    while replaced.get(seen[-1], seen[-1]) not in seen:
        seen.append(replaced[seen[-1]])
    end = replaced.get(seen[-1], seen[-1])
    return end if end == seen[-1] else min(seen[seen.index(end) :])
