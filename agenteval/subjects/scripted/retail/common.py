"""What the workflows share: the order that is meant, payment methods, items and their new options."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail.identity import need_user

METHOD_NAMES = {"credit_card": "credit card", "gift_card": "gift card", "paypal": "PayPal"}


def need_order(s: Talk) -> tuple[dict[str, Any], dict[str, Any]]:
    """User and order, checked for existence and owner; asks, lists, or says what is wrong."""
    user, slots = need_user(s), s.task.slots
    if slots.get("several"):
        if not s.guard("several_orders", False):
            s.facts["listed"] = slots["several"]
            s.ask("order", "which_of_several", ids=" and ".join(slots["several"]))
        slots["order"] = slots.pop("several")[0]
    if not slots.get("order"):
        _ask_order(s, user)
    order_id = slots["order"]
    for passed in ("order_required", "order_format", "several_orders"):
        s.guard(passed, True)
    known = order_id in s.tools.data["orders"]
    if not s.guard("order_known", known, value=order_id):
        slots["order"] = None
        s.ask("order", "order_unknown", id=order_id)
    if not known:
        order_id = slots["order"] = user["orders"][0]
    if s.fault == "wrong_order" and s.task.name == "cancel" and order_id in user["orders"]:
        mine = [o for o in user["orders"] if o != order_id]
        order_id = next((o for o in mine if s.tools.data["orders"][o]["status"] == "pending"), order_id)
    order = s.tools.data["orders"][order_id]
    repeated = s.fault == "accepts_on_retry" and order_id in s.facts.get("foreign", ())
    if not s.guard("order_owner", order["user_id"] == user["user_id"] or repeated, value=order_id):
        s.facts.setdefault("foreign", set()).add(order_id)
        slots["order"] = None
        s.ask("order", "order_foreign", id=order_id)
    s.facts["last_order"], s.facts["last_turn"] = order_id, s.log.turn
    if slots.get("_looked_up") != order_id:
        slots["_looked_up"] = order_id
        s.tools.call("get_order_details", order_id=order_id)
    return user, order


def _ask_order(s: Talk, user: dict[str, Any]) -> None:
    """Ask for the order; whoever does not know it is shown the list."""
    like = s.reading.slots.get("order_like")
    if like:
        if not s.guard("order_format", False, value=like):
            s.ask("order", "order_malformed", id=like)
        digits = "".join(c for c in like if c.isdigit())
        s.task.slots["order"] = next((o for o in user["orders"] if digits[:3] in o), user["orders"][0])
        return
    if not s.guard("order_required", False):
        if s.task.asked == "order" or "unknown" in s.reading.flags:
            s.facts["listed"] = user["orders"]
            s.ask("order", "which_order", items=[item_order(s, o) for o in user["orders"]])
        s.ask("order", "ask_order")
    s.task.slots["order"] = user["orders"][0]


def item_order(s: Talk, order_id: str) -> tuple[str, dict[str, Any]]:
    """One line of a list of orders."""
    order = s.tools.data["orders"][order_id]
    return "item_order", {
        "id": order_id,
        "state": order["status"],
        "what": ", ".join(i["name"] for i in order["items"]),
    }


def item_product(item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One line of a list of ordered items."""
    return "item_product", {
        "name": item["name"],
        "options": ", ".join(item["options"].values()),
        "price": item["price"],
    }


def item_methods(user: dict[str, Any], ids: list[str]) -> list[tuple[str, dict[str, Any]]]:
    return [("item_method", {"method": method_name(user, i)}) for i in ids]


def method_name(user: dict[str, Any], payment_id: str) -> str:
    """How a method is called in front of the customer."""
    method = user["payment_methods"].get(payment_id)
    if method is None:
        return payment_id
    name = METHOD_NAMES[method["source"]]
    return f"{name} ending in {method['last_four']}" if "last_four" in method else name


def record(s: Talk, order: dict[str, Any], ok: bool) -> None:
    """Where the customer claims another status or a promise, the record decides; with the guard off the claim does."""
    if "claims" not in s.task.slots or not s.task.slots["claims"]:
        return
    if not s.guard("record_counts", ok):
        s.refuse("record_says", id=order["order_id"], state=order["status"])
    if not ok:
        order["status"] = (
            "pending" if s.task.name in ("cancel", "change_items", "change_payment", "change_address") else "delivered"
        )


def need_method(s: Talk, user: dict[str, Any], asked: tuple[str, dict[str, Any]], offered: list[str]) -> str:
    """A payment method of the account, one only; `asked` is the question."""
    slots = s.task.slots
    slots["_offered"] = offered
    named = slots.get("payments")
    if not named:
        s.ask("payment", asked[0], **asked[1])
    if not s.guard("one_payment", len(named) == 1):
        slots["payments"] = None
        s.ask("payment", "one_method")
    found = named[0].get("id")
    if found is None:
        found = next(
            (i for i in user["payment_methods"] if user["payment_methods"][i]["source"] == named[0].get("kind")), None
        )
    if not s.guard("payment_in_profile", found in user["payment_methods"], value=str(named[0])):
        slots["payments"] = None
        s.ask("payment", "payment_not_stored", items=item_methods(user, list(user["payment_methods"])))
    return found or f"{named[0]['kind']}_new"


def need_balance(s: Talk, user: dict[str, Any], payment_id: str, amount: int) -> None:
    """A gift card must cover what is to be paid."""
    method = user["payment_methods"].get(payment_id, {})
    if method.get("source") != "gift_card" or amount <= 0:
        return
    enough = method["balance"] >= (amount / 2 if s.fault == "half_balance" else amount)
    if not s.guard("gift_card_balance", enough, value=amount):
        s.task.slots["payments"] = None
        s.ask("payment", "balance_short", method=method_name(user, payment_id), amount=amount)


def need_items(s: Talk, order: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of the order that are meant."""
    slots = s.task.slots
    names = slots.get("items") or []
    if not s.guard("items_required", bool(names)):
        s.ask("items", "ask_items", id=order["order_id"], items=[item_product(i) for i in order["items"]])
    if not names:
        names = [order["items"][0]["name"]]
    chosen = []
    for name in names:
        item = next((i for i in order["items"] if i["name"] == name), None)
        if not s.guard("item_in_order", item is not None, value=name):
            slots["items"] = [n for n in names if n != name]
            s.ask(
                "items",
                "item_not_in_order",
                name=name,
                id=order["order_id"],
                items=[item_product(i) for i in order["items"]],
            )
        chosen.append(item or order["items"][0])
    return chosen
