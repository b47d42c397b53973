"""The offline labeller: names every turn of all sessions of one agent in one pass, without a model or a network.

This is the event abstraction of the paper (Section IV-A) by rules: each turn gets a user action, an agent activity
and one sentence of summary, for example ``{"turn": 2, "action": "provide_details", "activity":
"request_confirmation_cancel", "summary": "User: provide details; agent: request confirmation cancel."}``.
Gates, completions, refusals, failures and offers are named by rule; the other replies vote within clusters of like
wording.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from agenteval.tester.rules.acts import (
    ANSWER,
    CLOSE,
    DENY,
    DETAILS,
    DONE,
    FAIL,
    GATE,
    GREET,
    MORE,
    NONE,
    OFFER,
    OPTIONS,
    REQUEST,
    TRANSFER,
)
from agenteval.tester.rules.clusters import cluster, majority
from agenteval.tester.rules.lexicon import Lexicon, load
from agenteval.tester.rules.replies import Context, Reading, read_reply
from agenteval.tester.rules.text import clean, delexicalise
from agenteval.tester.rules.utterances import Utterance, read_utterance, user_action

PROTECTED = frozenset({GATE, DONE, DENY, FAIL, NONE, OFFER, TRANSFER, CLOSE, MORE, GREET})
SUBSTANTIAL = frozenset({DETAILS, OPTIONS, ANSWER, GATE, DONE, DENY})
LEAST_BOUND, LEAST_BOUND_SHARE = 3, 0.004
SLOT_SHARE = 1 / 3
MOST_SLOTS = 3


def _named(reading: Reading) -> str:
    name = f"{reading.act}_{reading.verb}" if reading.verb else reading.act
    if reading.gate_after is not None:
        name += f"_and_{GATE}" + (f"_{reading.gate_after}" if reading.gate_after else "")
    return name


def _read_session(turns: list[dict], lexicon: Lexicon) -> list[tuple[Utterance, Reading | None]]:
    """Read the turns of one session in order; the task at hand and the act before colour each reading.

    What an agent asks before it has shown or said anything of substance, such as who the user is, serves every task;
    only what comes later is bound to the task at hand.
    """
    rows: list[tuple[Utterance, Reading | None]] = []
    before, before_verb, task = "", "", ""
    asked: set[str] = set()
    substance = False
    for turn in turns:
        said = read_utterance(turn["user"], lexicon)
        action = user_action(said, before, before_verb, bool(turn["user"].strip()))
        if said.tasks:
            task = next((t for t in said.tasks if t not in lexicon.words["settling"]), said.tasks[0])
            asked |= set(said.tasks)
        if not turn["agent"].strip():
            rows.append((said, None))
            continue
        reading = read_reply(turn["agent"], Context(said, action, before, task, frozenset(asked)), lexicon)
        verb = reading.verb if reading.gate_after is None else reading.gate_after
        if reading.act in (GATE, DONE, DENY):
            task = verb or task
        if reading.act == DETAILS or substance:
            reading = reading._replace(purpose=task)
        substance = substance or reading.act in SUBSTANTIAL
        rows.append((said, reading))
        before, before_verb = (reading.act if reading.gate_after is None else GATE), verb
    return rows


def _activities(
    replies: list[str], readings: list[Reading], wished: Counter[str], lexicon: Lexicon
) -> list[tuple[str, str]]:
    """Give act and name of each reply: protected acts by rule, the others by the vote of their cluster."""
    acts = [r.act if r.gate_after is None else GATE for r in readings]
    labels = [_named(r) if r.firm or r.act in PROTECTED else "" for r in readings]
    free = [i for i, name in enumerate(labels) if not name]
    texts = [delexicalise(clean(replies[i]), lexicon) for i in free]
    groups = cluster(texts, [(f"act {readings[i].act}", *readings[i].slots) for i in free])
    members: dict[int, list[int]] = defaultdict(list)
    for i, group in zip(free, groups, strict=True):
        members[group].append(i)
    for rows in members.values():
        act = majority([readings[i].act for i in rows])
        name = _requested([readings[i].slots for i in rows if readings[i].act == REQUEST]) if act == REQUEST else act
        for i in rows:
            acts[i], labels[i] = act, name
    _bind(acts, labels, readings)
    support = Counter(labels)
    closed = [r for r in readings if r.act in (GATE, DONE)]
    evidence = wished + Counter(task for r in closed for task in {r.verb, r.gate_after} if task)
    return [
        (act, _folded(name, reading, evidence) if support[name] == 1 else name)
        for act, name, reading in zip(acts, labels, readings, strict=True)
    ]


def _requested(asked: list[tuple[str, ...]]) -> str:
    """Name a cluster of requests by the objects that many of them ask for."""
    counts = Counter(slot for slots in asked for slot in slots)
    usual = sorted((s for s in counts if counts[s] >= SLOT_SHARE * len(asked)), key=lambda s: (-counts[s], s))
    return f"{REQUEST}_" + ("_and_".join(sorted(usual[:MOST_SLOTS])) or "information")


def _bind(acts: list[str], labels: list[str], readings: list[Reading]) -> None:
    """Add to requests and records the task that they serve, where that makes a state of some support."""
    bound = {
        i: f"{labels[i]}_for_{readings[i].purpose}"
        for i, act in enumerate(acts)
        if act in (REQUEST, DETAILS) and readings[i].purpose
    }
    support = Counter(bound.values())
    for i, name in bound.items():
        if support[name] >= max(LEAST_BOUND, LEAST_BOUND_SHARE * len(labels)):
            labels[i] = name


def _folded(name: str, reading: Reading, evidence: Counter[str]) -> str:
    """Return the bare act of a label that occurs once; a gate keeps a task that the user or a completion names too."""
    gated = reading.act in (GATE, DONE) or reading.gate_after is not None
    if gated and all(evidence[t] > 1 for t in (reading.verb, reading.gate_after) if t):
        return name
    if name.startswith(f"{REQUEST}_") and reading.act not in PROTECTED:
        return f"{REQUEST}_information"
    if reading.act in PROTECTED:
        return _named(reading._replace(verb="", gate_after="" if reading.gate_after is not None else None))
    return name


def label(sessions: list[dict]) -> list[dict]:
    """Label all turns of all sessions of one agent.

    Parameters
    ----------
    sessions : list of dict
        ``{"id": str, "greeting": str, "turns": [{"user": str, "agent": str}, ...]}``; an empty ``agent`` is a turn
        that failed.

    Returns
    -------
    list of dict
        ``{"session": str, "turns": [{"turn", "action", "activity", "summary"}, ...]}`` in the order of the input.
        The names depend on the set of sessions, not on their order; a failed turn has the activity ``""``.

    Notes
    -----
    Event abstraction, Section IV-A of the paper, in one pass over all sessions.

    Examples
    --------
    >>> turns = [{"user": "Please cancel my order.", "agent": "Shall I cancel order 7?"},
    ...          {"user": "Yes", "agent": "Your order has been cancelled."}]
    >>> [t["activity"] for t in label([{"id": "s", "greeting": "", "turns": turns}])[0]["turns"]]
    ['request_confirmation_cancel', 'confirm_completion_cancel']
    """
    lexicon = load()
    read = [_read_session(s["turns"], lexicon) for s in sessions]
    replies = [
        t["agent"]
        for s, rows in zip(sessions, read, strict=True)
        for t, (_, r) in zip(s["turns"], rows, strict=True)
        if r
    ]
    readings = [r for rows in read for _, r in rows if r]
    wished = Counter(task for rows in read for said, _ in rows for task in said.tasks)
    names = iter(_activities(replies, readings, wished, lexicon))
    labelled = []
    for session, rows in zip(sessions, read, strict=True):
        turns, before, before_verb = [], "", ""
        for number, (turn, (said, reading)) in enumerate(zip(session["turns"], rows, strict=True), 1):
            action = user_action(said, before, before_verb, bool(turn["user"].strip()))
            activity = ""
            if reading:
                before, activity = next(names)
                before_verb = reading.verb if reading.gate_after is None else reading.gate_after
            told = activity.replace("_", " ") or "no reply"
            turns.append(
                {
                    "turn": number,
                    "action": action,
                    "activity": activity,
                    "summary": f"User: {action.replace('_', ' ')}; agent: {told}.",
                }
            )
        labelled.append({"session": session["id"], "turns": turns})
    return labelled
