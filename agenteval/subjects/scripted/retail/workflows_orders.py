"""Pending orders: cancellation, address, payment; and the default address of the account."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail.common import (
    item_methods,
    method_name,
    need_balance,
    need_method,
    need_order,
    record,
)
from agenteval.subjects.scripted.retail.identity import need_user
from agenteval.subjects.scripted.retail.merging import REASONS

PARTS = {"street": "street and number", "city": "city", "state": "state", "zip": "zip code"}


def cancel(s: Talk) -> None:
    """Status, reason, summary; the money goes back the way it came."""
    user, order = need_order(s)
    slots, order_id = s.task.slots, order["order_id"]
    pending = order["status"].startswith("pending")
    record(s, order, pending)
    if slots.get("part"):
        if not s.guard("whole_order_only", False):
            s.ask("whole", "whole_only", id=order_id)
        slots["part"] = None
    else:
        s.guard("whole_order_only", True)
    if not s.guard("cancel_pending_only", pending or order["status"].startswith("pending"), value=order["status"]):
        s.refuse("not_pending_cancel", id=order_id, state=order["status"])
    if not s.guard("cancel_reason_required", slots.get("reason") is not None):
        s.ask("reason", "ask_cancel_reason", id=order_id)
    if not s.guard("cancel_reason_allowed", slots.get("reason") in (*REASONS, None), value=slots.get("reason")):
        s.refuse("cancel_reason_refused", id=order_id)
    method = user["payment_methods"].get(order["payment"], {})
    values = {
        "id": order_id, "total": order["total"], "method": method_name(user, order["payment"]),
        "when": "at once" if method.get("source") == "gift_card" else "within five to seven business days",
    }  # fmt: skip
    if s.fault == "skips_refund_notice":
        s.gate("confirm_cancel", "gate_cancel_plain", id=order_id)
    else:
        s.gate("confirm_cancel", "gate_cancel", **values)
    if s.fault != "cancel_not_done":
        s.tools.call("cancel_pending_order", order_id=order_id, reason=slots.get("reason") or "no longer needed")
    if s.fault == "skips_refund_notice":
        s.finish("cancel_done_plain", id=order_id)
    s.finish("cancel_done", **values)


def need_pending(s: Talk, order: dict[str, Any]) -> None:
    """Only a pending order is changed."""
    pending = order["status"].startswith("pending")
    record(s, order, pending)
    if not s.guard("modify_pending_only", pending or order["status"].startswith("pending"), value=order["status"]):
        s.refuse("not_pending_change", id=order["order_id"], state=order["status"])


def need_address(s: Talk) -> dict[str, str]:
    """A whole address; asks for what is missing."""
    given = s.task.slots.get("address")
    if not given:
        s.ask("address", "ask_address")
    missing = [words for part, words in PARTS.items() if part not in given]
    if not s.guard("address_complete", not missing):
        s.ask("address", "address_missing", parts=" and ".join(missing))
    return given


def one_line(address: dict[str, str]) -> str:
    """An address as it is told."""
    end = " ".join(address[p] for p in ("state", "zip") if p in address)
    return ", ".join(part for part in (address.get("street"), address.get("city"), end) if part)


def change_address(s: Talk) -> None:
    _, order = need_order(s)
    need_pending(s, order)
    address = need_address(s)
    values = {"id": order["order_id"], "address": one_line(address)}
    s.gate("confirm_address", "gate_address", **values)
    s.tools.call("modify_pending_order_address", order_id=order["order_id"], address=address)
    s.finish("address_done", **values)


def default_address(s: Talk) -> None:
    user = need_user(s)
    address = need_address(s)
    s.gate("confirm_default_address", "gate_default", old=one_line(user["address"]), address=one_line(address))
    if s.fault != "address_not_saved":
        s.tools.call("modify_user_address", user_id=user["user_id"], address=address)
    s.finish("default_done", address=one_line(address))


def change_payment(s: Talk) -> None:
    """To one other method; a gift card must cover the total."""
    user, order = need_order(s)
    need_pending(s, order)
    order_id, others = order["order_id"], [i for i in user["payment_methods"] if i != order["payment"]]
    chosen = need_method(s, user, ("ask_new_payment", {"id": order_id, "items": item_methods(user, others)}), others)
    if not s.guard("payment_differs", chosen != order["payment"], value=chosen):
        s.task.slots["payments"] = None
        s.ask("payment", "payment_same", id=order_id, method=method_name(user, chosen))
    need_balance(s, user, chosen, order["total"])
    values = {"id": order_id, "method": method_name(user, chosen)}
    s.gate("confirm_payment", "gate_payment", old=method_name(user, order["payment"]), total=order["total"], **values)
    s.tools.call("modify_pending_order_payment", order_id=order_id, payment_method_id=chosen)
    s.finish("payment_done", **values)


def vague_change(s: Talk) -> None:
    """What should change decides which task it is."""
    kind = s.task.slots.get("kind")
    if kind is None:
        s.ask("kind", "ask_what_change")
    s.task.name = kind
    s.task.asked = None
    s.domain.workflows[kind](s)


def transfer(s: Talk) -> None:
    """To a person only with a request that cannot be settled here, or when the customer asks a second time."""
    ground = s.facts.get("ground") or s.task.slots.get("ground")
    asked_before = s.facts.get("transfer_asked", False)
    s.facts["transfer_asked"] = True
    if not s.guard("transfer_needed", bool(ground or asked_before)):
        s.refuse("transfer_what_for")
    s.tools.call("transfer_to_human_agents", summary=f"{ground or 'customer asked twice'}")
    s.finish("transfer_done")
