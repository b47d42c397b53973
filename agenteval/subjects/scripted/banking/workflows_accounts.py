"""Accounts: questions, balance, statement, disputes, transfers, waiver, closing, contact data, and a person."""

from __future__ import annotations

from datetime import date
from typing import Any

from agenteval.subjects.scripted.banking.common import item_account, money, need_account
from agenteval.subjects.scripted.banking.identity import need_user
from agenteval.subjects.scripted.banking.language import TODAY
from agenteval.subjects.scripted.engine import Talk

DAILY = 1000
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def question(s: Talk) -> None:
    """From the best article of the knowledge base, or honestly nothing."""
    query = s.task.slots.get("query")
    if not query:
        s.ask("query", "ask_question")
    found = s.tools.call("kb_search", query=query)
    if not s.guard("answer_found", bool(found)):
        s.refuse("no_answer")
    title, text = s.tools.data["articles"][found[0] if found else "security"]
    s.finish("answer", title=title, text=text)


def balance(s: Talk) -> None:
    _, account = need_account(s)
    s.tools.call("get_account", account_id=account["account_id"])
    s.finish(
        "balance_told",
        id=account["account_id"],
        kind=account["kind"],
        amount=money(account["balance"] + 10 * (s.fault == "wrong_balance")),
    )


def statement(s: Talk) -> None:
    _, account = need_account(s)
    month = s.task.slots.get("month")
    if not s.guard("month_required", month is not None):
        s.ask("month", "ask_month", id=account["account_id"])
    month = month or 5
    rows = [
        t for t in s.tools.call("get_transactions", account_id=account["account_id"]) if int(t["date"][5:7]) == month
    ]
    if not rows:
        s.finish("statement_empty", id=account["account_id"], month=MONTHS[month - 1])
    s.finish("statement_told", id=account["account_id"], month=MONTHS[month - 1], items=[item(t) for t in rows])


