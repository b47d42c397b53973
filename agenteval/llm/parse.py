"""From an answer's text to a validated reply: strict JSON, then fenced JSON, then balanced braces.

Think blocks are dropped only after the whole text has failed as JSON, also where only the closing tag is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agenteval.errors import ReplyInvalid

R = TypeVar("R", bound=BaseModel)

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LATE_THINK = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\n(.*?)```", re.DOTALL)


def parse(text: str, reply: type[R]) -> R:
    """The reply that an answer holds.

    Raises
    ------
    ReplyInvalid
        No rung of the ladder gives JSON that fits `reply`; the message says what was wrong with the nearest one.

    Examples
    --------
    >>> from agenteval.llm.model import Usage
    >>> parse('<think>{"input": 1}</think> Here: {"input": 2}', Usage).input
    2
    """
    problem = "no JSON in it"
    for candidate in _candidates(text):
        try:
            return reply.model_validate_json(candidate)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] != "json_invalid":
                where = ".".join(map(str, first["loc"])) or "reply"
                problem = f"{where}: {first['msg']}"
    raise ReplyInvalid(
        f"the answer does not fit {reply.__module__.rpartition('.')[2]}.{reply.__name__}: {problem}", raw=text
    )


def _candidates(text: str) -> Iterator[str]:
    text = text.strip().removeprefix("\ufeff")
    yield text
    answer = _LATE_THINK.sub("", _THINK.sub("", text)).strip()
    if answer != text:
        yield answer
    yield from (block.strip() for block in _FENCE.findall(answer))
    yield from reversed(list(_objects(answer)))


def _objects(text: str) -> Iterator[str]:
    """Top-level `{...}` of a text, braces inside JSON strings not counted."""
    depth = start = 0
    quoted = escaped = False
    for position, character in enumerate(text):
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"' and depth:
            quoted = True
        elif character == "{":
            if depth == 0:
                start = position
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : position + 1]
