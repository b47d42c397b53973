"""A chat model that may call tools, behind any OpenAI-compatible endpoint. Never cached: it is the agent under test.

The SDK tries 408, 409, 429, 5xx and lost connections again. Parameters that an endpoint refuses are dropped once and for
all; a body that holds no message is asked for once more.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agenteval.errors import ChatError, ChatRefused, ChatTimeout, ProfileError
from agenteval.profiles import ModelSpec, environment

OPTIONAL = ("parallel_tool_calls", "temperature", "seed")
"""Parameters that give way where they are refused."""
_THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


class Call(NamedTuple):
    """A tool call as the model wrote it; the arguments are still text."""

    id: str
    name: str
    arguments: str


class Answer(NamedTuple):
    text: str
    calls: tuple[Call, ...] = ()
    usage: tuple[int, int] | None = None
    """Tokens in and out; None where the endpoint does not say."""


class ToolModel:
    """The model of the role `subject`.

    Parameters
    ----------
    spec
        Model, endpoint and the name of the variable that holds the key.
    seed
        Passed on where the endpoint takes it.

    Raises
    ------
    ProfileError
        The spec names no chat model, or there is no key.
    """

    def __init__(self, spec: ModelSpec, *, seed: int = 0):
        if spec.provider != "openai" or not spec.model:
            raise ProfileError("the role subject needs `provider: openai` and `model:`: only a chat model calls tools")
        key = environment().get(spec.key_env)
        if not key:
            raise ProfileError(
                f"no key for the role subject: set the environment variable {spec.key_env} (or put it into .env); "
                "a local server that wants none takes any word"
            )
        self.spec = spec
        self.key = key
        self.seed = seed
        self.dropped: set[str] = set()
        self._client: Any = None

    def answer(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Answer:
        """What the model says next, or which tools it wants.

        Raises
        ------
        ChatTimeout, ChatRefused, ChatError
            No answer in time, the endpoint refuses the call, or nothing usable came.
        """
        import openai

        unusable = 0
        while True:
            optional = {"parallel_tool_calls": False, "temperature": 0.0, "seed": self.seed}
            sent = {name: value for name, value in optional.items() if name not in self.dropped}
            try:
                return read(
                    self._open().chat.completions.create(
                        model=self.spec.model, messages=messages, tools=tools or openai.omit, **sent
                    )
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = [name for name in sent if _names(error, name)]
                if not refused:
                    raise ChatRefused(f"the endpoint answers {error.status_code}: {_said(error)}") from error
                self.dropped |= set(refused)
            except openai.APITimeoutError as error:
                raise ChatTimeout("the model gave no answer in time") from error
            except openai.APIStatusError as error:
                kind = ChatRefused if 400 <= error.status_code < 500 else ChatError
                raise kind(f"the endpoint answers {error.status_code}: {_said(error)}") from error
            except (openai.OpenAIError, json.JSONDecodeError, Unusable) as error:
                unusable += 1
                if unusable > 1:
                    raise ChatError(
                        f"no usable answer of the model ({type(error).__name__}: {_said(error)})"
                    ) from error

    def _open(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                api_key=self.key, base_url=self.spec.base_url, timeout=self.spec.timeout, max_retries=self.spec.retries
            )
        return self._client


class Unusable(Exception):
    """A 200 answer that holds no message of the assistant."""


def read(answer: Any) -> Answer:
    """The first choice of an answer.

    Raises
    ------
    Unusable
        It holds none, or one that is not the assistant's.
    ChatRefused
        A filter took the text away.
    """
    choices = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    if message is None:
        raise Unusable("no choices")
    role = getattr(message, "role", None) or "assistant"
    if role != "assistant":
        raise Unusable(f"a message in the role {str(role)[:20]!r}")
    calls = []
    for number, call in enumerate(getattr(message, "tool_calls", None) or []):
        function = getattr(call, "function", None)
        name = getattr(function, "name", None)
        arguments = getattr(function, "arguments", None)
        calls.append(
            Call(
                str(getattr(call, "id", None) or f"call_{number}"),
                str(name or ""),
                arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments),
            )
        )
    text = _THOUGHTS.sub("", _text(message.content), count=1) or str(getattr(message, "refusal", None) or "")
    if not text.strip() and not calls and getattr(choices[0], "finish_reason", None) == "content_filter":
        raise ChatRefused("a filter of the endpoint took the answer away")
    usage = getattr(answer, "usage", None)
    tokens = None
    if getattr(usage, "prompt_tokens", None) is not None:
        tokens = (usage.prompt_tokens, getattr(usage, "completion_tokens", None) or 0)
    return Answer(text, tuple(calls), tokens)


def _text(content: Any) -> str:
    """The text of a message; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _names(error: Any, parameter: str) -> bool:
    body = getattr(error, "body", None)
    named = body.get("param") if isinstance(body, dict) else None
    return named == parameter or re.search(rf"\b{parameter}\b", str(error)) is not None


def _said(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).strip().replace("\n", " ")[:300]
