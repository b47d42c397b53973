"""Long tables: measurements of cells on one side, mean, interval and the paper's value on the other.

A measurement, as it stands in `cells.csv`, and the row that a table makes of all seeds::

    domain,wording,arm,seed,metric,value
    airline,a,guided,0,boundary distinct,37

    domain,arm,metric,mean,sd,lo,hi,n,paper
    airline,guided,boundary distinct,35.4,1.8,34.0,37.0,5,23

Numbers reach a page only through here. A missing number is NaN in memory, empty in a CSV and a dash on a page, with the
reason below the table. Equal measurements give equal bytes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agenteval.analysis.significance import Comparison, paired_permutation
from agenteval.analysis.stats import bootstrap_interval
from agenteval.errors import FormatError
from agenteval.store import write_text

if TYPE_CHECKING:
    import pandas as pd

DASH = "\u2013"
COLUMNS = ("domain", "arm", "metric", "mean", "sd", "lo", "hi", "n", "paper")
KINDS = ("functional", "boundary", "mutation")
"""First words of metrics of one kind of test."""
MEASURED = ("domain", "wording", "arm", "seed", "metric", "value")


class Measurement(NamedTuple):
    """One metric of one cell."""

    domain: str
    wording: str
    arm: str
    """Name of the configuration."""
    seed: int
    metric: str
    value: float
    """NaN where there was nothing to measure."""


class Row(NamedTuple):
    """One metric of one domain and arm, over seeds."""

    domain: str
    """With another wording than `a`, that too: `airline/b`."""
    arm: str
    metric: str
    mean: float
    sd: float
    """Standard deviation over seeds (n - 1)."""
    lo: float
    hi: float
    """Ends of the 95 % bootstrap interval over seeds of fixed subjects."""
    n: int
    """Seeds with a value."""
    paper: float
    """The paper's value; NaN where it gives none."""


Paper = Mapping[tuple[str, str, str], float]
"""(domain, arm, metric) to the paper's value."""


def read_paper(*files: Path) -> dict[tuple[str, str, str], float]:
    """The paper's numbers from `results/paper/*.csv`."""
    found = {}
    for file in files:
        for row in _rows(file, ("domain", "arm", "metric", "value")):
            found[row["domain"], row["arm"], row["metric"]] = _number(row["value"], file)
    return found


def read_cells(file: Path) -> list[Measurement]:
    """Measurements from a `cells.csv`."""
    return [
        Measurement(r["domain"], r["wording"], r["arm"], int(r["seed"]), r["metric"], _number(r["value"], file))
        for r in _rows(file, MEASURED)
    ]


def _rows(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle)
            if tuple(reader.fieldnames or ()) != tuple(columns):
                raise FormatError(f"{file}: expected the columns {','.join(columns)}, found {reader.fieldnames}")
            return list(reader)
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{file}: cannot be read ({type(error).__name__})") from error


def _number(text: str, file: Path) -> float:
    try:
        return float(text) if text else math.nan
    except ValueError as error:
        raise FormatError(f"{file}: {text!r} is no number") from error


def table(
    cells: Iterable[Measurement], metrics: Sequence[str], paper: Paper | None = None, *, arms: Sequence[str] = ()
) -> list[Row]:
    """Rows over seeds, in the order in which domains, arms and metrics come; what only the paper has comes too.

    Parameters
    ----------
    metrics
        Metrics to show, in order.
    arms
        Arms to show, in order; left out: all that were measured or stand in the paper.

    Examples
    --------
    >>> cells = [Measurement("airline", "a", "guided", seed, "distinct", 30 + seed) for seed in (0, 1, 2)]
    >>> [row] = table(cells, ["distinct"], {("airline", "guided", "distinct"): 23.0})
    >>> row.mean, row.sd, row.n, row.paper
    (31.0, 1.0, 3, 23.0)
    >>> [row] = table([], ["distinct"], {("airline", "guided", "distinct"): 23.0})
    >>> row.mean, row.n, row.paper
    (nan, 0, 23.0)
    """
    theirs = {key: value for key, value in (paper or {}).items() if key[2] in metrics}
    values: dict[tuple[str, str, str], list[float]] = {}
    wanted: dict[tuple[str, str], None] = {}
    for cell in cells:
        domain = cell.domain if cell.wording == "a" else f"{cell.domain}/{cell.wording}"
        wanted[domain, cell.arm] = None
        if cell.metric in metrics and not math.isnan(cell.value):
            values.setdefault((domain, cell.arm, cell.metric), []).append(cell.value)
    for domain, arm, _ in theirs:
        wanted[domain, arm] = None
    if arms:
        domains = list(dict.fromkeys(domain for domain, _ in wanted))
        wanted = {(domain, arm): None for domain in domains for arm in arms if (domain, arm) in wanted}
    else:
        domains = list(dict.fromkeys(domain for domain, _ in wanted))
        wanted = dict.fromkeys(sorted(wanted, key=lambda key: domains.index(key[0])))
    rows = []
    for domain, arm in wanted:
        for metric in metrics:
            sample = values.get((domain, arm, metric), [])
            known = theirs.get((domain.partition("/")[0], arm, metric), math.nan)
            rows.append(Row(domain, arm, metric, *spread(sample), len(sample), known))
    return rows


