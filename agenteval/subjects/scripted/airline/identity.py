"""Who speaks: the user ID, checked before any work on a profile or a reservation."""

from __future__ import annotations

import re
from typing import Any

from agenteval.subjects.scripted.airline.merging import ON_RESERVATION, merge
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Pause

MAX_ID_ATTEMPTS = 3
# Tasks that stand for others until the customer says which.
PRECISE = {
    "vague_change": tuple(i for i in ON_RESERVATION if i != "vague_change"),
    "flight_info": ("search", "status", "book"),
}


def listen(s: Talk) -> None:
    """Identity, before any workflow: a user id may come with anything else."""
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
    elif s.task and s.task.asked == "user_id" and (name := _named_user(s)):
        if not s.guard("name_is_no_id", False):
            s.say("name_is_no_id")
            raise Pause
        _identify(s, name, current)
    _continue(s)
    if "vague_change" in s.reading.intents and len(s.reading.intents) > 1:
        s.reading.intents.remove("vague_change")


def _continue(s: Talk) -> None:
    """Intents that are not said again: a reservation alone, "the other one too", a change that was vague before."""
    r, task = s.reading, s.task
    if task and task.state == "open" and task.name in PRECISE:
        precise = [i for i in r.intents if i in PRECISE[task.name]]
        if precise:
            task.name = precise[0]
    if not r.intents:
        r.intents = _about_flights(s)
    if r.intents or not r.slots["reservations"] or (task and task.state in ("open", "refused")):
        return
    again = (
        task
        and task.name in ON_RESERVATION
        and re.search(r"\b(?:other|next|also|too|and|same|second|as well|now)\b", r.text.lower())
    )
    r.intents = [task.name if again else "show"]


def _about_flights(s: Talk) -> list[str]:
    """A route without a verb is a search; a choice from what was found is a booking."""
    r, task = s.reading.slots, s.task
    if task and task.state == "open":
        return []
    if task and task.name == "search" and task.state == "done" and s.facts.get("route"):
        low = s.reading.text.lower()
        takes = re.search(r"\b(?:i'll|take|book|choose|pick|go (?:with|for)|have|want)\b", low)
        if r["ordinal"] or (takes and (r["flights"] or r["prefer"] or re.search(r"\b(?:it|that|one)\b", low))):
            return ["book"]
        return []
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
    if not s.reading.intents and not s.task:
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
