"""What an auditor may read about a subject, by its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agenteval.audit.exact import Dossier
from agenteval.documents import read_yaml
from agenteval.errors import UsageError
from agenteval.subjects.scripted import folder, guards


def scripted_dossier(address: str) -> Dossier:
    """The dossier of one of our scripted subjects.

    Raises
    ------
    UsageError
        The subject is none of ours: only those keep a log that the exact auditor can read.
    """
    kind, _, rest = address.partition(":")
    if kind != "scripted":
        raise UsageError(f"{address} keeps no privileged log; the exact auditor reads those of scripted: subjects only")
    domain = rest.partition("?")[0]
    table = guards(domain)
    file = folder(domain) / "inventory.yaml"
    return Dossier(table, checked_inventory(read_yaml(file, "inventory"), file))


def checked_inventory(rows: dict[str, Any], file: Path) -> dict[str, dict[str, Any]]:
    """Rows of an inventory file, `id: [behaviour, section, proof]`, by id.

    Raises
    ------
    UsageError
        A row of another shape; names it.
    """
    found = {}
    for item, row in rows.items():
        if not (
            isinstance(item, str) and isinstance(row, list) and len(row) == 3 and isinstance(row[2], dict) and row[2]
        ):
            raise UsageError(f"{file}: {str(item)[:60]!r} is no `id: [behaviour, section, {{key: value}}]`")
        found[item] = dict(zip(("behaviour", "section", "proof"), row, strict=True))
    return found
