"""Run folders: what is on disk survives kills, full disks and other versions."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from agenteval.errors import RunFolderError, StoreError
from agenteval.store import Run, clean, discard, redact
from agenteval.types import Failure, Trace, Turn


def trace(n: int, text: str = "hello") -> Trace:
    return Trace(id=f"{n:05d}-x", turns=(Turn(user=text, agent="yes"),))


def test_records_come_back_as_they_were(tmp_path):
    run = Run(tmp_path / "run", {"seed": 1})
    run.append("traces", [trace(2, "naïve 🚲 \u202e"), trace(1)])
    again = Run(tmp_path / "run", {"seed": 1})
    assert again.read("traces", Trace) == [trace(2, "naïve 🚲 \u202e"), trace(1)]
    assert again.done("traces") == {"00001-x", "00002-x"}
    again.close_stage("read", ["traces"])
    lines = again.file("traces").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["00001-x", "00002-x"]
    assert all(list(json.loads(line)) == sorted(json.loads(line)) and json.loads(line)["schema"] == 1 for line in lines)
    assert Run(tmp_path / "run").closed("read")


def test_a_torn_last_line_is_cut_off_and_the_rest_kept(tmp_path):
    run = Run(tmp_path / "run", {})
    run.append("traces", [trace(1), trace(2)])
    with run.file("traces").open("ab") as file:
        file.write(b'{"id": "00003-x", "tur')
    again = Run(tmp_path / "run", {})
    again.append("traces", [trace(4)])
    assert [t.id for t in again.read("traces", Trace)] == ["00001-x", "00002-x", "00004-x"]


def test_a_file_that_is_one_torn_line_becomes_empty(tmp_path):
    run = Run(tmp_path / "run", {})
    run.append("traces", [trace(1)])
    run.file("traces").write_bytes(b'{"half')
    assert Run(tmp_path / "run", {}).read("traces", Trace) == []


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    run = Run(tmp_path / "run", {})
    run.append("traces", [trace(1)])
    with run.file("traces").open("ab") as file:
        file.write(b"rubbish\n")
    with pytest.raises(RunFolderError, match="line 2 is no record"):
        Run(tmp_path / "run", {}).read("traces", Trace)


@pytest.mark.parametrize(("content", "says"), [
    ('{"schema": 99, "config": {}, "stages": {}}', "has schema 99, this version reads schema 1"),
    ("{", "cannot be read as a manifest"), ("[]", "cannot be read as a manifest"),
])  # fmt: skip
def test_other_manifests_are_refused(tmp_path, content, says):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunFolderError, match=says):
        Run(tmp_path, {})


def test_another_config_is_refused_by_name(tmp_path):
    Run(tmp_path / "run", {"seed": 1, "profile": "offline"})
    with pytest.raises(RunFolderError, match="begun with another seed; use -o NEW, or --fresh"):
        Run(tmp_path / "run", {"seed": 2, "profile": "offline"})


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunFolderError, match="not empty"):
        Run(tmp_path, {})
    with pytest.raises(RunFolderError, match="has no manifest"):
        discard(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_fresh_removes_the_run_and_nothing_else(tmp_path):
    run = Run(tmp_path / "run", {})
    run.append("traces", [trace(1)])
    (run.path / "notes.txt").write_text("mine")
    discard(run.path)
    assert [p.name for p in run.path.iterdir()] == ["notes.txt"]


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path, monkeypatch):
    run = Run(tmp_path / "run", {})
    run.append("traces", [trace(1)])
    real = os.write

    def half_then_full(handle, data):
        if len(data) > 20:
            return real(handle, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(StoreError, match=r"the disk is full. Everything finished so far is kept"):
        run.append("traces", [trace(2, "x" * 31)])
    monkeypatch.undo()
    assert [t.id for t in Run(tmp_path / "run", {}).read("traces", Trace)] == ["00001-x"]


def test_kill_in_the_middle_of_writing(tmp_path):
    """A process is killed while it appends as fast as it can: every acknowledged record is there afterwards."""
    script = (
        "import sys\nfrom agenteval.store import Run\nfrom agenteval.types import Failure\n"
        "run = Run(sys.argv[1], {})\nn = 0\n"
        "while True:\n"
        "    run.append('failures', [Failure(id=f'{n:07d}', stage='s', reason='r', detail='d' * 500)])\n"
        "    n += 1\n    print(n, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line) >= 200:
            break
    process.kill()
    acknowledged = 200 + len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    ids = [f.id for f in Run(tmp_path / "run", {}).read("failures", Failure)]
    assert ids == [f"{n:07d}" for n in range(len(ids))] and len(ids) >= acknowledged


@pytest.mark.parametrize("key", [
    "sk-proj-abcdefghijklmnopqrst", "ghp_abcdefghijklmnopqrstuv123", "AKIAABCDEFGHIJKLMNOP", "xoxb-1234567890-abc",
    "hf_abcdefghijklmnopqrstuvwx", "AIza" + "a" * 35,
])  # fmt: skip
def test_keys_are_redacted_when_written(tmp_path, key):
    run = Run(tmp_path / "run", {"note": f"key {key}"}, secrets=["hunter2-hunter2"])
    run.append("traces", [trace(1, f"my key is {key}, and hunter2-hunter2")])
    run.write_file("report.html", f"<p>{key}</p>")
    for path in (run.file("traces"), run.path / "report.html", run.path / "manifest.json"):
        assert key not in path.read_text("utf-8") and "hunter2" not in path.read_text("utf-8")


def test_ordinary_words_are_not_redacted():
    text = "task-1234567890123456789012 and risk-management-for-everybody, Bearer of news"
    assert redact(text) == text


def test_any_string_can_be_written():
    assert clean("\ud83d\ude00 \udcff \x00") == "😀 \ufffd \ufffd"
