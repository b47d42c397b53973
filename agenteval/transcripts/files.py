"""Files and folders of recorded conversations, in the formats that people already have.

=============  ==================================================================================================
``tau-bench``  a JSON list of runs with `task_id, trial, traj`
``tau2``       a JSON object with `simulations`, each with `task_id, messages`; or a folder of them
``tau2-lines`` JSON lines with `task_id, messages`
``openai-chat`` JSON lines (or a list) with `messages`, or of plain lists of messages, in OpenAI's chat form
=============  ==================================================================================================

Plain or gzip; the format is recognised by content or named. One broken conversation, line or file becomes a `Failure`
and never stops the others.
"""

from __future__ import annotations

import importlib.resources
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agenteval.errors import FormatError
from agenteval.types import Failure

FORMATS = ("tau-bench", "tau2", "tau2-lines", "openai-chat")
_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
EXAMPLE = "example:"


class Conversation(NamedTuple):
    """One recorded conversation, not yet split into turns."""

    name: str
    """File and position: `log.json#3`."""
    messages: list[Any]
    """Empty where the recording is of a run that failed before it began."""
    format: str
    cut: bool = False
    """True where the recording says that a step limit ended it."""
    error: str = ""
    """Text of the failure that the recording reports. Privileged."""


def locate(address: str) -> Path:
    """The path behind `--from`: a file, a folder, or `example:NAME` for bundled conversations.

    Raises
    ------
    FormatError
        Nothing is there; names what is.
    """
    if address.startswith(EXAMPLE):
        folder = Path(str(importlib.resources.files("agenteval") / "examples"))
        path = folder / f"{address.removeprefix(EXAMPLE)}.jsonl"
        if not path.exists():
            known = ", ".join(sorted(EXAMPLE + p.stem for p in folder.glob("*.jsonl")))
            raise FormatError(f"no bundled conversations named {address!r}; there are: {known}")
        return path
    path = Path(address)
    if not path.exists():
        raise FormatError(
            f"--from {address}: no such file or folder; give a path, or {EXAMPLE}harbour_cycles to try it out"
        )
    return path


def files(path: Path) -> list[Path]:
    """The file itself, or every file below the folder in sorted order."""
    if path.is_file():
        return [path]
    return sorted(
        p
        for p in path.rglob("*")
        if p.is_file() and not any(part.startswith(".") for part in p.relative_to(path).parts)
    )


def read(path: Path, format: str | None = None) -> Iterator[Conversation | Failure]:
    """The conversations of a file or folder, and a `Failure` for everything that is none.

    Parameters
    ----------
    format
        One of `FORMATS`; None recognises it, file by file.

    Raises
    ------
    FormatError
        `format` is unknown, or `path` is a single file and no conversation could be read from it.
    """
    if format is not None and format not in FORMATS:
        raise FormatError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    single = path.is_file()
    for file in files(path):
        name = file.name if single else file.relative_to(path).as_posix()
        found = False
        for item in _read_file(file, name, format, named=single):
            if single and isinstance(item, Failure) and item.reason in _FILE_REASONS and not found:
                raise FormatError(f"{file}: {item.detail}")
            found = found or isinstance(item, Conversation)
            yield item


_FILE_REASONS = ("empty_file", "unknown_format", "unreadable_file", "other_file")


def _failure(name: str, reason: str, detail: str) -> Failure:
    return Failure(id=name, stage="read", reason=reason, detail=detail)


def _read_file(file: Path, name: str, format: str | None, *, named: bool) -> Iterator[Conversation | Failure]:
    if not named and not file.name.endswith(_ENDINGS):
        yield _failure(name, "other_file", f"skipped: the name does not end with {', '.join(_ENDINGS[:3])} (or .gz)")
        return
    try:
        text, notes = _text(file)
    except OSError as error:
        yield _failure(name, "unreadable_file", f"cannot be read: {error.strerror or error}")
        return
    for reason, detail in notes:
        yield _failure(name, reason, detail)
    if not text.strip():
        yield _failure(name, "empty_file", f"the file is empty; expected conversations in one of {', '.join(FORMATS)}")
        return
    yield from _conversations(text, name, format)


def _text(file: Path) -> tuple[str, list[tuple[str, str]]]:
    """The text of a plain or gzip file; what a truncated gzip still holds."""
    data = file.read_bytes()
    notes = []
    if data[:2] == b"\x1f\x8b":
        out = bytearray()
        while data:
            stream = zlib.decompressobj(wbits=31)
            try:
                out += stream.decompress(data) + stream.flush()
            except zlib.error as error:
                notes.append(("truncated_file", f"the gzip data is damaged ({error}); what comes before it was read"))
                break
            if not stream.eof:
                notes.append(("truncated_file", "the gzip file ends too early; what comes before that was read"))
                break
            data = stream.unused_data.lstrip(b"\0")
        data = bytes(out)
    text = data.decode("utf-8-sig", "replace")
    if "\ufffd" in text:
        broken = text.count("\ufffd")
        notes.append(("invalid_utf8", f"{broken} byte sequences are not UTF-8 and were replaced"))
    return text, notes


