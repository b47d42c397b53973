"""Who speaks: level one by customer ID or name with date of birth, level two by the code word."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.banking.merging import merge
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Pause

MAX_ATTEMPTS, MAX_CODES = 3, 2


def listen(s: Talk) -> None:
    """Identity may come with anything else."""
    _tidy(s)
    r, facts = s.reading.slots, s.facts
    known = facts.get("user")
    if r["customers"] or (r["person"] and (r["birth"] or not known)) or (r["birth"] and not known):
        facts["id"] = r["customers"][-1] if r["customers"] else facts.get("id")
        facts["name"] = r["person"] or facts.get("name")
        facts["birth"] = r["birth"] or facts.get("birth")
        _level_one(s)
    if r["code"] and facts.get("user") and not facts.get("level_two"):
        _level_two(s, r["code"])


def _level_one(s: Talk) -> None:
    facts, customers = s.facts, s.tools.data["customers"]
    current = facts.get("user")
    if current and facts["id"] == current:
        s.guard("one_customer", True)
        facts["id"] = facts["name"] = facts["birth"] = None
        return
    if not facts["birth"] and not (current and facts["id"]):
        _keep(s)
        s.say("ask_birth")
        raise Pause
    if not facts["id"] and not facts["name"]:
        _keep(s)
        s.say("ask_who")
        raise Pause
    key = facts["id"] or next(
        (c["customer_id"] for c in customers.values() if c["name"].lower() == facts["name"].lower()), None
    )
    found = s.tools.call("get_user_information_by_id", customer_id=key or "")
    ok = found is not None and (found["dob"] == facts["birth"] or bool(current))
    facts["id"] = facts["name"] = facts["birth"] = None
    if current and key != current:
        if not s.guard("one_customer", False):
            s.say("other_customer", name=customers[current]["name"])
            _keep(s)
            raise Pause
        ok = found is not None
    attempts = facts["attempts"] = facts.get("attempts", 0) + (not ok)
    if not ok and not s.guard("id_attempts", attempts < MAX_ATTEMPTS + 2 * (s.fault == "four_attempts")):
        _stop(s, "too_many_attempts")
    passed = s.guard("identity_match", ok)
    if not ok and not passed:
        s.say("identity_wrong")
        _keep(s)
        raise Pause
    key = key if found else next(iter(customers))
    s.guard("id_attempts", True)
    facts["user"], facts["level_two"] = key, False
    s.log.add("state", change="identified", customer_id=key)
    if not s.reading.intents and not (s.task and s.task.state == "open") and not s.reading.slots["code"]:
        s.say("identified_idle", name=customers[key]["name"])
        raise Pause
    s.say("identified", name=customers[key]["name"])


def _level_two(s: Talk, code: str) -> None:
    right = s.tools.data["customers"][s.facts["user"]]["code_word"] == code
    tries = s.facts["codes"] = s.facts.get("codes", 0) + (not right)
    if not right and not s.guard("code_attempts", tries < MAX_CODES):
        _stop(s, "too_many_codes")
    ok = s.guard("code_word_correct", right)
    if not right and not ok:
        s.say("code_word_wrong")
        if s.task and s.task.state == "open":
            s.task.asked = "code_word"
        raise Pause
    s.guard("code_attempts", True)
    s.facts["level_two"] = True
    s.log.add("state", change="level_two")
    if not s.reading.intents and not (s.task and s.task.state == "open"):
        s.say("level_two_idle")
        raise Pause


def _stop(s: Talk, act: str) -> None:
    s.say(act)
    _keep(s)
    if s.task is None:
        s.begin(["balance"])
    s.close("refused", offer="transfer")
    s.facts["ground"] = True
    raise Pause


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
    """Of intents that hold one another the more precise one; a question is one only where nothing else is wanted."""
    found = s.reading.intents
    for general, special in (
        ("question", tuple(i for i in s.domain.workflows if i != "question")),
        ("freeze", ("replace_card", "unfreeze")),
        ("statement", ("dispute",)),
        ("transfer", ("transfer_money",)),
        ("balance", ("close_account", "transfer_money")),
    ):
        if general in found and any(name in found for name in special):
            found.remove(general)


def need_user(s: Talk, level: int = 1) -> dict[str, Any]:
    """The customer who speaks, at level one or two."""
    user = s.facts.get("user")
    if not s.guard("identity_required", user is not None):
        s.ask("identity", "ask_identity")
    if user is None:
        account = s.tools.data["accounts"].get(s.task.slots.get("account") or "")
        card = s.tools.data["cards"].get(s.task.slots.get("card") or "")
        user = (account or card or next(iter(s.tools.data["customers"].values())))["customer_id"]
    if level == 2 and not s.guard("code_word_required", bool(s.facts.get("level_two"))):
        s.ask("code_word", "ask_code_word")
    return s.tools.data["customers"][user]
