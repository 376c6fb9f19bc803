"""Tables of depths and lengths."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from reference import reference
from wug.errors import InputError
from wug.families.pcfgset.language import parse
from wug.families.pcfgset.make.corpus import DepthLength, DepthLengthTable, published, read_table
from wug.files import read_lines


def table(**weights: float) -> DepthLengthTable:
    return DepthLengthTable(tuple((DepthLength(int(key[1:]), 1), weight) for key, weight in weights.items()))


def test_cells_have_the_shares_of_the_table() -> None:
    counts = Counter(cell.length for cell in table(l3=1, l4=2, l5=1).cells(400, Random(0)))
    assert counts == {3: 100, 4: 200, 5: 100}


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_there_are_as_many_cells_as_wanted(n: int) -> None:
    assert len(table(l3=0.1, l4=0.2, l5=0.7).cells(n, Random(n))) == n


def test_shares_are_off_by_less_than_one_line() -> None:
    counts = Counter(cell.length for cell in table(l3=1, l4=1, l5=1).cells(100, Random(1)))
    assert sorted(counts.values()) == [33, 33, 34]


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
        ("1\t3\t1\n1\t3\t1\n", "line 2: depth 1 and length 3 are repeated from an earlier line"),
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
    expressions = map(parse, read_lines(reference("pcfgset/pcfgset/test.src.gz")))
    counts = Counter(DepthLength(expression.length, expression.depth) for expression in expressions)
    assert published().weights == tuple(sorted((cell, float(count)) for cell, count in counts.items()))
