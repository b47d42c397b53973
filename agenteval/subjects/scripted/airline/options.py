"""Offering flights of one direction on one day, and understanding which one is meant."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.airline.common import CABIN_NAMES
from agenteval.subjects.scripted.airline.tools import ToolError
from agenteval.subjects.scripted.engine import Talk

SHOWN = 5
Option = list[dict[str, Any]]


def check_day(s: Talk, day: str | None) -> None:
    """A day that exists, lies ahead and is on sale."""
    slots = s.task.slots
    if not s.guard("date_valid", not slots.get("bad_date"), value=slots.get("bad_date")):
        raw = slots.pop("bad_date")
        s.ask(slots.get("_date_slot") or "date", "date_invalid", raw=raw)
    if day is None:
        return
    if not s.guard("date_not_past", day >= s.tools.today, value=day):
        _forget(s, day)
        s.ask("date", "date_past", date=day, today=s.tools.today)
    if day >= s.tools.today and not s.guard("date_on_sale", day <= s.tools.data["last_day"], value=day):
        _forget(s, day)
        s.ask("date", "date_too_far", date=day, last=s.tools.data["last_day"])


def _forget(s: Talk, day: str) -> None:
    for key in ("date", "return_date"):
        if s.task.slots.get(key) == day:
            s.task.slots[key] = None


def find(s: Talk, origin: str, destination: str, day: str, stops: str | None) -> list[Option]:
    """Direct flights, and one-stop connections where asked for or where nothing is direct."""
    arguments = {"origin": origin, "destination": destination, "date": day}
    direct = [] if stops == "onestop" else [[f] for f in s.tools.call("search_direct_flight", **arguments)]
    if direct or stops == "direct":
        return direct
    return s.tools.call("search_onestop_flight", **arguments)


def item_option(option: Option, day: str) -> tuple[str, dict[str, Any]]:
    """One line of an offer: flights, times, fares and seats."""
    fares = ", ".join(
        f"{CABIN_NAMES[c]} ${sum(f['prices'][c] for f in option)} ({min(f['seats'][c] for f in option)} seats)"
        for c in ("basic_economy", "economy", "business")
    )
    return (
        "item_option",
        {
            "flights": " + ".join(f["flight_number"] for f in option),
            "departs": option[0]["scheduled_departure_time_est"],
            "arrives": option[-1]["scheduled_arrival_time_est"],
            "fares": fares,
            "date": day,
            "via": f"via {option[0]['destination']}" if len(option) > 1 else "nonstop",
        },
    )


def choose(s: Talk, key: str, origin: str, destination: str, day: str, cabin: str, count: int) -> Option:
    """The option that the user picks; offers the day's flights until one is picked."""
    slots = s.task.slots
    if slots.get(f"{key}_for") != [origin, destination, day, slots.get("stops")]:
        slots[f"{key}_for"], slots[key] = [origin, destination, day, slots.get("stops")], None
    options = find_once(s, origin, destination, day)
    picked = _picked(s, key, options, cabin, origin, destination, day)
    if picked is None:
        if not options:
            slots["date" if key != "return_option" else "return_date"] = None
            s.ask(
                "return_date" if key == "return_option" else "date",
                "no_flights",
                origin=origin,
                destination=destination,
                date=day,
            )
        if s.task.asked == key and s.reading.answer == "no":
            slots["return_date" if key == "return_option" else "date"] = None
            s.ask("return_date" if key == "return_option" else "date", "ask_date")
        s.ask(
            key,
            "offer_flights",
            origin=origin,
            destination=destination,
            date=day,
            items=[item_option(o, day) for o in options[:SHOWN]],
        )
    slots[key] = [f["flight_number"] for f in picked]
    seats = min(f["seats"][cabin] for f in picked)
    if not s.guard("seats_available", seats >= count, value=slots[key], seats=seats):
        slots[key] = None
        s.ask(
            key,
            "no_seats",
            flights=" + ".join(f["flight_number"] for f in picked),
            cabin=CABIN_NAMES[cabin],
            seats=seats,
            count=count,
        )
    return picked


