"""Tests of paired differences against scipy's own, and against values worked by hand or by definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.distributions import DRAWS
from wug.stats_paired import bca_interval, flip_signs, holm, mcnemar, t_interval, t_test, tango

counts = st.integers(0, 60)


def draws(n: int, seed: int = 0, shift: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1.0, n)


@given(counts, counts)
def test_mcnemars_test_is_scipys_chi_squared_one(only_first: int, only_second: int) -> None:
    from scipy.stats import chi2

    n = only_first + only_second
    expected = 1.0 if n == 0 else chi2.sf((only_first - only_second) ** 2 / n, 1)
    assert mcnemar(only_first, only_second).p == pytest.approx(expected, rel=1e-9)


def test_mcnemars_test_of_1_against_5() -> None:
    """(5 - 1)² / (5 + 1) = 8/3 is chi-squared with one degree of freedom: p = .1025 in tables."""
    assert mcnemar(1, 5).p == pytest.approx(0.1025, abs=5e-5)


def test_tangos_interval_excludes_0_exactly_where_mcnemars_p_is_below_5_percent() -> None:
    """In all 5,455 tables of up to 30 items; scipy has the p-value."""
    from scipy.stats import chi2

    tables = [(b, c, n) for n in range(1, 31) for b in range(n + 1) for c in range(n + 1 - b)]
    ps = np.asarray(chi2.sf([(c - b) ** 2 / max(1, b + c) for b, c, _ in tables], 1))
    assert len(tables) == 5_455
    for (b, c, n), p in zip(tables, ps, strict=True):
        found = tango(b, c, n)
        excluded = found.low > 0 or found.high < 0
        assert excluded == (mcnemar(b, c).p < 0.05) == (p < 0.05), (b, c, n)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=40), st.data())
def test_the_t_interval_excludes_0_exactly_where_the_t_tests_p_is_below_5_percent(
    sums: list[int], data: st.DataObject
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(sums), max_size=len(sums)))
    values, weights = np.array(sums, float), np.array(sizes, float)
    found, tested = t_interval(values, weights), t_test(values, weights)
    assert (found is None) == (tested is None)
    if found is not None and tested is not None and abs(tested.p - 0.05) > 1e-9:
        assert (found.low > 0 or found.high < 0) == (tested.p < 0.05)


@pytest.mark.parametrize("shift", [0.0, 0.3, 3.0, 30.0])
def test_the_t_test_equals_scipys_where_each_item_has_one_outcome(shift: float) -> None:
    from scipy.stats import ttest_1samp

    values = draws(400, shift=shift)
    tested = t_test(values, np.ones(400))
    assert tested is not None
    assert tested.p == pytest.approx(ttest_1samp(values, 0).pvalue, rel=1e-6)


def test_enough_signs_are_drawn_for_holms_adjustment_of_many_tests() -> None:
    values = np.concatenate([draws(60, shift=5.0), [0.5]])  # no flip of signs comes near
    assert flip_signs(values, tests=1).p == 1 / (DRAWS + 1)
    many = flip_signs(values, tests=1_000)
    assert many.method == "permutation (199,999 draws)"
    assert holm([many.p] * 1_000)[0] == pytest.approx(0.005)
    unclear = draws(60, shift=0.1)
    assert flip_signs(unclear, tests=1_000) == flip_signs(unclear)  # whose p is known well enough


def test_differences_of_one_size_are_flipped_exactly_however_many_they_are() -> None:
    found = flip_signs(np.full(400, 1.0))
    assert found.method == "exact permutation"
    assert found.p == pytest.approx(2 / 2**400)


def test_nothing_to_tell_apart_has_p_1() -> None:
    assert mcnemar(0, 0).p == 1.0
    assert flip_signs(np.zeros(7)).p == 1.0


@settings(max_examples=examples(50))
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holms_correction_is_bonferronis_of_every_set_that_a_test_is_in(ps: list[float]) -> None:
    """By its definition as a closed test: the largest of the corrected values of all such sets."""
    places = range(len(ps))
    sets = [chosen for size in range(1, len(ps) + 1) for chosen in combinations(places, size)]
    corrected = {chosen: min(1.0, len(chosen) * min(ps[place] for place in chosen)) for chosen in sets}
    expected = [max(value for chosen, value in corrected.items() if place in chosen) for place in places]
    assert holm(ps) == pytest.approx(expected, abs=1e-12)


def test_holms_correction_of_three() -> None:
    """0.01 · 3, then 0.03 · 2, then 0.04 · 1, which may not be below the one before."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


