"""What the workflows share: the account and the card that are meant."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.banking.identity import need_user
from agenteval.subjects.scripted.engine import Talk


def need_account(s: Talk, level: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Customer and account, checked for existence and owner."""
    user, slots = need_user(s, level), s.task.slots
    mine = [a for a in user["accounts"] if not s.tools.data["accounts"][a].get("closed")]
    if slots.get("several"):
        if not s.guard("several_accounts", False):
            s.facts["listed"] = slots["several"]
            s.ask("account", "which_of_several", ids=" and ".join(slots["several"]))
        slots["account"] = slots.pop("several")[0]
    if not slots.get("account"):
        if not s.guard("account_required", len(mine) == 1):
            s.facts["listed"] = mine
            s.ask("account", "which_account", items=[item_account(s, a) for a in mine])
        slots["account"] = mine[0]
    key = slots["account"]
    for passed in ("account_required", "several_accounts"):
        s.guard(passed, True)
    known = key in s.tools.data["accounts"] and not s.tools.data["accounts"][key].get("closed")
    if not s.guard("account_known", known, value=key):
        slots["account"] = None
        s.ask("account", "account_unknown", id=key)
    if not known:
        key = slots["account"] = mine[0]
    if s.fault == "wrong_account" and s.task.name == "statement" and key in mine and len(mine) > 1:
        key = mine[1 - mine.index(key)]
    account = s.tools.data["accounts"][key]
    repeated = s.fault == "accepts_on_retry" and key in s.facts.get("foreign", ())
    if not s.guard("account_owner", account["customer_id"] == user["customer_id"] or repeated, value=key):
        s.facts.setdefault("foreign", set()).add(key)
        slots["account"] = None
        s.ask("account", "account_foreign", id=key)
    s.facts["last_account"] = key
    return user, account


def item_account(s: Talk, key: str) -> tuple[str, dict[str, Any]]:
    return "item_account", {"id": key, "kind": s.tools.data["accounts"][key]["kind"]}


def need_card(s: Talk) -> tuple[dict[str, Any], dict[str, Any]]:
    """Customer at level two and card, checked for existence and owner."""
    user, slots = need_user(s, 2), s.task.slots
    if not s.guard("card_required", bool(slots.get("card"))):
        s.ask("card", "which_card", items=[item_card(s, c) for c in user["cards"]])
    key = slots.get("card") or user["cards"][0]
    if not s.guard("card_known", key in s.tools.data["cards"], value=key):
        slots["card"] = None
        s.ask("card", "card_unknown", card=key)
    if key not in s.tools.data["cards"]:
        key = user["cards"][0]
    card = s.tools.data["cards"][key]
    if not s.guard("card_owner", card["customer_id"] == user["customer_id"], value=key):
        slots["card"] = None
        s.ask("card", "card_foreign", card=key)
    s.facts["last_card"] = key
    return user, card


def item_card(s: Talk, key: str) -> tuple[str, dict[str, Any]]:
    card = s.tools.data["cards"][key]
    return "item_card", {"card": key, "kind": card["kind"], "state": card["status"]}


def money(amount: float) -> str:
    """An amount as it is told, without the sign.

    >>> money(1200.5), money(40)
    ('1,200.50', '40')
    """
    return f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.2f}"
