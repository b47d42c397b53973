"""What the engine works on: a task, which is one thing the user wants, and a domain, which is all it knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agenteval.subjects.scripted.log import SessionLog

if TYPE_CHECKING:
    from agenteval.subjects.scripted.engine import Talk


class Pause(Exception):
    """The workflow has said its word and waits for the user."""


@dataclass
class Task:
    """One thing the user wants."""

    name: str
    number: int
    slots: dict[str, Any] = field(default_factory=dict)
    asked: str | None = None
    """The value that the last reply asked for; `confirm` at a gate."""
    gate: str | None = None
    """Hash of what was last presented for confirmation."""
    state: str = "open"
    """`open`, `done`, `refused` or `dropped`."""
    offer: str | None = None
    """The task that a refusal offered instead."""
    resumed: bool = False
    """Taken up again, in this turn, with an open gate."""
    detoured: bool = False


class Domain(NamedTuple):
    """What a domain adds to the engine."""

    name: str
    folder: Path
    data: Callable[[], dict[str, Any]]
    tools: Callable[[dict[str, Any], SessionLog], Any]
    extract: Callable[[str, str | None, dict[str, Any]], dict[str, Any]]
    """Values in a text, given the slot asked for."""
    listen: Callable[[Talk], None]
    """Before any workflow: identity, claims."""
    merge: Callable[[Talk, Task], set[str]]
    """Enters the reading's values in a task; returns the names of those that changed."""
    keep: Callable[[Talk, str], bool]
    """Whether an intent, heard while a task is open, belongs to that task."""
    workflows: dict[str, Callable[[Talk], None]]
    lookups: tuple[str, ...]
    """Tasks that change nothing: another value is another question of the same kind."""
    titles: dict[str, str]
    """What each task is called when it is taken up again."""
    menu: tuple[str, ...]
    """What the places of the list of services mean, in the order in which `capabilities` names them."""
    record: str
    """The slot that holds the id of what tasks are about, such as `reservation`; the extractor's list of ids heard has an s more."""
    cancels: tuple[str, ...]
    """Tasks that "cancel it" may mean."""
