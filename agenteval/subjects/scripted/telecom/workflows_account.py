"""Bills, suspended lines, plans, data, roaming, and what is told of a line."""

from __future__ import annotations

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.telecom.common import item_line, need_active, need_line, overdue
from agenteval.subjects.scripted.telecom.identity import need_user
from agenteval.subjects.scripted.telecom.language import TODAY
from agenteval.subjects.scripted.telecom.merging import GUIDES

MOST_GB = 2


def pay_bill(s: Talk) -> None:
    """A request for an overdue bill, one at a time; paid is what has arrived."""
    user = need_user(s)
    due = overdue(s, user)
    waiting = next((b for b in due if b["status"] == "awaiting payment"), None)
    if s.task.slots.pop("paid", None) and (due or waiting):
        bill = waiting or due[0]
        if not s.guard("payment_verified", waiting is not None, value=bill["bill_id"]):
            s.refuse("no_payment", id=bill["bill_id"], amount=bill["amount"])
        s.tools.call("make_payment", bill_id=bill["bill_id"])
        s.finish("bill_paid", id=bill["bill_id"], amount=bill["amount"])
    if not s.guard("one_request", waiting is None):
        s.refuse("request_open", id=waiting["bill_id"], amount=waiting["amount"])
    if not s.guard("bill_overdue_only", bool(due)):
        s.refuse("nothing_overdue")
    bill = due[0] if due else s.tools.data["bills"][user["bills"][-1]]
    values = {"id": bill["bill_id"], "amount": bill["amount"]}
    s.gate("confirm_bill", "gate_bill", **values)
    s.tools.call("send_payment_request", customer_id=user["customer_id"], bill_id=bill["bill_id"])
    s.finish("request_sent", **values)


def resume_line(s: Talk) -> None:
    """Suspended, everything paid, contract running."""
    user, line = need_line(s)
    line_id = line["line_id"]
    if not s.guard("line_suspended_only", line["status"] == "suspended", value=line_id):
        s.refuse("already_active", id=line_id)
    if not s.guard(
        "resume_contract_valid",
        line["contract_end"] > TODAY,
        value=line_id,
    ):
        s.facts["ground"] = True
        s.refuse("contract_ended", id=line_id, date=line["contract_end"])
    due = overdue(s, user)
    if not s.guard("overdue_paid_first", not due, value=line_id):
        s.refuse("pay_first", offer="pay_bill", id=due[0]["bill_id"], amount=due[0]["amount"])
    s.gate("confirm_resume", "gate_resume", id=line_id)
    s.tools.call("resume_line", customer_id=user["customer_id"], line_id=line_id)
    s.finish("resume_done_plain" if s.fault == "skips_restart" else "resume_done", id=line_id)


def change_plan(s: Talk) -> None:
    """Another plan that exists, with its price."""
    user, line = need_line(s)
    need_active(s, line)
    slots, plans = s.task.slots, s.tools.data["plans"]
    listed = [("item_plan", {"name": p["name"], "price": p["price"], "data": p["data_gb"]}) for p in plans.values()]
    bad = slots.pop("bad_plan", None)
    if bad and not slots.get("plan"):
        if not s.guard("plan_known", False, value=bad):
            s.ask("plan", "plan_unknown", name=bad, items=listed)
        slots["plan"] = next(p for p in plans if p != line["plan"])
    if not s.guard("plan_required", bool(slots.get("plan"))):
        s.ask("plan", "ask_plan", current=line["plan"], items=listed)
    plan = plans[slots.get("plan") or next(p for p in plans if p != line["plan"])]
    s.guard("plan_known", True)
    if not s.guard("plan_differs", plan["name"] != line["plan"], value=plan["name"]):
        slots["plan"] = None
        s.ask("plan", "plan_same", name=plan["name"], id=line["line_id"])
    values = {"id": line["line_id"], "plan": plan["name"], "price": plan["price"]}
    s.gate("confirm_plan", "gate_plan", data=plan["data_gb"], **values)
    if s.fault != "plan_not_changed":
        s.tools.call("change_plan", customer_id=user["customer_id"], line_id=line["line_id"], plan=plan["name"])
    s.finish("plan_done", **values)


