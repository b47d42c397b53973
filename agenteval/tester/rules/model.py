"""A `Model` that plays the tester's roles by rules.

It reads only the JSON blocks of the rendered prompt, as a model would: called directly or served over HTTP, it gives
equal bytes. It knows general English of service conversations and nothing about any particular agent.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from collections.abc import Callable
from importlib import resources
from typing import Any

from agenteval.errors import ModelRejected
from agenteval.llm.ask import blocks
from agenteval.llm.model import Completion, Request, Usage, estimate_tokens


def _labeller(inputs: dict[str, Any]) -> dict[str, Any]:
    from agenteval.tester.rules.labeller import label

    return {"sessions": label(inputs["sessions"])}


def _synonyms(inputs: dict[str, Any]) -> dict[str, Any]:
    """Labels made of the same words in another order or number are synonyms; nothing else is."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for entry in inputs["labels"]:
        words = sorted({word.removesuffix("s") for word in entry["label"].split("_")} - {"and", "the", "a", "of"})
        groups.setdefault(tuple(words), []).append(entry)
    found = []
    for entries in groups.values():
        if len(entries) > 1:
            entries.sort(key=lambda e: (-e["frequency"], e["label"]))
            keep, *others = (e["label"] for e in entries)
            found.append({"why": "the same words", "keep": keep, "merge": others})
    return {"groups": found}


def _module(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def reply(inputs: dict[str, Any]) -> dict[str, Any]:
        return importlib.import_module(f"agenteval.tester.rules.{name}").reply(inputs)

    return reply


MODULES = ("planner", "driver", "functional", "potential", "boundary", "runner", "judge")
ROLES = {"labeller": _labeller, "synonyms": _synonyms, **{name: _module(name) for name in MODULES}}


@functools.cache
def rules_hash() -> str:
    """Hash of the rules and their lexicons, for manifests."""
    digest = hashlib.sha256()
    folder = resources.files("agenteval.tester.rules")
    parts = [*folder.iterdir(), *(folder / "lexicon").iterdir()]
    for part in sorted(parts, key=str):
        if part.is_file() and part.name.endswith((".py", ".yaml")):
            digest.update(part.name.encode() + b"\0" + part.read_bytes())
    return digest.hexdigest()[:16]


class Rules:
    """The offline model."""

    name = "rules"

    def complete(self, request: Request) -> Completion:
        prompt = "\n".join(m.content for m in request.messages)
        if request.role not in ROLES:
            raise ModelRejected(
                f"the offline rules play {', '.join(ROLES)}, not {request.role}; use a profile with a model"
            )
        text = json.dumps(ROLES[request.role](blocks(prompt)), ensure_ascii=False)
        usage = Usage(input=estimate_tokens(prompt), output=estimate_tokens(text), estimated=True)
        return Completion(text=text, model=self.name, usage=usage)
