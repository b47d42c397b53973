"""Replay the tool calls of recorded tau-bench and tau2 conversations on the environments of the installed tau2 package.

Run ``python experiments/bench/tau_replay.py [--data DIR] [--only PART] [--limit RUNS] [--examples CLASS]``. No model is asked. It
shows whether the environments that `tau:` subjects run on are those of the published conversations: each run gets a fresh
environment (with the initial state of its task, where it has one), its calls are made in their order, and each result is put
beside the recorded one. The recordings are third-party files outside the repository (``../shared/data`` beside it by default).

A call falls into the first class that holds:

- `exact`: the same bytes. `json`: the same value once both are parsed (order of keys, 100 for 100.0).
- `schema`: the same value where both sides have a field; fields were added, are empty on one side, or have another name.
- `case`: texts that differ in letter case alone. `order`: the same elements of a list in another order.
- `no tool`: the package has no tool of this name. `arguments`: recorded arguments that are no JSON object.
- `harness`: the recorded result is a crash of the program that recorded it.
- `error text`: both sides report an error, in other words. `error there` / `error here`: only one side does.
- `data`: other values before anything was written in the run, so that the data themselves must differ.
- `after divergence`: other values after a call in which one side wrote and the other did not, or which could not be made here.
- `after write`: other values after a write that both sides made.

Calls without a recorded result are counted apart and compared with nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from agenteval.errors import UsageError  # noqa: E402
from agenteval.subjects.tau_environment import load, open_environment  # noqa: E402

DOMAINS = {"airline": "airline", "airline-relaxed": "airline", "retail": "retail", "telecom": "telecom"}
"""Domain of a recording to ours. `airline-relaxed` is a fork with another policy on the same data."""
CLASSES = (
    "exact", "json", "schema", "case", "order", "no tool", "arguments", "harness", "error text", "error there", "error here",
    "data", "after divergence", "after write",
)  # fmt: skip
HARNESS = re.compile(r"Error executing tool|delimiter: line|Traceback")
RENAMED = {"province": "state"}


class Call(NamedTuple):
    """One recorded tool call."""

    name: str
    arguments: str
    """JSON text."""
    result: str | None
    """None where the recording holds none."""
    requestor: str = "assistant"


class Run(NamedTuple):
    calls: list[Call]
    state: Any = None
    """Initial state of the task, as recorded."""


class Part(NamedTuple):
    """One file."""

    corpus: str
    name: str
    domain: str
    runs: list[Run]


# ---- readers


def parts(data: Path) -> Iterator[Part]:
    """The files of both corpora, in the order of their names."""
    for file in sorted((data / "tau-bench-v1").glob("*.json.gz")):
        runs = [Run(list(v1_calls(run.get("traj") or []))) for run in json.loads(gzip.decompress(file.read_bytes()))]
        yield Part("v1", file.name.removesuffix(".json.gz"), file.name.partition("_")[0], runs)
    for file in sorted((data / "tau2-results").glob("*.json*.gz")):
        text = gzip.decompress(file.read_bytes())
        if file.name.endswith(".jsonl.gz"):
            name, domain = file.name.removesuffix(".jsonl.gz"), file.name.split("_")[1].removesuffix(".jsonl.gz")
            yield Part(
                "tau2",
                name,
                domain,
                [Run(list(tau2_calls(json.loads(line)["messages"]))) for line in text.splitlines()],
            )
            continue
        content = json.loads(text)
        states = {str(task["id"]): task.get("initial_state") for task in content["tasks"]}
        runs = [Run(list(tau2_calls(s["messages"])), states.get(str(s["task_id"]))) for s in content["simulations"]]
        domain = content["info"]["environment_info"]["domain_name"]
        yield Part("tau2", file.name.removesuffix(".json.gz"), domain, runs)


def v1_calls(messages: list[dict[str, Any]]) -> Iterator[Call]:
    """Calls of the original format, structured or as text after `Action:`."""
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool" and m.get("tool_call_id")}
    for message, after in zip(messages, [*messages[1:], {}], strict=False):
        for call in message.get("tool_calls") or []:
            yield Call(call["function"]["name"], call["function"]["arguments"], results.get(call["id"]))
        content = message.get("content")
        if message["role"] == "assistant" and isinstance(content, str) and "Action:" in content:
            written = content.rpartition("Action:")[2].strip()
            try:
                action, _ = json.JSONDecoder().raw_decode(written)
                name, arguments = action["name"], action["arguments"]
            except (ValueError, KeyError, TypeError):
                continue
            said = str(after.get("content") or "")
            if name != "respond":
                heard = said.removeprefix("API output: ") if said.startswith("API output: ") else None
                yield Call(name, json.dumps(arguments), heard)


def tau2_calls(messages: list[dict[str, Any]]) -> Iterator[Call]:
    """Calls of the tau2 format; results follow in the order of the calls, whose ids may be empty."""
    waiting: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            if waiting:
                yield _tau2(waiting.pop(0), message["content"])
            continue
        yield from (_tau2(call, None) for call in waiting)
        waiting = list(message.get("tool_calls") or [])
    yield from (_tau2(call, None) for call in waiting)


def _tau2(call: dict[str, Any], result: str | None) -> Call:
    return Call(call["name"], json.dumps(call["arguments"]), result, call.get("requestor") or "assistant")


# ---- replay and comparison


def replay(run: Run, domain: str) -> Iterator[tuple[str, Call, str]]:
    """Class, call and our result of each call that has a recorded one; class `unrecorded` for the others."""
    from tau2.data_model.message import ToolCall

    environment = open_environment(domain)
    if run.state is not None:
        from tau2.data_model.tasks import InitialState

        state = InitialState.model_validate(run.state)
        environment.set_state(state.initialization_data, state.initialization_actions, state.message_history or [])
    wrote = diverged = False
    for number, call in enumerate(run.calls):
        arguments = _json(call.arguments)
        kit = environment.user_tools if call.requestor == "user" else environment.tools
        if kit is None or not kit.has_tool(call.name):
            # A tool of another program may have written.
            diverged = diverged or not call.name.startswith(("get_", "think", "calculate", "count_", "list_", "check_"))
            yield ("unrecorded" if call.result is None else "no tool"), call, ""
            continue
        if not isinstance(arguments, dict):
            yield ("unrecorded" if call.result is None else "arguments"), call, ""
            continue
        answer = environment.get_response(
            ToolCall(id=str(number), name=call.name, arguments=arguments, requestor=call.requestor)
        )
        ours = str(answer.content)
        found = "unrecorded" if call.result is None else compared(call.result, ours)
        if found == "values":
            found = "after divergence" if diverged else "after write" if wrote else "data"
        yield found, call, ours
        if kit.tool_type(call.name).value == "write":
            wrote = True
            diverged = diverged or found in ("unrecorded", "harness", "error there", "error here")


def compared(recorded: str, ours: str) -> str:
    """The class of a pair of results; `values` where they differ in substance.

    >>> compared('{"a": 1, "b": 2.0}', '{"b": 2, "a": 1}'), compared('{"province": "TX"}', '{"state": "TX", "date": null}')
    ('json', 'schema')
    >>> compared("Error: user not found", "Error: User not found"), compared("Error: no", "Error: not so"), compared("[1, 2]", "[2, 1]")
    ('case', 'error text', 'order')
    """
    if recorded == ours:
        return "exact"
    one, other = _json(recorded), _json(ours)
    if one == other:
        return "json"
    failed = [bool(re.match(r"\s*Error\b", text)) for text in (recorded, ours)]
    if HARNESS.search(recorded):
        return "harness"
    if isinstance(one, str) and isinstance(other, str) and one.strip().casefold() == other.strip().casefold():
        return "case"
    if all(failed):
        return "error text"
    if any(failed):
        return "error there" if failed[0] else "error here"
    if agree(one, other, ordered=True):
        return "schema"
    return "order" if agree(one, other, ordered=False) else "values"


def agree(one: Any, other: Any, *, ordered: bool) -> bool:
    """Whether two values are the same where both have a field."""
    if isinstance(one, dict) and isinstance(other, dict):
        one = {RENAMED.get(key, key): value for key, value in one.items()}
        other = {RENAMED.get(key, key): value for key, value in other.items()}
        shared = set(one) & set(other)
        return bool(shared) and all(
            agree(one[k], other[k], ordered=ordered) for k in shared if None not in (one[k], other[k])
        )
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if ordered:
            return all(agree(a, b, ordered=True) for a, b in zip(one, other, strict=True))
        left = list(other)
        for value in one:
            match = next((i for i, found in enumerate(left) if agree(value, found, ordered=False)), None)
            if match is None:
                return False
            left.pop(match)
        return True
    return one == other or (str(one) == str(other) and not isinstance(one, dict | list))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return text


# ---- the table


def row(name: str, runs: int, counts: Counter[str]) -> str:
    compared_calls = sum(n for c, n in counts.items() if c != "unrecorded")
    if not compared_calls:
        return f"| {name} | {runs} | 0 | - | - | - | no structured call with a result |"

    def share(*names: str) -> str:
        return f"{sum(counts[n] for n in names) / compared_calls:.3f}"

    rest = ", ".join(f"{n} {counts[n]}" for n in (*CLASSES[2:], "unrecorded") if counts[n])
    values = (share("exact"), share("exact", "json"), share(*CLASSES[:5]))
    return f"| {name} | {runs} | {compared_calls} | {' | '.join(values)} | {rest} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--limit", type=int, help="runs of each file at most")
    parser.add_argument("--examples", default="", help="print five calls of this class")
    options = parser.parse_args()
    if not (options.data / "tau-bench-v1").is_dir() or not (options.data / "tau2-results").is_dir():
        return print(f"skipped: {options.data} holds no tau-bench-v1 and tau2-results; give --data DIR")
    try:
        load("airline")
    except UsageError as error:
        return print(f"skipped: {error}")

    print("| file | runs | calls | exact | json | same content | the rest by class |\n|---|---|---|---|---|---|---|")
    totals: dict[str, Counter[str]] = {}
    runs_of: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    tools: Counter[tuple[str, str]] = Counter()
    shown = 0
    for part in parts(options.data):
        if options.only not in part.name:
            continue
        runs = part.runs[: options.limit]
        if part.domain not in DOMAINS:
            calls = sum(len(run.calls) for run in runs)
            print(f"| {part.name} | {len(runs)} | - | - | - | - | {calls} calls of {part.domain}, no domain of ours |")
            continue
        counts: Counter[str] = Counter()
        for run in runs:
            for found, call, ours in replay(run, DOMAINS[part.domain]) if run.calls else ():
                counts[found] += 1
                if found == "no tool":
                    missing[call.name] += 1
                elif found not in CLASSES[:3]:
                    tools[found, call.name] += 1
                if found == options.examples and shown < 5:
                    shown += 1
                    print(f"<!-- {call.name} {call.arguments}\n  recorded: {call.result}\n  here:     {ours} -->")
        print(row(part.name, len(runs), counts), flush=True)
        total = f"**{part.corpus} {DOMAINS[part.domain]}**"
        totals.setdefault(total, Counter()).update(counts)
        runs_of[total] += len(runs)
    for total, counts in totals.items():
        print(row(total, runs_of[total], counts))
    print("\nTools that the package has not: " + (", ".join(f"{n} {c}" for n, c in missing.most_common()) or "none"))
    for kind in CLASSES[3:]:
        listed = ", ".join(f"{name} {count}" for (k, name), count in tools.most_common() if k == kind)
        if listed:
            print(f"{kind}: {listed}")


if __name__ == "__main__":
    main()
