"""What can be wrong with an installation, found before it hurts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from agenteval.profiles import environment

OTHER = "agent-evaluation"
"""Another distribution that installs a package and a command named agenteval."""


class Check(NamedTuple):
    name: str
    ok: bool | None
    """None for a remark: nothing is broken."""
    detail: str


def examine() -> list[Check]:
    """All checks, in the order in which they matter."""
    return [_python(), _clash(), _command(), _packages(), _drawing(), _kernel(), _widgets(), _key(), _disk()]


def _python() -> Check:
    version = sys.version.split()[0]
    return Check("python", sys.version_info >= (3, 11), f"{version} (3.11 or newer is needed)")


def _clash() -> Check:
    """Two distributions in one environment overwrite each other's files, silently."""
    try:
        version = metadata.version(OTHER)
    except metadata.PackageNotFoundError:
        return Check("clash", True, f"the distribution {OTHER}, which has the same package name, is not installed")
    way = f"pip uninstall {OTHER} agenteval && pip install agenteval, or a virtual environment for each"
    return Check("clash", False, f"{OTHER} {version} installs a package and a command named agenteval too: {way}")


def _command() -> Check:
    found = shutil.which("agenteval")
    if found is None:
        return Check("command", None, "agenteval is not on PATH; `python -m agenteval` works")
    here = Path(sys.executable).parent
    if Path(found).parent.resolve() != here.resolve():
        return Check("command", None, "the first agenteval on PATH belongs to another environment; activate this one")
    return Check("command", True, "the agenteval on PATH is this one")


def _packages() -> Check:
    missing = []
    for requirement in metadata.requires("agenteval") or []:
        if "extra ==" in requirement:
            continue
        name, floor = re.match(r"([A-Za-z0-9_.-]+)(?:>=([\d.]+))?", requirement).groups()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(f"{name} is missing")
            continue
        if floor and _numbers(version) < _numbers(floor):
            missing.append(f"{name} {version} is older than {floor}")
    if missing:
        return Check("packages", False, "; ".join(missing) + ". Install again: pip install --upgrade agenteval")
    return Check("packages", True, "all dependencies are there")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def _drawing() -> Check:
    from agenteval.analysis.draw import draw_all
    from agenteval.tester.graph import Log, mine_log

    try:
        picture = draw_all(mine_log(Log(["ask", "done"], ["open", "yes"], [2], [False])), ("png",))["png"]
    except Exception as error:
        return Check(
            "drawing",
            False,
            f"pygraphviz cannot draw ({type(error).__name__}: {error}); install pygraphviz 2 or newer from a wheel",
        )
    return Check("drawing", picture.startswith(b"\x89PNG"), f"pygraphviz {metadata.version('pygraphviz')} draws")


def _kernel() -> Check:
    from jupyter_client.kernelspec import KernelSpecManager

    found = "python3" in KernelSpecManager().find_kernel_specs()
    return Check(
        "kernel", found, "the notebook kernel python3 is there" if found else "no kernel python3: pip install ipykernel"
    )


def _widgets() -> Check:
    path = Path(sys.prefix, "share/jupyter/labextensions/anywidget")
    return Check(
        "widgets",
        path.is_dir(),
        "JupyterLab knows anywidget" if path.is_dir() else "no labextension anywidget: pip install anywidget",
    )


def _key() -> Check:
    known = environment()
    if "OPENAI_API_KEY" not in known:
        return Check("key", None, "OPENAI_API_KEY is not set; the offline profile needs none")
    models = "AGENTEVAL_MODEL" in known or "AGENTEVAL_TESTER_MODEL" in known
    return Check(
        "key",
        models or None,
        "OPENAI_API_KEY is set" + ("" if models else ", AGENTEVAL_MODEL is not: no model is chosen for you"),
    )


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    writable = os.access(Path.cwd(), os.W_OK)
    return Check(
        "disk",
        writable and free > 0.2,
        f"{free:.1f} GB free in the working folder" + ("" if writable else ", but it is not writable"),
    )
