"""The airline's systems: reads and writes on one private copy of the data.

Names and arguments are those of tau-bench's airline tools where it has one. Like those, they do not check the policy:
that is the agent's business. Each call is logged by `Tools.call`, for example::

    {"event": "tool", "name": "cancel_reservation", "arguments": {"reservation_id": "T0DGMK"}, "turn": 4, ...}
"""

from __future__ import annotations

import copy
from datetime import date, timedelta
from typing import Any

from agenteval.subjects.scripted.log import SessionLog

CABINS = ("basic_economy", "economy", "business")


class ToolError(Exception):
    """What a system answers when it cannot do what was asked; privileged, never shown."""


class Tools:
    """All tools of one session.

    Parameters
    ----------
    data
        The airline's data; copied where it can change, so that sessions never meet.
    log
        Receives one event per call.
    """

    def __init__(self, data: dict[str, Any], log: SessionLog):
        self.data = {**data, "users": copy.deepcopy(data["users"]), "reservations": copy.deepcopy(data["reservations"])}
        self.taken: dict[tuple[str, str, str], int] = {}
        self.log = log
        self.now: str = data["now"]
        self.today: str = data["now"][:10]

    def call(self, name: str, **arguments: Any) -> Any:
        """Run one tool and log it; the names are fixed by the workflows, never by what a user wrote."""
        try:
            result = getattr(self, name)(**arguments)
        except ToolError as error:
            self.log.add("tool", name=name, capability=self.log.capability, arguments=arguments, error=str(error))
            raise
        self.log.add(
            "tool",
            name=name,
            capability=self.log.capability,
            arguments=copy.deepcopy(arguments),
            result=copy.deepcopy(result),
        )
        return result

    # ---- reads

    def get_user_details(self, user_id: str) -> dict[str, Any]:
        if user_id not in self.data["users"]:
            raise ToolError(f"no user {user_id}")
        return self.data["users"][user_id]

    def get_reservation_details(self, reservation_id: str) -> dict[str, Any]:
        if reservation_id not in self.data["reservations"]:
            raise ToolError(f"no reservation {reservation_id}")
        return self.data["reservations"][reservation_id]

    def list_all_airports(self) -> dict[str, str]:
        return dict(self.data["airports"])

    def get_flight_status(self, flight_number: str, date: str) -> str:
        return self.instance(flight_number, date)["status"]

    def search_direct_flight(self, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
        found = [
            self._offer(f, date)
            for f in self.data["flights"].values()
            if f["origin"] == origin and f["destination"] == destination
        ]
        return sorted((f for f in found if f), key=lambda f: f["scheduled_departure_time_est"])

    def search_onestop_flight(self, origin: str, destination: str, date: str) -> list[list[dict[str, Any]]]:
        pairs = []
        for first in self.data["flights"].values():
            if first["origin"] != origin or first["destination"] == destination:
                continue
            for second in self.data["flights"].values():
                if (
                    second["origin"] == first["destination"]
                    and second["destination"] == destination
                    and second["scheduled_departure_time_est"] > first["scheduled_arrival_time_est"]
                ):
                    both = [self._offer(first, date), self._offer(second, date)]
                    if all(both):
                        pairs.append(both)
        return sorted(pairs, key=lambda p: (p[1]["scheduled_arrival_time_est"], p[0]["flight_number"]))

    def calculate(self, amounts: list[int]) -> int:
        """The sum. Unlike tau-bench's tool it takes amounts, not an expression: nothing is ever evaluated."""
        return sum(amounts)

    # ---- writes

    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: str,
        cabin: str,
        flights: list[dict[str, str]],
        passengers: list[dict[str, str]],
        payment_methods: list[dict[str, Any]],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: str,
    ) -> dict[str, Any]:
        user = self.get_user_details(user_id)
        segments = [self._segment(f["flight_number"], f["date"], cabin) for f in flights]
        for payment in payment_methods:
            self._pay(user, payment["payment_id"], payment["amount"])
        for f in flights:
            key = (f["flight_number"], f["date"], cabin)
            self.taken[key] = self.taken.get(key, 0) + len(passengers)
        reservation_id = self._new_id()
        self.data["reservations"][reservation_id] = {
            "reservation_id": reservation_id,
            "user_id": user_id,
            "origin": origin,
            "destination": destination,
            "flight_type": flight_type,
            "cabin": cabin,
            "flights": segments,
            "passengers": copy.deepcopy(passengers),
            "payment_history": copy.deepcopy(payment_methods),
            "created_at": self.now,
            "total_baggages": total_baggages,
            "nonfree_baggages": nonfree_baggages,
            "insurance": insurance,
            "status": None,
        }
        user["reservations"].append(reservation_id)
        return self.data["reservations"][reservation_id]

    def cancel_reservation(self, reservation_id: str) -> dict[str, Any]:
        reservation = self.get_reservation_details(reservation_id)
        refunds = [{"payment_id": p["payment_id"], "amount": -p["amount"]} for p in reservation["payment_history"]]
        reservation["payment_history"] += refunds
        reservation["status"] = "cancelled"
        return reservation

    def update_reservation_flights(
        self, reservation_id: str, cabin: str, flights: list[dict[str, str]], payment_id: str | None
    ) -> dict[str, Any]:
        """Kept segments keep their price unless the cabin changes."""
        reservation = self.get_reservation_details(reservation_id)
        kept = {(s["flight_number"], s["date"]): s for s in reservation["flights"] if cabin == reservation["cabin"]}
        segments = [
            kept.get((f["flight_number"], f["date"])) or self._segment(f["flight_number"], f["date"], cabin)
            for f in flights
        ]
        amount = len(reservation["passengers"]) * (
            sum(s["price"] for s in segments) - sum(s["price"] for s in reservation["flights"])
        )
        if amount and payment_id:
            self._pay(self.get_user_details(reservation["user_id"]), payment_id, amount)
            reservation["payment_history"].append({"payment_id": payment_id, "amount": amount})
        reservation["flights"], reservation["cabin"] = segments, cabin
        return reservation

    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str | None
    ) -> dict[str, Any]:
        reservation = self.get_reservation_details(reservation_id)
        amount = 50 * max(0, nonfree_baggages - reservation["nonfree_baggages"])
        if amount and payment_id:
            self._pay(self.get_user_details(reservation["user_id"]), payment_id, amount)
            reservation["payment_history"].append({"payment_id": payment_id, "amount": amount})
        reservation["total_baggages"], reservation["nonfree_baggages"] = total_baggages, nonfree_baggages
        return reservation

    def update_reservation_passengers(self, reservation_id: str, passengers: list[dict[str, str]]) -> dict[str, Any]:
        reservation = self.get_reservation_details(reservation_id)
        reservation["passengers"] = copy.deepcopy(passengers)
        return reservation

    def send_certificate(self, user_id: str, amount: int) -> str:
        user = self.get_user_details(user_id)
        number = 3300001
        while f"certificate_{number}" in user["payment_methods"]:
            number += 1
        payment_id = f"certificate_{number}"
        user["payment_methods"][payment_id] = {"source": "certificate", "id": payment_id, "amount": amount}
        return payment_id

    def transfer_to_human_agents(self, summary: str) -> str:
        return "transferred"

    # ---- the timetable

    def instance(self, flight_number: str, date: str) -> dict[str, Any]:
        """One flight on one day: its status by the clock, and seats and fares while it can be booked."""
        flight = self.data["flights"].get(flight_number)
        if flight is None or not self.data["first_day"] <= date <= self.data["last_day"]:
            raise ToolError(f"no flight {flight_number} on {date}")
        special = flight["exceptions"].get(date, {})
        if special:
            return special
        if f"{date}T{flight['scheduled_arrival_time_est']}" < self.now:
            return {"status": "landed"}
        if f"{date}T{flight['scheduled_departure_time_est']}" < self.now:
            return {"status": "flying"}
        if date == self.today:
            return {"status": "on time"}
        shift = (int(date[-2:]) + int(flight_number[2:])) % 7
        seats = {
            cabin: max(0, count - shift // 2 - self.taken.get((flight_number, date, cabin), 0))
            for cabin, count in flight["seats"].items()
        }
        return {
            "status": "available",
            "seats": seats,
            "prices": {c: p + 4 * shift for c, p in flight["prices"].items()},
        }

    def flown(self, flight_number: str, date: str) -> bool:
        return self.instance(flight_number, date)["status"] in ("landed", "flying")

    def _offer(self, flight: dict[str, Any], date: str) -> dict[str, Any] | None:
        try:
            instance = self.instance(flight["flight_number"], date)
        except ToolError:
            return None
        if instance["status"] != "available":
            return None
        fixed = {k: v for k, v in flight.items() if k not in ("exceptions", "prices", "seats")}
        return {**fixed, "date": date, "seats": instance["seats"], "prices": instance["prices"]}

    def _segment(self, flight_number: str, date: str, cabin: str) -> dict[str, Any]:
        flight = self.data["flights"][flight_number]
        price = self.instance(flight_number, date).get("prices", flight["prices"])[cabin]
        return {
            "origin": flight["origin"],
            "destination": flight["destination"],
            "flight_number": flight_number,
            "date": date,
            "price": price,
        }

    def _pay(self, user: dict[str, Any], payment_id: str, amount: int) -> None:
        method = user["payment_methods"].get(payment_id)
        if method and method["source"] == "gift_card":
            method["amount"] -= amount
        elif method and method["source"] == "certificate":
            del user["payment_methods"][payment_id]

    def _new_id(self) -> str:
        number = 1
        while f"LWN{number:03d}" in self.data["reservations"]:
            number += 1
        return f"LWN{number:03d}"


def days_from(start: str, count: int) -> str:
    return (date.fromisoformat(start) + timedelta(days=count)).isoformat()
