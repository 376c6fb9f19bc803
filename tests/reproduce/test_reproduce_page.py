"""The page of `wug reproduce`: the table, charts of both, and the results behind them, in one file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import refused, wug
from paper_tables import as_matrix, from_json
from wug.reproduce.page import comparison_figures, table
from wug.reproduce.recipe import PublishedValue
from wug.reproduce.table import TableRow
from wug.reproduce.table import table as written
from wug.tables import render_table

RECIPE = """
title = "Agreement & <more>"
reference = "A journal 1, 2-3"
note = "Of eight items."
seeds = []

[networks.lstm]
title = "wug-lstm"
model = "wug-lstm"
small = "--limit 8"

[networks.paper]
title = "theirs"

[[tests]]
row = "agreement"
suite = "wug_coord"
metric = "accuracy"
published = { lstm = 0.25, paper = 0.5 }
"""


def row(test: str, network: str, published: float | None, value: float | None) -> TableRow:
    cell = None if published is None else PublishedValue(published)
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return TableRow(test, network, cell, value, None, low, high, "wilson", 8, (), (), "Table 1", pending=False)


ROWS = [
    row("task", "a", 0.5, 0.75),
    row("task", "b", 0.6, None),
    row("depth", "a", None, 0.25),
    replace(row("  3", "a", None, 0.2), within="depth"),
]


def test_the_table_has_a_heading_per_test_and_no_empty_seed_column() -> None:
    made = table(ROWS)
    assert [column.name for column in made.columns] == ["model", "published", "here", "95% interval", "difference", "n"]
    assert [(heading, len(rows)) for heading, rows in made.groups] == [
        ("task", 2),
        ("depth", 1),
    ]  # and 3, a part of it, in a chart
    first = [cell.text for cell in made.groups[0][1][0].cells]
    assert first == ["a", "0.500", "0.750", "[0.650, 0.850]", "+0.25", "8"]
    assert made.note == "Intervals: over items (wilson)."


def test_each_model_has_a_chart_with_the_published_dots_first() -> None:
    only, parts = comparison_figures(ROWS)  # b has no value of ours
    assert only.title == "a"
    found = [(record["test"], record["found"], record["value"]) for record in only.records]
    assert found == [("task", "published", 0.5), ("task", "here", 0.75), ("depth", "here", 0.25)]
    assert parts.title == "Depth, in parts"
    assert [(record["part"], record["model"], record["value"]) for record in parts.records] == [("3", "a", 0.2)]


def test_each_test_has_a_chart_where_there_are_more_models() -> None:
    (only,) = comparison_figures(ROWS[:2])
    assert only.title == "task"
    assert [(record["model"], record["found"]) for record in only.records] == [
        ("a", "published"),
        ("b", "published"),
        ("a", "here"),
    ]


def test_a_matrix_has_the_fewer_as_columns_and_the_papers_values_in_brackets() -> None:
    assert as_matrix(ROWS[:3]).splitlines()[2:] == ["| task | 0.750 (0.500) | (0.600) |", "| depth | 0.250 |  |"]
    assert as_matrix(ROWS[:2]).splitlines()[2:] == ["| a | 0.750 (0.500) |", "| b | (0.600) |"]
    assert from_json(render_table(written(ROWS), "json")) == ROWS


def test_a_page_is_one_file_with_the_table_and_the_results_behind_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(RECIPE, encoding="utf-8")
    call = ("reproduce", tmp_path / "mine.toml", "--small", "--folder", tmp_path / "work", "--device", "cpu")
    page = tmp_path / "page.html"
    said = wug(*call, "-o", page)
    assert said.code == 0, said.err
    assert said.out == ""
    assert f"wrote {page}" in said.err
    text = page.read_text(encoding="utf-8")
    assert "<h1>Agreement &amp; &lt;more&gt;</h1>" in text
    assert "A journal 1, 2-3. Of eight items. A miniature" in text
    assert not re.search(r"""(?:src|href)=["']https?:""", text)
    (ours, _) = json.loads(wug(*call, "--format", "json").out)
    shown = re.findall(r"<td[^>]*>\s*([^<]*?)\s*</td>", text[text.index(">wug-lstm<") :])[:4]
    assert shown[:2] == ["0.250", f"{ours['value']:.3f}"]
    assert shown[3] == f"{ours['value'] - 0.25:+.2f}"
    assert ours["signatures"][0] in text  # the result behind it
    wug(*call, "-o", tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == wug(*call, "--format", "markdown").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "html"), "give -o page.html"),
        (("--format", "table", "-o", "x.md"), "for the terminal"),
        (("-o", "page.pdf"), "cannot be written as .pdf"),
    ],
)
def test_a_page_without_a_file_and_a_file_of_another_kind_are_refused(options: tuple[str, ...], said: str) -> None:
    refused(wug("reproduce", "warstadt2020", *options), said)
