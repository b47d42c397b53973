"""Briefs: what a tester may know in advance, as a YAML file.

::

    domain: library desk
    seeds:
      - {name: Ann Lee, member_number: RL-20417, birth_date: 1988-03-14}
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from agenteval.documents import fitted, read_yaml
from agenteval.errors import UsageError
from agenteval.types import Brief


def read_brief(file: Path) -> Brief:
    """The brief of a YAML file: `domain:` text and `seeds:`, a list of flat mappings.

    Raises
    ------
    UsageError
        No such file, no YAML, a nested or repeated value; names it.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that is given twice, which YAML would let the last one win."""

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
        keys = [loader.construct_object(key) for key, _ in node.value]
        twice = [key for key, n in Counter(map(str, keys)).items() if n > 1]
        if twice:
            raise UsageError(
                f"brief {file}: {twice[0]!r} is given twice in one entry (line {node.start_mark.line + 1}); keep one"
            )
        return {
            key: loader.construct_object(value, deep=True) for key, (_, value) in zip(keys, node.value, strict=True)
        }

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    for tag in ("timestamp", "int", "float", "bool"):
        # A date, a zip code or a yes is what the customer types: text.
        Loader.add_constructor(f"tag:yaml.org,2002:{tag}", lambda loader, node: loader.construct_scalar(node))
    data = read_yaml(file, "brief", loader=Loader)
    for number, seed in enumerate((data or {}).get("seeds") or [] if isinstance(data, dict) else [], 1):
        for key, value in seed.items() if isinstance(seed, dict) else []:
            if value is None or (isinstance(value, str) and not value.strip()):
                raise UsageError(f"brief {file}: {key!r} of seed {number} has no value; give one or take the line out")
    return fitted(Brief, data, f"brief {file}", "expected `domain:` and `seeds:` with flat mappings")
