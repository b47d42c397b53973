"""The runner by rules: re-enacts a test, step by step, and adapts where the agent takes another way (Section III-B).

Example reply::

    {"why": "The agent says what it said when this was observed.", "message": "It is M-12.", "step": 2, "done": false}

A step is sent once; what lies between two steps is bounded by the turns to spare, so a run always ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenteval.tester.rules.answers import Scene, answer
from agenteval.tester.rules.driver import stuck
from agenteval.tester.rules.facts import mentions, naming, of_seed, seed_in, values
from agenteval.tester.rules.likeness import resembles
from agenteval.tester.rules.questions import Question, read
from agenteval.tester.rules.shapes import codes
from agenteval.tester.rules.talk import load

MOST_DETOURS = 3
"""Messages of the runner's own in a row."""


def reply(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The next message of a test's session.

    Parameters
    ----------
    inputs
        `test`, `brief` and `conversation`, as `roles.runner` renders them.

    Returns
    -------
    dict
        `why`, `message`, `step` and `done`.
    """
    test = inputs["test"]
    turns, greeting = inputs["conversation"]["turns"], inputs["conversation"]["greeting"]
    sent = max((t.get("step", 0) for t in turns), default=0)
    rest = [s for s in test["steps"] if s["step"] > sent and s["text"].strip()]
    if not rest:
        return _done("Every step was sent.")
    if not turns:
        return _send(rest[0], "The first step opens the conversation.")
    last = turns[-1]["agent"]
    if not last.strip():
        if stuck(turns):
            return _done("The agent does not answer.")
        return _send(rest[0], "The agent said nothing; the next step follows.")
    if stuck(turns) and rest[0]["part"] == "route" and all(s["part"] == "route" for s in rest):
        return _done("The agent repeats itself.")
    question = read(last)
    spare = test["turns_left"] - len(rest)
    detours = _detours(turns)
    first = rest[0]
    if first["part"] == "after":
        return _after(rest, last, question)
    if resembles(last, first["expects"]):
        return _send(first, "The agent says what it said when this was observed.")
    ahead = _ahead(rest, last, question)
    if ahead:
        return _send(ahead, "The agent is further than the route: the steps between became pointless.")
    if _answers(first, question, inputs["brief"]["seeds"]):
        return _send(first, "The step holds what the agent asks for.")
    scene = _scene(test, inputs["brief"]["seeds"], turns, greeting)
    if _ended(question) and not question.asks:
        perturbation = next((s for s in rest if s["part"] == "perturbation"), None)
        if perturbation:
            return _send(perturbation, "The route came to an end before its last step.")
        if _pointless(first):
            return _done("The agent came to an end before the last step.")
    if (
        question.asks
        and not question.open
        and not question.more
        and spare > 0
        and detours < MOST_DETOURS
        and not stuck(turns)
    ):
        own = answer(scene)
        if own.message and own.kind in ("give", "choose", "confirm") and own.message not in scene.said:
            return {
                "why": f"The agent asks for something that the route did not have. {own.why}",
                "message": own.message,
                "step": 0,
                "done": False,
            }
        if own.kind == "lack" and not detours:
            return {"why": own.why, "message": own.message, "step": 0, "done": False}
    if _pointless(first) and not question.asks and len(rest) > 1:
        return _send(rest[1], "There is nothing to affirm; the step after it follows.")
    return _send(first, "The agent says something else; the step is sent as it stands.")


def _done(why: str) -> dict[str, Any]:
    return {"why": why, "message": "", "step": 0, "done": True}


def _send(step: Mapping[str, Any], why: str) -> dict[str, Any]:
    return {"why": why, "message": step["text"], "step": step["step"], "done": False}


def _detours(turns: Sequence[Mapping[str, Any]]) -> int:
    """Messages of the runner's own since the last step."""
    count = 0
    for turn in reversed(turns):
        if turn.get("step", 0):
            break
        count += 1
    return count


def _ahead(rest: Sequence[Mapping[str, Any]], last: str, question: Question) -> Mapping[str, Any] | None:
    """A later step, up to the perturbation, whose moment has come: the agent does not ask for what lies between."""
    for step in rest[1:]:
        if step["part"] == "after":
            return None
        if step["expects"].strip() and question.asks and resembles(last, step["expects"]):
            return step
        if step["part"] == "perturbation":
            return None
    return None


def _answers(step: Mapping[str, Any], question: Question, seeds: Sequence[Mapping[str, str]]) -> bool:
    """Whether a step's text gives a value that the agent asks for."""
    if step["part"] != "route":
        return False
    text = step["text"]
    for option in question.options:
        if any(mentions(text, code) for code in codes(option.text)):
            return True
    position = seed_in(text, seeds)
    if position < 0:
        return False
    facts = of_seed(seeds[position])
    return any(
        mentions(text, v) for slot in question.slots if naming(slot.name).kinds for v in values(slot, facts, load())
    )


def _ended(question: Question) -> bool:
    return question.done or question.refused or question.closed or question.transferred


def _pointless(step: Mapping[str, Any]) -> bool:
    """Whether a step only says yes or no, so that it needs a question."""
    return len(step["text"].split()) <= 6 and bool(load().patterns["affirmation"].search(step["text"].lower()))


def _after(rest: Sequence[Mapping[str, Any]], last: str, question: Question) -> dict[str, Any]:
    """Steps after the perturbation: sent while they make sense, passed over when they have nothing to answer."""
    for step in rest:
        if resembles(last, step["expects"]) or not _pointless(step) or question.asks:
            return _send(step, "A step after the perturbation.")
    return _done("What remains has become pointless.")


def _scene(
    test: Mapping[str, Any], seeds: Sequence[Mapping[str, str]], turns: Sequence[Mapping[str, Any]], greeting: str
) -> Scene:
    """The customer of the test: the person whose values its steps name."""
    own = [s["text"] for s in test["steps"] if s["part"] != "perturbation"]
    position = seed_in("\n".join(own), seeds)
    if position < 0:
        position = seed_in("\n".join([test["goal"], *(s["text"] for s in test["steps"])]), seeds)
    seed = seeds[position] if position >= 0 else {}
    goal = next(iter(own), test["goal"])
    records = tuple(code for text in own for code in codes(text) if code not in seed.values())
    return Scene(seed=seed, goal=goal, greeting=greeting, turns=turns, key=[test["goal"], len(turns)], records=records)
