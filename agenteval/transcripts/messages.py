"""From recorded messages to a trace, and to what the user never saw.

A turn is one user utterance and what the agent then *said*. System and tool messages, tool calls and text beside a call
are privileged, also where the call is written in the text (`Action: {...}`, `<tool_call>`). For tau formats text beside a
call was never sent; elsewhere it counts as said when nothing else answers the user.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agenteval.store import clean, content_id
from agenteval.transcripts.files import Conversation
from agenteval.types import Failure, ToolEvent, Trace, Turn

_STOP_SIGN = re.compile(r"###[A-Z_-]+###")
_ACTION = re.compile(r"^\s*(?:Thought:.*?\n)?\s*Action:\s*", re.DOTALL)
_TOOL_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_TOOL_OUTPUT = "API output:"
_SIDES = {
    "user": "user", "human": "user", "assistant": "agent", "model": "agent", "bot": "agent", "system": "system",
    "developer": "system", "tool": "result", "function": "result",
}  # fmt: skip


class Imported(NamedTuple):
    trace: Trace
    tools: list[ToolEvent]
    merged: int
    """User messages that came without a reply in between and were joined with the next."""


class _Said(NamedTuple):
    side: str
    text: str
    calls: list[tuple[str, str]]
    """Name and arguments."""


def split(conversation: Conversation, position: int) -> Imported | Failure:
    """Split a conversation into a trace and its privileged events.

    Parameters
    ----------
    position
        Number of the conversation in its import; part of the trace's id.

    Returns
    -------
    Imported or Failure
        `empty_trajectory` without messages, `not_a_conversation` for messages of another shape, `no_turns` where the
        agent never answered a user.
    """
    if not conversation.messages:
        why = "the recording reports a failed run" if conversation.error else "no messages were recorded"
        return Failure(id=conversation.name, stage="read", reason="empty_trajectory", detail=why)
    try:
        said = [_message(m) for m in conversation.messages]
    except _OtherShape as problem:
        return Failure(id=conversation.name, stage="read", reason="not_a_conversation", detail=str(problem))

    id = f"{position:05d}-{content_id(conversation.name, conversation.messages)}"
    tau = conversation.format != "openai-chat"
    greeting: list[str] = []
    turns: list[Turn] = []
    tools: list[ToolEvent] = []
    asked: list[str] = []
    replies: list[str] = []
    beside: list[str] = []
    merged = 0
    text_calls = False

    def close() -> None:
        nonlocal merged
        if asked:
            agent = "\n\n".join(replies if replies or tau else beside)
            turns.append(Turn(user="\n".join(asked), agent=agent, status="ok" if agent.strip() else "empty"))
            merged += len(asked) - 1
            asked.clear()
        replies.clear()
        beside.clear()

    acted = answered = False
    for message in said:
        number = len(turns) + bool(asked)
        if message.side == "user" and text_calls and message.text.startswith(_TOOL_OUTPUT):
            tools.append(ToolEvent(id=id, turn=number, role="result", content=message.text))
        elif message.side == "user":
            for name, arguments in message.calls:
                tools.append(ToolEvent(id=id, turn=number, role="call", name=name, content=arguments))
            text = _STOP_SIGN.sub("", message.text).strip() if tau else message.text.strip()
            if not text and (message.calls or not message.text.strip()):
                continue
            if acted:
                close()
            acted = answered = False
            if text:
                asked.append(text)
        elif message.side == "agent":
            text, calls, written = _spoken(message)
            text_calls = text_calls or written
            for name, arguments in calls:
                tools.append(ToolEvent(id=id, turn=number, role="call", name=name, content=arguments))
            if text.strip() and calls:
                tools.append(ToolEvent(id=id, turn=number, role="note", content=text))
                beside.append(text)
            elif text.strip():
                (replies if asked else greeting).append(text)
            acted = acted or bool(asked)
            answered = answered or bool(asked and not calls)
        else:
            tools.append(ToolEvent(id=id, turn=number, role=message.side, content=message.text))
    # A recording that ends in a call does not say what came of it; one that ends in an empty message does.
    if answered or (beside and not tau):
        close()
    closing = "\n".join(asked)
    if not turns:
        return Failure(id=conversation.name, stage="read", reason="no_turns", detail="no user utterance was answered")
    stop = "budget" if conversation.cut else "subject_error" if conversation.error else "recorded"
    trace = Trace(
        id=id, greeting="\n\n".join(greeting), turns=tuple(turns), closing=closing, stop=stop, source=conversation.name
    )
    return Imported(trace, tools, merged)


class _OtherShape(Exception):
    pass


def _message(message: Any) -> _Said:
    if not isinstance(message, dict):
        raise _OtherShape(f"a message is a {type(message).__name__}, not an object with role and content")
    side = _SIDES.get(str(message.get("role", "")).lower())
    if side is None:
        raise _OtherShape(f"unknown role {message.get('role')!r}; expected {', '.join(_SIDES)}")
    calls = []
    raw = message.get("tool_calls") or []
    for call in [*(raw if isinstance(raw, list) else [raw]), message.get("function_call")]:
        if isinstance(call, dict):
            body = call.get("function") if isinstance(call.get("function"), dict) else call
            arguments = body.get("arguments")
            calls.append(
                (
                    str(body.get("name", "")),
                    arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True),
                )
            )
    return _Said(side, clean(_content(message.get("content"))), calls)


def _content(content: Any) -> str:
    """Text of a message's content: a string, nothing, or a list of parts of which only text counts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (p if isinstance(p, str) else p.get("text") if isinstance(p, dict) else None for p in content)
        return "\n".join(p for p in parts if isinstance(p, str))
    if isinstance(content, dict):
        return content["text"] if isinstance(content.get("text"), str) else ""
    return str(content)


def _spoken(message: _Said) -> tuple[str, list[tuple[str, str]], bool]:
    """What an agent message says, its calls, and whether a call was written in its text."""
    match = _ACTION.match(message.text)
    if match:
        body = message.text[match.end() :].strip()
        try:
            action = json.loads(body)
            name, arguments = action["name"], action["arguments"]
        except (ValueError, TypeError, KeyError, RecursionError):
            # The harness sent such a body to the user as it stood.
            return body, message.calls, False
        if name == "respond":
            return _content(arguments.get("content") if isinstance(arguments, dict) else arguments), message.calls, True
        return "", [*message.calls, (str(name), json.dumps(arguments, sort_keys=True))], True
    written = [("", body) for body in _TOOL_CALL.findall(message.text)]
    return (
        _TOOL_CALL.sub("", message.text).strip() if written else message.text,
        [*message.calls, *written],
        bool(written),
    )
