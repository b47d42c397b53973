"""Measure the offline labeller on recorded and annotated dialogues, beside the prior study and trivial labellers.

Run ``python experiments/bench/labelling.py [--data DIR] [--only PART ...] [--dev]``. The data are third-party files
that are not part of the repository (``../shared/data`` beside it by default). Its neighbours `stability` and
`declared_states` measure the rest. Definitions, as in the prior study:

- SGD: dialogues of one service; truth of an agent turn = its acts without INFORM_COUNT, with the slot of a REQUEST
  and the intent of an OFFER_INTENT; of a user turn = its acts and the active intent; in one run its acts alone,
  INFORM left out beside another act. The page of the prior study does not spell out INFORM_COUNT and INFORM; these
  readings give its counts (59 and 17 classes), and the rows with all acts stand beside them.
- STAR: dialogues of one task; truth = the ActionLabel; text = the labelled event's, or what the wizard typed before
  the pick (two words or more).
- airline: reply = assistant message with text and without tool calls. Completion = a reply after a successful write
  since the last user message. Session starts with the user, so there is no greeting to leave out.
- Intervals: labels fixed, dialogues resampled 2,000 times, all dialogues of a set together; for V, ARI, B-cubed
  re-centred on the estimate, because a dialogue that is drawn twice agrees with itself.

``--dev`` measures on the development part only: SGD dialogues of several services, half of the STAR tasks, airline
runs 0-99.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from agenteval.analysis.stats import Interval, agreement, percentile_interval  # noqa: E402
from agenteval.tester.rules.acts import read_sentence  # noqa: E402
from agenteval.tester.rules.labeller import label  # noqa: E402
from agenteval.tester.rules.lexicon import load  # noqa: E402
from agenteval.tester.rules.text import clean, delexicalise  # noqa: E402
from agenteval.types import is_gate  # noqa: E402

RESAMPLES = 2000
GATE_WORD = "request_confirmation"


class Item(NamedTuple):
    """One scored turn: its session, the group in which labels are compared, its truth, its label and its text."""

    session: str
    group: str
    truth: str
    label: str
    text: str


def rows_of(path: Path) -> list[dict]:
    """Read a gzip file of JSON lines, or of one JSON list."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        text = file.read()
    return json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(line) for line in text.splitlines() if line]


def labelled(sessions: list[dict]) -> dict[tuple[str, int], dict]:
    """Label sessions and key the turns by session and place (from 0)."""
    return {(s["session"], i): t for s in label(sessions) for i, t in enumerate(s["turns"])}


def sgd(data: Path, dev: bool) -> list[dict]:
    """Read SGD dialogues as sessions whose turns also hold ``truth`` and ``user_truth``."""
    sessions = []
    for dialogue in rows_of(data / "sgd" / "dialogues_test_subset.json.gz"):
        if (len(dialogue["services"]) > 1) != dev:
            continue
        turns = []
        for user, system in zip(dialogue["turns"][::2], dialogue["turns"][1::2], strict=False):
            acts = set()
            for action in (a for f in system["frames"] for a in f["actions"]):
                kept = {"REQUEST": action["slot"], "OFFER_INTENT": "/".join(action["values"])}.get(action["act"], "")
                acts.add(f"{action['act']}:{kept}" if kept else action["act"])
            said = {a["act"] for f in user["frames"] for a in f["actions"]}
            intents = sorted({f["state"]["active_intent"] for f in user["frames"]})
            turns.append(
                {
                    "user": user["utterance"],
                    "agent": system["utterance"],
                    "acts": " ".join(sorted(acts)),
                    "truth": " ".join(sorted(acts - {"INFORM_COUNT"})),
                    "user_acts": " ".join(sorted(said)),
                    "user_intent": " ".join(sorted(said) + intents),
                    "user_truth": " ".join(sorted(said - {"INFORM"}) or sorted(said)),
                }
            )
        sessions.append(
            {"id": dialogue["dialogue_id"], "greeting": "", "turns": turns, "group": " ".join(dialogue["services"])}
        )
    return sessions


