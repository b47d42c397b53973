"""What every airline workflow needs first: who speaks, which reservation, how it is paid."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.airline.tools import CABINS
from agenteval.subjects.scripted.engine import Pause, Talk, Task

CABIN_NAMES = {
    "basic_economy": "basic economy",
    "economy": "economy",
    "business": "business",
    "first_class": "first class",
    "premium_economy": "premium economy",
    "premium": "premium economy",
}
ON_RESERVATION = (
    "cancel",
    "change_flights",
    "change_cabin",
    "change_passengers",
    "change_bags",
    "compensation",
    "vague_change",
)
MAX_ID_ATTEMPTS = 3


# ---- who speaks


def listen(s: Talk) -> None:
    """Identity, before any workflow: a user id may come with anything else."""
    found, current = s.reading.slots["users"], s.facts.get("user")
    if found:
        _identify(
            s, found[0] if len(found) == 1 or current not in found else next(u for u in found if u != current), current
        )
    elif s.reading.slots.get("user_like") and not s.reading.intents:
        if not s.guard("user_id_format", False, value=s.reading.slots["user_like"]):
            s.say("user_malformed")
            raise Pause
        _identify(s, _nearest(s, s.reading.slots["user_like"]), current)
    elif s.task and s.task.asked == "user_id" and (name := _named_user(s)):
        if not s.guard("name_is_no_id", False):
            s.say("name_is_no_id")
            raise Pause
        _identify(s, name, current)
    _continue(s)
    if "vague_change" in s.reading.intents and len(s.reading.intents) > 1:
        s.reading.intents.remove("vague_change")


def _continue(s: Talk) -> None:
    """Intents that are not said again: a reservation alone, "the other one too", a change that was vague before."""
    r, task = s.reading, s.task
    if task and task.state == "open" and task.name == "vague_change":
        precise = [i for i in r.intents if i in ON_RESERVATION and i != "vague_change"]
        if precise:
            task.name = precise[0]
    if r.intents or not r.slots["reservations"] or (task and task.state in ("open", "refused")):
        return
    again = (
        task
        and task.name in ON_RESERVATION
        and re.search(r"\b(?:other|next|also|too|and|same|second|as well|now)\b", r.text.lower())
    )
    r.intents = [task.name if again else "show"]


def _identify(s: Talk, user_id: str, current: str | None) -> None:
    if current and user_id != current:
        if not s.guard("one_account", False, value=user_id):
            s.say("one_account", user_id=current)
            _remember(s)
            raise Pause
    elif current:
        s.guard("one_account", True)
        return
    if user_id not in s.tools.data["users"]:
        s.facts["attempts"] = s.facts.get("attempts", 0) + 1
        if not s.guard("id_attempts", s.facts["attempts"] < MAX_ID_ATTEMPTS):
            s.say("too_many_ids")
            _remember(s)
            if s.task:
                s.close("refused", offer="transfer")
            s.facts["ground"] = True
            raise Pause
        if not s.guard("user_id_known", False, value=user_id):
            s.say("user_unknown", user_id=user_id)
            _remember(s)
            if s.task and s.task.state == "open":
                s.task.asked = "user_id"
            raise Pause
        s.tools.data["users"][user_id] = {
            "user_id": user_id,
            "name": {"first_name": user_id.split("_")[0].title(), "last_name": user_id.split("_")[1].title()},
            "dob": "1980-01-01",
            "membership": "regular",
            "payment_methods": {},
            "saved_passengers": [],
            "reservations": [],
        }
    else:
        s.guard("user_id_known", True)
        s.guard("user_id_format", True)
        s.guard("name_is_no_id", True)
        s.guard("id_attempts", True)
    s.facts["user"] = user_id
    s.log.add("state", change="identified", user_id=user_id)
    user = s.tools.call("get_user_details", user_id=user_id)
    if not s.reading.intents and not s.task:
        s.say("identified_idle", first_name=user["name"]["first_name"])
        raise Pause
    s.say("identified", first_name=user["name"]["first_name"])


def _remember(s: Talk) -> None:
    """A refused identity must not lose what else was said."""
    if s.reading.intents:
        wanted = [i for i in s.reading.intents if not (s.task and s.task.state == "open" and s.domain.keep(s, i))]
        if wanted:
            s._begin(wanted)
    elif s.task:
        merge(s, s.task)


def _named_user(s: Talk) -> str | None:
    low = s.reading.text.lower()
    return next(
        (
            u["user_id"]
            for u in s.tools.data["users"].values()
            if f"{u['name']['first_name']} {u['name']['last_name']}".lower() in low
        ),
        None,
    )


def _nearest(s: Talk, text: str) -> str:
    flat = "".join(c for c in text.lower() if c.isalnum())
    return next((u for u in s.tools.data["users"] if u.replace("_", "") == flat), text.lower())


def need_user(s: Talk) -> dict[str, Any]:
    """The profile of the person who speaks; asks for the user id."""
    user_id = s.facts.get("user")
    if not s.guard("user_id_required", user_id is not None):
        s.ask("user_id", "ask_user_id")
    if user_id is None:
        reservation = s.tools.data["reservations"].get(s.task.slots.get("reservation") or "")
        if reservation is None:
            s.ask("user_id", "ask_user_id")
        user_id = reservation["user_id"]
    return s.tools.data["users"][user_id]


# ---- which reservation


def need_reservation(s: Talk, user: dict[str, Any]) -> dict[str, Any]:
    """The reservation that is meant, checked for existence and owner; asks, lists, or says what is wrong with it."""
    slots = s.task.slots
    if slots.get("several"):
        if not s.guard("several_reservations", False):
            s.ask("reservation", "which_of_several", ids=" and ".join(slots["several"]))
        slots["reservation"] = slots.pop("several")[0]
    if not slots.get("reservation"):
        _find(s, user)
    reservation_id = slots["reservation"]
    for passed in ("reservation_required", "reservation_format", "several_reservations"):
        s.guard(passed, True)
    if not s.guard("reservation_known", reservation_id in s.tools.data["reservations"], value=reservation_id):
        slots["reservation"] = None
        s.facts["listed"] = user["reservations"]
        s.ask("reservation", "reservation_unknown", id=reservation_id)
    if reservation_id not in s.tools.data["reservations"]:
        reservation_id = slots["reservation"] = (
            user["reservations"][0] if user["reservations"] else next(iter(s.tools.data["reservations"]))
        )
    if (
        s.fault == "wrong_reservation"
        and s.task.name == "cancel"
        and len(user["reservations"]) > 1
        and reservation_id in user["reservations"]
    ):
        mine = user["reservations"]
        reservation_id = mine[(mine.index(reservation_id) + 1) % len(mine)]
    reservation = s.tools.data["reservations"][reservation_id]
    repeated = s.fault == "accepts_on_retry" and reservation_id in s.facts.get("foreign", ())
    if not s.guard("reservation_owner", reservation["user_id"] == user["user_id"] or repeated, value=reservation_id):
        s.facts.setdefault("foreign", set()).add(reservation_id)
        slots["reservation"] = None
        s.ask("reservation", "reservation_foreign", id=reservation_id)
    s.facts["last_reservation"], s.facts["last_turn"] = reservation_id, s.log.turn
    return (
        s.tools.call("get_reservation_details", reservation_id=reservation_id)
        if _fresh(s, reservation_id)
        else reservation
    )


def _fresh(s: Talk, reservation_id: str) -> bool:
    """The details are looked up once per task, not on every turn."""
    if s.task.slots.get("_looked_up") == reservation_id:
        return False
    s.task.slots["_looked_up"] = reservation_id
    return True


def _find(s: Talk, user: dict[str, Any]) -> None:
    """Fill the reservation from a description or a place in a list, else ask."""
    slots, mine = s.task.slots, user["reservations"]
    described = _matching(s, mine)
    if slots.get("last_one") and mine:
        described = [max(mine, key=lambda r: s.tools.data["reservations"][r]["created_at"])]
    if described is not None:
        if len(described) == 1:
            s.guard("ambiguous_reservation", True)
            slots["reservation"] = described[0]
            return
        if described and not s.guard("ambiguous_reservation", False):
            s.facts["listed"] = described
            s.ask("reservation", "which_of_matching", items=[item_reservation(s, r) for r in described])
        if described:
            slots["reservation"] = described[0]
            return
        s.say("no_match")
        s.facts["listed"] = mine
        s.ask("reservation", "which_reservation", items=[item_reservation(s, r) for r in mine])
    malformed = s.reading.slots.get("reservation_like") if s.task.asked == "reservation" else None
    if malformed:
        if not s.guard("reservation_format", False, value=malformed):
            s.ask("reservation", "reservation_malformed", id=malformed)
        near = [r for r in mine if r.startswith(malformed[:3])] or mine
        if near:
            slots["reservation"] = near[0]
            return
    if not mine:
        s.refuse("no_reservations")
    if s.task.asked == "reservation":
        # Whoever did not answer the first question is shown the list.
        s.guard("reservation_required", False)
        s.facts["listed"] = mine
        s.ask("reservation", "which_reservation", items=[item_reservation(s, r) for r in mine])
    if not s.guard("reservation_required", False):
        if "unknown" in s.reading.flags or "which" in s.reading.text.lower():
            s.facts["listed"] = mine
            s.ask("reservation", "which_reservation", items=[item_reservation(s, r) for r in mine])
        s.ask("reservation", "ask_reservation")
    slots["reservation"] = mine[0]


def _matching(s: Talk, mine: list[str]) -> list[str] | None:
    slots = s.task.slots
    wanted = {k: slots[k] for k in ("origin", "destination", "place", "flown_date", "flight") if slots.get(k)}
    if not wanted:
        return None

    def fits(reservation: dict[str, Any]) -> bool:
        ends = {reservation["origin"], reservation["destination"]}
        return (
            all(reservation[k] == wanted[k] for k in ("origin", "destination") if k in wanted)
            and ("place" not in wanted or wanted["place"] in ends)
            and ("flown_date" not in wanted or any(f["date"] == wanted["flown_date"] for f in reservation["flights"]))
            and ("flight" not in wanted or any(f["flight_number"] == wanted["flight"] for f in reservation["flights"]))
        )

    return [r for r in mine if fits(s.tools.data["reservations"][r])]


def item_reservation(s: Talk, reservation_id: str) -> tuple[str, dict[str, Any]]:
    """One line of a list of reservations."""
    r = s.tools.data["reservations"][reservation_id]
    state = "cancelled" if r["status"] == "cancelled" else "active"
    return (
        "item_reservation",
        {
            "id": reservation_id,
            "origin": r["origin"],
            "destination": r["destination"],
            "date": r["flights"][0]["date"],
            "cabin": CABIN_NAMES[r["cabin"]],
            "state": state,
        },
    )


def need_active(s: Talk, reservation: dict[str, Any]) -> None:
    """A cancelled reservation cannot be changed."""
    if not s.guard("reservation_active", reservation["status"] != "cancelled", value=reservation["reservation_id"]):
        s.refuse("already_cancelled", id=reservation["reservation_id"])


def any_flown(s: Talk, reservation: dict[str, Any]) -> bool:
    return any(s.tools.flown(f["flight_number"], f["date"]) for f in reservation["flights"])


def need_cabin(s: Talk, act: str, **values: Any) -> str:
    """A cabin that exists."""
    slots = s.task.slots
    if not s.guard("cabin_known", not slots.get("bad_cabin"), value=slots.get("bad_cabin")):
        bad = slots.pop("bad_cabin")
        s.ask("cabin", "cabin_unknown", cabin=CABIN_NAMES.get(bad, bad))
    if slots.get("bad_cabin"):
        slots["cabin"] = "business"
        s.say("cabin_accepted", cabin=CABIN_NAMES.get(slots["bad_cabin"], slots["bad_cabin"]))
        slots["bad_cabin"] = None
    if not slots.get("cabin"):
        s.ask("cabin", act, **values)
    return slots["cabin"]


# ---- merging what was said into a task


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
    if task.name == "cancel" and "same reason" in s.reading.text.lower():
        put("reason", s.facts.get("reason"))
    put("cabin", next((c for c in reversed(r["cabin"]) if c in CABINS), None))
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
        "shift",
    ):
        put(key, r[key])
    put("bags", r["bags_total"])
    if r["bags_total"] is not None:
        task.slots["bags_add"] = None
    elif r["bags_add"] is not None:
        task.slots["bags"] = None
    put("one_segment", True if r["one_segment"] and task.name == "change_cabin" else None)
    if r["claims"]:
        put("claims", sorted({*task.slots.get("claims", []), *r["claims"]}))
    put("payments", r["payments"] or None)
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
    if task.asked not in ("option", "return_option") and (r["prefer"] or (r["ordinal"] and s.facts.get("route"))):
        put("wish", {"ordinal": r["ordinal"] if s.facts.get("route") else None, "prefer": r["prefer"]})
    if (
        task.name in ("cancel", "show", "change_bags", "change_cabin", "change_passengers", "compensation")
        and r["flights"]
    ):
        put("flight", r["flights"][0])
    _merge_people(s, task, put)
    if task.asked == "insurance" and s.reading.answer and r["insurance"] is None:
        put("insurance", s.reading.answer)
    if task.asked == "bags" and s.reading.answer == "no" and task.slots.get("bags") is None and not r["bags_add"]:
        put("bags", 0)
    return changed


def _merge_reservation(s: Talk, task: Task, put: Any) -> None:
    r, low = s.reading.slots, s.reading.text.lower()
    named = [c for c in r["reservations"] if f"not {c.lower()}" not in low]
    old = task.slots.get("reservation")
    if len(named) > 1 and "correction" in s.reading.flags and old in named:
        named = [c for c in named if c != old]
    if len(named) == 1:
        put("reservation", named[0])
        task.slots["several"] = None
    elif len(named) > 1 and task.name in ON_RESERVATION:
        put("several", named)
    listed = s.facts.get("listed") or []
    if (
        (task.asked == "reservation" or (task.name == "show" and task.state == "done"))
        and not named
        and listed
        and r["ordinal"]
        and (r["ordinal"] <= len(listed))
    ):
        put("reservation", listed[r["ordinal"] - 1 if r["ordinal"] > 0 else -1])
    elif (
        not named
        and not old
        and task.name in ON_RESERVATION + ("show",)
        and ("last reservation" in low or "most recent" in low or "latest booking" in low or "last booking" in low)
    ):
        put("last_one", True)
    just_now = s.facts.get("last_turn", -9) >= s.log.turn - 2
    points_back = not re.search(
        r"\b(?:another|different|other|one of my|one of the) (?:one|reservations?|bookings?|trips?|flights?)\b", low
    ) and (
        just_now
        or any(
            w in f" {low} "
            for w in (
                " it ",
                " it.",
                " it?",
                " it,",
                " it!",
                " that one",
                " this one",
                " that reservation",
                " this reservation",
                " the same ",
                " that booking",
                " this booking",
                " instead",
                " then ",
                " also ",
                " too ",
                " as well",
                " the booking",
                " the reservation",
                " the cabin",
                " my cabin",
                " same reservation",
            )
        )
    )
    if not named and not old and task.name in ON_RESERVATION and points_back and s.facts.get("last_reservation"):
        put("reservation", s.facts["last_reservation"])


def _merge_dates(s: Talk, task: Task, put: Any) -> None:
    r = s.reading.slots
    births = {p["dob_raw"] for p in r["people"]}
    days = [
        d
        for d in r["dates"]
        if d.raw not in births
        and task.asked not in ("passengers", "dob", "passenger_new")
        and not (d.value and d.value < "2015")
    ]
    good = [d.value for d in days if d.value]
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
    else:
        put("date", good[0])
        if len(good) > 1:
            put("return_date", good[1])


def _merge_people(s: Talk, task: Task, put: Any) -> None:
    r = s.reading.slots
    lone = [d for d in r["dates"] if d.raw not in {p["dob_raw"] for p in r["people"]}]
    if task.name in ("book", "change_passengers"):
        put("people", r["people"] or None)
        if (
            (task.name == "change_passengers" or task.asked in ("passengers", "dob"))
            and lone
            and not any(p["dob_raw"] for p in r["people"])
        ):
            put("dobs", [{"dob": d.value, "raw": d.raw} for d in lone])
