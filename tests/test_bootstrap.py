"""Bootstrap intervals equal a plain loop over the same samples, and know when there are too few values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wug.distributions import DRAWS, SEED, bootstrap_t
from wug.outcomes import Derivation, Outcome, effect_metrics
from wug.stats import EstimateAccumulator

VALUES = np.array([3.1, -0.4, 2.2, 7.9, 1.3, 0.2, 4.4, 2.8])


def by_loop(sums: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    n = len(sums)
    mean = sums.sum() / sizes.sum()

    def error(s: np.ndarray, z: np.ndarray) -> float:
        left = s - s.sum() / z.sum() * z
        return float(math.sqrt(n / (n - 1) * (left**2).sum()) / z.sum())

    studentised = []
    for places in np.random.default_rng(SEED).integers(0, n, (DRAWS, n)):
        s, z = sums[places], sizes[places]
        difference = s.sum() / z.sum() - mean
        spread = error(s, z)
        studentised.append(difference / spread if spread > 1e-9 else math.copysign(math.inf, difference))
    ordered = sorted(studentised)
    low, high = ordered[math.ceil(0.025 * DRAWS) - 1], ordered[math.ceil(0.975 * DRAWS) - 1]
    return mean - high * error(sums, sizes), mean - low * error(sums, sizes)


@pytest.mark.parametrize("sizes", [np.ones(8), np.array([1.0, 2, 1, 3, 1, 1, 2, 1])])
def test_the_interval_is_that_of_a_plain_loop(sizes: np.ndarray) -> None:
    assert bootstrap_t(VALUES * sizes, sizes) == pytest.approx(by_loop(VALUES * sizes, sizes), rel=1e-6)


def test_values_of_which_too_few_differ_have_no_interval() -> None:
    assert bootstrap_t(np.array([1.0, 0, 0, 0, 0, 0]), np.ones(6)) is None


def collected(
    values: list[float | None], groups: list[str], judged: list[bool | None] | None = None
) -> EstimateAccumulator:
    effect = effect_metrics("effect", Derivation("holds", "plus", "minus", 2.0), "an effect")
    found = EstimateAccumulator(effect)
    for n, (value, group) in enumerate(zip(values, groups, strict=True)):
        detail = {} if value is None else {"plus": value, "minus": 1.0}
        holds = True if judged is None else judged[n]
        found.add(Outcome(str(n), "other", True, {}))
        found.add(Outcome(str(n), "holds", holds, {"group": group}, detail))
    return found


def test_effects_are_means_of_details_by_group_and_over_all_items() -> None:
    found = collected([2.0, 4.0, None, 3.0], ["a", "b", "a", "a"]).estimates("wilson")
    made = [(one.metric, one.group, one.value, one.n) for one in found if "effect" in one.metric]
    # 2 (plus − 1): 2, 6 and 4
    assert made == [
        ("effect", "all", 4.0, 3),
        ("standardised_effect", "all", 2.0, 3),
        ("effect", "group=a", 3.0, 2),
        ("effect", "group=b", 6.0, 1),
    ]


def test_an_item_that_was_not_judged_has_no_effect() -> None:
    found = collected([2.0, 4.0], ["a", "a"], [True, None]).estimates("wilson")
    assert [(one.value, one.n) for one in found if one.metric == "effect" and one.group == "all"] == [(2.0, 1)]


@pytest.mark.parametrize(("n", "method"), [(4, "t"), (5, "bootstrap-t"), (200, "bootstrap-t"), (201, "t")])
def test_few_and_many_items_have_students_interval(n: int, method: str) -> None:
    values: list[float | None] = [math.sin(place) for place in range(n)]
    found = collected(values, ["a"] * n).estimates("wilson")
    assert [one.method for one in found if (one.metric, one.group) == ("effect", "all")] == [method]


def test_equal_effects_have_no_interval_and_no_standardised_effect() -> None:
    found = collected([2.0] * 6, ["a"] * 6).estimates("wilson")
    assert [(one.metric, one.method) for one in found if "effect" in one.metric and one.group == "all"] == [
        ("effect", "none: all values are 2")
    ]
