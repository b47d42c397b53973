"""Agents of tau-bench: a chat model with the policy, tools and data of an installed tau2 package.

`tau:airline`, `tau:retail`, `tau:telecom`, `tau:banking` (`tau:banking?retrieval=NAME` for another search of its knowledge
base). The model is that of the role `subject`. What the agent does stands in a privileged log::

    {"event": "tool", "turn": 2, "name": "find_user_id_by_email", "arguments": {"email": "..."}, "result": "..."}
    {"event": "tool", "turn": 3, "name": "cancel_pending_order", "arguments": {...}, "error": "Error: Order not found"}
    {"event": "model", "turn": 3, "input": 4120, "output": 31}
    {"event": "stopped", "turn": 4, "reason": "subject_error", "detail": "..."}

**The customer's side.** In telecom, and in parts of banking, tau2 gives tools to its simulated user as well: the phone that
is checked and repaired, the payment that is made. They are not the agent's, so it cannot call them here either; and a
tester has words only. Such an agent asks for a check of the device and has to take what it is told. No device is behind
that, nothing that the tester reports changes the data, and a payment request stays unpaid. Tasks also prepare the customer's
account before they begin; here every session begins with the data as the package ships them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agenteval.errors import ChatError
from agenteval.profiles import load as load_profile
from agenteval.subjects.tau_environment import RETRIEVAL, call, open_environment, tasks
from agenteval.subjects.tau_seeds import seeds
from agenteval.subjects.tool_model import Answer, Call, ToolModel
from agenteval.types import Brief

ABOUT = {
    "airline": "an airline's customer service: booking, changing and cancelling flights, refunds and compensation",
    "retail": "an online shop's customer service: cancelling, changing, returning and exchanging orders, addresses",
    "telecom": "a mobile operator's customer service: bills, lines, plans, data and help with a phone that does not work",
    "banking": "a bank's customer service: accounts, cards, disputes, referrals and questions about products",
}
"""The brief's text about a domain."""

MOST_CALLS = 30
"""Answers of the model within one turn. A turn that needs more has run away."""
GREETING = "Hi! How can I help you today?"
"""The benchmark opens every conversation with it."""
PROMPT = """\
You are the agent of a customer service; the policy below is binding. Each of your turns is either one message to the
customer or one tool call, never both and never several calls at once.

<policy>
{policy}
</policy>"""
ONE_AT_A_TIME = "Error: not executed, because tools are called one at a time. Call it again if it is still needed."


def brief(domain: str, *, retrieval: str = RETRIEVAL) -> Brief:
    """What a tester may know in advance: a text, and what the customers of the tasks know of themselves.

    Raises
    ------
    UsageError
        The domain cannot be opened: no package, no such domain, no data.
    """
    open_environment(domain, retrieval=retrieval)
    return Brief(domain=ABOUT[domain], seeds=seeds(task.user_scenario for task in tasks(domain)))


def subject_model(profile: str, profiles: Path | None, *, seed: int = 0) -> ToolModel:
    """The model of the role `subject`: of the named profile, or of `openai` where that profile names none.

    Raises
    ------
    ProfileError
        No such profile, a missing variable, no key.
    """
    spec = load_profile(profile, profiles, roles=(), optional=("subject",)).subject
    if spec is None:
        spec = load_profile("openai", profiles, roles=("subject",)).subject
    return ToolModel(spec, seed=seed)


class TauChat:
    """The agent under test: `reset` and `invoke`, and on the privileged side `log`.

    Parameters
    ----------
    domain
        One of `tau_environment.DOMAINS`.
    model
        Shared by the chats of a run.
    retrieval
        Banking only.
    """

    def __init__(self, domain: str, model: ToolModel, *, retrieval: str = RETRIEVAL):
        self._domain, self._model, self._retrieval = domain, model, retrieval
        self._talk: Talk | None = None

    def reset(self) -> str:
        """Begin a session on a fresh environment; returns the greeting."""
        self._talk = Talk(open_environment(self._domain, retrieval=self._retrieval), self._model)
        return GREETING

    def invoke(self, text: str) -> str:
        """Send one utterance; the agent may call tools before it answers.

        Raises
        ------
        ChatError
            The model failed, or went on calling tools without an answer. The session is over then.
        """
        if self._talk is None:
            self.reset()
        return self._talk.turn(text)

    @property
    def log(self) -> list[dict[str, Any]]:
        """Privileged events of the session."""
        return list(self._talk.events) if self._talk else []


