"""Changing a reservation: flights, cabin, passengers, bags; insurance afterwards, which is never possible."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.airline import options, payment
from agenteval.subjects.scripted.airline.common import CABIN_NAMES, any_flown, need_active, need_cabin, need_reservation
from agenteval.subjects.scripted.airline.identity import need_user
from agenteval.subjects.scripted.airline.tools import days_from
from agenteval.subjects.scripted.engine import Talk

BAG_FEE = 50
_ADDS_PEOPLE = re.compile(
    r"\b(?:add|remove|drop|delete|include|take)\b(?!.{0,20}\b(?:bags?|baggage|luggage|suitcases?|insurance)\b)"
)
LEVELS = ("regular", "silver", "gold")


def free_bags(user: dict[str, Any], cabin: str, passengers: int) -> int:
    """Checked bags that cost nothing: by cabin and level, for each passenger."""
    return (("basic_economy", "economy", "business").index(cabin) + LEVELS.index(user["membership"])) * passengers


def vague_change(s: Talk) -> None:
    """ "I want to change my booking": what exactly?"""
    if s.changed & {"cabin", "bags", "bags_add", "date", "people"} or s.task.slots.get("cabin"):
        for key, name in (
            ("cabin", "change_cabin"),
            ("bags", "change_bags"),
            ("bags_add", "change_bags"),
            ("date", "change_flights"),
            ("people", "change_passengers"),
        ):
            if s.task.slots.get(key):
                s.task.name = name
                return s.domain.workflows[name](s)
    if name := s.task.slots.get("kind"):
        s.task.name = name
        return s.domain.workflows[name](s)
    s.ask("kind", "ask_what_to_change")


def legs(reservation: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The segments, outbound first, return second."""
    out: list[list[dict[str, Any]]] = [[]]
    for segment in reservation["flights"]:
        out[-1].append(segment)
        if (
            segment["destination"] == reservation["destination"]
            and reservation["flight_type"] == "round_trip"
            and len(out) == 1
        ):
            out.append([])
    return [leg for leg in out if leg]


def change_flights(s: Talk) -> None:
    """Other flights on the same route; kept segments keep their price."""
    user = need_user(s)
    reservation = need_reservation(s, user)
    rid, slots = reservation["reservation_id"], s.task.slots
    need_active(s, reservation)
    if not s.guard("basic_economy_flights", reservation["cabin"] != "basic_economy", value=rid):
        s.refuse("basic_economy_fixed", id=rid)
    wrong_end = slots.get("new_destination") not in (
        None,
        reservation["destination"],
        reservation["origin"],
    ) or slots.get("new_origin") not in (None, reservation["origin"], reservation["destination"])
    if not s.guard("route_fixed", not wrong_end, value=rid):
        slots["new_destination"] = slots["new_origin"] = None
        s.refuse("route_fixed", id=rid, origin=reservation["origin"], destination=reservation["destination"])
    if slots.get("trip_type") and not s.guard(
        "trip_type_fixed", slots["trip_type"] == reservation["flight_type"], value=rid
    ):
        slots["trip_type"] = None
        s.refuse("trip_type_fixed", id=rid, trip=reservation["flight_type"].replace("_", " "))
    parts = legs(reservation)
    if len(parts) == 2 and not slots.get("leg"):
        s.ask("leg", "ask_leg", id=rid, date=parts[0][0]["date"], back=parts[1][0]["date"])
    at = 1 if len(parts) == 2 and slots.get("leg") == "return" else 0
    leg = parts[at]
    if not s.guard("segment_not_flown", not any(s.tools.flown(f["flight_number"], f["date"]) for f in leg), value=rid):
        slots["leg"] = None
        s.facts["ground"] = True
        s.refuse("segment_flown", offer="transfer", id=rid, date=leg[0]["date"])
    options.check_day(s, slots.get("date"))
    if not slots.get("date") and slots.get("shift"):
        slots["date"] = days_from(leg[0]["date"], slots.pop("shift"))
        options.check_day(s, slots["date"])
    if not slots.get("date"):
        s.ask("date", "ask_new_date", id=rid, date=leg[0]["date"])
    origin = slots.get("new_origin") or leg[0]["origin"]
    destination = slots.get("new_destination") or leg[-1]["destination"]
    chosen = options.choose(
        s, "option", origin, destination, slots["date"], reservation["cabin"], len(reservation["passengers"])
    )
    new = [{"flight_number": f["flight_number"], "date": f["date"]} for f in chosen]
    other = [
        [{"flight_number": f["flight_number"], "date": f["date"]} for f in p] for n, p in enumerate(parts) if n != at
    ]
    flights = (other[0] if other and at == 1 else []) + new + (other[0] if other and at == 0 else [])
    if not s.guard(
        "legs_in_order", [f["date"] for f in flights] == sorted(f["date"] for f in flights), value=slots["date"]
    ):
        slots["date"] = None
        s.ask("date", "legs_out_of_order", date=parts[0][0]["date"] if at else parts[1][0]["date"])
    cabin = reservation["cabin"]
    difference = len(reservation["passengers"]) * (
        sum(f["prices"][cabin] for f in chosen) - sum(f["price"] for f in leg)
    )
    method = payment.for_change(s, user, difference, "the new flights")
    s.gate(
        "confirm_flights",
        "gate_flights",
        id=rid,
        flights=" + ".join(f["flight_number"] for f in chosen),
        date=slots["date"],
        origin=origin,
        destination=destination,
        price=_difference(difference, method),
    )
    s.facts.setdefault("before", {})[rid] = [s.tools.instance(f["flight_number"], f["date"])["status"] for f in leg]
    s.tools.call(
        "update_reservation_flights",
        reservation_id=rid,
        cabin=cabin,
        flights=flights,
        payment_id=method and method["id"],
    )
    s.facts.setdefault("settled", set()).add(rid)
    s.finish(
        "flights_done",
        id=rid,
        flights=" + ".join(f["flight_number"] for f in chosen),
        date=slots["date"],
        price=_settled(difference, method),
    )


