"""Agents by address: what opens, what is refused, and what a service may do wrong."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agenteval.chat import Session
from agenteval.errors import ChatError, UsageError
from agenteval.subjects.address import open_subject

AGENT = """
class Agent:
    def reset(self):
        self.n = 0
    def invoke(self, text):
        self.n += 1
        return f"{self.n}: {text}"
broken = 3
def nothing():
    return object()
"""


class Service(ThreadingHTTPServer):
    """Counts turns per session; misbehaves as told."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns: dict[str, int] = {}
        self.fault = ""
        self.seen: list[tuple[str, dict, str]] = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, body, self.headers.get("authorization", "")))
        if self.server.fault == "hang":
            time.sleep(0.6)
        if self.server.fault.isdigit():
            self.send_response(int(self.server.fault))
            self.end_headers()
            return
        if self.path == "/new":
            id = f"s{len(self.server.turns)}"
            self.server.turns[id] = 0
            answer = {"id": id, "hello": "Welcome"}
        else:
            id = body["to"]
            self.server.turns[id] = self.server.turns.get(id, 0) + 1
            answer = {"out": [{"text": f"{self.server.turns[id]}: {body['say']}"}]}
        data = {"html": b"<html>oops", "other": b'{"x": 1}', "utf8": b'{"out": [{"text": "a\xff"}]}'}.get(
            self.server.fault, json.dumps(answer).encode()
        )
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def service():
    with Service() as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def agent(tmp_path, monkeypatch):
    (tmp_path / "my_agent_module.py").write_text(AGENT)
    monkeypatch.syspath_prepend(str(tmp_path))


def description(tmp_path, service, **more):
    settings = {
        "url": f"{service.url}/chat", "body": {"say": "{message}", "to": "{session}"}, "reply": "out.0.text", "timeout": 0.3,
        "headers": {"Authorization": "Bearer ${CHAT_TOKEN}"}, "reset": {"url": f"{service.url}/new", "session": "id", "reply": "hello"},
        **more,
    }  # fmt: skip
    path = tmp_path / "agent.yaml"
    path.write_text(json.dumps({k: v for k, v in settings.items() if v is not None}))
    return f"http:{path}"


def test_a_python_factory(agent):
    subject = open_subject("python:my_agent_module:Agent")
    one, two = Session(subject.open_chat(), budget=3), Session(subject.open_chat(), budget=3)
    assert one.greeting == "" and [one.say("a").agent, two.say("b").agent, one.say("c").agent] == [
        "1: a",
        "1: b",
        "2: c",
    ]
    assert subject.brief is None


@pytest.mark.parametrize(("address", "says"), [
    ("airline", "expected one of scripted:DOMAIN, python:"), ("", "expected one of"), ("scripted:", "expected one of"),
    ("python:my_agent_module", "expected python:package.module:factory"), ("python:no_such_module:f", "cannot import no_such_module"),
    ("python:my_agent_module:other", "has no other"), ("python:my_agent_module:broken", "is no factory"),
    ("python:my_agent_module:nothing", "gave a object without reset and invoke"), ("http:absent.yaml", "cannot be read"),
    ("openai:absent.yaml", "cannot be read"),
])  # fmt: skip
def test_wrong_addresses_are_one_clear_line(agent, address, says):
    with pytest.raises(UsageError) as caught:
        open_subject(address)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_an_http_service(tmp_path, service, monkeypatch):
    monkeypatch.setenv("CHAT_TOKEN", "token-of-mine")
    subject = open_subject(description(tmp_path, service))
    one, two = Session(subject.open_chat(), budget=3), Session(subject.open_chat(), budget=3)
    assert one.greeting == "Welcome"
    assert [one.say('a "quoted" {session}').agent, two.say("b").agent, one.say("c").agent] == [
        '1: a "quoted" {session}',
        "1: b",
        "2: c",
    ]
    assert {auth for _, _, auth in service.seen} == {"Bearer token-of-mine"} and subject.secrets == ("token-of-mine",)


@pytest.mark.parametrize(("fault", "status"), [
    ("hang", "timeout"), ("500", "error"), ("403", "refused"), ("html", "error"), ("other", "error"), ("utf8", "ok"),
])  # fmt: skip
def test_a_service_that_misbehaves_gives_typed_turns(tmp_path, service, monkeypatch, fault, status):
    monkeypatch.setenv("CHAT_TOKEN", "token-of-mine")
    session = Session(open_subject(description(tmp_path, service)).open_chat(), budget=3)
    service.fault = fault
    assert session.say("a").status == status


def test_a_service_that_cannot_begin(tmp_path, service, monkeypatch):
    monkeypatch.setenv("CHAT_TOKEN", "token-of-mine")
    service.fault = "500"
    with pytest.raises(ChatError, match="answers 500"):
        Session(open_subject(description(tmp_path, service)).open_chat(), budget=3)


@pytest.mark.parametrize(("more", "says"), [
    ({"url": "ftp://x"}, "url: "), ({"colour": 1}, "colour: "), ({"url": None}, "url: Field required"), ({"timeout": 0}, "timeout: "),
    ({}, "needs the environment variable CHAT_TOKEN"),
])  # fmt: skip
def test_wrong_descriptions_are_one_clear_line(tmp_path, service, more, says):
    with pytest.raises(UsageError) as caught:
        open_subject(description(tmp_path, service, **more))
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_chat_model(tmp_path, server, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "key-of-the-test")
    server.answer = lambda body: f"{len(body['messages'])}: {body['messages'][-1]['content']}"
    path = tmp_path / "agent.yaml"
    path.write_text(
        json.dumps(
            {
                "model": "m",
                "base_url": server.url,
                "key_env": "TEST_KEY",
                "system": "Be kind.",
                "greeting": "Hi",
                "retries": 0,
                "timeout": 0.4,
            }
        )
    )
    subject = open_subject(f"openai:{path}")
    one, two = Session(subject.open_chat(), budget=5), Session(subject.open_chat(), budget=5)
    assert (
        one.greeting == "Hi"
        and one.say("a").agent == "3: a"
        and two.say("b").agent == "3: b"
        and one.say("c").agent == "5: c"
    )
    server.faults = ["status:500"]
    assert one.say("d").status == "error"
    for fault, status in (
        ("hang", "timeout"),
        ("status:429", "refused"),
        ("no-choices", "error"),
        ("cut-json", "error"),
    ):
        session = Session(subject.open_chat(), budget=5)
        server.faults = [fault]
        assert session.say("d").status == status, fault
