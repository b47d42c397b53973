"""Guards of a stranger's agent that the offline chain reaches and stresses, for every arm.

    python experiments/bench/stranger.py FOLDER [--seeds 5]

The folder holds `agent.py` with a class `Agent` (`reset`, `invoke`, and `log`: a list of `{"turn", "guard", "outcome"}` of the
session), `guards.yaml` (a list of `id`, `kind`, sentence) and `brief.yaml`. *Reached*: evaluated in a boundary test's run.
*Stressed*: evaluated with the outcome `failed` at or after the perturbation. The chain never sees the log.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import yaml

from agenteval.briefs import read_brief
from agenteval.chain import SHARED, Settings, fork, open_run, run_stages
from agenteval.store import Run
from agenteval.tester.rules.model import rules_hash
from agenteval.tester.synthesize import ARMS
from agenteval.types import Test, TestRun, Trace

LOGS: dict[tuple[str, ...], list[dict]] = {}
"""What the agent noted in a session, by all that was said to it; equal words give equal sessions."""


def make() -> object:
    """The agent, whose notes are kept."""
    from agent import Agent

    class Noted(Agent):
        def reset(self) -> str | None:
            self.said: tuple[str, ...] = ()
            return super().reset()

        def invoke(self, text: str) -> str:
            reply = super().invoke(text)
            self.said += (text,)
            LOGS[self.said] = [dict(entry) for entry in self.log]
            return reply

    return Noted()


def notes(trace: Trace) -> list[dict]:
    return LOGS.get(tuple(turn.user for turn in trace.turns), [])


def row(run: Run) -> tuple[set[str], set[str], dict[str, int]]:
    """Guards reached, guards stressed, verdicts of boundary tests."""
    tests = {t.id: t for t in run.read("plan", Test)}
    reached: set[str] = set()
    stressed: set[str] = set()
    counted: dict[str, int] = defaultdict(int)
    for r in run.read("runs", TestRun):
        if tests[r.test].kind != "boundary":
            continue
        log = notes(r.trace)
        reached |= {e["guard"] for e in log}
        stressed |= {e["guard"] for e in log if e["outcome"] == "failed" and 0 < r.perturbed <= e["turn"]}
    for verdict in run.lines("visible/verdicts"):
        if tests[verdict["test"]].kind == "boundary":
            counted[verdict["verdict"]] += 1
    return reached, stressed, counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    options = parser.parse_args()
    sys.path[:0] = [str(options.folder), str(Path(__file__).parent)]
    guards = {g["id"]: g["kind"] for g in yaml.safe_load((options.folder / "guards.yaml").read_text("utf-8"))}
    brief = read_brief(options.folder / "brief.yaml")
    folder = options.keep or Path(tempfile.mkdtemp(prefix="agenteval-"))
    print(f"rules {rules_hash()}; {len(guards)} guards; seeds 0-{options.seeds - 1}")
    ever: dict[str, set[str]] = {arm: set() for arm in ARMS}
    for seed in range(options.seeds):
        settings = Settings(subject="python:stranger:make", brief=brief, seed=seed)
        base = folder / f"seed{seed}"
        run_stages(SHARED, open_run(base, settings))
        met = {e["guard"] for t in Run(base).read("traces", Trace) for e in notes(t)}
        print(f"seed {seed}: discovery evaluates {len(met)}")
        for arm in ARMS:
            out = folder / f"seed{seed}-{arm}"
            fork(base, out, settings.model_copy(update={"arm": arm}))
            run_stages(("plan", "run"), open_run(out, None))
            reached, stressed, counted = row(Run(out))
            ever[arm] |= stressed
            print(f"  {arm:18s} reached {len(reached)}, stressed {len(stressed)}; {dict(counted)}; not: "
                  f"{' '.join(sorted(guards.keys() - stressed))}")  # fmt: skip
    print("stressed by any seed")
    for arm, found in ever.items():
        print(f"  {arm:18s} {len(found)} of {len(guards)}; never: {' '.join(sorted(guards.keys() - found)) or 'none'}")


if __name__ == "__main__":
    sys.modules["stranger"] = sys.modules["__main__"]
    main()
