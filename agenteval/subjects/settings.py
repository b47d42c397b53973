"""YAML files that describe an agent: read safely, checked, with environment variables filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from agenteval.documents import fitted, read_yaml
from agenteval.errors import UsageError
from agenteval.profiles import environment

R = TypeVar("R", bound=BaseModel)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def read_settings(file: Path, kind: type[R]) -> R:
    """The settings of a file.

    Raises
    ------
    UsageError
        The file is missing, no YAML, or does not fit; names the field.
    """
    known = f"known fields: {', '.join(kind.model_fields)}"
    return fitted(kind, read_yaml(file, "subject file"), f"subject file {file}", known)


def with_variables(values: dict[str, str], file: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Fill `${NAME}` from the environment; also returns what was filled in, which may never be written."""
    known = environment()
    used: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise UsageError(
                f"subject file {file}: needs the environment variable {match[1]}; set it (or put it into .env)"
            )
        used.append(known[match[1]])
        return known[match[1]]

    return {name: _VARIABLE.sub(fill, value) for name, value in values.items()}, tuple(used)


def dig(value: Any, path: str) -> Any:
    """The value behind a dotted path; numbers index lists.

    Raises
    ------
    LookupError
        Nothing is there.

    Examples
    --------
    >>> dig({"choices": [{"text": "hi"}]}, "choices.0.text")
    'hi'
    """
    for part in path.split("."):
        if isinstance(value, list) and part.lstrip("-").isdigit():
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value[part]
        else:
            raise LookupError(part)
    return value
