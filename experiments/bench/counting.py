"""How fast Algorithm 1 counts: integer codes and Python strings against a plain loop, in one run.

    python experiments/bench/counting.py [--events N] [--rounds N]

Prints ratios of medians over interleaved rounds, because machines differ. 60 activities and 40 user actions, drawn with
Zipf weights, eight events a session on average. All three results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter, defaultdict

import numpy as np

from agenteval.tester.graph import Log, count, mine_log


def make(events: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of activities and actions, and session lengths."""
    random = np.random.default_rng(seed)

    def zipf(k: int) -> np.ndarray:
        weights = 1 / np.arange(1, k + 1) ** 1.1
        return random.choice(k, events, p=weights / weights.sum()).astype(np.int32)

    lengths = random.geometric(1 / 8, events // 8 + events // 40)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), events)]
    return zipf(60), zipf(40), np.append(lengths, events - lengths.sum())


def loop(activities, actions, lengths):
    """Algorithm 1 as one would write it first."""
    support, entries, ends = Counter(), Counter(), Counter()
    frequency: dict = defaultdict(int)
    drivers: dict = defaultdict(int)
    at = 0
    for length in lengths:
        for i in range(at, at + length):
            support[activities[i]] += 1
        for i in range(at, at + length - 1):
            edge = (activities[i], activities[i + 1])
            frequency[edge] += 1
            drivers[edge, actions[i + 1]] += 1
        if length:
            entries[activities[at]] += 1
            ends[activities[at + length - 1]] += 1
        at += length
    return support, frequency, drivers, entries, ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    activities, actions, lengths = make(options.events)
    names, verbs = [f"activity_{i:02d}" for i in range(60)], [f"action_{i:02d}" for i in range(40)]
    texts, doings = [names[i] for i in activities], [verbs[i] for i in actions]
    integers, doing_integers, spans = activities.tolist(), actions.tolist(), lengths.tolist()
    cut = np.zeros(len(lengths), bool)
    log = Log(texts, doings, spans, cut.tolist())
    work = {
        "loop over integers": lambda: loop(integers, doing_integers, spans),
        "count over codes": lambda: count(activities, actions, lengths, cut, n_activities=60, n_actions=40),
        "loop over strings": lambda: loop(texts, doings, spans),
        "mine_log over strings": lambda: mine_log(log),
    }

    graph, (support, frequency, drivers, entries, ends) = mine_log(log), loop(texts, doings, spans)
    assert {s.id: s.support for s in graph.states} == support
    assert {(t.source, t.target): t.frequency for t in graph.transitions} == frequency
    assert {((t.source, t.target), a): n for t in graph.transitions for a, n in t.actions.items()} == drivers
    assert graph.entries == entries and graph.ends == ends

    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(options.rounds):
        for name, run in work.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    for name, value in median.items():
        print(f"{name:24s} {1000 * value:8.1f} ms")
    print(
        f"codes against the loop over integers:   {median['loop over integers'] / median['count over codes']:.1f} times as fast (goal 8)"
    )
    print(
        f"strings against the loop over strings:  {median['loop over strings'] / median['mine_log over strings']:.1f} times as fast (goal 1.5)"
    )


if __name__ == "__main__":
    main()
