"""`agenteval run --plan`: a kept plan against an agent, as a regression suite."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from agenteval.errors import RunFolderError
from agenteval.types import SCHEMA, Target, Test


def read_plan(file: Path) -> list[Test]:
    """The tests of a plan file; it may have been edited by hand.

    Raises
    ------
    RunFolderError
        Missing, another schema, a line that is no test, an id twice, or a target that the targets beside it do not have.
    """
    tests: list[Test] = []
    known = _targets(file.with_name("targets.jsonl"))
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(
            f"--plan {file}: cannot be read ({getattr(error, 'strerror', None) or type(error).__name__})"
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"--plan {file} line {number}"
        try:
            record = json.loads(line)
            schema = record.pop("schema", None)
        except (ValueError, AttributeError) as error:
            raise RunFolderError(f"{where}: no JSON object; every line is one test") from error
        if schema != SCHEMA:
            raise RunFolderError(
                f"{where}: has schema {schema}, this version reads {SCHEMA}; use the agenteval that wrote it"
            )
        try:
            test = Test.model_validate(record)
        except ValidationError as error:
            first = error.errors()[0]
            raise RunFolderError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        if any(test.id == other.id for other in tests):
            raise RunFolderError(f"{where}: the id {test.id} is there already; give the copy another")
        if test.target and known is not None and test.target not in known:
            raise RunFolderError(
                f"{where}: unknown target {test.target!r}; the targets stand in {file.with_name('targets.jsonl').name}"
            )
        tests.append(test)
    if not tests:
        raise RunFolderError(f"--plan {file}: holds no test")
    return tests


def _targets(file: Path) -> set[str] | None:
    if not file.is_file():
        return None
    names = set()
    for line in file.read_text("utf-8").splitlines():
        record = json.loads(line)
        record.pop("schema", None)
        names.add(Target.model_validate(record).id)
    return names