def star(data: Path, dev: bool, typed: bool) -> list[dict]:
    """Read STAR dialogues of one task; each labelled wizard turn is a turn, with the event's or the typed text."""
    tasks = sorted(
        {
            d["Scenario"]["WizardCapabilities"][0]["Task"]
            for d in rows_of(data / "star" / "dialogues.jsonl.gz")
            if not d["Scenario"]["MultiTask"]
        }
    )
    sessions = []
    for dialogue in rows_of(data / "star" / "dialogues.jsonl.gz"):
        task = dialogue["Scenario"]["WizardCapabilities"][0]["Task"]
        if dialogue["Scenario"]["MultiTask"] or (dev and task not in tasks[::2]):
            continue
        turns, heard, draft = [], [], ""
        for event in dialogue["Events"]:
            if event["Agent"] == "User" and event["Action"] == "utter":
                heard.append(event["Text"])
            elif event["Agent"] == "Wizard" and event["Action"] == "request_suggestions":
                draft = event["Text"]
            elif event["Agent"] == "Wizard" and event.get("ActionLabel"):
                text = draft if typed else event["Text"]
                if not typed or len(text.split()) >= 2:
                    turns.append({"user": " ".join(heard), "agent": text, "truth": event["ActionLabel"]})
                    heard = []
                draft = ""
        if turns:
            sessions.append({"id": str(dialogue["DialogueID"]), "greeting": "", "turns": turns, "group": task})
    return sessions


def airline(data: Path, dev: bool) -> list[dict]:
    """Read the gpt-4o airline runs; each turn also holds the successful ``writes`` since the last user message."""
    writes = {
        "book_reservation",
        "cancel_reservation",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
        "send_certificate",
    }
    sessions = []
    for run, record in enumerate(rows_of(data / "tau-bench-v1" / "airline_gpt-4o_tool-calling_4trials.json.gz")):
        turns, user, done, called = [], "", [], ""
        for message in record["traj"]:
            if message["role"] == "user":
                user, done = message["content"] or "", []
            elif message["role"] == "tool" and called in writes:
                if not str(message["content"]).startswith("Error"):
                    done.append(called)
            elif message["role"] == "assistant":
                calls = message.get("tool_calls") or []
                called = calls[0]["function"]["name"] if calls else ""
                if message.get("content") and not calls:
                    turns.append({"user": user, "agent": message["content"], "writes": tuple(sorted(set(done)))})
        sessions.append({"id": f"run{run}", "greeting": "", "turns": turns, "group": "airline"})
    return sessions[:100] if dev else sessions


def by_group(sessions: list[dict]) -> Iterator[list[dict]]:
    """Give the sessions of one group at a time, groups in alphabetical order."""
    groups = defaultdict(list)
    for session in sessions:
        groups[session["group"]].append(session)
    for name in sorted(groups):
        yield groups[name]


def items(sessions: list[dict], field: str, truth: Callable[[dict], str], text: str, one_run: bool) -> list[Item]:
    """Label sessions, per group or all in one run, and pair each turn's label with its truth."""
    found = []
    for batch in [sessions] if one_run else by_group(sessions):
        labels = labelled(batch)
        found += [
            Item(s["id"], "all" if one_run else s["group"], truth(t), labels[s["id"], i][field], t[text])
            for s in batch
            for i, t in enumerate(s["turns"])
        ]
    return found


