"""Any OpenAI-compatible endpoint, through the `openai` SDK (3.x).

The SDK's own retries are off: what may be tried again, how long to wait and how many calls run at once is decided here,
per endpoint. Which parameters a model takes is found out once and remembered: the schema goes as `json_schema`, else
`json_object`, else in the prompt; `temperature`, `seed` and the name of the token cap give way where they are refused.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from typing import Any

from agenteval.errors import ContextOverflow, ModelError, ModelRateLimited, ModelRejected, ModelUnreachable
from agenteval.llm.limiter import Limiter
from agenteval.llm.model import Completion, Request, Usage, estimate_tokens
from agenteval.store import redact

_FORMATS = ("json_schema", "json_object", "prompt")
_CAPS = ("max_tokens", "max_completion_tokens")
_LONGEST_PAUSE = 120.0

_CONTEXT = re.compile(
    r"context.?length|context window|maximum context|too many tokens|prompt is too long", re.IGNORECASE
)
_FORMAT = re.compile(r"response_format|json_schema|json_object|structured output|json mode", re.IGNORECASE)


class OpenAIModel:
    """A chat model behind an OpenAI-compatible API.

    Parameters
    ----------
    name
        The model's name at the endpoint.
    base_url, key
        None takes the SDK's defaults; the key is never shown and never written.
    timeout
        Seconds without an answer after which a call is given up (and tried again).
    retries
        Further tries after 408, 409, 429, 5xx, a dropped connection or a time-out. Nothing else is tried again.
    negotiated
        What an earlier session of the run found out (from its manifest).
    client
        An `openai.OpenAI`, for tests.

    Raises
    ------
    ModelUnreachable, ModelRateLimited, ModelRejected, ContextOverflow, ModelRefused
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        limiter: Limiter | None = None,
        negotiated: dict[str, Any] | None = None,
        client: Any = None,
    ):
        self.name = name
        self.base_url = base_url
        self.timeout = timeout
        self.retries = retries
        self.limiter = limiter or Limiter()
        self.negotiated: dict[str, Any] = {
            "format": "json_schema",
            "cap": "max_tokens",
            "dropped": [],
            **(negotiated or {}),
        }
        self._key = key
        self._client = client
        self._random = random.Random()
        self._lock = threading.Lock()

    def client(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(api_key=self._key, base_url=self.base_url, max_retries=0, timeout=self.timeout)
        return self._client

    def complete(self, request: Request) -> Completion:
        import openai

        failures = 0
        while True:
            parameters = self._parameters(request)
            try:
                with self.limiter.slot():
                    answer = self.client().chat.completions.create(**parameters)
                completion = self._completion(request, answer)
                self.limiter.accepted()
                return completion
            except openai.RateLimitError as error:
                if _code(error) == "insufficient_quota":
                    raise ModelRejected(f"{self._where()} says the quota is used up: {self._said(error)}") from error
                pause = _pause(error, failures, self._random)
                self.limiter.refused(pause)
                failures = self._again(
                    failures,
                    ModelRateLimited(f"{self._where()} still refuses after {failures + 1} tries: {self._said(error)}"),
                    0,
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if _code(error) == "context_length_exceeded" or _CONTEXT.search(self._said(error)):
                    raise ContextOverflow(
                        f"{self._where()} takes no prompt of about {request.size()} tokens: {self._said(error)}"
                    ) from error
                if not self._give_way(error, parameters):
                    raise ModelRejected(
                        f"{self._where()} rejects the call ({error.status_code}): {self._said(error)}"
                    ) from error
            except (openai.InternalServerError, openai.APIConnectionError, openai.ConflictError) as error:
                failures = self._failed(failures, error, self._said(error))
            except openai.APIStatusError as error:
                if error.status_code == 408:
                    failures = self._failed(failures, error, self._said(error))
                    continue
                hint = {
                    401: "check the key",
                    403: "check the key's rights",
                    404: "check the model's name and the base URL",
                }
                way = hint.get(error.status_code, "check the profile")
                raise ModelRejected(
                    f"{self._where()} answers {error.status_code}: {self._said(error)}; {way}"
                ) from error
            except (json.JSONDecodeError, _Unusable) as error:
                # A 200 whose body is cut, is a web page, or holds no choice: the proxy's fault, so it is worth another try.
                failures = self._failed(failures, error, self._said(error))
            except openai.OpenAIError as error:
                raise ModelRejected(f"{self._where()}: {self._said(error)}") from error

    # ---- the call

    def _parameters(self, request: Request) -> dict[str, Any]:
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        parameters: dict[str, Any] = {"model": self.name, "messages": messages}
        if request.reply is not None:
            schema = request.schema_json()
            if self.negotiated["format"] == "json_schema":
                body = {"name": request.role, "schema": schema, "strict": True}
                parameters["response_format"] = {"type": "json_schema", "json_schema": body}
            else:
                text = "Answer with one JSON object that fits this JSON schema, and nothing else:\n" + json.dumps(
                    schema, sort_keys=True
                )
                messages.append({"role": "user", "content": text})
                if self.negotiated["format"] == "json_object":
                    parameters["response_format"] = {"type": "json_object"}
        optional = {
            "temperature": request.temperature,
            "seed": None if request.seed is None else request.seed + request.attempt,
            self.negotiated["cap"]: request.max_tokens,
        }
        dropped = self.negotiated["dropped"]
        parameters.update({k: v for k, v in optional.items() if v is not None and k not in dropped})
        return parameters

    def _completion(self, request: Request, answer: Any) -> Completion:
        choices = getattr(answer, "choices", None)
        if not choices:
            said = str(getattr(answer, "error", None) or answer)[:200]
            raise _Unusable(f"an answer without choices: {said!r}")
        choice = choices[0]
        text = getattr(choice.message, "content", None) or ""
        refusal = getattr(choice.message, "refusal", None)
        usage = _usage(answer, request, text)
        if refusal or choice.finish_reason == "content_filter":
            return Completion(text=refusal or text or "content filter", model=self.name, finish="refusal", usage=usage)
        finish = "length" if choice.finish_reason == "length" else "stop"
        if finish == "stop" and not text.strip():
            raise _Unusable(f"an empty answer (finish reason {choice.finish_reason})")
        return Completion(text=text, model=self.name, finish=finish, usage=usage)

    # ---- what to do about failures

    def _give_way(self, error: Any, parameters: dict[str, Any]) -> bool:
        """Drop or change the parameter that the endpoint complains about; False when it complains about none.

        Calls go out in parallel: what another call has given way to since this one was sent is not given way to twice.
        """
        said = f"{self._said(error)} {_parameter(error)}"
        with self._lock:
            sent = parameters.get("response_format", {}).get("type")
            if sent and _FORMAT.search(said):
                if self.negotiated["format"] == sent:
                    self.negotiated["format"] = _FORMATS[_FORMATS.index(sent) + 1]
                return True
            cap = next((name for name in _CAPS if name in parameters), None)
            if cap and cap in said:
                if self.negotiated["cap"] != cap:
                    return True
                if cap == _CAPS[0]:
                    self.negotiated["cap"] = _CAPS[1]
                else:
                    self.negotiated["dropped"] = sorted({*self.negotiated["dropped"], cap})
                return True
            for name in ("temperature", "seed"):
                if name in parameters and name in said:
                    self.negotiated["dropped"] = sorted({*self.negotiated["dropped"], name})
                    return True
        return False

    def _failed(self, failures: int, error: Exception, said: str) -> int:
        gone = ModelUnreachable(f"{self._where()} gave no usable answer in {failures + 1} tries: {said}")
        return self._again(failures, gone, _pause(error, failures, self._random))

    def _again(self, failures: int, gone: ModelError, pause: float) -> int:
        if failures >= self.retries:
            raise gone
        time.sleep(pause)
        return failures + 1

    def _said(self, error: Any) -> str:
        """What the endpoint said, on one line. Some repeat the key in it."""
        body = getattr(error, "body", None)
        text = body.get("message") if isinstance(body, dict) else None
        cause = error.__cause__
        text = str(text or getattr(error, "message", None) or error)
        if cause is not None and text in ("Connection error.", "Request timed out."):
            why = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
            text = f"{text.rstrip('.')} ({why})"
        return redact(text.strip().replace("\n", " "), (self._key,) if self._key else ())[:300]

    def _where(self) -> str:
        return f"{self.name} at {self.base_url or 'the default endpoint'}"


class _Unusable(Exception):
    """A 200 answer that holds no message."""


def _code(error: Any) -> str:
    body = getattr(error, "body", None)
    return str((body.get("code") or body.get("type") or "") if isinstance(body, dict) else "")


def _parameter(error: Any) -> str:
    body = getattr(error, "body", None)
    return str((body.get("param") or "") if isinstance(body, dict) else "")


def _pause(error: Any, failures: int, jitter: random.Random) -> float:
    """Seconds to wait: what Retry-After says, else exponential with jitter."""
    response = getattr(error, "response", None)
    try:
        asked = float(response.headers.get("retry-after", "")) if response is not None else -1.0
    except ValueError:
        asked = -1.0
    if asked >= 0:
        return min(asked, _LONGEST_PAUSE)
    return min(8.0, 0.5 * 2**failures) * jitter.uniform(0.75, 1.0)


def _usage(answer: Any, request: Request, text: str) -> Usage:
    usage = getattr(answer, "usage", None)
    if usage is None or getattr(usage, "prompt_tokens", None) is None:
        return Usage(input=request.size(), output=estimate_tokens(text), estimated=True)
    hidden = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return Usage(
        input=usage.prompt_tokens,
        cached=cached or 0,
        output=getattr(usage, "completion_tokens", 0) or 0,
        reasoning=hidden or 0,
    )
