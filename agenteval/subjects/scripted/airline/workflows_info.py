"""Looking things up: reservations, profile, flights, status, airports. None of these changes anything."""

from __future__ import annotations

from agenteval.subjects.scripted.airline import options, payment
from agenteval.subjects.scripted.airline.common import CABIN_NAMES, item_reservation, need_reservation
from agenteval.subjects.scripted.airline.identity import need_user
from agenteval.subjects.scripted.airline.tools import ToolError
from agenteval.subjects.scripted.engine import Talk


def show(s: Talk) -> None:
    """One reservation in detail, or the list of all."""
    user = need_user(s)
    slots = s.task.slots
    described = any(
        slots.get(k)
        for k in ("reservation", "origin", "destination", "place", "flown_date", "flight", "last_one", "several")
    )
    if not described and s.task.asked != "reservation":
        if not user["reservations"]:
            s.finish("no_reservations")
        s.facts["listed"] = user["reservations"]
        s.finish("list_reservations", items=[item_reservation(s, r) for r in user["reservations"]])
    if slots.get("several"):
        slots["reservation"] = slots.pop("several")[0]
    r = need_reservation(s, user)
    flights = [
        (
            "item_segment",
            {
                "flight": f["flight_number"],
                "origin": f["origin"],
                "destination": f["destination"],
                "date": f["date"],
                "status": s.tools.instance(f["flight_number"], f["date"])["status"].replace("available", "scheduled"),
            },
        )
        for f in r["flights"]
    ]
    s.finish(
        "reservation_details",
        id=r["reservation_id"],
        cabin=CABIN_NAMES[r["cabin"]],
        trip=r["flight_type"].replace("_", " "),
        passengers=", ".join(f"{p['first_name']} {p['last_name']}" for p in r["passengers"]),
        bags=r["total_baggages"],
        insurance=r["insurance"],
        state="cancelled" if r["status"] == "cancelled" else "active",
        items=flights,
        created=r["created_at"][:10],
    )


def profile(s: Talk) -> None:
    """Membership level and saved payment methods."""
    user = need_user(s)
    s.finish(
        "profile_details",
        first_name=user["name"]["first_name"],
        level=user["membership"],
        items=[payment.item_payment(m) for m in user["payment_methods"].values()],
    )


def need_route(s: Talk) -> tuple[str, str]:
    """Two different airports that the airline serves."""
    slots = s.task.slots
    if not s.guard("airport_known", not slots.get("bad_place"), value=slots.get("bad_place")):
        place = slots.pop("bad_place")
        slot = "origin" if not slots.get("origin") else "destination"
        s.ask(slot, "place_unknown", place=place, cities=", ".join(s.tools.call("list_all_airports").values()))
    if slots.get("bad_place"):
        place = slots.pop("bad_place")
        slots["destination" if not slots.get("destination") else "origin"] = (
            "MIA" if slots.get("origin") != "MIA" else "ATL"
        )
        s.say("place_accepted", place=place)
    if not slots.get("origin"):
        s.ask("origin", "ask_origin")
    if not slots.get("destination"):
        s.ask("destination", "ask_destination", origin=slots["origin"])
    if not s.guard("route_distinct", slots["origin"] != slots["destination"]):
        slots["destination"] = None
        s.ask("destination", "same_airport", origin=slots["origin"])
    return slots["origin"], slots["destination"]


def flight_info(s: Talk) -> None:
    """Something about flights: a search, or the status of one?"""
    slots, low = s.task.slots, s.reading.text.lower()
    if slots.get("flights") or slots.get("flight_kind") == "status" or "on time" in low:
        s.task.name = "status"
    elif any(slots.get(k) for k in ("origin", "destination", "date")) or slots.get("flight_kind") or "find" in low:
        s.task.name = "search"
    else:
        s.ask("flight_kind", "ask_flight_kind")
    return s.domain.workflows[s.task.name](s)


def search(s: Talk) -> None:
    """Flights of one day between two airports, direct or with one stop."""
    slots, route = s.task.slots, s.facts.get("route") or {}
    if not any(slots.get(k) for k in ("origin", "destination", "bad_place")):
        slots.update({k: v for k, v in route.items() if not slots.get(k)})
    origin, destination = need_route(s)
    options.check_day(s, slots.get("date"))
    if not slots.get("date"):
        s.ask("date", "ask_date")
    found = options.find(s, origin, destination, slots["date"], slots.get("stops"))
    wish = (slots.pop("wish", None) or {}).get("prefer")
    if found and wish:
        found = [options.best(found, wish)]
    s.facts["route"] = {"origin": origin, "destination": destination, "date": slots["date"]}
    if not found:
        s.finish("search_nothing", origin=origin, destination=destination, date=slots["date"])
    s.finish(
        "search_results",
        origin=origin,
        destination=destination,
        date=slots["date"],
        items=[options.item_option(o, slots["date"]) for o in found[: options.SHOWN]],
    )


def status(s: Talk) -> None:
    """Whether a flight is on time."""
    slots = s.task.slots
    numbers = slots.get("flights")
    if (s.task.asked == "flights" and "unknown" in s.reading.flags) or (
        s.facts.get("user") and "my flight" in s.reading.text.lower()
    ):
        slots["own"] = True
    if not numbers and (slots.get("own") or slots.get("reservation")):
        ahead = need_reservation(s, need_user(s))["flights"]
        ahead = [f for f in ahead if not s.tools.flown(f["flight_number"], f["date"])] or ahead
        numbers, slots["date"] = [ahead[0]["flight_number"]], ahead[0]["date"]
    if not numbers:
        s.ask("flights", "ask_flight_number")
    options_day = slots.get("date") or s.tools.today
    if not s.guard("flight_known", numbers[0] in s.tools.data["flights"], value=numbers[0]):
        slots["flights"] = None
        s.ask("flights", "flight_unknown", flight=numbers[0])
    if slots.get("bad_date"):
        options.check_day(s, None)
    try:
        state = s.tools.call("get_flight_status", flight_number=numbers[0], date=options_day)
    except ToolError:
        state = "on time" if numbers[0] not in s.tools.data["flights"] else "not scheduled"
    flight = s.tools.data["flights"].get(numbers[0])
    s.finish(
        "flight_status",
        flight=numbers[0],
        date=options_day,
        status="scheduled and open for booking" if state == "available" else state,
        departs=flight["scheduled_departure_time_est"] if flight else "09:00:00",
    )


def airports(s: Talk) -> None:
    """Where the airline flies."""
    cities = s.tools.call("list_all_airports")
    s.finish("airports", cities=", ".join(f"{city} ({code})" for code, city in cities.items()))
