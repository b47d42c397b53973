"""The chain on a scripted subject, offline: what discovery meets, and what each arm's tests stress.

    python experiments/bench/chain.py [--subject scripted:airline] [--seeds 5] [--keep FOLDER]

All arms of a seed share one discovery (phase-guided) and one graph; naive discovery is measured beside it. Guards are read from
the subject's privileged log. *Reached*: evaluated in a test's run. *Stressed*: evaluated with a negative outcome at or after
the perturbation. Validity, coverage, distinct boundaries and false alarms are those of the exact auditor. Means over seeds, with the value of each seed. A folder that is kept is continued by the same command.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agenteval.chain import SHARED, Settings, fork, open_run, run_stages
from agenteval.commands.audit import audit_run
from agenteval.store import Run
from agenteval.subjects.address import open_subject
from agenteval.subjects.scripted import guards
from agenteval.tester.abstract import abstract
from agenteval.tester.rules.model import Rules, rules_hash
from agenteval.tester.synthesize import ARMS
from agenteval.types import LabelledTrace, Test, TestRun, Trace, Verdict


def events(run: Run, stage: str) -> list[dict]:
    return [e for e in run.lines("privileged/tools") if e["stage"] == stage]


def met(log: list[dict]) -> set[str]:
    return {e["guard"] for e in log if e["event"] == "guard"}


def discovery_row(run: Run) -> dict[str, float]:
    """What exploration came across."""
    log = events(run, "discover")
    done = {
        (e["id"], e["position"]): e["task"] for e in log if e["event"] == "state" and e.get("change") == "task_done"
    }
    return {
        "turns": sum(len(t.turns) for t in run.read("traces", Trace)),
        "guards evaluated": len(met(log)),
        "guards failed": len({e["guard"] for e in log if e["event"] == "guard" and e["outcome"] == "failed"}),
        "workflows completed": len(done),
        "kinds of them": len(set(done.values())),
    }


def arm_row(run: Run) -> dict[str, float]:
    """What the tests of an arm did."""
    facts = run.manifest["stages"]["plan"]
    tests = {t.id: t for t in run.read("plan", Test)}
    runs = {r.id: r for r in run.read("runs", TestRun)}
    boundary = {id for id, r in runs.items() if tests[r.test].kind == "boundary"}
    log = [e for e in events(run, "run") if e["event"] == "guard" and e["id"] in boundary]
    stressed = {e["guard"] for e in log if e["outcome"] == "failed" and 0 < runs[e["id"]].perturbed <= e["turn"]}
    verdicts = Counter((tests[v.test].kind, v.verdict) for v in run.read("verdicts", Verdict))
    replayed, routed = replay(run, tests, runs)
    audited = audit_run(run.path)
    return {
        "functional delivered": facts["functional"]["delivered"],
        "generated": facts["boundary"]["generated"],
        "delivered": facts["boundary"]["delivered"],
        "kinds of perturbation": len({t.perturbation for t in tests.values() if t.kind == "boundary"}),
        "guards reached": len(met(log)),
        "guards stressed": len(stressed),
        "route replay rate": replayed / routed if routed else float("nan"),
        **{f"functional {name}": audited["functional"][name] for name in ("validity as delivered", "coverage")},
        **{
            f"boundary {name}": audited["boundary"][name]
            for name in ("validity as delivered", "distinct", "duplicate rate", "FAR")
        },
        **{
            f"{kind} {verdict}": verdicts[kind, verdict]
            for kind in ("functional", "boundary")
            for verdict in ("pass", "fail", "inconclusive")
        },
    }


def replay(run: Run, tests: dict[str, Test], runs: dict[str, TestRun]) -> tuple[int, int]:
    """Runs of boundary tests that came to their perturbation in the state in which its route had ended, and all with a route.

    The runs are labelled together with the discovery sessions, so that both have one vocabulary.
    """
    traces = {t.id: t for t in run.read("traces", Trace)}
    again = [r.trace.model_copy(update={"id": r.id}) for r in runs.values()]
    labels = {t.id: t for t in abstract([*traces.values(), *again], Rules()).labelled}
    same = total = 0
    for r in runs.values():
        test = tests[r.test]
        route = [s for s in test.steps if s.part == "route"]
        if test.kind != "boundary" or not route or test.session not in labels:
            continue
        total += 1
        turn = place(traces[test.session], route[-1].text)
        if r.perturbed > 1 and turn and activity(labels[r.id], r.perturbed - 1) == activity(labels[test.session], turn):
            same += 1
    return same, total


def place(trace: Trace, text: str) -> int:
    """Turn of a session at which the user said a text; 0 when it was nowhere said as it stands."""
    return next((n for n, t in enumerate(trace.turns, 1) if t.user.strip() == text.strip()), 0)


def activity(labels: LabelledTrace, turn: int) -> str:
    return labels.turns[turn - 1].activity


def show(title: str, columns: dict[str, list[dict[str, float]]]) -> None:
    """Print the columns beside each other: the mean over seeds, and each seed's value behind it."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for metric in next(iter(columns.values()))[0]:
        table.add_row(metric, *(cell([row[metric] for row in rows]) for rows in columns.values()))
    Console(width=None if sys.stdout.isatty() else 150).print(table)


