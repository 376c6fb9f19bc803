"""Intervals against scipy's and against values worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.outcomes import Estimate, Interval, IntervalMethod, Outcome
from wug.stats import (
    clip_to_unit,
    clopper_pearson,
    effective_number,
    estimate,
    estimates,
    mean_interval,
    mean_of_intervals,
    mean_of_shares,
    mean_over_runs,
    ratio_interval,
    wilson,
    with_interval_method,
)
from wug.stats_paired import t_interval


def mostly_zero(n: int, wrong: float, seed: int) -> np.ndarray:
    """Edit distances of a system that has most lines right: long tails, many zeros."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < wrong, np.ceil(rng.lognormal(1.5, 1, n)), 0.0)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_of_shares_equal_scipys(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    successes, n = counts
    methods: list[tuple[Callable[[int, int], Interval], Literal["wilson", "exact"]]]
    methods = [(wilson, "wilson"), (clopper_pearson, "exact")]
    for ours, theirs in methods:
        found, expected = ours(successes, n), binomtest(successes, n).proportion_ci(0.95, method=theirs)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_15_of_19() -> None:
    interval = wilson(15, 19)
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.567, 0.915)


def test_no_observations_say_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


def test_the_interval_of_a_mean() -> None:
    """For 1, 2, 3: mean 2, s = 1, t(2, .975) = 4.302653, so 2 ± 4.302653 / √3."""
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((2 - 2.484138, 2 + 2.484138), abs=1e-5)
    assert mean_interval([1.0]) is None


def test_estimates_of_all_items_then_of_groups() -> None:
    outcomes = [
        Outcome("1", "accuracy", True, {"type": "nonce"}),
        Outcome("2", "accuracy", False, {"type": "nonce"}),
        Outcome("3", "accuracy", True, {"type": "original"}),
        Outcome("3", "length", 4.0),
        Outcome("4", "accuracy", None, {"type": "original"}),
    ]
    found = [(e.metric, e.group, e.value, e.n, e.method) for e in estimates(outcomes)]
    assert found == [
        ("accuracy", "all", 2 / 3, 3, "wilson"),
        ("accuracy", "type=nonce", 0.5, 2, "wilson"),
        ("accuracy", "type=original", 1.0, 1, "wilson"),
        ("length", "all", 4.0, 1, None),
    ]


def test_the_mean_over_runs_comes_with_the_deviation_of_a_sample_or_of_the_runs() -> None:
    runs = [[Estimate("accuracy", "all", value, 50, 0.0, 1.0, "wilson")] for value in (0.5, 0.6, 0.7)]
    (sample,), (population,) = mean_over_runs(runs), mean_over_runs(runs, population=True)
    assert (sample.value, sample.low, sample.high) == pytest.approx((0.6, 0.5, 0.7))
    assert (sample.n, sample.method) == (3, "sd of shares")
    assert population.high == pytest.approx(0.6 + (0.02 / 3) ** 0.5)
    assert population.method == "population sd of shares"


def test_a_value_that_only_one_run_has_comes_without_a_deviation() -> None:
    first, second = Estimate("edits", "all", 4.0, 9), Estimate("edits", "type=rare", 2.0, 1)
    whole, rare = mean_over_runs([[first, second], [first]])
    assert (whole.n, whole.low, whole.high, whole.method) == (2, 4.0, 4.0, "sd")
    assert rare == Estimate("edits", "type=rare", 2.0, 1)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.0] * 50, "none: all values are 0"),
        ([1.0] * 50, "none: all values are 1"),
        ([0.0] * 49 + [7.0], "none: only 1 of 50 values differ from 0"),
        ([1.0] * 81 + [0.5, 0.25] * 9 + [0.0], "none: only 19 of 100 values differ from 1"),
    ],
)
def test_too_few_values_away_from_a_bound_have_no_interval_and_say_why(values: list[float], why: str) -> None:
    found = estimate("edit_distance", "all", values)
    assert (found.low, found.high, found.method) == (None, None, why)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(60, 3000), st.floats(0.05, 0.85), st.integers(0, 10**6))