@settings(max_examples=examples(25))
@given(st.lists(st.floats(-5, 5).map(lambda value: round(value, 2)), min_size=2, max_size=11))
def test_all_sign_flips_equal_scipys_exact_permutation_test(values: list[float]) -> None:
    from scipy.stats import permutation_test

    def mean(sample: np.ndarray, axis: int = -1) -> np.ndarray:
        means: np.ndarray = sample.mean(axis=axis)
        return means

    theirs = permutation_test((np.array(values),), mean, permutation_type="samples", n_resamples=2**30)
    found = flip_signs(np.array(values))
    assert found.method == "exact permutation"
    assert found.p == pytest.approx(min(1.0, theirs.pvalue), abs=1e-12)


def test_sign_flips_of_three_that_all_point_one_way() -> None:
    assert flip_signs(np.array([1.0, 2.0, 4.0])).p == 2 / 8


@pytest.mark.parametrize("values", [draws(60), np.random.default_rng(4).integers(-2, 4, 400).astype(float)])
def test_drawn_signs_come_near_scipys(values: np.ndarray) -> None:
    from scipy.stats import permutation_test

    def mean(sample: np.ndarray, axis: int = -1) -> np.ndarray:
        means: np.ndarray = sample.mean(axis=axis)
        return means

    small = 0.25 * values + 0.75 * (values - values.mean())
    theirs = permutation_test((small,), mean, permutation_type="samples", n_resamples=DRAWS, vectorized=True, rng=1)
    found = flip_signs(small)
    assert found.method == f"permutation ({DRAWS:,} draws)"
    assert found.p == pytest.approx(theirs.pvalue, abs=4 * math.sqrt(0.25 / DRAWS))
    assert flip_signs(small) == found  # seeded


def test_drawn_signs_are_never_impossible() -> None:
    assert flip_signs(np.array([2.0] + [1.0] * 400)).p == 1 / (DRAWS + 1)


def test_very_many_differences_have_the_normal_limit_which_is_students() -> None:
    from scipy.stats import ttest_1samp

    values = draws(40_000, shift=0.01)
    found = flip_signs(values)
    assert found.method == "permutation (normal limit)"
    assert found.p == pytest.approx(ttest_1samp(values, 0).pvalue, rel=1e-2)


@pytest.mark.parametrize("values", [[0.1, 0.2, -0.3], [0.1, 0.1, 0.1, -0.3], [0.7, 0.1, -0.8]])
def test_a_sum_that_is_nothing_but_rounding_tells_nothing_apart(values: Sequence[float]) -> None:
    """Exactly, each of these adds up to 0, which every choice of signs reaches; in floats it does not."""
    assert 0 < abs(np.array(values).sum()) < 1e-15
    assert flip_signs(np.array(values)).p == 1.0


def test_a_sum_of_nothing_tells_nothing_apart() -> None:
    values = np.array([1 / 3, 1 / 3, 1 / 3, -1.0])
    assert values.sum() == 0
    assert flip_signs(values).p == 1.0


def test_tangos_interval_of_the_contact_lenses() -> None:
    """Tango 1998, §6: of 44, both right 43, one only right by the first: 90% from -0.096 to 0.037."""
    found = tango(1, 0, 44, confidence=0.9)
    assert (round(found.low, 3), round(found.high, 3)) == (-0.096, 0.037)