def cell(values: list[float]) -> str:
    def shown(value: float) -> str:
        return "-" if value != value else f"{value:.2f}" if isinstance(value, float) else str(value)

    if len(values) == 1:
        return shown(values[0])
    return f"{shown(float(statistics.fmean(values)))} ({' '.join(map(shown, values))})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subject", default="scripted:airline")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="agenteval-"))
    brief = open_subject(options.subject).brief
    if brief is None:
        print(f"{parser.prog}: {options.subject} is no scripted subject, so there is no log to measure by")
        sys.exit(3)
    domain = options.subject.removeprefix("scripted:").partition("?")[0]
    print(f"rules {rules_hash()}; {options.subject} with {len(guards(domain))} guards; seeds 0-{options.seeds - 1}")

    explored: dict[str, list[dict[str, float]]] = {"phase_guided": [], "naive": []}
    tested: dict[str, list[dict[str, float]]] = {arm: [] for arm in ARMS}
    drops: dict[str, Counter[str]] = {arm: Counter() for arm in ARMS}
    seconds = []
    for seed in range(options.seeds):
        settings = Settings(subject=options.subject, brief=brief, seed=seed)
        base = folder / f"seed{seed}"
        naive = open_run(folder / f"seed{seed}-naive", settings.model_copy(update={"discovery": "naive"}))
        run_stages(("discover",), naive)
        explored["naive"].append(discovery_row(naive.run))
        fresh, started = not (base / "manifest.json").exists(), time.monotonic()
        run_stages(SHARED, open_run(base, settings))
        explored["phase_guided"].append(discovery_row(Run(base)))
        for arm in ARMS:
            out = folder / f"seed{seed}-{arm}"
            if not (out / "manifest.json").exists():
                fork(base, out, settings.model_copy(update={"arm": arm}))
            run_stages(("plan", "run"), open_run(out, None))
            if arm == "prompt_only" and fresh:
                seconds.append(time.monotonic() - started)
            run = Run(out)
            tested[arm].append(arm_row(run))
            drops[arm].update(run.manifest["stages"]["plan"]["boundary"]["dropped"])
    show("Discovery", explored)
    show("Tests, by arm", tested)
    print("boundary drafts dropped, all seeds")
    for arm, counted in drops.items():
        print(f"  {arm:20s} {', '.join(f'{n} {reason}' for reason, n in sorted(counted.items())) or 'none'}")
    if not seconds:
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nchain with one arm: {statistics.fmean(seconds):.1f} s (12 rounds, up to 50 + 50 tests); peak memory of this process {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
