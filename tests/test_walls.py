"""Walls of the house: which module may import which, and that nothing privileged gets out."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import agenteval
from agenteval.llm.scripted import Scripted

PACKAGE = Path(agenteval.__file__).parent


def imports() -> dict[str, set[str]]:
    """Module to the modules of the package that it imports, also inside functions."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found[module] = {n for n in names if n.startswith("agenteval")}
    return found


def reach(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        module = todo.pop()
        if module in seen or module not in graph:
            continue
        seen.add(module)
        # Importing a submodule does not run what `agenteval/__init__` offers for convenience.
        todo += [m for m in graph[module] if m != "agenteval"]
    return seen


@pytest.mark.parametrize("side", ["llm", "tester", "oracle"])
def test_the_black_box_side_never_imports_the_privileged_side(side):
    graph = imports()
    for module in graph:
        if module.startswith(f"agenteval.{side}"):
            forbidden = [
                m
                for m in reach(module, graph)
                if m.startswith(("agenteval.audit", "agenteval.faults", "agenteval.subjects"))
            ]
            assert forbidden == []


def test_imports_point_one_way():
    """types, stages, pipeline, cli: nothing low imports something high."""
    above = {
        "types": {"store", "chat", "llm", "tester", "transcripts", "analysis", "profiles", "pipeline", "commands", "cli"},
        "store": {"chat", "llm", "tester", "transcripts", "analysis", "profiles", "pipeline", "commands", "cli"},
        "llm": {"tester", "transcripts", "analysis", "profiles", "pipeline", "commands", "cli"},
        "tester": {"transcripts", "analysis", "profiles", "pipeline", "commands", "cli"},
        "transcripts": {"llm", "analysis", "profiles", "pipeline", "commands", "cli"},
        "analysis": {"profiles", "pipeline", "commands", "cli"},
        "profiles": {"pipeline", "commands", "cli"},
        "pipeline": {"cli"},
    }  # fmt: skip
    for module, names in imports().items():
        part = module.split(".")[1] if "." in module else ""
        for name in names:
            if name.count(".") and name.split(".")[1] in above.get(part, ()):
                raise AssertionError(f"{module} imports {name}")


def test_only_the_store_opens_run_folders():
    for module, path in ((p.relative_to(PACKAGE).as_posix(), p) for p in PACKAGE.rglob("*.py")):
        if module != "store.py":
            text = path.read_text("utf-8")
            assert "manifest.json" not in text or module in ("cli.py",), module
            assert '/ "visible' not in text or module == "cli.py", module


def test_public_names_are_listed_in_reading_order():
    assert all(hasattr(agenteval, name) for name in agenteval.__all__)
    assert len(set(agenteval.__all__)) == len(agenteval.__all__)
    public = {
        n
        for n, v in vars(agenteval).items()
        if not n.startswith("_") and getattr(v, "__module__", "").startswith("agenteval.")
    }
    assert public <= set(agenteval.__all__)


def test_importing_is_quick_and_pulls_in_nothing_heavy():
    code = (
        "import sys, time; t = time.process_time(); import agenteval; t = time.process_time() - t\n"
        "print(t, *[m for m in ('openai', 'scipy', 'pandas', 'sklearn', 'matplotlib', 'networkx', 'pygraphviz', 'IPython') if m in sys.modules])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert runs[0][1:] == []
    assert min(float(run[0]) for run in runs) < 0.5


SENTINELS = ["SENTINEL-POLICY", "SENTINEL-RESULT", "SENTINEL-ARGUMENT", "SENTINEL-ERROR", "SENTINEL-NOTE"]


def test_sentinels_stay_on_the_privileged_side(tmp_path, monkeypatch):
    """Planted in system texts, calls, results and error texts: never under visible/, in a request, a picture or the report."""
    messages = [
        {"role": "system", "content": "SENTINEL-POLICY"},
        {"role": "user", "content": "Cancel my rental."},
        {"role": "assistant", "content": "SENTINEL-NOTE", "tool_calls": [
            {"id": "1", "function": {"name": "find", "arguments": '{"q": "SENTINEL-ARGUMENT"}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "SENTINEL-RESULT"},
        {"role": "assistant", "content": "Which rental do you mean?"},
    ]  # fmt: skip
    runs = [
        {"task_id": 0, "traj": messages, "info": {}},
        {"task_id": 1, "traj": [], "info": {"error": "SENTINEL-ERROR", "traceback": "SENTINEL-ERROR"}},
    ]
    source = tmp_path / "log.json"
    source.write_text(json.dumps(runs))
    asked = Scripted(lambda request: json.dumps({"sessions": [
        {"session": json.loads(request.messages[0].content.split('"id": ')[1].split(",")[0]), "turns": [
            {"turn": 1, "summary": "s", "action": "ask", "activity": "request_rental"}]}]}))  # fmt: skip
    monkeypatch.setattr("agenteval.tester.rules.model.Rules", lambda: asked)
    agenteval.mine_transcripts(str(source), tmp_path / "run")
    assert asked.requests and not any(
        s in r.model_dump_json(exclude={"reply"}) for s in SENTINELS for r in asked.requests
    )
    privileged = "".join(p.read_text("utf-8") for p in (tmp_path / "run" / "privileged").iterdir())
    assert all(s in privileged for s in SENTINELS)
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file() and path.parent.name != "privileged":
            data = path.read_bytes()
            assert not any(s.encode() in data for s in SENTINELS), path


def strings(node) -> list[str]:
    """All texts in what a YAML file holds."""
    if isinstance(node, str):
        return [node]
    rows = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [text for row in rows for text in strings(row)]


def runs_of_words(text: str, n: int) -> set[str]:
    """Each `n` words in a row that no punctuation, placeholder or regular expression breaks."""
    found = set()
    for piece in re.split(r"\{[^{}]*\}|[^\w\s']+", re.sub(r"\\[a-zA-Z]", "|", text)):
        words = piece.lower().split()
        found |= {" ".join(words[i : i + n]) for i in range(len(words) - n + 1)}
    return found


@pytest.mark.parametrize(
    "wording",
    sorted((PACKAGE / "subjects" / "scripted").glob("*/wordings/?.yaml")),
    ids=lambda p: f"{p.parts[-3]}-{p.stem}",
)
def test_the_rules_know_no_phrase_of_our_subjects(wording):
    theirs = set().union(*(runs_of_words(text, 5) for text in strings(yaml.safe_load(wording.read_text("utf-8")))))
    assert len(theirs) > 500
    rules = PACKAGE / "tester" / "rules"
    for path in [*rules.rglob("*.py"), *rules.rglob("*.yaml")]:
        assert runs_of_words(path.read_text("utf-8"), 5) & theirs == set(), path


def test_no_tester_knows_the_name_of_a_subject():
    sources = "\n".join(
        p.read_text("utf-8") for p in (PACKAGE / "tester").rglob("*") if p.suffix in (".py", ".yaml", ".md")
    )
    domains = [p.parent for p in (PACKAGE / "subjects" / "scripted").glob("*/guards.yaml")]
    assert domains
    for folder in domains:
        greetings = yaml.safe_load((folder / "wordings" / "a.yaml").read_text("utf-8"))["greeting"]
        brand = set.intersection(*(set(re.findall(r"[A-Z][a-z]{4,}", text)) for text in greetings))
        assert brand and [name for name in brand if name in sources] == []
