"""The whole chain through a real HTTP server that answers from the rules: the same records as without it, come what may."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from model_server import ROLES, ModelServer, request_of
from toy_agents import Library

from agenteval import cli
from agenteval.store import Run

HERE = Path(__file__).parent
RECORDS = ("traces", "labels", "targets", "plan", "runs", "verdicts", "failures")
SMALL = ("--rounds", "5", "--functional", "4", "--boundary", "6")
KEY = "sk-test-0123456789abcdef0123456789abcdef"


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEST_KEY", KEY)
    seeds = [dict(seed) for seed in Library.seeds]
    (tmp_path / "brief.yaml").write_text(yaml.safe_dump({"domain": "library desk", "seeds": seeds}))
    return tmp_path


def profiles(place: Path, url: str) -> None:
    spec = {"provider": "openai", "model": "m", "base_url": url, "key_env": "TEST_KEY"}
    (place / "profiles.yaml").write_text(json.dumps({"served": {"tester": spec, "judge": spec}}))


def chain(out: str, *more: str) -> int:
    subject = ("--subject", "python:toy_agents:Library", "--brief", "brief.yaml")
    return cli.run(["all", *subject, "-o", out, *SMALL, *more])


def served(out: str, *more: str) -> int:
    return chain(out, "--profile", "served", "--profiles", "profiles.yaml", "--store", f"{out}.sqlite", *more)


def records(folder: Path) -> dict[str, bytes]:
    found = {name: (folder / "visible" / f"{name}.jsonl").read_bytes() for name in RECORDS}
    return found | {"graph": (folder / "visible" / "graph.json").read_bytes()}


def test_the_chain_through_http_gives_the_same_records(place, server, capsys):
    code = chain("direct")
    profiles(place, server.url)
    # Each of these is tried again or parsed another way; none may change a record.
    server.faults = ["status:429", "drop", "status:500", "fenced", "prose", "no-usage", "cut-json"]
    assert served("http") == code
    assert records(place / "http") == records(place / "direct")
    asked = {request_of(body).role for body in server.bodies}
    assert asked == set(ROLES) - {"synonyms"}, "every role was played by the server"
    for path in (place / "http").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    calls = len(server.bodies)
    assert served("http") == code and served("again", "--store", "http.sqlite") == code
    assert len(server.bodies) == calls, "a finished run asks nothing, and a second one finds all answers in the store"
    assert records(place / "again") == records(place / "direct")


def test_parallel_calls_give_way_to_a_refusal_once(place, server, capsys):
    profiles(place, server.url)
    server.refuse = {"json_schema", "temperature", "seed"}
    assert served("http", "--rounds", "2", "--functional", "1", "--boundary", "1") in (0, 1, 2)
    found = Run(place / "http").manifest["negotiated"]
    assert {role: (n["format"], n["dropped"]) for role, n in found.items()} == {
        role: ("json_object", ["seed", "temperature"]) for role in ("tester", "judge")
    }


@pytest.mark.parametrize("command", ["all", "discover"])
def test_a_dry_run_spends_nothing_and_writes_nothing(place, server, capsys, command):
    profiles(place, server.url)
    arguments = [
        command,
        "--subject",
        "python:toy_agents:Library",
        "--brief",
        "brief.yaml",
        "-o",
        "dry",
        "--profile",
        "served",
    ]
    assert cli.run([*arguments, "--profiles", "profiles.yaml", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "calls" in out + err and "tokens" in out + err
    assert server.bodies == [] and not (place / "dry").exists()


def test_a_call_budget_stops_before_it_is_exceeded_and_the_same_command_goes_on(place, server, capsys):
    profiles(place, server.url)
    assert served("run", "--max-calls", "10") == 4
    assert len(server.bodies) == 10 and (place / "run" / "report.html").exists()
    code = served("run")
    assert code == chain("direct") and records(place / "run") == records(place / "direct")


@pytest.mark.parametrize("stage", ["discover", "plan", "run"])
def test_an_interrupt_is_one_line_and_the_same_command_goes_on(place, server, capsys, stage):
    """SIGINT while a role of the stage is being asked; the process is a real one."""
    role = {"discover": "driver", "plan": "boundary", "run": "runner"}[stage]
    profiles(place, server.url)
    reached = threading.Event()
    answer = server.answer

    def slow(body: dict) -> str:
        if request_of(body).role == role and not reached.is_set():
            reached.set()
            time.sleep(1.0)
        return answer(body)

    server.answer = slow
    arguments = ["all", "--subject", "python:toy_agents:Library", "--brief", "brief.yaml", "-o", "run", *SMALL, "--profile", "served",
                 "--profiles", "profiles.yaml", "--store", "run.sqlite"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); from agenteval.cli import main; main()", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert reached.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode not in (0, 1) and "Traceback" not in err
    assert "the same command" in err.strip().splitlines()[-1] and err.startswith("models: judge openai:m, tester openai:m\n")
    assert (place / "run" / "report.html").exists(), "what there is so far can be looked at"
    code = served("run")
    assert code == chain("direct") and records(place / "run") == records(place / "direct")


def test_nothing_privileged_is_ever_asked_about(place, capsys, monkeypatch):
    """The log of a scripted subject stays on its side: no request that the server saw holds a guard or a tool call."""
    from agenteval.subjects.scripted import guards

    with ModelServer() as server:
        profiles(place, server.url)
        arguments = [
            "all",
            "--subject",
            "scripted:airline",
            "-o",
            "air",
            "--rounds",
            "3",
            "--functional",
            "2",
            "--boundary",
            "3",
        ]
        code = cli.run([*arguments, "--profile", "served", "--profiles", "profiles.yaml", "--store", "air.sqlite"])
        sent = json.dumps(server.bodies)
    assert code in (0, 1, 2) and len(sent) > 10_000
    telling = [guard for guard in guards("airline") if guard.count("_") > 1]
    assert len(telling) > 10 and [guard for guard in telling if guard in sent] == []
    assert "get_user_details" in (place / "air" / "privileged" / "tools.jsonl").read_text()
    assert "get_user_details" not in sent and "tool_call" not in sent
