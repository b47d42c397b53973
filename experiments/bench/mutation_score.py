"""Mutation score offline: which mutants of the scripted subjects the plans of each arm kill.

    python experiments/bench/mutation_score.py [--domains airline,retail] [--wordings a,b] [--seeds 5] [--arms ...] [--keep FOLDER] [--csv FILE]

One row a cell (domain, wording, arm, seed) goes to the CSV; the table has means over seeds with their 95 % bootstrap intervals.
Mutants without a witness count as equivalent and are left out. Cells are independent: two processes share them. Guided is
compared with the other arms at equal |T| by a paired permutation test over (domain, seed), differences averaged over wordings.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from domains import number, run_arms
from rich.console import Console
from rich.table import Table

from agenteval.analysis.stats import bootstrap_interval
from agenteval.commands.mutants import mutate_run
from agenteval.faults.mutants import SURVIVALS
from agenteval.subjects.scripted import DOMAINS, wordings
from agenteval.tester.rules.model import rules_hash
from agenteval.tester.synthesize import ARMS
from agenteval.types import Test

KEYS = ("domain", "wording", "arm", "seed")


def cell(domain: str, wording: str, seed: int, arms: list[str], folder: Path) -> list[dict[str, object]]:
    """The scores of all arms over one exploration."""
    rows = []
    for arm, run in run_arms(domain, wording, seed, arms, folder).items():
        found = mutate_run(run.path)["scores"]
        kinds = [test.kind for test in run.read("plan", Test)]
        sizes = {"functional |T|": kinds.count("functional"), "boundary |T|": kinds.count("boundary")}
        rows.append({"domain": domain, "wording": wording, "arm": arm, "seed": seed, **sizes, **found})
    return rows


def sign_test(pairs: list[tuple[str, float]]) -> float:
    """P-value, one-sided, of the mean difference when the sign of each is exchanged at random: all 2^n of them, or 20,000 draws.

    >>> sign_test([("a", 0.1)] * 3)
    0.125
    """
    import numpy as np

    values = np.array([difference for _, difference in pairs])
    n = len(values)
    if n <= 14:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(signs @ values >= values.sum() - 1e-12))
    signs = np.random.default_rng(0).choice([-1, 1], (20_000, n))
    return float((1 + np.sum(signs @ values >= values.sum() - 1e-12)) / 20_001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", default=",".join(DOMAINS))
    parser.add_argument("--wordings", default="")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    parser.add_argument("--csv", type=Path, help="write one row a cell here")
    options = parser.parse_args()
    folder, arms = options.keep or Path(tempfile.mkdtemp(prefix="agenteval-")), options.arms.split(",")
    print(f"offline, rules {rules_hash()}, seeds 0-{options.seeds - 1}")
    started = time.monotonic()
    cells = [
        (domain, wording, seed, arms, folder)
        for domain in options.domains.split(",")
        for wording in (options.wordings.split(",") if options.wordings else wordings(domain))
        for seed in range(options.seeds)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        rows = [row for found in pool.map(cell, *zip(*cells, strict=True)) for row in found]
    console = Console(width=None if sys.stdout.isatty() else 170)
    for domain in options.domains.split(","):
        groups = list(dict.fromkeys((r["wording"], r["arm"]) for r in rows if r["domain"] == domain))
        table = Table(title=f"{domain}: mean [95 % interval over seeds]", title_justify="left")
        table.add_column("")
        for wording, arm in groups:
            table.add_column(f"{wording} {arm}", justify="right")
        for name in (n for n in rows[0] if n not in KEYS):
            shown = []
            for key in groups:
                values = [float(r[name]) for r in rows if r["domain"] == domain and (r["wording"], r["arm"]) == key]
                interval = bootstrap_interval([v for v in values if not math.isnan(v)])
                shown.append(f"{number(interval.estimate)} [{number(interval.low)}, {number(interval.high)}]")
            table.add_row(SURVIVALS.get(name, name), *shown)
        console.print(table)
    for other in [arm for arm in arms if arm != "guided" and "guided" in arms]:
        pairs = []
        for domain in options.domains.split(","):
            for seed in range(options.seeds):
                mine, theirs = (
                    [float(r["score"]) for r in rows if (r["domain"], r["seed"], r["arm"]) == (domain, seed, arm)]
                    for arm in ("guided", other)
                )
                pairs.append((domain, sum(mine) / len(mine) - sum(theirs) / len(theirs)))
        mean = sum(d for _, d in pairs) / len(pairs)
        print(f"guided above {other}: mean difference {mean:+.3f} over {len(pairs)} pairs, p = {sign_test(pairs):.3f}")
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
