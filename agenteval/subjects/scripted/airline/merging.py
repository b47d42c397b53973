"""Entering what was said in a task: its name decides what a date, a place or a number means."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.airline.tools import CABINS, days_from
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Task

ON_RESERVATION = (
    "cancel",
    "change_flights",
    "change_cabin",
    "change_passengers",
    "change_bags",
    "compensation",
    "vague_change",
)

# Questions with a few answers in a fixed order: "the first" is one of them.
CHOICES = {
    "reason": ("change_of_plan", "airline_cancelled", "health", "weather", "other"),
    "trip_type": ("one_way", "round_trip"),
    "leg": ("outbound", "return"),
    "kind": ("change_flights", "change_cabin", "change_passengers", "change_bags"),
    "flight_kind": ("search", "status"),
}
# What an answer to "what should change?" is about.
KINDS = {
    "change_flights": r"flight|date|\bday|time",
    "change_cabin": r"cabin|class",
    "change_passengers": r"passenger|travell?er|name",
    "change_bags": r"bag|luggage|suitcase",
}
# What is another question to a task that only looks something up.
ANOTHER_QUESTION = {
    "show": {"reservation", "origin", "destination", "place", "flown_date", "flight", "last_one", "several"},
    "search": {"origin", "destination", "date", "stops", "wish", "bad_date", "bad_place"},
    "status": {"flights", "date", "reservation", "bad_date"},
}

ALL = re.compile(
    r"\b(?:both|all)(?: of)?(?: (?:my|the|these|those|them))*(?: (?:reservations|bookings|trips|flights|of them)|\W*$)"
)
_NTH = re.compile(r"\b(?:first|second|third|fourth|last) (?:one|reservation|booking|trip)\b")
_LATEST = re.compile(r"\b(?:last reservation|last booking|latest booking|most recent)\b")
_ANOTHER = re.compile(
    r"\b(?:another|different|other|one of my|one of the) (?:one|reservations?|bookings?|trips?|flights?)\b"
)
_MYSELF = re.compile(
    r"\b(?:replace|swap|remove|change|correct|fix) me\b"
    r"|\bmy (?:own )?(?:first |last )?(?:name|surname|birthday|date of birth)\b"
    r"|\b(?:myself|mine)\b|^\W*me\W*$"
)
_SAME = re.compile(r"\b(?:same|keep|unchanged|stays?|as (?:it is|before)|(?:no|doesn't|does not|didn't) change)\b")
_POINTS_BACK = re.compile(
    r"\b(?:it|that one|this one|(?:that|this|the) (?:reservation|booking|cabin)|my cabin"
    r"|same|instead|then|also|too|as well)\b"
)


def merge(s: Talk, task: Task) -> set[str]:
    """Enter the reading's values; the name of the task decides what a date or a place means."""
    r, changed = s.reading.slots, set()
    if "users" not in r:
        return changed

    def put(key: str, value: Any) -> None:
        if value is not None and value != [] and task.slots.get(key) != value:
            task.slots[key] = value
            changed.add(key)

    _merge_reservation(s, task, put)
    put("reason", r["reason"] if task.name == "cancel" else None)
    if task.name == "cancel" and (
        "same reason" in s.reading.text.lower() or (task.asked == "reason" and "same" in s.reading.text.lower())
    ):
        put("reason", s.facts.get("reason"))
    put("cabin", next((c for c in reversed(r["cabin"]) if c in CABINS), None))
    if task.asked == "cabin" and not r["cabin"] and r["prefer"] == "cheapest":
        put("cabin", "basic_economy")
    put("bad_cabin", next((c for c in r["cabin"] if c not in CABINS), None))
    for key in (
        "trip_type",
        "passenger_count",
        "insurance",
        "stops",
        "complaint",
        "amount",
        "leg",
        "bags_add",
        "bags_each",
        "shift",
    ):
        put(key, r.get(key))
    put(
        "bags", r["bags_total"] if task.name != "change_bags" or r["bags_add"] else _first(r, "bags_total", "corrected")
    )
    if r["bags_total"] is not None:
        task.slots["bags_add"] = None
    elif r["bags_add"] is not None:
        task.slots["bags"] = None
    put("one_segment", True if r["one_segment"] and task.name == "change_cabin" else None)
    if r["claims"]:
        put("claims", sorted({*task.slots.get("claims", []), *r["claims"]}))
    _merge_payments(s, task, put)
    put("amount", r.get("corrected") if task.name == "compensation" else None)
    put("all", True if task.asked == "reservation" and ALL.search(s.reading.text.lower()) else None)
    put("bad_place", r["unknown_place"])
    put("flights", r["flights"] or None)
    _merge_dates(s, task, put)
    if task.name in ("book", "search"):
        put("origin", r["origin"])
        put(
            "destination",
            r["destination"]
            or (r["places"][0] if len(r["places"]) == 1 and not r["origin"] and task.asked != "origin" else None),
        )
    elif r["places"] and task.name in ON_RESERVATION + ("show",):
        if task.slots.get("reservation"):
            put("new_origin", r["origin"])
            put("new_destination", r["destination"])
        else:
            put("origin", r["origin"])
            put("destination", r["destination"])
            if not r["origin"] and not r["destination"]:
                put("place", r["places"][0])
    place, prefer = r["ordinal"] if s.facts.get("route") else None, r["prefer"] if r["prefer"] != "any" else None
    if task.asked not in ("option", "return_option", "cabin") and (prefer or r["clock"] or place):
        put("wish", {"ordinal": place, "prefer": prefer, "clock": r["clock"]})
    if (
        task.name in ("cancel", "show", "change_bags", "change_cabin", "change_passengers", "compensation")
        and r["flights"]
    ):
        put("flight", r["flights"][0])
    _merge_people(s, task, put)
    if task.asked == "kind":
        low = s.reading.text.lower()
        put("kind", next((kind for kind, words in KINDS.items() if re.search(words, low)), None))
    if (place := r["ordinal"]) and task.asked in CHOICES and place <= len(CHOICES[task.asked]):
        put(task.asked, CHOICES[task.asked][place - 1 if place > 0 else -1])
    if task.asked == "insurance" and s.reading.answer and r["insurance"] is None:
        put("insurance", s.reading.answer)
    if task.asked == "trip_type" and s.reading.answer == "no" and len(s.reading.text.split()) <= 2:
        put("trip_type", "one_way")
    if task.asked == "bags" and s.reading.answer == "no" and task.slots.get("bags") is None and not r["bags_add"]:
        put("bags", 0)
    if task.state != "open" and task.name in ANOTHER_QUESTION:
        changed &= ANOTHER_QUESTION[task.name]
    return changed


