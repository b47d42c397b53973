"""The phone operator: what it adds to the engine of scripted subjects.

The rules follow tau-bench's telecom policy and its manuals in our own words (`policy.md`); customers and plans are invented.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Domain
from agenteval.subjects.scripted.telecom import identity, language, merging, workflows_account, workflows_guides
from agenteval.subjects.scripted.telecom.tools import Tools

FOLDER = Path(__file__).parent
NAME = (
    "a mobile phone operator's customer service: bills, suspended lines, plans, data, roaming and help with the device"
)

WORKFLOWS = {
    "pay_bill": workflows_account.pay_bill,
    "resume_line": workflows_account.resume_line,
    "change_plan": workflows_account.change_plan,
    "refuel": workflows_account.refuel,
    "roaming": workflows_account.roaming,
    "line_info": workflows_account.line_info,
    "no_service": workflows_guides.guide,
    "mobile_data": workflows_guides.guide,
    "mms": workflows_guides.guide,
    "transfer": workflows_account.transfer,
}
TITLES = {
    "pay_bill": "your bill",
    "resume_line": "the suspended line",
    "change_plan": "the plan change",
    "refuel": "the additional data",
    "roaming": "roaming",
    "line_info": "your lines",
    "no_service": "the missing service",
    "mobile_data": "your mobile data",
    "mms": "the picture messages",
    "transfer": "the transfer",
}
# While a task is open, these intents are usually answers to it and no new topic.
KEPT = {
    "no_service": ("mobile_data", "line_info", "roaming"),
    "mobile_data": ("no_service", "line_info", "refuel", "roaming"),
    "mms": ("mobile_data", "no_service", "line_info"),
    "refuel": ("change_plan",),
}


@cache
def data() -> dict[str, Any]:
    """The committed data, read once; `Tools` copies what can change."""
    return json.loads((FOLDER / "data.json").read_text("utf-8"))


def keep(s: Talk, intent: str) -> bool:
    """Whether an intent belongs to the open task: its own, or an answer to a step."""
    task = s.task
    if intent == task.name:
        return True
    if intent not in KEPT.get(task.name, ()):
        return False
    return not task.name.startswith(("no_", "mobile", "mms")) or bool(task.asked and task.asked.startswith("step"))


def seeds() -> list[dict[str, str]]:
    """What a tester may know in advance: one flat mapping per customer."""
    out = []
    for customer in data()["customers"].values():
        seed = {"name": customer["name"], "customer_id": customer["customer_id"], "date_of_birth": customer["dob"]}
        seed |= {f"line_id_{n}": line for n, line in enumerate(customer["lines"], 1)}
        seed |= {
            f"phone_number_{n}": data()["lines"][line]["phone_number"] for n, line in enumerate(customer["lines"], 1)
        }
        out.append(seed)
    return out


DOMAIN = Domain(
    "telecom",
    FOLDER,
    data,
    Tools,
    language.extract,
    identity.listen,
    merging.merge,
    keep,
    WORKFLOWS,
    ("line_info",),
    TITLES,
    ("pay_bill", "resume_line", "change_plan", "refuel", "line_info", "roaming", "no_service", "mobile_data", "mms"),
    "line",
    (),
)
