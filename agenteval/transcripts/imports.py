"""Importing recorded conversations: traces, what the user never saw, and what could not be used."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from agenteval.errors import FormatError
from agenteval.transcripts.files import Conversation, files, read
from agenteval.transcripts.messages import split
from agenteval.types import Failure, ToolEvent, Trace


class Import(NamedTuple):
    """What reading gave."""

    traces: tuple[Trace, ...]
    tools: tuple[ToolEvent, ...]
    failures: tuple[Failure, ...]
    merged: int
    """User messages that were joined with the next one, because the agent did not answer between."""


def import_transcripts(path: Path, format: str | None = None, *, limit: int | None = None) -> Import:
    """Read recorded conversations.

    Parameters
    ----------
    limit
        Stop after this many conversations.

    Raises
    ------
    FormatError
        Nothing in `path` is a conversation that can be used.
    """
    traces: list[Trace] = []
    tools: list[ToolEvent] = []
    failures: list[Failure] = []
    merged = position = 0
    for item in read(path, format):
        if isinstance(item, Failure):
            failures.append(item)
            continue
        if limit is not None and position >= limit:
            break
        imported = split(item, position)
        position += 1
        if isinstance(imported, Failure):
            failures.append(imported)
            _keep_error(item, tools)
            continue
        traces.append(imported.trace)
        tools += imported.tools
        merged += imported.merged
    if not traces:
        counted = ", ".join(f"{n} {reason}" for reason, n in sorted(Counter(f.reason for f in failures).items()))
        raise FormatError(f"{path}: no conversation could be read ({counted or 'the folder is empty'}); see --format")
    return Import(tuple(traces), tuple(tools), tuple(failures), merged)


def _keep_error(conversation: Conversation, tools: list[ToolEvent]) -> None:
    """The text of a recorded failure is not for the tester's eyes."""
    if conversation.error:
        tools.append(ToolEvent(id=conversation.name, turn=0, role="note", name="error", content=conversation.error))


def fingerprint(path: Path) -> str:
    """Hash of the names and contents of the input files."""
    digest = hashlib.sha256()
    for file in files(path):
        digest.update(
            file.relative_to(path.parent).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest()
        )
    return digest.hexdigest()[:16]
