"""Makes `data.json`: `python -m agenteval.subjects.scripted.retail.generate > data.json`.

No chance is involved: every choice is arithmetic on positions, so that the file can be made again and compared (a test does).
Each customer has a pending and a delivered order and one in a state that rotates, so that each guard is met by several customers.
"""

from __future__ import annotations

import json
from itertools import product as combinations
from typing import Any

FIRST = """
    Adela Boris Carmen Dmitri Esther Fabian Gwen Hugo Irene Jasper Kira Leon Maeve Nils Opal Pablo Renata Silas Thea Umar Violet
    Wes Yara Zoran
    """.split()  # noqa: SIM905
LAST = """
    Abbott Brennan Coleman Draper Eastwood Fontaine Garner Hensley Ingram Jarvis Kendrick Lowell Maddox Norwood Osborne Prescott
    Quimby Ramsey Sawyer Thackeray Underhill Vaughn Winslow Yardley
    """.split()  # noqa: SIM905
STREETS = ("Alder Street", "Birch Avenue", "Cedar Lane", "Dogwood Drive", "Elm Street", "Fir Road")
CITIES = (
    ("Denver", "CO", "80203"), ("Austin", "TX", "73301"), ("Portland", "OR", "97201"), ("Tampa", "FL", "33602"),
    ("Madison", "WI", "53703"), ("Albany", "NY", "12207"), ("Boise", "ID", "83702"), ("Tucson", "AZ", "85701"),
)  # fmt: skip
PRODUCTS: dict[str, dict[str, tuple[str, ...]]] = {
    "desk lamp": {"colour": ("black", "white", "green"), "power": ("usb", "battery")},
    "backpack": {"colour": ("grey", "navy"), "size": ("small", "medium", "large")},
    "kettle": {"material": ("steel", "glass"), "volume": ("1.2l", "1.7l")},
    "headphones": {"type": ("wired", "wireless"), "colour": ("black", "silver")},
    "running shoes": {"size": ("8", "9", "10"), "colour": ("red", "blue")},
    "office chair": {"material": ("leather", "mesh"), "colour": ("black", "brown")},
    "jigsaw puzzle": {"theme": ("animals", "harbor"), "pieces": ("500", "1000")},
    "water bottle": {"volume": ("500ml", "750ml"), "colour": ("orange", "purple")},
}
THIRD = ("processed", "cancelled", "pending", "delivered")


def catalogue() -> dict[str, Any]:
    """Products by id; each combination of options is an item with a price, and the last but one is sold out."""
    out: dict[str, Any] = {}
    for n, (name, options) in enumerate(PRODUCTS.items()):
        items = {}
        every = list(combinations(*options.values()))
        for k, values in enumerate(every):
            items[str(1_100_000_000 + 7_654_321 * n + 1_313 * k)] = {
                "options": dict(zip(options, values, strict=True)),
                "price": 24 + 11 * n + 5 * k,
                "available": k != len(every) - 2,
            }
        out[str(5_200_000_000 + 41_177 * n)] = {"name": name, "variants": items}
    return out


def make() -> dict[str, Any]:
    """Users, orders and products."""
    products = catalogue()
    ids = list(products)
    users: dict[str, Any] = {}
    orders: dict[str, Any] = {}
    for n, (first, last) in enumerate(zip(FIRST, LAST, strict=True)):
        user_id = f"{first}_{last}_{2100 + 37 * n}".lower()
        city, state, code = CITIES[n % len(CITIES)]
        card, gift, pal = (
            f"credit_card_{4_400_000 + 911 * n}",
            f"gift_card_{7_700_000 + 613 * n}",
            f"paypal_{3_300_000 + 419 * n}",
        )
        methods: dict[str, Any] = {card: {"source": "credit_card", "last_four": f"{(1733 * (n + 3)) % 10000:04d}"}}
        if n % 3 != 2:
            methods[gift] = {"source": "gift_card", "balance": 240 if n % 3 else 18 if n % 2 == 0 else 75}
        if n % 3 != 1:
            methods[pal] = {"source": "paypal"}
        address = {"street": f"{12 + 7 * n} {STREETS[n % len(STREETS)]}", "city": city, "state": state, "zip": code}
        users[user_id] = {
            "user_id": user_id,
            "name": {"first_name": first, "last_name": last},
            "email": f"{first}.{last}{(n * 29) % 90 + 10}@example.com".lower(),
            "address": address,
            "payment_methods": methods,
            "orders": [],
        }
        paid = list(methods)
        for k, status in enumerate(("pending", "delivered", THIRD[n % 4])):
            order_id = f"#W{2_000_000 + (n * 3 + k) * 86_423 % 7_000_000:07d}"
            chosen = []
            for j in range(2 if k != 1 else 3):
                pid = ids[(n + 3 * k + 2 * j) % len(ids)]
                variants = list(products[pid]["variants"])
                item = variants[(n + j) % (len(variants) - 2)]
                chosen.append({
                    "item_id": item, "product_id": pid, "name": products[pid]["name"],
                    "options": products[pid]["variants"][item]["options"], "price": products[pid]["variants"][item]["price"],
                })  # fmt: skip
            orders[order_id] = {
                "order_id": order_id, "user_id": user_id, "status": status, "address": address, "items": chosen,
                "payment": paid[(n + k) % len(paid)], "total": sum(i["price"] for i in chosen),
            }  # fmt: skip
            users[user_id]["orders"].append(order_id)
    return {"products": products, "users": users, "orders": orders}


def text(data: dict[str, Any]) -> str:
    """The file's bytes: one user, order or product a line."""
    parts = []
    for key, table in data.items():
        rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in table.items())
        parts.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    print(text(make()), end="")
