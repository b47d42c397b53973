"""Run folders: the only module that opens them.

A folder holds `manifest.json`, `visible/` (what a tester may see) and `privileged/` (what it may not). Records are JSON
lines with sorted keys, UTF-8 and a schema number, for example in `visible/labels.jsonl`::

    {"cut": false, "id": "00000-0a1b2c3d", "schema": 1, "turns": [{"action": "request_cancel", ...}]}

A line is appended with one write, so that a killed process leaves at most one torn last line, which the next opening
cuts off. When a stage closes its file is sorted by unit id and replaced in one step: equal inputs give equal bytes,
whatever was interrupted. Times live in the manifest and in `calls.jsonl`, outside comparisons.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agenteval.errors import RunFolderError, StoreError
from agenteval.types import SCHEMA

R = TypeVar("R", bound=BaseModel)

_KEY = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bhf_[A-Za-z0-9]{20,}|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{16,}=*"
)
REDACTED = "[redacted key]"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace key-like strings, and the given secrets to the letter.

    >>> redact("use sk-abcdefghijklmnop1234 please")
    'use [redacted key] please'
    """
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, REDACTED)
    return _KEY.sub(REDACTED, text)


def clean(text: str) -> str:
    """Text that every UTF-8 writer accepts: lone surrogates and NUL become the replacement character.

    >>> clean("a\\ud800b")
    'a\\ufffdb'
    """
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dumps(value: Any) -> str:
    """One line of canonical JSON: sorted keys, no spaces to spare, real characters."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def content_id(*parts: Any, length: int = 8) -> str:
    """Short hash of the content: the same parts give the same id on every machine.

    >>> content_id("a", 1) == content_id("a", 1) != content_id("a", 2)
    True
    """
    return hashlib.sha256(dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def derive_seed(*parts: Any) -> int:
    """Seed of a unit from (run seed, stage, unit): sha256, 31 bits, no global state."""
    return int.from_bytes(hashlib.sha256(dumps(parts).encode()).digest()[:4], "big") >> 1


def disk_error(error: OSError, path: Path) -> StoreError:
    """The one line that a full or read-only disk deserves."""
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else (error.strerror or str(error))
    return StoreError(f"cannot write {path}: {why}. Everything finished so far is kept; the same command continues")


_UNNAMED = re.compile(r"\.(?:manifest\.json|report\.html)\.\d+")
"""Files that were being written: a killed process may leave one without its name."""


AUDITED = ("privileged/audit", "privileged/audit-model", "privileged/audit-pairs", "privileged/audit-failures")
"""What auditors write about one plan and its runs."""


def _empty(folder: Path) -> bool:
    return all(_UNNAMED.fullmatch(item.name) for item in folder.iterdir())


def write_text(path: Path, text: str | bytes) -> None:
    """Replace a file in one step, so that a reader never sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(error, path) from error


def _unit(record: dict[str, Any]) -> str:
    return record["id"]


