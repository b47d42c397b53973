"""Subject mutants: which tests of a plan kill which fault of a scripted subject (mutation score).

Every guard can be switched off and every other fault switched on, one at a time. One record of the kill matrix::

    Trial(fault="cancel_window", test="b-1f2e3d4c", kind="boundary", verdict="fail", killed=True)

A test kills a mutant when it passes on the reference, fails on the mutant, and the log confirms the cause: the mutant did
what the fault makes it do, and a violated criterion is proved by a turn at or after that. Little has to be run: a subject is
deterministic, so a test behaves on a mutant as on the reference until the fault makes a difference. Of a guard the
reference's log tells when that is (a check with a negative outcome); for another fault the recorded utterances are
said again to the mutant, which costs no tester.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from agenteval.chain import settings_of
from agenteval.errors import RunFolderError, UsageError
from agenteval.pipeline import Progress, silent
from agenteval.store import Run
from agenteval.subjects.scripted import faults, guards, open_scripted
from agenteval.types import Record, Test, TestRun, Verdict

Survival = Literal["not_met", "not_reached", "not_perturbed", "not_conclusive", "judged_pass", "not_confirmed"]
SURVIVALS: dict[str, str] = {
    "not_met": "not met in discovery",
    "not_reached": "met in discovery, reached by no test",
    "not_perturbed": "reached by tests, but nothing was done there that makes the fault matter",
    "not_conclusive": "perturbed, but the verdict on the reference or on the mutant is inconclusive",
    "judged_pass": "perturbed and visible, but judged as passed",
    "not_confirmed": "failed, but not by what the fault did",
}
"""Why a mutant survives, in the order in which a plan can lose it."""


class Trial(Record):
    """One test on one mutant, where the fault can make a difference."""

    fault: str
    test: str
    kind: Literal["functional", "boundary"]
    reference: Literal["pass", "fail", "inconclusive"]
    """Verdict on the reference. Only a test that passes there is run on the mutant."""
    verdict: Literal["pass", "fail", "inconclusive"] | None = None
    """Verdict on the mutant; None where the test was not run."""
    killed: bool = False


class Mutant(Record):
    """What a plan did to one mutant."""

    fault: str
    kind: str
    """Kind of the guard, or of the other fault."""
    guard: bool
    met: bool
    """Discovery came across the guard (evaluated it), or across the capability of another fault."""
    killed_by: tuple[str, ...] = ()
    """Tests, in the order of the plan."""
    survival: Survival | None = None
    """Why it survives; None for a killed one."""


class Matrix(Record):
    """The kill matrix of a run, in its sparse form, with what it says about each mutant."""

    trials: tuple[Trial, ...]
    mutants: tuple[Mutant, ...]

    def score(self, kind: str | None = None, *, guards: bool | None = None) -> float:
        """Killed share of the mutants, by tests of one kind or of any; of guards, of other faults, or of all.

        NaN where there is no such mutant.
        """
        chosen = [m for m in self.mutants if guards is None or m.guard == guards]
        kinds = {trial.test: trial.kind for trial in self.trials}
        hit = sum(any(kind is None or kinds[test] == kind for test in m.killed_by) for m in chosen)
        return hit / len(chosen) if chosen else float("nan")


Events = Sequence[Mapping[str, Any]]


def witnessed(domain: str) -> list[str]:
    """Faults of a domain that have a witness, in the order of its files; the others count as equivalent and are left out."""
    import yaml

    from agenteval.subjects.scripted import folder

    known = yaml.safe_load((folder(domain) / "witnesses.yaml").read_text("utf-8"))
    return [fault for fault in faults(domain) if known.get(fault)]


def kill_matrix(run: Run, *, progress: Progress = silent) -> Matrix:
    """Run the plan of a finished run on every mutant of its subject, as far as that can show anything.

    Parameters
    ----------
    run
        A run folder of a scripted reference subject under the offline profile, executed to the end.

    Returns
    -------
    Matrix
        Trials by fault and test; mutants in the order of the subject's files.

    Raises
    ------
    UsageError
        Another subject, or a subject that is a mutant itself.
    RunFolderError
        The plan was not run to its end.
    """
    settings = settings_of(run.path)
    domain, wording = _reference(settings.subject)
    if not run.closed("run"):
        raise RunFolderError(f"{run.path}: the plan was not run to its end; agenteval run -o {run.path} goes on")
    tests = {t.id: t for t in run.read("plan", Test)}
    runs = sorted((r for r in run.read("runs", TestRun) if r.repetition == 0), key=lambda r: list(tests).index(r.test))
    verdicts = {v.id: v for v in run.read("verdicts", Verdict)}
    discovered: list[Mapping[str, Any]] = []
    logs: dict[str, list[Mapping[str, Any]]] = {}
    for event in run.lines("privileged/tools"):
        if event["stage"] == "discover":
            discovered.append(event)
        else:
            logs.setdefault(event["id"], []).append(event)
    trials: list[Trial] = []
    mutants: list[Mutant] = []
    chosen = witnessed(domain)
    for number, fault in enumerate(chosen):
        progress("mutants", number, len(chosen))
        found = list(_trials(fault, domain, wording, settings, tests, runs, verdicts, logs))
        trials += [trial for trial, _ in found]
        mutants.append(_mutant(fault, domain, found, discovered, [logs.get(r.id, []) for r in runs]))
    progress("mutants", len(chosen), len(chosen))
    return Matrix(trials=tuple(trials), mutants=tuple(mutants))


def _reference(address: str) -> tuple[str, str]:
    from urllib.parse import parse_qsl

    kind, _, rest = address.partition(":")
    domain, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    if kind != "scripted" or "fault" in options:
        raise UsageError(f"{address}: mutants are made of a scripted subject without a fault, such as scripted:airline")
    return domain, options.get("wording", "a")


def _trials(
    fault: str, domain: str, wording: str, settings: Any, tests: Mapping[str, Test], runs: Sequence[TestRun],
    verdicts: Mapping[str, Verdict], logs: Mapping[str, Events],
) -> Iterator[tuple[Trial, bool]]:  # fmt: skip
    """The tests to which the fault makes a difference, and whether the log confirms what they found."""
    from agenteval.tester.execute import judge_run, run_test
    from agenteval.tester.rules.model import Rules

    guard = fault in guards(domain)
    for run in runs:
        test, verdict = tests[run.test], verdicts.get(run.id)
        if verdict is None or not (
            _negative(fault, logs.get(run.id, [])) if guard else _differs(run, domain, wording, fault, settings.seed)
        ):
            continue
        trial = Trial(fault=fault, test=test.id, kind=test.kind, reference=verdict.verdict)
        if verdict.verdict != "pass":
            yield trial, False
            continue
        chat = open_scripted(domain, wording=wording, fault=fault, seed=settings.seed)
        model = Rules()
        again = run_test(test, lambda id, chat=chat: chat, settings.brief, model, seed=settings.seed, timeout=None)
        judged = judge_run(test, again, model, seed=settings.seed)
        failed = judged.verdict == "fail"
        sure = failed and confirmed(judged, chat.log, run, again)
        yield trial.model_copy(update={"verdict": judged.verdict, "killed": sure}), sure


def _negative(guard: str, log: Events) -> bool:
    return any(e["event"] == "guard" and e["guard"] == guard and e["outcome"] == "failed" for e in log)


def _differs(run: TestRun, domain: str, wording: str, fault: str, seed: int) -> bool:
    """Whether the mutant answers the recorded utterances otherwise than the reference did."""
    chat = open_scripted(domain, wording=wording, fault=fault, seed=seed)
    chat.reset()
    return any(chat.invoke(turn.user) != turn.agent for turn in run.trace.turns)


def confirmed(verdict: Verdict, log: Events, reference: TestRun, mutated: TestRun) -> bool:
    """Whether a failed verdict is about what the fault did.

    The fault must have acted (a check that would have failed was skipped, or the replies differ from the reference's), and the
    words that prove a violated criterion must not stand wholly before that.
    """
    skipped = [e["turn"] for e in log if e.get("would") == "failed" or e["event"] == "fault"]
    pairs = zip(reference.trace.turns, mutated.trace.turns, strict=False)
    changed = [n for n, (one, other) in enumerate(pairs, 1) if one.agent != other.agent]
    acted = min([*skipped, *changed], default=None)
    if acted is None:
        return False
    violated = {criterion for criterion, decision in verdict.decisions.items() if decision == "violated"}
    return any(quote.turn >= acted for quote in verdict.quotes if quote.criterion in violated)


def _mutant(
    fault: str, domain: str, found: Sequence[tuple[Trial, bool]], discovered: Events, logs: Sequence[Events]
) -> Mutant:
    """Sum up the trials of a mutant."""
    known, guard = faults(domain)[fault], fault in guards(domain)
    killers = tuple(trial.test for trial, sure in found if sure)

    def touched(events: Events) -> bool:
        if guard:
            return any(e["event"] == "guard" and e["guard"] == fault for e in events)
        return any(known["capability"] in (e.get("capability"), e.get("task")) for e in events)

    met = touched(discovered)
    survival: Survival | None = None
    if not killers:
        ran = [trial for trial, _ in found if trial.verdict is not None]
        if any(trial.verdict == "fail" for trial in ran):
            survival = "not_confirmed"
        elif any(trial.verdict == "pass" for trial in ran):
            survival = "judged_pass"
        elif found:
            survival = "not_conclusive"
        elif any(touched(log) for log in logs):
            survival = "not_perturbed"
        else:
            survival = "not_reached" if met else "not_met"
    return Mutant(fault=fault, kind=known["kind"], guard=guard, met=met, killed_by=killers, survival=survival)
