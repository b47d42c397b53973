"""How stable event abstraction is on one set of sessions: under subsampling, reordering and rephrasing, and over rounds.

The same sessions are labelled again after a change that should not matter. Two measures of agreement on the replies that both
labellings have: the adjusted Rand index (the same grouping) and the share with the same name. Few labels are always stable, so
these figures belong beside those of the graph's size.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence

from agenteval.analysis.saturation import growth
from agenteval.analysis.stats import adjusted_rand
from agenteval.store import derive_seed
from agenteval.types import LabelledTrace, Trace

Label = Callable[[Sequence[Trace]], Sequence[LabelledTrace]]

SYNONYMS = {
    "would like": "want", "please": "kindly", "provide": "share", "assist": "help", "help": "assist", "proceed": "go ahead",
    "details": "information", "unfortunately": "regrettably", "need": "require", "currently": "presently", "ensure": "make sure",
    "confirm": "verify", "available": "open", "purchase": "buy", "booking": "reservation", "successfully": "fully",
    "cost": "price", "below": "here", "additional": "extra", "receive": "get", "large": "big", "quickly": "fast",
    "however": "but",
}  # fmt: skip
SUBSAMPLES = 5
SHARE = 0.8
"""Of the sessions in a subsample."""
LEFT_OUT = 0.07
"""Of the words of a rephrased reply."""


def label_stability(traces: Sequence[Trace], label: Label, *, seed: int = 0) -> dict[str, float]:
    """Label changed copies of the sessions and compare.

    Parameters
    ----------
    label
        From sessions to labelled sessions.

    Returns
    -------
    dict
        `labels <change> ARI` and `labels <change> same name` in [0, 1] for subsampled, reordered and rephrased sessions;
        `labels joint same name` for originals and rephrased copies in one pass; `states after N` and `transitions after N` for each
        quarter of the sessions.
    """
    labelled = label(traces)
    full = _replies(labelled)
    rng = random.Random(derive_seed(seed, "subsample"))
    parts = [
        _alike(full, _replies(label(rng.sample(list(traces), math.ceil(SHARE * len(traces))))))
        for _ in range(SUBSAMPLES)
    ]
    copies = [rephrased(trace, seed=derive_seed(seed, "rephrase", trace.id)) for trace in traces]
    joint = _replies(label([*traces, *copies]))
    pairs = [
        (joint[key], joint[f"{key[0]}'", key[1]]) for key in full if key in joint and (f"{key[0]}'", key[1]) in joint
    ]
    found = {}
    for name, (ari, same) in {
        "subsampled": (_mean(ari for ari, _ in parts), _mean(same for _, same in parts)),
        "reordered": _alike(full, _replies(label(list(traces)[::-1]))),
        "rephrased": _alike(full, {(id.rstrip("'"), turn): a for (id, turn), a in _replies(label(copies)).items()}),
    }.items():
        found[f"labels {name} ARI"] = ari
        found[f"labels {name} same name"] = same
    found["labels joint same name"] = _mean(float(one == other) for one, other in pairs)
    curve = growth(labelled)
    for quarter in (1, 2, 3, 4):
        number = round(quarter / 4 * len(curve))
        if number:
            _, states, transitions = curve[number - 1]
            found[f"states after {number}"] = states
            found[f"transitions after {number}"] = transitions
    return found


def rephrased(trace: Trace, *, seed: int) -> Trace:
    """A copy whose replies have synonyms (each with probability .5) and lack 7 % of their words."""
    rng = random.Random(seed)
    turns = []
    for turn in trace.turns:
        text = turn.agent
        for word, other in SYNONYMS.items():
            first, *rest = text.split(word)
            text = first + "".join((other if rng.random() < 0.5 else word) + part for part in rest)
        kept = " ".join(w for w in text.split(" ") if rng.random() >= LEFT_OUT)
        turns.append(turn.model_copy(update={"agent": kept.strip() or turn.agent}))
    return trace.model_copy(update={"id": f"{trace.id}'", "turns": tuple(turns)})


def _replies(labelled: Iterable[LabelledTrace]) -> dict[tuple[str, int], str]:
    return {(t.id, turn.turn): turn.activity for t in labelled for turn in t.turns if turn.activity}


def _alike(full: dict[tuple[str, int], str], other: dict[tuple[str, int], str]) -> tuple[float, float]:
    keys = sorted(full.keys() & other.keys())
    if not keys:
        return math.nan, math.nan
    one, two = [full[k] for k in keys], [other[k] for k in keys]
    return adjusted_rand(one, two), sum(a == b for a, b in zip(one, two, strict=True)) / len(keys)


def _mean(values: Iterable[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    return math.fsum(known) / len(known) if known else math.nan
