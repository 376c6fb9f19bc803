"""Tables of text: those without quotation marks are read like the others, without a copy of each row."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wug.families import pairs
from wug.families.pairs import formats
from wug.families.pairs.suite import PairsSuite
from wug.record_tables import read_table

LINES = st.lists(st.text("ab ,\t;é\u2028\x1c", max_size=8), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_a_table_without_quotation_marks_has_the_rows_that_csv_finds(tmp_path: Path, lines: list[str]) -> None:
    text = "x,y\n" + "\n".join(lines)
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    table = read_table(path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    next(reader)
    rows = [(f"line {reader.line_num}", row) for row in reader if any(field.strip() for field in row)]
    fitting = [(place, dict(zip(("x", "y"), row, strict=True))) for place, row in rows if len(row) == 2]
    assert [(record.place, record.fields) for record in table.records] == fitting
    columns, places = table.by_column()
    assert (len(table.records), places) == (len(fitting), [place for place, _ in fitting])
    assert {name: list(column) for name, column in columns.items()} == {
        name: [fields[name] for _, fields in fitting] for name in ("x", "y")
    }
    assert [problem.place for problem in table.problems] == [place for place, row in rows if len(row) != 2]


def test_lines_of_a_long_table_are_counted_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + f"{'a' * 99},b\n" * 25_000 + "c\nd,e\n")
    table = read_table(path)
    *_, last = table.records
    assert (len(table.records), last.place, last.fields) == (25_001, "line 25003", {"x": "d", "y": "e"})
    assert [problem.place for problem in table.problems] == ["line 25002"]


def test_lines_of_json_may_have_white_space_around_them_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text('{"x": "a"}\n  {"x": "b"} \n\n{"x": "c"} {}\n{"x": "d\n{"x": 1}\n', encoding="utf-8")
    table = read_table(path)
    assert [(record.place, record.fields) for record in table.records] == [
        ("line 1", {"x": "a"}),
        ("line 2", {"x": "b"}),
        ("line 6", {"x": 1}),
    ]
    assert list(map(str, table.problems)) == [
        "line 4: not JSON (Extra data at column 12)",
        "line 5: not JSON (Unterminated string starting at column 7)",
    ]


def test_groups_that_python_takes_for_equal_are_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    values = ["1", "true", '"1"', '"a"', '"a"', "1", '""', "null"]
    lines = (f'{{"sentence_good": "a b", "sentence_bad": "a c", "field": {value}}}' for value in values)
    path.write_text("\n".join(lines), encoding="utf-8")
    parsed = formats.parse(path, {})
    assert [pair.groups.get("field") for pair in parsed.pairs] == ["1", "true", "1", "a", "a", "1", None, None]


FIELDS = st.lists(st.tuples(*[st.sampled_from(["", " ", "a", " b c <eos>", "<eos>", "é"])] * 6), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FIELDS)
def test_pairs_are_the_same_whether_their_table_has_quotation_marks_or_not(
    tmp_path: Path, rows: list[tuple[str, ...]]
) -> None:
    """A table with quoted fields is read row by row, one without them by its columns."""
    header = ["pattern", "type", "sent", "sent_alt", "item", "context"]
    bare, quoted = tmp_path / "bare.tsv", tmp_path / "quoted.tsv"
    bare.write_text("".join("\t".join(row) + "\n" for row in (header, *rows)), encoding="utf-8")
    with quoted.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows((header, *rows))
    ours, theirs = formats.parse(bare, {}), formats.parse(quoted, {})
    assert ours.pairs == theirs.pairs
    assert ours.problems == theirs.problems


def test_blank_lines_are_left_out_of_a_table(tmp_path: Path) -> None:
    table = [f"kind {n % 2}\tx\tGood {n}.\tBad {n} <eos> " for n in range(7)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["pattern\ttype\tsent\tsent_alt", *table[:4], "", " \t ", *table[4:], "", ""]))
    (suite,) = pairs.read(path, {})
    assert isinstance(suite, PairsSuite)
    assert [(pair.item, pair.good, pair.bad, pair.groups["pattern"]) for pair in suite.items] == [
        (str(n + 1), f"Good {n}.", f"Bad {n}", f"kind {n % 2}") for n in range(7)
    ]
