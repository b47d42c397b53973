"""Event abstraction: from traces to a labelled event log (Section IV-A).

One pass over all sessions, as in the paper. Above the model's input limit the sessions go in chunks: the vocabulary
travels along, and synonyms are merged at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from agenteval.errors import ContextOverflow, CutOff, ReplyInvalid
from agenteval.llm.ask import fence
from agenteval.llm.model import Model, estimate_tokens
from agenteval.tester.roles import labeller, synonyms
from agenteval.tester.views import trace_view
from agenteval.types import Failure, LabelledTrace, LabelledTurn, Trace

_WORD = re.compile(r"\w+")


class Abstraction(NamedTuple):
    labelled: tuple[LabelledTrace, ...]
    failures: tuple[Failure, ...]
    chunks: int


def snake(text: str) -> str:
    """A label in one spelling.

    >>> snake("Request-Confirmation: Cancel!")
    'request_confirmation_cancel'
    """
    return "_".join(_WORD.findall(text.lower().replace("_", " ")))[:100]


def abstract(
    traces: Sequence[Trace],
    model: Model,
    *,
    limit: int | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Abstraction:
    """Label every turn of every trace.

    Parameters
    ----------
    limit
        Largest prompt in tokens (estimated); None puts all sessions into one prompt.
    progress
        Called with (sessions done, sessions in all).

    Returns
    -------
    Abstraction
        Traces that could be labelled, in their order, and a `Failure` for each that could not.

    Raises
    ------
    ModelError
        The model cannot be asked at all; what was answered before is in the call store.
    """
    pass_ = _Pass(model, seed)
    queue = list(_chunks(traces, limit))
    chunks = len(queue)
    done = 0
    for chunk in queue:
        pass_.run(chunk)
        done += len(chunk)
        progress(done, len(traces))
    labelled = [pass_.labelled[trace.id] for trace in traces if trace.id in pass_.labelled]
    if pass_.calls > 1:
        labelled = _merged(labelled, model, limit, seed)
    return Abstraction(tuple(labelled), tuple(pass_.failures), chunks)


def plan(traces: Sequence[Trace], limit: int | None) -> tuple[int, int]:
    """Calls and prompt tokens (estimated) that `abstract` needs when no call fails; merging synonyms included.

    >>> plan([], None)
    (0, 0)
    """
    chunks = list(_chunks(traces, limit))
    base = estimate_tokens(labeller.PROMPT)
    tokens = sum(base + sum(estimate_tokens(fence("sessions", trace_view(t))) for t in chunk) for chunk in chunks)
    return len(chunks) + 2 * (len(chunks) > 1), tokens


def _chunks(traces: Sequence[Trace], limit: int | None) -> Iterator[list[Trace]]:
    if limit is None:
        if traces:
            yield list(traces)
        return
    base = estimate_tokens(labeller.PROMPT)
    chunk: list[Trace] = []
    size = base
    for trace in traces:
        cost = estimate_tokens(fence("sessions", trace_view(trace)))
        if chunk and size + cost > limit:
            yield chunk
            chunk, size = [], base
        chunk.append(trace)
        size += cost
    if chunk:
        yield chunk


class _Pass:
    """One pass over the sessions, with the vocabulary that has grown so far."""

    def __init__(self, model: Model, seed: int | None):
        self.model = model
        self.seed = seed
        self.labelled: dict[str, LabelledTrace] = {}
        self.failures: list[Failure] = []
        self.activities: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.calls = 0

    def run(self, chunk: list[Trace], *, again: bool = True) -> None:
        self.calls += 1
        vocabulary = {"activities": sorted(self.activities), "actions": sorted(self.actions)}
        try:
            reply = labeller.label(
                self.model, sessions=[trace_view(t) for t in chunk], vocabulary=vocabulary, seed=self.seed
            )
        except (ContextOverflow, CutOff) as error:
            if len(chunk) > 1:
                half = len(chunk) // 2
                self.run(chunk[:half])
                self.run(chunk[half:])
            else:
                self._fail(chunk, error.reason)
            return
        except ReplyInvalid as error:
            self._fail(chunk, error.reason)
            return
        given = {labels.session: labels for labels in reply.sessions}
        missing = []
        for trace in chunk:
            turns = _turns(trace, given[trace.id]) if trace.id in given else None
            if turns is None:
                missing.append(trace)
                continue
            self.labelled[trace.id] = LabelledTrace(id=trace.id, turns=turns, cut=trace.stop == "budget")
            self.activities.update(t.activity for t in turns if t.activity)
            self.actions.update(t.action for t in turns)
        if missing and again:
            self.run(missing, again=False)
        elif missing:
            self._fail(missing, "labels_missing")

    def _fail(self, traces: list[Trace], reason: str) -> None:
        detail = f"not labelled by {self.model.name}"
        self.failures += [Failure(id=trace.id, stage="abstract", reason=reason, detail=detail) for trace in traces]


def _turns(trace: Trace, labels: labeller.SessionLabels) -> tuple[LabelledTurn, ...] | None:
    """The labels of a trace, or None where a turn or a label is missing."""
    by_turn = {t.turn: t for t in labels.turns}
    turns = []
    for number, turn in enumerate(trace.turns, 1):
        given = by_turn.get(number)
        if given is None or not snake(given.action):
            return None
        activity = snake(given.activity) if turn.status == "ok" else ""
        if turn.status == "ok" and not activity:
            return None
        turns.append(LabelledTurn(turn=number, action=snake(given.action), activity=activity, summary=given.summary))
    return tuple(turns)


def _merged(labelled: list[LabelledTrace], model: Model, limit: int | None, seed: int | None) -> list[LabelledTrace]:
    """Replace synonyms, activities and actions apart."""
    turns = [turn for trace in labelled for turn in trace.turns]
    renamed = {
        field: _synonyms([(getattr(t, field), t.summary) for t in turns], model, limit, seed)
        for field in ("activity", "action")
    }
    return [
        trace.model_copy(
            update={
                "turns": tuple(
                    turn.model_copy(
                        update={f: names.get(getattr(turn, f), getattr(turn, f)) for f, names in renamed.items()}
                    )
                    for turn in trace.turns
                )
            }
        )
        for trace in labelled
    ]


def _synonyms(seen: list[tuple[str, str]], model: Model, limit: int | None, seed: int | None) -> dict[str, str]:
    frequency = Counter(label for label, _ in seen if label)
    example: dict[str, str] = {}
    for label, summary in seen:
        example.setdefault(label, summary[:160])
    entries = [{"label": name, "frequency": n, "example": example[name]} for name, n in sorted(frequency.items())]
    if limit is not None:
        # Rare labels are the doubtful ones, but without the frequent ones there is nothing to merge them into.
        room = max(1, (limit - estimate_tokens(synonyms.PROMPT)) // 60)
        entries = sorted(sorted(entries, key=lambda e: -e["frequency"])[:room], key=lambda e: e["label"])
    if len(entries) < 2:
        return {}
    try:
        return synonyms.merge(model, labels=entries, seed=seed)
    except (ReplyInvalid, ContextOverflow, CutOff):
        # The labels are right without merging, only more of them.
        return {}
