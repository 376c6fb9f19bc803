"""The edit distance against RapidFuzz's, and worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from wug.families.cogs.logical_form.measures import edit_distance

TOKENS = st.lists(st.sampled_from("a b c x _ ( ) ; AND".split()), max_size=150)


@given(TOKENS, TOKENS)
def test_it_is_that_of_rapidfuzz(first: list[str], second: list[str]) -> None:
    assert edit_distance(first, second) == Levenshtein.distance(first, second)


@given(TOKENS, st.lists(st.tuples(st.integers(0, 149), st.sampled_from("a y z".split())), max_size=6))
def test_it_is_that_of_rapidfuzz_for_lists_that_are_nearly_alike(
    first: list[str], changes: list[tuple[int, str]]
) -> None:
    second = list(first)
    for place, token in changes:
        second[place : place + 1] = [token] if token != "y" else []
    assert edit_distance(first, second) == Levenshtein.distance(first, second)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("a b", "", 2), ("a b c", "a c", 1), ("k i t t e n", "s i t t i n g", 3), ("a b", "b a", 2)],
)
def test_distances_worked_by_hand(first: str, second: str, distance: int) -> None:
    assert edit_distance(first.split(), second.split()) == distance
