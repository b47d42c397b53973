"""The command line from outside: results, one clear line for every mistake, resuming, equal bytes by every way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agenteval import cli
from agenteval.store import Run
from agenteval.tester.abstract import plan
from agenteval.types import Graph, LabelledTrace, Trace

EXAMPLE = "example:harbour_cycles"
VISIBLE = ("traces.jsonl", "labels.jsonl", "graph.json", "failures.jsonl")


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def contents(folder: Path) -> dict[str, bytes]:
    """Everything that equal inputs must give again to the byte: not calls, not the manifest."""
    names = [
        *(folder / "visible" / name for name in VISIBLE),
        *sorted((folder / "exports").iterdir()),
        folder / "privileged" / "tools.jsonl",
    ]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in names if p.exists()}


@pytest.fixture(scope="module")
def direct(tmp_path_factory) -> Path:
    """The bundled example, mined offline."""
    folder = tmp_path_factory.mktemp("direct") / "run"
    assert cli.run(["mine", "--from", EXAMPLE, "-o", str(folder)]) == 0
    return folder


def profile(tmp_path: Path, url: str, **more) -> Path:
    path = tmp_path / "profiles.yaml"
    spec = {
        "provider": "openai",
        "model": "m-1",
        "base_url": url,
        "key_env": "TEST_KEY",
        "retries": 1,
        "timeout": 20,
        **more,
    }
    path.write_text(json.dumps({"served": {"tester": spec}}))
    return path


def test_a_run_folder_holds_everything(direct):
    names = {p.relative_to(direct).as_posix() for p in direct.rglob("*") if p.is_file()}
    assert names == {
        "manifest.json", "report.html", "visible/traces.jsonl", "visible/labels.jsonl", "visible/graph.json", "visible/calls.jsonl",
        "visible/failures.jsonl", "privileged/tools.jsonl", "exports/graph.svg", "exports/graph.png", "exports/graph.pdf",
        "exports/graph.dot", "exports/graph.mmd", "exports/graph.graphml", "exports/events.csv", "exports/events.xes",
    }  # fmt: skip
    run = Run(direct)
    graph = run.read_json("graph", Graph)
    traces, labelled = run.read("traces", Trace), run.read("labels", LabelledTrace)
    assert len(traces) == len(labelled) == 22
    assert sum(s.support for s in graph.states) == sum(len(t.turns) for t in traces)
    manifest = run.manifest
    assert manifest["config"]["models"]["tester"].startswith("rules@") and manifest["versions"]["agenteval"]
    assert (
        str(direct.parent) not in (direct / "manifest.json").read_text()
        and "/root" not in (direct / "report.html").read_text()
    )


def test_the_same_command_again_does_nothing_and_says_the_same(direct, capsys):
    before = {p: p.stat().st_mtime_ns for p in direct.rglob("*") if p.is_file() and p.name != "manifest.json"}
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", direct, "--json")
    assert code == 0 and json.loads(out)["conversations"] == 22 and json.loads(out)["seconds"] == {}
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_two_runs_give_equal_bytes(direct, tmp_path, capsys):
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "again")
    assert code == 0 and contents(tmp_path / "again") == contents(direct)
    assert "22 conversations" in out and "completions directly after a gate" in out and "report.html" in out
    assert "label 22/22" in err and "label" not in out


def test_progress_goes_to_stderr_and_json_to_stdout(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "agenteval", "mine", "--from", EXAMPLE, "-o", str(tmp_path / "run"), "--json"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0 and json.loads(done.stdout)["states"] > 5
    assert done.stderr.splitlines()[0] == "read 0/1"


def test_the_http_model_gives_the_same_bytes_as_the_rules(direct, server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "secret-of-the-test")
    server.faults = ["status:429", "html"]
    options = (
        "--profile",
        "served",
        "--profiles",
        profile(tmp_path, server.url, retries=3),
        "--store",
        tmp_path / "calls.sqlite",
    )
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run", *options)
    assert code == 0, err
    assert contents(tmp_path / "run") == contents(direct)
    assert server.headers[0]["authorization"] == "Bearer secret-of-the-test"
    everything = b"".join(p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file())
    assert b"secret-of-the-test" not in everything
    calls = len(server.bodies)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run2", *options)
    assert code == 0 and len(server.bodies) == calls, "a second run takes the answer from the store"

    replay = tmp_path / "replay.yaml"
    replay.write_text(json.dumps({"served": {"tester": {"provider": "replay"}}}))
    options = ("--profile", "served", "--profiles", replay, "--store", tmp_path / "calls.sqlite")
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run3", *options)
    assert code == 0 and contents(tmp_path / "run3") == contents(direct) and len(server.bodies) == calls
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "--limit", "3", "-o", tmp_path / "run4", *options)
    assert code == 2 and "holds no answer to this call of role labeller" in err and err.count("agenteval:") == 1


def test_chunks_through_the_server_resume_after_an_endpoint_died(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    path = profile(tmp_path, server.url, max_input_tokens=2000, retries=0)
    options = ("--from", EXAMPLE, "--profile", "served", "--profiles", path, "--store", tmp_path / "calls.sqlite")
    server.faults = ["", "", "", "status:500"]
    code, out, err = call(capsys, "mine", "-o", tmp_path / "run", *options)
    assert code == 2 and "labeller: m-1 at" in err and out == ""
    assert len(server.bodies) == 4
    code, out, err = call(capsys, "mine", "-o", tmp_path / "run", *options)
    assert code == 0
    labels = [b for b in server.bodies if "Sessions:" in b["messages"][0]["content"]]
    prompts = [b["messages"][0]["content"] for b in labels]
    assert len(prompts) - len(set(prompts)) == 1, "only the call that failed was made again"
    traces = Run(tmp_path / "run").read("traces", Trace)
    assert len(set(prompts)) == plan(traces, 2000)[0] - 2 > 3
    calls = list(Run(tmp_path / "run").lines("calls"))
    assert [c["outcome"] for c in calls[:4]] == ["stop"] * 3 + ["unreachable"]
    assert sum(c["stored"] for c in calls) == 3
    manifest = Run(tmp_path / "run").manifest
    assert manifest["negotiated"]["tester"]["format"] == "json_schema"
    assert manifest["stages"]["abstract"]["calls"] == sum(not c["stored"] and c["usage"] is not None for c in calls)
    code, out, err = call(capsys, "mine", "-o", tmp_path / "other", "--fresh", *options)
    assert code == 0 and contents(tmp_path / "other") == contents(tmp_path / "run")


def test_a_budget_leaves_a_run_that_goes_on(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    path = profile(tmp_path, server.url, max_input_tokens=2000)
    options = (
        "--from",
        EXAMPLE,
        "--profile",
        "served",
        "--profiles",
        path,
        "--store",
        tmp_path / "calls.sqlite",
        "-o",
        tmp_path / "run",
    )
    code, out, err = call(capsys, "mine", *options, "--max-calls", 2)
    assert code == 4 and "budget reached: 2 of 2 calls" in err and len(server.bodies) == 2
    code, out, err = call(capsys, "mine", *options, "--max-calls", 4)
    assert code == 4 and len(server.bodies) == 4, "what earlier sessions of the run spent counts"
    code, out, err = call(capsys, "mine", *options)
    assert code == 0


def test_dry_run_asks_nobody_and_writes_nothing(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    path = profile(tmp_path, server.url, max_input_tokens=2000)
    code, out, err = call(
        capsys,
        "mine",
        "--from",
        EXAMPLE,
        "-o",
        tmp_path / "run",
        "--profile",
        "served",
        "--profiles",
        path,
        "--dry-run",
        "--json",
    )
    said = json.loads(out)
    assert code == 0 and said["conversations"] == 22 and said["calls"] > 5 and said["models"]["tester"] == "openai:m-1"
    assert not (tmp_path / "run").exists() and server.bodies == []
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run", "--dry-run")
    assert "22 conversations" in out and "1 model calls" in out


@pytest.mark.parametrize(("arguments", "says"), [
    (["--from", "nowhere.json", "-o", "r"], "--from nowhere.json: no such file or folder"),
    (["--from", EXAMPLE, "-o", "r", "--format", "csv"], "unknown format 'csv'; expected one of tau-bench"),
    (["--from", EXAMPLE, "-o", "r", "--profile", "other"], "unknown profile 'other'; known: offline, openai, replay"),
    (["--from", EXAMPLE, "-o", "r", "--profile", "openai"], "needs the environment variable AGENTEVAL_MODEL"),
    (["--from", EXAMPLE, "-o", "r", "--profiles", "absent.yaml"], "--profiles absent.yaml: cannot be read"),
    (["--from", EXAMPLE, "-o", "r", "--limit", "0"], "--limit"),
    (["--from", EXAMPLE, "-o", "r", "--nonsense"], "--nonsense"),
    (["--from", EXAMPLE], "--output"),
    (["--from", "empty.json", "-o", "r"], "the file is empty"),
    (["--from", EXAMPLE, "-o", "empty.json"], "is a file; -o takes a folder"),
    (["--from", EXAMPLE, "-o", "full"], "is not empty and holds no run"),
    (["--from", EXAMPLE, "-o", "full", "--fresh"], "--fresh empties run folders only"),
])  # fmt: skip
def test_a_mistake_is_one_clear_line(tmp_path, capsys, arguments, says):
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    code, out, err = call(capsys, "mine", *arguments)
    lines = [line for line in err.splitlines() if not line.startswith("read ")]
    assert code == 3 and len(lines) == 1 and says in lines[0] and lines[0].startswith("agenteval: ")
    assert not (tmp_path / "r" / "report.html").exists() and (tmp_path / "full" / "thesis.tex").exists()


@pytest.mark.parametrize(("text", "says"), [
    ("a: [", "no valid YAML"), ("- a", "expected profiles by name"), ("p: 3", "expected roles"), ("p: {judge: {provider: rules}}", "names no model for the role tester"),
    ("p: {tester: {provider: magic}}", "tester.provider"), ("p: {tester: {provider: rules, colour: red}}", "tester.colour"),
    ("p: {tester: {provider: openai}}", "needs `model:`"), ("p: {tester: {provider: openai, model: m}}", "OPENAI_API_KEY"),
    ("p: {testr: {provider: rules}, tester: {provider: rules}}", "testr"), ("!!python/object/apply:os.system ['true']", "no valid YAML"),
])  # fmt: skip
def test_a_wrong_profile_is_one_clear_line(tmp_path, capsys, text, says):
    (tmp_path / "p.yaml").write_text(text)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", "r", "--profile", "p", "--profiles", "p.yaml")
    lines = [line for line in err.splitlines() if not line.startswith(("read ", "label "))]
    assert code == 3 and len(lines) == 1 and says in lines[0]


def test_the_price_of_an_unknown_model_is_asked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    path = profile(tmp_path, "http://127.0.0.1:9/v1")
    code, out, err = call(
        capsys, "mine", "--from", EXAMPLE, "-o", "r", "--profile", "served", "--profiles", path, "--max-cost", 1
    )
    assert code == 3 and "--max-cost needs a price table for m-1" in err


def test_an_endpoint_that_is_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    path = profile(tmp_path, "http://127.0.0.1:9/v1")
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", "r", "--profile", "served", "--profiles", path)
    assert (
        code == 2 and "m-1 at http://127.0.0.1:9/v1 gave no usable answer in 2 tries" in err and "Traceback" not in err
    )


def test_keys_come_from_dotenv_of_the_working_folder(server, tmp_path, capsys):
    (tmp_path / ".env").write_text("# mine\nexport TEST_KEY='from-dotenv-file'\nbroken line\n")
    path = profile(tmp_path, server.url)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", "r", "--profile", "served", "--profiles", path)
    assert code == 0 and server.headers[0]["authorization"] == "Bearer from-dotenv-file"


def test_another_input_in_the_same_folder_is_refused(direct, tmp_path, capsys):
    source = tmp_path / "log.jsonl"
    source.write_text(
        json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]})
    )
    code, out, err = call(capsys, "mine", "--from", source, "-o", direct)
    assert code == 3 and "begun with another input, source" in err
    assert call(capsys, "mine", "--from", source, "-o", tmp_path / "r")[0] == 0
    source.write_text(source.read_text().replace("hello", "hi there"))
    code, out, err = call(capsys, "mine", "--from", source, "-o", tmp_path / "r")
    assert code == 3 and "begun with another input; use -o NEW, or --fresh" in err
    assert call(capsys, "mine", "--from", source, "-o", tmp_path / "r", "--fresh")[0] == 0


def test_a_full_disk_is_one_line_and_the_same_command_goes_on(direct, tmp_path, capsys, monkeypatch):
    real = Path.write_bytes

    def full(self, data):
        if "labels" in self.name:
            real(self, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run")
    assert code == 2 and "the disk is full. Everything finished so far is kept; the same command continues" in err
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run")[0] == 0
    assert contents(tmp_path / "run") == contents(direct)
    assert not list((tmp_path / "run").rglob(".*"))


def test_ctrl_c_is_one_line(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("agenteval.pipeline.abstract", interrupted)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", tmp_path / "run")
    assert code == 130 and "interrupted. Everything finished so far is kept" in err and "Traceback" not in err


def test_conversations_that_all_failed_to_be_labelled(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k-k-k-k-k")
    server.answer = lambda body: '{"sessions": []}'
    path = profile(tmp_path, server.url)
    code, out, err = call(capsys, "mine", "--from", EXAMPLE, "-o", "r", "--profile", "served", "--profiles", path)
    assert code == 2 and "no conversation could be labelled" in err


def test_doctor(capsys, monkeypatch):
    code, out, err = call(capsys, "doctor", "--json")
    checks = json.loads(out)
    assert {name for name, check in checks.items() if check["ok"] is False} == set() and code == 0
    assert {"python", "clash", "packages", "drawing", "kernel", "key"} <= set(checks)


def test_doctor_finds_the_other_distribution(capsys, monkeypatch):
    from importlib import metadata

    from agenteval.commands import doctor

    real = metadata.version
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "0.4.1" if name == "agent-evaluation" else real(name))
    code, out, err = call(capsys, "doctor")
    assert (
        code == 2
        and "FAIL clash: agent-evaluation 0.4.1 installs a package and a command named agenteval too: pip uninstall"
        in out
    )


def test_doctor_never_shows_a_key(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-very-secret")
    code, out, err = call(capsys, "doctor")
    assert "OPENAI_API_KEY is set" in out and "secret" not in out + err


def test_help_needs_no_argument(capsys):
    code, out, err = call(capsys)
    assert "mine" in out + err and "doctor" in out + err
