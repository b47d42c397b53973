"""A chat service over HTTP, described by a YAML file::

url: http://127.0.0.1:8080/chat
body: {text: "{message}", conversation: "{session}"}
reply: answer.text               # dotted path in the JSON answer
session: conversation_id         # optional: where the answer gives the id to use from then on
headers: {Authorization: "Bearer ${CHAT_TOKEN}"}
timeout: 30
reset:                           # optional: called at the start of each session
  url: http://127.0.0.1:8080/new
  body: {}
  session: id
  reply: greeting
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from agenteval.errors import ChatError, ChatRefused, ChatTimeout
from agenteval.subjects.settings import dig, read_settings, with_variables
from agenteval.types import Record

_PLACEHOLDER = re.compile(r"\{message\}|\{session\}")
LONGEST = 2_000_000
"""Bytes of one answer that are read."""


class Reset(Record):
    url: str
    body: dict[str, Any] | None = None
    session: str | None = None
    reply: str | None = None


class Settings(Record):
    url: str = Field(pattern=r"^https?://")
    body: dict[str, Any] = {"message": "{message}", "session": "{session}"}
    reply: str = "reply"
    session: str | None = None
    headers: dict[str, str] = {}
    timeout: float = Field(60.0, gt=0)
    reset: Reset | None = None


def open_http(file: Path) -> tuple[Callable[[], HttpChat], tuple[str, ...]]:
    """A maker of chats, and the secrets of the headers."""
    settings = read_settings(file, Settings)
    headers, secrets = with_variables(settings.headers, file)
    return (lambda: HttpChat(settings, headers)), secrets


class HttpChat:
    """One session with the service; its id is new at every reset."""

    def __init__(self, settings: Settings, headers: dict[str, str]):
        self.settings = settings
        self.headers = headers
        self.session = ""

    def reset(self) -> str:
        self.session = uuid.uuid4().hex
        reset = self.settings.reset
        if reset is None:
            return ""
        answer = self._post(reset.url, _filled(reset.body or {}, "", self.session))
        if reset.session is not None:
            self.session = str(_found(answer, reset.session))
        return str(_found(answer, reset.reply)) if reset.reply is not None else ""

    def invoke(self, text: str) -> str:
        answer = self._post(self.settings.url, _filled(self.settings.body, text, self.session))
        if self.settings.session is not None:
            self.session = str(_found(answer, self.settings.session))
        reply = _found(answer, self.settings.reply)
        return "" if reply is None else str(reply)

    def _post(self, url: str, body: Any) -> Any:
        data = json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json", **self.headers}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.settings.timeout) as response:
                raw = response.read(LONGEST)
        except urllib.error.HTTPError as error:
            with error:
                kind = ChatRefused if 400 <= error.code < 500 else ChatError
                raise kind(f"the service answers {error.code}") from error
        except TimeoutError as error:
            raise ChatTimeout(f"no answer within {self.settings.timeout:g} seconds") from error
        except (urllib.error.URLError, OSError) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise ChatTimeout(f"no answer within {self.settings.timeout:g} seconds") from error
            raise ChatError(f"the service cannot be reached ({type(error).__name__})") from error
        try:
            return json.loads(raw.decode("utf-8", "replace"))
        except ValueError as error:
            raise ChatError("the service answers with something that is no JSON") from error


def _filled(template: Any, message: str, session: str) -> Any:
    """The template with `{message}` and `{session}` replaced in every string; nothing else has a meaning."""
    if isinstance(template, dict):
        return {key: _filled(value, message, session) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, message, session) for value in template]
    if isinstance(template, str):
        return _PLACEHOLDER.sub(lambda match: message if match.group() == "{message}" else session, template)
    return template


def _found(answer: Any, path: str) -> Any:
    try:
        return dig(answer, path)
    except (LookupError, TypeError) as error:
        raise ChatError(f"the answer holds nothing at {path!r}") from error