def agreement_intervals(scored: list[Item]) -> list[Interval]:
    """V, ARI and B-cubed F1, averaged over groups, with intervals over resampled sessions."""
    sessions = sorted({i.session for i in scored})
    place = {name: n for n, name in enumerate(sessions)}
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(sessions), np.full(len(sessions), 1 / len(sessions)), RESAMPLES)
    weights = np.vstack([np.ones(len(sessions), dtype=int), weights])
    values = []
    for group in sorted({i.group for i in scored}):
        rows = [i for i in scored if i.group == group]
        members = sorted({i.session for i in rows})
        truths = {t: n for n, t in enumerate(sorted({i.truth for i in rows}))}
        labels = {t: n for n, t in enumerate(sorted({i.label for i in rows}))}
        counts = np.zeros((len(members), len(truths) * len(labels)))
        where = {m: n for n, m in enumerate(members)}
        for i in rows:
            counts[where[i.session], truths[i.truth] * len(labels) + labels[i.label]] += 1
        tables = weights[:, [place[m] for m in members]] @ counts
        values.append(np.stack(agreement(tables.reshape(-1, len(truths), len(labels)))))
    mean = np.nanmean(np.stack(values), axis=0)
    return [percentile_interval(row[0], row[1:], recentre=True) for row in mean]


def ratio_intervals(flags: dict[str, list[tuple[bool, bool]]]) -> dict[str, Interval]:
    """Precision, recall and F1 of predicted against true flags, pooled, with intervals over resampled sessions."""
    sessions = sorted(flags)
    counts = np.array(
        [
            [sum(t and p for t, p in flags[s]), sum(p for _, p in flags[s]), sum(t for t, _ in flags[s])]
            for s in sessions
        ],
        dtype=float,
    )
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(sessions), np.full(len(sessions), 1 / len(sessions)), RESAMPLES)
    hit, said, true = (np.vstack([np.ones(len(sessions)), weights]) @ counts).T
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = {"P": hit / said, "R": hit / true, "F1": 2 * hit / (said + true)}
    return {name: percentile_interval(row[0], row[1:]) for name, row in rows.items()}


def shown(value: float) -> str:
    """Two digits, without the zero before the point."""
    return "-" if value != value else f"{value + 0:.2f}".replace("-0.00", ".00").replace("0.", ".", 1)


def triple(intervals: list[Interval]) -> str:
    """Three estimates and their intervals on one line."""
    return (
        "/".join(shown(i.estimate) for i in intervals)
        + " ["
        + ", ".join(f"{shown(i.low)}-{shown(i.high)}" for i in intervals)
        + "]"
    )


def trivial(scored: list[Item]) -> str:
    """The same three estimates for labellers that carry no information."""
    lexicon = load()
    texts = [delexicalise(clean(i.text), lexicon) for i in scored]
    own = agreement_intervals([i._replace(label=str(n)) for n, i in enumerate(scored)])
    same = agreement_intervals([i._replace(label=t) for i, t in zip(scored, texts, strict=True)])
    one = agreement_intervals([i._replace(label="x") for i in scored])
    return " | ".join("/".join(shown(i.estimate) for i in row) for row in (own, same, one))


def row(name: str, size: str, ours: str, prior: str, baselines: str = "") -> None:
    """Print one row: the set, its size, our figures, the prior study's, and trivial labellers."""
    print(f"{name}\n    size    {size}\n    ours    {ours}\n    d7      {prior}")
    if baselines:
        print(f"    trivial (own label | same text | one label) {baselines}")
    sys.stdout.flush()


def kinds(scored: list[Item]) -> str:
    """How many turns, sessions, true classes and labels."""
    groups = {i.group for i in scored}
    true = np.mean([len({i.truth for i in scored if i.group == g}) for g in groups])
    ours = np.mean([len({i.label for i in scored if i.group == g}) for g in groups])
    return (
        f"{len({i.session for i in scored})} dialogues, {len(groups)} groups, {len(scored)} turns; "
        f"{true:.1f} true / {ours:.1f} labels each"
    )


