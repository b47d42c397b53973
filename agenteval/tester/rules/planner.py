"""The planner by rules: the behaviour that the agent has mentioned and the sessions show least (Section III-A).

Example reply::

    {"why": "Asked for in 0 sessions: pay a fine.", "phase": "happy_path",
     "objective": "Carry this request through to its end: \\"I want to pay a fine, please.\\"",
     "strategy": "Ask for it in these words: ... Be the customer with member no M-12. ..."}

The driver reads the quoted request and the values again; both are sentences that a model can follow as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenteval.tester.rules.driver import asked_for, asks_needs, pursued
from agenteval.tester.rules.facts import identity, of_seed, seed_in, uses
from agenteval.tester.rules.questions import outcomes
from agenteval.tester.rules.services import Service, meant, named, request
from agenteval.tester.rules.shapes import codes, kind
from agenteval.tester.rules.talk import load

FEW = 3
"""Fewer services than this, and the agent is asked again what it can do."""
ROUNDS_A_SURVEY = 8
"""Once all known services were asked for, one session in so many asks what else there is."""
ROUNDS_A_REPETITION = 8
MOST_RECORDS = 4


def reply(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the next session.

    Parameters
    ----------
    inputs
        `brief`, `phases` and `sessions`, as `roles.planner` renders them.

    Returns
    -------
    dict
        `why`, `phase`, `objective` and `strategy`.
    """
    sessions, seeds, phases = inputs["sessions"], inputs["brief"]["seeds"], inputs["phases"]
    greeting = next((s["greeting"] for s in sessions if s["greeting"].strip()), "")
    known = named(sessions)
    key = [greeting, len(sessions)]
    seed = _unused(seeds, sessions)
    if not known or len(known) < FEW and phases.get("capability_discovery", 0) * ROUNDS_A_SURVEY <= len(sessions):
        return _discovery(known, seed, sessions, key)
    counts = {s: (_walked(s, sessions), sum(pursued(s, x) for x in sessions)) for s in known}
    # An attempt that came to no outcome covers half as much as one that did.
    service = min(known, key=lambda s: sum(counts[s]))
    seed = _unused(seeds, sessions, service)
    _, asked = counts[service]
    if asked and phases.get("capability_discovery", 0) * ROUNDS_A_SURVEY <= len(sessions):
        return _discovery(known, seed, sessions, key)
    if (
        asked
        and phases.get("consistency_check", 0) * ROUNDS_A_REPETITION < len(sessions)
        and (again := _repeatable(sessions))
    ):
        return _consistency(again, sessions, seeds, len(known))
    return _happy(service, asked, seed, sessions, seeds, key)


def _walked(service: Service, sessions: Sequence[Mapping[str, Any]]) -> int:
    """Sessions in which the service was asked for and came to an outcome, a refusal included."""
    count = 0
    for session in sessions:
        if not pursued(service, session):
            continue
        asked = False
        for text, result in zip(meant(session), outcomes(session), strict=True):
            asked = asked or asked_for(service, text)
            if asked and result:
                count += 1
                break
    return count


def _unused(
    seeds: Sequence[Mapping[str, str]], sessions: Sequence[Mapping[str, Any]], service: Service | None = None
) -> Mapping[str, str]:
    """The person or record used least so far, for this service first of all."""
    if not seeds:
        return {}
    counts = uses(sessions, seeds)
    here = uses([s for s in sessions if service and pursued(service, s)], seeds)
    return seeds[min(range(len(seeds)), key=lambda n: (here[n], counts[n], n))]


def _facts(seed: Mapping[str, str]) -> str:
    """What tells a person or record from the others, in words."""
    telling = identity(seed)[:2]
    rows = [f"{f.name.replace('_', ' ')} {f.value}" for f in of_seed(seed) if f.value in telling]
    return f" {load().single['and_list']} ".join(rows)


def _records(
    seed: Mapping[str, str], sessions: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, str]]
) -> list[str]:
    """Identifiers that the agent named while this person was in play."""
    mine = {value for other in seeds for value in other.values()}
    found: list[str] = []
    for session in sessions:
        position = seed_in("\n".join([*(t["user"] for t in session["turns"]), session.get("strategy", "")]), seeds)
        if position < 0 or seeds[position] != seed:
            continue
        told = [c for t in session["turns"] for c in codes(t["agent"]) if kind(c) == "code" and c not in mine]
        found += [c for c in told if c not in found]
    return found[:MOST_RECORDS]


def _happy(
    service: Service, asked: int, seed: Mapping[str, str], sessions: Sequence[Mapping[str, Any]],
    seeds: Sequence[Mapping[str, str]], key: Any,
) -> dict[str, Any]:  # fmt: skip
    plan = load().plan
    wish = request(service, key)
    records = _records(seed, sessions, seeds)
    sentence = plan["records"].replace("{records}", ", ".join(records)) if records else ""
    strategy = plan["happy_strategy"] if seed else plan["happy_strategy_plain"]
    strategy = strategy.replace("{request}", wish).replace("{facts}", _facts(seed)).replace("{records}", sentence)
    return {"why": f"Asked for in {asked} sessions: {service.text}.", "phase": "happy_path",
            "objective": plan["happy"].replace("{request}", wish), "strategy": strategy}  # fmt: skip


def _asked_about(service: Service, sessions: Sequence[Mapping[str, Any]]) -> int:
    return sum(asks_needs(service, turn["user"]) for session in sessions for turn in session["turns"])


def _discovery(
    known: Sequence[Service], seed: Mapping[str, str], sessions: Sequence[Mapping[str, Any]], key: Any
) -> dict[str, Any]:
    plan = load().plan
    fresh = min(known, key=lambda s: _asked_about(s, sessions)) if known else None
    objective = plan["discover"].replace("{request}", request(fresh, key)) if fresh else plan["discover_plain"]
    strategy = plan["discover_strategy"].replace("{facts}", _facts(seed)) if seed else plan["discover_strategy_plain"]
    return {
        "why": f"Only {len(known)} services are known.",
        "phase": "capability_discovery",
        "objective": objective,
        "strategy": strategy,
    }


def _repeatable(sessions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """A walked session that no consistency check has repeated yet, completed ones first."""
    paths = [s for s in sessions if s.get("phase") == "happy_path" and len(s["turns"]) >= 2]
    repeated = {s["turns"][0]["user"] for s in sessions if s.get("phase") == "consistency_check" and s["turns"]}
    fresh = [s for s in paths if s["turns"][0]["user"] not in repeated and _settled(s)]
    fresh.sort(key=lambda s: "done" not in outcomes(s))
    return fresh[0] if fresh else None


def _settled(session: Mapping[str, Any]) -> bool:
    """Whether a session came to an outcome worth comparing."""
    return any(outcomes(session))


def _consistency(
    session: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, str]], known: int
) -> dict[str, Any]:
    plan = load().plan
    wish = session["turns"][0]["user"].replace('"', "'")
    position = seed_in("\n".join(t["user"] for t in session["turns"]), seeds)
    facts = _facts(seeds[position]) if position >= 0 else ""
    strategy = plan["consistent_strategy" if facts else "consistent_strategy_plain"]
    strategy = strategy.replace("{session}", session["id"]).replace("{request}", wish).replace("{facts}", facts)
    return {"why": f"All {known} services were asked for; this one is not repeated yet.", "phase": "consistency_check",
            "objective": plan["consistent"].replace("{request}", wish), "strategy": strategy}  # fmt: skip