def test_the_interval_at_a_bound_inverts_halls_statistic(n: int, wrong: float, seed: int) -> None:
    """Hall 1992: the mean is in it while t + γt²/3√n + γ²t³/27n + γ/6√n is within the quantiles of t."""
    from scipy.stats import skew
    from scipy.stats import t as student

    values = mostly_zero(n, wrong, seed)
    assume((values == 0).mean() >= 0.1)  # with fewer, chance may have left no pile at the bound
    made = ratio_interval(values, np.ones(n))
    if (values > 0).sum() < 20:
        assert made.interval is None
        return
    assert made.interval is not None
    assert made.method == "hall"
    g = skew(values) * ((n - 1) / n) ** 1.5  # third moment over the cube of the deviation with n - 1
    for end, point in ((made.interval.low, 0.975), (made.interval.high, 0.025)):
        t = (values.mean() - end) / (values.std(ddof=1) / math.sqrt(n))
        statistic = t + g * t**2 / (3 * math.sqrt(n)) + g**2 * t**3 / (27 * n) + g / (6 * math.sqrt(n))
        assert statistic == pytest.approx(student.ppf(point, n - 1), abs=1e-5)


def test_values_that_lie_at_no_bound_have_students_interval() -> None:
    values = np.random.default_rng(3).normal(8, 2, 15)
    made, expected = ratio_interval(values, np.ones(15)), mean_interval(values.tolist())
    assert made.method == "t"
    assert made.interval is not None
    assert expected is not None
    assert (made.interval.low, made.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_interval_turns_with_the_scale_and_does_not_depend_on_the_order() -> None:
    values = mostly_zero(300, 0.3, seed=5)
    here = ratio_interval(values, np.ones(300)).interval
    turned = ratio_interval(1 - values, np.ones(300)).interval
    shuffled = ratio_interval(np.random.default_rng(1).permutation(values), np.ones(300)).interval
    assert here is not None
    assert turned is not None
    assert shuffled is not None
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((here.low, here.high), abs=1e-12)
    assert (shuffled.low, shuffled.high) == pytest.approx((here.low, here.high), abs=1e-12)


@pytest.mark.parametrize(("n", "wrong"), [(50, 0.02), (50, 0.5), (200, 0.1), (1000, 0.02), (1000, 0.05)])
def test_an_interval_that_is_given_misses_the_truth_in_few_of_a_thousand_samples(n: int, wrong: float) -> None:
    """5% of 1,000 are 50, and three standard deviations more 71; t misses 90 to 450 of them."""
    truth = wrong * float(np.ceil(np.random.default_rng(0).lognormal(1.5, 1, 4_000_000)).mean())
    missed = 0
    for seed in range(1000):
        found = ratio_interval(mostly_zero(n, wrong, seed), np.ones(n)).interval
        missed += found is not None and not found.low <= truth <= found.high
    assert missed <= 71


def test_a_share_of_rows_that_repeat_sources_has_the_interval_of_fewer_rows() -> None:
    """Sources of 1, 1, 2 and 4 rows are worth 8² / (1 + 1 + 4 + 16) = 64 / 22 rows; 6 of 8 right."""
    values, units = [True] * 6 + [False] * 2, ["a", "b", "c", "c", "d", "d", "d", "d"]
    assert effective_number(np.array([1.0, 1.0, 2.0, 4.0])) == pytest.approx(64 / 22)
    found = estimate("accuracy", "all", values, units=units)
    expected = wilson(0.75 * 64 / 22, 64 / 22)
    assert (found.value, found.n, found.method) == (0.75, 8, "wilson, by source")
    assert (found.low, found.high) == (expected.low, expected.high)
    assert expected.low < wilson(6, 8).low
    assert estimate("accuracy", "all", values, "clopper-pearson", units).method == "clopper-pearson, by source"
    assert estimate("accuracy", "all", [True, True], units=["a", "a"]).high == 1.0


def test_the_exact_interval_of_effective_numbers_lies_between_those_of_whole_ones() -> None:
    lows = [clopper_pearson(share * 0.75, share).low for share in (8, 10, 12)]
    assert lows == sorted(lows)


def test_numbers_that_repeat_sources_have_the_interval_between_sources() -> None:
    rng = np.random.default_rng(4)
    units = rng.integers(0, 30, 90)
    values = rng.normal(5, 1, 90) + rng.normal(0, 1, 30)[units]
    found = estimate("surprisal", "all", values.tolist(), units=[str(unit) for unit in units])
    own = np.unique(units)
    sums, sizes = (np.array([float(part[units == one].sum()) for one in own]) for part in (values, np.ones(90)))
    expected = t_interval(sums, sizes)
    assert expected is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (found.n, found.method) == (90, "t, by source")


def test_outcomes_of_one_source_are_one_unit_where_a_group_has_several_of_them() -> None:
    """Items 1 and 2 ask the same source; only `accuracy` of item 1 says so, as in a run."""
    outcomes = [
        Outcome("1", "accuracy", True, {"function": "copy"}, {"source": "copy echo A1 B2"}),
        Outcome("1", "consistency", True, {"function": "copy"}),
        Outcome("2", "accuracy", True, {"function": "echo"}, {"source": "copy echo A1 B2"}),
        Outcome("2", "consistency", False, {"function": "echo"}),
        Outcome("3", "accuracy", False, {"function": "echo"}, {"source": "echo C3 D4"}),
        Outcome("3", "consistency", False, {"function": "echo"}),
    ]
    found = {(e.metric, e.group): e for e in estimates(outcomes)}
    assert found["accuracy", "all"].method == found["consistency", "all"].method == "wilson, by source"
    assert found["accuracy", "function=echo"].method == "wilson"
    effective = 9 / 5
    assert found["consistency", "all"].low == pytest.approx(wilson(effective / 3, effective).low)


def test_an_item_with_several_outcomes_of_a_metric_is_one_unit() -> None:
    rows = [Outcome(item, "accuracy", True) for item in ("x", "x", "y")]
    assert [e.method for e in estimates(rows)] == ["wilson, by item"]


def test_a_method_distinguishes_shares_from_numbers() -> None:
    shares = ("wilson", "clopper-pearson", "wilson, by source", "sd of shares", "population sd of shares")
    numbers = ("t", "hall", "t, by item", "none: all values are 0")
    methods = [IntervalMethod.parse(method) for method in (*shares, *numbers, "ratio", None)]
    assert [method.of_shares for method in methods] == [True] * 5 + [False] * 6
    assert [str(method) for method in methods] == [*shares, *numbers, "ratio", ""]
    assert [(method.name, method.unit, method.reason) for method in (methods[2], methods[8])] == [
        ("wilson", "source", ""),
        ("", "", "all values are 0"),
    ]
    assert [method.is_deviation for method in methods] == [False] * 3 + [True] * 2 + [False] * 6


def test_a_share_that_a_suite_counted_gets_the_interval_that_is_requested() -> None:
    counted = Estimate("exact_match", "type=a", 0.9, 10, *(0.5960, 0.9821), "wilson")
    found = with_interval_method(counted, "clopper-pearson")
    # binom.test(9, 10) in R: 0.5549839 0.9974714
    assert (found.low, found.high) == pytest.approx((0.5549839, 0.9974714), abs=1e-6)
    assert (found.value, found.n, found.method) == (0.9, 10, "clopper-pearson")
    assert with_interval_method(counted, "wilson") == counted
    mean = Estimate("edit_distance", "all", 2.0, 10, 1.0, 3.0, "t")
    assert with_interval_method(mean, "clopper-pearson") == mean


def test_the_mean_of_one_share_has_its_wilson_interval() -> None:
    mean, share = mean_of_shares([(7, 10)]), wilson(7, 10)
    assert (mean.low, mean.high) == pytest.approx((share.low, share.high))


def test_the_mean_of_values_with_intervals_has_the_distances_of_their_ends_combined() -> None:
    mean, low, high = mean_of_intervals([(0.8, 0.6, 0.9), (0.6, 0.4, 0.7)])
    # 0.7 - sqrt(0.2² + 0.2²) / 2 and 0.7 + sqrt(0.1² + 0.1²) / 2
    assert (mean, low, high) == pytest.approx((0.7, 0.558579, 0.770711), abs=1e-6)


def test_the_interval_of_a_mean_of_shares_holds_the_mean_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    shares, sizes = np.array([0.5, 0.9, 0.98]), np.array([30, 100, 400])
    held = 0
    for counts in random.binomial(sizes, shares, (2000, 3)):
        interval = mean_of_shares([(int(right), int(n)) for right, n in zip(counts, sizes, strict=True)])
        held += int(interval.low <= shares.mean() <= interval.high)
    assert 0.93 < held / 2000 < 0.98


def test_each_group_has_its_own_rows_however_they_are_mixed() -> None:
    groups = [{"a": str(number % 2), "b": str(number % 3)} for number in range(12)]
    values = [number % 4 == 0 for number in range(12)]
    rows = [Outcome(str(n), "right", value, some) for n, (value, some) in enumerate(zip(values, groups, strict=True))]
    rows += [Outcome(str(n), "size", n if n % 2 else True, {"a": str(n % 2)}) for n in range(12)]
    found = {(each.metric, each.group): (each.value, each.n) for each in estimates(rows)}
    assert found == {
        ("right", "all"): (3 / 12, 12),
        ("right", "a=0"): (3 / 6, 6),
        ("right", "a=1"): (0.0, 6),
        ("right", "b=0"): (1 / 4, 4),
        ("right", "b=1"): (1 / 4, 4),
        ("right", "b=2"): (1 / 4, 4),
        ("size", "all"): ((6 + 1 + 3 + 5 + 7 + 9 + 11) / 12, 12),
        ("size", "a=0"): (1.0, 6),
        ("size", "a=1"): (6.0, 6),
    }
    assert [each.group for each in estimates(rows)][:6] == ["all", "a=0", "b=0", "a=1", "b=1", "b=2"]


def test_intervals_are_clipped_to_the_range_of_their_unit() -> None:
    found = estimate("x", "all", [1.0, 3.0])
    # The mean is 2, its standard error 1, and t with one degree of freedom is 12.706 at 97.5%.
    assert [found.low, found.high] == pytest.approx([-10.706, 14.706], abs=1e-3)
    for unit in ("tokens", "count", "distance"):
        cut = clip_to_unit(found, unit)
        assert (cut.value, cut.low, cut.high) == (2.0, 0.0, found.high)
    assert clip_to_unit(found, "bits") == found
    assert clip_to_unit(estimate("x", "all", [2.0]), "distance").low is None
    few = estimate("x", "all", [0.5, 0.9])
    assert few.high == pytest.approx(0.7 + 12.706 * 0.2, abs=1e-3)
    assert clip_to_unit(few, "share").high == 1


@pytest.mark.parametrize(
    ("values", "mean"), [([1.0, math.inf], math.inf), ([-math.inf, 2.0], -math.inf), ([math.inf, -math.inf], math.nan)]
)
def test_a_mean_with_infinite_values_has_no_interval(values: list[float], mean: float) -> None:
    found = estimate("surprisal", "all", values)
    assert found.value == pytest.approx(mean, nan_ok=True)
    assert (found.low, found.high, found.method) == (None, None, "none: some values are not finite")