@settings(max_examples=examples(30))
@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 60))
def test_the_ends_of_tangos_interval_are_where_the_score_test_just_rejects(b: int, c: int, rest: int) -> None:
    """The nuisance parameter is found here by maximising the likelihood, not by Tango's formula."""
    from scipy.optimize import minimize_scalar

    n = b + c + rest
    found = tango(b, c, n)
    for end, z in ((found.low, 1.959964), (found.high, -1.959964)):

        def loss(p: float, end: float = end) -> float:  # p: only the first right, so p + end: only the second
            parts = ((b, p), (c, p + end), (rest, 1 - 2 * p - end))
            return -sum(count * math.log(max(share, 1e-300)) for count, share in parts if count)

        low, high = max(0.0, -end), (1 - end) / 2
        p = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
        score = (c - b - n * end) / math.sqrt(n * (2 * p + end - end**2))
        assert score == pytest.approx(z, abs=2e-3)


@given(counts, counts, st.integers(1, 100))
def test_tangos_interval_turns_with_the_sides_and_stays_in_range(b: int, c: int, rest: int) -> None:
    here, there = tango(b, c, b + c + rest), tango(c, b, b + c + rest)
    assert (here.low, here.high) == pytest.approx((-there.high, -there.low), abs=1e-9)
    assert -1 <= here.low < (c - b) / (b + c + rest) < here.high <= 1


@pytest.mark.parametrize(("b", "c"), [(0, 8), (8, 0)])
def test_tangos_interval_of_models_that_differ_everywhere(b: int, c: int) -> None:
    found = tango(b, c, 8)
    assert 1.0 in (abs(found.low), abs(found.high))
    assert found.high - found.low < 1


def test_the_t_interval_equals_scipys_where_each_item_has_one_outcome() -> None:
    from scipy.stats import ttest_1samp

    values = draws(25)
    theirs = ttest_1samp(values, 0).confidence_interval()
    found = t_interval(values, np.ones(25))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_t_interval_by_items_has_the_sandwich_of_a_regression_on_a_constant() -> None:
    """Errors robust to clusters: the squared sums of each item's residuals; G / (G - 1) corrects for few clusters."""
    from scipy.stats import t as student

    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 30)
    item = np.repeat(np.arange(30), sizes)
    values = rng.normal(0.2, 1, len(item)) + rng.normal(0, 1, 30)[item]
    mean = values.mean()
    meat = sum(sum(values[item == one] - mean) ** 2 for one in range(30))
    half = student.ppf(0.975, 29) * math.sqrt(meat * 30 / 29) / len(item)
    found = t_interval(np.bincount(item, weights=values).astype(np.float64), sizes.astype(np.float64))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), abs=1e-12)


def test_the_bca_interval_equals_scipys() -> None:
    from scipy.stats import bootstrap

    values = draws(40)
    theirs = bootstrap((values,), np.mean, n_resamples=DRAWS, method="BCa", rng=np.random.default_rng(5))
    found = bca_interval(values, np.ones(40), seed=5)
    assert found is not None
    expected = (theirs.confidence_interval.low, theirs.confidence_interval.high)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_the_bca_interval_by_items_equals_scipys_of_the_ratio() -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 4, 30).astype(float)
    sums = rng.normal(0, 1, 30) * sizes

    def ratio(above: np.ndarray, below: np.ndarray) -> float:
        return float(above.sum() / below.sum())

    theirs = bootstrap(
        (sums, sizes),
        ratio,
        n_resamples=DRAWS,
        paired=True,
        vectorized=False,
        method="BCa",
        rng=np.random.default_rng(0),
    )
    found = bca_interval(sums, sizes)
    assert found is not None
    expected = (theirs.confidence_interval.low, theirs.confidence_interval.high)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [2.0, 2.0], [1.0]])
def test_differences_that_do_not_vary_have_no_interval(values: Sequence[float]) -> None:
    ones = np.ones(len(values))
    assert t_interval(np.array(values), ones) is None
    assert bca_interval(np.array(values), ones) is None
