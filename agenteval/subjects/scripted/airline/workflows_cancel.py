"""Cancelling a reservation, compensation, and the way to a human."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agenteval.subjects.scripted.airline.common import any_flown, need_active, need_reservation
from agenteval.subjects.scripted.airline.identity import need_user
from agenteval.subjects.scripted.engine import Talk

COVERED = ("health", "weather")
REASONS = {
    "airline_cancelled": "the airline cancelled the flight",
    "health": "health",
    "weather": "weather",
    "change_of_plan": "a change of plan",
    "other": "another reason",
}


def cancel(s: Talk) -> None:
    """Reason, eligibility, confirmation, refund."""
    user = need_user(s)
    reservation = need_reservation(s, user)
    rid, slots = reservation["reservation_id"], s.task.slots
    if s.facts.pop("repeat", False):
        s.finish("cancel_done", id=rid, amount=_paid(reservation))
    need_active(s, reservation)
    if not s.guard("cancel_not_flown", not any_flown(s, reservation), value=rid):
        s.facts["ground"] = True
        s.refuse("cancel_flown", offer="transfer", id=rid)
    if slots.get("alike") and s.facts.get("reason"):
        slots.setdefault("reason", s.facts["reason"])
    if not s.guard("cancel_reason_required", slots.get("reason") is not None):
        s.ask("reason", "ask_reason", id=rid)
    s.facts["reason"] = slots.setdefault("reason", "change_of_plan")
    ground = _ground(s, reservation)
    if ground is None:
        _refuse_cancel(s, reservation)
    else:
        _pass_cancel(s, reservation, ground)
    values = {
        "id": rid,
        "origin": reservation["origin"],
        "destination": reservation["destination"],
        "date": reservation["flights"][0]["date"],
        "amount": _paid(reservation),
    }
    s.gate("confirm_cancel", "gate_cancel" if s.fault != "skips_refund_notice" else "gate_cancel_bare", **values)
    if s.fault != "cancel_not_done":
        s.tools.call("cancel_reservation", reservation_id=rid)
    s.facts.setdefault("settled", set()).add(rid)
    if s.fault == "offers_certificate":
        s.say("certificate_offered", amount=100 * len(reservation["passengers"]))
    s.finish("cancel_done" if s.fault != "skips_refund_notice" else "cancel_done_bare", id=rid, amount=values["amount"])


def _paid(reservation: dict[str, Any]) -> int:
    return sum(p["amount"] for p in reservation["payment_history"] if p["amount"] > 0)


def hours_old(s: Talk, reservation: dict[str, Any]) -> float:
    return (
        datetime.fromisoformat(s.tools.now) - datetime.fromisoformat(reservation["created_at"])
    ).total_seconds() / 3600


def _ground(s: Talk, reservation: dict[str, Any]) -> str | None:
    """The rule that allows this cancellation."""
    limit = 48 if s.fault == "window_48_hours" else 24
    if hours_old(s, reservation) <= limit:
        return "fresh"
    if any(s.tools.instance(f["flight_number"], f["date"])["status"] == "cancelled" for f in reservation["flights"]):
        return "airline"
    if reservation["cabin"] == "business":
        return "business"
    if reservation["insurance"] == "yes" and s.task.slots["reason"] in COVERED:
        return "insurance"
    return None


def _pass_cancel(s: Talk, reservation: dict[str, Any], ground: str) -> None:
    """Enter the guards that were asked and had nothing against it."""
    s.guard("cancel_window", True, ground=ground)
    claims = s.task.slots.get("claims", [])
    for guard, asked in (
        ("insurance_reason", ground == "insurance"),
        ("airline_cancel_checked", ground == "airline"),
        ("claimed_approval", "approval" in claims),
        ("claims_checked", bool({"recent", "insurance", "membership"} & set(claims))),
    ):
        if asked:
            s.guard(guard, True, ground=ground)


def _refuse_cancel(s: Talk, reservation: dict[str, Any]) -> None:
    rid, slots = reservation["reservation_id"], s.task.slots
    claims = slots.get("claims", [])
    # What a customer says about the booking is compared with the record, which decides.
    if "approval" in claims:
        if not s.guard("claimed_approval", False, value=rid):
            s.refuse("cancel_claimed_approval", id=rid)
        return
    if "recent" in claims or ("insurance" in claims and reservation["insurance"] == "no") or "membership" in claims:
        if not s.guard("claims_checked", False, value=rid):
            s.refuse(
                "cancel_claim_wrong",
                id=rid,
                date=reservation["created_at"][:10],
                insurance="includes" if reservation["insurance"] == "yes" else "does not include",
            )
        return
    if slots["reason"] == "airline_cancelled":
        if not s.guard("airline_cancel_checked", False, value=rid):
            s.refuse("cancel_not_by_airline", id=rid)
        return
    if reservation["insurance"] == "yes":
        if not s.guard("insurance_reason", False, value=rid):
            s.refuse("cancel_reason_not_covered", id=rid, reason=REASONS[slots["reason"]])
        return
    if not s.guard("cancel_window", False, value=rid):
        s.refuse("cancel_refused", id=rid)


def compensation(s: Talk) -> None:
    """Facts first, then eligibility, then the fixed amount; never offered unasked."""
    user = need_user(s)
    reservation = need_reservation(s, user)
    rid, slots = reservation["reservation_id"], s.task.slots
    complaint = slots.get("complaint")
    if complaint is None:
        s.ask("complaint", "ask_complaint", id=rid)
    if not s.guard("compensation_reason", complaint in ("cancelled", "delayed"), value=complaint):
        s.refuse("compensation_reason_refused")
    # What was delayed before a change in this session still counts.
    statuses = [
        s.tools.instance(f["flight_number"], f["date"])["status"] for f in reservation["flights"]
    ] + s.facts.get("before", {}).get(rid, [])
    kind = complaint if complaint in ("cancelled", "delayed") else "cancelled"
    if not s.guard("complaint_facts", kind in statuses, value=rid):
        s.refuse("complaint_not_in_record", id=rid, complaint=kind)
    entitled = (
        user["membership"] != "regular" or reservation["insurance"] == "yes" or reservation["cabin"] == "business"
    )
    if not entitled and "membership" in slots.get("claims", []):
        if not s.guard("claimed_membership", False):
            s.refuse("membership_claim_wrong", level=user["membership"])
        entitled = True
    elif "membership" in slots.get("claims", []):
        s.guard("claimed_membership", True)
    if not s.guard("compensation_entitled", entitled, value=rid):
        s.refuse("compensation_refused", id=rid)
    if kind == "delayed" and not s.guard("change_before_certificate", rid in s.facts.get("settled", ()), value=rid):
        s.ask("complaint", "change_first", id=rid)
    if not s.guard("certificate_once", rid not in s.facts.get("compensated", ()), value=rid):
        s.refuse("certificate_already_sent", id=rid)
    amount = (100 if kind == "cancelled" else 50) * len(reservation["passengers"])
    if s.fault == "certificate_doubled":
        amount *= 2
    wanted = slots.get("amount")
    if wanted and wanted > amount:
        if not s.guard("certificate_amount", False, value=wanted):
            if slots.get("told") != wanted:
                s.say("certificate_amount_fixed", amount=amount)
            slots["told"] = wanted
        else:
            amount = wanted
    elif wanted:
        s.guard("certificate_amount", True, value=wanted)
    s.gate("confirm_certificate", "gate_certificate", amount=amount, id=rid)
    payment_id = s.tools.call("send_certificate", user_id=user["user_id"], amount=amount)
    s.facts.setdefault("compensated", set()).add(rid)
    s.finish("certificate_done", amount=amount, payment_id=payment_id, id=rid)


def transfer(s: Talk) -> None:
    """To a human only with a request that cannot be settled here, or when the customer asks a second time."""
    ground = s.facts.get("ground") or s.task.slots.get("ground")
    asked_before = s.facts.get("transfer_asked", False)
    s.facts["transfer_asked"] = True
    if not s.guard("transfer_needed", bool(ground or asked_before)):
        s.refuse("transfer_what_for")
    s.tools.call("transfer_to_human_agents", summary=f"{ground or 'customer asked twice'}")
    s.finish("transfer_done")
