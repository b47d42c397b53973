"""Settings from a file and from the command line, and the files that `init` writes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agenteval.briefs import read_brief
from agenteval.chain import Settings
from agenteval.documents import read_yaml
from agenteval.errors import UsageError
from agenteval.subjects.address import open_subject

FILES = ("brief.yaml", "agenteval.yaml")


def init(folder: Path) -> list[Path]:
    """Write a commented brief and config; files that are there stay as they are.

    Returns
    -------
    list of Path
        The files that were written.
    """
    written = []
    templates = resources.files("agenteval.commands") / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        path = folder / name
        if not path.exists():
            path.write_text((templates / name).read_text("utf-8"), "utf-8")
            written.append(path)
    return written


def settings(config: Path | None, options: dict[str, Any]) -> Settings:
    """Settings from a config file, overridden by the options that were given.

    Parameters
    ----------
    options
        Fields of `Settings`, with `brief` as a path; None means not given.

    Raises
    ------
    UsageError
        An unknown key, a wrong value, no subject or no brief.
    """
    values: dict[str, Any] = {}
    if config is not None:
        values = _read(config)
        if isinstance(values.get("brief"), str):
            values["brief"] = config.parent / values["brief"]
    values |= {key: value for key, value in options.items() if value is not None}
    if not values.get("subject"):
        raise UsageError("no subject: give --subject ADDRESS, or --config FILE with `subject:`")
    brief = values.get("brief")
    if brief is None:
        published = open_subject(str(values["subject"])).brief
        if published is None:
            raise UsageError("no brief: give --brief FILE (agenteval init writes one to fill in)")
        values["brief"] = published
    else:
        values["brief"] = read_brief(Path(brief))
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{where}: {first['msg']}, got {first['input']!r}; known: {', '.join(Settings.model_fields)}"
        ) from error


def _read(config: Path) -> dict[str, Any]:
    values = read_yaml(config, "--config")
    if not isinstance(values, dict):
        raise UsageError(f"--config {config}: expected keys with values, found a {type(values).__name__}")
    return values
