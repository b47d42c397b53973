"""How an amount is paid: one card for a change, a mixture for a booking, always from the profile."""

from __future__ import annotations

from typing import Any, NoReturn

from agenteval.subjects.scripted.engine import Talk

KIND = {"credit_card": "credit card", "gift_card": "gift card", "certificate": "certificate"}
MAX_GIFT_CARDS = 3


def describe(method: dict[str, Any]) -> str:
    """The method in words, with its id."""
    if method["source"] == "credit_card":
        return f"{method['brand'].title()} ending in {method['last_four']} ({method['id']})"
    return f"{KIND[method['source']]} {method['id']} (${method['amount']})"


def item_payment(method: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return ("item_payment", {"payment": describe(method)})


def of(user: dict[str, Any], kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    """The stored methods of some kinds."""
    return [m for m in user["payment_methods"].values() if m["source"] in kinds]


def _ask(s: Talk, act: str, methods: list[dict[str, Any]], **values: Any) -> NoReturn:
    """Ask for a method with a list, whose order gives "the first one" its meaning."""
    s.task.slots["_offered"] = [m["id"] for m in methods]
    s.ask("payment", act, items=[item_payment(m) for m in methods], **values)


def resolve(s: Talk, user: dict[str, Any], kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    """The methods that the user's words mean; asks where they mean none or several."""
    slots, out = s.task.slots, []
    for ref in slots.get("payments") or []:
        found = [m for m in user["payment_methods"].values() if _means(ref, m)]
        if not s.guard("payment_in_profile", bool(found), value=ref.get("id") or ref.get("word")):
            slots["payments"] = None
            _ask(s, "payment_unknown", of(user, kinds))
        if not found:
            found = [
                {
                    "source": "credit_card",
                    "id": ref.get("id") or ref.get("word", "card").replace(" ", "_"),
                    "brand": ref.get("word", "card"),
                    "last_four": ref.get("digits") or (ref.get("id") or "0000")[-4:],
                }
            ]
        if len(found) > 1:
            # A smaller or larger one, all of them, or the first, the second: only those settle it without a question.
            low, place = s.reading.text.lower(), s.reading.slots.get("ordinal")
            by_size = sorted((m for m in found if "amount" in m), key=lambda m: m["amount"])
            if by_size and ("smallest" in low or "smaller" in low):
                found = by_size[:1]
            elif by_size and ("largest" in low or "larger" in low or "biggest" in low):
                found = by_size[-1:]
            elif place and place <= len(found):
                found = [found[place - 1 if place > 0 else -1]]
            elif ref.get("word", "").endswith("s") or "both" in low or "all" in low.split():
                pass
            elif not s.guard("ambiguous_payment", False):
                kind = found[0]["source"]
                slots["payments"] = [r for r in slots["payments"] if r is not ref] or None
                slots["_keep"] = True
                _ask(s, "which_payment", found, kind=KIND[kind])
            else:
                found = found[:1]
            if len(found) == 1:
                # The next turns know it by its id.
                slots["payments"] = [{"id": found[0]["id"]} if r is ref else r for r in slots["payments"]]
        elif ref.get("source"):
            s.guard("ambiguous_payment", True)
        out += [m for m in found if m not in out]
    return out


def _means(ref: dict[str, str], method: dict[str, Any]) -> bool:
    if "id" in ref:
        return method["id"] == ref["id"]
    if ref["source"] not in (method["source"], "any"):
        return False
    digits = ref.get("digits")
    if digits and not (method["id"].endswith(digits) or digits in (method.get("last_four"), str(method.get("amount")))):
        return False
    if "worth" in ref and str(method.get("amount")) != ref["worth"]:
        return False
    brand = ref.get("word", "").replace(" ", "")
    return brand not in ("visa", "mastercard", "amex") or method.get("brand") == brand


def for_change(s: Talk, user: dict[str, Any], amount: int, what: str) -> dict[str, Any] | None:
    """The single gift or credit card that pays or receives the difference of a change; None when there is none."""
    if amount == 0:
        return None
    kinds = ("credit_card", "gift_card")
    slots = s.task.slots
    if not s.guard("payment_required", bool(slots.get("payments"))):
        act = "ask_payment_change" if amount > 0 else "ask_refund_method"
        _ask(s, act, of(user, kinds), amount=abs(amount), what=what)
    methods = resolve(s, user, kinds) or [next(m for m in user["payment_methods"].values() if m["source"] in kinds)]
    if not s.guard("no_certificate_for_changes", all(m["source"] != "certificate" for m in methods)):
        slots["payments"] = None
        _ask(s, "no_certificate", of(user, kinds))
    if not s.guard("one_method_for_change", len(methods) == 1):
        slots["payments"] = None
        _ask(s, "one_method", methods)
    method = methods[0]
    if (
        amount > 0
        and method["source"] == "gift_card"
        and not s.guard("gift_card_balance", method["amount"] >= amount, value=method["id"])
    ):
        slots["payments"] = None
        s.ask("payment", "gift_card_short", payment=describe(method), amount=amount)
    return method


def for_booking(s: Talk, user: dict[str, Any], total: int) -> list[dict[str, Any]]:
    """Certificates, gift cards and a credit card, in this order, as amounts that add up to the total."""
    slots = s.task.slots
    if not s.guard("payment_required", bool(slots.get("payments"))):
        _ask(s, "ask_payment_booking", of(user, tuple(KIND)), amount=total)
    methods = resolve(s, user, tuple(KIND)) or [
        next(m for m in user["payment_methods"].values() if m["source"] == "credit_card")
    ]
    for guard, source, most in (
        ("one_certificate", "certificate", 1),
        ("one_credit_card", "credit_card", 1),
        ("max_gift_cards", "gift_card", MAX_GIFT_CARDS),
    ):
        count = sum(m["source"] == source for m in methods)
        if not s.guard(guard, count <= most, count=count):
            slots["payments"] = None
            s.ask("payment", f"too_many_{source}s")
    left, out = total, []
    for method in sorted(methods, key=lambda m: ("certificate", "gift_card", "credit_card").index(m["source"])):
        amount = left if method["source"] == "credit_card" else min(left, int(method["amount"]))
        if amount > 0:
            out.append({"payment_id": method["id"], "amount": amount})
            left -= amount
    if not s.guard("payments_cover_total", left == 0, missing=left):
        slots["_short"], slots["payments"] = slots["payments"], None
        s.ask("payment", "payments_short", amount=total, missing=left)
    return out
