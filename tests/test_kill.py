"""SIGKILL at random moments: nothing that is stored is done or paid for again, and the bytes are those of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from toy_agents import Library

from agenteval.chain import STAGES
from agenteval.store import Run, discard
from agenteval.types import Failure, TestRun, Trace

HERE = Path(__file__).parent
WORKERS = 4
"""Tests that `all` runs at once."""

WATCHED = '''
import json, os, time, uuid
from toy_agents import Library
class Watched(Library):
    """Takes its time, and writes down every word with the process that it came from."""
    def reset(self):
        self.session = uuid.uuid4().hex
        return super().reset()
    def invoke(self, text):
        line = json.dumps([os.getpid(), self.session, text]) + "\\n"
        handle = os.open("agent.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, line.encode())
        os.close(handle)
        time.sleep(0.05)
        return super().invoke(text)
'''

Said = tuple[str, ...]
"""What the user said in one session."""


@contextmanager
def model_server(log: Path, delay: float):
    """The model server in a process of its own; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(HERE / "model_server.py"), str(port), str(log), str(delay)])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def stored(path: Path) -> set[str]:
    """Keys of the answers that a call store holds."""
    if not path.exists():
        return set()
    connection = sqlite3.connect(path, timeout=10)
    try:
        return {key for (key,) in connection.execute("SELECT key FROM calls")}
    except sqlite3.OperationalError:  # killed before the table was made
        return set()
    finally:
        connection.close()


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def killed(
    command: list[str], options: dict, delay: float, progress: Callable[[], int] = lambda: 0, goal: int = 0
) -> bool:
    """Start a command and kill it so many seconds after it came so far; False where it ended by itself."""
    process = subprocess.Popen(command, **options)
    while process.poll() is None and progress() < goal:
        time.sleep(0.01)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        time.sleep(0.1)  # what the killed process had sent is still being answered
        return True
    return False


@pytest.mark.slow
def test_ten_kills_of_mine(tmp_path):
    """Figures go to stdout (`pytest -s`): calls made, calls made again, kills."""
    log = tmp_path / "server.log"
    with model_server(log, 0.4) as url:
        spec = {"provider": "openai", "model": "m", "base_url": url, "key_env": "TEST_KEY", "max_input_tokens": 1200}
        (tmp_path / "profiles.yaml").write_text(json.dumps({"served": {"tester": spec}}))

        def command(out: str) -> list[str]:
            return [
                sys.executable, "-m", "agenteval", "mine", "--from", "example:harbour_cycles", "-o", out, "--profile", "served",
                "--profiles", "profiles.yaml", "--store", f"{out}.sqlite",
            ]  # fmt: skip

        options = {"cwd": tmp_path, "env": {**os.environ, "TEST_KEY": "any-key-will-do"}, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # fmt: skip
        subprocess.run(command("calm"), check=True, **options)
        calm = lines(log)
        log.unlink()

        moments = random.Random(20261201)
        kills = 0
        while kills < 10:
            before, paid = len(lines(log)), stored(tmp_path / "run.sqlite")
            if not killed(command("run"), options, moments.uniform(0.4, 2.0)):
                break
            kills += 1
            assert not paid & set(lines(log)[before:]), "a stored answer was asked for again"
        before, paid = len(lines(log)), stored(tmp_path / "run.sqlite")
        subprocess.run(command("run"), check=True, **options)
        assert not paid & set(lines(log)[before:])
        asked = lines(log)

    repeats = len(asked) - len(set(asked))
    print(
        f"\n{kills} kills, {len(asked)} calls for {len(calm)} of an undisturbed run, {repeats} made again (in flight when killed)"
    )
    assert kills == 10, "the run was too short to be killed ten times"
    assert repeats <= kills and set(asked) == set(calm)
    for name in ("visible/traces.jsonl", "visible/labels.jsonl", "visible/graph.json", "visible/failures.jsonl", "privileged/tools.jsonl",
                 "exports/events.csv", "exports/events.xes", "exports/graph.graphml", "exports/graph.svg", "report.html"):  # fmt: skip
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "calm" / name).read_bytes(), name


def sessions(log: Path, skip: int = 0) -> list[Said]:
    """What the user said in each session that the agent saw, after so many lines of its log; reset canaries left out."""
    found: dict[tuple[int, str], list[str]] = {}
    for line in lines(log)[skip:]:
        process, session, text = json.loads(line)
        found.setdefault((process, session), []).append(text)
    return [tuple(said) for said in found.values() if "CANARY" not in said[0] and "that I told you" not in said[0]]


def finished(folder: Path) -> Counter[Said]:
    """What the user said in the sessions whose records are stored: explored, or run and judged."""
    if not (folder / "manifest.json").exists():
        return Counter()
    run = Run(folder)
    settled = run.done("verdicts") | {f.id for f in run.read("failures", Failure) if f.stage in ("run", "judge")}
    traces = run.read("traces", Trace) + [r.trace for r in run.read("runs", TestRun) if r.id in settled]
    return Counter(tuple(turn.user for turn in trace.turns) for trace in traces if trace.turns)


