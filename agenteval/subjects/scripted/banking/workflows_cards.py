"""Cards: freezing, unfreezing, replacement, credit limit."""

from __future__ import annotations

from agenteval.subjects.scripted.banking.common import money, need_card
from agenteval.subjects.scripted.engine import Talk


def freeze(s: Talk) -> None:
    _, card = need_card(s)
    key = card["card"]
    if not s.guard("card_not_frozen", card["status"] != "frozen", value=key):
        s.refuse("frozen_already", card=key)
    s.gate("confirm_freeze", "gate_freeze", card=key)
    if s.fault != "freeze_not_done":
        s.tools.call("set_card_status", card=key, status="frozen")
    s.finish("freeze_done", card=key)


def unfreeze(s: Talk) -> None:
    _, card = need_card(s)
    key = card["card"]
    if not s.guard("card_frozen", card["status"] == "frozen", value=key):
        s.refuse("active_already", card=key)
    s.gate("confirm_unfreeze", "gate_unfreeze", card=key)
    s.tools.call("set_card_status", card=key, status="active")
    s.finish("unfreeze_done", card=key)


def replace_card(s: Talk) -> None:
    """Reason, frozen first where it is lost or stolen, fee."""
    user, card = need_card(s)
    key, reason = card["card"], s.task.slots.get("reason")
    if not s.guard("replace_reason_required", reason is not None):
        s.ask("reason", "ask_replace_reason", card=key)
    if not s.guard("freeze_before_replace", reason not in ("lost", "stolen") or card["status"] == "frozen", value=key):
        s.refuse("freeze_first", offer="freeze", card=key)
    if s.fault == "skips_fee":
        s.gate("confirm_replace", "gate_replace_plain", card=key, address=user["address"])
    else:
        s.gate("confirm_replace", "gate_replace", card=key, address=user["address"], fee=5)
    s.tools.call("order_replacement_card", card=key, reason=reason or "damaged")
    s.finish("replace_done", card=key, address=user["address"])


def credit_limit(s: Talk) -> None:
    """By at most half, after six months, with the income stated."""
    _, card = need_card(s)
    key, slots = card["card"], s.task.slots
    if not s.guard("credit_card_only", card["kind"] == "credit", value=key):
        s.refuse("no_credit_card", card=key)
    if not s.guard("account_age", s.tools.data["accounts"][card["account_id"]]["opened"] <= "2024-11-20", value=key):
        s.refuse("account_too_young", card=key)
    if not s.guard("income_required", slots.get("income") is not None):
        s.ask("income", "ask_income")
    old = card["limit"] or 500
    if slots.get("limit") is None:
        s.ask("limit", "ask_limit", limit=money(old))
    most = old * 3 // 2
    if not s.guard("limit_raise", slots["limit"] <= most, value=slots["limit"]):
        slots["limit"] = None
        s.ask("limit", "limit_too_high", most=money(most))
    values = {"card": key, "limit": money(slots["limit"])}
    s.gate("confirm_limit", "gate_limit", **values)
    s.tools.call("set_credit_limit", card=key, limit=int(slots["limit"]))
    s.finish("limit_done", **values)
