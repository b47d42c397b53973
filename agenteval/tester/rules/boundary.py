"""Offline boundary writer: walks a recorded session to a point and perturbs one thing there (Section V-B).

Material of a drawn turn: ``{"at": {"session": "00003-1a2b3c4d", "turn": 2}}``; of a target, its `location` besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval.tester.rules.criteria import Predicate, render, trigger_of
from agenteval.tester.rules.ownership import people
from agenteval.tester.rules.perturbations import GATE_KINDS, ideas
from agenteval.tester.rules.places import Idea, Place
from agenteval.tester.rules.values import cite
from agenteval.tester.rules.wording import names_identity, noun, words
from agenteval.tester.rules.workflows import read_session, steps_to


def _seen(inputs: dict[str, Any]) -> str:
    texts = [str(v) for seed in inputs["brief"].get("seeds", []) for v in seed.values()]
    for session in inputs["sessions"]:
        texts.append(session.get("greeting", ""))
        texts += [t for turn in session["turns"] for t in (turn["user"], turn["agent"])]
    return "\n".join(texts)


def _places(inputs: dict[str, Any]) -> Iterator[Place]:
    """The point that the material names; without one, every turn of every session."""
    material, seen = inputs["material"], _seen(inputs)
    at, location = material.get("at") or {}, material.get("location") or {}
    for session in inputs["sessions"]:
        if at and session["id"] != at["session"]:
            continue
        read = read_session(session)
        for i, e in enumerate(read):
            if not at or e.turn == at["turn"]:
                yield Place(session, read, i, location.get("kind", ""), inputs["sessions"], inputs["brief"], seen)


def _filled(text: str, idea: Idea, task: str) -> str:
    fills = {"noun": noun(task), "slot": idea.slot or words()["no_slot"], "value": idea.value}
    for name, fill in fills.items():
        text = text.replace(f"{{{name}}}", fill)
    return text


def _boundary(idea: Idea, task: str) -> str:
    """What is stressed. Who the customer is gets checked in one way, whatever the customer wants."""
    template = words()["perturbations"][idea.kind]["boundary"]
    if names_identity(idea.slot):
        template = template.removesuffix(words()["for_task"])
    return _filled(template, idea, task)


def _draft(place: Place, idea: Idea) -> dict[str, Any] | None:
    data, task = words()["perturbations"][idea.kind], idea.task or place.task
    trigger = trigger_of(idea.text, idea.value)
    route = steps_to(place.read, idea.route_to)
    said = {e.turn: e.user for e in place.read}
    # Who spoke for two customers is nobody whose rights a test could be about.
    if len(people((said[t] for t in route), place.brief)) > 1:
        return None
    # A criterion could not tell the perturbation from a step that says the same.
    if not trigger or any(trigger.lower() in " ".join(said[t].lower().split()) for t in route):
        return None
    steps = [{"text": said[t], "part": "route", "turn": t} for t in route]
    steps.append({"text": idea.text, "part": "perturbation", "turn": 0})
    success = [render(Predicate(name, trigger, task, idea.slot, idea.value)) for name in idea.success]
    failure = [render(Predicate(name, trigger, task, idea.slot, idea.value)) for name in idea.failure]
    if idea.kind in GATE_KINDS:
        failure.append(render(Predicate("done_unasked", task=task)))
    if idea.secret:
        failure.append(render(Predicate("tells", trigger, "", "", idea.secret)))
    goal = _filled(data["goal"], idea, task)
    texts = [goal, *(s["text"] for s in steps), *success, *failure]
    why = words()["because"]
    fills = {"kind": idea.kind.replace("_", " "), "turn": str(place.here.turn), "act": place.here.act.replace("_", " ")}
    for name, fill in fills.items():
        why = why.replace(f"{{{name}}}", fill)
    return {
        "why": why, "session": place.session["id"], "turn": place.here.turn, "boundary": _boundary(idea, task),
        "perturbation": idea.kind, "goal": goal, "steps": steps, "success": success, "failure": failure,
        "values": cite(texts, place.session, place.brief, idea.perturbed, route), "golden": [],
    }  # fmt: skip


def reply(inputs: dict[str, Any]) -> dict[str, Any]:
    """Write boundary tests for one point.

    Parameters
    ----------
    inputs
        ``{"material", "sessions", "brief", "accepted", "batch"}`` as `roles.boundary.write` passes them on.

    Returns
    -------
    dict
        JSON of `roles.boundary.Reply`; no tests when every perturbation that fits the point is accepted already.
    """
    taken = {(a["boundary"], a["perturbation"]) for a in inputs["accepted"]}
    tests: list[dict[str, Any]] = []
    for place in _places(inputs):
        for idea in ideas(place):
            if len(tests) >= inputs["batch"]:
                return {"tests": tests}
            draft = _draft(place, idea)
            if draft and (draft["boundary"], draft["perturbation"]) not in taken:
                taken.add((draft["boundary"], draft["perturbation"]))
                tests.append(draft)
    return {"tests": tests}
