"""Cells of an experiment: domain x wording x seed x configuration, each run once and kept.

Cells with the same exploration form a group: its traces, labels and graph are made once and forked for each arm (`chain.fork`).
All live in one folder, below a name of the code they were made by (`fingerprint`), so that nothing stale is ever read::

    runs/cells/offline-3f2a.../airline-a-0-9c1d7e55/         exploration
    runs/cells/offline-3f2a.../airline-a-0-9c1d7e55-guided/  plan, runs, audit; its manifest holds the metrics

A cell that was interrupted goes on where it was; a finished one is only read.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from agenteval.analysis.tables import Measurement
from agenteval.errors import AgentEvalError, RunFolderError, UsageError
from agenteval.llm.wrappers import Budget
from agenteval.pipeline import STORE, Progress, silent
from agenteval.store import Run, content_id, read_manifest
from agenteval.tester.discover import Strategy
from agenteval.tester.synthesize import Arm
from agenteval.types import Record

Extra = Literal["mutants", "stability"]


class Configuration(Record):
    """What varies between the arms of an experiment; the defaults are the paper's."""

    discovery: Strategy = "phase_guided"
    arm: Arm = "guided"
    rounds: int = Field(12, ge=1)
    turns: int = Field(6, ge=1)
    warmup: tuple[int, int, int] = (1, 2, 1)
    functional: int = Field(50, ge=0)
    boundary: int = Field(50, ge=0)


class Cell(Record):
    """One unit of an experiment."""

    domain: str
    wording: str
    seed: int
    name: str
    """Name of the configuration: the arm of the tables."""
    configuration: Configuration
    agents: Literal["scripted", "tau"] = "scripted"
    extras: tuple[Extra, ...] = ()
    """Measured beside the usual metrics."""

    @property
    def subject(self) -> str:
        return f"{self.agents}:{self.domain}" + (f"?wording={self.wording}" if self.agents == "scripted" else "")

    @property
    def group(self) -> str:
        """Folder of the exploration that the cell shares."""
        shared = self.configuration.model_dump(mode="json", exclude={"arm"})
        return f"{self.domain}-{self.wording}-{self.seed}-{content_id(self.agents, shared)}"

    @property
    def folder(self) -> str:
        return f"{self.group}-{self.configuration.arm}"


class Bench(NamedTuple):
    """Where cells are kept and which models work on them."""

    folder: Path
    """Folder of all cells of this profile and code."""
    profile: str = "offline"
    profiles: Path | None = None
    calls: Path = STORE
    """Call store."""
    budget: Budget = Budget()
    """Caps for each cell."""


CODE = ("llm", "tester", "audit", "faults", "subjects", "analysis/metrics.py", "analysis/stats.py", "analysis/saturation.py",
        "analysis/significance.py", "analysis/labels.py", "commands/audit.py", "commands/model_audit.py", "commands/mutants.py",
        "commands/measure.py", "canary.py", "chain.py", "chat.py", "documents.py", "pipeline.py", "profiles.py", "profiles.yaml",
        "store.py", "types.py")  # fmt: skip
"""What the numbers of a cell can depend on."""


def fingerprint() -> str:
    """Hash of the code that the numbers of a cell can depend on."""
    home = Path(__file__).parents[1]
    paths = [path for part in CODE for path in ([home / part] if "." in part else (home / part).rglob("*"))]
    whole = hashlib.sha256()
    for path in sorted(p for p in paths if p.is_file() and "__pycache__" not in p.parts):
        whole.update(path.relative_to(home).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:12]


def record_of(cell: Cell, bench: Bench) -> dict[str, Any] | None:
    """What is kept of a finished cell: `metrics`, `extras`, `seconds`; None where it is not finished."""
    # Read, not opened: opening a run cuts off a torn line, and a worker may be writing one.
    kept = (read_manifest(bench.folder / cell.folder) or {}).get("cell")
    return kept if kept is not None and set(cell.extras) <= set(kept["extras"]) else None


def measurements(cells: Iterable[Cell], bench: Bench) -> list[Measurement]:
    """The metrics of finished cells.

    Raises
    ------
    UsageError
        A cell was not run.
    """
    found = []
    for cell in cells:
        record = record_of(cell, bench)
        if record is None:
            raise UsageError(f"cell {cell.folder} was not run yet; agenteval reproduce runs it")
        for metric, value in record["metrics"].items():
            # Rounded as in cells.csv, so that a table can be rebuilt from it to the byte.
            number = math.nan if value is None else round(float(value), 6)
            found.append(Measurement(cell.domain, cell.wording, cell.name, cell.seed, metric, number))
    return found


# ---- one cell


