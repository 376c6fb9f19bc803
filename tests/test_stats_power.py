"""Sample sizes: known values, and powers that simulated experiments reach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wug.stats_paired import mcnemar, mcnemar_power, mean_width, min_items, paired_power, share_width, t_test

SIMULATED = 3000


def test_widths_are_those_of_the_intervals() -> None:
    expected = stats.binomtest(30, 40).proportion_ci(method="wilson")
    assert share_width(0.75, 40) == pytest.approx(expected.high - expected.low)
    assert mean_width(2.0, 25) == pytest.approx(2 * stats.t.ppf(0.975, 24) * 2 / 5)


@pytest.mark.parametrize("wanted", [2, 3, 7, 8, 9, 1000])
def test_the_fewest_items_are_found(wanted: int) -> None:
    assert min_items(lambda items: items >= wanted) == wanted


def test_what_no_number_is_enough_for_has_none() -> None:
    assert min_items(lambda items: False) is None


@pytest.mark.parametrize(("difference", "discordant"), [(0.1, 0.3), (0.2, 0.25), (-0.05, 0.12)])
def test_mcnemars_test_finds_the_difference_as_often_as_computed(difference: float, discordant: float) -> None:
    items = min_items(lambda n: mcnemar_power(difference, discordant, n) >= 0.8)
    assert items is not None
    better, worse = (discordant + difference) / 2, (discordant - difference) / 2
    draws = np.random.default_rng(1).multinomial(items, [better, worse, 1 - better - worse], SIMULATED)
    found = np.mean([mcnemar(int(worse), int(better)).p < 0.05 for better, worse, _ in draws])
    assert 0.77 < found < 0.86  # with few items, a few more than needed


@pytest.mark.parametrize(("difference", "deviation"), [(1.0, 2.0), (0.5, 3.0), (-2.0, 2.5)])
def test_a_paired_t_test_finds_the_difference_as_often_as_computed(difference: float, deviation: float) -> None:
    items = min_items(lambda n: paired_power(difference, deviation, n) >= 0.8)
    assert items is not None
    draws = np.random.default_rng(2).normal(difference, deviation, (SIMULATED, items))
    tests = [t_test(row, np.ones(items)) for row in draws]
    found = np.mean([test is not None and test.p < 0.05 for test in tests])
    assert found == pytest.approx(0.8, abs=0.03)


def test_differences_without_spread_are_found_at_once() -> None:
    assert paired_power(1.0, 0.0, 2) == 1.0
    assert paired_power(1.0, 1.0, 1) == 0.0
