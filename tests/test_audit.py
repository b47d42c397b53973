"""The exact auditor on logs of known truth, the benchmark's rates, and the audit of a real run on the airline."""

from __future__ import annotations

import json
import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval import cli
from agenteval.analysis import metrics
from agenteval.audit.dossier import checked_inventory, scripted_dossier
from agenteval.audit.exact import Dossier, audit, identities
from agenteval.audit.records import Audit, Card
from agenteval.errors import UsageError
from agenteval.store import Run
from agenteval.subjects.scripted import DOMAINS
from agenteval.tester.rules.perturbations import KINDS
from agenteval.types import Brief, Criterion, Step, Test, TestRun, Trace, Turn, Verdict

BRIEF = Brief(domain="d", seeds=({"user": "ann_1", "order": "W-1"}, {"user": "bo_2", "order": "W-2"}))
GUARD = {"capability": "cancel", "kind": "confirmation", "rule": "A yes comes first.", "visible": "asks for a yes"}
DOSSIER = Dossier(
    guards={"confirm": GUARD, "owner": {**GUARD, "visible": "finds no such order"}},
    inventory={
        "cancels": {"behaviour": "b", "section": "1", "proof": {"name": "cancel_order"}},
        "asks": {"behaviour": "b", "section": "2", "proof": {"guard": "confirm", "outcome": "failed"}},
    },
)


def a_test(kind: str = "boundary", steps=("My user is ann_1.", "cancel W-1", "yes"), **more) -> Test:
    parts = ["route"] * (len(steps) - 1) + ["perturbation" if kind == "boundary" else "route"]
    shown = tuple(Step(text=text, part=part) for text, part in zip(steps, parts, strict=True))
    criteria = (Criterion(id="s1", kind="success", text="t"),)
    return Test(
        **{
            "id": "t",
            "kind": kind,
            "goal": "g",
            "steps": shown,
            "criteria": criteria,
            "budget": 5,
            "perturbation": "p",
            **more,
        }
    )


def a_run(turns: int = 3, perturbed: int = 3, repetition: int = 0) -> TestRun:
    trace = Trace(id="x", turns=(Turn(user="u", agent="a"),) * turns)
    return TestRun(id=f"t-{repetition}", test="t", repetition=repetition, trace=trace, perturbed=perturbed)


def guard(name: str, outcome: str, turn: int, **more) -> dict:
    return {
        "event": "guard",
        "stage": "run",
        "id": "t-0",
        "guard": name,
        "outcome": outcome,
        "turn": turn,
        "capability": "cancel",
        **more,
    }


def one(test: Test, runs: list[TestRun], log: list[dict], verdict: str = "pass") -> Audit:
    verdicts = [Verdict(id=r.id, test="t", repetition=r.repetition, verdict=verdict, reason="all_met") for r in runs]
    (found,) = audit([test], runs, verdicts, log, DOSSIER, BRIEF)
    return found


def test_a_guard_that_fails_at_the_perturbation_makes_a_boundary_test_valid():
    found = one(
        a_test(), [a_run()], [guard("owner", "failed", 2), guard("confirm", "failed", 3), guard("owner", "failed", 3)]
    )
    assert found.valid and found.card.guard == "confirm" and found.card.expected == "asks for a yes"
    assert found.cluster == 0 and found.outcomes == {"0": "TN"}


@pytest.mark.parametrize(("change", "reason"), [
    ({"log": [guard("confirm", "failed", 2), guard("confirm", "held", 3)]}, "ordinary_success_path"),
    ({"runs": [a_run(perturbed=0)]}, "unreachable"), ({"runs": []}, "not_actionable"), ({"runs": [a_run(turns=0)]}, "not_actionable"),
    ({"test": a_test(steps=("I am ann_1", "cancel W-2", "yes"))}, "identity_mismatch"),
    ({"test": a_test(criteria=(Criterion(id="f1", kind="failure", text="t"),))}, "undecidable"),
    ({"test": a_test("functional"), "log": [guard("confirm", "held", 3)]}, "covers_nothing"),
])  # fmt: skip
def test_every_rejection_has_its_reason(change, reason):
    given_ = {"test": a_test(), "runs": [a_run()], "log": [guard("confirm", "failed", 3)], **change}
    found = one(**given_)
    assert (found.valid, found.reason, found.card, found.outcomes) == (False, reason, None, {}) and found.why


def test_another_customer_in_the_perturbation_is_no_mismatch():
    assert one(a_test(steps=("I am ann_1", "cancel W-2")), [a_run()], [guard("owner", "failed", 3)]).valid


def test_functional_tests_cover_what_the_log_proves():
    log = [
        {"event": "tool", "stage": "run", "id": "t-0", "name": "cancel_order", "turn": 3},
        guard("confirm", "failed", 2),
    ]
    assert one(a_test("functional"), [a_run()], log).covers == ("cancels", "asks")
    assert one(a_test("functional"), [a_run()], [{**log[0], "stage": "discover"}]).reason == "covers_nothing"


