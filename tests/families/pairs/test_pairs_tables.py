"""Tables of text: those without quotation marks are read like the others, without a copy of each row."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wug.families.pairs.formats.tables import read_table

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
    assert [table.records[at].fields for at in range(len(table.records))] == [fields for _, fields in fitting]
    assert [record.fields for record in table.records[1:]] == [fields for _, fields in fitting[1:]]
    assert [problem.place for problem in table.problems] == [place for place, row in rows if len(row) != 2]
