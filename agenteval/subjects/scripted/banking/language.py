"""Values that a bank's customer names: ids, name and date of birth, code word, accounts, cards, transactions, amounts, targets, reasons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted import slots
from agenteval.subjects.scripted.understand import patterns

TODAY = "2025-05-20"
_CUSTOMER = re.compile(r"\bK\s?(\d{3,6})\b", re.IGNORECASE)
_ACCOUNT = re.compile(r"\bA-? ?(\d{5})\b", re.IGNORECASE)
_TRANSACTION = re.compile(r"\bT\s?(\d{5})\b", re.IGNORECASE)
_CARD = re.compile(
    r"\b(?:card(?: (?:number|no\.?|ending(?: in| with)?|with|is))?|ending(?: in| with)?)\W{0,3}(\d{4})\b", re.IGNORECASE
)
_MONEY = re.compile(
    r"[$€] ?(-?\d[\d,]*(?:\.\d+)?)|(-?\d[\d,]*(?:\.\d+)?) ?(?:dollars|usd|bucks|euros?)\b", re.IGNORECASE
)
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,12}\b", re.IGNORECASE)
_PHONE = re.compile(r"\b\d{3}[ .-]\d{3}[ .-]\d{4}\b")
_CODE = re.compile(r"\b(?:code ?word|password|secret word)(?: is|:)?\s+\W?([a-z]{3,12})\b", re.IGNORECASE)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_STOP = frozenset(
    """
    hi hello hey i'm i'd i'll i've that's don't my name is the for i am it's this yes no please thanks thank you good
    mr mrs ms dear card account savings checking basic plus code word customer id born on january february march
    april may june july august september october november december quay street city power elm rentals water works
    corner grocer blue fuel stream box harbor books noodle bar tidewater bank what want would like need from to and
    """.split()  # noqa: SIM905
)


def extract(text: str, asked: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """Everything in a text that is a value; `asked` gives short answers their meaning."""
    table, low = patterns(Path(__file__).with_name("language.yaml")), text.lower()
    emails, phones = _EMAIL.findall(text), _PHONE.findall(text)
    births = slots.dates(text, TODAY)
    rest = text
    for piece in (*(b.raw for b in births), *emails, *phones):
        rest = rest.replace(piece, " ")
    money = _MONEY.search(rest)
    bare = re.fullmatch(r"\W*(-?\d[\d,]*(?:\.\d+)?)\W*", rest) if asked in ("amount", "limit", "income") else None
    found = next((g for g in money.groups() if g), None) if money else bare.group(1) if bare else None
    cards = _CARD.findall(rest) or (re.findall(r"(?<![\d,.])\d{4}(?![\d,.])", rest) if asked == "card" else [])
    code = _CODE.search(text)
    if (
        not code
        and asked == "code_word"
        and (alone := re.fullmatch(r"\W*(?:it'?s |it is |the word is )?([A-Za-z]{3,12})\W*", text))
    ):
        code = alone
    people = [f.value for f in slots.names(_capital(rest, asked), _STOP)]
    kinds = [kind for kind in ("savings", "checking") if re.search(rf"\b{kind}\b", low)]
    payees = sorted({p for c in data["customers"].values() for p in c["payees"] if p.lower() in low})
    to = re.search(r"\bto (?:my |the |a )?(?:payee |account of |landlord )?([A-Z][a-z]+(?: [A-Z][a-z]+)?)", text)
    month = next((n for n, m in enumerate(_MONTHS, 1) if re.search(rf"\b{m[:3]}(?:{m[3:]})?\b", low)), None)
    return {
        "accounts": list(dict.fromkeys(f"A-{n}" for n in _ACCOUNT.findall(text))),
        "customers": [f"K{n}" for n in _CUSTOMER.findall(text)],
        "transactions": [f"T{n}" for n in _TRANSACTION.findall(text)],
        "cards": list(dict.fromkeys(cards)),
        "person": people[0] if people else None,
        "birth": next((b.value for b in births if b.value and b.value < "2012"), None),
        "code": code.group(1).lower() if code and code.group(1).lower() not in ("yes", "no", "what", "the", "forgot", "don") else None,
        "money": float(found.replace(",", "")) if found else None,
        "kinds": kinds,
        "card_kind": next((k for k in ("credit", "debit") if re.search(rf"\b{k} ?card|\b{k} one|\bthe {k}\b", low)), None),
        "payee": payees[0] if payees else None,
        "other_payee": to.group(1) if to and not payees and to.group(1).lower().split()[0] not in _STOP else None,
        "merchant": next((t["merchant"] for t in data["transactions"].values() if t["merchant"].lower() in low), None),
        "month": month,
        "reason": next((name for name, pattern in table["reasons"].items() if pattern.search(low)), None),
        "why": next((name for name, pattern in table["why"].items() if pattern.search(low)), None),
        "email": emails[0].lower() if emails else None,
        "phone": phones[0] if phones else None,
        "contact_like": text.strip() if asked == "contact" and not emails and not phones and re.search(r"\d|@", text) else None,
        "ordinal": slots.ordinal(text),
    }  # fmt: skip


def _capital(text: str, asked: str | None) -> str:
    """Names are typed in lower case where they were asked for."""
    words = re.sub(r"\d+|[^\w\s]", " ", text).split()
    plain = 2 <= len(words) <= 3 and text == text.lower() and "'" not in text
    return text.title() if asked in ("identity", "name") and plain else text