@pytest.mark.parametrize(("verdict", "skipped", "label"), [
    ("pass", False, "TN"), ("fail", False, "FP"), ("pass", True, "FN"), ("fail", True, "TP"), ("inconclusive", True, "INC"),
])  # fmt: skip
def test_outcomes_follow_the_truth_of_the_log(verdict, skipped, label):
    log = [guard("confirm", "skipped", 3, would="failed")] if skipped else [guard("confirm", "failed", 3)]
    assert one(a_test(), [a_run()], log, verdict).outcomes == {"0": label}


def card(guard_: str) -> Card:
    return Card(capability="c", guard=guard_, perturbation="p", expected="e", forbidden=guard_ * 2)


def test_cards_that_differ_in_what_is_forbidden_only_are_one_boundary():
    tests = [a_test(id=name) for name in "abc"]
    runs = [a_run().model_copy(update={"id": f"{t.id}-0", "test": t.id}) for t in tests]
    log = [
        {**guard(g, "failed", 3), "id": f"{t.id}-0"}
        for t, g in zip(tests, ("confirm", "owner", "confirm"), strict=True)
    ]
    found = audit(tests, runs, [], log, DOSSIER, BRIEF)
    assert [a.cluster for a in found] == [0, 1, 0] and metrics.distinct(found) == 2
    assert metrics.duplicates(found) == pytest.approx(1 / 3)
    assert all(a.outcomes == {"0": "INC"} for a in found), "a run without a verdict was inconclusive"


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 8))
def test_rarefaction_is_the_mean_over_all_draws(clusters, size):
    drawn = [Audit(id=str(i), kind="boundary", valid=True, card=card("g"), cluster=c) for i, c in enumerate(clusters)]
    found = metrics.rarefied(drawn, size)
    if size > len(clusters):
        assert math.isnan(found)
        return
    every = [len(set(chosen)) for chosen in combinations(clusters, size)]
    assert found == pytest.approx(sum(every) / len(every))


def test_rates_without_cases_are_nan_and_never_zero():
    assert all(math.isnan(value) for value in metrics.rates([]).values())
    assert (
        math.isnan(metrics.validity([])) and math.isnan(metrics.coverage([], [])) and math.isnan(metrics.duplicates([]))
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I am ann_1 of 80203, order W-1.", [0]),
        ("I am ann_1 of 80203, order W-2.", [0, 1]),
        ("My zip code is 80203.", [0]),
        ("Good morning.", []),
    ],
)
def test_a_value_that_customers_share_names_none_of_them(said, expected):
    seeds = ({"user": "ann_1", "zip": "80203", "order": "W-1"}, {"user": "bo_2", "zip": "80203", "order": "W-2"})
    test = Test(id="t", kind="boundary", goal="g", steps=(Step(text=said),), criteria=(), budget=3)
    assert identities(test, Brief(domain="d", seeds=seeds)) == expected


@pytest.mark.parametrize("rows", [{1: ["b", "1", {"a": 1}]}, {"x": ["b", "1"]}, {"x": ["b", "1", {}]}, {"x": "b"}])
def test_an_inventory_row_without_its_parts_is_one_clear_line(rows, tmp_path):
    with pytest.raises(UsageError) as caught:
        checked_inventory(rows, tmp_path)
    assert "is no `id: [behaviour, section" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_scripted_subject_is_audited_and_its_secrets_stay_privileged(domain, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ["--rounds", "5", "--functional", "5", "--boundary", "12"]
    assert cli.run(["all", "--subject", f"scripted:{domain}", "-o", "run", *small]) in (0, 1)
    before = {p.name: p.read_bytes() for p in (tmp_path / "run" / "visible").iterdir()}
    capsys.readouterr()
    assert cli.run(["audit", "-o", "run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    audits = Run(tmp_path / "run").read("privileged/audit", Audit)
    assert {a.id for a in audits} == {t.id for t in Run(tmp_path / "run").read("plan", Test)}
    assert found["boundary"]["valid"] == sum(a.valid for a in audits if a.kind == "boundary") > 0
    assert found["boundary"]["sensitivity"] is None and found["boundary"]["FAR"] <= 0.2
    assert {p.name: p.read_bytes() for p in (tmp_path / "run" / "visible").iterdir()} == before
    guards = scripted_dossier(f"scripted:{domain}").guards
    assert {a.card.guard for a in audits if a.card} <= set(guards)
    visible = b"".join(before.values()).decode()
    # A perturbation of the tester's may bear the name of a guard.
    assert [g for g in guards if g.count("_") > 1 and f'"{g}"' in visible and g not in KINDS] == []
    assert cli.run(["audit", "-o", "run"]) == 0 and "boundary: generated" in capsys.readouterr().out


def test_what_cannot_be_audited_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["discover", "--subject", "scripted:airline", "-o", "half", "--rounds", "1"]) == 0
    capsys.readouterr()
    assert cli.run(["audit", "-o", "half"]) == 3
    assert "was not run to its end" in capsys.readouterr().err
    with pytest.raises(UsageError, match="keeps no privileged log"):
        scripted_dossier("python:a:b")