def part_sgd(data: Path, dev: bool) -> None:
    """SGD: agent turns, gates and user turns."""
    sessions = sgd(data, dev)

    def measure(name: str, side: tuple[str, str], truth: str, one_run: bool, prior: str) -> list[Item]:
        scored = items(sessions, side[0], lambda t: t[truth], side[1], one_run)
        row(f"{name}, V/ARI/B3", kinds(scored), triple(agreement_intervals(scored)), prior, trivial(scored))
        return scored

    agent, user = ("activity", "agent"), ("action", "user")
    per = measure("sgd agent turns, per service", agent, "truth", False, ".87/.63/.84 [.83-.90, .53-.71, .81-.87]")
    for act, test, prior in (
        ("CONFIRM", is_gate, ".89 [.78-.97]"),
        ("NOTIFY_SUCCESS", lambda n: n.startswith("confirm_completion"), ".85 [.71-.95]"),
    ):
        flags = defaultdict(list)
        for i in per:
            flags[i.session].append((act in i.truth.split(), test(i.label)))
        scores = ratio_intervals(flags)
        row(
            f"sgd {act}, F1 pooled (P/R)",
            f"{sum(t for f in flags.values() for t, _ in f)} true",
            f"{shown(scores['F1'].estimate)} [{shown(scores['F1'].low)}-{shown(scores['F1'].high)}] "
            f"({shown(scores['P'].estimate)}/{shown(scores['R'].estimate)})",
            prior,
        )
    measure("sgd agent turns, all services in one run", agent, "truth", True, ".73/.61/.62 [.70-.77, .53-.69, .57-.67]")
    measure("... all acts", agent, "acts", True, "-")
    measure(
        "sgd user turns, per service, truth = acts + intent",
        user,
        "user_intent",
        False,
        ".74/.35/.70 [.70-.78, .23-.47, .66-.75]; without vote .79/.38/.74",
    )
    measure(
        "sgd user turns, all in one run, truth = acts",
        user,
        "user_truth",
        True,
        ".54/.35/.48 [.50-.59, .28-.42, .44-.53]",
    )
    measure("... all acts", user, "user_acts", True, "-")


def part_star(data: Path, dev: bool) -> None:
    """STAR: wizard turns by the event's text and by what the wizard typed."""
    for typed, name, prior in (
        (False, "text of the labelled event", ".91/.82/.89 [.90-.92, .79-.84, .88-.90]"),
        (True, "the wizard's typed text", ".67/.44/.68 [.64-.70, .39-.49, .65-.70]"),
    ):
        scored = items(star(data, dev, typed), "activity", lambda t: t["truth"], "agent", False)
        row(
            f"star wizard turns, {name}, V/ARI/B3",
            kinds(scored),
            triple(agreement_intervals(scored)),
            prior,
            trivial(scored),
        )


def hand_class(name: str) -> str:
    """Map a label to the classes of the hand labels; a compound counts as its gate, which is what the turn awaits."""
    classes = (
        ("confirm_completion", "confirm_completion"),
        ("deny", "deny"),
        ("report", "report_failure"),
        ("present", "present_options_or_details"),
        ("answer", "answer"),
        ("request", "request"),
        ("close", "close"),
        ("offer_more_help", "close"),
        ("offer", "other"),
        ("announce", "other"),
        ("transfer", "other"),
        ("greet", "other"),
    )
    if is_gate(name):
        return GATE_WORD
    return next((kind for start, kind in classes if name.startswith(start)), "other")


def part_hand(data: Path, dev: bool) -> None:
    """Hand labels of 45 airline replies; the context is all runs."""
    if dev:
        return
    labels = labelled(airline(data, False))
    with open(data / "turn-labels" / "airline_gpt-4o.jsonl", encoding="utf-8") as file:
        hand = [json.loads(line) for line in file]
    strict, lenient, compounds = defaultdict(list), defaultdict(list), 0
    for h in hand:
        name = labels[f"run{h['run']}", h["turn"]]["activity"]
        compounds += f"_and_{GATE_WORD}" in name
        ours = hand_class(name)
        strict[h["run"]].append((True, ours == h["label"]))
        lenient[h["run"]].append((True, ours in {h["label"], *h["also"]}))
    low = ratio_intervals(strict)["R"], ratio_intervals(lenient)["R"]
    row(
        "turn-labels, accuracy strict / lenient",
        f"{len(hand)} replies, {compounds} compound labels",
        " / ".join(f"{shown(i.estimate)} [{shown(i.low)}-{shown(i.high)}]" for i in low),
        ".89/.89 [.80-.98, .80-.98]; a1 .82/.89; naive .49/.60",
    )


