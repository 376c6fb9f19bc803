"""Intervals against scipy's and against values worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.stats import clopper_pearson, estimates, mean_interval, over_runs, wilson
from wug.types import Estimate, Outcome


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_of_shares_equal_scipys(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    successes, n = counts
    for ours, theirs in ((wilson, "wilson"), (clopper_pearson, "exact")):
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
    found = [(e.check, e.group, e.value, e.n, e.method) for e in estimates(outcomes)]
    assert found == [
        ("accuracy", "all", 2 / 3, 3, "wilson"),
        ("accuracy", "type=nonce", 0.5, 2, "wilson"),
        ("accuracy", "type=original", 1.0, 1, "wilson"),
        ("length", "all", 4.0, 1, None),
    ]


def test_the_mean_over_runs_comes_with_the_deviation_of_a_sample_or_of_the_runs() -> None:
    runs = [[Estimate("accuracy", "all", value, 50, 0.0, 1.0, "wilson")] for value in (0.5, 0.6, 0.7)]
    (sample,), (population,) = over_runs(runs), over_runs(runs, population=True)
    assert (sample.value, sample.n, sample.method) == (pytest.approx(0.6), 3, "sd of shares")
    assert (sample.low, sample.high) == (pytest.approx(0.5), pytest.approx(0.7))
    assert population.high == pytest.approx(0.6 + (0.02 / 3) ** 0.5)
    assert population.method == "population sd of shares"


def test_a_value_that_only_one_run_has_comes_without_a_deviation() -> None:
    first, second = Estimate("edits", "all", 4.0, 9), Estimate("edits", "type=rare", 2.0, 1)
    whole, rare = over_runs([[first, second], [first]])
    assert (whole.n, whole.low, whole.high, whole.method) == (2, 4.0, 4.0, "sd")
    assert rare == Estimate("edits", "type=rare", 2.0, 1)
