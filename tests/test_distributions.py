"""Quantiles and tails against SciPy's, on shapes of every size."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from wug.distributions import beta_cdf, beta_quantile, root, sign_test_p, t_cdf, t_quantile

SHAPES = st.floats(0.01, 1e6)


@given(SHAPES, SHAPES, st.floats(0, 1, allow_subnormal=False))
def test_the_share_of_a_beta_distribution_is_scipys(a: float, b: float, x: float) -> None:
    assert beta_cdf(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-8, abs=1e-12)


@given(st.integers(1, 2_000_000), st.floats(0, 1), st.sampled_from([0.005, 0.025, 0.5, 0.975, 0.995]))
def test_quantiles_of_counts_are_scipys(n: int, share: float, tail: float) -> None:
    a, b = round(share * n) + 1.0, n - round(share * n) + 1.0
    assert beta_quantile(a, b, tail) == pytest.approx(float(special.betaincinv(a, b, tail)), rel=1e-9)


@given(st.floats(1, 1e7), st.floats(-50, 50))
def test_the_share_of_students_distribution_is_scipys(freedom: float, t: float) -> None:
    assert t_cdf(freedom, t) == pytest.approx(float(special.stdtr(freedom, t)), rel=1e-8, abs=1e-12)


@given(st.integers(1, 10_000_000), st.floats(0.001, 0.999))
def test_quantiles_of_students_distribution_are_scipys(freedom: int, share: float) -> None:
    assert t_quantile(freedom, share) == pytest.approx(float(special.stdtrit(freedom, share)), rel=1e-8, abs=1e-10)


@given(st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_fair_coin_gives_scipys_p(counts: tuple[int, int]) -> None:
    assert sign_test_p(*counts) == pytest.approx(float(stats.binomtest(*counts, 0.5).pvalue), rel=1e-9, abs=1e-290)


def test_a_quantile_worked_by_hand() -> None:
    """With one degree of freedom Student's distribution is Cauchy's: the quantile of 97.5% is tan(0.475 pi)."""
    assert t_quantile(1, 0.975) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-12)
    assert sign_test_p(1, 5) == 2 * (1 + 5) / 32


@pytest.mark.parametrize("sign", [1, -1])
def test_a_root_is_found_whichever_way_the_function_goes(sign: int) -> None:
    assert root(lambda x: sign * (x**3 - 2), 0, 10) == pytest.approx(2 ** (1 / 3), rel=1e-14)
    assert root(lambda x: sign * x, 0, 1) == 0
