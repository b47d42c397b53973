"""Experiments: YAML files that say which cells a research question needs and which notebook answers it.

One file, `experiments/rq3.yaml`::

    title: What about the graph helps?
    notebook: rq3_graph_ablation
    blocks:
      - configurations:
          prompt_only: {arm: prompt_only}
          guided: {}

A *study* is an experiment with its domains, seeds and models settled. Notebooks open one, and so does `agenteval reproduce`:
both get the same cells from the same folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field

from agenteval.analysis import tables
from agenteval.commands.cells import Bench, Cell, Configuration, Extra, fingerprint, measurements, run_cells
from agenteval.documents import fitted, read_yaml
from agenteval.errors import UsageError
from agenteval.llm.wrappers import Budget
from agenteval.pipeline import STORE, Progress, model_names
from agenteval.profiles import load
from agenteval.store import content_id, write_text
from agenteval.subjects.scripted import DOMAINS, wordings
from agenteval.types import Record

Agents = Literal["scripted", "tau"]
CELLS = Path("runs/cells")
"""Where cells are kept, below the root."""


class Block(Record):
    """Configurations that are run on the same domains."""

    configurations: dict[str, Configuration]
    """Name, which is the arm of the tables, to what it is."""
    domains: tuple[str, ...] = ()
    """Left out: all."""
    extras: tuple[Extra, ...] = ()


class Experiment(Record):
    """One research question."""

    title: str
    notebook: str
    """Name in `notebooks/`, without its ending."""
    seeds: int = Field(5, ge=1)
    wordings: tuple[str, ...] = ("a",)
    blocks: tuple[Block, ...] = ()
    shows: dict[Literal["offline", "model"], str] = {}
    """What a profile can and cannot show: the offline rules, or models."""
    missing: dict[str, str] = {}
    """Metric or arm to the reason why the offline profile gives no value."""
    parameters: dict[str, Any] = {}
    """Parameters of the notebook beyond those that every one has."""


class Study(NamedTuple):
    """An experiment with everything settled."""

    name: str
    experiment: Experiment
    root: Path
    bench: Bench
    cells: tuple[Cell, ...]

    @property
    def shows(self) -> str:
        """What the profile that runs can and cannot show."""
        kind = "offline" if self.bench.profile == "offline" else "model"
        return self.experiment.shows.get(kind, "")


def find_root(start: Path | None = None) -> Path:
    """The checkout with `experiments/`, `notebooks/` and `results/paper/`: here, or where the package was installed from.

    Raises
    ------
    UsageError
        There is none.
    """
    places = [Path() if start is None else start, *([] if start is not None else [Path(__file__).parents[2]])]
    for place in places:
        if (place / "experiments").is_dir() and (place / "notebooks").is_dir():
            return place
    raise UsageError(
        f"{places[0].resolve()} has no experiments/ and notebooks/; go to a checkout of the repository, or name it with --root"
    )


def known(root: Path) -> list[str]:
    """Names of the experiments of a checkout, in order."""
    return sorted(path.stem for path in (root / "experiments").glob("*.yaml"))


def read_experiment(name: str, root: Path) -> Experiment:
    """An experiment by name.

    Raises
    ------
    UsageError
        There is none of that name, or the file has an unknown key or a wrong value; one line.
    """
    if name not in known(root):
        raise UsageError(f"unknown experiment {name[:60]!r}; expected {', '.join(known(root))}")
    file = root / "experiments" / f"{name}.yaml"
    return fitted(
        Experiment, read_yaml(file, "experiment"), str(file), f"an experiment has {', '.join(Experiment.model_fields)}"
    )


def open_study(
    name: str,
    *,
    root: str | Path = ".",
    profile: str = "offline",
    profiles: str | Path | None = None,
    agents: str = "scripted",
    domains: Sequence[str] = (),
    seeds: int | None = None,
    wording: Sequence[str] = (),
    store: str | Path = CELLS,
    calls: Path = STORE,
    budget: Budget = Budget(),
) -> Study:
    """Settle an experiment.

    Parameters
    ----------
    name
        Of a file in `experiments/`.
    root
        Checkout of the repository.
    agents
        `scripted` agents of ours, or those of tau-bench.
    domains, seeds, wording
        In place of what the experiment says: which domains, how many seeds (0, 1, ...), which wordings.
    store
        Folder of the cells, below the root.

    Raises
    ------
    UsageError
        Unknown experiment, agents, domain or wording.
    """
    root = Path(root)
    experiment = read_experiment(name, root)
    if agents not in get_args(Agents):
        raise UsageError(f"unknown agents {agents[:60]!r}; expected {' or '.join(get_args(Agents))}")
    for domain in domains:
        if domain not in DOMAINS:
            raise UsageError(f"unknown domain {domain[:60]!r}; expected {', '.join(DOMAINS)}")
    chosen = tuple(wording) or experiment.wordings
    for domain in domains or DOMAINS:
        missing = [w for w in chosen if agents == "scripted" and w not in wordings(domain)]
        if missing:
            raise UsageError(f"{domain} has no wording {missing[0]!r}; expected {', '.join(wordings(domain))}")
    cells = tuple(
        Cell(
            domain=domain,
            wording=w,
            seed=seed,
            name=arm,
            configuration=configuration,
            agents=agents,
            extras=block.extras,
        )
        for block in experiment.blocks
        for domain in block.domains or DOMAINS
        if not domains or domain in domains
        for w in (chosen if agents == "scripted" else chosen[:1])
        for arm, configuration in block.configurations.items()
        for seed in range(seeds or experiment.seeds)
    )
    named = Path(profiles) if profiles else None
    bench = Bench(root / store / _made_by(profile, named), profile, named, calls, budget)
    return Study(name, experiment, root, bench, cells)


def _made_by(profile: str, profiles: Path | None) -> str:
    """Name of what makes a cell: profile, code, and the models behind the profile, which may change under its name."""
    if profile == "offline":
        return f"{profile}-{fingerprint()}"
    roles = ("tester", "judge", "auditor", "subject")
    known = load(profile, profiles, roles=("tester", "judge"), optional=("auditor", "subject"))
    models = model_names(known, [role for role in roles if getattr(known, role) is not None])
    return f"{profile}-{fingerprint()}-{content_id(models)}"


def measured(study: Study, *, workers: int = 1, progress: Progress | None = None) -> list[tables.Measurement]:
    """The measurements of a study; what was not run before is run now, with a line of progress."""
    run_cells(study.cells, study.bench, workers=workers, progress=progress or _line)
    return measurements(study.cells, study.bench)


def _line(stage: str, done: int, total: int) -> None:
    print(f"\r{stage} {done}/{total}", end="\n" if done == total else "", flush=True)


def paper(study: Study, *names: str) -> dict[tuple[str, str, str], float]:
    """The paper's numbers for the study's domains, by the names of its tables: `table3`, ..."""
    found = tables.read_paper(*(study.root / "results" / "paper" / f"{name}.csv" for name in names))
    domains = {cell.domain for cell in study.cells}
    return {key: value for key, value in found.items() if not domains or key[0] in domains}


def notes(study: Study, rows: Sequence[tables.Row]) -> list[str]:
    """Why values are missing from a table, and whose the numbers are."""
    empty = {row.metric for row in rows if not row.n} | {row.arm for row in rows if not row.n}
    why = [f"{name.replace('_', ' ')}: {reason}" for name, reason in study.experiment.missing.items() if name in empty]
    who = "offline rules" if study.bench.profile == "offline" else f"profile {study.bench.profile}"
    kind = "scripted agents of ours" if not study.cells or study.cells[0].agents == "scripted" else "tau-bench agents"
    seeds = len({cell.seed for cell in study.cells})
    said = f"{who} on {kind}, {seeds} {'seed' if seeds == 1 else 'seeds'}; mean [95 % bootstrap interval over seeds of fixed agents]. "
    return [said + "(paper): models on tau-bench agents, one run.", *why]


def publish(
    study: Study,
    parts: Mapping[str, Sequence[tables.Row]],
    out: str | Path,
    *,
    cells: Sequence[tables.Measurement] = (),
) -> Any:
    """Write the tables of a study (caption to rows) in all their forms, with the measurements behind them, and show them."""
    from IPython.display import Markdown

    said = notes(study, [row for rows in parts.values() for row in rows])
    tables.write(parts, Path(out), cells=cells, label=study.name, notes=said)
    return Markdown(tables.page(parts, notes=said))


def conclude(out: str | Path, sentence: str, **numbers: float) -> Any:
    """Write the sentence that the data say, with its numbers, to `metrics.json`, and show it."""
    from IPython.display import Markdown

    from agenteval.commands.audit import plain

    facts = {"sentence": sentence, **{k: plain(round(v, 6)) for k, v in numbers.items()}}
    write_text(Path(out) / "metrics.json", json.dumps(facts, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return Markdown(sentence)
