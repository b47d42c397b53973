"""The bank's systems: a knowledge base, reads and writes on one private copy of the data. Each call is logged by `Tools.call`.

They do not check the policy: that is the agent's business.
"""

from __future__ import annotations

import copy
from typing import Any

from agenteval.subjects.scripted.banking import search
from agenteval.subjects.scripted.log import SessionLog


class Tools:
    """All tools of one session, over a copy of what can change."""

    def __init__(self, data: dict[str, Any], log: SessionLog):
        self.data = {
            **data,
            **{table: copy.deepcopy(data[table]) for table in ("customers", "accounts", "cards", "transactions")},
        }
        self.log = log

    def call(self, name: str, **arguments: Any) -> Any:
        """Run one tool and log it; the names are fixed by the workflows, never by what a user wrote."""
        result = getattr(self, name)(**arguments)
        self.log.add("tool", name=name, capability=self.log.capability, arguments=copy.deepcopy(arguments),
                     result=copy.deepcopy(result))  # fmt: skip
        return result

    def kb_search(self, query: str) -> list[str]:
        """Ids of the articles that fit, best first."""
        return [hit.id for hit in search.search(query, self.data["articles"])]

    def get_user_information_by_id(self, customer_id: str) -> dict[str, Any] | None:
        return self.data["customers"].get(customer_id)

    def get_account(self, account_id: str) -> dict[str, Any]:
        return self.data["accounts"][account_id]

    def get_transactions(self, account_id: str) -> list[dict[str, Any]]:
        return [t for t in self.data["transactions"].values() if t["account_id"] == account_id]

    def set_card_status(self, card: str, status: str) -> dict[str, Any]:
        self.data["cards"][card]["status"] = status
        return self.data["cards"][card]

    def order_replacement_card(self, card: str, reason: str) -> str:
        return "ordered"

    def file_dispute(self, transaction_id: str, reason: str) -> dict[str, Any]:
        self.data["transactions"][transaction_id]["disputed"] = True
        return self.data["transactions"][transaction_id]

    def transfer_funds(self, source: str, target: str, amount: float) -> str:
        self.data["accounts"][source]["balance"] -= amount
        if target in self.data["accounts"]:
            self.data["accounts"][target]["balance"] += amount
        return "transferred"

    def waive_fee(self, account_id: str) -> str:
        self.data["accounts"][account_id]["waived"] = "2025-05-20"
        return "waived"

    def close_account(self, account_id: str) -> str:
        self.data["accounts"][account_id]["closed"] = True
        return "closed"

    def set_credit_limit(self, card: str, limit: int) -> str:
        self.data["cards"][card]["limit"] = limit
        return "set"

    def change_contact(self, customer_id: str, field: str, value: str) -> str:
        self.data["customers"][customer_id][field] = value
        return "changed"

    def transfer_to_human_agents(self, summary: str) -> str:
        return "transferred"