class Talk:
    """One session. A turn that a caller gave up writes to its own session, never to the next one."""

    def __init__(self, environment: Any, model: ToolModel):
        self.environment = environment
        self.model = model
        self.tools = [tool.openai_schema for tool in environment.get_tools()]
        system = PROMPT.replace("{policy}", environment.get_policy())
        self.history: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "assistant", "content": GREETING},
        ]
        self.events: list[dict[str, Any]] = []
        self.number = 0

    def turn(self, text: str) -> str:
        self.number += 1
        self._hear(text)
        try:
            return self._answer()
        except ChatError as error:
            self._note("stopped", reason=error.reason, detail=str(error))
            raise

    def _answer(self) -> str:
        silent = False
        for _ in range(MOST_CALLS):
            answer = self.model.answer(self.history, self.tools)
            if answer.usage is not None:
                self._note("model", input=answer.usage[0], output=answer.usage[1])
            if answer.calls:
                self._act(answer)
            elif answer.text.strip():
                self.history.append({"role": "assistant", "content": answer.text})
                return answer.text
            elif silent:
                self._note("stopped", reason="empty", detail="twice neither text nor a tool call")
                return ""
            else:
                silent = True
        raise ChatError(f"{MOST_CALLS} answers of the model in one turn and none for the customer")

    def _hear(self, text: str) -> None:
        """Two messages of the user in a row, as after an empty answer, become one: many models insist on taking turns."""
        last = self.history[-1]
        if last["role"] == "user":
            self.history[-1] = {"role": "user", "content": f"{last['content']}\n\n{text}"}
        else:
            self.history.append({"role": "user", "content": text})

    def _act(self, answer: Answer) -> None:
        """Execute the first call; text beside calls is for nobody, so it stays in the history and the log."""
        if answer.text.strip():
            self._note("note", text=answer.text)
        calls = _distinct(answer.calls)
        self.history.append(
            {"role": "assistant", "content": answer.text or None, "tool_calls": [_sent(c) for c in calls]}
        )
        for position, one in enumerate(calls):
            arguments = parsed(one.arguments)
            if position > 0:
                content, failed = ONE_AT_A_TIME, True
            elif arguments is None:
                content, failed = f"Error: not executed, the arguments are no JSON object: {one.arguments[:200]}", True
            else:
                content, failed = call(self.environment, one.id, one.name, arguments)
            self.history.append({"role": "tool", "tool_call_id": one.id, "content": content})
            outcome = {"error": content} if failed else {"result": _value(content)}
            self._note("tool", name=one.name, arguments=one.arguments if arguments is None else arguments, **outcome)

    def _note(self, event: str, **facts: Any) -> None:
        self.events.append({"event": event, "turn": self.number, **facts})


def parsed(arguments: str) -> dict[str, Any] | None:
    """The arguments of a call; None where they are no JSON object. A model that has none to give may send nothing.

    >>> parsed('{"a": 1}'), parsed(""), parsed('{"a": '), parsed("[1]")
    ({'a': 1}, {}, None, None)
    """
    if arguments.strip() in ("", "null"):
        return {}
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _distinct(calls: tuple[Call, ...]) -> list[Call]:
    """The calls with ids that differ: a result is matched to its call by id alone."""
    seen: set[str] = set()
    found = []
    for number, one in enumerate(calls):
        id = one.id if one.id not in seen else f"{one.id}_{number}"
        seen.add(id)
        found.append(one._replace(id=id))
    return found


def _sent(one: Call) -> dict[str, Any]:
    """A call as it goes back to the endpoint, which may refuse a history with malformed names or arguments."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", one.name)[:64] or "unnamed"
    arguments = one.arguments if parsed(one.arguments) else "{}"
    return {"id": one.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _value(content: str) -> Any:
    """A result as data where it is JSON, for the log."""
    if content[:1] not in ("{", "["):
        return content
    try:
        return json.loads(content, parse_constant=str)
    except (ValueError, RecursionError):
        return content
