"""The waist: `Model.complete(Request) -> Completion`. Wrappers are models around models.

A completion as the call store keeps it::

    {"finish": "stop", "model": "m-1", "text": "{\\"sessions\\": []}", "usage": {"cached": 0, "estimated": false,
     "input": 812, "output": 9, "reasoning": 0}}
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from agenteval.types import Record

CHARACTERS_PER_TOKEN = 4
"""Used wherever tokens are estimated; such figures are marked `estimated`."""


def estimate_tokens(text: str) -> int:
    """Tokens of a text by its length, for limits and for models that report none.

    >>> estimate_tokens("12345678")
    2
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class Message(Record):
    role: Literal["system", "user", "assistant"]
    content: str


class Usage(Record):
    """Tokens of one call."""

    input: int = 0
    cached: int = 0
    """Part of `input` that the endpoint served from its own cache."""
    output: int = 0
    reasoning: int = 0
    """Part of `output` spent on hidden reasoning."""
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            estimated=self.estimated or other.estimated,
        )


class Request(BaseModel):
    """One question to a model.

    The reply class travels with it: the wire needs its JSON schema, and the call store keeps an answer only when the
    answer fits it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    role: str
    """Who asks: `labeller`, `planner`, ..."""
    messages: tuple[Message, ...]
    reply: type[BaseModel] | None = None
    """Schema of the answer; None for free text."""
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    """Cap of the answer; None leaves it to the endpoint."""
    repetition: int = 0
    attempt: int = 0
    """0 for the first try, 1 for the one re-ask."""

    def schema_json(self) -> dict[str, Any] | None:
        return None if self.reply is None else self.reply.model_json_schema()

    def key(self, model: str = "") -> str:
        """Content address: role, model, messages, schema, sampling, repetition and attempt; not the transport."""
        parts = [
            self.role, model, [[m.role, m.content] for m in self.messages], self.schema_json(),
            self.temperature, self.seed, self.repetition, self.attempt,
        ]  # fmt: skip
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def size(self) -> int:
        """Estimated tokens of the prompt."""
        return sum(estimate_tokens(m.content) for m in self.messages)


class Completion(Record):
    """One answer."""

    text: str
    model: str
    """The name under which it was asked for."""
    finish: Literal["stop", "length", "refusal"] = "stop"
    usage: Usage = Usage()
    stored: bool = False
    """True when it came from the call store and cost nothing now."""


class Model(Protocol):
    """Anything that answers requests. `name` is what manifests and keys carry."""

    name: str

    def complete(self, request: Request) -> Completion: ...
