"""What the workflows share: which reservation is meant, whether it can be changed, which cabin."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.airline.merging import ALL, ON_RESERVATION
from agenteval.subjects.scripted.engine import Talk

CABIN_NAMES = {
    "basic_economy": "basic economy",
    "economy": "economy",
    "business": "business",
    "first_class": "first class",
    "premium_economy": "premium economy",
    "premium": "premium economy",
}


def need_reservation(s: Talk, user: dict[str, Any]) -> dict[str, Any]:
    """The reservation that is meant, checked for existence and owner; asks, lists, or says what is wrong with it."""
    slots = s.task.slots
    if slots.get("several"):
        if not s.guard("several_reservations", False):
            s.facts["listed"] = slots["several"]
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
    every = len(mine) > 1 and s.task.name in ON_RESERVATION and ALL.search(s.reading.text.lower())
    if every and not s.guard("several_reservations", False):
        slots["several"] = s.facts["listed"] = mine
        s.ask("reservation", "which_of_several", ids=" and ".join(mine))
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
