"""The whole chain through a real HTTP server that answers from the rules: the same records as without it, come what may."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from model_server import ROLES, request_of
from toy_agents import Library

from agenteval import cli
from agenteval.chain import STAGES
from agenteval.store import Run
from agenteval.tester.rules.model import Rules

HERE = Path(__file__).parent
RECORDS = ("traces", "labels", "targets", "plan", "runs", "verdicts", "failures")
SMALL = ("--rounds", "5", "--functional", "4", "--boundary", "6")
TINY = ("--rounds", "2", "--functional", "1", "--boundary", "2")
SUBJECT = ("--subject", "python:toy_agents:Library", "--brief", "brief.yaml")
KEY = "sk-test-0123456789abcdef0123456789abcdef"
LEAKY = f'''
from pathlib import Path
from toy_agents import Library
class Leaky(Library):
    """Has things to hide, fails at times, and says a key."""
    policy = "SENTINEL-POLICY"
    def __init__(self):
        super().__init__()
        self.log.append("SENTINEL-TOOL")
        self.turns = 0
    def invoke(self, text):
        with Path("invoked.log").open("a") as log:
            log.write(text + "\\n")
        self.turns += 1
        if self.turns == 3:
            raise RuntimeError("SENTINEL-EXCEPTION")
        return super().invoke(text) + " Our key is {KEY[:-4]}9999."
'''


def write_brief(folder: Path) -> None:
    seeds = [dict(seed) for seed in Library.seeds]
    (folder / "brief.yaml").write_text(yaml.safe_dump({"domain": "library desk", "seeds": seeds}))


@pytest.fixture
def place(tmp_path, monkeypatch, server):
    """A folder with a brief, and an environment in which the profile `openai` is the server."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.chdir(tmp_path)
    for name, value in {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "AGENTEVAL_MODEL": "m"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("agenteval.pipeline.PICTURES", ("svg",))  # the others take longer than all the rest
    write_brief(tmp_path)
    return tmp_path


def chain(out: str, *more: str) -> int:
    return cli.run(["all", *SUBJECT, "-o", out, *SMALL, *more])


def served(out: str, *more: str) -> int:
    return chain(out, "--profile", "openai", "--store", f"{out}.sqlite", *more)


def records(folder: Path) -> dict[str, bytes]:
    found = {name: (folder / "visible" / f"{name}.jsonl").read_bytes() for name in RECORDS}
    return found | {"graph": (folder / "visible" / "graph.json").read_bytes()}


def undisturbed(folder: Path, size: tuple[str, ...]) -> tuple[int, Path]:
    write_brief(folder)
    brief = ("--brief", str(folder / "brief.yaml"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agenteval.pipeline.PICTURES", ("svg",))
        return cli.run(["all", *SUBJECT, *brief, "-o", str(folder / "run"), *size]), folder / "run"


@pytest.fixture(scope="module")
def direct(tmp_path_factory):
    """Exit code and folder of an undisturbed run with the offline profile."""
    return undisturbed(tmp_path_factory.mktemp("direct"), SMALL)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The same of a shorter run."""
    return undisturbed(tmp_path_factory.mktemp("tiny"), TINY)


# ---- the same bytes


def test_the_chain_through_http_gives_the_same_records(place, server, direct):
    code, offline = direct
    # Every role is refused once, and once gets an answer that is cut off: both are asked for again, and change no record.
    server.role_faults = {role: ["status:429", "length"] for role in ROLES}
    assert served("http") == code and records(place / "http") == records(offline)
    asked = {request_of(body).role for body in server.bodies}
    assert asked == set(ROLES) - {"synonyms"}, "every role was played by the server"
    assert not any(server.role_faults[role] for role in asked)
    lines = list(Run(place / "http").lines("calls"))
    assert {line["role"] for line in lines if line["outcome"] == "length"} == asked
    calls = len(server.bodies)
    assert served("http") == code and served("again", "--store", "http.sqlite") == code
    assert len(server.bodies) == calls, "a finished run asks nothing, and a second one finds all answers in the store"
    assert records(place / "again") == records(offline)


def test_refused_parameters_and_invalid_answers_change_no_record(place, server, tiny):
    """What is refused is given way to once for all threads; what does not fit the schema is asked for once more."""
    code, offline = tiny
    server.refuse = {"json_schema", "temperature", "seed"}
    server.role_faults = {role: ["prose"] for role in ROLES} | {
        "driver": ["cut-json", "fenced", "no-usage", "think", "prose"]
    }
    assert served("http", *TINY) == code and records(place / "http") == records(offline)
    found = Run(place / "http").manifest["negotiated"]
    assert {role: (n["format"], n["dropped"]) for role, n in found.items()} == {
        role: ("json_object", ["seed", "temperature"]) for role in ("tester", "judge")
    }
    outcomes = Counter((line["role"], line["outcome"]) for line in Run(place / "http").lines("calls"))
    asked = set(ROLES) - {"synonyms", "planner"}  # so few rounds are all warm-up
    assert all(outcomes[role, "reply_invalid"] == 1 for role in asked)
    first = [body["response_format"]["type"] for body in server.bodies]
    assert first.count("json_schema") <= 5, "only calls that were under way meanwhile learn it for themselves"


def test_a_call_budget_stops_before_it_is_exceeded_and_the_same_command_goes_on(place, server, tiny):
    assert served("run", *TINY, "--max-calls", "10") == 4
    assert len(server.bodies) == 10 and (place / "run" / "report.html").exists()
    code, offline = tiny
    assert served("run", *TINY) == code and records(place / "run") == records(offline)


# ---- what may not get out


def test_nothing_hidden_is_sent_or_written(place, server, capsys):
    """What an agent hides (attributes, exception texts) reaches no request and no file; keys are written nowhere."""
    (place / "leaky.py").write_text(LEAKY)
    arguments = [
        "all",
        "--subject",
        "python:leaky:Leaky",
        "--brief",
        "brief.yaml",
        "-o",
        "run",
        *TINY,
        "--store",
        "run.sqlite",
    ]
    assert cli.run([*arguments, "--profile", "openai"]) in (0, 1, 2)
    assert "raised" not in json.dumps(server.bodies) and any(
        '"status": "error"' in t for t in map(json.dumps, Run("run").lines("traces"))
    )
    sent = json.dumps(server.bodies)
    assert len(sent) > 10_000 and "SENTINEL" not in sent and KEY not in sent
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    for path in (place / "run").rglob("*"):
        data = b"" if path.is_dir() else path.read_bytes()
        assert b"SENTINEL" not in data and KEY[:-4].encode() not in data, path
    assert "[redacted key]" in (place / "run" / "visible" / "traces.jsonl").read_text()
    assert KEY.encode() not in (place / "run.sqlite").read_bytes()


def test_an_error_message_shows_no_key(place, server, capsys):
    server.faults = ["status:401"] * 3
    assert served("run", *TINY) == 2
    out, err = capsys.readouterr()
    assert "check the key" in err and KEY not in out + err
    assert not any(KEY in path.read_text() for path in (place / "run").rglob("*") if path.is_file())


def test_system_and_tool_messages_of_recordings_are_never_sent(place, server):
    messages = [
        {"role": "system", "content": "SENTINEL-POLICY"},
        {"role": "user", "content": "Cancel my rental."},
        {"role": "assistant", "content": "SENTINEL-NOTE", "tool_calls": [
            {"id": "1", "function": {"name": "find", "arguments": '{"q": "SENTINEL-ARGUMENT"}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "SENTINEL-RESULT"},
        {"role": "assistant", "content": "Which rental do you mean?"},
    ]  # fmt: skip
    (place / "log.json").write_text(json.dumps([{"task_id": 0, "traj": messages, "info": {}}]))
    assert cli.run(["mine", "--from", "log.json", "-o", "mined", "--profile", "openai"]) == 0
    sent = json.dumps(server.bodies)
    assert "Which rental do you mean?" in sent and "SENTINEL" not in sent


def test_the_log_of_a_scripted_subject_is_never_sent(place, server):
    """No request that the server saw holds a guard or a tool call."""
    from agenteval.subjects.scripted import guards

    arguments = ["all", "--subject", "scripted:airline", "-o", "air", "--profile", "openai", "--store", "air.sqlite"]
    assert cli.run([*arguments, "--rounds", "2", "--functional", "1", "--boundary", "1"]) in (0, 1, 2)
    sent = json.dumps(server.bodies)
    telling = [guard for guard in guards("airline") if guard.count("_") > 1]
    assert len(sent) > 10_000 and len(telling) > 10 and [guard for guard in telling if guard in sent] == []
    assert "get_user_details" in (place / "air" / "privileged" / "tools.jsonl").read_text()
    assert "get_user_details" not in sent and "tool_call" not in sent


# ---- dry runs


@pytest.mark.parametrize("command", [
    ["all", *SUBJECT, "-o", "new", "--profile", "openai"],
    ["discover", *SUBJECT, "-o", "new", "--profile", "openai"],
    ["mine", "--from", "example:harbour_cycles", "-o", "new", "--profile", "openai"],
    ["run", "--plan", "kept.jsonl", *SUBJECT, "-o", "new", "--profile", "openai"],
    ["run", "-o", "begun"],
    ["mine", "-o", "begun"],
    ["plan", "-o", "begun"],
], ids=lambda command: " ".join(word for word in command[:2] if word != "--subject"))  # fmt: skip
def test_a_dry_run_spends_nothing_and_writes_nothing(place, server, tiny, capsys, command):
    _, offline = tiny
    shutil.copytree(offline, place / "begun")  # every call of an offline run leaves a line in it
    (place / "kept.jsonl").write_bytes((offline / "visible" / "plan.jsonl").read_bytes())
    (place / "leaky.py").write_text(LEAKY)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert cli.run([*("python:leaky:Leaky" if word == SUBJECT[1] else word for word in command), "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\b[1-9]\d* (model )?calls, .*tokens", out.splitlines()[-1]) and err == ""
    assert server.bodies == [], "the agent would have left a file as well"
    after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert after == before


def test_a_dry_run_promises_no_less_than_is_spent(place, direct, capsys):
    _, offline = direct
    capsys.readouterr()
    assert cli.run(["all", *SUBJECT, "-o", "new", *SMALL, "--dry-run", "--json"]) == 0
    promised = json.loads(capsys.readouterr().out)
    spent: dict[str, Counter] = {row["role"]: Counter() for row in promised["roles"]}
    for line in Run(offline).lines("calls"):
        spent[line["role"]].update(calls=1, input=line["usage"]["input"], output=line["usage"]["output"])
    for row in promised["roles"]:
        assert row["calls"] >= spent[row["role"]]["calls"], row["role"]
    for kind in ("input", "output"):
        assert promised[kind] >= sum(counts[kind] for counts in spent.values()), kind


# ---- interrupts


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_is_one_line_and_the_same_command_goes_on(place, tiny, capsys, monkeypatch, stage):
    role = {
        "discover": "driver",
        "abstract": "labeller",
        "targets": "potential",
        "plan": "boundary",
        "run": "runner",
    }.get(stage)
    complete, asked = Rules.complete, Counter()

    def interrupted(self, request):
        asked[request.role] += 1
        if request.role == role and asked[role] == (5 if role in ("driver", "runner") else 1):
            press_ctrl_c()
        return complete(self, request)

    def no_picture(*_, **__):
        press_ctrl_c()
        time.sleep(5)

    with monkeypatch.context() as patch:
        patch.setattr(Rules, "complete", interrupted)
        if stage == "graph":
            patch.setattr("agenteval.analysis.draw.draw_all", no_picture)
        assert chain("run", *TINY) == 130
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err and err.count("interrupted") == 1
    assert err.endswith("interrupted. Everything finished so far is kept; the same command continues\n")
    assert not Run(place / "run").closed(stage)
    assert (place / "run" / "report.html").exists(), "what there is so far can be looked at"
    code, offline = tiny
    assert chain("run", *TINY) == code and records(place / "run") == records(offline)


@pytest.mark.slow
def test_an_interrupt_of_a_process(place, server, direct):
    """SIGINT while a real process waits for a model; how it ends, and that the same command goes on through HTTP."""
    reached = threading.Event()
    answer = server.answer

    def slow(body: dict) -> str:
        if request_of(body).role == "runner" and not reached.is_set():
            reached.set()
            time.sleep(0.5)
        return answer(body)

    server.answer = slow
    arguments = ["all", *SUBJECT, "-o", "run", *SMALL, "--profile", "openai", "--store", "run.sqlite"]
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); from agenteval.cli import main; main()", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert reached.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert "the same command" in err.strip().splitlines()[-1] and err.startswith(
        "models: judge openai:m, tester openai:m\n"
    )
    assert (place / "run" / "report.html").exists(), "what there is so far can be looked at"
    code, offline = direct
    assert served("run") == code and records(place / "run") == records(offline)


def test_an_interrupt_waits_for_one_reply_at_most(place, capsys, monkeypatch):
    """Several tests are under way when it comes; each may be in the middle of a long conversation."""
    complete, invoke = Rules.complete, Library.invoke
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        press_ctrl_c()

    def hooked(self, request):
        if request.role == "runner" and not pressed:
            pressed.append(0.0)
            monkeypatch.setattr(Library, "invoke", lambda self, text: (time.sleep(0.4), invoke(self, text))[1])
            threading.Timer(0.2, press).start()
        return complete(self, request)

    monkeypatch.setattr(Rules, "complete", hooked)
    assert chain("run", *TINY) == 130
    assert time.monotonic() - pressed[-1] < 0.8
