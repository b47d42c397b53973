"""`agenteval reproduce`: experiments, thin notebooks, and results that can be made again."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from agenteval.analysis import tables
from agenteval.cli import run
from agenteval.commands import notebooks
from agenteval.commands.cells import record_of
from agenteval.commands.experiments import find_root, known, open_study, read_experiment
from agenteval.commands.reproduce import preview, reproduce, studies
from agenteval.errors import AgentEvalError, FormatError, UsageError

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SMALL = {"rounds": 3, "turns": 4, "warmup": [1, 1, 1], "functional": 2, "boundary": 4}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A root with the real notebooks and the paper's numbers, and experiments whose cells take a second."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "results" / "paper", root / "results" / "paper")
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns("*.py", ".*"))
    (root / "experiments").mkdir()
    for name in known(ROOT):
        whole = yaml.safe_load((ROOT / "experiments" / f"{name}.yaml").read_text("utf-8"))
        for block in whole.get("blocks", ()):
            block["configurations"] = {
                arm: {**SMALL, **{k: v for k, v in chosen.items() if k in ("discovery", "arm") or v == 0}}
                for arm, chosen in block["configurations"].items()
            }
        if name == "quickstart":
            whole["parameters"] = {"rounds": 3, "boundary": 3}
        (root / "experiments" / f"{name}.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))
    monkeypatch.chdir(root)
    monkeypatch.setattr("agenteval.pipeline.PICTURES", ("svg",))
    return root


def made(root, *names, **options):
    return reproduce(studies(names, root=root, **{"domains": ["airline"], "seeds": 1, **options}))


# ---- notebooks


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_thin_and_has_no_outputs(file):
    notebook = json.loads(file.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert code[0]["metadata"]["tags"] == ["parameters"] and sum("tags" in c["metadata"] for c in code) == 1
    for cell in code:
        assert cell["outputs"] == [] and cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        assert not any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in ast.walk(tree)
        )
    assert all("#" in line for line in "".join(code[0]["source"]).splitlines())
    words = "".join(notebook["cells"][0]["source"])
    assert file.stem == "quickstart" or ("**Question.**" in words and "**The paper's answer" in words)


def test_no_number_of_the_paper_is_typed_into_code():
    """They come from results/paper/ through `tables`."""
    for file in NOTEBOOKS:
        code = [c for c in json.loads(file.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
        for cell in code:
            text = re.sub(r":[+\d.,]*f\b|:\.\d+f", "", "".join(cell["source"]))
            assert not re.search(r"\b0?\.\d\d\b", text), (file.name, text)


def test_parameters_are_read_from_the_tagged_cell(tmp_path):
    assert notebooks.parameters(ROOT / "notebooks" / "rq1_functional.ipynb")[:3] == ["root", "out", "profile"]
    with pytest.raises(UsageError, match="no parameter 'sedes'; it has root, out"):
        notebooks.check(ROOT / "notebooks" / "rq1_functional.ipynb", {"sedes": 2})
    (tmp_path / "x.ipynb").write_text('{"cells": []}')
    with pytest.raises(FormatError, match="tagged `parameters`"):
        notebooks.parameters(tmp_path / "x.ipynb")


def test_a_frozen_notebook_has_no_widgets_times_or_paths():
    import nbformat

    notebook = nbformat.v4.new_notebook(metadata={"widgets": {}, "papermill": {"input_path": "/home/x"}})
    cell = nbformat.v4.new_code_cell("1")
    cell.metadata |= {"papermill": {"duration": 1}, "execution": {"iopub.status.busy": "now"}}
    both = {notebooks.WIDGET: {"model_id": "1"}, "image/png": "aaaa"}
    only = {notebooks.WIDGET: {"model_id": "2"}, "text/plain": "bar"}
    cell.outputs = [nbformat.v4.new_output("display_data", data=data) for data in (both, only)]
    notebook.cells = [cell]
    text = nbformat.writes(notebooks.frozen(notebook))
    assert "image/png" in text and not any(word in text for word in ("widget", "bar", "/home", "duration", "iopub"))


# ---- experiments


def test_every_experiment_fits_its_notebook():
    assert {study.name for study in studies((), root=ROOT)} == set(known(ROOT))
    assert {read_experiment(name, ROOT).notebook for name in known(ROOT)} == {file.stem for file in NOTEBOOKS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sedes": 3}, "sedes: Extra inputs"),
        ({"blocks": [{"configurations": {"x": {"round": 3}}}]}, "blocks.0.configurations.x.round: Extra inputs"),
        ({"blocks": [{"configurations": {"x": {"arm": "best"}}}]}, "blocks.0.configurations.x.arm"),
        ({"parameters": {"colour": "red"}}, "rq1_functional.ipynb has no parameter 'colour'"),
    ],
)
def test_unknown_keys_and_parameters_are_errors(checkout, capsys, change, message):
    file = checkout / "experiments" / "rq1.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text("utf-8")), **change}))
    assert run(["reproduce", "rq1", "--dry-run"]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rq0"], "unknown experiment 'rq0'; expected"),
        (["--domains", "submarine"], "unknown domain 'submarine'; expected airline, retail"),
        (["--wording", "z"], "has no wording 'z'; expected a"),
        (["--agents", "real"], "unknown agents 'real'; expected scripted or tau"),
        (["--profile", "none"], "unknown profile 'none'"),
    ],
)
def test_what_does_not_exist_is_named(checkout, capsys, arguments, message):
    assert run(["reproduce", *arguments, "--dry-run"]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_without_a_checkout_it_says_so(tmp_path):
    with pytest.raises(UsageError, match="no experiments/ and notebooks/"):
        find_root(tmp_path)


def test_dry_run_counts_shared_cells_once_and_leaves_nothing(checkout, capsys):
    before = sorted(checkout.rglob("*"))
    assert run(["reproduce", "rq1", "rq3", "--domains", "airline", "--seeds", "2", "--dry-run", "--json"]) == 0
    rows = {row["experiment"]: row for row in json.loads(capsys.readouterr().out)["experiments"]}
    assert (rows["rq1"]["cells"], rows["rq3"]["cells"], rows["all"]["cells"]) == (4, 8, 10)
    assert rows["all"]["calls"] > rows["rq3"]["calls"] > 0 and rows["all"]["cost"] is None
    assert sorted(checkout.rglob("*")) == before


def test_dry_run_has_money_with_a_price_table(checkout, tmp_path):
    spec = {"provider": "rules", "price": {"input": 1.0, "output": 2.0}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump({"priced": {"tester": spec, "judge": spec}}))
    [row, _] = preview(
        studies(["rq2"], root=checkout, profile="priced", profiles=tmp_path / "p.yaml", seeds=1, domains=["airline"])
    )
    assert row["cost"] == pytest.approx((row["input"] + 2 * row["output"]) / 1e6)


# ---- the whole


def test_reproduce_writes_everything_and_then_leaves_it_alone(checkout):
    [first] = made(checkout, "rq5")
    out = checkout / "results" / "offline" / "rq5"
    names = {
        "cells.csv",
        "table.csv",
        "table.md",
        "table.tex",
        "figure.pdf",
        "figure.png",
        "metrics.json",
        "manifest.json",
    }
    assert first["made"] and {p.name for p in out.iterdir()} == {*names, "rq5_cost.ipynb"}
    page = (out / "table.md").read_text("utf-8")
    assert "| – |" in page and "hours: what rules need" in page and "| (paper) | 142 | 0.60 |" in page
    assert str(checkout) not in "".join(p.read_text("utf-8") for p in out.iterdir() if p.suffix in (".ipynb", ".json"))
    csv = (out / "table.csv").read_bytes()

    [again] = made(checkout, "rq5")
    assert not again["made"]
    (out / "table.csv").write_text("edited by hand")
    [repaired] = made(checkout, "rq5")
    assert repaired["made"] and (out / "table.csv").read_bytes() == csv

    study = open_study("rq5", root=checkout, domains=["airline"], seeds=2)
    assert [record_of(cell, study.bench) is not None for cell in study.cells].count(True) == 4


def test_an_interrupted_run_goes_on_to_the_same_bytes(checkout, monkeypatch):
    def interrupt(stage, done, total):
        if stage == "cells" and done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(notebooks, "execute", lambda file, out, given, cwd: None)
    chosen = studies(["rq3"], root=checkout, domains=["airline"], seeds=1)
    with pytest.raises(KeyboardInterrupt):
        reproduce(chosen, progress=interrupt)
    kept = [record_of(cell, chosen[0].bench) for cell in chosen[0].cells]
    assert sum(record is not None for record in kept) == 1
    reproduce(chosen)
    shutil.copytree(chosen[0].bench.folder, checkout / "first")
    shutil.rmtree(chosen[0].bench.folder)
    reproduce(chosen)
    for cell in chosen[0].cells:
        one, two = (folder / cell.folder / "visible" for folder in (checkout / "first", chosen[0].bench.folder))
        for name in ("traces.jsonl", "plan.jsonl", "verdicts.jsonl"):
            assert (one / name).read_bytes() == (two / name).read_bytes()


@pytest.mark.slow
def test_a_failing_notebook_is_named_with_its_cell_and_kept(checkout):
    file = checkout / "notebooks" / "rq5_cost.ipynb"
    notebook = json.loads(file.read_text("utf-8"))
    notebook["cells"][-1]["source"] = ["1 / 0"]
    file.write_text(json.dumps(notebook))
    with pytest.raises(AgentEvalError, match=r"rq5_cost failed in cell \d+: ZeroDivisionError: division by zero; see .*rq5_cost.ipynb"):  # fmt: skip
        made(checkout, "rq5")
    assert (checkout / "results" / "offline" / "rq5" / "rq5_cost.ipynb").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", known(ROOT))
def test_every_notebook_runs_with_small_parameters(checkout, name):
    [one] = made(checkout, name, seeds=2)
    out = checkout / one["folder"]
    facts = json.loads((out / "metrics.json").read_text("utf-8"))
    assert facts["sentence"] and "nan" not in facts["sentence"]
    assert (out / "figure.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quickstart", "rq1_functional"])
def test_run_all_works_where_people_open_a_notebook(checkout, name):
    """In its own folder, with the parameters that stand in it."""
    folder = checkout / "notebooks"
    notebooks.execute(folder / f"{name}.ipynb", checkout / "out.ipynb", {}, cwd=folder)
    [facts] = (checkout / "runs" / "notebooks").glob("*/metrics.json")
    assert json.loads(facts.read_text("utf-8"))["sentence"]


# ---- what is committed

RESULTS = sorted(p.parent for p in (ROOT / "results").glob("*/*/cells.csv"))


@pytest.mark.parametrize("folder", RESULTS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_committed_tables_follow_from_the_committed_measurements(folder):
    import csv

    cells = tables.read_cells(folder / "cells.csv")
    theirs = tables.read_paper(*sorted((ROOT / "results" / "paper").glob("table*.csv")))
    with (folder / "table.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows
    for row in rows:
        rebuilt = tables.one(
            tables.table(cells, [row["metric"]], theirs, arms=[row["arm"]]), row["domain"], row["arm"], row["metric"]
        )
        [line] = list(csv.DictReader(tables.table_csv([rebuilt]).splitlines()))
        if not row["paper"]:
            line["paper"] = ""  # the paper's numbers that a table does not show
        assert line == row


# ---- models


@pytest.fixture
def served(checkout, monkeypatch):
    """A model server behind tester, judge and auditor; prices known."""
    from model_server import ModelServer
    from test_audit_model import answer

    monkeypatch.setenv("SOME_KEY", "sk-some-0123456789abcdef0123")
    with ModelServer(answer=answer) as running:
        spec = {
            "provider": "openai",
            "base_url": running.url,
            "key_env": "SOME_KEY",
            "retries": 0,
            "price": {"input": 1.0, "output": 2.0},
        }
        roles = {
            "tester": {**spec, "model": "one"},
            "judge": {**spec, "model": "one"},
            "auditor": {**spec, "model": "other"},
        }
        (checkout / "profiles.yaml").write_text(yaml.safe_dump({"served": roles, "rival": roles}))
        yield running


def test_cells_of_a_model_profile_are_audited_by_a_model_and_their_cost_is_told(checkout, served, monkeypatch):
    monkeypatch.setattr(notebooks, "execute", lambda file, out, given, cwd: None)
    chosen = studies(
        ["rq2"], root=checkout, profile="served", profiles=Path("profiles.yaml"), domains=["airline"], seeds=1
    )
    told = []
    reproduce(chosen, tell=told.append)
    assert any(re.match(r"so far: [\d,]+ calls, [\d,]+ tokens, cost \d", line) for line in told)
    from agenteval.commands.cells import measurements

    found = {m.metric: m.value for m in measurements(chosen[0].cells, chosen[0].bench)}
    assert found["boundary validity"] == 1 and found["guards met in discovery"] > 0
    served.bodies.clear()
    reproduce(chosen, tell=told.append)
    assert served.bodies == [], "what was paid for is not asked again"
    text = Path("profiles.yaml").read_text("utf-8")
    Path("profiles.yaml").write_text(text.replace("one", "another"))
    [other] = studies(
        ["rq2"], root=checkout, profile="served", profiles=Path("profiles.yaml"), domains=["airline"], seeds=1
    )
    assert record_of(other.cells[0], other.bench) is None, "another model behind the name is another cell"


def test_candidates_for_the_auditor_are_compared_with_the_exact_one(checkout, served):
    from agenteval.commands import selection
    from agenteval.commands.experiments import measured

    study = open_study("auditor_selection", root=checkout, profiles="profiles.yaml", domains=["airline"], seeds=1)
    measured(study)
    found = {(m.arm, m.metric): m.value for m in selection.candidates(study, ["rival"])}
    assert (
        set(found) == {("rival", "coverage recall"), ("rival", "agreement")} and 0 <= found["rival", "agreement"] <= 1
    )
    served.bodies.clear()
    assert {(m.arm, m.metric): m.value for m in selection.candidates(study, ["rival"])} == found and served.bodies == []


def test_a_simulated_auditor_has_the_agreement_that_it_was_made_for(checkout):
    from agenteval.commands import selection
    from agenteval.commands.experiments import measured

    study = open_study("auditor_selection", root=checkout, domains=["airline"], seeds=2)
    measured(study)
    assert all(m.value == 1 for m in selection.simulated(study, 0.0))
    assert all(m.value == 0 for m in selection.simulated(study, 1.0))
    assert all(0.3 < m.value < 0.7 for m in selection.simulated(study, 0.5))


def test_a_cap_of_calls_ends_with_its_own_exit_code(checkout, served, capsys):
    arguments = [
        "reproduce",
        "rq2",
        "--profile",
        "served",
        "--profiles",
        "profiles.yaml",
        "--domains",
        "airline",
        "--seeds",
        "1",
    ]
    assert run([*arguments, "--max-calls", "3"]) == 4
    last = capsys.readouterr().err.splitlines()[-1]
    assert "airline-a-0-" in last and "the same command continues" in last


@pytest.mark.slow
def test_replay_rebuilds_the_tables_of_a_model_without_a_key(checkout, served, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-0123456789abcdef0123")
    monkeypatch.setenv("OPENAI_BASE_URL", served.url)
    monkeypatch.setenv("AGENTEVAL_MODEL", "one")
    arguments = ["reproduce", "rq2", "--domains", "airline", "--seeds", "1"]
    assert run([*arguments, "--profile", "openai"]) == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    served.bodies.clear()
    assert run([*arguments, "--profile", "replay"]) == 0
    assert served.bodies == []
    one, other = (checkout / "results" / profile / "rq2" / "table.csv" for profile in ("openai", "replay"))
    assert one.read_bytes() == other.read_bytes()
