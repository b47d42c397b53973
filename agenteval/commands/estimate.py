"""What the stages of a chain may cost, before anything is asked (`--dry-run`).

The numbers of calls are upper bounds from the settings. Tokens are a rough guess: prompts as they are, and `EXCHANGE` tokens
for each turn of a conversation that a prompt will hold. A reply that does not fit its schema is asked for once more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agenteval.chain import Settings
from agenteval.tester.roles import boundary, driver, functional, judge, labeller, planner, potential, runner
from agenteval.tester.synthesize import BATCH
from agenteval.tester.targets import BATCH as TARGETS

EXCHANGE = 120
"""Tokens of a turn, utterance and reply."""
STEPS = 6
"""Turns of a test."""
REPLY = {"planner": 120, "driver": 60, "functional": 400 * BATCH, "boundary": 600, "runner": 60, "judge": 300}
"""Tokens of an answer."""


def estimate(settings: Settings, stages: Sequence[str], tests: int | None = None) -> dict[str, Any]:
    """Calls and tokens of stages.

    Parameters
    ----------
    tests
        How many tests will run, where that is known; else the most that the settings allow.

    Returns
    -------
    dict
        ``roles``, a list of role, calls, input and output tokens; ``calls``, ``input``, ``output`` in all.
    """
    brief = _tokens(json.dumps(settings.brief.model_dump()))
    session = settings.turns * EXCHANGE
    sessions = settings.rounds * session
    naive = settings.discovery == "naive"
    planned = 0 if naive else max(0, settings.rounds - sum(settings.warmup))
    earlier = 0 if naive else sessions // 2
    everything = settings.arm in ("prompt_only", "graph_context")
    allowed = settings.functional + settings.boundary if tests is None else tests
    executed = min(allowed, settings.limit or allowed) * settings.repetitions
    turns = settings.rounds * settings.turns

    def row(role: str, module: Any, calls: int, holds: int, answer: int) -> dict[str, Any]:
        return {
            "role": role,
            "calls": calls,
            "input": calls * (_tokens(module.PROMPT) + holds),
            "output": calls * answer,
        }

    rows = {
        "discover": [
            row("planner", planner, planned, brief + earlier, REPLY["planner"]),
            row("driver", driver, turns, brief + earlier + session // 2, REPLY["driver"]),
        ],
        "abstract": [row("labeller", labeller, 1, sessions, turns * 40)],
        "targets": [row("potential", potential, -(-3 * turns // TARGETS), TARGETS * 150, TARGETS * 30)],
        "plan": [
            row("functional", functional, -(-settings.functional // BATCH) + 2, brief + sessions, REPLY["functional"]),
            row("boundary", boundary, settings.boundary, brief + (sessions if everything else session), REPLY["boundary"]),
        ],
        "run": [
            row("runner", runner, executed * STEPS, brief + STEPS * EXCHANGE, REPLY["runner"]),
            row("judge", judge, executed, STEPS * EXCHANGE, REPLY["judge"]),
        ],
    }  # fmt: skip
    chosen = [r for stage in stages for r in rows.get(stage, [])]
    return {"roles": chosen, **{key: sum(r[key] for r in chosen) for key in ("calls", "input", "output")}}


def _tokens(text: str) -> int:
    return len(text) // 4
