"""Makes `data.json`: `python -m agenteval.subjects.scripted.airline.generate > data.json`.

No chance is involved: every choice is arithmetic on positions, so that the file can be made again and compared (a test
does). Each user gets two or three *situations* in rotation, so that each guard is reachable by several users.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import Any

NOW = datetime(2025, 9, 17, 14, 0)
FIRST_DAY, LAST_DAY = "2025-09-08", "2025-10-19"
AIRPORTS = {
    "ATL": "Atlanta",
    "BOS": "Boston",
    "DEN": "Denver",
    "DFW": "Dallas",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "MIA": "Miami",
    "ORD": "Chicago",
    "PHL": "Philadelphia",
    "PHX": "Phoenix",
    "SEA": "Seattle",
    "SFO": "San Francisco",
}
HOUR = {
    "JFK": 0,
    "BOS": 0,
    "PHL": 0,
    "ATL": 1,
    "MIA": 1,
    "ORD": 3,
    "DFW": 4,
    "DEN": 5,
    "PHX": 6,
    "LAX": 7,
    "SFO": 8,
    "SEA": 8,
}
PAIRS = (
    "ORD BOS,ORD JFK,ORD PHL,ORD MIA,ORD DFW,ORD SEA,ORD SFO,ORD LAX,ORD PHX,ORD DEN,ORD ATL,DEN SEA,DEN SFO,DEN LAX,"
    "DEN PHX,DEN DFW,DEN BOS,DEN JFK,DEN ATL,ATL BOS,ATL JFK,ATL PHL,ATL MIA,ATL DFW,ATL LAX,JFK LAX,JFK SFO,JFK BOS,"
    "JFK MIA,SEA SFO,LAX SFO,BOS MIA"
)
FIRST = """
    Amara Bruno Celia Dario Elina Farid Greta Hamid Ilona Jonas Keiko Lamar Marta Nadia Oscar Priya Quinn Rosa
    Stefan Talia Ulric Vera Wanda Xavier Yusuf Zelda Anton Bianca Cyrus Delia Emil Flora
    """.split()  # noqa: SIM905
LAST = """
    Okafor Lindqvist Marchetti Pereira Novak Haddad Sorensen Castellan Fischer Mbeki Tanaka Whitlock Duarte Petrov
    Kowalska Raman Ashby Velasco Brandt Osei Holm Zhang Corbett Laurent Demir Farrow Ivanov Keller Moreau Quispe
    Strand Tolliver
    """.split()  # noqa: SIM905
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
SITUATIONS = (
    "economy_old",
    "basic_old",
    "business",
    "economy_insured",
    "basic_fresh",
    "economy_30_hours",
    "half_flown",
    "airline_cancelled",
    "delayed_today",
    "already_cancelled",
    "family_round_trip",
    "flown",
)


def make() -> dict[str, Any]:
    """The whole data set of the airline."""
    flights = _flights()
    data = {
        "now": NOW.isoformat(),
        "first_day": FIRST_DAY,
        "last_day": LAST_DAY,
        "airports": AIRPORTS,
        "flights": flights,
        "users": {},
        "reservations": {},
    }
    names = [(first, last) for first, last in zip(FIRST, LAST, strict=True)]
    serial = 0
    for i, (first, last) in enumerate(names):
        user_id = f"{first}_{last}_{1000 + (i * 2657 + 411) % 9000}".lower()
        user = {
            "user_id": user_id,
            "name": {"first_name": first, "last_name": last},
            "dob": _dob(i),
            "email": f"{first}.{last}@example.org".lower(),
            "membership": ("regular", "silver", "gold")[(i // 2 + i // 6) % 3],
            "payment_methods": _payments(i),
            "saved_passengers": [],
            "reservations": [],
        }
        data["users"][user_id] = user
        for k in range(3 if i % 3 == 0 else 2):
            situation = SITUATIONS[(2 * i + (k if k < 2 else 5)) % len(SITUATIONS)]
            reservation = _reservation(situation, serial, i, user, names, flights)
            data["reservations"][reservation["reservation_id"]] = reservation
            user["reservations"].append(reservation["reservation_id"])
            serial += 1
        mate = names[(i + 7) % len(names)]
        user["saved_passengers"] = [{"first_name": mate[0], "last_name": last, "dob": _dob(i + 40)}]
    return data


def _dob(i: int) -> str:
    return (date(1958, 1, 9) + timedelta(days=(i * 811) % 16000)).isoformat()


def _payments(i: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for k in range(1 + (i % 4 == 1)):
        number = f"credit_card_{1000000 + (i * 73421 + k * 5113) % 9000000}"
        out[number] = {
            "source": "credit_card",
            "id": number,
            "brand": ("visa", "mastercard")[(i + k) % 2],
            "last_four": f"{(i * 791 + k * 137 + 1234) % 10000:04d}",
        }
    for k in range(4 if i % 8 == 2 else 1 + i % 2):
        number = f"gift_card_{1000000 + (i * 51977 + k * 8089 + 7) % 9000000}"
        out[number] = {"source": "gift_card", "id": number, "amount": (40, 150, 260, 75)[(i + k) % 4]}
    for k in range(2 if i % 5 == 0 else i % 2):
        number = f"certificate_{1000000 + (i * 90901 + k * 6101 + 3) % 9000000}"
        out[number] = {"source": "certificate", "id": number, "amount": (100, 250, 500)[(i + k) % 3]}
    return out


def _flights() -> dict[str, Any]:
    flights: dict[str, Any] = {}
    number = 100
    for n, pair in enumerate(PAIRS.split(",")):
        for origin, destination in (pair.split(), pair.split()[::-1]):
            hours = 1.5 + abs(HOUR[origin] - HOUR[destination]) * 0.55
            for k in range(2 if n % 2 == 0 else 1):
                number += 1
                leave = 6 + (number * 5 + k * 7) % 13 + (number % 4) * 0.25
                base = int(60 + hours * 22 + number % 17)
                flights[f"LW{number}"] = {
                    "flight_number": f"LW{number}",
                    "origin": origin,
                    "destination": destination,
                    "scheduled_departure_time_est": _clock(leave),
                    "scheduled_arrival_time_est": _clock(leave + hours),
                    "prices": {"basic_economy": base, "economy": base + 48 + number % 9, "business": base * 3 + 20},
                    "seats": {"basic_economy": 4 + number % 9, "economy": 5 + number % 11, "business": 2 + number % 5},
                    "exceptions": {},
                }
    return flights


def _clock(hours: float) -> str:
    return f"{int(hours):02d}:{int(hours % 1 * 60):02d}:00"


def _reservation(situation: str, serial: int, i: int, user: dict, names: list, flights: dict) -> dict[str, Any]:
    cabin = "basic_economy" if situation.startswith("basic") else "business" if situation == "business" else "economy"
    round_trip = situation in ("half_flown", "family_round_trip") or (situation == "economy_old" and i % 2 == 0)
    count = {"family_round_trip": 2 + i % 3, "economy_insured": 1 + i % 2}.get(situation, 1)
    today = NOW.date()
    leave = today + timedelta(
        days={"half_flown": -3, "delayed_today": 0, "flown": -7, "airline_cancelled": 4}.get(situation, 5 + serial % 14)
    )
    numbers = sorted(flights)
    late = [f for f in numbers if flights[f]["scheduled_departure_time_est"] >= "16:30:00"]
    pool = late if situation == "delayed_today" else numbers
    out = flights[pool[(serial * 11 + 5) % len(pool)]]
    legs = [(out, leave)]
    if round_trip:
        back = [
            f
            for f in numbers
            if flights[f]["origin"] == out["destination"] and flights[f]["destination"] == out["origin"]
        ]
        legs.append((flights[back[0]], leave + timedelta(days=7 if situation == "half_flown" else 3)))
    if situation in ("airline_cancelled", "delayed_today"):
        out["exceptions"][leave.isoformat()] = (
            {"status": "cancelled"}
            if situation == "airline_cancelled"
            else {
                "status": "delayed",
                "estimated_departure_time_est": _clock(int(out["scheduled_departure_time_est"][:2]) + 2.5),
            }
        )
    hours_ago = {"basic_fresh": 3 + serial % 15, "economy_30_hours": 30 + serial % 9}.get(
        situation, 24 * (9 + serial % 12)
    )
    insured = (
        situation == "economy_insured"
        or (situation == "delayed_today" and i % 4 == 0)
        or (situation == "half_flown" and i % 2 == 1)
    )
    people = [(user["name"]["first_name"], user["name"]["last_name"], user["dob"])]
    people += [
        (names[(i + 3 + 5 * k) % len(names)][0], user["name"]["last_name"], _dob(i + 60 + k)) for k in range(count - 1)
    ]
    segments = [
        {
            "origin": f["origin"],
            "destination": f["destination"],
            "flight_number": f["flight_number"],
            "date": day.isoformat(),
            "price": f["prices"][cabin] - 5 + serial % 11,
        }
        for f, day in legs
    ]
    free = {"basic_economy": 0, "economy": 1, "business": 2}[cabin] + ("regular", "silver", "gold").index(
        user["membership"]
    )
    bags = min(free, 1 + serial % 2) * count
    paid = sum(s["price"] for s in segments) * count + (30 * count if insured else 0)
    card = next(iter(user["payment_methods"]))
    return {
        "reservation_id": _code(serial),
        "user_id": user["user_id"],
        "origin": out["origin"],
        "destination": out["destination"],
        "flight_type": "round_trip" if round_trip else "one_way",
        "cabin": cabin,
        "flights": segments,
        "passengers": [{"first_name": a, "last_name": b, "dob": c} for a, b, c in people],
        "payment_history": [{"payment_id": card, "amount": paid}],
        "created_at": (NOW - timedelta(hours=hours_ago, minutes=serial % 50)).isoformat(),
        "total_baggages": bags,
        "nonfree_baggages": 0,
        "insurance": "yes" if insured else "no",
        "status": "cancelled" if situation == "already_cancelled" else None,
    }


def _code(serial: int) -> str:
    value = serial * 7368787 + 3141593
    letters = "".join(LETTERS[value // 24**k % 24] for k in range(5))
    digit = str(serial * 7 % 10)
    at = serial % 5 + 1
    return letters[:at] + digit + letters[at:]


def text(data: dict[str, Any]) -> str:
    """JSON with one record per line, so that a change of the data is a readable change of the file."""
    parts = []
    for key, value in data.items():
        if key in ("flights", "users", "reservations"):
            rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    print(text(make()), end="")
