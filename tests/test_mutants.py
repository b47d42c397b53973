"""Mutants: little is run, nothing is missed by that, and a kill is one that the log confirms."""

from __future__ import annotations

import math

import pytest

from agenteval import cli
from agenteval.chain import Settings, open_run, run_stages
from agenteval.errors import RunFolderError, UsageError
from agenteval.faults.mutants import Matrix, Mutant, Trial, confirmed, kill_matrix, witnessed
from agenteval.store import Run
from agenteval.subjects.address import open_subject
from agenteval.subjects.scripted import faults, guards, open_scripted
from agenteval.types import Quote, TestRun, Trace, Turn, Verdict

STAGES = ("discover", "abstract", "graph", "targets", "plan", "run")


def made(folder, subject="scripted:airline", stages=STAGES) -> Run:
    brief = open_subject("scripted:airline").brief
    settings = Settings(subject=subject, brief=brief, rounds=6, functional=8, boundary=14)
    run_stages(stages, open_run(folder, settings))
    return Run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("mutants") / "run")


@pytest.fixture(scope="module")
def matrix(run) -> Matrix:
    return kill_matrix(run)


def test_kills_are_failures_of_tests_that_pass_on_the_reference(run, matrix):
    verdicts = {v.test: v.verdict for v in run.read("verdicts", Verdict)}
    killed = [t for t in matrix.trials if t.killed]
    assert killed and all(t.verdict == "fail" and t.reference == verdicts[t.test] == "pass" for t in killed)
    assert all(t.verdict is None for t in matrix.trials if t.reference != "pass")
    by_fault = {m.fault: m for m in matrix.mutants}
    assert [m.fault for m in matrix.mutants] == witnessed("airline")
    for fault, mutant in by_fault.items():
        assert mutant.killed_by == tuple(t.test for t in killed if t.fault == fault)
        assert (mutant.survival is None) == bool(mutant.killed_by)
        assert mutant.guard == (fault in guards("airline")) and mutant.kind == faults("airline")[fault]["kind"]


def test_what_is_not_run_could_not_have_killed(run, matrix):
    """Said again to the mutant, the utterances of every test that was left out get the very replies of the reference."""
    tried = {(t.fault, t.test) for t in matrix.trials}
    left_out = 0
    for fault in witnessed("airline")[::3]:
        for record in run.read("runs", TestRun):
            if (fault, record.test) not in tried:
                left_out += 1
                chat = open_scripted("airline", fault=fault)
                assert chat.reset() == record.trace.greeting
                assert [chat.invoke(t.user) for t in record.trace.turns] == [t.agent for t in record.trace.turns], fault
    assert left_out > 100


def test_equal_runs_give_equal_matrices(run, matrix):
    assert kill_matrix(run) == matrix


def test_scores_count_mutants_by_kind_of_test_and_of_fault():
    trials = (
        Trial(fault="a", test="f-1", kind="functional", reference="pass", verdict="fail", killed=True),
        Trial(fault="a", test="b-1", kind="boundary", reference="pass", verdict="fail", killed=True),
        Trial(fault="b", test="b-1", kind="boundary", reference="pass", verdict="pass"),
    )
    mutants = (
        Mutant(fault="a", kind="scope", guard=True, met=True, killed_by=("f-1", "b-1")),
        Mutant(fault="b", kind="scope", guard=True, met=True, survival="judged_pass"),
        Mutant(fault="c", kind="wrong amount", guard=False, met=False, survival="not_met"),
    )
    found = Matrix(trials=trials, mutants=mutants)
    assert found.score() == found.score("functional") == found.score("boundary") == 1 / 3
    assert found.score(guards=True) == 1 / 2 and found.score(guards=False) == 0
    assert math.isnan(Matrix(trials=(), mutants=()).score())


def talk(*replies: str) -> TestRun:
    turns = tuple(Turn(user="yes", agent=reply) for reply in replies)
    return TestRun(id="t-0", test="t", trace=Trace(id="t", greeting="Hello", turns=turns))


@pytest.mark.parametrize(("turn", "log", "expected"), [
    (2, [{"event": "guard", "turn": 2, "would": "failed"}], True),
    (1, [{"event": "guard", "turn": 2, "would": "failed"}], False),
    (2, [{"event": "guard", "turn": 2, "would": "held"}], True),
    (1, [], False),
])  # fmt: skip
def test_a_verdict_that_rests_on_what_was_said_before_the_fault_is_not_confirmed(turn, log, expected):
    quotes = (Quote(criterion="s1", turn=turn, text="x"), Quote(criterion="s2", turn=2, text="x"))
    verdict = Verdict(id="t-0", test="t", verdict="fail", reason="success_violated", quotes=quotes,
                      decisions={"s1": "violated", "s2": "met"})  # fmt: skip
    assert confirmed(verdict, log, talk("x", "no"), talk("x", "done")) is expected
    assert confirmed(verdict, [], talk("x", "no"), talk("x", "no")) is False


def test_only_finished_runs_of_a_reference_have_mutants(tmp_path, capsys):
    with pytest.raises(RunFolderError, match="not run to its end"):
        kill_matrix(made(tmp_path / "open", stages=STAGES[:-1]))
    with pytest.raises(UsageError, match="without a fault"):
        kill_matrix(made(tmp_path / "mutant", "scripted:airline?fault=cancel_window", STAGES[:1]))


def test_the_command_keeps_the_matrix_and_says_why_mutants_survive(run, matrix, capsys):
    assert cli.run(["mutants", "-o", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert f"killed {sum(m.survival is None for m in matrix.mutants)}" in out and "not met in discovery" in out
    assert Run(run.path).read("privileged/trials", Trial) == list(matrix.trials)
    assert cli.run(["mutants", "-o", str(run.path / "nowhere")]) != 0
    assert "\n" not in capsys.readouterr().err.strip()
