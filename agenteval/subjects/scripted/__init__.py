"""Scripted subjects: rule-driven agents under test, one engine, a folder for each domain.

>>> chat = open_scripted("airline", seed=3)
>>> bool(chat.reset()), bool(chat.invoke("I want to cancel a reservation"))
(True, True)
>>> [event["guard"] for event in chat.log if event.get("outcome") == "failed"]
['user_id_required']

A subject is deterministic: domain, wording, fault and seed settle every byte. The seed chooses words, never behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from agenteval.errors import UsageError
from agenteval.subjects.scripted.chat import ScriptedChat
from agenteval.subjects.scripted.wording import load

__all__ = ["DOMAINS", "brief", "faults", "folder", "guards", "open_scripted", "wordings"]

DOMAINS = ("airline", "retail", "telecom", "banking")


def open_scripted(domain: str, *, wording: str = "a", fault: str | None = None, seed: int = 0) -> ScriptedChat:
    """A fresh agent.

    Parameters
    ----------
    domain
        One of `DOMAINS`.
    wording
        Name of a file in the domain's `wordings`, without its ending.
    fault
        Id of a guard to switch off or of another fault (`faults`); None for the reference.
    seed
        Chooses the words.

    Raises
    ------
    UsageError
        Unknown domain, wording or fault.
    """
    module = _module(domain)
    _known("wording", wording, wordings(domain))
    if fault is not None:
        _known("fault", fault, sorted(faults(domain)))
    return ScriptedChat(
        module.DOMAIN, load(module.FOLDER / "wordings" / f"{wording}.yaml"), guards(domain), fault=fault, seed=seed
    )


def wordings(domain: str) -> list[str]:
    """Names of the wordings of a domain."""
    return sorted(p.stem for p in (folder(domain) / "wordings").glob("*.yaml") if p.stem != "keys")


def guards(domain: str) -> dict[str, dict[str, str]]:
    """The guards by id: capability, kind, rule, and what a failing check makes visible."""
    return _table(folder(domain) / "guards.yaml")


def faults(domain: str) -> dict[str, dict[str, str]]:
    """All faults by id, guards and others: capability, kind, rule (what the mutant does not do, or does), visible."""
    return {**guards(domain), **_table(folder(domain) / "faults.yaml")}


def brief(domain: str) -> dict[str, Any]:
    """What a tester may know in advance: a text, and one flat mapping for each customer."""
    module = _module(domain)
    return {"domain": module.NAME, "seeds": module.seeds()}


def folder(domain: str) -> Path:
    """Where a domain keeps its policy, its tables and its wordings."""
    return _module(domain).FOLDER


def _module(domain: str) -> Any:
    _known("domain", domain, DOMAINS)
    return import_module(f"{__name__}.{domain}")


def _known(what: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"there is no scripted {what} {str(value)[:60]!r}; choose one of {', '.join(known)}")


@cache
def _table(path: Path) -> dict[str, dict[str, str]]:
    import yaml

    rows = yaml.safe_load(path.read_text("utf-8"))
    return {key: dict(zip(("capability", "kind", "rule", "visible"), row, strict=True)) for key, row in rows.items()}
