"""Booking: route, days, cabin, flights, passengers, bags, insurance, payment, confirmation."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.airline import options, payment
from agenteval.subjects.scripted.airline.common import CABIN_NAMES, need_cabin
from agenteval.subjects.scripted.airline.identity import need_user
from agenteval.subjects.scripted.airline.workflows_change import BAG_FEE, free_bags
from agenteval.subjects.scripted.airline.workflows_info import need_route
from agenteval.subjects.scripted.engine import Talk

INSURANCE_FEE = 30
MAX_PASSENGERS = 5


def book(s: Talk) -> None:
    """Everything that a reservation needs, in this order, unless it was said before."""
    user = need_user(s)
    slots = s.task.slots
    if s.facts.pop("repeat", False):
        s.finish("book_done", **slots["summary"])
    _recall(s)
    named = s.tools.data["flights"].get((slots.get("flights") or [""])[0])
    if named and not any(slots.get(k) for k in ("origin", "destination", "bad_place")):
        slots["origin"], slots["destination"] = named["origin"], named["destination"]
    origin, destination = need_route(s)
    if not s.guard("trip_type_required", bool(slots.get("trip_type") or slots.get("return_date"))):
        s.ask("trip_type", "ask_trip_type")
    trip = slots.setdefault("trip_type", "round_trip" if slots.get("return_date") else "one_way")
    _days(s, trip)
    count = _count(s)
    cabin = need_cabin(s, "ask_cabin")
    out = options.choose(s, "option", origin, destination, slots["date"], cabin, count)
    back = (
        options.choose(s, "return_option", destination, origin, slots["return_date"], cabin, count)
        if trip == "round_trip"
        else []
    )
    passengers = _passengers(s, user, count)
    bags = _bags(s, user, cabin, count)
    if not s.guard("insurance_asked", slots.get("insurance") is not None):
        s.ask("insurance", "ask_insurance", amount=INSURANCE_FEE)
    insured = slots.get("insurance") == "yes"
    if insured:
        s.guard("insurance_only_at_booking", True)
    fares = s.tools.calculate([f["prices"][cabin] for f in out + back]) * count
    nonfree = max(0, bags - free_bags(user, cabin, count))
    total = fares + (INSURANCE_FEE * count if insured else 0) + BAG_FEE * nonfree
    payments = payment.for_booking(s, user, total)
    quoted = fares if s.fault == "wrong_total" else total
    flights = " + ".join(f"{f['flight_number']} on {f['date']}" for f in out + back)
    names = ", ".join(f"{p['first_name']} {p['last_name']}" for p in passengers)
    if not s.guard("no_double_booking", not _same(s, user, out + back), value=flights) and not slots.get("double_told"):
        slots["double_told"] = True
        s.say("double_booking")
    s.gate(
        "confirm_booking",
        "gate_book",
        origin=origin,
        destination=destination,
        trip=trip.replace("_", " "),
        flights=flights,
        cabin=CABIN_NAMES[cabin],
        passengers=names,
        bags=bags,
        insurance=slots.get("insurance") or "no",
        amount=quoted,
        payment=", ".join(f"${p['amount']} from {p['payment_id']}" for p in payments),
    )
    reservation = s.tools.call(
        "book_reservation",
        user_id=user["user_id"],
        origin=origin,
        destination=destination,
        flight_type=trip,
        cabin=cabin,
        flights=[{"flight_number": f["flight_number"], "date": f["date"]} for f in out + back],
        passengers=passengers,
        payment_methods=payments,
        total_baggages=bags,
        nonfree_baggages=nonfree,
        insurance="yes" if insured else "no",
    )
    s.facts["last_reservation"], s.facts["last_turn"] = reservation["reservation_id"], s.log.turn
    slots["summary"] = {"id": reservation["reservation_id"], "flights": flights, "amount": quoted, "passengers": names}
    s.finish("book_done", **slots["summary"])


def _recall(s: Talk) -> None:
    """What was searched just before need not be said again."""
    before = s.facts.get("previous")
    if before and before.name == "search" and before in s.waiting:
        s.waiting.remove(before)
        s.facts["route"] = {k: before.slots[k] for k in ("origin", "destination", "date") if before.slots.get(k)}
    route = s.facts.pop("route", None)
    if route and not s.task.slots.get("origin") and not s.task.slots.get("destination"):
        for key, value in route.items():
            s.task.slots.setdefault(key, value)


def _days(s: Talk, trip: str) -> None:
    slots = s.task.slots
    slots["_date_slot"] = "return_date" if slots.get("date") else "date"
    options.check_day(s, slots.get("date"))
    if not slots.get("date"):
        s.ask("date", "ask_date")
    if trip != "round_trip":
        return
    options.check_day(s, slots.get("return_date"))
    if not slots.get("return_date"):
        s.ask("return_date", "ask_return_date", date=slots["date"])
    if not s.guard("return_after_departure", slots["return_date"] >= slots["date"], value=slots["return_date"]):
        slots["return_date"] = None
        s.ask("return_date", "return_too_early", date=slots["date"])


def _count(s: Talk) -> int:
    slots = s.task.slots
    if not slots.get("passenger_count") and slots.get("people"):
        slots["passenger_count"] = len(slots["people"]) + bool(slots.get("myself"))
    if not s.guard("passenger_count_required", slots.get("passenger_count") is not None):
        s.ask("passenger_count", "ask_passenger_count")
    count = slots.setdefault("passenger_count", 1)
    most = MAX_PASSENGERS + (s.fault == "six_passengers")
    if not s.guard("max_passengers", 1 <= count <= most, value=count):
        slots["passenger_count"] = None
        s.ask("passenger_count", "too_many_passengers", count=count)
    return count


def _passengers(s: Talk, user: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """First name, last name and date of birth of everybody; the profile knows the customer and their companions."""
    slots = s.task.slots
    known = {f"{p['first_name']} {p['last_name']}".lower(): p["dob"] for p in user["saved_passengers"]}
    me = {**user["name"], "dob": user["dob"]}
    known[f"{me['first_name']} {me['last_name']}".lower()] = user["dob"]
    have: list[dict[str, Any]] = slots.setdefault("_passengers", [])
    if slots.pop("myself", False) and me not in have:
        have.append(me)
    for person in slots.pop("people", None) or []:
        name = f"{person['first_name']} {person['last_name']}"
        mine = next((p for p in have if f"{p['first_name']} {p['last_name']}" == name), None)
        if mine is None:
            mine = {"first_name": person["first_name"], "last_name": person["last_name"], "dob": None, "raw": None}
            have.append(mine)
        mine.update(
            {"dob": person["dob"], "raw": person["dob_raw"]}
            if person["dob_raw"]
            else {}
            if mine.get("dob")
            else {"dob": known.get(name.lower())}
        )
    for given in slots.pop("dobs", None) or []:
        waiting = next((p for p in have if not p.get("dob") and not p.get("raw")), None)
        if waiting:
            waiting.update(dob=given["dob"], raw=given["raw"])
    for p in have:
        name = f"{p['first_name']} {p['last_name']}"
        if not s.guard("dob_required", bool(p.get("dob") or p.get("raw")), value=name):
            s.ask("dob", "ask_dob", name=name)
        p.setdefault("dob", None)
        if p.get("raw") and not s.guard("dob_valid", bool(p["dob"]) and p["dob"] <= s.tools.today, value=p["raw"]):
            raw, p["raw"], p["dob"] = p["raw"], None, None
            s.ask("dob", "dob_invalid", name=name, raw=raw)
    if len(have) > count and s.task.asked == "passengers":
        del have[count:]
    if not s.guard("passenger_details_required", len(have) >= count, have=len(have)):
        s.ask("passengers", "ask_passengers", missing=count - len(have), have=len(have))
    have += [me] * max(0, count - len(have))
    return [
        {"first_name": p["first_name"], "last_name": p["last_name"], "dob": p["dob"] or p.get("raw") or ""}
        for p in have[:count]
    ]


def _bags(s: Talk, user: dict[str, Any], cabin: str, count: int) -> int:
    slots = s.task.slots
    if slots.get("bags") is None and slots.get("bags_add"):
        slots["bags"], slots["bags_add"] = (slots.get("_bags") or 0) + slots["bags_add"], None
    if each := slots.pop("bags_each", None):
        slots["bags"] = each * count
    free = free_bags(user, cabin, count)
    if not s.guard("bags_asked", slots.get("bags") is not None):
        s.ask("bags", "ask_bags", free=free, fee=BAG_FEE)
    bags = slots["bags"] if slots.get("bags") is not None else free
    if not s.guard("bag_count_valid", 0 <= bags <= 20, value=bags):
        slots["bags"] = None
        s.ask("bags", "bag_count_invalid")
    slots["_bags"] = bags
    return bags


def _same(s: Talk, user: dict[str, Any], flights: list[dict[str, Any]]) -> bool:
    keys = [(f["flight_number"], f["date"]) for f in flights]
    return any(
        [(f["flight_number"], f["date"]) for f in s.tools.data["reservations"][r]["flights"]] == keys
        and s.tools.data["reservations"][r]["status"] != "cancelled"
        for r in user["reservations"]
    )
