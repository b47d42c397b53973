"""Notebooks: executed by papermill, and frozen so that the result shows everywhere.

papermill only warns of a parameter that a notebook does not have; here it is an error before anything starts.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agenteval.errors import AgentEvalError, FormatError, UsageError
from agenteval.store import write_text

WIDGET = "application/vnd.jupyter.widget-view+json"


def parameters(file: Path) -> list[str]:
    """Names that the cell tagged `parameters` of a notebook assigns, in order.

    Raises
    ------
    FormatError
        The file is no notebook, or has no such cell.
    """
    try:
        cells = json.loads(file.read_text("utf-8"))["cells"]
        tagged = [c for c in cells if "parameters" in c["metadata"].get("tags", ())]
        body = ast.parse("".join(tagged[0]["source"])).body
    except (OSError, ValueError, KeyError, TypeError, IndexError, SyntaxError) as error:
        raise FormatError(
            f"{file}: expected a notebook with one cell tagged `parameters` ({type(error).__name__})"
        ) from error
    names = []
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names


def check(file: Path, given: Mapping[str, Any]) -> None:
    """Refuse parameters that a notebook does not have.

    Raises
    ------
    UsageError
        Names the parameter and those that there are.
    """
    known = parameters(file)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UsageError(f"{file.name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")


def execute(file: Path, out: Path, given: Mapping[str, Any], *, cwd: Path) -> None:
    """Execute a notebook with parameters and write it, frozen.

    Parameters
    ----------
    cwd
        Folder in which its kernel works; relative paths among the parameters are relative to it.

    Raises
    ------
    UsageError
        A parameter that it does not have.
    AgentEvalError
        A cell failed; `out` holds the notebook as far as it came.
    """
    check(file, given)
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    out.parent.mkdir(parents=True, exist_ok=True)
    working = out.with_name(f".{out.name}.{os.getpid()}.ipynb")
    quiet = Config()
    quiet.KernelManager.transport_encryption = "auto"  # ipykernel warns of a plain connection
    try:
        papermill.execute_notebook(
            str(file), str(working), dict(given), kernel_name="python3", progress_bar=False, cwd=str(cwd), config=quiet
        )
    except PapermillExecutionError as error:
        os.replace(working, out)
        raise AgentEvalError(
            f"{file.stem} failed in cell {error.cell_index}: {error.ename}: {error.evalue}; see {out}"
        ) from error
    finally:
        made = working.exists()
        if made:
            notebook = nbformat.read(working, as_version=4)
            working.unlink()
    if made:
        write_text(out, nbformat.writes(frozen(notebook)) + "\n")


def frozen(notebook: Any) -> Any:
    """A notebook that reads the same anywhere: pictures in place of widgets, neither times nor paths of the execution."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        kept = []
        for output in cell.outputs:
            data = output.get("data")
            if data and WIDGET in data:
                del data[WIDGET]
                if set(data) <= {"text/plain"}:  # a progress bar: nothing worth keeping
                    continue
            kept.append(output)
        cell.outputs = kept
        if "injected-parameters" in cell.metadata.get("tags", ()):
            cell.id = "injected-parameters"  # papermill draws one at random
    return notebook
