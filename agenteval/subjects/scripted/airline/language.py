"""Values that an airline's customer names: ids by their shape, places, cabins, counts, payments, people, claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted import slots
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
    r"\b(?:(?P<credit_card>credit card|debit card|(?:the |my )card|visa(?! for)|master ?card|amex|card ending)"
    r"|(?P<gift_card>gift[ -]?cards?)|(?P<certificate>(?:travel )?certificates?|vouchers?))"
    r"(?:\s+(?:card|ending|number|in|with|of|no\.?|the|#|id)){0,4}(?:\s+\W?(?P<digits>\d{2,7}))?\b",
    re.IGNORECASE,
)
_OTHER_PAYMENT = re.compile(
    r"\b(paypal|cash|bitcoin|bank transfer|cheque|check by mail|apple pay|google pay|miles|points|klarna)\b",
    re.IGNORECASE,
)
_CABIN = re.compile(
    r"\b(basic[ _-]?economy|basic|business(?! (?:trip|meeting|travel|reason))|economy|coach|first[ -]class"
    r"|premium(?:[ -]economy)?|main cabin)\b",
    re.IGNORECASE,
)
# What is taken back in the same breath: "not the 24th, the 25th", "Boston instead of New York".
_TAKEN_BACK = re.compile(
    r"\b(?:not|instead of|rather than) (?:(?:on|the|for|in|to|from|my|a|flight|reservation|with) )*"
    rf"(?:{slots.DATE}|LW\d{{3}}|(?-i:[A-Z]{{3}}|[A-Z0-9]{{6}}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)|(?:basic )?economy|business"
    r"|one[- ]way|round[- ]trip|visa|mastercard|gift card|credit card|certificate)\b",
    re.IGNORECASE,
)
_BAGS = r"bags?|baggages?|suitcases?|luggage|pieces"
_PREFER = {
    "cheapest": r"\bcheap(?:er|est)\b|\blowest (?:price|fare)\b|\bleast expensive\b",
    "earliest": r"\bearliest\b|\bfirst flight\b",
    "latest": r"\blatest\b|\blast flight\b",
    "fastest": r"\bfastest\b|\bquickest\b|\bshortest\b",
}
_PEOPLE = r"passengers?|people|persons?|travell?ers?|adults?|seats?|tickets?|of us"
_PLACE = r"((?:[A-Z][\w.'-]+)(?: [A-Z][\w.'-]+)?)"
_CITY_WORDS = {
    "nyc": "JFK",
    "new york city": "JFK",
    "kennedy": "JFK",
    "o'hare": "ORD",
    "ohare": "ORD",
    "frisco": "SFO",
    "philly": "PHL",
    "la": "LAX",
    "l.a.": "LAX",
    "dallas fort worth": "DFW",
    "dallas-fort worth": "DFW",
}
_LOWER_NAME = re.compile(
    r"(?:^\W*|\b(?:is|be|to|named|called|name|it's|its|passenger|and)\s+)([a-z'-]{2,}) ([a-z'-]{2,})(?=\W|$)",
    re.IGNORECASE,
)
_NO_NAME = frozenset(
    """
    i i'm i'd i've my the a an hi hello hey yes no ok okay please thanks thank you sure and for from to in on at
    with it is this that change replace remove add correct update book cancel flight flights reservation user id new
    old passenger passengers name names date birth dob born economy business basic class credit card gift
    certificate travel insurance mastercard visa first last option one two three four five just only monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october
    november december york francisco angeles san los gold silver regular member round trip way our his her their use
    atlanta boston chicago dallas denver miami philadelphia phoenix seattle jan feb mar apr jun jul aug sep sept oct nov dec
    that's that right correct looks good sounds go ahead same birthday want need pay also can could would what which when where how not dear good morning actually let make passenger's lw
    """.split()  # noqa: SIM905
)


def extract(text: str, asked: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """All values in an utterance. `asked` is the value that the agent asked for; it settles what is otherwise open."""
    words = patterns(Path(__file__).with_name("language.yaml"))
    left = _TAKEN_BACK.sub(" ", text)
    text = left if re.search(r"\w", left) else text
    low = text.lower()
    users = list(dict.fromkeys(m.group().lower() for m in _USER.finditer(text)))
    rest = _PAYMENT.sub(" ", _USER.sub(" ", text))
    codes = _codes(_FLIGHT.sub(" ", rest), data)
    found_dates = slots.dates(rest, data["now"][:10])
    out: dict[str, Any] = {
        "users": users,
        "flights": list(dict.fromkeys(f"LW{m.group(1)}" for m in _FLIGHT.finditer(text))),
        "reservations": codes,
        "payments": _payments(text, asked),
        "myself": asked == "passengers" and bool(re.search(r"\b(?:myself|me|i am|i'm)\b", low)),
        "cabin": _cabins(low),
        "trip_type": _trip_type(low),
        "claims": sorted(k for k, p in words["claims"].items() if p.search(low)),
        "reason": _first(words["reasons"], low) or (asked == "reason" and _first(words["unstated"], low)) or None,
        "complaint": _first(words["complaints"], low)
        or (asked == "complaint" and _first(words["unstated"], low))
        or None,
        "ordinal": slots.ordinal(low),
        "prefer": next((w for w, said in _PREFER.items() if re.search(said, low)), None),
        "stops": "onestop"
        if re.search(r"\b(?:one|1)[- ]stop|connecting|connection|layover|with stops?\b", low)
        else "direct"
        if re.search(r"\b(?:non-?stop|direct)\b", low)
        else None,
        "insurance": _insurance(low, asked),
        "amount": next((int(m.replace(",", "")) for m in re.findall(r"\$\s?(\d[\d,]{0,6})", low)), None),
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
    out.update(_places(rest, rest.lower(), asked, data["airports"]))
    out.update(_counted(rest.lower(), asked, found_dates))
    out["people"] = _people(rest, asked, found_dates)
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


def _codes(text: str, data: dict[str, Any]) -> list[str]:
    """Words in the form of a reservation ID, also of one that does not exist."""
    shouting = text.isupper() and len(text) > 12
    found = [m.group().upper() for m in _CODE.finditer(text)]
    return [
        code
        for code in dict.fromkeys(found)
        if code in data["reservations"]
        or not (_NO_CODE.fullmatch(code) or (shouting and code.isalpha()) or code in _SHOUTED)
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
    names = {"basic": "basic_economy", "coach": "economy", "main cabin": "economy"}
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


def _trip_type(low: str) -> str | None:
    if re.search(r"\bone[- ]?way\b|\bno return\b|\bsingle (?:trip|ticket)\b", low):
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


def _places(text: str, low: str, asked: str | None, airports: dict[str, str]) -> dict[str, Any]:
    names = {**{city.lower(): code for code, city in airports.items()}, **_CITY_WORDS}
    pattern = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    spans = [(m.start(), m.end(), names[m.group(1)]) for m in re.finditer(rf"(?<![\w'])({pattern})(?![\w'])", low)]
    spans += [
        (m.start(), m.end(), m.group().upper())
        for m in re.finditer(r"\b[A-Za-z]{3}\b", text)
        if m.group().upper() in airports
    ]
    spans.sort()
    # "New York (JFK)" names one airport twice; "JFK to New York" is a route that goes nowhere.
    hits = [
        (at, code)
        for n, (at, _, code) in enumerate(spans)
        if n == 0 or code != spans[n - 1][2] or re.search(r"\w", low[spans[n - 1][1] : at])
    ]
    out: dict[str, Any] = {
        "places": [code for _, code in hits],
        "origin": None,
        "destination": None,
        "unknown_place": None,
    }
    for at, code in hits:
        before = low[max(0, at - 24) : at]
        if (
            re.search(
                r"\b(?:from|leaving|departing|out of|origin\w*|starting(?: in| at)?)\W*(?:is |the |at )?\W*$", before
            )
            and not out["origin"]
        ):
            out["origin"] = code
        elif (
            re.search(
                r"(?:\b(?:to|into|towards?|destination|arriving(?: in| at)?|visit|for|going)|->|- ?|→)"
                r"\W*(?:is |the |at )?\W*$",
                before,
            )
            and not out["destination"]
        ):
            out["destination"] = code
    spare = [c for c in out["places"] if c not in (out["origin"], out["destination"])]
    if out["destination"] and not out["origin"] and spare and asked != "destination":
        out["origin"] = spare[0]
    elif out["origin"] and not out["destination"] and spare:
        out["destination"] = spare[0]
    elif asked in ("origin", "destination") and len(spare) == 1 and not out["origin"] and not out["destination"]:
        out[asked] = spare[0]
    elif len(spare) == 2 and not out["origin"]:
        out["origin"], out["destination"] = spare
    if asked in ("origin", "destination") and out["places"] and not (out["origin"] or out["destination"]):
        out[asked] = out["places"][0]
    for m in re.finditer(rf"\b(?:from|to|From|To)\s+{_PLACE}", text):
        word = re.split(r"\s(?:on|to|from|next|in)\b", m.group(1))[0]
        stop = word.split()[0].lower()
        if (
            stop not in names
            and word.lower() not in names
            and word.upper() not in airports
            and stop not in _NO_NAME
            and not re.search(r"\d", word)
            and not any(word.lower() in c.lower() for c in airports.values())
        ):
            out["unknown_place"] = word
    if asked in ("origin", "destination") and not out["places"] and not out["unknown_place"]:
        m = re.fullmatch(
            r"\W*(?:it'?s |from |to |i'm (?:flying|leaving) (?:from|to) )?([A-Za-z][A-Za-z .'-]{2,24})\W*", text
        )
        if m and not set(m.group(1).lower().split()) & (
            _NO_NAME | {"don't", "know", "anywhere", "what", "wait", "sorry", "never", "mind", "stop", "cheap"}
        ):
            out["unknown_place"] = m.group(1).strip().title()
    return out


def _counted(low: str, asked: str | None, found_dates: list[slots.Found]) -> dict[str, Any]:
    out: dict[str, Any] = {"bags_total": None, "bags_add": None, "passenger_count": None}
    bags = slots.counts(low, _BAGS)
    if re.search(rf"\b(?:no|without|zero|not any|don't (?:have|need|want)(?: any)?) (?:\w+ ){{0,3}}(?:{_BAGS})\b", low):
        out["bags_total"] = 0
    elif bags:
        count = int(bags[0].value)
        around = low[max(0, bags[0].at - 25) : bags[0].at + len(bags[0].raw)]
        more = re.search(r"\b(?:add|more|extra|additional|another|plus)\b", around) and not re.search(
            r"\b(?:total|altogether)\b", low
        )
        less = re.search(r"\b(?:remove|drop|fewer|less|take off)\b", around)
        out["bags_add" if more or less else "bags_total"] = -count if less else count
    elif after := re.search(
        rf"\b(?:{_BAGS})\W+(?:count |number )?(?:to|is|are|be|=|should be)?\W*({slots.NUMBER})"
        r"(?!\s*(?:dollars|passenger))",
        low,
    ):
        out["bags_total"] = slots.number(after.group(1))
    elif re.search(rf"\b(?:another|one more|an extra|an additional|extra) (?:checked )?(?:{_BAGS})\b", low):
        out["bags_add"] = 1
    elif re.search(rf"\b(?:remove|drop|take off) (?:my |the |a |all )?(?:checked |extra )?(?:{_BAGS})\b", low):
        out["bags_add"] = -1
    people = slots.counts(low, _PEOPLE)
    if people:
        out["passenger_count"] = int(people[0].value)
    elif re.search(
        r"\b(?:just|only) (?:me|myself|for me)\b|\b(?:for )?me only\b"
        r"|\bfor (?:me|myself)(?= only|,|\.|$)|\bby myself\b|\bonly myself\b|\bon my own\b|\balone\b",
        low,
    ):
        out["passenger_count"] = 1
    elif re.search(
        r"\b(?:me|myself) and (?:my )?(?:wife|husband|partner|son|daughter|friend|mother|father|brother|sister)\b", low
    ):
        out["passenger_count"] = 2
    short = slots.bare_number(low) if not found_dates else None
    if asked == "bags" and out["bags_total"] is None and out["bags_add"] is None and short is not None:
        out["bags_total"] = short
    elif asked == "passenger_count" and out["passenger_count"] is None and short is not None:
        out["passenger_count"] = short
    return out


def _people(text: str, asked: str | None, found_dates: list[slots.Found]) -> list[dict[str, str | None]]:
    """Full names, each with the date of birth that follows it before the next name."""
    source = text
    if asked in ("passengers", "passenger_new", "passenger") and not re.search(r"[A-Z][a-z]+ [A-Z]", text):
        m = next(
            (m for m in _LOWER_NAME.finditer(text) if not {m.group(1).lower(), m.group(2).lower()} & _NO_NAME), None
        )
        if m:
            source = text[: m.start(1)] + f"{m.group(1).title()} {m.group(2).title()}" + text[m.end(2) :]
    found = slots.names(source, _NO_NAME)
    out: list[dict[str, str | None]] = []
    for n, name in enumerate(found):
        end = found[n + 1].at if n + 1 < len(found) else len(text)
        mine = [d for d in found_dates if name.at < d.at < end]
        first, last = name.value.split(" ", 1)
        out.append(
            {
                "first_name": first,
                "last_name": last,
                "dob": mine[0].value if mine else None,
                "dob_raw": mine[0].raw if mine else None,
            }
        )
    return out
