"""The offline chain on agents by writers who saw neither the rules nor our subjects: it walks them, and finds their guards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BENCH = HERE.parent / "experiments" / "bench" / "stranger.py"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["storage", "dental", "cars", "kennel", "club"])
def test_half_of_a_strangers_guards_are_stressed(tmp_path, agent):
    """A floor under the figures of experiments/LOG.md, so that a later rule does not lose them unseen."""
    command = [
        sys.executable,
        str(BENCH),
        str(HERE / "strangers" / agent),
        "--seeds",
        "1",
        "--keep",
        str(tmp_path / "runs"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=True)
    found = {arm: int(n) for arm, n in re.findall(r"^  (\w+) +reached \d+, stressed (\d+)", done.stdout, re.M)}
    assert len(found) == 4 and min(found.values()) >= 5, done.stdout
