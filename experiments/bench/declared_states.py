"""Measure the offline labeller against workflow states that the agents declared themselves.

Run ``python experiments/bench/declared_states.py [--data DIR] [--only NAME ...]``. In three recordings of a retail
agent the agent calls ``goto_node`` while it walks a flowchart. Definitions, as in the prior study:

- Reply = assistant message with text. The canned greeting is no turn and is not labelled; no node precedes it, so it
  is never scored. Coverage is given with and without it.
- State of a reply = the last valid node id declared at or before it; valid = a node of ``policy_mermaid_mcp.md``.
  Fresh = a valid declaration lies between the previous reply and this one.
- Node pairs: each label stands for its majority node over the scored replies (optimistic); distinct pairs of
  consecutive scored replies in one conversation, against the same pairs of declared nodes.
- Intervals: labels fixed, conversations resampled (2,000 times, pairs 300 over the distinct ones drawn), re-centred.

Labels see the visible text only: what the user and the agent wrote.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from labelling import ROOT, Item, agreement_intervals, labelled, row, rows_of, shown, triple  # noqa: E402

from agenteval.analysis.stats import Interval, percentile_interval  # noqa: E402
from agenteval.tester.rules.lexicon import load  # noqa: E402
from agenteval.tester.rules.text import clean, delexicalise  # noqa: E402

FILES = {
    "gemini-3-flash_mermaid-v1_even": (
        ".62/.58/.51 [+-.04/.05/.04] (all 114 runs; half of them here)",
        ".69/.73/.60",
        ".59/.48",
        "-",
    ),
    "gpt-5-mini_mermaid-v1": (
        ".33/.17/.22 [.30-.36, .14-.21, .20-.24]",
        ".42/.35/.32 [.38-.46, .29-.42, .29-.36]",
        ".43/.27 [.37-.51, .20-.34]",
        ".37/.26 [.30-.45, .19-.33]",
    ),
    "gpt-5-nano_mermaid-v1": (
        ".18/.04/.19 [.13-.23, .01-.08, .17-.23]",
        ".28/.10/.40 [.21-.35, .02-.19, .35-.45]",
        ".56/.26 [.43-.75, .13-.41]",
        ".36/.21 [.21-.56, .03-.41]",
    ),
}
PAIR_RESAMPLES = 300


def nodes_of(path: Path) -> frozenset[str]:
    """Read the node ids of a Mermaid flowchart."""
    chart = path.read_text(encoding="utf-8").split("```mermaid")[1].split("```")[0]
    ends = re.findall(r"(?:^|>\s|\|\s)\s*([A-Z][A-Z_]*)\s*(?=[\[({]|-|$)", chart, re.MULTILINE)
    return frozenset(ends)


def conversations(path: Path, valid: frozenset[str]) -> list[dict]:
    """Read conversations as sessions; each turn holds the declared ``node`` (or None) and whether it is ``fresh``."""
    sessions = []
    for number, record in enumerate(rows_of(path)):
        greeting, turns, heard, node, fresh, spoke = "", [], [], None, False, False
        for message in record["messages"]:
            if message["role"] == "user":
                heard.append(message["content"] or "")
                spoke = True
            if message["role"] != "assistant":
                continue
            for call in message.get("tool_calls") or []:
                target = (call["arguments"] or {}).get("node_id") if call["name"] == "goto_node" else None
                if target in valid:
                    node, fresh = target, True
            if message["content"] and not spoke:
                greeting = message["content"]
            elif message["content"]:
                turns.append({"user": " ".join(heard), "agent": message["content"], "node": node, "fresh": fresh})
                heard, fresh = [], False
        sessions.append({"id": f"c{number:03d}", "greeting": greeting, "turns": turns})
    return sessions


def pairs_of(rows: list[list[tuple[str, str]]], self_pairs: bool) -> tuple[set, set]:
    """Distinct pairs of consecutive replies: predicted through majority nodes, and declared."""
    votes: dict[str, Counter] = defaultdict(Counter)
    for node, name in (pair for session in rows for pair in session):
        votes[name][node] += 1
    majority = {name: min(c, key=lambda n: (-c[n], n)) for name, c in votes.items()}
    said, true = set(), set()
    for session in rows:
        for (a, x), (b, y) in zip(session, session[1:], strict=False):
            true.add((a, b))
            said.add((majority[x], majority[y]))
    if not self_pairs:
        said, true = ({p for p in s if p[0] != p[1]} for s in (said, true))
    return said, true


def pair_scores(rows: list[list[tuple[str, str]]], self_pairs: bool) -> tuple[Interval, Interval, str]:
    """Precision and recall of node pairs, each with an interval, and the counts."""

    def score(part: list[list[tuple[str, str]]]) -> tuple[float, float]:
        said, true = pairs_of(part, self_pairs)
        hit = len(said & true)
        return hit / len(said) if said else float("nan"), hit / len(true) if true else float("nan")

    rng = np.random.default_rng(0)
    draws = [
        score([rows[i] for i in sorted(set(rng.integers(len(rows), size=len(rows)).tolist()))])
        for _ in range(PAIR_RESAMPLES)
    ]
    estimate = score(rows)
    said, true = pairs_of(rows, self_pairs)
    precision, recall = (
        percentile_interval(e, d, recentre=True) for e, d in zip(estimate, zip(*draws, strict=True), strict=True)
    )
    return precision, recall, f"{len(true)} declared, {len(said)} predicted pairs"


def trivial_labels(scored: list[Item]) -> dict[str, list[str]]:
    """Labellers without information: each reply its own label, same delexicalised text, one label."""
    lexicon = load()
    return {
        "own label": [str(n) for n in range(len(scored))],
        "same text": [delexicalise(clean(i.text), lexicon) for i in scored],
        "one label": ["x"] * len(scored),
    }


def measure(
    name: str, sessions: list[dict], prior: tuple[str, str, str, str], labeller: Callable[[list[dict]], dict] = labelled
) -> None:
    """Print the four rows of one recording."""
    labels = labeller([{k: s[k] for k in ("id", "greeting", "turns")} for s in sessions])
    scored, fresh = [], []
    for session in sessions:
        for i, turn in enumerate(session["turns"]):
            if turn["node"]:
                item = Item(session["id"], "", turn["node"], labels[session["id"], i]["activity"], turn["agent"])
                scored.append(item)
                if turn["fresh"]:
                    fresh.append(item)
    replies = sum(len(s["turns"]) for s in sessions)
    greetings = sum(bool(s["greeting"]) for s in sessions)
    plain = trivial_labels(scored)

    def trivial(rows: list[Item]) -> str:
        index = {id(i): n for n, i in enumerate(scored)}
        return " | ".join(
            "/".join(
                shown(v.estimate) for v in agreement_intervals([i._replace(label=values[index[id(i)]]) for i in rows])
            )
            for values in plain.values()
        )

    row(
        f"{name}: label against declared node, V/ARI/B3",
        f"{len(scored)} of {replies + greetings} replies have a node ({len(scored) / (replies + greetings):.2f}; "
        f"{len(scored) / replies:.2f} without the greeting); {len({i.truth for i in scored})} nodes / "
        f"{len({i.label for i in scored})} labels",
        triple(agreement_intervals(scored)),
        prior[0],
        trivial(scored),
    )
    row(
        "... only replies with a fresh declaration, V/ARI/B3",
        f"{len(fresh)} replies",
        triple(agreement_intervals(fresh)),
        prior[1],
        trivial(fresh),
    )

    def by_session(values: list[str]) -> list[list[tuple[str, str]]]:
        rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for i, value in zip(scored, values, strict=True):
            rows[i.session].append((i.truth, value))
        return list(rows.values())

    for self_pairs, title, known in (
        (True, "node pairs between consecutive replies, P/R", prior[2]),
        (False, "... without self pairs, P/R", prior[3]),
    ):
        p, r, size = pair_scores(by_session([i.label for i in scored]), self_pairs)
        others = []
        for values in plain.values():
            said, true = pairs_of(by_session(values), self_pairs)
            hit = len(said & true)
            others.append(f"{shown(hit / len(said) if said else float('nan'))}/{shown(hit / len(true))}")
        row(
            title,
            size,
            f"{shown(p.estimate)}/{shown(r.estimate)} [{shown(p.low)}-{shown(p.high)}, {shown(r.low)}-{shown(r.high)}]",
            known,
            " | ".join(others),
        )


def main() -> int:
    """Parse the command line and print the recordings that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", nargs="*", choices=sorted(FILES), default=list(FILES))
    options = parser.parse_args()
    folder = options.data / "tau2-retail-versions"
    if not folder.is_dir():
        print(f"declared_states: no data in {folder}; give the folder with tau2-retail-versions/ by --data")
        return 2
    valid = nodes_of(folder / "graph" / "policy_mermaid_mcp.md")
    print(f"{len(valid)} nodes in the flowchart")
    for name in options.only:
        measure(name, conversations(folder / f"{name}.jsonl.gz", valid), FILES[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
