"""What an auditor may read about a subject, by its address, or from a file that describes it.

A dossier file; paths are relative to it::

    schema: 1
    policy: policy.md
    sources: [tools.py]
    inventory: inventory.yaml      # rows: `id: [behaviour, section]`
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from agenteval.audit import exact, model
from agenteval.documents import fitted, read_yaml
from agenteval.errors import UsageError
from agenteval.subjects.scripted import folder, guards
from agenteval.types import Record

SCHEMA = 1
"""Version of the dossier file."""
EXPECTED = "a dossier has `schema: 1`, `policy: FILE`, `sources: [FILES]` and `inventory: FILE`"


class DossierFile(Record):
    """Where the parts of a dossier are."""

    policy: str
    sources: tuple[str, ...]
    inventory: str


def scripted_dossier(address: str) -> exact.Dossier:
    """The exact auditor's dossier of one of our scripted subjects.

    Raises
    ------
    UsageError
        The subject is none of ours: only those keep a log that the exact auditor can read.
    """
    kind, domain = _parts(address)
    if kind != "scripted":
        raise UsageError(
            f"{address} keeps no privileged log; the exact auditor reads those of scripted: subjects only "
            "(--auditor model with --dossier FILE takes any)"
        )
    table = guards(domain)
    file = folder(domain) / "inventory.yaml"
    return exact.Dossier(table, checked_inventory(read_yaml(file, "inventory"), file))


def model_dossier(address: str, file: Path | None = None) -> model.Dossier:
    """The model auditor's dossier: of a file, or of a subject that comes with one.

    Raises
    ------
    UsageError
        There is none, or a part of it cannot be read; one line.
    """
    if file is not None:
        return dossier_of(file)
    kind, domain = _parts(address)
    if kind == "scripted":
        home = folder(domain)
        rows = home / "inventory.yaml"
        return model.Dossier(
            (home / "policy.md").read_text("utf-8"),
            {"tools.py": (home / "tools.py").read_text("utf-8")},
            checked_inventory(read_yaml(rows, "inventory"), rows, proof=False),
        )
    if kind == "tau":
        from agenteval.audit.tau import documents

        found = documents(domain)
        with resources.as_file(resources.files("agenteval.audit") / "inventories" / f"tau-{domain}.yaml") as rows:
            inventory = checked_inventory(read_yaml(rows, "inventory"), rows, proof=False)
        return model.Dossier(found["policy"], {k: v for k, v in found.items() if k != "policy"}, inventory)
    raise UsageError(f"{address} comes with no dossier, so the model auditor needs --dossier FILE; {EXPECTED}")


def dossier_of(file: Path) -> model.Dossier:
    """The dossier that a file describes.

    Raises
    ------
    UsageError
        The file or a part of it is missing, of another schema, or has unknown keys.
    """
    data = read_yaml(file, "dossier")
    if isinstance(data, dict):
        data = dict(data)
        schema = data.pop("schema", None)
        if schema != SCHEMA or isinstance(schema, bool):
            said = "no schema" if schema is None else f"schema {str(schema)[:20]!r}"
            raise UsageError(f"dossier {file}: {said}; this version reads schema {SCHEMA}, and {EXPECTED}")
    parts = fitted(DossierFile, data, f"dossier {file}", EXPECTED)

    def text(what: str, name: str) -> str:
        try:
            return (file.parent / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            said = getattr(problem, "strerror", None) or type(problem).__name__
            raise UsageError(
                f"dossier {file}: {what} {name} cannot be read ({said}); paths are relative to the dossier"
            ) from problem

    policy = text("policy", parts.policy)
    if not policy.strip():
        raise UsageError(f"dossier {file}: policy {parts.policy} is empty; an auditor cannot judge without one")
    sources = {name: text("source", name) for name in parts.sources}
    text("inventory", parts.inventory)
    rows = file.parent / parts.inventory
    return model.Dossier(policy, sources, checked_inventory(read_yaml(rows, "inventory"), rows, proof=False))


def checked_inventory(rows: Any, file: Path, *, proof: bool = True) -> dict[str, dict[str, Any]]:
    """Rows of an inventory file by id.

    Parameters
    ----------
    rows
        `id: [behaviour, section, proof]`.
    proof
        Whether each row must have its proof; a model auditor needs none and is shown none.

    Raises
    ------
    UsageError
        A row of another shape; names it.
    """
    form = "`id: [behaviour, section, {key: value}]`" if proof else "`id: [behaviour, section]`"
    if not isinstance(rows, dict) or not rows:
        raise UsageError(f"{file}: an inventory has at least one row of the form {form}")
    found = {}
    for item, row in rows.items():
        parts = row if isinstance(row, list) else []
        whole = len(parts) == 3 and isinstance(parts[2], dict) and bool(parts[2])
        if not (isinstance(item, str) and item.strip() and (whole or (not proof and len(parts) == 2))):
            raise UsageError(f"{file}: {str(item)[:60]!r} is no {form}")
        if not isinstance(parts[0], str) or not parts[0].strip():
            raise UsageError(f"{file}: {item[:60]!r} has no behaviour; a row is {form}")
        found[item] = {"behaviour": parts[0], "section": str(parts[1])}
        if proof:
            found[item]["proof"] = parts[2]
    return found


def _parts(address: str) -> tuple[str, str]:
    kind, _, rest = address.partition(":")
    return kind, rest.partition("?")[0]