def refuel(s: Talk) -> None:
    """Up to 2 GB at the price of the plan."""
    user, line = need_line(s)
    need_active(s, line)
    amount = s.task.slots.get("amount")
    if not s.guard("amount_required", amount is not None):
        s.ask("amount", "ask_amount", price=s.tools.data["plans"][line["plan"]]["refuel_price"])
    amount = 1.0 if amount is None else amount
    if not s.guard("amount_positive", amount > 0, value=amount):
        s.task.slots["amount"] = None
        s.ask("amount", "amount_wrong", amount=_gb(amount))
    if not s.guard("refuel_limit", amount <= (5 if s.fault == "five_gigabytes" else MOST_GB), value=amount):
        s.task.slots["amount"] = None
        s.ask("amount", "amount_too_high", amount=_gb(amount))
    price = _gb(amount * s.tools.data["plans"][line["plan"]]["refuel_price"] - 5 * (s.fault == "wrong_price"))
    values = {"id": line["line_id"], "amount": _gb(amount)}
    if s.fault == "skips_price":
        s.gate("confirm_refuel", "gate_refuel_plain", **values)
    else:
        s.gate("confirm_refuel", "gate_refuel", price=price, **values)
    s.tools.call("refuel_data", customer_id=user["customer_id"], line_id=line["line_id"], gb_amount=amount)
    s.finish("refuel_done", price=price, **values)


def _gb(amount: float) -> str:
    return f"{amount:g}"


def roaming(s: Talk) -> None:
    """On or off, at no cost."""
    user, line = need_line(s)
    need_active(s, line)
    direction = s.task.slots.get("direction") or ("on" if s.task.slots.get("ground") in GUIDES else None)
    if not s.guard("direction_required", direction is not None):
        s.ask("direction", "ask_direction", id=line["line_id"], state="on" if line["roaming"] else "off")
    direction = direction or ("off" if line["roaming"] else "on")
    values = {"id": line["line_id"], "state": direction}
    s.gate("confirm_roaming", "gate_roaming", **values)
    if s.fault != "roaming_not_switched":
        s.tools.call("set_roaming", customer_id=user["customer_id"], line_id=line["line_id"], on=direction == "on")
    s.finish("roaming_done", **values)


def line_info(s: Talk) -> None:
    """The lines of the customer, or one of them with usage and contract."""
    user = need_user(s)
    if not s.task.slots.get("line") and len(user["lines"]) > 1:
        s.facts["listed"] = user["lines"]
        s.say("list_lines", items=[item_line(s, i) for i in user["lines"]])
        s.task.asked, s.task.state = "line", "done"
        return
    user, line = need_line(s)
    usage = s.tools.call("get_data_usage", customer_id=user["customer_id"], line_id=line["line_id"])
    s.finish(
        "line_details", id=line["line_id"], phone=line["phone_number"], plan=line["plan"], state=line["status"], used=_gb(usage["used_gb"]),
        limit=_gb(usage["limit_gb"]), roaming="on" if line["roaming"] else "off", end=line["contract_end"],
    )  # fmt: skip


def transfer(s: Talk) -> None:
    """To a person after the guide, with a matter that cannot be settled here, or at the second demand."""
    guide = next((t for t in s.waiting if t.name in GUIDES and t.state == "open"), None)
    if guide is not None and not s.guard("steps_first", False):
        s.refuse("steps_first")
    s.guard("steps_first", True)
    ground = s.facts.get("ground") or s.task.slots.get("ground")
    asked_before = s.facts.get("transfer_asked", False)
    s.facts["transfer_asked"] = True
    if guide is None and not s.guard("transfer_needed", bool(ground or asked_before)):
        s.refuse("transfer_what_for")
    s.tools.call("transfer_to_human_agents", summary=f"{ground or 'customer asked'}")
    s.waiting = [t for t in s.waiting if t is not guide]
    s.finish("transfer_done")
