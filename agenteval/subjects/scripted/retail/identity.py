"""Who speaks: e-mail, or name and zip, before any work on an account or an order."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.retail.merging import merge
from agenteval.subjects.scripted.task import Pause

MAX_ATTEMPTS = 3


def listen(s: Talk) -> None:
    """Identity may come with anything else; intents that others contain are left out."""
    _tidy_intents(s)
    if s.task and s.task.asked == "all":
        s.reading.flags.discard("bye")  # "That's all" is the answer.
    r, facts = s.reading.slots, s.facts
    expecting = not facts.get("user") or (s.task is not None and s.task.asked == "identity")
    if r["emails"]:
        email = r["emails"][-1]
        _resolve(s, s.tools.call("find_user_id_by_email", email=email), "email_known", "email_unknown", email=email)
    elif expecting and r["email_like"] and not s.reading.intents:
        if not s.guard("email_format", False, value=r["email_like"]):
            s.say("email_malformed", email=r["email_like"])
            _keep(s)
            raise Pause
        _resolve(s, _nearest(s, r["email_like"]), "email_known", "email_unknown", email=r["email_like"])
    elif r["person"] and (r["zip"] or expecting) and _asks_who(s):
        facts["name"] = r["person"]
        _by_name(s)
    elif r["zip"] and expecting and _asks_who(s):
        _by_name(s)
    elif expecting and r["user_ids"]:
        known = r["user_ids"][0] in s.tools.data["users"]
        if not s.guard("user_id_is_no_proof", False, value=r["user_ids"][0]):
            s.say("user_id_no_proof")
            _keep(s)
            raise Pause
        _resolve(s, r["user_ids"][0] if known else None, "email_known", "email_unknown", email=r["user_ids"][0])


def _asks_who(s: Talk) -> bool:
    """Whether a name or a zip code can be meant to identify: not while an address is being given."""
    return not (s.task and s.task.state == "open" and s.task.asked == "address")


def _by_name(s: Talk) -> None:
    """Name and zip code may come one after the other."""
    facts = s.facts
    facts["zip"] = s.reading.slots["zip"] or facts.get("zip")
    name, code = facts.get("name"), facts.get("zip")
    if name and code:
        first, _, last = name.partition(" ")
        found = s.tools.call("find_user_id_by_name_zip", first_name=first, last_name=last, zip=code)
        facts["name"] = facts["zip"] = None
        if found is None and s.fault == "name_zip_match":
            found = next((u["user_id"] for u in s.tools.data["users"].values() if u["address"]["zip"] == code), None)
        _resolve(s, found, "name_zip_match", "name_zip_unknown", name=name, zip=code)
        return
    if facts.get("user"):
        return
    _keep(s)
    s.say("ask_zip", name=name) if name else s.say("ask_name")
    raise Pause


def _resolve(s: Talk, found: str | None, guard: str, act: str, **values: Any) -> None:
    """Take the account that was found, or say why not."""
    current = s.facts.get("user")
    if current and found != current:
        if not s.guard("one_customer", False):
            s.say("other_customer", first_name=s.tools.data["users"][current]["name"]["first_name"])
            _keep(s)
            raise Pause
    elif current:
        s.guard("one_customer", True)
        return
    attempts = s.facts["attempts"] = s.facts.get("attempts", 0) + (found is None)
    most = MAX_ATTEMPTS + 2 * (s.fault == "four_attempts")
    if found is None and not s.guard("id_attempts", attempts < most):
        s.say("too_many_attempts")
        _keep(s)
        if s.task is None:
            s.begin(["order_info"])
        s.close("refused", offer="transfer")
        s.facts["ground"] = True
        raise Pause
    ok = s.guard(guard, found is not None)
    if found is None and not ok:
        s.say(act, **values)
        _keep(s)
        raise Pause
    if found is None:
        found = next(iter(s.tools.data["users"]))
    for passed in ("id_attempts", "email_format", "user_id_is_no_proof"):
        s.guard(passed, True)
    s.facts["user"] = found
    s.log.add("state", change="identified", user_id=found)
    user = s.tools.call("get_user_details", user_id=found)
    if not s.reading.intents and not (s.task and s.task.state == "open"):
        s.say("identified_idle", first_name=user["name"]["first_name"])
        if s.reading.slots["orders"]:
            s.said.pop()
            s.say("identified", first_name=user["name"]["first_name"])
            s.reading.intents = ["order_info"]
            return
        raise Pause
    s.say("identified", first_name=user["name"]["first_name"])


def _keep(s: Talk) -> None:
    """What else was said with a failed identification is not lost."""
    wanted = [i for i in s.reading.intents if not (s.task and s.task.state == "open" and s.domain.keep(s, i))]
    if wanted:
        s.begin(wanted)
    elif s.task:
        merge(s, s.task)
    if s.task and s.task.state == "open":
        s.task.asked = "identity"


def _nearest(s: Talk, text: str) -> str | None:
    flat = "".join(c for c in text.lower() if c.isalnum())
    return next((u["user_id"] for u in s.tools.data["users"].values()
                 if "".join(c for c in u["email"] if c.isalnum()).startswith(flat[:8])), None)  # fmt: skip


def _tidy_intents(s: Talk) -> None:
    """Of intents that hold one another the more precise one; an open vague change becomes what is named."""
    found, task = s.reading.intents, s.task
    precise = ("change_address", "change_payment", "change_items")
    for general, special in (
        ("vague_change", (*precise, "default_address", "exchange", "cancel", "return_items")),
        ("change_address", ("default_address",)),
        ("order_info", ("cancel", "return_items", "exchange", *precise)),
        ("product_info", ("exchange", "change_items", "return_items")),
        ("return_items", ("cancel", "exchange")),
        ("change_items", ("exchange",)),
        ("change_payment", ("cancel", "return_items", "exchange")),
    ):
        if general in found and any(name in found for name in special):
            found.remove(general)
    if task and task.state == "open" and task.name == "vague_change":
        named = [i for i in found if i in (*precise, "default_address")]
        if named:
            task.name, task.asked = named[0], None
    if (
        not found
        and not (task and task.state in ("open", "refused"))
        and s.facts.get("user")
        and s.reading.slots["orders"]
    ):
        s.reading.intents = ["order_info"]


def need_user(s: Talk) -> dict[str, Any]:
    """The account of the person who speaks; asks who it is."""
    user_id = s.facts.get("user")
    if not s.guard("identity_required", user_id is not None):
        s.ask("identity", "ask_identity")
    if user_id is None:
        order = s.tools.data["orders"].get(s.task.slots.get("order") or "")
        if order is None:
            s.ask("order", "ask_order")
        user_id = order["user_id"]
    return s.tools.data["users"][user_id]