def belong(begun: list[Said], open_: Counter[Said]) -> bool:
    """Whether every session that was begun can be one of the open ones, cut off somewhere; longest first."""
    left = open_.copy()
    for said in sorted(begun, key=len, reverse=True):
        match = next((whole for whole, n in left.items() if n and whole[: len(said)] == said), None)
        if match is None:
            return False
        left[match] -= 1
    return True


@pytest.mark.parametrize(("begun", "open_", "expected"), [
    ([("a",), ("a", "b")], {("a", "b"): 1, ("a", "c"): 1}, True), ([("a",), ("a",)], {("a", "b"): 1}, False),
    ([("a", "b", "c")], {("a", "b"): 1}, False), ([], {}, True),
])  # fmt: skip
def test_begun_sessions_are_told_from_finished_ones(begun, open_, expected):
    assert belong(begun, Counter(open_)) is expected


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["offline", "openai"])
def test_twenty_kills_of_all(tmp_path, profile):
    """No session that has a record is held again, no answer that is stored is paid for again: the agent and the model server say so."""
    seeds = [dict(seed) for seed in Library.seeds]
    (tmp_path / "brief.yaml").write_text(yaml.safe_dump({"domain": "library desk", "seeds": seeds}))
    (tmp_path / "watched.py").write_text(WATCHED)
    spoken, asked = tmp_path / "agent.log", tmp_path / "server.log"

    def command(out: str) -> list[str]:
        return [
            sys.executable, "-m", "agenteval", "all", "--subject", "python:watched:Watched", "--brief", "brief.yaml", "-o", out,
            "--profile", profile, "--store", f"{out}.sqlite",
        ]  # fmt: skip

    def progress() -> int:
        return len(lines(spoken)) + len(lines(asked))

    with model_server(asked, 0.02) as url:
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "any-key-will-do", "AGENTEVAL_MODEL": "m",
        }  # fmt: skip
        options = {"cwd": tmp_path, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        code = subprocess.run(command("calm"), **options).returncode
        assert code in (0, 1)
        whole, calm = Counter(sessions(spoken)), lines(asked)
        assert whole == finished(tmp_path / "calm") and len(calm) == len(set(calm))
        # The moments lie anywhere in the work that there is to do, so that every long stage is hit.
        moments = random.Random(7)
        due = sorted(moments.sample(range(1, progress()), 20))
        spoken.unlink()
        asked.unlink(missing_ok=True)
        kills, held, hit = 0, 0, Counter()
        while True:
            said, sent = len(lines(spoken)), len(lines(asked))
            still_open, paid = whole - finished(tmp_path / "run"), stored(tmp_path / "run.sqlite")
            disturbed = kills < 20 and killed(command("run"), options, moments.uniform(0, 0.15), progress, due[kills])
            if not disturbed:
                assert subprocess.run(command("run"), **options).returncode == code
            begun = sessions(spoken, said)
            held += len(begun)
            assert belong(begun, still_open), "a session that has a record was held again"
            assert not paid & set(lines(asked)[sent:]), "an answer that is stored was asked for again"
            if not disturbed:
                break
            kills += 1
            closed = Run(tmp_path / "run").closed
            hit[next((stage for stage in STAGES if not closed(stage)), "report")] += 1
        again = lines(asked)
    repeated, paid_again = held - whole.total(), len(again) - len(set(again))
    where = ", ".join(f"{n} in {stage}" for stage, n in hit.items())
    print(f"\n{profile}: {kills} kills ({where}); {held} sessions for {whole.total()}, so {repeated} that were in flight were held again; "
          f"{len(again)} calls for {len(calm)}, so {paid_again} that were in flight were made again")  # fmt: skip
    assert kills == 20 and hit["discover"] and hit["run"]
    assert repeated <= kills * 2 * WORKERS and paid_again <= kills * WORKERS and set(again) == set(calm)
    for path in sorted((tmp_path / "calm").rglob("*")):
        name = path.relative_to(tmp_path / "calm")
        if path.is_file() and name.name not in ("manifest.json", "calls.jsonl"):
            assert (tmp_path / "run" / name).read_bytes() == path.read_bytes(), name


@pytest.mark.parametrize("left", [".manifest.json.4711", ".report.html.4711"])
def test_what_a_kill_left_of_a_write_does_not_close_the_folder(tmp_path, left):
    """Killed between writing a temporary file and giving it its name: the same command, and --fresh, still go on."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / left).write_text("{")
    discard(tmp_path / "run")
    assert Run(tmp_path / "run", {"command": "x"}).manifest["config"] == {"command": "x"}
    (tmp_path / "run" / left).write_text("{")
    discard(tmp_path / "run")
    assert Run(tmp_path / "run", {"command": "y"}).manifest["config"] == {"command": "y"}
