"""Measure how stable the offline labels are: under subsampling, reordering and rephrasing of the sessions.

Run ``python experiments/bench/stability.py [--data DIR] [--dev]``. Boot = five subsamples of 80 % of the sessions
against the full run; reorder = sessions reversed; rephrased = synonyms (each with probability .5) and 7 % of the
words left out, labelled apart; joint = original and copy labelled in one run, share with the same name. Few labels
are always stable: read these figures beside those of `labelling` only. The synonyms are ours, so the rows of the
prior study are no exact match.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from labelling import airline, labelled, row, run, sgd, shown  # noqa: E402

from agenteval.analysis.stats import agreement, contingency  # noqa: E402

SYNONYMS = {
    "would like": "want",
    "please": "kindly",
    "provide": "share",
    "assist": "help",
    "help": "assist",
    "proceed": "go ahead",
    "details": "information",
    "unfortunately": "regrettably",
    "need": "require",
    "currently": "presently",
    "ensure": "make sure",
    "confirm": "verify",
    "available": "open",
    "purchase": "buy",
    "booking": "reservation",
    "successfully": "fully",
    "cost": "price",
    "below": "here",
    "additional": "extra",
    "receive": "get",
    "large": "big",
    "quickly": "fast",
    "however": "but",
}


def rephrased(sessions: list[dict], seed: int) -> list[dict]:
    """Copy sessions with synonyms (each with probability .5) and 7 % of the words of each reply left out."""
    rng = random.Random(seed)
    copies = []
    for session in sessions:
        turns = []
        for turn in session["turns"]:
            text = turn["agent"]
            for word, other in SYNONYMS.items():
                text = "".join(other if part == word and rng.random() < 0.5 else part for part in _split_at(text, word))
            text = " ".join(w for w in text.split(" ") if rng.random() >= 0.07) or turn["agent"]
            turns.append({"user": turn["user"], "agent": text})
        copies.append({"id": session["id"] + "'", "greeting": "", "turns": turns})
    return copies


def _split_at(text: str, word: str) -> list[str]:
    parts = text.split(word)
    return [p for part in parts[:-1] for p in (part, word)] + parts[-1:]


def part_stability(data: Path, dev: bool) -> None:
    """Measure subsamples, order and rephrasing on airline runs 0-99 and one SGD service."""
    prior = {
        "airline": "boot .95/.96; reorder 1/1; rephrased .83/.82; joint .92",
        "Hotels_2": "boot .94/.95; reorder 1/1; rephrased .90/.92; joint .97 (a larger set than here)",
    }
    sets = {"airline": airline(data, True)}
    if not dev:
        sets["Hotels_2"] = [s for s in sgd(data, False) if s["group"] == "Hotels_2"]
    for name, sessions in sets.items():
        full = {k: t["activity"] for k, t in labelled(sessions).items()}

        def same(other: dict, full: dict = full) -> tuple[float, float]:
            keys = sorted(set(other) & set(full))
            codes = [(full[k], other[k]) for k in keys]
            table = agreement(contingency(*zip(*codes, strict=True)))
            return float(table.ari), sum(full[k] == other[k] for k in keys) / len(keys)

        boots, rng = [], random.Random(0)
        for _ in range(5):
            part = rng.sample(sessions, max(1, round(0.8 * len(sessions))))
            boots.append(same({k: t["activity"] for k, t in labelled(part).items()}))
        turned = same({k: t["activity"] for k, t in labelled(sessions[::-1]).items()})
        copies = rephrased(sessions, 0)
        apart = {(k[0][:-1], k[1]): t["activity"] for k, t in labelled(copies).items()}
        joint = {k: t["activity"] for k, t in labelled(sessions + copies).items()}
        pairs = [(joint[k], joint[k[0] + "'", k[1]]) for k in full]
        ari, names = np.mean(boots, axis=0)
        row(
            f"stability, {name}: ARI/same name",
            f"{len(full)} replies",
            f"boot {shown(ari)}/{shown(names)}; reorder {'/'.join(map(shown, turned))}; rephrased "
            f"{'/'.join(map(shown, same(apart)))}; joint {shown(sum(a == b for a, b in pairs) / len(pairs))}",
            prior[name],
        )


if __name__ == "__main__":
    sys.exit(run({"stability": part_stability}, __doc__.splitlines()[0]))
