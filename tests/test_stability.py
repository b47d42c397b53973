"""Stability of labels against labellers of known character, and figures that are the same twice."""

from __future__ import annotations

import math

from agenteval.analysis.figures import bars, lines, save
from agenteval.analysis.labels import label_stability, rephrased
from agenteval.analysis.tables import Row
from agenteval.types import LabelledTrace, LabelledTurn, Trace, Turn

TRACES = [
    Trace(id=f"{n:05d}", turns=tuple(Turn(user="u", agent=f"Please provide the details of {what}, however long.") for what in said))
    for n, said in enumerate([("a", "b"), ("b", "c"), ("a", "c"), ("d", "a")] * 3)
]  # fmt: skip


def labels(traces, name):
    return [
        LabelledTrace(
            id=t.id,
            turns=tuple(LabelledTurn(turn=i, action="x", activity=name(turn.agent, t, n)) for i, turn in enumerate(t.turns, 1)),
        )
        for n, t in enumerate(traces)
    ]  # fmt: skip


def test_a_labeller_that_reads_one_word_is_stable_until_that_word_is_gone():
    found = label_stability(
        TRACES, lambda traces: labels(traces, lambda text, *_: text.rpartition(" of ")[2][:1] or "none")
    )
    assert found["labels subsampled ARI"] == found["labels reordered ARI"] == found["labels reordered same name"] == 1
    assert 0.5 < found["labels rephrased same name"] <= 1
    assert found["states after 3"] == 3 and found["states after 12"] == 4


def test_a_labeller_that_goes_by_position_is_not_stable_under_reordering():
    found = label_stability(TRACES, lambda traces: labels(traces, lambda text, trace, n: f"state_{n // 5}"))
    assert found["labels reordered same name"] < 1 and found["labels reordered ARI"] < 1


def test_nothing_to_label_is_no_number():
    found = label_stability([], lambda traces: [])
    assert all(math.isnan(value) for value in found.values())


def test_a_rephrased_copy_is_settled_by_its_seed_and_keeps_its_shape():
    one, two, other = (rephrased(TRACES[0], seed=seed) for seed in (1, 1, 2))
    assert one == two != other and one.id == f"{TRACES[0].id}'"
    assert [t.user for t in one.turns] == [t.user for t in TRACES[0].turns] and all(t.agent for t in one.turns)


def test_figures_are_the_same_bytes_and_draw_what_there_is(tmp_path):
    nan = math.nan
    rows = [Row("airline", "guided", "distinct", 3.0, 1.0, 2.0, 4.0, 3, 5.0), Row("airline", "naive", "distinct", nan, nan, nan, nan, 0, 2.0)]  # fmt: skip
    curves = {"states": {"airline": [(1, 2), (2, 3)]}, "transitions": {"airline": [(1, 1), (2, 4)]}}
    for name in ("one", "two"):
        save(bars(rows, ["distinct"]), tmp_path / name)
        save(lines(curves, x="sessions"), tmp_path / name, "growth")
    for file in ("figure.pdf", "figure.png", "growth.pdf", "growth.png"):
        data = (tmp_path / "one" / file).read_bytes()
        assert data == (tmp_path / "two" / file).read_bytes() and len(data) > 3000
    picture = bars(rows, ["distinct"])
    assert len(picture.axes[0].patches) == 1, "no bar where nothing was measured"
