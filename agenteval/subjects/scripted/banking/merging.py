"""Entering what was said in a task: account, card, transaction, amount, target, reasons; the question itself for the knowledge base."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Task

ON_ACCOUNT = ("balance", "statement", "dispute", "transfer_money", "fee_waiver", "close_account")
ON_CARD = ("freeze", "unfreeze", "replace_card", "credit_limit")
_INCOME = re.compile(r"\b(?:income|earn|salary|make|a year|per year|yearly|annual\w*)\b")


def merge(s: Talk, task: Task) -> set[str]:
    """Enter the reading's values; returns the names of those that changed."""
    r, changed = s.reading.slots, set()
    if "accounts" not in r:
        return changed

    def put(key: str, value: Any) -> None:
        if value is not None and value != [] and task.slots.get(key) != value:
            task.slots[key] = value
            changed.add(key)

    user = s.tools.data["customers"].get(s.facts.get("user") or "")
    if task.name == "question":
        put("query", s.reading.text if task.state == "open" and (task.asked or not task.slots.get("query")) else None)
    if task.name in ON_ACCOUNT:
        _merge_account(s, task, user, put)
    if task.name in ON_CARD:
        _merge_card(s, task, user, put)
    if task.name == "replace_card":
        put("reason", r["reason"])
    if task.name == "statement":
        put("month", r["month"])
    if task.name == "dispute":
        _merge_dispute(s, task, put)
    if task.name == "credit_limit":
        low = s.reading.text.lower()
        if r["money"] is not None:
            put(
                "income" if task.asked == "income" or (_INCOME.search(low) and task.asked != "limit") else "limit",
                r["money"],
            )
    if task.name == "change_contact":
        put("contact", ("email", r["email"]) if r["email"] else ("phone", r["phone"]) if r["phone"] else None)
        task.slots["bad_contact"] = r["contact_like"]
    if task.state != "open" and task.name in s.domain.lookups:
        changed &= {"account", "month"}
    return changed


def _merge_account(s: Talk, task: Task, user: dict[str, Any] | None, put: Any) -> None:
    r, old = s.reading.slots, task.slots.get("account")
    mine = user["accounts"] if user else []
    by_kind = [a for kind in r["kinds"] for a in mine if kind in s.tools.data["accounts"][a]["kind"]]
    named = r["accounts"]
    if task.name == "transfer_money":
        put("amount", r["money"])
        low = s.reading.text
        to = re.search(r"\b(?:to|into)\b(.*)", low, re.IGNORECASE)
        targets = [a for a in named if to and a[2:] in to.group(1)]
        if not targets and to:
            targets = [
                a
                for kind in r["kinds"]
                if kind in to.group(1).lower()
                for a in mine
                if kind in s.tools.data["accounts"][a]["kind"]
            ]
        if task.asked == "target":
            targets = targets or named or by_kind
        put("target", targets[0] if targets else r["payee"])
        put("other_payee", r["other_payee"] if not targets and not r["payee"] else None)
        place = r["ordinal"]
        offered = task.slots.get("_targets") or []
        if task.asked == "target" and place and not targets and not r["payee"] and place <= len(offered):
            put("target", offered[place - (place > 0)])
        named = [a for a in named if a not in targets]
        by_kind = [a for a in by_kind if a not in targets]
        if task.asked == "target":
            named, by_kind = [], []
    if not named and len(by_kind) == 1:
        named = by_kind
    if len(named) > 1 and "correction" in s.reading.flags and old in named:
        named = [a for a in named if a != old]
    if len(named) == 1:
        put("account", named[0])
        task.slots["several"] = None
    elif len(named) > 1:
        put("several", named)
    listed, place = s.facts.get("listed") or [], r["ordinal"]
    if not named and listed and place and task.asked == "account" and place <= len(listed):
        put("account", listed[place - (place > 0)])
        task.slots["several"] = None
    elif (
        not named
        and not old
        and s.facts.get("last_account")
        and not re.search(r"\b(?:other|another|different|all|accounts)\b", s.reading.text.lower())
    ):
        put("account", s.facts["last_account"])


def _merge_card(s: Talk, task: Task, user: dict[str, Any] | None, put: Any) -> None:
    r, mine = s.reading.slots, user["cards"] if user else []
    named = r["cards"][:1]
    if not named and r["card_kind"] and mine:
        named = [c for c in mine if s.tools.data["cards"][c]["kind"] == r["card_kind"]][:1]
    place = r["ordinal"]
    if not named and task.asked == "card" and place and place <= len(mine):
        named = [mine[place - (place > 0)]]
    if named:
        put("card", named[0])
    elif (
        not task.slots.get("card")
        and s.facts.get("last_card")
        and not re.search(r"\b(?:other|another|different)\b", s.reading.text.lower())
    ):
        put("card", s.facts["last_card"])


def _merge_dispute(s: Talk, task: Task, put: Any) -> None:
    r, listed, place = s.reading.slots, task.slots.get("_listed") or [], s.reading.slots["ordinal"]
    named = r["transactions"][:1]
    if not named and task.asked == "transaction":
        rows = [s.tools.data["transactions"][t] for t in listed]
        named = [t["transaction_id"] for t in rows if t["merchant"] == r["merchant"]][:1]
        if not named and place and place <= len(listed):
            named = [listed[place - (place > 0)]]
    put("transaction", named[0] if named else None)
    put("why", r["why"])
    places = ("not recognised", "charged twice", "wrong amount", "not received")
    if task.asked == "why" and not r["why"]:
        if place and 0 < place <= 4:
            put("why", places[place - 1])
        elif len(s.reading.text.split()) > 2 and "unknown" not in s.reading.flags:
            put("why", "other")
