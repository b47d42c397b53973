"""The operator's systems: reads and writes on one private copy of the data.

Names and arguments are those of tau-bench's telecom tools where it has one. They do not check the policy: that is the
agent's business. Each call is logged by `Tools.call`.
"""

from __future__ import annotations

import copy
from typing import Any

from agenteval.subjects.scripted.log import SessionLog


class Tools:
    """All tools of one session, over a copy of what can change."""

    def __init__(self, data: dict[str, Any], log: SessionLog):
        self.data = {**data, "lines": copy.deepcopy(data["lines"]), "bills": copy.deepcopy(data["bills"])}
        self.log = log

    def call(self, name: str, **arguments: Any) -> Any:
        """Run one tool and log it; the names are fixed by the workflows, never by what a user wrote."""
        result = getattr(self, name)(**arguments)
        self.log.add("tool", name=name, capability=self.log.capability, arguments=copy.deepcopy(arguments),
                     result=copy.deepcopy(result))  # fmt: skip
        return result

    # ---- reads

    def get_customer_by_phone(self, phone_number: str) -> str | None:
        return next((v["customer_id"] for v in self.data["lines"].values() if v["phone_number"] == phone_number), None)

    def get_customer_by_id(self, customer_id: str) -> str | None:
        return customer_id if customer_id in self.data["customers"] else None

    def get_customer_by_name(self, full_name: str, dob: str) -> str | None:
        return next((c["customer_id"] for c in self.data["customers"].values()
                     if (c["name"].lower(), c["dob"]) == (full_name.lower(), dob)), None)  # fmt: skip

    def get_details_by_id(self, id: str) -> dict[str, Any]:
        return next(self.data[table][id] for table in ("lines", "customers", "bills") if id in self.data[table])

    def get_data_usage(self, customer_id: str, line_id: str) -> dict[str, Any]:
        line = self.data["lines"][line_id]
        return {"used_gb": line["data_used_gb"], "limit_gb": self.limit(line)}

    def get_bills_for_customer(self, customer_id: str) -> list[dict[str, Any]]:
        return [self.data["bills"][b] for b in self.data["customers"][customer_id]["bills"]]

    def limit(self, line: dict[str, Any]) -> float:
        return self.data["plans"][line["plan"]]["data_gb"] + line["data_added_gb"]

    # ---- writes

    def send_payment_request(self, customer_id: str, bill_id: str) -> str:
        self.data["bills"][bill_id]["status"] = "awaiting payment"
        return "sent"

    def make_payment(self, bill_id: str) -> str:
        """What the customer does on the phone."""
        self.data["bills"][bill_id]["status"] = "paid"
        return "paid"

    def resume_line(self, customer_id: str, line_id: str) -> dict[str, Any]:
        self.data["lines"][line_id]["status"] = "active"
        return self.data["lines"][line_id]

    def change_plan(self, customer_id: str, line_id: str, plan: str) -> dict[str, Any]:
        self.data["lines"][line_id]["plan"] = plan
        return self.data["lines"][line_id]

    def refuel_data(self, customer_id: str, line_id: str, gb_amount: float) -> dict[str, Any]:
        self.data["lines"][line_id]["data_added_gb"] += gb_amount
        return self.data["lines"][line_id]

    def set_roaming(self, customer_id: str, line_id: str, on: bool) -> dict[str, Any]:
        self.data["lines"][line_id]["roaming"] = on
        return self.data["lines"][line_id]

    def transfer_to_human_agents(self, summary: str) -> str:
        return "transferred"
