"""Values that an airline's customer names: ids by their shape, places, cabins, counts, payments, people, claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted import slots
from agenteval.subjects.scripted.airline import values
from agenteval.subjects.scripted.understand import patterns

_USER = re.compile(r"\b[a-z]+_[a-z]+_\d{3,5}\b", re.IGNORECASE)
_USER_LIKE = re.compile(r"\b[a-z]{2,}[._-]?[a-z]*[._-]?\d{3,5}\b|^\W*[a-z]{2,} [a-z]{2,} \d{3,5}\W*$", re.IGNORECASE)
_FLIGHT = re.compile(r"\bLW[\s-]?(\d{1,4})\b", re.IGNORECASE)
_CODE = re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{6}\b|\b[A-Z]{6}\b")
_CODE_LIKE = re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{4,9}\b|\b\d{4,9}\b")
_NO_CODE = re.compile(
    r"\d+(?:HRS?|HOURS?|MINS?|DAYS?|BAGS?|USD|AM|PM|ST|ND|RD|TH)"
    r"|(?:JAN|FEB|MAR|APR|MAY|JUNE?|JULY?|AUG|SEPT?|OCT|NOV|DEC)\d+"
)
_SHOUTED = frozenset(
    (
        "CANCEL",
        "PLEASE",
        "CHANGE",
        "FLIGHT",
        "REFUND",
        "URGENT",
        "TICKET",
        "RETURN",
        "TRAVEL",
        "ALWAYS",
        "NUMBER",
        "REALLY",
    )
)
_PAYMENT = re.compile(r"\b(credit_card|gift_card|certificate)_\d{3,9}\b", re.IGNORECASE)
_PAYMENT_WORDS = re.compile(
    r"(?:\$\s?(?P<worth>\d{2,4})\s+)?"
    r"\b(?:(?P<credit_card>credit card|debit card|(?:the |my |on |by |with )card|visa(?! for)|master ?card|amex"
    r"|card ending)"
    r"|(?P<gift_card>gift[ -]?cards?)|(?P<certificate>(?:travel )?certificates?|vouchers?))"
    r"(?:\s+(?:card|ending|number|in|with|of|no\.?|the|#|id)){0,4}(?:\s+\W?(?P<digits>\d{2,7}))?\b",
    re.IGNORECASE,
)
_OTHER_PAYMENT = re.compile(
    r"\b(paypal|cash|bitcoin|bank transfer|cheque|check by mail|apple pay|google pay|miles|points|klarna)\b",
    re.IGNORECASE,
)
_CABIN = re.compile(
    r"\b(basic[ _-]?economy|basic|business(?! (?:trip|meeting|travel|reason))|biz|economy|eco|coach|first[ -]class"
    r"|premium(?:[ -]economy)?|main cabin)\b",
    re.IGNORECASE,
)
# What is taken back in the same breath: "not the 24th, the 25th", "Boston instead of New York".
_TAKEN_BACK = re.compile(
    r"\b(?:not|instead of|rather than) (?:(?:on|the|for|in|to|from|my|a|flight|reservation|with) )*"
    rf"(?:{slots.DATE}|LW\d{{3}}|(?-i:[A-Z]{{3}}|[A-Z0-9]{{6}}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
    r"|(?:basic )?economy|business|one[- ]way|round[- ]trip|visa|mastercard|gift card|credit card|certificate)\b",
    re.IGNORECASE,
)
_PREFER = {
    "cheapest": r"\bcheap(?:er|est)\b|\blowest (?:price|fare)\b|\bleast expensive\b",
    "earliest": r"\bearliest\b|\b(?:anything|something|one) earlier\b|\bearlier one\b|\bfirst flight\b",
    "latest": r"\blatest\b|\b(?:anything|something|one) later\b|\blater one\b|\blast flight\b",
    "any": r"^\W*(?:either|any|whichever|whatever)(?: (?:one|of them|of those|is fine|works|flight))*\W*$"
    r"|\byou (?:choose|pick|decide)\b|\bi don't (?:care|mind)\b",
    "fastest": r"\bfastest\b|\bquickest\b|\bshortest\b",
}


def extract(text: str, asked: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """All values in an utterance. `asked` is the value that the agent asked for; it settles what is otherwise open."""
    words = patterns(Path(__file__).with_name("language.yaml"))
    left = _TAKEN_BACK.sub(" ", text)
    text = left if re.search(r"\w", left) else text
    low = text.lower()
    users = list(dict.fromkeys(m.group().lower() for m in _USER.finditer(text)))
    rest = _PAYMENT.sub(" ", _USER.sub(" ", text))
    codes = _codes(_FLIGHT.sub(" ", rest), data, asked == "reservation")
    found_dates = slots.dates(rest, data["now"][:10])
    out: dict[str, Any] = {
        "users": users,
        "flights": list(dict.fromkeys(f"LW{m.group(1)}" for m in _FLIGHT.finditer(text)))
        or ([f"LW{low.strip()}"] if asked == "flights" and re.fullmatch(r"\s*\d{3}\s*", low) else []),
        "reservations": codes,
        "payments": _payments(text, asked),
        "myself": bool(re.search(r"\bme and [A-Z]|\b[A-Z][\w-]+ and (?:me|myself)\b", text))
        or (asked in ("passengers", "passenger_count") and bool(re.search(r"\b(?:myself|me|i am|i'm)\b", low))),
        "cabin": _cabins(low),
        "trip_type": _trip_type(low, asked),
        "claims": sorted(k for k, p in words["claims"].items() if p.search(low)),
        "reason": _first(words["reasons"], low) or (asked == "reason" and _first(words["unstated"], low)) or None,
        "complaint": _first(words["complaints"], low)
        or (asked == "complaint" and _first(words["unstated"], low))
        or None,
        "ordinal": slots.ordinal(low),
        "prefer": next((w for w, said in _PREFER.items() if re.search(said, low)), None),
        "clock": slots.clock(low),
        "stops": "onestop"
        if re.search(r"\b(?:one|1)[- ]stop|connecting|connection|layover|with stops?\b", low)
        else "direct"
        if re.search(r"\b(?:non-?stop|direct)\b", low)
        else None,
        "insurance": _insurance(low, asked),
        "amount": _amount(low),
        "one_segment": bool(
            re.search(
                r"\b(?:only|just)\b.{0,25}\b(?:one (?:leg|flight|segment|passenger)|outbound|return|first|second"
                r"|way (?:out|back)|leg|me|my (?:wife|husband|companion|son|daughter))\b"
                r"|\b(?:outbound|return|first|second) (?:leg|flight|segment)?\s?only\b",
                low,
            )
        ),
        "leg": "return"
        if re.search(r"\breturn(?:ing)?\b|\bway back\b|\binbound\b|\bcoming back\b|\bback on\b", low)
        and "return trip" not in low
        else "outbound"
        if re.search(r"\boutbound\b|\bway out\b|\bdepart(?:ure|ing)\b|\bfirst leg\b|\bgoing\b|\boutgoing\b", low)
        else None,
        "shift": _shift(low),
    }
    out["dates"] = found_dates
    out.update(values.places(rest, rest.lower(), asked, data["airports"]))
    out.update(values.counted(rest.lower(), asked, found_dates))
    out["people"] = values.people(rest, asked, found_dates)
    if asked == "user_id" and not users:
        like = _USER_LIKE.search(_CODE.sub(" ", _FLIGHT.sub(" ", rest)))
        out["user_like"] = like.group() if like else None
    if asked == "reservation" and not out["reservations"]:
        like = [
            m.group()
            for m in _CODE_LIKE.finditer(_FLIGHT.sub(" ", rest))
            if not any(m.group() in f.raw for f in found_dates)
        ]
        out["reservation_like"] = like[0].upper() if like else None
    return out


def _codes(text: str, data: dict[str, Any], asked: bool) -> list[str]:
    """Words in the form of a reservation ID, also of one that does not exist; letters alone only where one is named."""
    shouting = text.isupper() and len(text) > 12
    named = re.compile(r"\b(?:reservation|booking|trip|id|code|number)\W*(?:id |number |code |is )*\W*$", re.IGNORECASE)
    return [
        code
        for code, at in {m.group().upper(): m.start() for m in _CODE.finditer(text)}.items()
        if code in data["reservations"]
        or not (
            _NO_CODE.fullmatch(code)
            or (code.isalpha() and (shouting or code in _SHOUTED or not (asked or named.search(text[:at]))))
        )
    ]


def _first(table: dict[str, re.Pattern[str]], low: str) -> str | None:
    """The first kind in the order of the file that is found at all."""
    return next((name for name, pattern in table.items() if pattern.search(low)), None)


def _payments(text: str, asked: str | None) -> list[dict[str, str]]:
    out: list[tuple[int, dict[str, str]]] = [(m.start(), {"id": m.group().lower()}) for m in _PAYMENT.finditer(text)]
    blank = _PAYMENT.sub(lambda m: " " * len(m.group()), text)
    for m in _PAYMENT_WORDS.finditer(blank):
        kind = next(k for k in ("credit_card", "gift_card", "certificate") if m.group(k))
        ref = {"source": kind, "word": m.group(kind).lower()}
        if m.group("digits"):
            ref["digits"] = m.group("digits")
        if m.group("worth"):
            ref["worth"] = m.group("worth")
        out.append((m.start(), ref))
    out += [(m.start(), {"source": "other", "word": m.group().lower()}) for m in _OTHER_PAYMENT.finditer(blank)]
    if not out and asked in ("payment", "confirm"):
        ending = r"\bending (?:in |with )?(\d{4,7})\b" + (r"|\$?\b(\d{2,7})\b" if asked == "payment" else "")
        out = [(m.start(), {"source": "any", "digits": m.group(m.lastindex)}) for m in re.finditer(ending, text)]
    if not out and asked == "payment" and re.search(r"\bcard\b", text, re.IGNORECASE):
        out.append((0, {"source": "credit_card", "word": "card"}))
    return [ref for _, ref in sorted(out, key=lambda item: item[0])]


def _cabins(low: str) -> list[str]:
    names = {"basic": "basic_economy", "coach": "economy", "eco": "economy", "biz": "business", "main cabin": "economy"}
    found = [re.sub(r"[ -]", "_", m.group(1)) for m in _CABIN.finditer(low)]
    found = [names.get(c.replace("_", " "), names.get(c, c)) for c in found]
    return [c for c in found if c != "first_class" or "first class" in low or "first-class" in low]


def _shift(low: str) -> int | None:
    """ "A day later", "two days earlier", "the next day": days to move."""
    match = re.search(rf"({slots.NUMBER})\s+days?\s+(later|earlier|after|before|sooner|forward|back)\b", low)
    if match:
        return slots.number(match.group(1)) * (1 if match.group(2) in ("later", "after", "back") else -1)
    return (
        1
        if re.search(r"\bthe (?:next|following) day\b|\bthe day after\b(?! tomorrow)", low)
        else -1
        if re.search(r"\bthe (?:previous day|day before)\b", low)
        else None
    )


def _amount(low: str) -> int | None:
    match = re.search(r"\$\s?(\d[\d,]{0,6})|\b(\d{2,5}) ?(?:dollars|usd|bucks)\b", low)
    return int(match.group(match.lastindex).replace(",", "")) if match else None


def _trip_type(low: str, asked: str | None) -> str | None:
    if asked == "trip_type" and re.search(r"\breturn\b|\brt\b|\bthere and back\b|\bboth\b|\btwo[- ]way\b", low):
        return "round_trip"
    if asked == "trip_type" and re.search(r"\bow\b|\bsingle\b|\b(?:just|only) (?:out|one|there)\b", low):
        return "one_way"
    if re.search(r"\b\bone[- ]?way\b|\bno return\b|\bno return\b|\bsingle (?:trip|ticket)\b", low):
        return "one_way"
    return (
        "round_trip"
        if re.search(
            r"\bround[- ]?trip\b|\breturn (?:trip|ticket|flight too)\b|\bboth ways\b|\band back\b"
            r"|\breturning (?:on|the)\b",
            low,
        )
        else None
    )


def _insurance(low: str, asked: str | None) -> str | None:
    if "insurance" in low or "insured" in low:
        return (
            "no"
            if re.search(r"\b(?:no|without|don't|do not|not|skip|decline|nor|or) (?:\w+ ){0,4}insur", low)
            or re.search(r"insurance\W+(?:no|none|not)\b", low)
            else "yes"
        )
    return None