def graph_size(sessions: list[dict]) -> str:
    """Nodes, edges and nodes with support 1 of the directly-follows graph, without start and end nodes."""
    support, edges = Counter(), set()
    for session in label(sessions):
        names = [t["activity"] for t in session["turns"] if t["activity"]]
        support.update(names)
        edges |= set(zip(names, names[1:], strict=False))
    return f"{len(support)}/{len(edges)}/{sum(n == 1 for n in support.values())}"


def part_airline(data: Path, dev: bool) -> None:
    """Airline: completions against writes, kinds of writes, graph sizes and time."""
    sessions = airline(data, dev)
    label(sessions[:2])  # imports are not counted, remembered sentences would be
    read_sentence.cache_clear()
    start = time.process_time()
    labels = labelled(sessions)
    seconds = time.process_time() - start
    flags, kinds_of, gated = defaultdict(list), [], 0
    for session in sessions:
        for i, turn in enumerate(session["turns"]):
            name = labels[session["id"], i]["activity"]
            flags[session["id"]].append((bool(turn["writes"]), name.startswith("confirm_completion")))
            gated += bool(turn["writes"]) and i > 0 and is_gate(labels[session["id"], i - 1]["activity"])
            if len(turn["writes"]) == 1:
                kinds_of.append(Item(session["id"], "", turn["writes"][0], name, turn["agent"]))
    scores = ratio_intervals(flags)
    count = sum(len(f) for f in flags.values())
    row(
        "airline completion against successful writes, P/R",
        f"{count} replies, {sum(t for f in flags.values() for t, _ in f)} after a write",
        "/".join(shown(scores[k].estimate) for k in "PR")
        + " ["
        + ", ".join(f"{shown(scores[k].low)}-{shown(scores[k].high)}" for k in "PR")
        + "]",
        ".94/.99 [.90-.98, .96-1.00]; naive .56/.97",
    )
    row(
        "airline real completions directly after a gate",
        "replies after a successful write",
        f"{gated} of {sum(t for f in flags.values() for t, _ in f)}",
        "103 of 136",
    )
    v = agreement_intervals(kinds_of)[0]
    row(
        "airline kind of write against label, V",
        f"{len(kinds_of)} replies after one kind of write",
        f"{shown(v.estimate)} [{shown(v.low)}-{shown(v.high)}]",
        ".86 [.82-.91]",
    )
    row(
        "airline graph, nodes/edges/support 1 at 12; 50; 200 runs",
        f"{len(sessions)} runs",
        "; ".join(graph_size(sessions[:n]) for n in (12, 50, 200)),
        "22/56/4; 38/160/4; 56/366/0",
    )
    row("airline, CPU seconds for all replies", f"{count} replies", f"{seconds:.1f}", "1.8")


PARTS = {"sgd": part_sgd, "star": part_star, "hand": part_hand, "airline": part_airline}


def run(parts: dict[str, Callable[[Path, bool], None]], about: str) -> int:
    """Parse the command line and print the parts that were asked for."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", nargs="*", choices=sorted(parts), default=list(parts))
    parser.add_argument("--dev", action="store_true", help="development part of the data only")
    options = parser.parse_args()
    if not (options.data / "sgd").is_dir():
        print(f"{parser.prog}: no data in {options.data}; give the folder with sgd/, star/, tau-bench-v1/ by --data")
        return 2
    for name in options.only:
        parts[name](options.data, options.dev)
    return 0


if __name__ == "__main__":
    sys.exit(run(PARTS, __doc__.splitlines()[0]))
