"""A sample of a suite: every group has its share."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wug.evaluation.suites import open_suites
from wug.families.suite import sampled

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12)
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("uvwxyz")), min_size=1, max_size=80)


def shares(sizes: list[int], count: int) -> list[int]:
    """How many rows of groups of these sizes, one after the other in a file, a sample has."""
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    taken = Counter(groups[place] for place in sampled(len(groups), count, lambda place: (groups[place],)))
    return [taken[group] for group in range(len(sizes))]


@pytest.mark.parametrize(
    ("sizes", "count", "found"),
    [
        ([50, 30, 20], 10, [5, 3, 2]),
        ([50, 30, 20], 9, [4, 3, 2]),  # 4.5, 2.7 and 1.8
        ([97, 2, 1], 10, [8, 1, 1]),  # 9.7, 0.2 and 0.1: one of each small group, the rest for the large one
        ([1, 1, 1, 97], 4, [1, 1, 1, 1]),
        ([10, 10, 10, 10], 2, [1, 0, 1, 0]),  # too few for all: equal groups are spread evenly
        ([1, 5, 1, 9], 2, [0, 1, 0, 1]),  # too few for all: the largest
    ],
)
def test_a_group_has_its_share(sizes: list[int], count: int, found: list[int]) -> None:
    assert shares(sizes, count) == found


@given(SIZES, st.data())
def test_shares_are_those_of_webster_once_every_group_has_a_row(sizes: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(len(sizes), sum(sizes)))
    wanted = [1] * len(sizes)
    for _ in range(count - len(sizes)):
        priorities = [Fraction(size, 2 * have + 1) for size, have in zip(sizes, wanted, strict=True)]
        best = [group for group, own in enumerate(priorities) if own == max(priorities)]
        assume(len(best) == 1 or count == sum(sizes))  # which of equal groups is next does not matter here
        wanted[best[0]] += 1
    assert shares(sizes, count) == (sizes if count == sum(sizes) else wanted)


@given(ROWS)
def test_a_larger_sample_contains_every_smaller_one(rows: list[tuple[str, str]]) -> None:
    samples = [set(sampled(len(rows), count, rows.__getitem__)) for count in range(1, len(rows) + 1)]
    assert [len(sample) for sample in samples] == list(range(1, len(rows) + 1))
    assert all(smaller < larger for smaller, larger in pairwise(samples))


def test_a_sample_is_taken_by_steps_of_the_golden_ratio() -> None:
    # 0, .618, .236 and .854 of 9 rows
    assert [sampled(9, count) for count in (1, 2, 3, 4)] == [(0,), (0, 5), (0, 2, 5), (0, 2, 5, 7)]


@given(st.integers(1, 300), st.data())
def test_the_rows_of_a_sample_are_evenly_spread(size: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, size))
    kept = sampled(size, count)
    for end in range(size + 1):
        assert abs(sum(place < end for place in kept) - count * end / size) <= math.log2(count) / 2 + 4


@pytest.mark.parametrize(
    "name", ["wug_agreement_pp", "wug_agreement", "wug_places", "wug_cogs_gen", "localism", "substitutivity"]
)
def test_samples_of_every_family_are_nested(name: str) -> None:
    (suite,) = open_suites(name)
    smaller, larger = (set(map(repr, suite.sample(count).items)) for count in (7, 19))  # type: ignore[attr-defined]
    assert len(smaller) == 7
    assert smaller < larger


@given(ROWS, st.data())
def test_a_sample_has_all_groups_that_its_size_allows(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(rows)))
    kept = sampled(len(rows), count, rows.__getitem__)
    assert kept == sampled(len(rows), count, rows.__getitem__)
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
    return {numbered[place] for place in sampled(len(rows), count, rows.__getitem__)}


def test_a_sample_of_cogs_has_every_type_equally_often() -> None:
    (suite,) = open_suites("wug_cogs_gen")
    sample = suite.sample(42)
    types = Counter(line.type for line in sample.items)  # type: ignore[attr-defined]
    assert (len(types), set(types.values())) == (21, {2})
    assert sample.options["limit"] == "42 by group"


@pytest.mark.parametrize(
    ("name", "field", "groups"),
    [("wug_agreement", "pattern", 15), ("substitutivity", "function", 4), ("overgeneralisation", "pair", 4)],
)
def test_a_small_sample_of_a_built_in_suite_has_all_its_groups(name: str, field: str, groups: int) -> None:
    (suite,) = open_suites(name)
    items = suite.sample(15).items  # type: ignore[attr-defined]
    assert len({item.groups[field] if hasattr(item, "groups") else getattr(item, field) for item in items}) == groups


def test_a_sample_of_a_suite_without_groups_is_evenly_spread_and_called_as_before() -> None:
    (suite,) = open_suites("wug_agreement_pp")
    sample = suite.sample(3)
    assert [item.number for item in sample.items] == [1, 6, 15]  # type: ignore[attr-defined]
    assert sample.options["limit"] == "3"


def test_a_sample_of_pairs_that_have_only_counts_is_not_stratified_by_them(tmp_path: Path) -> None:
    (tmp_path / "linzen.text").write_text("the boys run\n" * 9)
    (tmp_path / "linzen.gold").write_text("".join(f"2\trun\truns\t{attractors}\n" for attractors in range(9)))
    (suite,) = open_suites(str(tmp_path / "linzen.text"))
    assert suite.sample(3).options["limit"] == "3"


def test_a_signature_tells_that_every_group_is_in_a_sample(tmp_path: Path) -> None:
    rows = [f"The boy runs {n}.\tThe boy run {n}.\t{'ab'[n % 2]}" for n in range(8)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["sentence_good\tsentence_bad\tphenomenon", *rows]) + "\n")
    (suite,) = open_suites(str(tmp_path / "pairs.tsv"))
    assert suite.sample(2).options["limit"] == "2 by group"
