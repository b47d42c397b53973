"""YAML files that people write: read safely; what is wrong with one is said in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agenteval.errors import UsageError

R = TypeVar("R", bound=BaseModel)


def read_yaml(file: Path, what: str, *, loader: Any = None, error: type[UsageError] = UsageError) -> Any:
    """What a YAML file holds.

    Parameters
    ----------
    what
        What the file is to the user, such as ``brief``; opens the message.
    loader
        A safe loader with rules of its own.

    Raises
    ------
    UsageError
        The file cannot be read, or is no YAML.
    """
    import yaml

    try:
        return yaml.load(file.read_text("utf-8"), loader or yaml.SafeLoader)  # noqa: S506 - safe loaders only
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or type(problem).__name__
        raise error(f"{what} {file}: cannot be read ({said})") from problem
    except yaml.YAMLError as problem:
        raise error(f"{what} {file}: no valid YAML: {str(problem).splitlines()[0]}") from problem


def fitted(kind: type[R], data: Any, where: str, expected: str, error: type[UsageError] = UsageError) -> R:
    """Data as a record of a kind.

    Raises
    ------
    UsageError
        It does not fit; names the field, the problem, and what was expected.
    """
    if not isinstance(data, dict):
        raise error(f"{where}: found {'nothing' if data is None else f'a {type(data).__name__}'}; {expected}")
    try:
        return kind.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise error(f"{where}: {f'{field}: ' if field else ''}{first['msg']}; {expected}") from problem
