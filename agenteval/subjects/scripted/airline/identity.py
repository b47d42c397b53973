"""Who speaks: the user ID, checked before any work on a profile or a reservation."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.airline.merging import ON_RESERVATION, merge
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Pause

MAX_ID_ATTEMPTS = 3
# A route with the number of passengers is a booking, unless the words only look for flights.
_LOOKS = re.compile(r"\b(?:search|find|look\w*|show|list|check|any|available|what|which|are there)\b")
_GIVES_NAME = re.compile(
    r"\b(?i:my name is|name'?s|i am|i'm|this is|it's) [A-Z][a-z]+\b|^\W*[A-Z][a-z]+ [A-Z][a-z]+\W*$"
)
_PROFILE = re.compile(
    r"\b(?:user ?(?:id|name)|log ?(?:in|on)|sign in|e-?mail|phone number|date of birth|my (?:account|id))\b"
)
# Tasks that stand for others until the customer says which.
PRECISE = {
    "vague_change": tuple(i for i in ON_RESERVATION if i != "vague_change"),
    "flight_info": ("search", "status", "book"),
}


def listen(s: Talk) -> None:
    """Identity, before any workflow: a user id may come with anything else."""
    _continue(s)
    found, current = s.reading.slots["users"], s.facts.get("user")
    if found:
        _identify(
            s, found[0] if len(found) == 1 or current not in found else next(u for u in found if u != current), current
        )
    elif s.reading.slots.get("user_like") and not s.reading.intents:
        if not s.guard("user_id_format", False, value=s.reading.slots["user_like"]):
            s.say("user_malformed")
            raise Pause
        _identify(s, _nearest(s, s.reading.slots["user_like"]), current)
    elif _expects_user(s) and (name := _named_user(s)):
        if not s.guard("name_is_no_id", False):
            s.say("name_is_no_id")
            raise Pause
        _identify(s, name, current)
    elif s.task and s.task.asked == "user_id" and not s.reading.intents and _GIVES_NAME.search(s.reading.text):
        if not s.guard("name_is_no_id", False):
            s.say("name_is_no_id")
            raise Pause
    elif _expects_user(s) and not (s.task and s.task.state == "open") and _PROFILE.search(s.reading.text.lower()):
        s.say("ask_user_id")
        raise Pause
    if "vague_change" in s.reading.intents and len(s.reading.intents) > 1:
        s.reading.intents.remove("vague_change")


def _expects_user(s: Talk) -> bool:
    """Whether what is said may be meant to identify: it was asked for, or nothing else is under way or wanted."""
    if s.task and s.task.state == "open":
        return s.task.asked == "user_id"
    return not s.facts.get("user") and not s.reading.intents


def _continue(s: Talk) -> None:
    """Intents that are not said again: a reservation alone, "the other one too", a change that was vague before."""
    r, task = s.reading, s.task
    if task and task.state == "open" and task.name in PRECISE:
        precise = [i for i in r.intents if i in PRECISE[task.name]]
        if precise:
            task.name = precise[0]
    if not r.intents:
        r.intents = _about_flights(s)
    low = r.text.lower()
    if r.intents == ["search"] and r.slots["passenger_count"] and not _LOOKS.search(low):
        r.intents = ["book"]
    if r.intents or (task and task.state in ("open", "refused")):
        return
    other = re.search(r"\bthe other(?: (?:one|reservation|booking|trip)\b|\W*$)", low)
    again = (
        task
        and task.name in ON_RESERVATION
        and (other or re.search(r"\b(?:other|next|also|too|and|same|second|as well|now)\b", low))
    )
    if not r.slots["reservations"] and (r.topics or not (other and again)):
        return
    r.intents = [task.name if again else "show"]


def _about_flights(s: Talk) -> list[str]:
    """A route without a verb is a search; a choice from what was found is a booking."""
    r, task = s.reading.slots, s.task
    if task and task.state == "open":
        return []
    if task and task.name == "search" and task.state == "done" and s.facts.get("route"):
        low = s.reading.text.lower()
        takes = re.search(r"\b(?:i'll|take|book|choose|pick|go (?:with|for)|have|want)\b", low)
        details = r["trip_type"] or r["passenger_count"] or (s.reading.answer == "yes" and "search_results" in s.before)
        if (
            details
            or r["ordinal"]
            or (takes and (r["flights"] or r["prefer"] or re.search(r"\b(?:it|that|one)\b", low)))
        ):
            return ["book"]
        return []
    if r["flights"]:
        return ["status"]
    if s.facts.get("user") and re.search(r"\b(?:the|my) (?:one|trip|reservation|booking)\b", s.reading.text.lower()):
        return ["show"] if r["places"] else []
    return ["search"] if r["origin"] or r["destination"] or len(r["places"]) > 1 else []


def _identify(s: Talk, user_id: str, current: str | None) -> None:
    if current and user_id != current:
        if not s.guard("one_account", False, value=user_id):
            s.say("one_account", user_id=current)
            _remember(s)
            raise Pause
    elif current:
        s.guard("one_account", True)
        return
    unknown = user_id not in s.tools.data["users"]
    attempts = s.facts["attempts"] = s.facts.get("attempts", 0) + unknown
    if (unknown or attempts >= MAX_ID_ATTEMPTS) and not s.guard("id_attempts", attempts < MAX_ID_ATTEMPTS):
        s.say("too_many_ids")
        _remember(s)
        if s.task is None:
            s.begin(["show"])
        s.close("refused", offer="transfer")
        s.facts["ground"] = True
        raise Pause
    if unknown:
        if not s.guard("user_id_known", False, value=user_id):
            s.say("user_unknown", user_id=user_id)
            _remember(s)
            if s.task and s.task.state == "open":
                s.task.asked = "user_id"
            raise Pause
        s.tools.data["users"][user_id] = {
            "user_id": user_id,
            "name": {"first_name": user_id.split("_")[0].title(), "last_name": user_id.split("_")[1].title()},
            "dob": "1980-01-01",
            "membership": "regular",
            "payment_methods": {},
            "saved_passengers": [],
            "reservations": [],
        }
    else:
        s.guard("user_id_known", True)
        s.guard("user_id_format", True)
        s.guard("name_is_no_id", True)
        s.guard("id_attempts", True)
    s.facts["user"] = user_id
    s.log.add("state", change="identified", user_id=user_id)
    user = s.tools.call("get_user_details", user_id=user_id)
    if not s.reading.intents and not (s.task and s.task.state == "open"):
        s.say("identified_idle", first_name=user["name"]["first_name"])
        raise Pause
    s.say("identified", first_name=user["name"]["first_name"])


def _remember(s: Talk) -> None:
    """A refused identity must not lose what else was said."""
    if s.reading.intents:
        wanted = [i for i in s.reading.intents if not (s.task and s.task.state == "open" and s.domain.keep(s, i))]
        if wanted:
            s.begin(wanted)
    elif s.task:
        merge(s, s.task)


def _named_user(s: Talk) -> str | None:
    low = s.reading.text.lower()
    return next(
        (
            u["user_id"]
            for u in s.tools.data["users"].values()
            if f"{u['name']['first_name']} {u['name']['last_name']}".lower() in low
        ),
        None,
    )


def _nearest(s: Talk, text: str) -> str:
    flat = "".join(c for c in text.lower() if c.isalnum())
    return next((u for u in s.tools.data["users"] if u.replace("_", "") == flat), text.lower())


def need_user(s: Talk) -> dict[str, Any]:
    """The profile of the person who speaks; asks for the user id."""
    user_id = s.facts.get("user")
    if not s.guard("user_id_required", user_id is not None):
        s.ask("user_id", "ask_user_id")
    if user_id is None:
        reservation = s.tools.data["reservations"].get(s.task.slots.get("reservation") or "")
        if reservation is None:
            s.ask("user_id", "ask_user_id")
        user_id = reservation["user_id"]
    return s.tools.data["users"][user_id]
