"""`agenteval reproduce`: run the cells of experiments once, then execute the notebooks that make tables of them.

`results/<profile>/<experiment>/` gets what the notebook writes (cells.csv, table.csv, table.tex, table.md, figure.pdf, figure.png,
metrics.json), the frozen notebook, and a manifest with the hashes of all that went in and came out. An experiment whose hashes
are still the same is left alone.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agenteval.commands import notebooks
from agenteval.commands.cells import Cell, groups, record_of, run_cells
from agenteval.commands.experiments import Study, known, open_study
from agenteval.pipeline import Progress, silent
from agenteval.store import Run, content_id, read_manifest, write_manifest, write_text
from agenteval.types import Graph

RESULTS = Path("results")
PRODUCTS = ("cells.csv", "figure.pdf", "figure.png", "metrics.json", "table.csv", "table.md", "table.tex")
"""What a notebook writes into the folder of its experiment."""


def studies(names: Sequence[str], *, root: Path, **options: Any) -> list[Study]:
    """The named experiments, or all, with the options of `open_study`; notebooks and their parameters are checked.

    Raises
    ------
    UsageError
        An unknown experiment, key, domain, wording or notebook parameter.
    """
    found = [open_study(name, root=root, **options) for name in dict.fromkeys(names or known(root))]
    for study in found:
        notebooks.check(_source(study), parameters(study, RESULTS))
    return found


def parameters(study: Study, results: Path) -> dict[str, Any]:
    """What a study's notebook is given. Paths are relative to the root, where its kernel works."""
    given: dict[str, Any] = {"root": ".", "out": (results / study.bench.profile / study.name).as_posix()}
    if study.experiment.blocks:
        first = study.cells[0] if study.cells else None
        given |= {
            "profile": study.bench.profile,
            "domains": list(dict.fromkeys(cell.domain for cell in study.cells)),
            "seeds": len({cell.seed for cell in study.cells}),
            "wording": list(dict.fromkeys(cell.wording for cell in study.cells)),
            **({"agents": first.agents} if first and first.agents != "scripted" else {}),
        }
    if study.bench.profile != "offline":
        given |= {"profile": study.bench.profile}
    if study.bench.profiles:
        given |= {"profiles": str(study.bench.profiles)}
    return {**given, **study.experiment.parameters}


