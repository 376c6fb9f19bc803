"""Tables of results: columns, data frames, files, notebooks."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import pytest

from wug.errors import InputError, MissingExtra, UnknownName
from wug.tables import Table


@pytest.fixture
def table() -> Table:
    return Table(
        {
            "word": ["a", 'say "b", c', "c\nd"],
            "tokens": [1, None, 3],
            "surprisal": [0.5, None, math.inf],
            "unknown": [True, None, False],
        }
    )


def test_columns_and_rows(table: Table) -> None:
    assert len(table) == 3
    assert table.names == ["word", "tokens", "surprisal", "unknown"]
    assert table["tokens"] == [1, None, 3]
    assert table.to_dicts()[1] == {"word": 'say "b", c', "tokens": None, "surprisal": None, "unknown": None}
    assert list(table.rows()) == table.to_dicts()
    assert Table.of_rows([{"a": 1}, {"b": "x"}]).to_dicts() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_an_unknown_column_names_the_nearest(table: Table) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'surprisal'"):
        table["suprisal"]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="different lengths"):
        Table({"a": [1], "b": []})


def test_pandas_keeps_whole_numbers_beside_missing_ones(table: Table) -> None:
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(map(str, frame.dtypes))[1:] == ["Int64", "float64", "boolean"]
    assert frame["tokens"].tolist() == [1, pandas.NA, 3]
    assert math.isnan(frame["surprisal"][1])
    assert frame["unknown"].isna().tolist() == [False, True, False]
    assert frame["word"].tolist() == table["word"]
    whole = Table({"n": [1, 2]}).to_pandas()
    assert str(whole["n"].dtype) == "int64"
    assert Table({"a": [], "b": []}).to_pandas().shape == (0, 2)


def test_polars_and_arrow_have_nulls(table: Table) -> None:
    polars = pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.schema == {
        "word": polars.String,
        "tokens": polars.Int64,
        "surprisal": polars.Float64,
        "unknown": polars.Boolean,
    }
    assert frame.rows() == [tuple(row.values()) for row in table.rows()]
    pytest.importorskip("pyarrow")
    assert table.to_arrow().to_pylist() == table.to_dicts()


def test_a_column_of_missing_values_has_the_kind_that_was_said() -> None:
    pytest.importorskip("pyarrow")
    columns = {"rank": [None, None], "entropy": [None, None]}
    schema = Table(columns, {"rank": int}).to_arrow().schema
    assert [str(schema.field(name).type) for name in columns] == ["int64", "double"]


def test_numbers_of_several_kinds_are_numbers_and_what_is_mixed_is_text() -> None:
    pytest.importorskip("pyarrow")
    table = Table({"value": [True, 0.5, None], "detail": [{"a": [1, math.nan]}, "x", 3]})
    assert table.to_arrow().to_pylist() == [
        {"value": 1.0, "detail": '{"a": [1, null]}'},
        {"value": 0.5, "detail": "x"},
        {"value": None, "detail": "3"},
    ]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_delimited_files_read_back(table: Table, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new folder" / f"words.{suffix}"
    table.write(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="," if suffix == "csv" else "\t"))
    assert rows == [
        table.names,
        ["a", "1", "0.5", "True"],
        ['say "b", c', "", "", ""],
        ["c\nd", "3", "inf", "False"],
    ]


def test_json_has_null_where_there_is_no_number(table: Table, tmp_path: Path) -> None:
    table.write(str(tmp_path / "words.json"))
    rows = json.loads((tmp_path / "words.json").read_text(encoding="utf-8"))
    assert [row["surprisal"] for row in rows] == [0.5, None, None]
    table.write(tmp_path / "words.txt", "jsonl")
    lines = (tmp_path / "words.txt").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_parquet_keeps_types_and_nulls(table: Table, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table.write(tmp_path / "words.parquet")
    assert parquet.read_table(tmp_path / "words.parquet").to_pylist() == table.to_dicts()


@pytest.mark.parametrize("name", ["words.xlsx", "words"])
def test_an_unknown_suffix_is_refused(table: Table, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"\.csv, .*\.parquet or \.tsv"):
        table.write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("package", "method"), [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")]
)
def test_a_package_that_is_missing_is_named(
    table: Table, package: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'wug\["):
        getattr(table, method)()


def test_a_notebook_shows_the_first_rows_and_the_count() -> None:
    table = Table({"word": ["<b>"] * 12, "bits": [1 / 3] * 11 + [None]})
    assert repr(table) == "<Table of 12 rows: word, bits>"
    page = table._repr_html_()
    assert page.count("<tr>") == 11
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "0.3333" in page
    assert "the first 10 of 12 rows × 2 columns" in page


def test_a_format_that_is_not_that_of_the_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x.csv: its suffix means csv, not json"):
        Table({"a": [1]}).write(tmp_path / "x.csv", "json")
    Table({"a": [1]}).write(tmp_path / "x.txt", "json")
    assert json.loads((tmp_path / "x.txt").read_text()) == [{"a": 1}]
