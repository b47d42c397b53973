"""A chat model with a system prompt, behind any OpenAI-compatible endpoint, described by a YAML file::

    model: my-model
    base_url: http://127.0.0.1:8000/v1
    key_env: OPENAI_API_KEY
    system: |
      You are the service agent of a bicycle shop. ...
    greeting: Hello, how can I help?
    temperature: 0

The agent under test is never cached: every answer is asked for anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from agenteval.errors import ChatError, ChatRefused, ChatTimeout, UsageError
from agenteval.profiles import environment
from agenteval.subjects.settings import read_settings
from agenteval.types import Record


class Settings(Record):
    model: str
    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    system: str = ""
    greeting: str = ""
    temperature: float | None = None
    max_tokens: int | None = Field(None, gt=0)
    timeout: float = Field(60.0, gt=0)
    retries: int = Field(3, ge=0)


def open_openai(file: Path) -> tuple[Callable[[], ModelChat], tuple[str, ...]]:
    """A maker of chats, and the key."""
    settings = read_settings(file, Settings)
    key = environment().get(settings.key_env)
    if key is None:
        raise UsageError(
            f"subject file {file}: no key: set the environment variable {settings.key_env} (or put it into .env)"
        )
    clients: list[Any] = []

    def make() -> ModelChat:
        import openai

        if not clients:
            clients.append(
                openai.OpenAI(
                    api_key=key, base_url=settings.base_url, timeout=settings.timeout, max_retries=settings.retries
                )
            )
        return ModelChat(settings, clients[0])

    return make, (key,)


class ModelChat:
    """One conversation; the history is the session."""

    def __init__(self, settings: Settings, client: Any):
        self.settings = settings
        self.client = client
        self.history: list[dict[str, str]] = []

    def reset(self) -> str:
        self.history = [{"role": "system", "content": self.settings.system}] if self.settings.system else []
        if self.settings.greeting:
            self.history.append({"role": "assistant", "content": self.settings.greeting})
        return self.settings.greeting

    def invoke(self, text: str) -> str:
        import openai

        self.history.append({"role": "user", "content": text})
        optional = {"temperature": self.settings.temperature, "max_tokens": self.settings.max_tokens}
        try:
            answer = self.client.chat.completions.create(
                model=self.settings.model, messages=self.history, **{k: v for k, v in optional.items() if v is not None}
            )
            reply = answer.choices[0].message.content or ""
        except openai.APITimeoutError as error:
            raise ChatTimeout("no answer in time") from error
        except openai.APIStatusError as error:
            kind = ChatRefused if 400 <= error.status_code < 500 else ChatError
            raise kind(f"the endpoint answers {error.status_code}") from error
        except (openai.OpenAIError, json.JSONDecodeError, AttributeError, IndexError, TypeError) as error:
            raise ChatError(f"no usable answer ({type(error).__name__})") from error
        self.history.append({"role": "assistant", "content": reply})
        return reply
