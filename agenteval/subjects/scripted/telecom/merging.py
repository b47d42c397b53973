"""Entering what was said in a task: line, plan, amount, direction, and what the device shows."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Task

ON_LINE = ("resume_line", "change_plan", "refuel", "roaming", "no_service", "mobile_data", "mms")
GUIDES = ("no_service", "mobile_data", "mms")
_ALONE = re.compile(r"\b(?:another|different|other) line\b")


def merge(s: Talk, task: Task) -> set[str]:
    """Enter the reading's values; returns the names of those that changed."""
    r, changed = s.reading.slots, set()
    if "phones" not in r:
        return changed

    def put(key: str, value: Any) -> None:
        if value is not None and value != [] and task.slots.get(key) != value:
            task.slots[key] = value
            changed.add(key)

    _merge_line(s, task, put)
    if task.name == "change_plan":
        put("plan", r["plan"])
        put("bad_plan", r["bad_plan"] if not r["plan"] else None)
        names, place = list(s.tools.data["plans"]), r["ordinal"]
        if task.asked == "plan" and place and not r["plan"] and place <= len(names):
            put("plan", names[place - (place > 0)])
    if task.name == "refuel":
        put("amount", r["amount"])
    if task.name == "roaming":
        put("direction", r["direction"])
        if task.asked == "direction" and s.reading.answer and not r["direction"]:
            put("direction", "on" if s.reading.answer == "yes" else "off")
    if task.name == "pay_bill" and r["paid"]:
        put("paid", True)
    if task.name in GUIDES and task.asked and task.asked.startswith("step"):
        answer = s.reading.answer
        if r["device"] or answer:
            put("heard", [s.log.turn, *r["device"], *([answer] if answer else [])])
        s.reading.answer = None
    if task.state != "open" and task.name in s.domain.lookups:
        changed &= {"line"}
    return changed


def _merge_line(s: Talk, task: Task, put: Any) -> None:
    r, old = s.reading.slots, task.slots.get("line")
    named = r["lines"]
    if r["phones"] and not named and s.facts.get("user"):
        named = [r["phones"][0]]
    if (
        s.facts.pop("told_phone", None)
        and len(s.tools.data["customers"][s.facts["user"]]["lines"]) > 1
        and "line" not in s.reading.text.lower()
    ):
        named = []  # The number said who speaks, not which line it is about.
    if len(named) > 1 and "correction" in s.reading.flags and old in named:
        named = [n for n in named if n != old]
    if len(named) == 1:
        put("line", named[0])
        task.slots["several"] = None
    elif len(named) > 1 and task.name in ON_LINE:
        put("several", named)
    listed, place = s.facts.get("listed") or [], r["ordinal"]
    if not named and listed and place and task.asked == "line" and place <= len(listed):
        put("line", listed[place - (place > 0)])
        task.slots["several"] = None
    elif (
        not named
        and not old
        and s.facts.get("last_line")
        and task.name in ON_LINE
        and not _ALONE.search(s.reading.text.lower())
    ):
        put("line", s.facts["last_line"])
