"""The whole chain on small agents: resumed after kills, run again as a regression suite, and refused where it must be."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from agenteval import cli
from agenteval.briefs import read_brief
from agenteval.canary import isolates
from agenteval.chain import Settings
from agenteval.chat import Chat
from agenteval.errors import UsageError
from agenteval.store import Run
from agenteval.subjects.address import Subject
from agenteval.types import Test, Trace, Verdict

HERE = Path(__file__).parent
SMALL = ("--rounds", "5", "--functional", "6", "--boundary", "10")
RECORDS = ("traces", "labels", "targets", "plan", "runs", "verdicts", "failures")

SHARED = '''
from toy_agents import Library
memory = []
class Shared(Library):
    """Remembers across sessions what it was told."""
    def invoke(self, text):
        memory.append(text)
        return super().invoke(text) + (" You said: " + " ".join(memory)[-300:])
class Dead:
    def reset(self):
        raise OSError("SECRET-OF-THE-AGENT")
    def invoke(self, text):
        return ""
class Mute(Dead):
    def reset(self):
        return None
class Broken(Mute):
    def invoke(self, text):
        raise RuntimeError("SECRET-OF-THE-AGENT")
class Same(Mute):
    def invoke(self, text):
        return "<p>Please hold the line.</p>"
class Long(Mute):
    def invoke(self, text):
        return "wait " * 10_000
'''


@pytest.fixture
def agents(tmp_path, monkeypatch):
    (tmp_path / "other_agents.py").write_text(SHARED)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr("agenteval.pipeline.PICTURES", ("svg",))  # the others take longer than all the rest
    from toy_agents import Library

    (tmp_path / "brief.yaml").write_text(
        yaml.safe_dump({"domain": "library desk", "seeds": [dict(s) for s in Library.seeds]})
    )
    return tmp_path


def call(capsys, *arguments):
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def everything(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "visible" / f"{name}.jsonl").read_bytes() for name in RECORDS} | {
        name: (folder / name).read_bytes() for name in ("visible/graph.json", "report.html", "exports/events.csv")
    }


def all_of(agents, out, *more):
    return ("all", "--subject", "python:toy_agents:Library", "--brief", agents / "brief.yaml", "-o", out, *SMALL, *more)


def test_from_the_first_word_to_the_report_and_again(agents, capsys):
    code, out, err = call(capsys, *all_of(agents, agents / "run"))
    run = Run(agents / "run")
    verdicts = run.read("verdicts", Verdict)
    assert code in (0, 1) and (code == 1) == any(v.verdict == "fail" for v in verdicts)
    assert len(run.read("traces", Trace)) == 5
    tests = run.read("plan", Test)
    assert {t.kind for t in tests} == {"functional", "boundary"} and {v.test for v in verdicts} <= {t.id for t in tests}
    assert "targets: targets" in out and "report:" in out and "Traceback" not in err
    page = (agents / "run" / "report.html").read_text()
    assert all(t.id in page for t in tests) and "<mark>" in page
    before = everything(agents / "run")
    assert call(capsys, *all_of(agents, agents / "run"))[0] == code and everything(agents / "run") == before
    assert call(capsys, *all_of(agents, agents / "other"))[0] == code and everything(agents / "other") == before


def test_stage_by_stage_gives_the_same_bytes(agents, capsys):
    call(capsys, *all_of(agents, agents / "whole"))
    config = {
        "subject": "python:toy_agents:Library",
        "brief": "brief.yaml",
        "rounds": 5,
        "functional": 6,
        "boundary": 10,
    }
    (agents / "config.yaml").write_text(yaml.safe_dump(config))
    out = agents / "parts"
    for wrong in ("mine", "plan", "run"):
        code, _, err = call(capsys, wrong, "-o", out)
        assert code == 3 and err.count("\n") == 1 and "is no run folder" in err
    assert call(capsys, "discover", "--config", agents / "config.yaml", "-o", out)[0] == 0
    code, _, err = call(capsys, "plan", "-o", out)
    assert code == 3 and "plan needs what mine makes; run `agenteval mine" in err
    assert call(capsys, "mine", "-o", out)[0] == 0
    assert call(capsys, "plan", "-o", out)[0] == 0
    assert call(capsys, "run", "-o", out)[0] in (0, 1)
    assert everything(out) == everything(agents / "whole")
    assert call(capsys, "report", "-o", out)[0] == 0


def test_a_kept_plan_is_a_regression_suite(agents, capsys):
    code, *_ = call(capsys, *all_of(agents, agents / "run"))
    plan = agents / "plan.jsonl"
    records = [json.loads(line) for line in (agents / "run" / "visible" / "plan.jsonl").read_text().splitlines()]
    records[0]["enabled"] = False
    records[1]["goal"] = "Edited by hand."
    plan.write_text("\n".join(json.dumps(r) for r in records) + "\n")
    again = (
        "run",
        "--plan",
        plan,
        "--subject",
        "python:toy_agents:Library",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / "next",
    )
    code, out, err = call(capsys, *again, "--junit", agents / "next.xml")
    run = Run(agents / "next")
    assert code in (0, 1) and {v.test for v in run.read("verdicts", Verdict)} == {r["id"] for r in records[1:]}
    suite = ElementTree.parse(agents / "next.xml").getroot()
    assert int(suite.get("tests")) == len(records) - 1 == len(suite)
    assert any("Edited by hand." in case.get("name") for case in suite)
    assert call(capsys, *again)[0] == code, "the same command again does nothing and says the same"
    code, out, err = call(
        capsys,
        "run",
        "--plan",
        plan,
        "--subject",
        "python:other_agents:Broken",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / "down",
    )
    assert code == 2, "nothing was conclusive"
    assert {v.reason for v in Run(agents / "down").read("verdicts", Verdict)} == {"subject_error"}
    assert "SECRET-OF-THE-AGENT" not in "".join(
        p.read_text("utf-8", "replace") for p in (agents / "down").rglob("*") if p.is_file()
    )


@pytest.mark.parametrize(("edit", "says"), [
    (lambda r: {**r, "schema": 9}, "has schema 9"), (lambda r: {**r, "budget": "many"}, "budget: "), (lambda r: {**r, "colour": 1}, "colour: "),
    (lambda r: {**r, "target": "node:unknown"}, "unknown target 'node:unknown'"), (lambda r: "text", "no JSON object"),
    (lambda r: {k: v for k, v in r.items() if k != "goal"}, "goal: Field required"),
])  # fmt: skip
def test_a_plan_that_cannot_be_run_is_one_clear_line(agents, capsys, edit, says):
    folder = agents / "kept"
    folder.mkdir()
    test = Test(id="b-1", kind="boundary", goal="g", steps=(), criteria=(), budget=2, target="node:known")
    target = {"id": "node:known", "kind": "node", "state": "known", "support": 1, "tests": "t", "schema": 1}
    (folder / "targets.jsonl").write_text(json.dumps(target) + "\n")
    (folder / "plan.jsonl").write_text(json.dumps(edit({**test.model_dump(mode="json"), "schema": 1})) + "\n")
    code, out, err = call(
        capsys,
        "run",
        "--plan",
        folder / "plan.jsonl",
        "--subject",
        "python:toy_agents:Library",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / "r",
    )
    assert code == 3 and says in err and "line 1" in err and err.count("\n") == 1


@pytest.mark.parametrize(("arguments", "says"), [
    (["--subject", "airline"], "unknown subject 'airline'; expected one of scripted:DOMAIN"),
    ([], "no subject"),
    (["--subject", "python:toy_agents:Library"], "no brief"),
    (["--subject", "python:toy_agents:Library", "--brief", "brief.yaml", "--arm", "magic"], "arm: Input should be 'prompt_only'"),
    (["--subject", "python:toy_agents:Library", "--brief", "brief.yaml", "--discovery", "wild"], "discovery: "),
    (["--subject", "python:toy_agents:Library", "--brief", "brief.yaml", "--rounds", "0"], "rounds: "),
    (["--subject", "python:toy_agents:Library", "--brief", "none.yaml"], "brief none.yaml: cannot be read"),
    (["--config", "none.yaml"], "--config none.yaml: cannot be read"),
])  # fmt: skip
def test_wrong_settings_are_one_clear_line(agents, capsys, monkeypatch, arguments, says):
    monkeypatch.chdir(agents)
    code, out, err = call(capsys, "all", "-o", "r", *arguments)
    assert code == 3 and says in err and err.count("\n") == 1 and not (agents / "r").exists()


@pytest.mark.parametrize(("text", "says"), [
    ("domain: d\nseeds:\n- {name: Ann, name: Bo}\n", "'name' is given twice"),
    ("domain: d\nseeds:\n- {name: }\n", "'name' of seed 1 has no value"),
    ("domain: d\nseeds:\n- {name: [a]}\n", "seeds.0.name"),
    ("seeds: []\n", "domain: Field required"), ("- a\n", "found a list; expected `domain:`"), ("domain: [", "no valid YAML"), ("domain: d\ncolour: red\n", "colour: "),
    ("domain: !!python/name:os.system x\n", "no valid YAML"),
])  # fmt: skip
def test_a_wrong_brief_is_one_clear_line(tmp_path, text, says):
    path = tmp_path / "brief.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_brief(path)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_values_of_a_brief_are_what_the_customer_types(tmp_path):
    path = tmp_path / "brief.yaml"
    path.write_text("domain: d\nseeds:\n- {zip: 01234, born: 1988-03-14, member: yes, amount: 1.50}\n")
    assert read_brief(path).seeds == ({"zip": "01234", "born": "1988-03-14", "member": "yes", "amount": "1.50"},)


@pytest.mark.parametrize("agent", ["Dead", "Mute", "Broken", "Same", "Long"])
def test_an_agent_that_is_no_good_ends_in_a_report(agents, capsys, agent):
    code, out, err = call(
        capsys,
        "all",
        "--subject",
        f"python:other_agents:{agent}",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / agent,
        "--rounds",
        "3",
        "--functional",
        "2",
        "--boundary",
        "4",
    )
    assert code in (0, 1, 2) and "Traceback" not in err and (agents / agent / "report.html").exists()
    assert "SECRET-OF-THE-AGENT" not in "".join(
        p.read_text("utf-8", "replace") for p in (agents / agent).rglob("*") if p.is_file()
    )
    if agent in ("Dead", "Broken"):
        assert code == 2
    assert "<p>Please hold" not in (agents / agent / "report.html").read_text()


def test_the_canary_tells_whether_reset_isolates(agents, capsys):
    from other_agents import Shared
    from toy_agents import Library

    def subject(make: type[Chat]) -> Subject:
        return Subject("x", make, None)

    assert isolates(subject(Library), 5) and not isolates(subject(Shared), 5)
    code, out, err = call(
        capsys,
        "all",
        "--subject",
        "python:other_agents:Shared",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / "s",
        "--rounds",
        "2",
        "--functional",
        "1",
        "--boundary",
        "1",
    )
    assert "reset does not keep this agent" in out and Run(agents / "s").manifest["isolated"] is False
    assert "one after the other" in (agents / "s" / "report.html").read_text()


def test_init_writes_what_all_reads(tmp_path, capsys):
    code, out, err = call(capsys, "init", tmp_path / "new")
    assert code == 0 and "wrote" in out
    config = yaml.safe_load((tmp_path / "new" / "agenteval.yaml").read_text())
    brief = read_brief(tmp_path / "new" / "brief.yaml")
    settings = Settings.model_validate({**config, "brief": brief})
    assert settings.rounds == 12 and settings.warmup == (1, 2, 1) and brief.seeds[0]["name"] == "Ann Lee"
    (tmp_path / "new" / "brief.yaml").write_text("mine")
    assert (
        "kept" in call(capsys, "init", tmp_path / "new")[1] and (tmp_path / "new" / "brief.yaml").read_text() == "mine"
    )


def test_chat_by_hand(agents, capsys, monkeypatch):
    said = iter(["I want to renew a loan", ""])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    code, out, err = call(capsys, "chat", "python:toy_agents:Library")
    assert code == 0 and "Riverside Library" in out and len(out.splitlines()) >= 2


def test_a_limit_runs_the_first_tests_of_the_plan_only(agents, capsys):
    call(capsys, *all_of(agents, agents / "run"))
    plan = agents / "run" / "visible" / "plan.jsonl"
    tests = Run(agents / "run").read("plan", Test)
    again = (
        "run",
        "--plan",
        plan,
        "--subject",
        "python:toy_agents:Library",
        "--brief",
        agents / "brief.yaml",
        "-o",
        agents / "two",
    )
    code, out, err = call(capsys, *again, "--limit", "2", "--dry-run")
    assert code == 0 and "judge: 2 calls" in out and not (agents / "two").exists()
    assert call(capsys, *again, "--limit", "2")[0] in (0, 1, 2)
    assert {v.test for v in Run(agents / "two").read("verdicts", Verdict)} == {t.id for t in tests[:2]}
    code, out, err = call(capsys, "run", "-o", agents / "run", "--limit", "2")
    assert code == 3 and "go with --plan" in err
    code, out, err = call(capsys, *again, "--limit", "3")
    assert code == 3 and err.count("\n") == 1, "another limit is another run"


def test_another_judge_is_another_run(agents, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for judge in ("one", "two"):
        spec = {"provider": "replay", "model": judge}
        (tmp_path / f"{judge}.yaml").write_text(json.dumps({"mine": {"tester": {"provider": "rules"}, "judge": spec}}))
    first = (
        *all_of(agents, agents / "j", "--rounds", "1", "--functional", "0", "--boundary", "0"),
        "--profile",
        "mine",
    )
    call(capsys, *first, "--profiles", tmp_path / "one.yaml")
    code, out, err = call(capsys, *first, "--profiles", tmp_path / "two.yaml")
    assert code == 3 and "another models" in err
