"""The shop's systems: reads and writes on one private copy of the data.

Names and arguments are those of tau-bench's retail tools where it has one. They do not check the policy: that is the
agent's business. Each call is logged by `Tools.call`.
"""

from __future__ import annotations

import copy
from typing import Any

from agenteval.subjects.scripted.log import SessionLog


class Tools:
    """All tools of one session, over a copy of what can change."""

    def __init__(self, data: dict[str, Any], log: SessionLog):
        self.data = {**data, "users": copy.deepcopy(data["users"]), "orders": copy.deepcopy(data["orders"])}
        self.log = log

    def call(self, name: str, **arguments: Any) -> Any:
        """Run one tool and log it; the names are fixed by the workflows, never by what a user wrote."""
        result = getattr(self, name)(**arguments)
        self.log.add("tool", name=name, capability=self.log.capability, arguments=copy.deepcopy(arguments),
                     result=copy.deepcopy(result))  # fmt: skip
        return result

    # ---- reads

    def find_user_id_by_email(self, email: str) -> str | None:
        return next((u["user_id"] for u in self.data["users"].values() if u["email"] == email.lower()), None)

    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str | None:
        wanted = (first_name.lower(), last_name.lower(), zip)
        for user in self.data["users"].values():
            name = user["name"]
            if (name["first_name"].lower(), name["last_name"].lower(), user["address"]["zip"]) == wanted:
                return user["user_id"]
        return None

    def get_user_details(self, user_id: str) -> dict[str, Any]:
        return self.data["users"][user_id]

    def get_order_details(self, order_id: str) -> dict[str, Any]:
        return self.data["orders"][order_id]

    def get_product_details(self, product_id: str) -> dict[str, Any]:
        return self.data["products"][product_id]

    def list_all_product_types(self) -> dict[str, str]:
        return {product["name"]: key for key, product in self.data["products"].items()}

    # ---- writes

    def cancel_pending_order(self, order_id: str, reason: str) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        order["status"], order["cancel_reason"] = "cancelled", reason
        self._gift(order["user_id"], order["payment"], order["total"])
        return order

    def modify_pending_order_address(self, order_id: str, address: dict[str, str]) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        order["address"] = dict(address)
        return order

    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        self._gift(order["user_id"], order["payment"], order["total"])
        self._gift(order["user_id"], payment_method_id, -order["total"])
        order["payment"] = payment_method_id
        return order

    def modify_pending_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        self._gift(order["user_id"], payment_method_id, -self._swap(order, item_ids, new_item_ids))
        order["status"] = "pending (items changed)"
        return order

    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        order["status"], order["returned"], order["refund_to"] = "return requested", list(item_ids), payment_method_id
        return order

    def exchange_delivered_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> dict[str, Any]:
        order = self.data["orders"][order_id]
        order["status"], order["exchanged"] = "exchange requested", dict(zip(item_ids, new_item_ids, strict=True))
        order["paid_difference_with"] = payment_method_id
        return order

    def modify_user_address(self, user_id: str, address: dict[str, str]) -> dict[str, Any]:
        self.data["users"][user_id]["address"] = dict(address)
        return self.data["users"][user_id]

    def transfer_to_human_agents(self, summary: str) -> str:
        return "transferred"

    def _gift(self, user_id: str, payment_id: str, amount: int) -> None:
        method = self.data["users"][user_id]["payment_methods"].get(payment_id)
        if method and method["source"] == "gift_card":
            method["balance"] += amount

    def _swap(self, order: dict[str, Any], old: list[str], new: list[str]) -> int:
        """Put new items in the place of old ones; returns what they cost more."""
        before = order["total"]
        for item in order["items"]:
            if item["item_id"] in old:
                target = new[old.index(item["item_id"])]
                variant = self.data["products"][item["product_id"]]["variants"][target]
                item.update(item_id=target, options=variant["options"], price=variant["price"])
        order["total"] = sum(item["price"] for item in order["items"])
        return order["total"] - before
