"""Values that a shop's customer names: e-mail, name and zip, orders, products and their options, payment, address, reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted import slots
from agenteval.subjects.scripted.understand import patterns

_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}\b", re.IGNORECASE)
_EMAIL_LIKE = re.compile(r"\S*@\S*|\b\w+[._]\w+ at \w+", re.IGNORECASE)
_ORDER = re.compile(r"#?\bW\s?(\d{7})\b", re.IGNORECASE)
_ORDER_LIKE = re.compile(r"#\s?\w*\d\w*|\bW\d{2,12}\b|\b\d{5,8}\b", re.IGNORECASE)
_USER = re.compile(r"\b[a-z]+_[a-z]+_\d{3,5}\b", re.IGNORECASE)
_ZIP = re.compile(r"(?<![\d#\w-])\d{5}(?![\d-])")
_PAYMENT = re.compile(r"\b(credit_card|gift_card|paypal)_\d{3,9}\b", re.IGNORECASE)
_PAYMENT_WORDS = {
    "credit_card": re.compile(r"\b(?:credit card|debit card|visa|mastercard|(?:my|the|by|with|a) card\b|card ending)", re.IGNORECASE),
    "gift_card": re.compile(r"\bgift[ -]?card", re.IGNORECASE),
    "paypal": re.compile(r"\bpay ?pal\b", re.IGNORECASE),
}  # fmt: skip
_STREET = re.compile(
    r"\b(\d{1,5} [A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)?\.? (?:Street|St|Avenue|Ave|Lane|Ln|Drive|Dr|Road|Rd|Way|Court|Boulevard|Blvd))\b\.?",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])\b"
)
_CITY = re.compile(r"(?:,|\bin|\bto|^|\d{5}|[A-Z]{2})\s*([A-Z][a-z]+(?: [A-Z][a-z]+)?)\s*,?\s+(?:[A-Z]{2})\b")
_EVERY = re.compile(
    r"\b(?:all (?:of )?(?:it|them|the items|items|my items|three|two)|everything|the (?:whole|entire|complete) (?:order|thing|lot)|both(?: of them| items)?)\b"
)
# Words by which each product is named.
PRODUCTS = {
    "desk lamp": r"(?:desk )?lamps?", "backpack": r"(?:back ?packs?|rucksacks?)", "kettle": r"kettles?", "headphones": r"head ?phones?|headset",
    "running shoes": r"(?:running )?(?:shoes?|sneakers|trainers)", "office chair": r"(?:office )?chairs?",
    "jigsaw puzzle": r"(?:jigsaw(?: puzzles?)?|puzzles?)", "water bottle": r"(?:water )?bottles?",
}  # fmt: skip
_PRODUCT = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in PRODUCTS.items()}
_ITEM = re.compile(r"\b1\d{9}\b")
_STOP = frozenset(
    """
    hi hello hey my name is the order orders for i am it's this yes no please thanks thank you good zip code mr mrs
    ms dear cancel return exchange change street avenue lane drive road elm alder birch cedar dogwood fir pay pal
    gift card credit desk lamp water bottle office chair jigsaw puzzle running shoes new and also actually sure ok
    okay what can do want would like need have from with in at of not denver austin portland tampa madison albany
    boise tucson
    """.split()  # noqa: SIM905
)


def extract(text: str, asked: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """Everything in a text that is a value; `asked` gives short answers their meaning."""
    table = patterns(Path(__file__).with_name("language.yaml"))
    low = text.lower()
    orders = list(dict.fromkeys(f"#W{m.group(1)}" for m in _ORDER.finditer(text)))
    bare = re.fullmatch(r"\W*(?:it'?s |it is |order |number |#)*(\d{7})\W*", low) if asked == "order" else None
    if bare:
        orders = [f"#W{bare.group(1)}"]
    rest = _ORDER.sub(" ", _EMAIL.sub(" ", _ITEM.sub(" ", _PAYMENT.sub(" ", text))))
    like = _ORDER_LIKE.search(rest) if not orders else None
    emails = [m.group().lower() for m in _EMAIL.finditer(text)]
    email_like = _EMAIL_LIKE.search(text) if not emails else None
    address = _address(text, asked)
    zips = [] if address.get("street") else _ZIP.findall(rest)
    people = [] if address else [f.value for f in slots.names(_capital(rest, asked), _STOP)]
    return {
        "orders": orders,
        "order_like": like.group().strip() if like and (asked == "order" or "#" in like.group() or like.group()[0] in "Ww") and like.group() not in zips else None,
        "emails": emails,
        "email_like": email_like.group() if email_like else None,
        "user_ids": [m.group().lower() for m in _USER.finditer(text)],
        "person": people[0] if people else None,
        "zip": zips[0] if zips else None,
        "address": address or None,
        "products": _products(text),
        "item_ids": _ITEM.findall(text),
        "options": _options(low, asked, data),
        "payments": _payments(text),
        "reason": next((name for name, pattern in table["reasons"].items() if pattern.search(low)), None),
        "claims": [name for name, pattern in table["claims"].items() if pattern.search(low)],
        "every": bool(_EVERY.search(low)),
        "ordinal": slots.ordinal(text),
        "original": bool(re.search(r"\boriginal\b|\bsame (?:card|method|way|payment)\b|\b(?:how|the way|what) i paid\b", low)),
    }  # fmt: skip


def _capital(text: str, asked: str | None) -> str:
    """Names are typed in lower case where they were asked for."""
    words = re.sub(r"\d+|[^\w\s]", " ", text).split()
    plain = 2 <= len(words) <= 3 and text == text.lower() and "'" not in text
    return text.title() if asked in ("identity", "name") and plain else text


def _address(text: str, asked: str | None) -> dict[str, str]:
    """The parts of a postal address; a lone zip or city only where an address was asked for."""
    street, found = _STREET.search(text), {}
    if street:
        found["street"] = street.group(1).strip().title()
    if not street and asked != "address":
        return {}
    tail = text[street.end() :] if street else text
    city, state, code = _CITY.search(tail), _STATE.search(tail), _ZIP.search(tail)
    if city:
        found["city"] = city.group(1)
    elif (
        asked == "address"
        and (alone := re.fullmatch(r"\W*(?:it'?s |in |the city is )?([A-Za-z]+(?: [A-Za-z]+)?)\W*", text))
        and not state
    ):
        found["city"] = alone.group(1).title()
    elif named := re.match(r"\s*,\s*([A-Z][a-z]+(?: [A-Z][a-z]+)?)\s*(?:,|$|\d)", tail):
        found["city"] = named.group(1)
    if state:
        found["state"] = state.group(1)
    if code:
        found["zip"] = code.group()
    return found


def _products(text: str) -> list[str]:
    """Product names in the order in which they are said."""
    places = {name: m.start() for name, pattern in _PRODUCT.items() if (m := pattern.search(text))}
    return sorted(places, key=lambda name: places[name])


def _options(low: str, asked: str | None, data: dict[str, Any]) -> list[str]:
    """Option values of any product, in the order in which they are said; figures only behind "size", before "pieces", or where asked for."""
    known = {v for p in data["products"].values() for i in p["variants"].values() for v in i["options"].values()}
    found = {}
    for value in known:
        words = rf"\b{re.escape(value)}\b"
        if value.isdigit():
            words = rf"\bsize (?:number |us )?{value}\b|\b{value}[- ]?(?:pieces?|pcs)\b" + (
                rf"|^\W*{value}\W*$|\b{value}\b" if asked == "option" else ""
            )
        elif value.endswith(("l", "ml")) and value[0].isdigit():
            figure = re.match(r"[\d.]+", value).group()
            unit = r"ml|millilit\w+" if value.endswith("ml") else r"l|lit\w+"
            words = rf"\b{re.escape(figure)} ?(?:{unit})\b"
        elif value == "grey":
            words = r"\bgr[ae]y\b"
        match = re.search(words, low)
        if match:
            found[value] = match.start()
    return sorted(found, key=lambda value: (found[value], value))


def _payments(text: str) -> list[dict[str, str]]:
    """Methods that were named, by id or by kind."""
    ids = [{"id": m.group().lower()} for m in _PAYMENT.finditer(text)]
    bare = _PAYMENT.sub(" ", text)
    return ids + [{"kind": kind} for kind, pattern in _PAYMENT_WORDS.items() if pattern.search(bare)]
