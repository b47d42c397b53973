"""From an address to an agent under test.

=====================================  =================================================================================
``scripted:airline?wording=b&fault=ID`` a scripted domain of ours
``python:package.module:factory``       a factory without arguments that returns an object with `reset` and `invoke`
``http:FILE``                           a chat service, described in a YAML file
``openai:FILE``                         a chat model with a system prompt, described in a YAML file
``tau:retail``                          a domain of tau-bench, driven by the model of the role `subject` (extra `tau`)
=====================================  =================================================================================
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from agenteval.chat import Chat
from agenteval.errors import UsageError
from agenteval.types import Brief

KINDS = ("scripted:DOMAIN", "python:package.module:factory", "http:FILE", "openai:FILE", "tau:DOMAIN")


class Subject(NamedTuple):
    """An agent under test. What crosses to the tester is `open_chat` and `brief`, nothing else."""

    address: str
    open_chat: Callable[[], Chat]
    """Makes an independent chat."""
    brief: Brief | None
    """What the subject itself publishes about its customers; None asks for `--brief`."""
    secrets: tuple[str, ...] = ()
    model: str = ""
    """Model behind an agent that takes it from the profile, for the manifest."""
    log_of: Callable[[Any], list[dict[str, Any]]] = lambda chat: []
    """Privileged: what an agent of ours really did in the session of a chat."""


def open_subject(address: str, *, seed: int = 0, profile: str | None = None, profiles: Path | None = None) -> Subject:
    """Open the agent behind an address.

    Parameters
    ----------
    profile, profiles
        Of the run: where it names a model for the role `subject`, an agent that needs one takes it from there, else from
        the profile `openai`. None leaves that until a chat is opened, for a caller that wants no more than the brief.

    Raises
    ------
    UsageError
        Unknown kind, domain, module or file; one line that names what was expected.
    """
    kind, _, rest = address.partition(":")
    if kind == "scripted" and rest:
        return _scripted(address, rest, seed)
    if kind == "python" and rest:
        return _python(address, rest)
    if kind == "http" and rest:
        from agenteval.subjects.http import open_http

        make, secrets = open_http(Path(rest))
        return Subject(address, make, None, secrets)
    if kind == "openai" and rest:
        from agenteval.subjects.openai import open_openai

        make, secrets = open_openai(Path(rest))
        return Subject(address, make, None, secrets)
    if kind == "tau" and rest:
        return _tau(address, rest, seed, profile, profiles)
    raise UsageError(f"unknown subject {address!r}; expected one of {', '.join(KINDS)}")


def _scripted(address: str, rest: str, seed: int) -> Subject:
    from agenteval.subjects.scripted import brief, open_scripted

    domain, options = _options(address, rest, ("wording", "fault"))
    open_scripted(domain, seed=seed, **options)
    return Subject(
        address,
        lambda: open_scripted(domain, seed=seed, **options),
        Brief.model_validate(brief(domain)),
        log_of=lambda chat: chat.log,
    )


def _tau(address: str, rest: str, seed: int, profile: str | None, profiles: Path | None) -> Subject:
    from agenteval.subjects.tau import TauChat, brief, subject_model

    domain, options = _options(address, rest, ("retrieval",) if rest.startswith("banking") else ())
    model = None if profile is None else subject_model(profile, profiles, seed=seed)
    return Subject(
        address,
        lambda: TauChat(domain, model or subject_model("openai", profiles, seed=seed), **options),
        brief(domain, **options),
        () if model is None else (model.key,),
        "" if model is None else f"openai:{model.spec.model}",
        log_of=lambda chat: chat.log,
    )


def _options(address: str, rest: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The domain of an address and what follows its question mark."""
    domain, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"subject {address!r}: unknown option {unknown[0]!r}; expected {' or '.join(known) or 'none'}")
    return domain, options


def _python(address: str, rest: str) -> Subject:
    module_name, _, name = rest.partition(":")
    if not name:
        raise UsageError(f"subject {address!r}: expected python:package.module:factory")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        factory: Any = getattr(importlib.import_module(module_name), name)
    except ImportError as error:
        raise UsageError(
            f"subject {address!r}: cannot import {module_name} ({error}); is it installed, or in this folder?"
        ) from error
    except AttributeError as error:
        raise UsageError(f"subject {address!r}: {module_name} has no {name}") from error
    if not callable(factory):
        raise UsageError(f"subject {address!r}: {name} is no factory; expected a callable without arguments")

    def make() -> Chat:
        chat = factory()
        if not callable(getattr(chat, "reset", None)) or not callable(getattr(chat, "invoke", None)):
            raise UsageError(f"subject {address!r}: {name}() gave a {type(chat).__name__} without reset and invoke")
        return chat

    make()
    return Subject(address, make, None)