def _difference(amount: int, method: dict[str, Any] | None) -> str:
    if not amount or method is None:
        return "no price difference"
    return (
        f"${amount} more, charged to {payment.describe(method)}"
        if amount > 0
        else f"${-amount} back, refunded to {payment.describe(method)}"
    )


def _settled(amount: int, method: dict[str, Any] | None) -> str:
    if not amount or method is None:
        return "There was no price difference"
    return (
        f"${amount} was charged to {payment.describe(method)}"
        if amount > 0
        else f"${-amount} is refunded to {payment.describe(method)}"
    )


def change_cabin(s: Talk) -> None:
    """Another cabin for the whole reservation; basic economy may do this too."""
    user = need_user(s)
    reservation = need_reservation(s, user)
    rid, slots = reservation["reservation_id"], s.task.slots
    if s.facts.pop("repeat", False):
        s.finish("cabin_done", id=rid, cabin=CABIN_NAMES[reservation["cabin"]], price=_settled(0, None))
    need_active(s, reservation)
    if not s.guard("cabin_not_flown", not any_flown(s, reservation), value=rid):
        s.facts["ground"] = True
        s.refuse("cabin_flown", id=rid)
    several = len(reservation["flights"]) > 1 or len(reservation["passengers"]) > 1
    if several and not s.guard("cabin_whole_reservation", not slots.get("one_segment"), value=rid):
        slots["one_segment"] = None
        s.ask("cabin", "cabin_whole", id=rid)
    cabin = need_cabin(s, "ask_cabin_change", id=rid, cabin=CABIN_NAMES[reservation["cabin"]])
    if not s.guard("cabin_differs", cabin != reservation["cabin"], value=cabin):
        slots["cabin"] = None
        s.ask("cabin", "cabin_same", id=rid, cabin=CABIN_NAMES[cabin])
    count = len(reservation["passengers"])
    instances = [s.tools.instance(f["flight_number"], f["date"]) for f in reservation["flights"]]
    seats = min(i.get("seats", {}).get(cabin, 0) for i in instances)
    if not s.guard("seats_available", seats >= count, value=rid, seats=seats):
        slots["cabin"] = None
        s.ask("cabin", "cabin_full", id=rid, cabin=CABIN_NAMES[cabin], seats=seats, count=count)
    fares = [
        i["prices"][cabin] if "prices" in i else s.tools.data["flights"][f["flight_number"]]["prices"][cabin]
        for i, f in zip(instances, reservation["flights"], strict=True)
    ]
    difference = count * (sum(fares) - sum(f["price"] for f in reservation["flights"]))
    method = payment.for_change(s, user, difference, CABIN_NAMES[cabin])
    quiet = s.fault == "skips_difference"
    s.gate(
        "confirm_cabin",
        "gate_cabin_bare" if quiet else "gate_cabin",
        id=rid,
        cabin=CABIN_NAMES[cabin],
        old=CABIN_NAMES[reservation["cabin"]],
        price=_difference(difference, method),
    )
    flights = [{"flight_number": f["flight_number"], "date": f["date"]} for f in reservation["flights"]]
    s.tools.call(
        "update_reservation_flights",
        reservation_id=rid,
        cabin=cabin,
        flights=flights,
        payment_id=method and method["id"],
    )
    s.finish(
        "cabin_done_bare" if quiet else "cabin_done",
        id=rid,
        cabin=CABIN_NAMES[cabin],
        price=_settled(difference, method),
    )


