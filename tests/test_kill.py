"""SIGKILL at random moments: nothing that was paid for is paid again, and the bytes are those of an undisturbed run."""

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
from pathlib import Path

import pytest

KILLS = 10


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stored(path: Path) -> set[str]:
    if not path.exists():
        return set()
    connection = sqlite3.connect(path, timeout=10)
    try:
        return {key for (key,) in connection.execute("SELECT key FROM calls")}
    except sqlite3.OperationalError:  # killed before the table was made
        return set()
    finally:
        connection.close()


@pytest.mark.slow
def test_ten_kills(tmp_path):
    """Figures go to stdout (`pytest -s`): calls made, calls made again, kills."""
    port, log = free_port(), tmp_path / "server.log"
    here = Path(__file__).parent
    server = subprocess.Popen([sys.executable, str(here / "model_server.py"), str(port), str(log), "0.4"])
    try:
        spec = {
            "provider": "openai",
            "model": "m",
            "base_url": f"http://127.0.0.1:{port}/v1",
            "key_env": "TEST_KEY",
            "max_input_tokens": 1200,
        }
        (tmp_path / "profiles.yaml").write_text(json.dumps({"served": {"tester": spec}}))
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)

        def command(out: str, store: str) -> list[str]:
            return [
                sys.executable, "-m", "agenteval", "mine", "--from", "example:harbour_cycles", "-o", out, "--profile", "served",
                "--profiles", "profiles.yaml", "--store", store,
            ]  # fmt: skip

        environment = {**os.environ, "TEST_KEY": "any-key-will-do"}
        options = {"cwd": tmp_path, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command("calm", "calm.sqlite"), check=True, **options)
        calm_calls = len(log.read_text().split())
        log.unlink()

        moments = random.Random(20261201)
        paid: set[str] = set()
        kills = 0
        while kills < KILLS:
            before = len(log.read_text().split()) if log.exists() else 0
            process = subprocess.Popen(command("run", "run.sqlite"), **options)
            try:
                process.wait(moments.uniform(0.4, 2.0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
            else:
                break
            asked = log.read_text().split()[before:] if log.exists() else []
            assert not paid & set(asked), "a stored answer was asked for again"
            time.sleep(0.2)
            paid = stored(tmp_path / "run.sqlite")
        before = len(log.read_text().split())
        subprocess.run(command("run", "run.sqlite"), check=True, **options)
        assert not paid & set(log.read_text().split()[before:])
    finally:
        server.kill()
        server.wait()

    asked = log.read_text().split()
    repeats = sum(n - 1 for n in Counter(asked).values())
    print(
        f"\n{kills} kills, {len(asked)} calls for {calm_calls} of an undisturbed run, {repeats} made again (in flight when killed)"
    )
    assert kills == KILLS, "the run was too short to be killed ten times"
    assert repeats <= kills and set(asked) and len(set(asked)) == calm_calls
    for name in ("visible/traces.jsonl", "visible/labels.jsonl", "visible/graph.json", "visible/failures.jsonl", "privileged/tools.jsonl",
                 "exports/events.csv", "exports/events.xes", "exports/graph.graphml", "exports/graph.svg", "report.html"):  # fmt: skip
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "calm" / name).read_bytes(), name
