"""Lookups: the customer's orders, and products."""

from __future__ import annotations

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail.common import item_order, item_product, method_name, need_order
from agenteval.subjects.scripted.retail.identity import need_user
from agenteval.subjects.scripted.retail.workflows_items import option_line
from agenteval.subjects.scripted.retail.workflows_orders import one_line


def order_info(s: Talk) -> None:
    """One order, or the list of all."""
    user = need_user(s)
    if not s.task.slots.get("order") and not s.reading.slots.get("order_like"):
        s.facts["listed"] = user["orders"]
        s.tools.call("get_user_details", user_id=user["user_id"])
        s.say("list_orders", items=[item_order(s, o) for o in user["orders"]])
        s.task.asked = "order"
        s.task.state = "done"
        return
    user, order = need_order(s)
    s.tools.call("get_order_details", order_id=order["order_id"])
    s.finish(
        "order_details", id=order["order_id"], state=order["status"], items=[item_product(i) for i in order["items"]],
        total=order["total"], method=method_name(user, order["payment"]), address=one_line(order["address"]),
    )  # fmt: skip


def product_info(s: Talk) -> None:
    """Options, prices and availability of a product; nobody has to say who they are."""
    name = s.task.slots.get("product")
    if name is None:
        types = s.tools.call("list_all_product_types")
        s.ask("product", "ask_product", items=[("item_name", {"name": name}) for name in types])
    product_id = next(key for key, product in s.tools.data["products"].items() if product["name"] == name)
    product = s.tools.call("get_product_details", product_id=product_id)
    s.finish(
        "product_details", name=name, items=[("item_option", option_line(v)) for v in product["variants"].values()]
    )