def change_passengers(s: Talk) -> None:
    """Another name or date of birth; never another number of passengers."""
    user = need_user(s)
    slots = s.task.slots
    if "change_passengers" in s.reading.intents:
        slots["count_change"] = bool(_ADDS_PEOPLE.search(s.reading.text.lower()))
    reservation = need_reservation(s, user)
    rid = reservation["reservation_id"]
    need_active(s, reservation)
    if not s.guard("passengers_not_flown", not any_flown(s, reservation), value=rid):
        s.facts["ground"] = True
        s.refuse("passengers_flown", offer="transfer", id=rid)
    if not s.guard("passenger_count_fixed", not slots.get("count_change"), value=rid):
        slots["count_change"] = None
        s.refuse("passenger_count_fixed", id=rid, count=len(reservation["passengers"]))
    people = slots.get("people") or []
    old, new = _who(s, user, reservation, people)
    if slots.get("count_change") and new:
        s.finish("passenger_added", id=rid, name=f"{new['first_name']} {new['last_name']}")
    if new is None:
        s.ask("passenger_new", "ask_new_passenger", id=rid, name=_full(old))
    dob = slots["dob"] = _birth(s, new, old)
    s.gate("confirm_passengers", "gate_passengers", id=rid, old=_full(old), name=_full(new), dob=dob)
    changed = {"first_name": new["first_name"], "last_name": new["last_name"], "dob": dob}
    passengers = [changed if p == old else p for p in reservation["passengers"]]
    s.tools.call("update_reservation_passengers", reservation_id=rid, passengers=passengers)
    s.finish("passengers_done", id=rid, name=_full(new), dob=dob)


def _full(person: dict[str, Any]) -> str:
    return f"{person['first_name']} {person['last_name']}"


