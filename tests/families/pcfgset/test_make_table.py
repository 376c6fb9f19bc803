"""Tables of depths and lengths."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from reference import reference
from wug.errors import InputError
from wug.families.pcfgset.make.table import Cell, Table, published, read_table, table_of
from wug.files import read_lines


def table(**weights: float) -> Table:
    return Table(tuple((Cell(int(key[1:]), 1), weight) for key, weight in weights.items()))


def test_cells_have_the_shares_of_the_table() -> None:
    counts = Counter(cell.length for cell in table(l3=1, l4=2, l5=1).cells(400, Random(0)))
    assert counts == {3: 100, 4: 200, 5: 100}


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_there_are_as_many_cells_as_wanted(n: int) -> None:
    assert len(table(l3=0.1, l4=0.2, l5=0.7).cells(n, Random(n))) == n


def test_shares_are_off_by_less_than_one_line() -> None:
    counts = Counter(cell.length for cell in table(l3=1, l4=1, l5=1).cells(100, Random(1)))
    assert sorted(counts.values()) == [33, 33, 34]


def test_a_table_is_made_of_sources() -> None:
    found = table_of(["copy A1 B2", "copy C3 D4", "append copy A1 B2 , C3 D4"])
    assert found.weights == ((Cell(3, 1), 2.0), (Cell(7, 2), 1.0))
    assert (found.depth, found.length) == (2, 7)


def test_a_table_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = table_of(["copy A1 B2", "append copy A1 B2 , C3 D4"])
    path = tmp_path / "table.tsv"
    path.write_text("\n".join(found.lines()) + "\n")
    assert read_table(path) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("depth\tlength\tcount\n1 3 5\n", "line 2: expected a depth, a length and a count"),
        ("1\t3\n", "line 1: expected"),
        ("1\t3\tx\n", "line 1: expected"),
        ("1\t3\t-1\n", "line 1: expected"),
        ("1\t3\tnan\n", "line 1: expected"),
        ("0\t3\t1\n", "line 1: expected"),
        ("1\t3\t1\t1\n", "line 1: expected"),
        ("1\t3\t1\n1\t3\t1\n", "line 2: depth 1 and length 3 stand in an earlier line too"),
        ("depth\tlength\tcount\n", "the table is empty"),
        ("1\t3\t0\n", "the table is empty"),
    ],
)
def test_a_faulty_table_gives_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_the_built_in_table_is_that_of_the_published_test_set() -> None:
    assert published() == table_of(read_lines(reference("pcfgset/pcfgset/test.src.gz")))
