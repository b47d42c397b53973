"""Offline ranker: the boundary potential of a location, from its labels and from what the agent said there (Section V-B).

``node:request_confirmation_cancel`` scores 0.95, "cancellation without confirmation"; ``node:close`` scores 0.1.
"""

from __future__ import annotations

from typing import Any

from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.wording import names_identity, noun, words
from agenteval.tester.rules.workflows import read_session

SOURCE_SHARE = 0.9
SEEN_SHARE = 0.9
MOST_WORDS = 8


def _task(label: str) -> str:
    lexicon = load()
    readings = (r for word in label.split("_") for r in lexicon.forms.get(word, ()))
    return next((task for code, task in readings if code != "L" and task != lexicon.generic), "")


def _slot(label: str, skip: frozenset[str]) -> str:
    kept = [w for w in label.split("_and_")[0].split("_") if w not in skip]
    return " ".join(kept) or words()["no_slot"]


def _scored(label: str) -> tuple[float, str, str]:
    """Score of a label, what a test would stress there, and the words that gave it."""
    data = words()
    have = label.split("_")
    for row in data["potential"]:
        row_words = frozenset(row["words"].split())
        hit = [w for w in have if w in row_words]
        if hit:
            slot = _slot(label, row_words)
            name = row["label"].replace("{noun}", noun(_task(label))).replace("{slot}", slot)
            score = float(row["score"])
            if "{slot}" in row["label"] and names_identity(slot):
                score = float(data["identity_potential"]["score"])
                name = data["identity_potential"]["label"].replace("{slot}", slot)
            return score, name, hit[0]
    return float(data["unknown_potential"]["score"]), data["unknown_potential"]["label"], ""


def _seen(examples: list[dict[str, Any]]) -> tuple[float, str, str]:
    """The same for what the examples show, whatever the state is called."""
    best = (0.0, "", "")
    for example in examples:
        turn = {"turn": 1, "user": str(example.get("user", "")), "agent": str(example.get("agent", ""))}
        (read,) = read_session({"turns": [turn]})
        if read.act:
            slots = "_and_".join(read.slots)
            best = max(best, _scored("_".join(p for p in (read.act, read.verb or slots) if p)))
    return best


def _score(target: dict[str, Any]) -> dict[str, Any]:
    data = words()
    score, name, why = _scored(target["state"])
    seen, seen_name, seen_why = _seen(target.get("examples", []))
    if SEEN_SHARE * seen > score:
        score, name, why = SEEN_SHARE * seen, seen_name, seen_why
    if target.get("source"):
        before, before_name, before_why = _scored(target["source"])
        if SOURCE_SHARE * before > score:
            score, name, why = SOURCE_SHARE * before, before_name, before_why
    for word, more in data["raising_actions"].items():
        if any(action.startswith(word) for action in target.get("actions", {})):
            score += more
            break
    if target["kind"] in ("start", "end") and score < 0.5:
        name = data[f"{target['kind']}_label"]
    return {
        "target": target["id"], "why": f"{target['kind']} {target['state']}: {why or 'nothing known'}",
        "potential": round(min(1.0, score), 3), "label": " ".join(name.split()[:MOST_WORDS]),
    }  # fmt: skip


def reply(inputs: dict[str, Any]) -> dict[str, Any]:
    """Score every target.

    Parameters
    ----------
    inputs
        ``{"targets": [...]}`` as `roles.potential.score` passes it on.

    Returns
    -------
    dict
        JSON of `roles.potential.Reply`.
    """
    return {"scores": [_score(target) for target in inputs["targets"]]}