def best(options: list[Option], prefer: str, cabin: str = "economy") -> Option:
    """The `cheapest`, `earliest`, `latest` or `fastest` option, or for `any` the first."""
    if prefer == "any":
        return options[0]
    if prefer == "cheapest":
        return min(options, key=lambda o: sum(f["prices"][cabin] for f in o))
    if prefer == "latest":
        return max(options, key=lambda o: o[0]["scheduled_departure_time_est"])
    return min(options, key=lambda o: o[0 if prefer == "earliest" else -1]["scheduled_arrival_time_est"])


def find_once(s: Talk, origin: str, destination: str, day: str) -> list[Option]:
    """The same search is not run again on every turn of a task."""
    memory = s.task.slots.setdefault("_found", {})
    key = f"{origin}{destination}{day}{s.task.slots.get('stops')}"
    if key not in memory:
        memory[key] = find(s, origin, destination, day, s.task.slots.get("stops"))
    return memory[key]


def _picked(
    s: Talk, key: str, options: list[Option], cabin: str, origin: str, destination: str, day: str
) -> Option | None:
    slots, r = s.task.slots, s.reading.slots
    asked = s.task.asked == key
    # A flight of this direction that is named later is a change of mind.
    other = "flights" in s.changed and any(_flies(s, n, origin, destination) for n in r.get("flights") or [])
    numbers = (r.get("flights") if asked or other else None) or ([] if slots.get(key) else slots.get("flights")) or []
    numbers = [n for n in numbers if n not in slots.get("_used", []) or asked or other]
    if numbers:
        match = next((o for o in options if {f["flight_number"] for f in o} <= set(numbers)), None)
        if match:
            s.guard("flight_offered", True)
            s.guard("flight_bookable", True)
            slots.setdefault("_used", []).extend(f["flight_number"] for f in match)
            return match
        return _not_offered(s, key, numbers[0], asked, origin, destination, day)
    if slots.get(key) and not (asked and any(r.get(k) for k in ("ordinal", "prefer", "clock"))):
        made = slots.get("_made", {}).get(key)
        return made or next((o for o in options if [f["flight_number"] for f in o] == slots[key]), None)
    shown = options[:SHOWN]
    wish = {k: r.get(k) for k in ("ordinal", "prefer", "clock")} if asked else slots.get("wish") or {}
    timely = [o for o in shown if o[0]["scheduled_departure_time_est"][:5] in (wish.get("clock") or [])]
    if timely:
        slots["wish"] = None
        return timely[0]
    place = wish.get("ordinal")
    if place and shown and place <= len(shown):
        slots["wish"] = None
        return shown[place - 1 if place > 0 else -1]
    prefer = wish.get("prefer")
    if prefer and shown:
        return best(shown, prefer, cabin)
    if asked and s.reading.answer == "yes" and len(shown) == 1:
        return shown[0]
    return None


def _flies(s: Talk, number: str, origin: str, destination: str) -> bool:
    flight = s.tools.data["flights"].get(number)
    return flight is not None and (flight["origin"] == origin or flight["destination"] == destination)


def _not_offered(s: Talk, key: str, number: str, asked: bool, origin: str, destination: str, day: str) -> Option | None:
    flight = s.tools.data["flights"].get(number)
    right_way = flight is not None and flight["origin"] == origin and flight["destination"] == destination
    if right_way:
        try:
            status = s.tools.instance(number, day)["status"]
        except ToolError:
            status = "not scheduled"
        if not s.guard("flight_bookable", status == "available", value=number):
            s.task.slots["flights"] = None
            s.ask(key, "flight_not_bookable", flight=number, date=day, status=status)
    elif not asked:
        return None
    elif not s.guard("flight_offered", False, value=number):
        s.task.slots["flights"] = None
        s.ask(key, "flight_not_offered", flight=number, origin=origin, destination=destination, date=day)
    base = flight or next(f for f in s.tools.data["flights"].values() if f["origin"] == origin)
    made = [{**base, "date": day, "seats": dict(base["seats"])}]
    s.task.slots.setdefault("_made", {})[key] = made
    return made
