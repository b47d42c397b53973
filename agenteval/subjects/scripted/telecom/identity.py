"""Who speaks: phone number, customer ID, or name and date of birth, before any work on an account."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Pause
from agenteval.subjects.scripted.telecom.merging import GUIDES, merge

MAX_ATTEMPTS = 3


def listen(s: Talk) -> None:
    """Identity may come with anything else."""
    _tidy(s)
    r, facts = s.reading.slots, s.facts
    known = facts.get("user")
    if r["customers"]:
        customer = r["customers"][-1]
        _resolve(
            s,
            s.tools.call("get_customer_by_id", customer_id=customer),
            "customer_id_known",
            "customer_unknown",
            id=customer,
        )
    elif r["phones"] and not known:
        phone = r["phones"][0]
        facts["told_phone"] = True
        _resolve(
            s, s.tools.call("get_customer_by_phone", phone_number=phone), "phone_known", "phone_unknown", phone=phone
        )
    elif r["bad_birth"] and not known:
        if not s.guard("birth_valid", False, value=r["bad_birth"]):
            s.say("birth_invalid", date=r["bad_birth"])
            _keep(s)
            raise Pause
        facts["birth"] = "1900-01-01"
        _by_name(s)
    elif (r["person"] and (r["birth"] or not known)) or (r["birth"] and not known):
        _by_name(s)
    elif r["phone_like"] and not known and not s.reading.intents:
        if not s.guard("phone_format", False, value=r["phone_like"]):
            s.say("phone_malformed", phone=r["phone_like"])
            _keep(s)
            raise Pause
        _resolve(s, None, "phone_known", "phone_unknown", phone=r["phone_like"])


def _by_name(s: Talk) -> None:
    """Name and date of birth may come one after the other."""
    r, facts = s.reading.slots, s.facts
    name = facts["name"] = r["person"] or facts.get("name")
    birth = facts["birth"] = r["birth"] or facts.get("birth")
    if name and birth:
        facts["name"] = facts["birth"] = None
        found = s.tools.call("get_customer_by_name", full_name=name, dob=birth)
        if found is None and s.fault in ("name_dob_match", "birth_valid"):
            found = next(
                (c["customer_id"] for c in s.tools.data["customers"].values() if c["name"].lower() == name.lower()),
                None,
            )
        _resolve(s, found, "name_dob_match", "name_unknown", name=name)
        return
    if facts.get("user"):
        return
    _keep(s)
    s.say("ask_birth", name=name) if name else s.say("ask_name")
    raise Pause


def _resolve(s: Talk, found: str | None, guard: str, act: str, **values: Any) -> None:
    """Take the customer that was found, or say why not."""
    current = s.facts.get("user")
    if current and found != current:
        if not s.guard("one_customer", False):
            s.say("other_customer", name=s.tools.data["customers"][current]["name"])
            _keep(s)
            raise Pause
    elif current:
        s.guard("one_customer", True)
        return
    attempts = s.facts["attempts"] = s.facts.get("attempts", 0) + (found is None)
    if found is None and not s.guard("id_attempts", attempts < MAX_ATTEMPTS + 2 * (s.fault == "four_attempts")):
        s.say("too_many_attempts")
        _keep(s)
        if s.task is None:
            s.begin(["line_info"])
        s.close("refused", offer="transfer")
        s.facts["ground"] = True
        raise Pause
    ok = s.guard(guard, found is not None)
    if found is None and not ok:
        s.facts.pop("told_phone", None)
        s.say(act, **values)
        _keep(s)
        raise Pause
    if found is None:
        found = next(iter(s.tools.data["customers"]))
    for passed in ("id_attempts", "phone_format", "birth_valid"):
        s.guard(passed, True)
    s.facts["user"] = found
    s.log.add("state", change="identified", customer_id=found)
    customer = s.tools.call("get_details_by_id", id=found)
    if not s.reading.intents and not (s.task and s.task.state == "open"):
        s.say("identified_idle", name=customer["name"])
        raise Pause
    s.say("identified", name=customer["name"])


def _keep(s: Talk) -> None:
    """What else was said with a failed identification is not lost."""
    wanted = [i for i in s.reading.intents if not (s.task and s.task.state == "open" and s.domain.keep(s, i))]
    if wanted:
        s.begin(wanted)
    elif s.task:
        merge(s, s.task)
    if s.task and s.task.state == "open":
        s.task.asked = "identity"


def _tidy(s: Talk) -> None:
    """Of intents that hold one another the more precise one."""
    found = s.reading.intents
    for general, special in (
        ("line_info", ("pay_bill", "resume_line", "change_plan", "refuel", "roaming", *GUIDES)),
        ("refuel", ("mobile_data", "change_plan")),
        ("roaming", ("mobile_data",)),
        ("mobile_data", ("mms",)),
        ("no_service", ("resume_line",)),
    ):
        if general in found and any(name in found for name in special):
            found.remove(general)
    if found and s.reading.topics:
        s.reading.topics = [t for t in s.reading.topics if found == ["line_info"]]
        if s.reading.topics:
            s.reading.intents = []


def need_user(s: Talk) -> dict[str, Any]:
    """The customer who speaks; asks who it is."""
    user = s.facts.get("user")
    if not s.guard("identity_required", user is not None):
        s.ask("identity", "ask_identity")
    if user is None:
        line = s.tools.data["lines"].get(s.task.slots.get("line") or "")
        user = line["customer_id"] if line else next(iter(s.tools.data["customers"]))
    return s.tools.data["customers"][user]