def _first(r: dict[str, Any], *names: str) -> Any:
    return next((r[name] for name in names if r.get(name) is not None), None)


def _merge_reservation(s: Talk, task: Task, put: Any) -> None:
    r, low = s.reading.slots, s.reading.text.lower()
    named = [c for c in r["reservations"] if f"not {c.lower()}" not in low]
    old = task.slots.get("reservation")
    if len(named) > 1 and len(s.reading.places) > 1:
        named = _in_clause(s, task.name, named)
    if len(named) > 1 and "correction" in s.reading.flags and old in named:
        named = [c for c in named if c != old]
    if len(named) == 1:
        put("reservation", named[0])
        task.slots["several"] = None
    elif len(named) > 1 and task.name in ON_RESERVATION:
        put("several", named)
    if task.slots.get("several") and not named and re.search(r"\b(?:both|all)\b", low):
        first, *rest = task.slots.pop("several")
        put("reservation", first)
        s.queue(task.name, [{"reservation": code, "alike": True} for code in rest])
    listed, place = s.facts.get("listed") or [], r["ordinal"]
    by_place = (
        task.asked == "reservation"
        or (task.name == "show" and task.state == "done")
        or (task.asked is None and _NTH.search(low))
    )
    if not named and listed and place and by_place and place <= len(listed):
        put("reservation", listed[place - 1 if place > 0 else -1])
        task.slots["several"] = None
    elif not named and not old and task.name in (*ON_RESERVATION, "show") and _LATEST.search(low):
        put("last_one", True)
    elif not named and not old and task.name in ON_RESERVATION and s.facts.get("last_reservation"):
        mine = s.tools.data["users"].get(s.facts.get("user"), {}).get("reservations", [])
        if len(mine) == 2 and re.search(r"\bthe other(?: (?:one|reservation|booking|trip)\b|\W*$)", low):
            put("reservation", next(r for r in mine if r != s.facts["last_reservation"]))
            return
        just_now = s.facts["last_turn"] >= s.log.turn - 2
        if not _ANOTHER.search(low) and (just_now or _POINTS_BACK.search(low)):
            put("reservation", s.facts["last_reservation"])


