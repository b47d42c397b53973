"""Long tables: statistics over seeds, the paper beside them, equal bytes, and what is missing."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest

from agenteval.analysis.tables import (
    COLUMNS,
    Measurement,
    Row,
    cells_csv,
    compare,
    latex,
    markdown,
    pooled,
    read_cells,
    read_paper,
    table,
    table_csv,
    write,
)
from agenteval.errors import FormatError

PAPER = Path(__file__).parents[1] / "results" / "paper"
CELLS = [Measurement("airline", "a", arm, seed, "boundary distinct", base + seed) for arm, base in (("guided", 30.0), ("naive", 20.0)) for seed in range(5)]  # fmt: skip


def test_rows_have_mean_spread_and_the_papers_value():
    rows = table(CELLS, ["boundary distinct"], {("airline", "guided", "boundary distinct"): 23.0})
    guided, naive = rows
    assert (guided.mean, round(guided.sd, 4), guided.n, guided.paper) == (32.0, round(math.sqrt(2.5), 4), 5, 23.0)
    assert 30 <= guided.lo < 32 < guided.hi <= 34
    assert math.isnan(naive.paper)


def test_bytes_do_not_depend_on_the_order_in_which_cells_came(tmp_path):
    assert cells_csv(CELLS) == cells_csv(CELLS[::-1])
    for name, cells in (("one", CELLS), ("two", CELLS[::-1])):
        rows = table(sorted(cells), ["boundary distinct"])
        write({"c": rows}, tmp_path / name, cells=cells, label="l")
    for file in ("cells.csv", "table.csv", "table.md", "table.tex"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_was_written_is_read_back(tmp_path):
    cells = [*CELLS, Measurement("retail", "b", "guided", 0, "boundary FAR", math.nan)]
    write({"c": table(cells, ["boundary distinct", "boundary FAR"])}, tmp_path, cells=cells, label="l")
    again = read_cells(tmp_path / "cells.csv")
    assert table_csv(table(again, ["boundary distinct", "boundary FAR"])) == (tmp_path / "table.csv").read_text("utf-8")


def test_missing_is_empty_in_csv_and_a_dash_with_its_reason_on_a_page():
    rows = table([], ["hours"], {("airline", "guided", "hours"): 2.5})
    [line] = list(csv.DictReader(io.StringIO(table_csv(rows))))
    assert (line["mean"], line["n"], line["paper"]) == ("", "0", "2.5")
    page = markdown(rows, caption="Cost", notes=["hours: no model ran"])
    assert "| airline | guided | – |" in page and "hours: no model ran" in page


def test_latex_is_booktabs_and_escapes():
    page = latex([Row("a_b", "x", "|T| & 5 %", 1.0, 0.0, 1.0, 1.0, 1, math.nan)], caption="50 %", label="t")
    assert r"\toprule" in page and r"a\_b" in page and r"\textbar{}T\textbar{} \& 5 \%" in page and r"50 \%" in page


def test_another_wording_is_another_row_and_has_the_same_paper_value():
    cells = [c._replace(wording="b") for c in CELLS] + CELLS
    rows = table(cells, ["boundary distinct"], {("airline", "guided", "boundary distinct"): 23.0}, arms=["guided"])
    assert {row.domain: row.paper for row in rows} == {"airline": 23.0, "airline/b": 23.0}


def test_pairs_are_those_of_one_domain_and_seed():
    found = compare(CELLS, "boundary distinct", "guided", "naive")
    assert (found.difference, found.pairs, found.p) == (10.0, 5, 2 / 32)
    assert math.isnan(compare(CELLS, "boundary distinct", "guided", "absent").p)
    assert math.isnan(pooled([], "guided", "boundary distinct"))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "domain,arm,metric,value\nairline,guided,FAR,often\n", "\xff"])
def test_a_file_of_another_shape_is_one_clear_line(tmp_path, text):
    file = tmp_path / "odd.csv"
    file.write_text(text, "latin-1")
    with pytest.raises(FormatError, match="odd.csv"):
        read_paper(file)


@pytest.mark.parametrize("file", sorted(PAPER.glob("*.csv")), ids=lambda p: p.stem)
def test_the_papers_numbers_are_numbers(file):
    found = read_paper(file)
    assert found and all(not math.isnan(value) for value in found.values())
    with file.open(encoding="utf-8", newline="") as handle:
        assert sum(1 for _ in handle) == len(found) + 1, "a key stands twice"


def test_the_papers_text_and_tables_agree():
    """Tables III, IV and V share cells; tokens per distinct boundary follow from Tables V and VIII within their rounding."""
    three, four, five, eight = (read_paper(PAPER / f"table{n}.csv") for n in (3, 4, 5, 8))
    for other in (four, five):
        for key, value in other.items():
            assert three.get(key, value) == value
    for arm in ("prompt_only", "graph_context", "guided"):
        each = 1000 * eight["airline", arm, "tokens (M)"] / five["airline", arm, "boundary distinct"]
        assert abs(each - eight["airline", arm, "tokens per distinct boundary (K)"]) < 1


def test_columns_are_those_of_the_design():
    assert table_csv([]).strip() == ",".join(COLUMNS) == "domain,arm,metric,mean,sd,lo,hi,n,paper"
