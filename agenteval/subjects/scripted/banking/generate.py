"""Makes `data.json`: `python -m agenteval.subjects.scripted.banking.generate > data.json`. Arithmetic on positions, no chance."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

TODAY = "2025-05-20"
FIRST = [
    "Ada",
    "Basil",
    "Clara",
    "Derek",
    "Elsa",
    "Felix",
    "Grace",
    "Henry",
    "Iris",
    "Jonah",
    "Kate",
    "Luca",
    "Molly",
    "Nathan",
    "Oona",
    "Peter",
    "Ruth",
    "Simon",
    "Tilda",
    "Victor",
    "Willa",
    "York",
]
LAST = """
    Ashdown Bexley Corwin Dunmore Ellery Farnham Gillam Hartley Islip Jarrow Kelso Linden Marlow Neville Oakham Penrose Radley Selby Thorpe Verney
    Wareham Yelland
    """.split()  # noqa: SIM905
WORDS = ["maple", "anchor", "velvet", "copper", "lantern", "saffron"]
MERCHANTS = ("Corner Grocer", "Blue Fuel", "Stream Box", "Harbor Books", "Noodle Bar")
PAYEES = ("City Power", "Elm Rentals", "Water Works")


def make() -> dict[str, Any]:
    """Customers, accounts, cards, transactions."""
    customers: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    cards: dict[str, Any] = {}
    transactions: dict[str, Any] = {}
    for n, (first, last) in enumerate(zip(FIRST, LAST, strict=True)):
        key = f"K{3010 + 17 * n}"
        customers[key] = {
            "customer_id": key, "name": f"{first} {last}", "dob": f"{1955 + (n * 11) % 48}-{(n * 5) % 12 + 1:02d}-{(n * 7) % 28 + 1:02d}",
            "code_word": WORDS[n % len(WORDS)], "email": f"{first}.{last}@example.org".lower(), "phone": f"555-010-{2000 + 31 * n}",
            "address": f"{10 + 3 * n} Quay Street, Norwick", "accounts": [], "cards": [], "payees": [PAYEES[n % 3], PAYEES[(n + 1) % 3]],
        }  # fmt: skip
        for k in range(2):
            account = f"A-{20417 + 211 * n + 37 * k}"
            accounts[account] = {
                "account_id": account, "customer_id": key, "kind": ("Basic checking", "Plus checking", "savings")[(n + k) % 3] if k == 0 else "savings",
                "balance": 0 if (k, n % 4) in ((1, 0), (0, 2)) else 240 + (n * 173 + k * 611) % 2400, "opened": "2025-03-02" if n % 5 == 4 else f"20{14 + n % 9}-06-01",
                "waived": "2025-01-14" if n % 6 == 4 else "",
            }  # fmt: skip
            customers[key]["accounts"].append(account)
            for j in range(3):
                tid = f"T{50210 + 71 * n + 29 * k + 7 * j}"
                age = (4, 70, 120)[j] if j or n % 3 else 4
                transactions[tid] = {
                    "transaction_id": tid, "account_id": account, "date": (date.fromisoformat(TODAY) - timedelta(days=age + n % 5)).isoformat(),
                    "merchant": MERCHANTS[(n + j) % len(MERCHANTS)], "amount": 9 + (n * 23 + j * 31) % 190, "status": "posted" if j or k == 0 else "pending",
                    "disputed": j == 0 and k == 0 and n % 4 == 2,
                }  # fmt: skip
            last4 = f"{1207 + 409 * n + 57 * k:04d}"
            cards[last4] = {"card": last4, "customer_id": key, "account_id": account, "kind": "credit" if k else "debit", "limit": 800 + 100 * (n % 7) if k else 0,
                            "status": "frozen" if (n + k) % 5 == 3 else "active"}  # fmt: skip
            customers[key]["cards"].append(last4)
    return {"customers": customers, "accounts": accounts, "cards": cards, "transactions": transactions}


def text(data: dict[str, Any]) -> str:
    """The file's bytes: one record a line."""
    parts = []
    for key, table in data.items():
        rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in table.items())
        parts.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    print(text(make()), end="")
