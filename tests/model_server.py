"""A small HTTP server that speaks the chat-completions protocol, answers from the rules, and misbehaves on demand.

Run as a script for tests that need it in a process of its own: `python tests/model_server.py PORT LOG [DELAY]`.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agenteval.llm.model import Message, Request
from agenteval.tester.roles import (
    boundary,
    driver,
    functional,
    judge,
    labeller,
    planner,
    potential,
    runner,
    synonyms,
)
from agenteval.tester.rules.model import Rules

ROLES = {
    module.__name__.rpartition(".")[2]: module
    for module in (boundary, driver, functional, judge, labeller, planner, potential, runner, synonyms)
}


def request_of(body: dict) -> Request:
    """The request as the client made it: the role is told by how its prompt begins."""
    prompt = body["messages"][0]["content"]
    role = next(name for name, module in ROLES.items() if prompt.startswith(module.PROMPT[:60]))
    return Request(
        role=role, messages=(Message(role="user", content=prompt),), reply=ROLES[role].Reply, seed=body.get("seed"),
        temperature=body.get("temperature", 0.0),
    )  # fmt: skip


class ModelServer(ThreadingHTTPServer):
    """`faults` are taken one per request, first come first served; an empty list answers properly. `role_faults` likewise,
    by the role that asks. What is in `refuse` is refused before that. Without a fault every role is answered by the offline rules."""

    daemon_threads = True

    def __init__(self, port: int = 0, *, log: Path | None = None, delay: float = 0.0, answer=None):
        super().__init__(("127.0.0.1", port), _Handler)
        self.faults: list[str] = []
        self.role_faults: dict[str, list[str]] = {}
        self.retry_after = "0"
        self.bodies: list[dict] = []
        self.headers: list[dict] = []
        self.log = log
        self.delay = delay
        self.answer = answer or (lambda body: Rules().complete(request_of(body)).text)
        self.refuse: set[str] = set()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address) -> None:
        """A client that was killed leaves a broken pipe: part of the test."""

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes
    server: ModelServer

    def log_message(self, *_) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.server.log is not None:
                with self.server.log.open("a") as log:
                    log.write(request_of(body).key(body["model"]) + "\n")
        time.sleep(self.server.delay)
        for name in sorted(self.server.refuse):
            kind = body.get("response_format", {}).get("type")
            if name in body or name == kind:
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                return self._send(
                    400, {"error": {"message": text, "type": "invalid_request_error", "param": name, "code": None}}
                )
        with self.server.lock:
            faults = self.server.faults
            if self.server.role_faults:
                faults = faults or self.server.role_faults.get(request_of(body).role, [])
            fault = faults.pop(0) if faults else ""
        if fault:
            return self._misbehave(fault, body)
        self._send(200, completion(body, self.server.answer(body)))

    def _misbehave(self, fault: str, body: dict) -> None:
        if fault.startswith("status:"):
            status, _, code = fault.removeprefix("status:").partition(":")
            headers = {"retry-after": self.server.retry_after} if status == "429" else {}
            # Some proxies repeat the key in what they say.
            text = f"no {status} for {self.headers['authorization']}"
            return self._send(int(status), {"error": {"message": text, "code": code or None, "type": "t"}}, headers)
        if fault == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return None
        if fault == "hang":
            threading.Event().wait(1.0)  # a test may have patched time.sleep
            self.close_connection = True
            return None
        if fault == "html":
            return self._raw(200, b"<html>gateway</html>", "text/html")
        if fault == "cut-json":
            return self._raw(200, b'{"choices": [{"mess', "application/json")
        answers = {
            "error-200": {"error": {"message": "overloaded"}},
            "no-choices": {**completion(body, ""), "choices": []},
            "no-usage": {k: v for k, v in completion(body, self.server.answer(body)).items() if k != "usage"},
            "length": completion(body, '{"sess', finish="length"),
            "content_filter": completion(body, "", finish="content_filter"),
            "refusal": completion(body, None, refusal="I cannot help with that."),
            "empty": completion(body, ""),
            "prose": completion(body, "I would rather not answer in JSON."),
            "fenced": completion(body, f"Here you are:\n```json\n{self.server.answer(body)}\n```\nAnything else?"),
            "think": completion(body, f'<think>maybe {{"sessions": []}}?</think>\n{self.server.answer(body)}'),
        }
        return self._send(200, answers[fault])

    def _send(self, status: int, value: dict, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(value).encode(), "application/json", headers)

    def _raw(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def completion(body: dict, text: str | None, *, finish: str = "stop", refusal: str | None = None) -> dict:
    prompt = sum(len(m["content"]) for m in body["messages"]) // 4
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, "refusal": refusal}}],
        "usage": {
            "prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7,
            "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }  # fmt: skip


if __name__ == "__main__":
    port, log, delay = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    ModelServer(port, log=log, delay=delay).serve_forever()
