"""Makes `data.json`: `python -m agenteval.subjects.scripted.telecom.generate > data.json`.

No chance is involved: every choice is arithmetic on positions. The states of lines and bills rotate over the customers.
"""

from __future__ import annotations

import json
from typing import Any

TODAY = "2025-06-11"
FIRST = """
    Aaron Bea Curtis Dana Edith Frank Gina Harold Ines Jude Katya Lionel Mira Noel Olive Pierce Rhea Stan Tess Ulla Vince Wilma
    """.split()  # noqa: SIM905
LAST = """
    Alcott Barlow Chaney Dempsey Everett Fowler Gaines Hobbs Irwin Jessup Kemp Lockhart Mercer Nolan Ogden Pruitt Rollins Stark
    Tandy Upton Vickers Wexler
    """.split()  # noqa: SIM905
PLANS = {
    "Basic": {"name": "Basic", "price": 25, "data_gb": 3, "refuel_price": 5},
    "Plus": {"name": "Plus", "price": 40, "data_gb": 10, "refuel_price": 4},
    "Family": {"name": "Family", "price": 65, "data_gb": 25, "refuel_price": 3},
    "Traveller": {"name": "Traveller", "price": 55, "data_gb": 15, "refuel_price": 6},
}
STATES = ("active", "suspended", "active", "ended", "full")


def make() -> dict[str, Any]:
    """Customers with lines and bills, and plans."""
    customers: dict[str, Any] = {}
    lines: dict[str, Any] = {}
    bills: dict[str, Any] = {}
    plans = list(PLANS)
    for n, (first, last) in enumerate(zip(FIRST, LAST, strict=True)):
        customer_id = f"C{4100 + 23 * n}"
        birth = f"{1958 + (n * 7) % 45}-{n % 12 + 1:02d}-{(n * 5) % 27 + 1:02d}"
        customers[customer_id] = {
            "customer_id": customer_id,
            "name": f"{first} {last}",
            "dob": birth,
            "lines": [],
            "bills": [],
        }
        for k in range(2 if n % 3 != 2 else 1):
            state = STATES[(n + 2 * k) % len(STATES)]
            line_id, plan = f"L{1200 + 17 * n + 7 * k}", plans[(n + k) % len(plans)]
            limit = PLANS[plan]["data_gb"]
            lines[line_id] = {
                "line_id": line_id, "customer_id": customer_id, "phone_number": f"555-{210 + n:03d}-{4000 + 37 * n + 11 * k:04d}",
                "plan": plan, "status": "suspended" if state in ("suspended", "ended") else "active",
                "contract_end": "2025-03-31" if state == "ended" else f"2026-{(n + k) % 12 + 1:02d}-28", "roaming": (n + k) % 2 == 0,
                "data_used_gb": limit if state == "full" else round(limit * (0.2 + 0.1 * ((n + k) % 5)), 1), "data_added_gb": 0,
            }  # fmt: skip
            customers[customer_id]["lines"].append(line_id)
        due = any(
            lines[i]["status"] == "suspended" and lines[i]["contract_end"] > TODAY
            for i in customers[customer_id]["lines"]
        )
        for k, status in enumerate(("paid", "overdue" if due or n % 4 == 3 else "issued")):
            bill_id = f"B{7300 + 19 * n + k}"
            bills[bill_id] = {"bill_id": bill_id, "customer_id": customer_id, "amount": 31 + (n * 7 + k * 13) % 60, "status": status,
                              "due": f"2025-0{4 + k}-15"}  # fmt: skip
            customers[customer_id]["bills"].append(bill_id)
    return {"plans": PLANS, "customers": customers, "lines": lines, "bills": bills}


def text(data: dict[str, Any]) -> str:
    """The file's bytes: one record a line."""
    parts = []
    for key, table in data.items():
        rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in table.items())
        parts.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    print(text(make()), end="")
