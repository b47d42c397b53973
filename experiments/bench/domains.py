"""Table III offline: the guided chain on every scripted domain and wording, scored by the exact auditor.

    python experiments/bench/domains.py [--domains airline,retail] [--wordings a,b] [--seeds 5] [--arms guided] [--keep FOLDER] [--csv FILE]

One row a metric: mean over seeds with its 95 % bootstrap interval (over seeds of fixed subjects, not over subjects) beside the paper's value, which
was measured with models on other agents. *Coverage of met*: documented behaviours that the functional plan covers, of those that discovery came
across. *Guards stressed of met*: guards that boundary tests stress, of those that discovery had evaluated. Runs are kept and continued
with `--keep`. The process ends with its seconds and memory.
"""

from __future__ import annotations

import argparse
import csv
import math
import resource
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agenteval.analysis.stats import bootstrap_interval
from agenteval.audit.dossier import scripted_dossier
from agenteval.audit.exact import covered
from agenteval.audit.records import Audit
from agenteval.chain import SHARED, Settings, fork, open_run, run_stages
from agenteval.commands.audit import audit_run
from agenteval.store import Run
from agenteval.subjects.address import open_subject
from agenteval.subjects.scripted import DOMAINS, wordings
from agenteval.tester.rules.model import rules_hash
from agenteval.types import Graph, Test, TestRun

PAPER = Path(__file__).parents[2] / "results" / "paper" / "table3.csv"
COLUMNS = ("domain", "wording", "arm", "metric", "mean", "sd", "lo", "hi", "n", "paper")
SHOWN = ("validity", "coverage", "FAR", "accuracy_conclusive", "inconclusive", "distinct", "duplicate rate")


def run_arms(domain: str, wording: str, seed: int, arms: list[str], folder: Path) -> dict[str, Run]:
    """The runs of a cell, one an arm, over one exploration."""
    address = f"scripted:{domain}?wording={wording}"
    settings = Settings(subject=address, brief=open_subject(address).brief, seed=seed)
    base = folder / f"{domain}-{wording}-{seed}"
    run_stages(SHARED, open_run(base, settings))
    runs = {}
    for arm in arms:
        out = folder / f"{base.name}-{arm}"
        if not (out / "manifest.json").exists():
            fork(base, out, settings.model_copy(update={"arm": arm}))
        run_stages(("plan", "run"), open_run(out, None))
        runs[arm] = Run(out)
    return runs


def measured(run: Run, address: str) -> dict[str, float]:
    """Every metric of one run."""
    rates = audit_run(run.path)
    dossier = scripted_dossier(address)
    log = list(run.lines("privileged/tools"))
    graph = run.read_json("graph", Graph)
    found: dict[str, float] = {"graph states": len(graph.states), "graph transitions": len(graph.transitions)}
    for kind in ("functional", "boundary"):
        mine = rates[kind]
        found[f"{kind} |T|"] = mine["delivered"]
        found[f"{kind} |Tv|"] = mine["valid"]
        found[f"{kind} validity as generated"] = mine["validity as generated"]
        found |= {f"{kind} {name}": mine[name] for name in SHOWN if name in mine}
        found[f"{kind} validity"] = mine["validity as delivered"]
    audits = run.read("privileged/audit", Audit)
    discovered = [e for e in log if e["stage"] == "discover"]
    met = set(covered(discovered, dossier.inventory))
    items = {item for a in audits if a.valid for item in a.covers}
    found["inventory met in discovery"] = len(met)
    found["functional coverage of met"] = len(items & met) / len(met) if met else math.nan
    evaluated = {e["guard"] for e in discovered if e["event"] == "guard"}
    runs = {r.id: r for r in run.read("runs", TestRun)}
    kinds = {t.id: t.kind for t in run.read("plan", Test)}
    stressed = {
        e["guard"] for e in log
        if e["event"] == "guard" and e["outcome"] == "failed" and e["stage"] == "run"
        and kinds[runs[e["id"]].test] == "boundary" and 0 < runs[e["id"]].perturbed <= e["turn"]
    }  # fmt: skip
    found["guards met in discovery"] = len(evaluated)
    found["guards stressed"] = len(stressed)
    found["guards stressed of met"] = len(stressed & evaluated) / len(evaluated) if evaluated else math.nan
    found["guards stressed of all"] = len(stressed) / len(dossier.guards)
    return found


def paper() -> dict[tuple[str, str, str], float]:
    with open(PAPER, encoding="utf-8", newline="") as file:
        return {(r["domain"], r["arm"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)}


def summary(domain: str, wording: str, arm: str, rows: list[dict[str, float]]) -> list[dict[str, object]]:
    """The long table of one cell."""
    theirs = paper()
    lines: list[dict[str, object]] = []
    for metric in rows[0]:
        values = [row[metric] for row in rows if not math.isnan(row[metric])]
        interval = bootstrap_interval(values)
        mean = interval.estimate
        sd = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else math.nan
        lines.append({"domain": domain, "wording": wording, "arm": arm, "metric": metric, "mean": mean, "sd": sd, "lo": interval.low,
                      "hi": interval.high, "n": len(values), "paper": theirs.get((domain, arm, metric), math.nan)})  # fmt: skip
    return lines


def number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}".removesuffix(".00")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", default=",".join(DOMAINS))
    parser.add_argument("--wordings", default="")
    parser.add_argument("--arms", default="guided")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    parser.add_argument("--csv", type=Path, help="write the long table here")
    options = parser.parse_args()
    folder, arms = options.keep or Path(tempfile.mkdtemp(prefix="agenteval-")), options.arms.split(",")
    print(f"offline, rules {rules_hash()}, seeds 0-{options.seeds - 1}, exact auditor")
    started, lines = time.monotonic(), []
    for domain in options.domains.split(","):
        names = options.wordings.split(",") if options.wordings else wordings(domain)
        cells: dict[tuple[str, str], list[dict[str, float]]] = {}
        for wording in names:
            for seed in range(options.seeds):
                for arm, run in run_arms(domain, wording, seed, arms, folder).items():
                    cells.setdefault((wording, arm), []).append(measured(run, f"scripted:{domain}"))
        table = Table(title=f"{domain}: mean [95 % interval over seeds]", title_justify="left")
        table.add_column("")
        summaries = {key: summary(domain, *key, rows) for key, rows in cells.items()}
        for wording, arm in summaries:
            table.add_column(f"{wording} {arm}", justify="right")
        table.add_column("paper", justify="right")
        for n, line in enumerate(next(iter(summaries.values()))):
            shown = [f"{number(s[n]['mean'])} [{number(s[n]['lo'])}, {number(s[n]['hi'])}]" for s in summaries.values()]
            table.add_row(str(line["metric"]), *shown, number(float(line["paper"])))
        Console(width=None if sys.stdout.isatty() else 150).print(table)
        lines += [line for s in summaries.values() for line in s]
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {
                    k: "" if isinstance(v, float) and math.isnan(v) else round(v, 4) if isinstance(v, float) else v
                    for k, v in line.items()
                }
                for line in lines
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.monotonic() - started:.0f} s, peak memory of this process {peak:.0f} MB")


if __name__ == "__main__":
    main()
