"""The shop: what it adds to the engine of scripted subjects.

The rules follow tau-bench's retail policy in our own words (`policy.md`); customers, orders and products are invented.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail import (
    identity,
    language,
    merging,
    workflows_info,
    workflows_items,
    workflows_orders,
)
from agenteval.subjects.scripted.retail.tools import Tools
from agenteval.subjects.scripted.task import Domain

FOLDER = Path(__file__).parent
NAME = "an online shop's customer service: orders, cancellations, changes, returns, exchanges, addresses and products"

WORKFLOWS = {
    "cancel": workflows_orders.cancel,
    "change_address": workflows_orders.change_address,
    "change_payment": workflows_orders.change_payment,
    "change_items": workflows_items.change_items,
    "vague_change": workflows_orders.vague_change,
    "return_items": workflows_items.return_items,
    "exchange": workflows_items.exchange,
    "default_address": workflows_orders.default_address,
    "order_info": workflows_info.order_info,
    "product_info": workflows_info.product_info,
    "transfer": workflows_orders.transfer,
}
TITLES = {
    "cancel": "the cancellation",
    "change_address": "the shipping address",
    "change_payment": "the payment method",
    "change_items": "the change of items",
    "vague_change": "your change",
    "return_items": "the return",
    "exchange": "the exchange",
    "default_address": "your default address",
    "order_info": "your orders",
    "product_info": "the product information",
    "transfer": "the transfer",
}
# While a task is open, these intents are usually values for it and no new topic.
KEPT = {
    "cancel": ("return_items", "vague_change", "change_items"),
    "return_items": ("cancel", "exchange", "change_payment", "change_items"),
    "exchange": ("change_items", "return_items", "vague_change", "product_info", "change_payment"),
    "change_items": ("exchange", "vague_change", "product_info", "change_payment"),
    "change_payment": ("vague_change",),
    "change_address": ("vague_change", "default_address"),
    "default_address": ("change_address", "vague_change"),
    "vague_change": ("change_items",),
}


@cache
def data() -> dict[str, Any]:
    """The committed data, read once; `Tools` copies what can change."""
    return json.loads((FOLDER / "data.json").read_text("utf-8"))


def keep(s: Talk, intent: str) -> bool:
    """Whether an intent belongs to the open task: its own, or one that is a value for it."""
    task, r = s.task, s.reading.slots
    if intent == task.name:
        return True
    if intent not in KEPT.get(task.name, ()):
        return False
    if {intent, task.name} <= {"cancel", "return_items", "exchange"}:
        # "I want my money back" is a reason; another order, or a plain wish for the other thing, is a new topic.
        return not r.get("orders") and task.asked in ("reason", "payment", "items")
    if intent == "product_info":
        return task.asked in ("option", "items")
    return not r.get("orders") or r["orders"] == [task.slots.get("order")]


def seeds() -> list[dict[str, str]]:
    """What a tester may know in advance: one flat mapping per customer."""
    out = []
    for user in data()["users"].values():
        seed = {
            "name": f"{user['name']['first_name']} {user['name']['last_name']}",
            "email": user["email"],
            "zip": user["address"]["zip"],
        }
        seed |= {f"order_id_{n}": order for n, order in enumerate(user["orders"], 1)}
        seed |= {f"payment_id_{n}": payment for n, payment in enumerate(user["payment_methods"], 1)}
        out.append(seed)
    return out


DOMAIN = Domain(
    "retail",
    FOLDER,
    data,
    Tools,
    language.extract,
    identity.listen,
    merging.merge,
    keep,
    WORKFLOWS,
    ("order_info", "product_info"),
    TITLES,
    ("cancel", "vague_change", "return_items", "exchange", "order_info", "product_info", "default_address"),
    "order",
    ("cancel",),
)
