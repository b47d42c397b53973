"""`agenteval mutants`: which faults of a scripted subject a finished plan finds (mutation score)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from agenteval.faults.mutants import SURVIVALS, Matrix, kill_matrix
from agenteval.pipeline import Progress, silent
from agenteval.store import Run


def mutate_run(out: Path, *, progress: Progress = silent) -> dict[str, Any]:
    """Run the plan of a run folder on every mutant of its subject; the kill matrix stays in `privileged/`.

    Returns
    -------
    dict
        `scores` (see `scores`) and `survivors`: reason to the ids of the faults that survive for it.

    Raises
    ------
    UsageError, RunFolderError
        See `kill_matrix`.
    """
    run = Run(out)
    matrix = kill_matrix(run, progress=progress)
    run.replace("privileged/trials", matrix.trials, ordered=True)
    run.replace("privileged/mutants", matrix.mutants, ordered=True)
    survivors = {
        reason: [m.fault for m in matrix.mutants if m.survival == reason]
        for reason in SURVIVALS
        if any(m.survival == reason for m in matrix.mutants)
    }
    found = {"scores": scores(matrix), "survivors": survivors}
    run.save_manifest(mutants=found)
    return found


def scores(matrix: Matrix) -> dict[str, Any]:
    """The figures of a kill matrix: mutants, killed ones by kind of test and of fault, survivors by reason.

    Returns
    -------
    dict
        Counts, and shares of the mutants with a witness in [0, 1]; `score of met` has only those that discovery came across.
    """
    met = [m for m in matrix.mutants if m.met]
    lost = Counter(m.survival for m in matrix.mutants if m.survival)
    return {
        "mutants": len(matrix.mutants),
        "met": len(met),
        "killed": sum(m.survival is None for m in matrix.mutants),
        "score": matrix.score(),
        "score of met": sum(m.survival is None for m in met) / len(met) if met else float("nan"),
        "by functional tests": matrix.score("functional"),
        "by boundary tests": matrix.score("boundary"),
        "of guards": matrix.score(guards=True),
        "of other faults": matrix.score(guards=False),
        **{reason: lost[reason] for reason in SURVIVALS},
    }
