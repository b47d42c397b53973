"""Figures of the tables, the same bytes for the same rows."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenteval.analysis.tables import Row, one
from agenteval.store import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
"""Okabe and Ito's palette, which colour-blind people can tell apart."""
PAGE = 9.0
"""Inches: panels beside each other are no wider."""


def bars(rows: Sequence[Row], metrics: Sequence[str]) -> Figure:
    """A panel a metric: domains side by side, a bar an arm with its interval, a diamond where the paper has a value.

    Panels stand beside each other while that fits a page, else below each other.
    """
    from matplotlib.figure import Figure

    domains = list(dict.fromkeys(row.domain for row in rows))
    arms = list(dict.fromkeys(row.arm for row in rows))
    wide = max(2.6, 0.5 + 0.28 * len(domains) * len(arms))
    beside = wide * len(metrics) <= PAGE
    grid = (1, len(metrics)) if beside else (len(metrics), 1)
    size = (wide * grid[1], 3.0) if beside else (wide, 0.6 + 2.2 * grid[0])
    picture = Figure(figsize=size, layout="constrained")
    axes = picture.subplots(*grid, squeeze=False).flatten()
    width = 0.8 / max(1, len(arms))
    for axis, metric in zip(axes, metrics, strict=True):
        for n, arm in enumerate(arms):
            shown = [one(rows, domain, arm, metric) for domain in domains]
            at = [i + (n - (len(arms) - 1) / 2) * width for i in range(len(domains))]
            measured = [(x, r) for x, r in zip(at, shown, strict=True) if r.n]
            axis.bar(
                [x for x, _ in measured], [r.mean for _, r in measured], width * 0.9, color=COLOURS[n % len(COLOURS)],
                yerr=[[r.mean - r.lo for _, r in measured], [r.hi - r.mean for _, r in measured]],
                error_kw={"linewidth": 1, "capsize": 2}, label=arm.replace("_", " "),
            )  # fmt: skip
            theirs = [(x, r.paper) for x, r in zip(at, shown, strict=True) if not math.isnan(r.paper)]
            axis.plot([x for x, _ in theirs], [y for _, y in theirs], "D", color="black", markersize=4, zorder=3)
        axis.set_title(metric, fontsize=9)
        axis.set_xticks(range(len(domains)), domains, fontsize=8)
        axis.tick_params(axis="y", labelsize=8)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].plot([], [], "D", color="black", markersize=4, label="paper")
    _legend(picture, axes[0])
    return picture


def lines(panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], *, x: str) -> Figure:
    """A panel a name, in it a line a name through its (x, y) points."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(3.4 * len(panels), 3.2), layout="constrained")
    axes = picture.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, curves) in zip(axes, panels.items(), strict=True):
        for n, (name, points) in enumerate(curves.items()):
            axis.plot(*zip(*points, strict=True), "o-", color=COLOURS[n % len(COLOURS)], markersize=3, label=name)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(x, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    _legend(picture, axes[0])
    return picture


def _legend(picture: Figure, axis: Any) -> None:
    """One legend for all panels, below them, in as many columns as fit."""
    handles, labels = axis.get_legend_handles_labels()
    columns = max(1, min(len(labels), int(picture.get_figwidth() / 1.5)))
    picture.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def save(picture: Figure, out: Path, name: str = "figure") -> Any:
    """Write `figure.pdf` and `figure.png` without a date, and return the PNG as a notebook shows it."""
    from IPython.display import Image

    data: dict[str, bytes] = {}
    for kind, metadata in (("pdf", {"CreationDate": None}), ("png", {"Software": None})):
        buffer = io.BytesIO()
        picture.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        data[kind] = buffer.getvalue()
        write_text(out / f"{name}.{kind}", data[kind])
    return Image(data["png"])
