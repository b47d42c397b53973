"""Profiles: which model plays which role. Code never names a model; configuration does.

A profile file::

    mine:
      tester: {provider: openai, model: my-model, base_url: "http://127.0.0.1:8000/v1", key_env: MY_KEY}
      judge: {provider: openai, model: other-model, base_url: "http://127.0.0.1:8000/v1", key_env: MY_KEY}
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from agenteval.documents import read_yaml
from agenteval.errors import ProfileError
from agenteval.llm.calls import CallStore, Replay
from agenteval.llm.limiter import Limiter
from agenteval.llm.model import Model
from agenteval.llm.wrappers import Budget, Budgeted, Cached, Ledger, Metered, Price, Recorded
from agenteval.types import Record

Role = Literal["tester", "judge", "auditor", "subject"]


class PriceTable(Record):
    """Money per million tokens. There are no built-in prices: an unknown price is unknown, never zero."""

    input: float
    output: float


class ModelSpec(Record):
    """One model behind a role."""

    provider: Literal["rules", "openai", "replay"]
    model: str | None = None
    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key; the key itself stands in no file of ours."""
    max_input_tokens: int | None = Field(None, gt=0)
    """Prompts above this (estimated) are split."""
    timeout: float = Field(120.0, gt=0)
    retries: int = Field(4, ge=0)
    price: PriceTable | None = None


class Profile(Record):
    name: str
    tester: ModelSpec
    judge: ModelSpec | None = None
    auditor: ModelSpec | None = None
    subject: ModelSpec | None = None


def dotenv(path: Path = Path(".env")) -> dict[str, str]:
    """The assignments of a `.env` file in the working folder; nothing is executed or expanded."""
    values = {}
    if path.is_file():
        for line in path.read_text("utf-8", errors="replace").splitlines():
            match = re.fullmatch(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*", line)
            if match:
                values[match[1]] = match[2].strip("'\"")
    return values


def environment() -> dict[str, str]:
    """Environment variables over those of `.env`; empty ones count as absent."""
    return {**dotenv(), **{k: v for k, v in os.environ.items() if v}}


_VARIABLE = re.compile(r"\$\{(\w+)(?::-((?:[^${}]|\$\{[^{}]*\})*))?\}")


def _filled(value: Any, variables: Mapping[str, str], where: str) -> Any:
    """Replace `${NAME:-default}` in every string; an empty result is None."""
    if isinstance(value, dict):
        return {k: _filled(v, variables, f"{where}.{k}") for k, v in value.items()}
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if variables.get(name):
            return variables[name]
        if default is None:
            raise ProfileError(f"profile {where} needs the environment variable {name}; set it (or put it into .env)")
        return _VARIABLE.sub(fill, default)

    return _VARIABLE.sub(fill, value) or None


def load(
    name: str, file: Path | None = None, *, roles: tuple[Role, ...] = ("tester",), optional: tuple[Role, ...] = ()
) -> Profile:
    """The profile of a name, with the environment filled in for the roles that are needed and the optional ones it names.

    Raises
    ------
    ProfileError
        Unknown profile or key, a missing variable, or a role that the profile does not name.
    """
    known: dict[str, Any] = {}
    with resources.as_file(resources.files("agenteval") / "profiles.yaml") as ours:
        for path in (ours, file):
            if path is not None:
                content = read_yaml(path, "--profiles", error=ProfileError) or {}
                if not isinstance(content, dict):
                    raise ProfileError(
                        f"--profiles {path}: expected profiles by name, found a {type(content).__name__}"
                    )
                known |= content
    if name not in known:
        raise ProfileError(f"unknown profile {name!r}; known: {', '.join(sorted(known))} (--profiles FILE adds others)")
    raw = known[name]
    if not isinstance(raw, dict):
        raise ProfileError(f"profile {name}: expected roles, found {raw!r}")
    missing = [role for role in roles if role not in raw]
    if missing:
        raise ProfileError(f"profile {name} names no model for the role {missing[0]}; add `{missing[0]}:` to it, or name another profile")
    variables = environment()
    filled = {
        k: _filled(v, variables, f"{name}.{k}")
        for k, v in raw.items()
        if k in (*roles, *optional) or k not in Profile.model_fields
    }
    filled.setdefault("tester", {"provider": "rules"})
    try:
        return Profile(name=name, **filled)
    except (ValidationError, TypeError) as error:
        if isinstance(error, TypeError):
            raise ProfileError(f"profile {name}: {error}") from error
        first = error.errors()[0]
        raise ProfileError(f"profile {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def build(
    spec: ModelSpec,
    *,
    store: Callable[[], CallStore],
    ledger: Ledger,
    budget: Budget,
    write: Callable[[dict[str, Any]], None],
    limiters: dict[str, Limiter],
    concurrency: int = 8,
    negotiated: dict[str, Any] | None = None,
) -> tuple[Model, Model]:
    """The model of a role, wrapped.

    Parameters
    ----------
    store
        Opens the call store; called only where there is something to cache or to replay.
    limiters
        One per endpoint, shared by the roles of a run.

    Returns
    -------
    tuple
        The wrapped model, and the bare one (which knows what was negotiated).
    """
    if spec.provider == "rules":
        from agenteval.tester.rules.model import Rules

        bare: Model = Rules()
        return Recorded(Metered(bare, ledger), write), bare
    if spec.provider == "replay":
        bare = Replay(store(), spec.model)
        return Recorded(bare, write), bare
    if not spec.model:
        raise ProfileError("a profile with provider openai needs `model:`")
    key = environment().get(spec.key_env)
    if not key:
        raise ProfileError(
            f"no key: set the environment variable {spec.key_env} (or put it into .env); "
            "a local server that wants none takes any word, and --profile offline needs nothing"
        )
    if budget.cost is not None and spec.price is None:
        raise ProfileError(
            f"--max-cost needs a price table for {spec.model}: add `price: {{input: .., output: ..}}` to the profile"
        )
    from agenteval.llm.openai import OpenAIModel

    limiter = limiters.setdefault(spec.base_url or "", Limiter(concurrency))
    bare = OpenAIModel(
        spec.model, base_url=spec.base_url, key=key, timeout=spec.timeout, retries=spec.retries, limiter=limiter,
        negotiated=negotiated,
    )  # fmt: skip
    price = None if spec.price is None else Price(spec.price.input, spec.price.output)
    return Recorded(Cached(Budgeted(Metered(bare, ledger, price), ledger, budget), store()), write), bare


def secrets(profile: Profile) -> tuple[str, ...]:
    """Values that may never be written."""
    specs = (profile.tester, profile.judge, profile.auditor, profile.subject)
    variables = environment()
    return tuple({variables[s.key_env] for s in specs if s is not None and s.key_env in variables})