def _cut_torn_line(path: Path) -> None:
    """Drop what a killed process left of a line."""
    with path.open("r+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        keep = end
        while keep:
            start = max(0, keep - 65536)
            handle.seek(start)
            newline = handle.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep != end:
            handle.truncate(keep)


def discard(path: Path) -> None:
    """Remove a run folder's contents (`--fresh`); a folder that holds no run is refused, never emptied."""
    if not path.exists() or (path.is_dir() and _empty(path)):
        return
    if not (path / "manifest.json").is_file():
        raise RunFolderError(f"--fresh empties run folders only, and {path} has no manifest.json; use -o NEW")
    (path / "manifest.json").unlink()
    for part in ("visible", "privileged", "exports"):
        shutil.rmtree(path / part, ignore_errors=True)
    (path / "report.html").unlink(missing_ok=True)


class Run:
    """A run folder.

    Parameters
    ----------
    path
        The folder; made when absent.
    config
        What the results depend on (command, inputs and their hashes, profile, models, seed). A folder that was begun
        with another config is refused, because its finished units would be mixed with units of another kind.
    secrets
        Values that may never be written, whatever they look like.

    Raises
    ------
    RunFolderError
        The folder holds something else, another schema version or another config.
    """

    def __init__(self, path: Path | str, config: dict[str, Any] | None = None, *, secrets: Iterable[str] = ()):
        self.path = Path(path)
        self.secrets = tuple(secrets)
        self._lock = threading.Lock()
        self._open(config)

    def _open(self, config: dict[str, Any] | None) -> None:
        manifest = self.path / "manifest.json"
        if not manifest.exists():
            if config is None:
                raise RunFolderError(
                    f"{self.path} is no run folder: it has no manifest.json. Name one that `agenteval mine` wrote"
                )
            if self.path.is_file():
                raise RunFolderError(f"{self.path} is a file; -o takes a folder that is new or holds a run")
            if self.path.is_dir() and not _empty(self.path):
                raise RunFolderError(
                    f"{self.path} is not empty and holds no run; -o takes a folder that is new or holds a run"
                )
            self._manifest = {"schema": SCHEMA, "config": config, "stages": {}}
            self.save_manifest()
            return
        try:
            self._manifest = json.loads(manifest.read_text("utf-8"))
            schema = self._manifest["schema"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise RunFolderError(
                f"{manifest} cannot be read as a manifest ({type(error).__name__}); name another folder"
            ) from error
        if schema != SCHEMA:
            raise RunFolderError(
                f"{self.path} has schema {schema}, this version reads schema {SCHEMA}; use the agenteval that wrote it, or -o NEW"
            )
        if config is not None and json.loads(dumps(config)) != self._manifest.get("config"):
            changed = sorted(
                k
                for k in {*config, *self._manifest["config"]}
                if json.loads(dumps(config.get(k))) != self._manifest["config"].get(k)
            )
            raise RunFolderError(
                f"{self.path} was begun with another {', '.join(changed)}; use -o NEW, or --fresh to begin again in it"
            )
        for path in self.path.glob("*/*.jsonl"):
            _cut_torn_line(path)

    # ---- manifest

    @property
    def manifest(self) -> dict[str, Any]:
        return self._manifest

    def save_manifest(self, **updates: Any) -> None:
        """Write the manifest with top-level keys replaced."""
        with self._lock:
            self._manifest.update(updates)
            text = json.dumps(self._manifest, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
            write_text(self.path / "manifest.json", redact(text, self.secrets))

    def close_stage(self, stage: str, names: Iterable[str], **facts: Any) -> None:
        """Sort the stage's files by unit id and enter the stage in the manifest: it will not run again."""
        for name in names:
            self._sort(name)
        stages = {
            **self._manifest["stages"],
            stage: {"closed": datetime.now(UTC).isoformat(timespec="seconds"), **facts},
        }
        self.save_manifest(stages=stages)

    def closed(self, stage: str) -> bool:
        return stage in self._manifest["stages"]

    def copy(self, out: Path, *, config: dict[str, Any], stages: Iterable[str]) -> Run:
        """A new run folder that has come as far as the given stages: their records, their pictures, another config.

        Raises
        ------
        RunFolderError
            `out` is in use.
        """
        copied = Run(out, config, secrets=self.secrets)
        for part in ("visible", "privileged", "exports"):
            if (self.path / part).is_dir():
                shutil.copytree(self.path / part, out / part, dirs_exist_ok=True)
        for name in ("plan", "runs", "verdicts", *AUDITED):
            copied.file(name).unlink(missing_ok=True)
        kept = {stage: self._manifest["stages"][stage] for stage in stages}
        manifest = {key: value for key, value in self._manifest.items() if key not in ("audit", "auditor")}
        copied.save_manifest(**{**manifest, "config": config, "stages": kept})
        return copied

    # ---- records

    def file(self, name: str) -> Path:
        """Path of `traces`, `labels`, ... (visible) or `privileged/tools`, ... (privileged)."""
        folder, _, stem = name.rpartition("/")
        return self.path / (folder or "visible") / f"{stem}.jsonl"

    def append(self, name: str, records: Iterable[BaseModel]) -> None:
        """Add records at the end, each line whole, flushed to the system."""
        lines = [self._line(record.model_dump(mode="json")) for record in records]
        if lines:
            self._write("".join(lines), self.file(name))

    def replace(self, name: str, records: Iterable[BaseModel], *, ordered: bool = False) -> None:
        """Write a whole file in one step, sorted by unit id, or in the order given where that carries meaning."""
        values = [r.model_dump(mode="json") for r in records]
        write_text(
            self.file(name),
            "".join(self._line(record) for record in (values if ordered else sorted(values, key=_unit))),
        )

    def replace_raw(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        """Write a whole file of plain dictionaries in one step, in the order given."""
        write_text(self.file(name), "".join(self._line(record) for record in records))

    def append_raw(self, name: str, record: dict[str, Any]) -> None:
        self._write(self._line(record), self.file(name))

    def _line(self, record: dict[str, Any]) -> str:
        return redact(clean(dumps({**record, "schema": SCHEMA})), self.secrets) + "\n"

    def _write(self, text: str, path: Path) -> None:
        data = text.encode("utf-8")
        with self._lock:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
                try:
                    size = os.fstat(handle).st_size
                    try:
                        while data:
                            data = data[os.write(handle, data) :]
                    except OSError:
                        os.ftruncate(handle, size)
                        raise
                finally:
                    os.close(handle)
            except OSError as error:
                raise disk_error(error, path) from error

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Records as dictionaries, one at a time."""
        path = self.file(name)
        if not path.exists():
            return
        with path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    record = json.loads(line)
                    schema = record.pop("schema")
                except (ValueError, KeyError, AttributeError, TypeError) as error:
                    raise RunFolderError(
                        f"{path} line {number} is no record ({type(error).__name__}); restore it or use -o NEW"
                    ) from error
                if schema != SCHEMA:
                    raise RunFolderError(
                        f"{path} line {number} has schema {schema}, this version reads {SCHEMA}; use -o NEW"
                    )
                yield record

    def read(self, name: str, kind: type[R]) -> list[R]:
        """All records of a file, validated.

        Raises
        ------
        RunFolderError
            A line does not fit; names the file and the field.
        """
        out = []
        for number, record in enumerate(self.lines(name), 1):
            try:
                out.append(kind.model_validate(record))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"])) or "record"
                raise RunFolderError(f"{self.file(name)} line {number}: {where}: {first['msg']}") from error
        return out

    def done(self, name: str, key: Callable[[dict[str, Any]], str] = lambda r: r["id"]) -> set[str]:
        """Ids of the units that already have a record."""
        return {key(record) for record in self.lines(name)}

    def _sort(self, name: str) -> None:
        path = self.file(name)
        if path.exists():
            records = sorted(self.lines(name), key=_unit)
            write_text(path, "".join(self._line(record) for record in records))

    # ---- other files

    def write_json(self, name: str, value: BaseModel) -> None:
        """Write `visible/<name>.json`, indented, with a schema number."""
        data = {**value.model_dump(mode="json"), "schema": SCHEMA}
        text = json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
        write_text(self.path / "visible" / f"{name}.json", redact(clean(text), self.secrets))

    def read_json(self, name: str, kind: type[R]) -> R:
        path = self.path / "visible" / f"{name}.json"
        try:
            data = json.loads(path.read_text("utf-8"))
            if data.pop("schema") != SCHEMA:
                raise RunFolderError(f"{path} has another schema than {SCHEMA}; use -o NEW")
            return kind.model_validate(data)
        except FileNotFoundError as error:
            raise RunFolderError(f"{path} is missing; run `agenteval mine` first") from error
        except (ValueError, KeyError) as error:
            raise RunFolderError(f"{path} cannot be read ({type(error).__name__}); use -o NEW") from error

    def write_file(self, name: str, text: str | bytes) -> Path:
        """Write any other product (a picture, a report) below the folder."""
        path = self.path / name
        write_text(path, redact(clean(text), self.secrets) if isinstance(text, str) else text)
        return path


# ---- folders of results: no run, but with a birth certificate too


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write the manifest of a folder that holds products of several runs."""
    text = json.dumps({**facts, "schema": SCHEMA}, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
    write_text(folder / "manifest.json", redact(text))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of such a folder; None where there is none that can be read."""
    try:
        facts = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("schema") == SCHEMA else None