def run_cell(cell: Cell, bench: Bench) -> None:
    """Run, audit and measure one cell, as far as that was not done; exploration is shared by its group."""
    from agenteval.chain import SHARED, Settings, fork, open_run, run_stages
    from agenteval.commands.audit import plain
    from agenteval.commands.measure import measure
    from agenteval.subjects.address import open_subject

    if record_of(cell, bench) is not None:
        return
    started = time.monotonic()
    brief = open_subject(cell.subject, seed=cell.seed, profile=bench.profile, profiles=bench.profiles).brief
    settings = Settings(
        subject=cell.subject, brief=brief, profile=bench.profile, seed=cell.seed, **cell.configuration.model_dump()
    )
    options: dict[str, Any] = {"profiles": bench.profiles, "store": bench.calls, "budget": bench.budget}
    base, out = bench.folder / cell.group, bench.folder / cell.folder
    run_stages(SHARED, open_run(base, settings.model_copy(update={"arm": "guided"}), **options))
    if not _forked(out, SHARED):
        shutil.rmtree(out, ignore_errors=True)
        fork(base, out, settings)
    run_stages(("plan", "run"), open_run(out, None, **options))
    found = measure(out, profiles=bench.profiles, store=bench.calls, budget=bench.budget)
    for extra in cell.extras:
        found |= _extra(extra, out, bench)
    run = Run(out)
    earlier = run.manifest.get("cell", {"seconds": 0.0, "extras": []})
    seconds = round(earlier["seconds"] + time.monotonic() - started, 3)
    run.save_manifest(cell={
        "metrics": {k: plain(v) for k, v in found.items()}, "extras": sorted({*cell.extras, *earlier["extras"]}), "seconds": seconds,
    })  # fmt: skip


def _forked(out: Path, stages: Sequence[str]) -> bool:
    """Whether a fork is whole: a killed process may leave half of one."""
    try:
        run = Run(out)
    except RunFolderError:
        return False
    return all(run.closed(stage) for stage in stages)


def _extra(extra: Extra, out: Path, bench: Bench) -> dict[str, float]:
    if extra == "mutants":
        if bench.profile != "offline":
            return {}  # mutants are run and judged by the offline rules, so their plans are too
        from agenteval.commands.mutants import mutate_run

        return {f"mutation {name}": value for name, value in mutate_run(out)["scores"].items()}
    from agenteval.analysis.labels import label_stability
    from agenteval.pipeline import Purse
    from agenteval.profiles import load
    from agenteval.tester.abstract import abstract
    from agenteval.types import Trace

    run, profile = Run(out), load(bench.profile, bench.profiles)
    purse = Purse(
        run, profile, store=bench.calls, budget=bench.budget, log="stability-calls"
    )  # outside the cost of the arm
    with purse:
        model = purse.model("tester")
        return label_stability(
            run.read("traces", Trace),
            lambda traces: abstract(traces, model, limit=profile.tester.max_input_tokens).labelled,
        )


# ---- many cells


def groups(cells: Iterable[Cell], bench: Bench) -> list[list[Cell]]:
    """Unfinished cells, those that share an exploration together; what several experiments ask of one cell is done at once."""
    whole: dict[str, Cell] = {}
    for cell in cells:
        known = whole.get(cell.folder, cell)
        whole[cell.folder] = cell.model_copy(update={"extras": tuple(sorted({*known.extras, *cell.extras}))})
    found: dict[str, list[Cell]] = {}
    for cell in whole.values():
        if record_of(cell, bench) is None:
            found.setdefault(cell.group, []).append(cell)
    return list(found.values())


class Wrong(NamedTuple):
    """A cell that could not be finished."""

    text: str
    exit_code: int = 2


def run_group(group: Sequence[Cell], bench: Bench, done: Callable[[], None] = lambda: None) -> list[Wrong]:
    """Run the cells of a group one after the other; returns what went wrong."""
    wrong = []
    bench.folder.mkdir(parents=True, exist_ok=True)
    with _locked(bench.folder / f".{group[0].group}.lock"):
        for cell in group:
            try:
                run_cell(cell, bench)
            except AgentEvalError as error:
                wrong.append(Wrong(f"{cell.folder}: {error}", error.exit_code))
            done()
    return wrong


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a group for this process: a worker that outlived its parent finishes first. The system frees it when we die."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run_cells(
    cells: Iterable[Cell], bench: Bench, *, workers: int = 1, dask: str | None = None, progress: Progress = silent
) -> None:
    """Run what is not finished of some cells.

    Parameters
    ----------
    workers
        Processes. A process that dies costs the cell it was at, which runs again.
    dask
        Address of a Dask scheduler whose workers do the cells instead; they must see the same folder under the same path.

    Raises
    ------
    AgentEvalError
        Some cells could not be finished; the others were, and the same call goes on.
    """
    todo = groups(cells, bench)
    total = sum(map(len, todo))
    count = 0

    def done() -> None:
        nonlocal count
        count += 1
        progress("cells", count, total)

    if not todo:
        return
    progress("cells", 0, total)
    if dask is not None:
        from agenteval.commands.cluster import on_dask

        wrong = on_dask(todo, bench, dask, done)
    elif min(workers, len(todo)) < 2:
        wrong = [run_group(group, bench, done) for group in todo]
    else:
        from agenteval.commands.cluster import on_processes

        wrong = on_processes(todo, bench, min(workers, len(todo)), done)
    failed = [one for group in wrong for one in group]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        error = AgentEvalError(
            f"cells could not be finished: {failed[0].text}{more}. The others are kept; the same command continues"
        )
        codes = {one.exit_code for one in failed}
        error.exit_code = codes.pop() if len(codes) == 1 else 2
        raise error
