"""A sample of a suite: every group has its share."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.evaluation.opening import open_suites
from wug.families.sampling import limited, shared, shares

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12)
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("uvwxyz")), min_size=1, max_size=80)


@pytest.mark.parametrize(
    ("sizes", "count", "found"),
    [
        ([50, 30, 20], 10, [5, 3, 2]),
        ([50, 30, 20], 9, [4, 3, 2]),  # 4.5, 2.7 and 1.8: the remainders .8 and .7 come before .5
        ([97, 2, 1], 10, [8, 1, 1]),  # 9.7, 0.2 and 0.1: one of each small group, the rest for the large one
        ([1, 1, 1, 97], 4, [1, 1, 1, 1]),
        ([10, 10, 10, 10], 2, [1, 0, 1, 0]),  # too few for all: equal groups are spread evenly
        ([1, 5, 1, 9], 2, [0, 1, 0, 1]),  # too few for all: the largest
    ],
)
def test_a_group_has_its_share_by_the_largest_remainders(sizes: list[int], count: int, found: list[int]) -> None:
    assert shares(sizes, count) == found


@given(SIZES, st.data())
def test_shares_add_up_and_none_is_empty_or_overdrawn(sizes: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, sum(sizes)))
    found = shares(sizes, count)
    assert sum(found) == count
    assert all(share <= size for share, size in zip(found, sizes, strict=True))
    if count >= len(sizes):
        assert min(found) >= 1
    quotas = [Fraction(count * size, sum(sizes)) for size in sizes]
    if min(quotas) >= 1:  # then nobody pays for the small ones, and every share is its quota, rounded up or down
        assert all(abs(share - quota) < 1 for share, quota in zip(found, quotas, strict=True))


@given(ROWS, st.data())
def test_a_sample_has_all_groups_that_its_size_allows(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(rows)))
    kept = shared(len(rows), count, rows.__getitem__)
    assert kept == shared(len(rows), count, rows.__getitem__)
    assert len(set(kept)) == len(kept) == count
    assert list(kept) == sorted(kept)
    for depth in (1, 2):
        groups = {row[:depth] for row in rows}
        if len(groups) <= count:
            assert {rows[place][:depth] for place in kept} == groups


@given(ROWS)
def test_which_rows_of_a_group_are_taken_is_the_same_however_groups_are_mixed(
    half: list[tuple[str, str]],
) -> None:
    rows = half + half[::-1]  # every group has an even number of rows, so that half of them is a whole number
    assert _taken(rows, len(half)) == _taken(sorted(rows), len(half))


def _taken(rows: list[tuple[str, str]], count: int) -> set[tuple[tuple[str, str], int]]:
    """The rows of a sample, each as its group and its place in it."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for row in rows:
        numbered.append((row, seen[row]))
        seen[row] += 1
    return {numbered[place] for place in shared(len(rows), count, rows.__getitem__)}


def test_a_sample_of_cogs_has_every_type_equally_often() -> None:
    (suite,) = open_suites("wug_cogs_gen")
    sample = suite.sample(42)
    assert set(Counter(sample.gold.types).values()) == {2}  # type: ignore[attr-defined]
    assert len(set(sample.gold.types)) == 21  # type: ignore[attr-defined]
    assert sample.options["limit"] == "42 by group"


@pytest.mark.parametrize(
    ("name", "field", "groups"),
    [("wug_agreement", "pattern", 15), ("substitutivity", "function", 4), ("overgeneralisation", "pair", 4)],
)
def test_a_small_sample_of_a_built_in_suite_has_all_its_groups(name: str, field: str, groups: int) -> None:
    (suite,) = open_suites(name)
    items = vars_of(suite.sample(15))
    assert len({item.groups[field] if hasattr(item, "groups") else getattr(item, field) for item in items}) == groups


def vars_of(suite: object) -> tuple[object, ...]:
    return getattr(suite, "pairs", None) or suite.items  # type: ignore[attr-defined, no-any-return]


def test_a_sample_of_a_suite_without_groups_is_evenly_spread_and_called_as_before() -> None:
    (suite,) = open_suites("wug_agreement_pp")
    sample = suite.sample(3)
    assert [item.number for item in sample.items] == [1, 9, 17]  # type: ignore[attr-defined]
    assert sample.options["limit"] == "3"


def test_a_signature_tells_how_items_were_taken() -> None:
    assert limited(None, 7) == {}
    assert limited(20, 1) == {"limit": "20"}
    assert limited(20, 7) == {"limit": "20 by group"}