def _conversations(text: str, name: str, format: str | None) -> Iterator[Conversation | Failure]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if whole is not None:
        yield from _from_value(whole, name, format)
    elif "\n" in text.strip() and _is_json(text.lstrip().split("\n", 1)[0]):
        yield from _from_lines(text, name, format)
    else:
        yield from _from_torn(text, name, format)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _from_value(value: Any, name: str, format: str | None) -> Iterator[Conversation | Failure]:
    kind = recognise(value)
    if kind is None or (format is not None and not _compatible(kind, format)):
        yield _wrong(name, kind, format)
        return
    if kind == "tau2":
        items = value["simulations"]
    elif isinstance(value, dict) or _is_messages(value):
        items = [value]
    else:
        items = value
    for position, item in enumerate(items):
        yield _conversation(item, f"{name}#{position}", format or kind)


def _compatible(found: str, wanted: str) -> bool:
    """Lines with `task_id` and `messages` may be read as plain chat, and the other way round."""
    lines = {"tau2-lines", "openai-chat"}
    return found == wanted or {found, wanted} <= lines or {found, wanted} == {"tau2", "tau2-lines"}


def _wrong(name: str, kind: str | None, format: str | None) -> Failure:
    if kind is None:
        return _failure(name, "unknown_format", f"holds no conversations in a known format ({', '.join(FORMATS)})")
    return _failure(name, "unknown_format", f"looks like {kind}, not like {format}; leave --format away or name {kind}")


def _from_lines(text: str, name: str, format: str | None) -> Iterator[Conversation | Failure]:
    kind = format
    for position, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            yield _failure(f"{name}#{position}", "truncated", f"line {position + 1} is no complete JSON")
            continue
        found = recognise(item)
        if kind is None and found is not None:
            kind = found
        if found is None or not _compatible(found, kind or found):
            if kind is None or (position == 0 and format is not None):
                yield _wrong(name, found, format)
                return
            yield _failure(f"{name}#{position}", "not_a_conversation", f"line {position + 1} holds no messages")
            continue
        yield _conversation(item, f"{name}#{position}", format or kind or found)


def _from_torn(text: str, name: str, format: str | None) -> Iterator[Conversation | Failure]:
    """What can still be read of a JSON document that ends too early: its complete conversations."""
    start = text.find("[", text.find('"simulations"')) if '"simulations"' in text else text.find("[")
    items: list[Any] = []
    decoder = json.JSONDecoder()
    position = start + 1
    while 0 < position < len(text):
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        try:
            item, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        items.append(item)
    kind = ("tau2" if '"simulations"' in text[:start] else recognise(items)) if items else None
    if kind is None or (format is not None and not _compatible(kind, format)):
        if kind is None:
            yield _failure(name, "unknown_format", f"is no JSON, or too little of it; expected {', '.join(FORMATS)}")
        else:
            yield _wrong(name, kind, format)
        return
    for index, item in enumerate(items):
        yield _conversation(item, f"{name}#{index}", format or kind)
    yield _failure(
        f"{name}#{len(items)}",
        "truncated",
        f"the file ends inside conversation {len(items) + 1}; the {len(items)} before it were read",
    )


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(m, dict) and "role" in m for m in value)


def recognise(value: Any) -> str | None:
    """The format of a JSON value, or None.

    >>> recognise([{"task_id": 1, "traj": []}]), recognise({"task_id": 1, "messages": []}), recognise({"x": 1})
    ('tau-bench', 'tau2-lines', None)
    """
    if isinstance(value, dict):
        if isinstance(value.get("simulations"), list):
            return "tau2"
        if "messages" in value and (value["messages"] is None or isinstance(value["messages"], list)):
            return "tau2-lines" if "task_id" in value else "openai-chat"
        return "tau-bench" if "traj" in value else None
    if _is_messages(value):
        return "openai-chat"
    if isinstance(value, list) and value:
        kinds = [recognise(item) for item in value[:20]]
        first = next((kind for kind in kinds if kind is not None), None)
        return None if first == "tau2" else first
    return None


_CUT = {"max_steps", "max_turns", "timeout"}


def _conversation(item: Any, name: str, format: str) -> Conversation | Failure:
    messages = item if isinstance(item, list) else None
    error, cut = "", False
    if isinstance(item, dict):
        messages = item.get("traj") if "traj" in item else item.get("messages")
        info = item.get("info") if isinstance(item.get("info"), dict) else {}
        run = item.get("run_info") if isinstance(item.get("run_info"), dict) else {}
        error = str(info.get("error") or "")
        cut = (item.get("termination_reason") or run.get("termination_reason")) in _CUT
    if messages is None and not (isinstance(item, dict) and ("traj" in item or "messages" in item)):
        return _failure(name, "not_a_conversation", "holds no messages")
    if messages is not None and not isinstance(messages, list):
        return _failure(name, "not_a_conversation", f"its messages are a {type(messages).__name__}, not a list")
    return Conversation(name, messages or [], format, cut, error)