def _in_clause(s: Talk, name: str, codes: list[str]) -> list[str]:
    """Of several reservations the ones that are named with an intent: "cancel AAA11A and move BBB22B"."""
    places = list(s.reading.places.items())
    at = next((n for n, (intent, _) in enumerate(places) if intent == name), None)
    if at is None:
        return codes
    begin = places[at][1] if at else 0
    end = places[at + 1][1] if at + 1 < len(places) else len(s.reading.text)
    return [c for c in codes if begin <= s.reading.text.upper().find(c) < end] or codes


def _merge_payments(s: Talk, task: Task, put: Any) -> None:
    """Methods that were named; "also" and the answer to "which of them" add to those named before."""
    slots, named, low = task.slots, s.reading.slots["payments"], s.reading.text.lower()
    place, offered = s.reading.slots["ordinal"], slots.get("_offered") or []
    if not named and place and task.asked == "payment" and place <= len(offered):
        named = [{"id": offered[place - 1 if place > 0 else -1]}]
    if (
        not named
        and task.asked in ("payment", "confirm")
        and (end := re.search(r"\b(?:(small)|larg|bigg)(?:er|est)\b", low))
    ):
        mine = s.tools.data["users"].get(s.facts.get("user"), {}).get("payment_methods", {})
        sized = sorted((mine[i]["amount"], i) for i in offered if "amount" in mine.get(i, {}))
        named = [{"id": sized[0 if end.group(1) else -1][1]}] if sized else []
    short = slots.pop("_short", None)
    adds = slots.pop("_keep", False) or re.search(r"\b(?:also|additionally|plus|as well)\b", low)
    if named and short and re.search(r"\b(?:and|also|plus|add|rest|remain\w*|difference|as well|combine\w*)\b", low):
        named = [*(ref for ref in short if ref not in named), *named]
    elif named and adds:
        named = [*(ref for ref in slots.get("payments") or [] if ref not in named), *named]
    put("payments", named)


def _merge_dates(s: Talk, task: Task, put: Any) -> None:
    r = s.reading.slots
    births = {p["dob_raw"] for p in r["people"]}
    days = [
        d
        for d in r["dates"]
        if d.raw not in births
        and task.asked not in ("passengers", "dob", "passenger_new")
        # Long ago is a birth, unless a day of travel was asked for.
        and not (d.value and d.value < "2015" and task.asked not in ("date", "return_date"))
    ]
    good = [d.value for d in days if d.value]
    if r["shift"] and not days and task.name == "status":
        task.slots.setdefault("date", s.tools.today)
    if (
        r["shift"]
        and not days
        and task.slots.get("date")
        and task.name in ("book", "search", "status", "change_flights")
    ):
        put("date", days_from(task.slots["date"], r["shift"]))
        task.slots["shift"] = None
    task.slots["bad_date"] = next((d.raw for d in days if not d.value), None)
    if not good:
        return
    if task.name == "change_passengers":
        return
    if task.name in ("cancel", "show", "change_bags", "change_cabin", "compensation"):
        put("flown_date", good[0])
    elif task.asked == "return_date" or (
        r["leg"] == "return" and len(good) == 1 and task.slots.get("date") and task.name == "book"
    ):
        put("return_date", good[0])
    elif task.name == "change_flights":
        put("date", good[-1])
        if len(good) > 1 and not task.slots.get("reservation"):
            put("flown_date", good[0])
    else:
        put("date", good[0])
        if len(good) > 1:
            put("return_date", good[1])


def _merge_people(s: Talk, task: Task, put: Any) -> None:
    r = s.reading.slots
    lone = [d for d in r["dates"] if d.raw not in {p["dob_raw"] for p in r["people"]}]
    if task.name == "book":
        put("myself", r["myself"] or None)
    if task.name in ("book", "change_passengers"):
        put("people", r["people"] or None)
        if (
            (task.name == "change_passengers" or task.asked in ("passengers", "dob"))
            and lone
            and not any(p["dob_raw"] for p in r["people"])
        ):
            put("dobs", [{"dob": d.value, "raw": d.raw} for d in lone])
    if task.name == "change_passengers" and _MYSELF.search(s.reading.text.lower()):
        put("of_me", True)
    year = re.search(r"\b(?:19|20)\d\d\b", s.reading.text)
    if task.name == "change_passengers" and task.slots.get("dob") and year and not lone:
        corrected = year.group() + task.slots["dob"][4:]
        put("dobs", [{"dob": corrected, "raw": corrected}])
    if task.name == "change_passengers" and task.asked == "dob" and _SAME.search(s.reading.text.lower()):
        put("same_birth", True)