def spread(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Mean, standard deviation, and the ends of the bootstrap interval.

    >>> spread([1.0]), spread([])
    ((1.0, nan, 1.0, 1.0), (nan, nan, nan, nan))
    """
    interval = bootstrap_interval(values)
    n, mean = len(values), interval.estimate
    sd = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
    return mean, sd, interval.low, interval.high


def one(rows: Iterable[Row], domain: str, arm: str, metric: str) -> Row:
    """The row of one domain, arm and metric; without a value where there is none, for sentences.

    >>> one([], "airline", "guided", "distinct").n
    0
    """
    nothing = Row(domain, arm, metric, math.nan, math.nan, math.nan, math.nan, 0, math.nan)
    return next((row for row in rows if row[:3] == (domain, arm, metric)), nothing)


def pooled(rows: Iterable[Row], arm: str, metric: str) -> float:
    """Mean over domains of the means over seeds; NaN where there is none."""
    means = [row.mean for row in rows if row.arm == arm and row.metric == metric and row.n]
    return math.fsum(means) / len(means) if means else math.nan


def compare(cells: Iterable[Measurement], metric: str, one: str, other: str) -> Comparison:
    """How far one arm is above another in a metric: paired over (domain, seed), averaged over wordings, permuted within domains.

    Examples
    --------
    >>> cells = [Measurement("airline", "a", arm, seed, "distinct", value) for arm, value in (("x", 3.0), ("y", 1.0)) for seed in range(3)]
    >>> compare(cells, "distinct", "x", "y")
    Comparison(difference=2.0, p=0.25, pairs=3)
    """
    values: dict[tuple[str, int], dict[str, list[float]]] = {}
    for cell in cells:
        if cell.metric == metric and cell.arm in (one, other):
            values.setdefault((cell.domain, cell.seed), {}).setdefault(cell.arm, []).append(cell.value)
    pairs: dict[str, list[float]] = {}
    for (domain, _), arms in sorted(values.items()):
        if len(arms) == 2:
            pairs.setdefault(domain, []).append(
                math.fsum(arms[one]) / len(arms[one]) - math.fsum(arms[other]) / len(arms[other])
            )
    return paired_permutation(pairs)


# ---- CSV


def _plain(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else int(value) if value.is_integer() else round(value, 6)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def table_csv(rows: Iterable[Row]) -> str:
    return _csv(COLUMNS, rows)


def cells_csv(cells: Iterable[Measurement]) -> str:
    """Measurements, sorted, so that the order in which cells were finished does not matter."""
    return _csv(MEASURED, sorted(cells, key=lambda c: c[:5]))


# ---- pages


def figure(value: float, largest: float = 1.0) -> str:
    """A number for the eye: rates with two decimals, large numbers with fewer; a dash where there is none.

    >>> figure(0.5), figure(37.25, 40), figure(37.0, 40), figure(284000.4, 284000.4), figure(float("nan"))
    ('0.50', '37.2', '37', '284,000', '–')
    """
    if math.isnan(value):
        return DASH
    if largest >= 10 and value.is_integer():
        return f"{value:,.0f}"
    return f"{value:.2f}" if largest < 10 else f"{value:.1f}" if largest < 1000 else f"{value:,.0f}"


def wide(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a page: a line an arm with mean and interval, and the paper's values in a line of their own below.

    Examples
    --------
    >>> wide([Row("airline", "guided", "distinct", 31.0, 1.0, 30.0, 32.0, 3, 23.0)])[1]
    [['airline', 'guided', '31 [30, 32]'], ['', '(paper)', '23']]
    """
    metrics = list(dict.fromkeys(row.metric for row in rows))
    at = {row[:3]: row for row in rows}
    largest = {
        metric: max((abs(v) for r in rows if r.metric == metric for v in (r.hi, r.paper) if not math.isnan(v)), default=1.0)
        for metric in metrics
    }  # fmt: skip
    lines = []
    last = ""
    for domain, arm in dict.fromkeys((row.domain, row.arm) for row in rows):
        here = [at[domain, arm, metric] for metric in metrics]
        measured = [
            DASH if not r.n
            else figure(r.mean, largest[r.metric])
            + ("" if r.lo == r.hi else f" [{figure(r.lo, largest[r.metric])}, {figure(r.hi, largest[r.metric])}]")
            for r in here
        ]  # fmt: skip
        lines.append([domain if domain != last else "", arm.replace("_", " "), *measured])
        last = domain
        if any(not math.isnan(r.paper) for r in here):
            lines.append(["", "(paper)", *(figure(r.paper, largest[r.metric]) for r in here)])
    shared = {metric.partition(" ")[0] for metric in metrics} & set(KINDS)
    if len(shared) == 1:  # said once, by the caption
        metrics = [metric.removeprefix(f"{next(iter(shared))} ") for metric in metrics]
    return ["domain", "arm", *metrics], lines


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The long table as a data frame."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))


def markdown(rows: Sequence[Row], *, caption: str, notes: Sequence[str] = ()) -> str:
    """The page as Markdown; notes say why a value is missing."""
    header, lines = wide(rows)
    grid = [header, ["---"] * len(header), *lines]
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in grid]
    return "\n".join([f"**{caption}**", "", *body, "", *(f"- {note}" for note in notes)]).rstrip() + "\n"


