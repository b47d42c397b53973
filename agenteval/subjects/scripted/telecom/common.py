"""What the workflows share: the line that is meant, and whether it is active."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.telecom.identity import need_user


def need_line(s: Talk) -> tuple[dict[str, Any], dict[str, Any]]:
    """Customer and line, checked for existence and owner; asks, lists, or says what is wrong."""
    user, slots = need_user(s), s.task.slots
    mine = user["lines"]
    if slots.get("several"):
        if not s.guard("several_lines", False):
            s.facts["listed"] = slots["several"]
            s.ask("line", "which_of_several", ids=" and ".join(slots["several"]))
        slots["line"] = slots.pop("several")[0]
    if not slots.get("line"):
        if not s.guard("line_required", len(mine) == 1):
            s.facts["listed"] = mine
            s.ask("line", "which_line", items=[item_line(s, i) for i in mine])
        slots["line"] = mine[0]
    line_id = slots["line"]
    for passed in ("line_required", "several_lines"):
        s.guard(passed, True)
    known = line_id in s.tools.data["lines"]
    if not s.guard("line_known", known, value=line_id):
        slots["line"] = None
        s.ask("line", "line_unknown", id=line_id)
    if not known:
        line_id = slots["line"] = mine[0]
    if s.fault == "wrong_line" and s.task.name == "change_plan" and line_id in mine and len(mine) > 1:
        line_id = mine[1 - mine.index(line_id)]
    line = s.tools.data["lines"][line_id]
    repeated = s.fault == "accepts_on_retry" and line_id in s.facts.get("foreign", ())
    if not s.guard("line_owner", line["customer_id"] == user["customer_id"] or repeated, value=line_id):
        s.facts.setdefault("foreign", set()).add(line_id)
        slots["line"] = None
        s.ask("line", "line_foreign", id=line_id)
    s.facts["last_line"] = line_id
    if slots.get("_looked_up") != line_id:
        slots["_looked_up"] = line_id
        s.tools.call("get_details_by_id", id=line_id)
    return user, line


def item_line(s: Talk, line_id: str) -> tuple[str, dict[str, Any]]:
    """One line of a list of lines."""
    line = s.tools.data["lines"][line_id]
    return "item_line", {"id": line_id, "phone": line["phone_number"], "plan": line["plan"], "state": line["status"]}


def need_active(s: Talk, line: dict[str, Any]) -> None:
    """Plan, data and roaming are for active lines."""
    if not s.guard("line_active", line["status"] == "active", value=line["line_id"]):
        s.refuse("line_not_active", id=line["line_id"], state=line["status"])


def overdue(s: Talk, user: dict[str, Any]) -> list[dict[str, Any]]:
    """Bills that are overdue or whose payment was asked for and has not arrived."""
    bills = s.tools.call("get_bills_for_customer", customer_id=user["customer_id"])
    return [b for b in bills if b["status"] in ("overdue", "awaiting payment")]
