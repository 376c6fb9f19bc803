"""SourceStatistics of a set, compared with another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.families.pcfgset.make.statistics import FIELDS, distances, report, statistics, total_variation

SOURCES = ["copy A1 B2", "append copy A1 B2 , C3 D4 E5"]
COUNTS = st.dictionaries(st.integers(1, 5), st.integers(1, 9), min_size=1)


def test_depths_lengths_functions_and_strings_are_counted() -> None:
    found = statistics(SOURCES)
    assert found.lines == 2
    assert found.counts == {
        "depths": {1: 1, 2: 1},
        "lengths": {3: 1, 8: 1},
        "functions": {1: 1, 2: 1},
        "words": {"append": 1, "copy": 2},
        "nesting": {"binary unary": 1},
        "pairs": {"append copy": 1},
        "strings": {2: 2, 3: 1},
    }


def test_a_pair_says_in_which_argument_the_second_function_stands() -> None:
    found = statistics(["append remove_first A1 , echo B2 , echo copy C3", "shift A1"]).counts
    assert found["pairs"] == {"append , echo": 1, "append remove_first": 1, "echo copy": 1, "remove_first , echo": 1}
    assert found["nesting"] == {"binary binary": 1, "binary unary": 2, "unary unary": 1}


def test_the_distance_of_shares_is_half_their_difference() -> None:
    assert total_variation({1: 1, 2: 1}, {1: 3, 2: 1}) == pytest.approx(0.25)
    assert total_variation({1: 2}, {1: 5}) == 0
    assert total_variation({1: 1}, {2: 1}) == 1
    assert total_variation({}, {}) == 0
    assert total_variation({}, {1: 1}) == 1


@given(COUNTS, COUNTS)
def test_the_distance_is_symmetric_and_between_0_and_1(a: dict[int | str, int], b: dict[int | str, int]) -> None:
    assert total_variation(a, b) == pytest.approx(total_variation(b, a))
    assert 0 <= total_variation(a, b) <= 1 + 1e-9


def test_a_set_is_at_no_distance_from_itself() -> None:
    found = statistics(SOURCES)
    assert distances(found, found) == dict.fromkeys(FIELDS, 0.0)


def test_the_report_shows_shares_beside_those_of_the_other_set() -> None:
    text = report(statistics(SOURCES), statistics(["copy A1 B2"]))
    assert text.startswith("2 lines, compared with 1\n")
    assert "depths, functions on the longest path from the root to a string: 50.00% away" in text
    assert "                 1         1   50.00%  100.00%" in text
    assert report(statistics(SOURCES)).startswith("2 lines\n")


def test_the_report_counts_values_that_are_too_many_to_list() -> None:
    sources = [f"append copy A1{' B2' * size} , C3" for size in range(101)]
    text = report(statistics(sources))
    assert "append copy       101  100.00%" in text
    assert "lengths, words per line, commas included\n  101 different ones, not listed" in text
