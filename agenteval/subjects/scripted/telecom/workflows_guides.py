"""Guides for the device: one step after another, each with the question whether it works."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.telecom.common import need_line

STEPS = {
    "no_service": ("step_airplane", "step_sim", "step_network_reset", "step_restart"),
    "mobile_data": ("step_abroad", "step_data_switch", "step_data_saver", "step_network_mode", "step_vpn"),
    "mms": ("step_mms_data", "step_mms_mode", "step_wifi_calling", "step_permissions", "step_access_point"),
}
ASKS_STATE = ("step_sim", "step_abroad")
"""Steps that ask how things are rather than whether it works now."""


def guide(s: Talk) -> None:
    """Go on from the step that was last asked about."""
    _, line = need_line(s)
    slots, steps = s.task.slots, STEPS[s.task.name]
    at = slots.setdefault("step", 0)
    heard = slots.get("heard") or []
    if slots.get("_shown") == at and heard and heard[0] == s.log.turn:
        _answer(s, line, steps[at], heard[1:])
        at = slots["step"] = at + 1
    before = {"step_network_reset": _status, "step_data_switch": _usage}
    if at < len(steps) and steps[at] in before and slots.get("_shown") != at:
        before[steps[at]](s, line)
    if at >= len(steps):
        s.facts["ground"] = True
        s.refuse("guide_exhausted", offer="transfer")
    slots["_shown"] = at
    s.log.add("state", change=steps[at], task=s.task.name)
    s.ask(f"step_{at}", steps[at])


def _answer(s: Talk, line: dict[str, Any], step: str, heard: list[Any]) -> None:
    """What follows from an answer to a step."""
    if step == "step_sim":
        locked = "locked" in heard
        if not s.guard("sim_locked", not locked):
            s.tools.call("transfer_to_human_agents", summary="locked SIM")
            s.finish("sim_handover")
        return
    if step == "step_abroad":
        abroad = "yes" in heard
        if not s.guard("roaming_checked", not abroad or line["roaming"], value=line["line_id"]):
            s.refuse("roaming_needed", offer="roaming", id=line["line_id"])
        return
    if "unsolved" not in heard and ("solved" in heard or "yes" in heard):
        s.log.add("state", change="solved", task=s.task.name)
        s.finish("guide_solved")


def _status(s: Talk, line: dict[str, Any]) -> None:
    """A suspended line has no service, whatever the phone does."""
    if not s.guard("line_status_checked", line["status"] == "active", value=line["line_id"]):
        s.refuse("line_is_suspended", offer="resume_line", id=line["line_id"])


def _usage(s: Talk, line: dict[str, Any]) -> None:
    """Used-up data stop the connection before any setting does."""
    used = s.tools.call("get_data_usage", customer_id=line["customer_id"], line_id=line["line_id"])
    if not s.guard("usage_checked", used["used_gb"] < used["limit_gb"], value=line["line_id"]):
        s.refuse(
            "data_used_up",
            offer="refuel",
            id=line["line_id"],
            used=f"{used['used_gb']:g}",
            limit=f"{used['limit_gb']:g}",
        )