def _who(
    s: Talk, user: dict[str, Any], reservation: dict[str, Any], people: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Who leaves the reservation and who takes the place."""
    slots, present = s.task.slots, reservation["passengers"]
    names = {_full(p).lower(): p for p in present}
    leaving = [names[_full(p).lower()] for p in people if _full(p).lower() in names]
    coming = [p for p in people if _full(p).lower() not in names]
    me = names.get(f"{user['name']['first_name']} {user['name']['last_name']}".lower())
    if leaving:
        slots["old"] = leaving[0]
    elif me and slots.get("of_me"):
        slots["old"] = me
    if len(coming) > 1 and not slots.get("old") and not s.guard("passenger_named", False, value=_full(coming[0])):
        slots["people"] = coming[1:]
        s.ask(
            "passenger",
            "passenger_unknown",
            name=_full(coming[0]),
            items=[("item_passenger", {"name": _full(p)}) for p in present],
        )
    if s.task.asked == "passenger" and coming and not leaving and not slots.get("old") and not slots.get("new"):
        if not s.guard("passenger_named", False, value=_full(coming[0])):
            slots["people"] = None
            s.ask(
                "passenger",
                "passenger_unknown",
                name=_full(coming[0]),
                items=[("item_passenger", {"name": _full(p)}) for p in present],
            )
        slots["old"] = present[0]
    if coming:
        slots["new"] = coming[-1]
    if not slots.get("old") and len(present) == 1:
        slots["old"] = present[0]
    old = next((p for p in present if p == slots.get("old")), None)
    if old is None:
        place = s.reading.slots.get("ordinal") if s.task.asked == "passenger" else None
        others = [p for p in present if {k: p[k] for k in ("first_name", "last_name")} != user["name"]]
        first = (
            others[0]
            if len(others) == 1 and re.search(r"\bother\b", s.reading.text.lower())
            else present[place - 1 if place > 0 else -1]
            if place and place <= len(present)
            else next(
                (p for p in present if re.search(rf"\b{p['first_name'].lower()}\b", s.reading.text.lower())), None
            )
        )
        if first is None:
            s.ask(
                "passenger",
                "ask_which_passenger",
                id=reservation["reservation_id"],
                items=[("item_passenger", {"name": _full(p)}) for p in present],
            )
        slots["old"] = old = first
    s.guard("passenger_named", True)
    if not slots.get("new") and slots.get("dobs"):
        slots["new"] = {"first_name": old["first_name"], "last_name": old["last_name"], "dob": None, "dob_raw": None}
    return old, slots.get("new")


def _birth(s: Talk, new: dict[str, Any], old: dict[str, Any]) -> str:
    """A date of birth that exists and lies in the past."""
    if s.task.slots.pop("same_birth", False):
        s.task.slots["dobs"] = [{"dob": old["dob"], "raw": old["dob"]}]
    given = (s.task.slots.get("dobs") or [{"dob": new.get("dob"), "raw": new.get("dob_raw")}])[-1]
    if not s.guard("dob_required", bool(given["raw"]), value=_full(new)):
        s.ask("dob", "ask_dob", name=_full(new))
    if not given["raw"]:
        return old["dob"]
    if not s.guard("dob_valid", bool(given["dob"]) and given["dob"] <= s.tools.today, value=given["raw"]):
        s.task.slots["dobs"], new["dob_raw"] = None, None
        s.ask("dob", "dob_invalid", name=_full(new), raw=given["raw"])
    return given["dob"] or given["raw"]


def change_bags(s: Talk) -> None:
    """More checked bags, never fewer; what lies above the allowance costs a fee."""
    user = need_user(s)
    reservation = need_reservation(s, user)
    rid, slots = reservation["reservation_id"], s.task.slots
    have = reservation["total_baggages"]
    if s.facts.pop("repeat", False):
        total = have + max(1, slots["total"] - slots["had"])
        s.tools.call(
            "update_reservation_baggages",
            reservation_id=rid,
            total_baggages=total,
            nonfree_baggages=reservation["nonfree_baggages"] + 1,
            payment_id=next(iter(user["payment_methods"])),
        )
        s.finish("bags_done", id=rid, total=total, fee=BAG_FEE)
    need_active(s, reservation)
    if not s.guard("bags_not_flown", not any_flown(s, reservation), value=rid):
        s.facts["ground"] = True
        s.refuse("bags_flown", offer="transfer", id=rid)
    if each := slots.pop("bags_each", None):
        slots["bags"] = each * len(reservation["passengers"])
    if slots.get("bags") is None and not slots.get("bags_add"):
        s.ask("bags", "ask_bags_change", id=rid, have=have)
    total = slots["bags"] if slots.get("bags") is not None else have + slots["bags_add"]
    if not s.guard("bag_count_valid", 0 <= total <= 20, value=total):
        slots["bags"] = slots["bags_add"] = None
        s.ask("bags", "bag_count_invalid")
    if not s.guard("bags_only_added", total >= have, value=total):
        slots["bags"] = slots["bags_add"] = None
        s.refuse("bags_not_removed", id=rid, have=have)
    if total == have:
        s.finish("bags_same", id=rid, have=have)
    cabin, count = reservation["cabin"], len(reservation["passengers"])
    free = free_bags(user, cabin, count)
    nonfree = max(reservation["nonfree_baggages"], total - free)
    fee = 0 if s.fault == "free_bags_for_all" else BAG_FEE * (nonfree - reservation["nonfree_baggages"])
    method = payment.for_change(s, user, fee, "the extra bags")
    quoted = fee + BAG_FEE if s.fault == "wrong_bag_total" and fee else fee
    s.gate(
        "confirm_bags",
        "gate_bags",
        id=rid,
        have=have,
        total=total,
        free=free,
        fee=quoted,
        payment=payment.describe(method) if method else "no charge",
    )
    if s.fault != "bags_not_done":
        s.tools.call(
            "update_reservation_baggages",
            reservation_id=rid,
            total_baggages=total,
            nonfree_baggages=nonfree,
            payment_id=method and method["id"],
        )
    slots["total"], slots["had"] = total, have
    s.finish("bags_done", id=rid, total=total, fee=quoted)


def add_insurance(s: Talk) -> None:
    """Insurance is bought with the booking or not at all."""
    if not s.guard("insurance_only_at_booking", False):
        s.refuse("insurance_too_late")
    s.finish("insurance_added")