def reproduce(
    chosen: Sequence[Study],
    *,
    results: Path = RESULTS,
    workers: int = 1,
    dask: str | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Run what is missing, then make the tables that are not up to date.

    Parameters
    ----------
    results
        Folder of the results, below the root.
    tell
        Takes a line for people.

    Returns
    -------
    list of dict
        For each study its name, folder, and whether it was made anew.

    Raises
    ------
    AgentEvalError
        A cell or a notebook failed; the same call goes on.
    """
    if not chosen:
        return []
    bench, root = chosen[0].bench, chosen[0].root
    cells = [cell for study in chosen for cell in study.cells]
    open_cells = sum(map(len, groups(cells, bench)))
    tell(f"{len({c.folder for c in cells})} cells, {open_cells} of them to run; kept in {bench.folder}")

    def done(stage: str, finished: int, total: int) -> None:
        progress(stage, finished, total)
        if finished and bench.profile not in ("offline", "replay"):
            tell(f"so far: {_money(spent(cells, chosen[0]))}")

    run_cells(cells, bench, workers=workers, dask=dask, progress=done)
    made = []
    for number, study in enumerate(chosen):
        progress("notebooks", number, len(chosen))
        made.append(_publish(study, results))
    progress("notebooks", len(chosen), len(chosen))
    _graphs(cells, chosen[0], root / results / bench.profile / "graphs")
    return made


def _publish(study: Study, results: Path) -> dict[str, Any]:
    """Execute the notebook of a study, unless nothing changed since."""
    given = parameters(study, results)
    out = study.root / given["out"]
    inputs = _inputs(study, given)
    before = read_manifest(out)
    unchanged = before is not None and before["inputs"] == inputs and before["outputs"] == _hashes(study, out)
    if not unchanged:
        started = time.monotonic()
        for name in _hashes(study, out):
            (out / name).unlink()
        source = _source(study)
        given_now = {**given, **_absolute(study)}
        notebooks.execute(source, out / f"{source.stem}.ipynb", given_now, cwd=study.root)
        from agenteval.pipeline import model_names, versions
        from agenteval.profiles import load

        profile = load(study.bench.profile, study.bench.profiles, roles=("tester", "judge"))
        write_manifest(out, {
            "inputs": inputs, "outputs": _hashes(study, out), "parameters": given, "profile": study.bench.profile,
            "models": model_names(profile, ("tester", "judge")), "versions": versions(),
            "cells": [cell.folder for cell in study.cells], "code": study.bench.folder.name,
            "seconds": {
                "cells": round(sum((record_of(c, study.bench) or {"seconds": 0})["seconds"] for c in study.cells), 1),
                "notebook": round(time.monotonic() - started, 1),
            },
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
        })  # fmt: skip
    return {"experiment": study.name, "folder": str(out), "made": not unchanged}


def _absolute(study: Study) -> dict[str, Any]:
    """Parameters that this call alone needs: another folder of cells than the usual one."""
    from agenteval.commands.experiments import CELLS

    folder = study.bench.folder.parent
    return {} if folder == study.root / CELLS or not study.experiment.blocks else {"store": str(folder.resolve())}


def _source(study: Study) -> Path:
    return study.root / "notebooks" / f"{study.experiment.notebook}.ipynb"


def _inputs(study: Study, given: dict[str, Any]) -> dict[str, Any]:
    """Hashes of all that a table depends on."""
    home = Path(__file__).parents[1]
    code = [*sorted((home / "analysis").glob("*.py")), home / "commands" / "experiments.py"]
    data = sorted((study.root / "results" / "paper").glob("*.csv"))
    data += [study.root / str(v) for k, v in given.items() if k.endswith("_csv") and (study.root / str(v)).is_file()]
    return {
        "experiment": content_id(study.experiment.model_dump(mode="json"), given),
        "notebook": _hash([_source(study)]),
        "cells": content_id([(record_of(cell, study.bench) or {}).get("metrics") for cell in study.cells]),
        "data": _hash(data),
        "code": _hash(code),
        **({} if study.experiment.blocks else {"package": study.bench.folder.name}),
    }


def _hash(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.name.encode() + b"\0" + (file.read_bytes() if file.is_file() else b""))
    return whole.hexdigest()[:16]


def _hashes(study: Study, out: Path) -> dict[str, str]:
    """Hashes of what is there of a study's products."""
    names = sorted([*PRODUCTS, f"{study.experiment.notebook}.ipynb"])
    return {name: _hash([out / name]) for name in names if (out / name).is_file()}


def _graphs(cells: Sequence[Cell], study: Study, out: Path) -> None:
    """The whole mined graph of each domain, of its first cell of the full system: picture and data."""
    shown: dict[str, Cell] = {}
    for cell in cells:
        if cell.name == "guided" and cell.wording == "a":
            shown.setdefault(cell.domain, cell)
    for domain, cell in shown.items():
        run = Run(study.bench.folder / cell.folder)
        picture = (run.path / "exports" / "graph.svg").read_bytes()
        data = run.read_json("graph", Graph).model_dump_json(indent=1).encode() + b"\n"
        for name, content in ((f"{domain}.svg", picture), (f"{domain}.json", data)):
            if not (out / name).is_file() or (out / name).read_bytes() != content:
                write_text(out / name, content)


# ---- cost


def spent(cells: Iterable[Cell], study: Study) -> dict[str, float | None]:
    """Calls, tokens and money of the finished ones of some cells; an exploration that several share counts once.

    Returns
    -------
    dict
        `calls`, `tokens`, and `cost`: None where a model has no price.
    """
    from agenteval.profiles import load

    profile = load(study.bench.profile, study.bench.profiles, roles=("tester", "judge"), optional=("auditor",))
    specs = [s for s in (profile.tester, profile.judge, profile.auditor) if s is not None]
    prices = {s.model: s.price for s in specs}
    once: dict[tuple[Any, ...], dict[str, Any]] = {}
    finished = {cell.folder for cell in cells if record_of(cell, study.bench) is not None}
    for folder in sorted(finished):
        run = Run(study.bench.folder / folder)
        for log in ("calls", "privileged/calls", "stability-calls"):
            for call in run.lines(log):
                if call["usage"] is not None and not call["stored"]:
                    once[call["id"], call["repetition"], call["attempt"]] = call
    cost: float | None = 0.0
    for call in once.values():
        price = prices.get(call["model"])
        if price is None or cost is None:
            cost = None
        else:
            cost += (call["usage"]["input"] * price.input + call["usage"]["output"] * price.output) / 1e6
    tokens = sum(c["usage"]["input"] + c["usage"]["output"] for c in once.values())
    return {"calls": len(once), "tokens": tokens, "cost": cost}


def _money(found: dict[str, float | None]) -> str:
    cost = found["cost"]
    return f"{found['calls']:,} calls, {found['tokens']:,} tokens, " + (
        "cost unknown" if cost is None else f"cost {cost:.2f}"
    )


def preview(chosen: Sequence[Study]) -> list[dict[str, Any]]:
    """What each study has to do, and in a last row all of them together, before anything is asked (`--dry-run`).

    Returns
    -------
    list of dict
        `experiment`, `cells`, `to run`, and of the latter `calls`, `input` and `output` tokens (estimated, an upper bound)
        and `cost` (None where a model has no price).
    """
    rows = [_expected(study.name, study.cells, study) for study in chosen]
    return [*rows, _expected("all", [cell for study in chosen for cell in study.cells], chosen[0])] if chosen else []


def _expected(name: str, cells: Sequence[Cell], study: Study) -> dict[str, Any]:
    from agenteval.chain import SHARED, Settings
    from agenteval.commands.estimate import estimate
    from agenteval.profiles import load
    from agenteval.subjects.address import open_subject

    bench = study.bench
    profile = load(bench.profile, bench.profiles, roles=("tester", "judge"))
    total: dict[str, Any] = {"calls": 0, "input": 0, "output": 0, "cost": 0.0}
    todo = groups(cells, bench)
    for group in todo:
        for number, cell in enumerate(group):
            brief = open_subject(cell.subject, seed=cell.seed).brief
            settings = Settings(subject=cell.subject, brief=brief, profile=bench.profile, seed=cell.seed, **cell.configuration.model_dump())  # fmt: skip
            stages = (*SHARED, "plan", "run") if number == 0 else ("plan", "run")
            for row in estimate(settings, stages)["roles"]:
                price = (profile.judge if row["role"] == "judge" else profile.tester).price
                for key in ("calls", "input", "output"):
                    total[key] += row[key]
                if price is None or total["cost"] is None:
                    total["cost"] = None
                else:
                    total["cost"] += (row["input"] * price.input + row["output"] * price.output) / 1e6
    return {
        "experiment": name,
        "cells": len({cell.folder for cell in cells}),
        "to run": sum(map(len, todo)),
        **total,
    }


def expected_line(row: dict[str, Any]) -> str:
    """A row of `preview` in words."""
    cost = "cost unknown: no price table" if row["cost"] is None else f"cost {row['cost']:.2f}"
    return (
        f"{row['experiment']}: {row['cells']} cells, {row['to run']} to run; at most about {row['calls']:,} calls, "
        f"{row['input']:,} tokens in, {row['output']:,} out (estimated); {cost}"
    )
