"""The edit distance of predictions against the recurrence that defines it, and worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.families.cogs.logical_form.measures import reference_scores

TOKENS = st.lists(st.sampled_from("a b c x _ ( ) ; AND".split()), max_size=40)


def distance(first: list[str], second: list[str]) -> int:
    return reference_scores(" ".join(first), " ".join(second)).edit_distance


def defined(first: list[str], second: list[str]) -> int:
    """The fewest insertions, deletions and replacements, by rows of the table of all beginnings."""
    row = list(range(len(second) + 1))
    for number, token in enumerate(first, 1):
        above, row = row, [number]
        for place, other in enumerate(second):
            row.append(min(above[place] + (token != other), above[place + 1] + 1, row[-1] + 1))
    return row[-1]


@given(TOKENS, TOKENS)
def test_it_is_the_fewest_changes(first: list[str], second: list[str]) -> None:
    assert distance(first, second) == defined(first, second)


@given(TOKENS, st.lists(st.tuples(st.integers(0, 39), st.sampled_from("a y z".split())), max_size=6))
def test_it_is_the_fewest_changes_of_lists_that_are_nearly_alike(
    first: list[str], changes: list[tuple[int, str]]
) -> None:
    second = list(first)
    for place, token in changes:
        second[place : place + 1] = [token] if token != "y" else []
    assert distance(first, second) == defined(first, second)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("", "", 0), ("a b", "", 2), ("a b c", "a c", 1), ("k i t t e n", "s i t t i n g", 3), ("a b", "b a", 2)],
)
def test_distances_worked_by_hand(first: str, second: str, expected: int) -> None:
    assert distance(first.split(), second.split()) == expected
