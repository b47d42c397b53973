"""Cells of experiments: run once, shared, resumed, and what a worker's death costs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

import pytest

from agenteval.commands import cells as module
from agenteval.commands.cells import Bench, Cell, Configuration, groups, measurements, record_of, run_cells
from agenteval.errors import AgentEvalError, UsageError
from agenteval.store import Run

SMALL = {"rounds": 2, "turns": 4, "warmup": (1, 1, 0), "functional": 2, "boundary": 3}


def cell(arm="guided", seed=0, **options):
    configuration = Configuration(**{**SMALL, "arm": arm, **options})
    return Cell(domain="airline", wording="a", seed=seed, name=arm, configuration=configuration)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr("agenteval.pipeline.PICTURES", ("svg",))
    return Bench(tmp_path / "cells", calls=tmp_path / "calls.sqlite")


def visible(folder):
    return {p.name: p.read_bytes() for p in (folder / "visible").iterdir() if p.name != "calls.jsonl"}


def test_arms_share_traces_and_graph_and_are_run_once(bench, monkeypatch):
    two = [cell(), cell("prompt_only")]
    assert [len(group) for group in groups(two, bench)] == [2]
    run_cells(two, bench)
    for name in ("traces.jsonl", "labels.jsonl", "graph.json"):
        one, other = (bench.folder / c.folder / "visible" / name for c in two)
        assert one.read_bytes() == other.read_bytes()
    found = {(m.arm, m.metric): m.value for m in measurements(two, bench)}
    assert found["guided", "boundary |T|"] > 0
    assert found["guided", "LLM calls"] > found["prompt_only", "LLM calls"] - 20
    monkeypatch.setattr(module, "run_group", lambda *_: pytest.fail("a finished cell was run again"))
    run_cells(two, bench)


def test_half_a_fork_is_made_again(bench):
    run_cells([cell()], bench)
    expected = visible(bench.folder / cell().folder)
    run = Run(bench.folder / cell().folder)
    run.file("traces").unlink()
    run.save_manifest(stages={}, cell=None)  # as a process leaves it that was killed in the middle of copying
    assert record_of(cell(), bench) is None
    run_cells([cell()], bench)
    assert visible(bench.folder / cell().folder) == expected


def test_a_cell_that_was_not_run_is_named(bench):
    with pytest.raises(UsageError, match=cell().folder):
        measurements([cell()], bench)


def test_an_extra_is_measured_later_without_running_again(bench):
    run_cells([cell()], bench)
    more = cell().model_copy(update={"extras": ("stability",)})
    before = visible(bench.folder / more.folder)
    assert record_of(more, bench) is None
    run_cells([more], bench)
    found = {m.metric for m in measurements([more], bench)}
    assert {"labels reordered ARI", "boundary distinct"} <= found
    assert before.items() <= visible(bench.folder / more.folder).items()


def test_two_workers_one_killed(bench):
    """The killed worker's cell runs again, nothing else does, and the bytes are those of an undisturbed run."""
    four = [cell(seed=seed) for seed in range(4)]
    killed = []

    def kill(stage, done, total):
        if done and not killed:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    run_cells(four, bench, workers=2, progress=kill)
    assert len(killed) == 1 and multiprocessing.active_children() == []
    alone = bench._replace(folder=bench.folder.with_name("alone"))
    run_cells(four, alone)
    for one in four:
        assert visible(bench.folder / one.folder) == visible(alone.folder / one.folder)
    assert measurements(four, bench) == measurements(four, alone)


def test_a_cell_that_fails_is_named_and_does_not_stop_the_others(bench):
    bad = cell().model_copy(update={"domain": "submarine"})
    with pytest.raises(AgentEvalError, match="submarine"):
        run_cells([bad, cell()], bench)
    assert record_of(cell(), bench) is not None


def test_the_fingerprint_covers_every_listed_part():
    from pathlib import Path

    home = Path(module.__file__).parents[1]
    assert all((home / part).exists() for part in module.CODE)
    assert module.fingerprint() == module.fingerprint()


def test_without_dask_the_extra_is_named(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"agenteval\[dask\]"):
        run_cells([cell()], bench, dask="127.0.0.1:8786")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_does_the_cells(bench):
    distributed = pytest.importorskip("distributed")
    seen = []
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        two = [cell(), cell(seed=1)]
        run_cells(two, bench, dask=cluster.scheduler_address, progress=lambda stage, done, total: seen.append(done))
    assert seen == [0, 1, 2] and measurements(two, bench)
