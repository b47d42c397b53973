"""Items: returns and exchanges of delivered orders, replacements in pending ones."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail.common import (
    item_methods,
    item_product,
    method_name,
    need_balance,
    need_items,
    need_method,
    need_order,
    record,
)
from agenteval.subjects.scripted.retail.workflows_orders import need_pending


def return_items(s: Talk) -> None:
    """The money goes to the method of the order or to a gift card."""
    user, order = need_order(s)
    order_id, delivered = order["order_id"], order["status"] == "delivered"
    record(s, order, delivered)
    if not s.guard("return_delivered_only", delivered or order["status"] == "delivered", value=order["status"]):
        s.refuse("not_delivered_return", id=order_id, state=order["status"])
    items = need_items(s, order)
    method = method_name(user, order["payment"])
    offered = [
        order["payment"],
        *(i for i, m in user["payment_methods"].items() if m["source"] == "gift_card" and i != order["payment"]),
    ]
    named = s.task.slots.get("payments")
    if not s.guard("refund_method_required", bool(named)):
        s.task.slots["_offered"] = offered
        s.ask("payment", "ask_refund_method", method=method)
    if not named or named[0].get("original"):
        s.task.slots["payments"] = [{"id": order["payment"]}]
    chosen = need_method(s, user, ("ask_refund_method", {"method": method}), offered)
    if not s.guard("refund_to_original_or_gift", chosen in offered, value=chosen):
        s.task.slots["payments"] = None
        s.ask("payment", "refund_method_refused", method=method)
    total = sum(i["price"] for i in items) - (10 if s.fault == "wrong_total" else 0)
    values = {"id": order_id, "total": total, "method": method_name(user, chosen)}
    s.gate("confirm_return", "gate_return", items=[item_product(i) for i in items], **values)
    s.tools.call(
        "return_delivered_order_items",
        order_id=order_id,
        item_ids=[i["item_id"] for i in items],
        payment_method_id=chosen,
    )
    s.finish("return_done", **values)


def change_items(s: Talk) -> None:
    """Other options of the same products in a pending order, once."""
    user, order = need_order(s)
    need_pending(s, order)
    _swap(s, user, order, "change_items")


def exchange(s: Talk) -> None:
    """Other options of the same products for delivered items, once."""
    user, order = need_order(s)
    status = order["status"]
    record(s, order, status in ("delivered", "exchange requested"))
    again = status == "exchange requested"
    delivered = status == "delivered" or order["status"] == "delivered" or again
    if not s.guard("exchange_delivered_only", delivered, value=status):
        s.refuse("not_delivered_exchange", id=order["order_id"], state=status)
    _swap(s, user, order, "exchange")


def _swap(s: Talk, user: dict[str, Any], order: dict[str, Any], name: str) -> None:
    slots, order_id = s.task.slots, order["order_id"]
    again = order["status"] in ("pending (items changed)", "exchange requested")
    if not s.guard("modify_items_once", not again, value=order_id):
        s.refuse("items_already_changed", id=order_id)
    pairs = [(item, _option(s, item)) for item in need_items(s, order)]
    slots["_asking"] = None
    shown = [
        ("item_swap", {"name": old["name"], "old": _words(old["options"]), "new": _words(new["options"])})
        for old, new in pairs
    ]
    if not s.guard("all_items_collected", bool(slots.get("complete"))):
        s.ask("all", "ask_all_collected", items=shown)
    difference = sum(new["price"] - old["price"] for old, new in pairs)
    what = _what(difference)
    question = ("ask_difference", {"what": what, "items": item_methods(user, list(user["payment_methods"]))})
    if not slots.get("payments") and s.fault == "payment_required":
        s.guard("payment_required", False)
        slots["payments"] = [{"id": order["payment"]}]
    elif not s.guard("payment_required", bool(slots.get("payments"))):
        slots["_offered"] = list(user["payment_methods"])
        s.ask("payment", question[0], **question[1])
    chosen = need_method(s, user, question, list(user["payment_methods"]))
    need_balance(s, user, chosen, difference)
    values = {"id": order_id, "what": what, "method": method_name(user, chosen)}
    ids = {"order_id": order_id, "item_ids": [i["item_id"] for i, _ in pairs], "new_item_ids": [n["item_id"] for _, n in pairs],
           "payment_method_id": chosen}  # fmt: skip
    if name == "change_items":
        s.gate("confirm_items", "gate_items", items=shown, **values)
        s.tools.call("modify_pending_order_items", **ids)
        s.finish("items_done", **values)
    if s.fault == "skips_difference":
        s.gate("confirm_exchange", "gate_exchange_plain", id=order_id, items=shown)
    else:
        s.gate("confirm_exchange", "gate_exchange", items=shown, **values)
    s.tools.call("exchange_delivered_order_items", **ids)
    s.finish("exchange_done", id=order_id)


def _what(difference: int) -> str:
    """What a difference in price means for the customer."""
    if difference > 0:
        return f"${difference} to be paid"
    return f"${-difference} to be refunded" if difference else "no difference in price"


def _words(options: dict[str, str]) -> str:
    return ", ".join(options.values())


def _option(s: Talk, item: dict[str, Any]) -> dict[str, Any]:
    """The new option of an item: what was wished for, on top of what was ordered."""
    slots, name = s.task.slots, item["name"]
    product = s.tools.data["products"][item["product_id"]]
    wished = (slots.get("wishes") or {}).get(name)
    listed = [("item_option", option_line(v)) for v in product["variants"].values()]
    slots["_asking"] = name
    slots["_options"] = [list(v["options"].values()) for v in product["variants"].values()]
    if not s.guard("option_required", bool(wished)):
        s.tools.call("get_product_details", product_id=item["product_id"])
        s.ask("option", "ask_option", name=name, items=listed)
    wanted = dict(item["options"])
    unknown = [
        value for value in wished or [] if not any(value in v["options"].values() for v in product["variants"].values())
    ]
    for value in wished or []:
        key = next((k for v in product["variants"].values() for k, x in v["options"].items() if x == value), None)
        if key:
            wanted[key] = value
    found = next(({"item_id": i, **v} for i, v in product["variants"].items() if v["options"] == wanted), None)
    if not s.guard("option_exists", found is not None and not unknown, value=str(wished)):
        slots["wishes"] = {k: v for k, v in slots["wishes"].items() if k != name}
        s.ask("option", "option_unknown", name=name, items=listed)
    variants = [{"item_id": i, **v} for i, v in product["variants"].items()]
    if unknown or not wished:
        found = next(v for v in variants if v["item_id"] != item["item_id"] and v["available"])
    for guard, ok, act in (
        ("option_differs", found["item_id"] != item["item_id"], "option_same"),
        ("variant_available", found["available"], "option_sold_out"),
    ):
        if not s.guard(guard, ok, value=found["item_id"]):
            slots["wishes"] = {k: v for k, v in slots["wishes"].items() if k != name}
            s.ask("option", act, name=name, options=_words(found["options"]))
    return found


def option_line(variant: dict[str, Any]) -> dict[str, Any]:
    """One line of the options of a product."""
    state = "available" if variant["available"] else "sold out"
    return {"options": _words(variant["options"]), "price": variant["price"], "state": state}
