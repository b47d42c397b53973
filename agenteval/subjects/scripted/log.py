"""The privileged log of one session: tool calls, guard checks, state changes.

Three events, as a list of dictionaries::

    {"event": "tool", "turn": 3, "name": "get_user_details", "arguments": {"user_id": "..."}, "result": {...},
     "capability": "cancel"}
    {"event": "guard", "turn": 3, "guard": "cancel_window", "outcome": "failed", "capability": "cancel", ...}
    {"event": "state", "turn": 3, "change": "task_refused", "task": "cancel"}
"""

from __future__ import annotations

from typing import Any


class SessionLog:
    """Events of one session in order. A guard `failed` when it refused or asked, `skipped` when switched off."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.turn = 0
        self.capability = ""
        self._seen: set[tuple[Any, ...]] = set()

    def add(self, event: str, **facts: Any) -> None:
        self.events.append({"event": event, "turn": self.turn, **facts})

    def guard(self, guard: str, outcome: str, unit: Any, **facts: Any) -> None:
        """Enter a check. A task asks its guards again on every turn: passed ones are entered once per task (`unit`)."""
        key = (guard, outcome, unit, repr(sorted(facts.items())))
        if outcome == "failed" or key not in self._seen:
            self._seen.add(key)
            self.add("guard", guard=guard, outcome=outcome, **facts)