def item(t: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One line of a list of transactions."""
    return "item_transaction", {
        "id": t["transaction_id"],
        "date": t["date"],
        "merchant": t["merchant"],
        "amount": money(t["amount"]),
        "state": t["status"],
    }


def dispute(s: Talk) -> None:
    """Posted, within 60 days, once, with a reason."""
    slots = s.task.slots
    if slots.get("transaction") in s.tools.data["transactions"] and not slots.get("account"):
        slots["account"] = s.tools.data["transactions"][slots["transaction"]]["account_id"]
    _, account = need_account(s, 2)
    rows = s.tools.call("get_transactions", account_id=account["account_id"])
    listed = {"items": [item(t) for t in rows]}
    slots["_listed"] = [t["transaction_id"] for t in rows]
    if not s.guard("transaction_required", bool(slots.get("transaction"))):
        s.ask("transaction", "which_transaction", **listed)
    key = slots.get("transaction") or rows[0]["transaction_id"]
    if not s.guard("transaction_known", key in slots["_listed"], value=key):
        slots["transaction"] = None
        s.ask("transaction", "transaction_unknown", id=key, **listed)
    t = s.tools.data["transactions"].get(key) or rows[0]
    if not s.guard("posted_only", t["status"] == "posted", value=key):
        s.refuse("dispute_pending", id=key)
    age = (date.fromisoformat(TODAY) - date.fromisoformat(t["date"])).days
    if not s.guard("dispute_window", age <= (90 if s.fault == "ninety_days" else 60), value=key):
        s.refuse("dispute_too_late", id=key, date=t["date"])
    if not s.guard("disputed_once", not t["disputed"], value=key):
        s.refuse("disputed_before", id=key)
    if not s.guard("dispute_reason_required", slots.get("why") is not None):
        s.ask("why", "ask_dispute_reason", id=key)
    values = {"id": key, "merchant": t["merchant"], "amount": money(t["amount"])}
    s.gate("confirm_dispute", "gate_dispute", **values)
    s.tools.call("file_dispute", transaction_id=key, reason=slots.get("why") or "other")
    s.finish("dispute_done", **values)


def transfer_money(s: Talk) -> None:
    """Between own accounts and to saved payees, within balance and limit."""
    user, account = need_account(s, 2)
    slots, key = s.task.slots, account["account_id"]
    others = [a for a in user["accounts"] if a != key]
    slots["_targets"] = [*others, *user["payees"]]
    listed = [*(item_account(s, a) for a in others), *(("item_payee", {"name": p}) for p in user["payees"])]
    other = slots.pop("other_payee", None)
    if other and not slots.get("target"):
        if not s.guard("payee_saved", False, value=other):
            s.ask("target", "payee_unknown", name=other, items=listed)
        slots["target"] = other
    if not s.guard("target_required", bool(slots.get("target"))):
        s.ask("target", "ask_target", items=listed)
    target = slots.get("target") or others[0]
    if not s.guard("accounts_differ", target != key, value=target):
        slots["target"] = None
        s.ask("target", "same_account", id=key)
    own = target in user["accounts"] or target in user["payees"]
    if not s.guard("payee_saved", own or s.fault == "payee_saved", value=target):
        slots["target"] = None
        s.ask("target", "payee_unknown", name=target, items=listed)
    amount = slots.get("amount")
    if not s.guard("amount_required", amount is not None):
        s.ask("amount", "ask_amount", target=target)
    amount = 50.0 if amount is None else amount
    for guard, ok, act, values in (
        ("amount_positive", amount > 0, "amount_wrong", {"amount": money(amount)}),
        ("daily_limit", amount + s.facts.get("moved", 0) <= DAILY, "amount_over_limit", {"amount": money(amount)}),
        ("balance_sufficient", amount <= account["balance"], "balance_short", {"amount": money(amount), "id": key}),
    ):
        if not s.guard(guard, ok, value=amount):
            slots["amount"] = None
            s.ask("amount", act, **values)
    values = {"amount": money(amount), "id": key, "target": target}
    s.gate("confirm_transfer", "gate_transfer", **values)
    if s.fault != "transfer_not_done":
        s.tools.call("transfer_funds", source=key, target=target, amount=amount)
    s.facts["moved"] = s.facts.get("moved", 0) + amount
    s.finish("transfer_money_done", **values)


def fee_waiver(s: Talk) -> None:
    _, account = need_account(s, 2)
    key = account["account_id"]
    if not s.guard("waiver_plus_only", account["kind"].startswith("Plus"), value=key):
        s.refuse("waiver_refused", id=key, kind=account["kind"])
    if not s.guard("waiver_once", not account["waived"], value=key):
        s.refuse("waived_before", id=key)
    s.gate("confirm_waiver", "gate_waiver", id=key)
    s.tools.call("waive_fee", account_id=key)
    s.finish("waiver_done", id=key)


def close_account(s: Talk) -> None:
    """At a balance of zero, without an open dispute."""
    _, account = need_account(s, 2)
    key = account["account_id"]
    if not s.guard("balance_zero", account["balance"] == 0, value=key):
        s.refuse("balance_left", id=key, amount=money(account["balance"]))
    open_dispute = any(t["disputed"] for t in s.tools.call("get_transactions", account_id=key))
    if not s.guard("no_open_dispute", not open_dispute, value=key):
        s.refuse("dispute_open", id=key)
    s.gate("confirm_close", "gate_close_plain" if s.fault == "skips_retention" else "gate_close", id=key)
    s.tools.call("close_account", account_id=key)
    s.finish("close_done", id=key)


def change_contact(s: Talk) -> None:
    user = need_user(s, 2)
    slots = s.task.slots
    bad = slots.pop("bad_contact", None)
    if bad and not slots.get("contact"):
        if not s.guard("contact_valid", False, value=bad):
            s.ask("contact", "contact_incomplete", value=bad)
        slots["contact"] = ("phone", bad)
    if not s.guard("contact_required", bool(slots.get("contact"))):
        s.ask("contact", "ask_contact")
    field, value = slots.get("contact") or ("phone", "none")
    s.guard("contact_valid", True)
    values = {"what": "e-mail address" if field == "email" else "phone number", "value": value}
    s.gate("confirm_contact", "gate_contact", **values)
    s.tools.call("change_contact", customer_id=user["customer_id"], field=field, value=value)
    s.finish("contact_done", **values)


def transfer(s: Talk) -> None:
    """To a person only with a matter that cannot be settled here, or at the second demand."""
    ground = s.facts.get("ground") or s.task.slots.get("ground")
    asked_before = s.facts.get("transfer_asked", False)
    s.facts["transfer_asked"] = True
    if not s.guard("transfer_needed", bool(ground or asked_before)):
        s.refuse("transfer_what_for")
    s.tools.call("transfer_to_human_agents", summary=f"{ground or 'customer asked twice'}")
    s.finish("transfer_done")
