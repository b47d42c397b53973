"""The bank: what it adds to the engine of scripted subjects. Answers come from a knowledge base that is searched (`kb.yaml`, `search`).

Rules, products and customers are our own; the shape follows the banking domain of tau2-bench.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted.banking import identity, language, merging, workflows_accounts, workflows_cards
from agenteval.subjects.scripted.banking.tools import Tools
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Domain

FOLDER = Path(__file__).parent
NAME = "a bank's customer service: questions, balances, statements, cards, disputes, transfers, fees, limits and contact data"

WORKFLOWS = {
    "question": workflows_accounts.question,
    "balance": workflows_accounts.balance,
    "statement": workflows_accounts.statement,
    "freeze": workflows_cards.freeze,
    "unfreeze": workflows_cards.unfreeze,
    "replace_card": workflows_cards.replace_card,
    "dispute": workflows_accounts.dispute,
    "transfer_money": workflows_accounts.transfer_money,
    "fee_waiver": workflows_accounts.fee_waiver,
    "close_account": workflows_accounts.close_account,
    "credit_limit": workflows_cards.credit_limit,
    "change_contact": workflows_accounts.change_contact,
    "transfer": workflows_accounts.transfer,
}
TITLES = {
    "question": "your question",
    "balance": "the balance",
    "statement": "the statement",
    "freeze": "freezing the card",
    "unfreeze": "unfreezing the card",
    "replace_card": "the new card",
    "dispute": "the dispute",
    "transfer_money": "the money transfer",
    "fee_waiver": "the fee waiver",
    "close_account": "closing the account",
    "credit_limit": "the credit limit",
    "change_contact": "your contact data",
    "transfer": "the person to talk to",
}
# While a task is open, these intents are usually values for it and no new topic.
KEPT = {
    "dispute": ("statement",),
    "replace_card": ("freeze",),
    "close_account": ("balance",),
    "fee_waiver": ("question",),
    "transfer_money": ("balance",),
}


@cache
def articles() -> dict[str, list[str]]:
    """The knowledge base by id: title and text."""
    import yaml

    return yaml.safe_load((FOLDER / "kb.yaml").read_text("utf-8"))


@cache
def data() -> dict[str, Any]:
    """The committed data and the articles, read once; `Tools` copies what can change."""
    return {**json.loads((FOLDER / "data.json").read_text("utf-8")), "articles": articles()}


def keep(s: Talk, intent: str) -> bool:
    """Whether an intent belongs to the open task."""
    return intent == s.task.name or (intent in KEPT.get(s.task.name, ()) and s.task.asked is not None)


def seeds() -> list[dict[str, str]]:
    """What a tester may know in advance: one flat mapping per customer."""
    out = []
    for customer in data()["customers"].values():
        seed = {
            "name": customer["name"],
            "customer_id": customer["customer_id"],
            "date_of_birth": customer["dob"],
            "code_word": customer["code_word"],
        }
        seed |= {f"account_{n}": account for n, account in enumerate(customer["accounts"], 1)}
        seed |= {f"card_{n}": card for n, card in enumerate(customer["cards"], 1)}
        out.append(seed)
    return out


DOMAIN = Domain(
    "banking",
    FOLDER,
    data,
    Tools,
    language.extract,
    identity.listen,
    merging.merge,
    keep,
    WORKFLOWS,
    ("question", "balance", "statement"),
    TITLES,
    ("question", "balance", "statement", "freeze", "replace_card", "dispute", "transfer_money", "fee_waiver", "close_account", "credit_limit",
     "change_contact"),
    "account",
    (),
)  # fmt: skip