_TEX = str.maketrans({
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "|": r"\textbar{}", DASH: "--",
})  # fmt: skip


def tex(text: str) -> str:
    r"""Text that LaTeX prints as it stands.

    >>> print(tex("boundary |T| & 5 %"))
    boundary \textbar{}T\textbar{} \& 5 \%
    """
    return text.translate(_TEX)


def latex(rows: Sequence[Row], *, caption: str, label: str, notes: Sequence[str] = ()) -> str:
    """The page as a LaTeX table; needs the package booktabs."""
    header, lines = wide(rows)
    body = []
    for n, line in enumerate(lines):
        rule = [r"\midrule"] if line[0] and n else []
        body += [*rule, " & ".join(map(tex, line)) + r" \\"]
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{tex(caption)}}}", rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}", r"\toprule", " & ".join(map(tex, header)) + r" \\", r"\midrule",
        *body, r"\bottomrule", r"\end{tabular}", *(rf"\par\footnotesize {tex(note)}" for note in notes), r"\end{table}", "",
    ])  # fmt: skip


def write(
    parts: Mapping[str, Sequence[Row]],
    out: Path,
    *,
    cells: Iterable[Measurement] = (),
    label: str,
    notes: Sequence[str] = (),
) -> None:
    """Write `table.csv`, `table.md` and `table.tex`, and the measurements behind them as `cells.csv`.

    Parameters
    ----------
    parts
        Caption to rows: one table on the pages each, all in one CSV.
    """
    rows = list({row[:3]: row for part in parts.values() for row in part}.values())  # what two pages show stands once
    shown = {row.metric for row in rows}
    write_text(out / "cells.csv", cells_csv(c for c in cells if c.metric in shown))
    write_text(out / "table.csv", table_csv(rows))
    write_text(out / "table.md", page(parts, notes=notes))
    tex_parts = [
        latex(part, caption=caption, label=label if n == 1 else f"{label}-{n}", notes=notes if n == len(parts) else ())
        for n, (caption, part) in enumerate(parts.items(), 1)
    ]
    write_text(out / "table.tex", "\n".join(tex_parts))


def page(parts: Mapping[str, Sequence[Row]], *, notes: Sequence[str] = ()) -> str:
    """Several tables as Markdown, with their notes at the end."""
    last = len(parts) - 1
    return "\n".join(
        markdown(rows, caption=caption, notes=notes if n == last else ())
        for n, (caption, rows) in enumerate(parts.items())
    )
