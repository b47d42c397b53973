"""Values that need their surroundings: where from and where to, how many, who."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted import slots

_BAGS = r"bags?|baggages?|suitcases?|luggage|pieces"
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
    atlanta boston chicago dallas denver miami philadelphia phoenix seattle
    jan feb mar apr jun jul aug sep sept oct nov dec
    are you you're they we're isn't don't it's there here bag bags suitcase luggage seat seats refund change cancel
    that's that right correct looks good sounds go ahead same birthday want need
    pay also can could would what which when where how not dear good morning actually let make passenger's lw
    """.split()  # noqa: SIM905
)


_NO_PLACE = frozenset(
    """
    oneway roundtrip tomorrow today tonight yesterday tmrw thx thanks why grr ugh hey hello hola
    know anywhere somewhere nowhere what wait sorry never mind stop cheap slow fast whatever hurry lol hmm um
    am was be been he she same both either any all nothing everything later soon idea forget
    """.split()  # noqa: SIM905
)


def places(text: str, low: str, asked: str | None, airports: dict[str, str]) -> dict[str, Any]:
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
            r"\W*(?:it'?s |from |to |i'm (?:flying|leaving) (?:from|to) )?([A-Za-z][A-Za-z .'-]{2,24}?)(?:,? please)?\W*",
            text,
        )
        if m and not set(m.group(1).lower().split()) & (_NO_NAME | _NO_PLACE):
            out["unknown_place"] = m.group(1).strip().title()
    return out


def counted(low: str, asked: str | None, found_dates: list[slots.Found]) -> dict[str, Any]:
    out: dict[str, Any] = {"bags_total": None, "bags_add": None, "passenger_count": None}
    bags = slots.counts(low, _BAGS)
    each = re.search(rf"({slots.NUMBER}) (?:checked )?(?:(?:{_BAGS}) )?(?:each|per (?:person|passenger)|apiece)\b", low)
    if each and (bags or asked == "bags"):
        out["bags_each"] = slots.number(each.group(1))
        bags = []
    elif re.search(
        rf"\b(?:no|without|zero|not any|don't (?:have|need|want)(?: any)?) (?:\w+ ){{0,3}}(?:{_BAGS})\b", low
    ):
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
    travellers = slots.counts(low, _PEOPLE)
    party = re.search(rf"\bfor ({slots.NUMBER})(?=\W*$|,| (?:from|to|on|in|one|round|please|and)\b| [a-z]+ to )", low)
    if travellers:
        out["passenger_count"] = int(travellers[0].value)
    elif party:
        out["passenger_count"] = slots.number(party.group(1))
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
    if (
        asked == "confirm"
        and re.search(r"\b(?:actually|make it|rather|instead|only|just|no)\b", low)
        and not found_dates
    ):
        rest = re.sub(r"\bno\b", " ", low)
        out["corrected"] = slots.bare_number(rest) if len(rest.split()) <= 5 else None
    short = slots.bare_number(low) if not found_dates else None
    if asked == "bags" and not bags and not each and out["bags_total"] is None and short is not None:
        out["bags_add" if re.search(r"\b(?:more|another|extra|additional)\b", low) else "bags_total"] = short
    elif asked == "passenger_count" and re.fullmatch(r"\W*(?:just |only )?(?:me|myself|i)\W*", low):
        out["passenger_count"] = 1
    elif asked == "passenger_count" and out["passenger_count"] is None and short is not None:
        out["passenger_count"] = short
    return out


def people(text: str, asked: str | None, found_dates: list[slots.Found]) -> list[dict[str, str | None]]:
    """Full names, each with the date of birth that follows it before the next name."""
    births = asked in ("passengers", "passenger_new", "passenger", "dob")
    source = text
    lower = asked in ("passengers", "passenger_new", "passenger") and not re.search(r"[A-Z][a-z]+ [A-Z]|\?", text)
    if lower:
        m = next(
            (m for m in _LOWER_NAME.finditer(text) if not {m.group(1).lower(), m.group(2).lower()} & _NO_NAME), None
        )
        if m:
            source = text[: m.start(1)] + f"{m.group(1).title()} {m.group(2).title()}" + text[m.end(2) :]
    found = slots.names(source, _NO_NAME)
    out: list[dict[str, str | None]] = []
    for n, name in enumerate(found):
        end = found[n + 1].at if n + 1 < len(found) else len(text)
        mine = [d for d in found_dates if name.at < d.at < end and (births or _is_birth(text[name.at : d.at], d))]
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


def _is_birth(before: str, day: slots.Found) -> bool:
    """Whether a date after a name is a birth and no travel date: it is called one, or lies in another year."""
    return bool(re.search(r"\b(?:born|birth|dob|birthday)\b", before, re.IGNORECASE) or (day.value or "9") < "2024")
