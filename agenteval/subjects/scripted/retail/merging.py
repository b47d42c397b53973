"""Entering what was said in a task: items and options belong together, and the question decides what a short answer means."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Task

ON_ORDER = ("cancel", "return_items", "exchange", "change_items", "change_payment", "change_address", "vague_change")
WITH_ITEMS = ("return_items", "exchange", "change_items")
REASONS = ("no longer needed", "ordered by mistake")
KINDS = {
    "change_address": r"address|ship",
    "change_payment": r"pay|card",
    "change_items": r"item|product|option|colou?r|size",
}
_OTHER = re.compile(r"\bthe other(?: (?:one|order)\b|\W*$)")
_BACK = re.compile(r"\b(?:it|that one|this one|(?:that|this|the|same) order)\b")


def merge(s: Talk, task: Task) -> set[str]:
    """Enter the reading's values; returns the names of those that changed."""
    r, low, changed = s.reading.slots, s.reading.text.lower(), set()
    if "emails" not in r:
        return changed

    def put(key: str, value: Any) -> None:
        if value is not None and value != [] and task.slots.get(key) != value:
            task.slots[key] = value
            changed.add(key)

    _merge_order(s, task, put)
    if task.name == "cancel":
        put("reason", r["reason"])
        place = r["ordinal"]
        if task.asked == "reason" and place and 0 < place <= 2:
            put("reason", REASONS[place - 1])
        if (
            task.asked == "reason"
            and not r["reason"]
            and not place
            and s.reading.answer is None
            and len(low.split()) > 1
        ):
            put("reason", None if "unknown" in s.reading.flags or r["orders"] else "another reason")
        if r["products"] and re.search(r"\b(?:only|just)\b", low):
            put("part", r["products"])
        if task.asked == "whole" and s.reading.answer == "yes":
            task.slots["part"] = None
            changed.add("part")
    if r["claims"]:
        put("claims", sorted({*task.slots.get("claims", []), *r["claims"]}))
    if task.name in ("change_address", "default_address") and r["address"]:
        put("address", {**task.slots.get("address", {}), **r["address"]})
    _merge_payment(s, task, put)
    if task.name in WITH_ITEMS:
        _merge_items(s, task, put)
    if task.name == "product_info":
        put("product", r["products"][0] if r["products"] else None)
        names = [p["name"] for p in s.tools.data["products"].values()]
        if task.asked == "product" and not r["products"] and r["ordinal"] and r["ordinal"] <= len(names):
            put("product", names[r["ordinal"] - (r["ordinal"] > 0)])
    if task.asked == "kind":
        put("kind", next((kind for kind, words in KINDS.items() if re.search(words, low)), None))
        if r["ordinal"] and 0 < r["ordinal"] <= 3:
            put("kind", list(KINDS)[r["ordinal"] - 1])
    if task.state != "open" and task.name in s.domain.lookups:
        changed &= {"order", "product"}
    return changed


def _merge_order(s: Talk, task: Task, put: Any) -> None:
    r, low, old = s.reading.slots, s.reading.text.lower(), task.slots.get("order")
    named = [o for o in r["orders"] if f"not {o.lower()}" not in low]
    if len(named) > 1 and "correction" in s.reading.flags and old in named:
        named = [o for o in named if o != old]
    if len(named) == 1:
        put("order", named[0])
        task.slots["several"] = None
    elif len(named) > 1 and task.name in ON_ORDER:
        put("several", named)
    listed, place = s.facts.get("listed") or [], r["ordinal"]
    if not named and listed and place and task.asked == "order" and place <= len(listed):
        put("order", listed[place - (place > 0)])
        task.slots["several"] = None
    elif not named and not old and task.name in (*ON_ORDER, "order_info") and s.facts.get("last_order"):
        if task.name == "order_info" and re.search(r"\borders\b", low):
            return
        just_now = s.facts["last_turn"] >= s.log.turn - 2
        if not _OTHER.search(low) and "another order" not in low and (just_now or _BACK.search(low)):
            put("order", s.facts["last_order"])


def _merge_payment(s: Talk, task: Task, put: Any) -> None:
    r, asked = s.reading.slots, task.asked
    offered, place, named = task.slots.get("_offered") or [], r["ordinal"], r["payments"]
    if not named and place and asked == "payment" and place <= len(offered):
        named = [{"id": offered[place - (place > 0)]}]
    if not named and r["original"] and (asked == "payment" or task.name == "return_items"):
        named = [{"original": True}]
    if task.name in ("change_payment", "change_items", "exchange", "return_items"):
        put("payments", named)


def _merge_items(s: Talk, task: Task, put: Any) -> None:
    """Items by product name or number; options go to the item that was named with them, or is being asked about."""
    r = s.reading.slots
    names, items = list(task.slots.get("items") or []), r["products"]
    order = s.tools.data["orders"].get(task.slots.get("order") or "")
    inside = [i["name"] for i in order["items"]] if order else []
    by_id = [i["name"] for i in (order or {"items": []})["items"] if i["item_id"] in r["item_ids"]]
    place = r["ordinal"] if task.asked == "items" else None
    if place and inside and place <= len(inside) and not items:
        items = [inside[place - (place > 0)]]
    if r["every"] and inside and task.asked != "all":
        items = inside
    for name in (*items, *by_id):
        if name not in names:
            names.append(name)
    put("items", names)
    if task.name == "return_items":
        return
    wishes = {k: list(v) for k, v in (task.slots.get("wishes") or {}).items()}
    target = items[-1] if len(items) == 1 else task.slots.get("_asking") or (names[-1] if len(names) == 1 else None)
    options, place = r["options"], r["ordinal"]
    offered = task.slots.get("_options") or []
    if task.asked == "option" and not options and place and place <= len(offered):
        options = offered[place - (place > 0)]
    if target and options:
        # "The small one for a large one": what is said last is what is wanted.
        wishes[target] = options
        put("wishes", wishes)
    elif len(items) > 1 and options:
        low = s.reading.text.lower()
        spots = {name: low.find(name.split()[-1].rstrip("s")) for name in items}
        for value in options:
            before = [n for n in items if spots[n] <= max(low.find(value), 0)]
            chosen = before[-1] if before else items[0]
            wishes.setdefault(chosen, [])
            wishes[chosen] = [*[v for v in wishes[chosen] if v != value], value]
        put("wishes", wishes)
    if task.asked == "all":
        if (
            s.reading.answer == "yes"
            or (s.reading.answer == "no" and not items)
            or "that's all" in s.reading.text.lower()
            or r["every"]
        ):
            task.slots["complete"] = True
        s.reading.answer = None
