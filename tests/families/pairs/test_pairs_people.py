"""Human judgements compared with the model's, checked against scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fake_models import FakeScorer, text_scores
from wug.evaluation.evaluate import build_result
from wug.families.correlations import correlation, ranks
from wug.families.pairs.outcomes import HumanCorrelations
from wug.families.pairs.pair import Pair
from wug.families.pairs.scoring import PairsSettings
from wug.families.pairs.suite import PairsSuite
from wug.outcomes import Estimate, Notice, Outcome, Result
from wug.results.queries import table_of
from wug.views.family_views import computed_parts, parts_of
from wug.views.parts import Figure


def judged(margins: Sequence[float], human: Sequence[float | None]) -> Result:
    pairs = [Pair(str(n), f"good {n}", f"bad {n}", {}, human=value) for n, value in enumerate(human)]
    suite = PairsSuite("people", pairs, "0", settings=PairsSettings(), format="blimp")
    logprobs = {f"good {n}": -10.0 + margin for n, margin in enumerate(margins)}
    logprobs |= {f"bad {n}": -10.0 for n in range(len(margins))}
    return build_result(suite, "given", "wug:0|suite:people", suite.run(FakeScorer(text_scores(logprobs.__getitem__))))


def numbers(result: Result) -> dict[str, Estimate]:
    return {one.metric: one for one in result.estimates if one.group == "all"}


@pytest.mark.parametrize(("n", "seed", "step"), [(5, 1, 0.0), (40, 2, 0.0), (40, 3, 0.5), (300, 4, 1.0)])
def test_correlations_are_scipys(n: int, seed: int, step: float) -> None:
    draw = np.random.default_rng(seed)
    margins = draw.normal(size=n)
    human = margins + draw.normal(size=n)
    if step:  # as on a scale of few values, with many ties
        margins, human = np.round(margins / step) * step, np.round(human / step) * step
    found = numbers(judged(margins.tolist(), human.tolist()))
    pearson = scipy_stats.pearsonr(margins, human)
    assert found["pearson"].value == pytest.approx(pearson.statistic, abs=1e-9)
    interval = pearson.confidence_interval(0.95)
    assert (found["pearson"].low, found["pearson"].high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert found["spearman"].value == pytest.approx(scipy_stats.spearmanr(margins, human).statistic, abs=1e-9)
    assert found["pearson"].n == found["spearman"].n == n
    assert (found["pearson"].method, found["spearman"].method) == ("fisher z", "bonett-wright")


def test_spearmans_interval_is_that_of_bonett_and_wright() -> None:
    # Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6 · 4 / (5 · 24) = 0.8; √((1 + 0.32) / 2) = 0.8124
    found = numbers(judged([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]))["spearman"]
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(math.tanh(math.atanh(0.8) - 1.959964 * 0.812404), abs=1e-5)
    assert found.high == pytest.approx(math.tanh(math.atanh(0.8) + 1.959964 * 0.812404), abs=1e-5)


def test_ranks_are_scipys_and_large_numbers_do_not_overflow() -> None:
    values = np.array([3.0, 1.0, 3.0, -2.0, 3.0, 1.0])
    assert ranks(values).tolist() == scipy_stats.rankdata(values).tolist()
    assert correlation(np.array([1e200, 2e200, 4e200]), np.array([1e-200, 2e-200, 4e-200])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("margins", "human", "why"),
    [
        ([1, 2, 3], [4, 4, 4], "people's judgements are all 4"),
        ([2, 2, 2], [1, 2, 3], "the model's margins are all 2"),
        ([1, 2], [1, 2], "2 of at least 3 pairs were judged by both people and the model"),
    ],
)
def test_where_there_is_no_correlation_the_reason_is_given(margins: list[float], human: list[float], why: str) -> None:
    result = judged(margins, human)
    assert not set(numbers(result)) & {"pearson", "spearman"}
    assert f"no correlation with people's judgements: {why}" in result.warnings


def test_few_or_perfect_points_have_no_interval_and_the_reason() -> None:
    three = numbers(judged([1, 3, 2], [1, 2, 3]))["pearson"]
    assert three.value == pytest.approx(0.5)
    assert (three.low, three.method) == (None, "none: 3 pairs are too few")
    line = numbers(judged([1, 2, 3, 4], [1, 2, 3, 4]))["spearman"]
    assert (line.value, line.low, line.method) == (1.0, None, "none: all points lie on a line")


def test_pairs_that_nobody_judged_are_left_out_and_without_any_there_is_nothing() -> None:
    some = judged([1, 2, 3, 9], [3, 2, 1, None])
    assert numbers(some)["pearson"].n == 3
    assert [metric.name for metric in some.metrics if not metric.derived] == ["accuracy", "pearson", "spearman"]
    assert some.metric("pearson").unit == "score"
    none = judged([1, 2, 3], [None, None, None])
    assert ([metric.name for metric in none.metrics if not metric.derived], none.warnings) == (["accuracy"], ())
    assert not any(isinstance(part, Figure) and part.id == "people" for part in _parts(none))


def test_a_pair_without_a_finite_margin_is_counted() -> None:
    found = HumanCorrelations()
    for n, logprob in enumerate([-1.0, -2.0, -4.0, -math.inf]):
        detail = {"good": "a", "bad": "b", "logprob_good": logprob, "logprob_bad": -3.0, "human": float(n)}
        found.add(Outcome(str(n), "accuracy", logprob > -3, {}, detail))
    *_, notice = found.rows()
    assert isinstance(notice, Notice)
    assert notice.text.startswith("1 pair that people judged left out")


def test_the_chart_has_a_dot_for_each_pair() -> None:
    result = judged([1.5, -2, 0, 4], [3, 1, 2, 2.5])
    [figure] = [part for part in _parts(result) if isinstance(part, Figure) and part.id == "people"]
    assert figure.rows == (("0", "3", "1.5"), ("1", "1", "−2"), ("2", "2", "0"), ("3", "2.5", "4"))
    spec = figure.chart.to_dict()
    [data] = [found for found in _values(spec) if len(found) == 4]
    assert [(one["x"], one["y"], one["series"]) for one in data] == [
        (3, 1.5, "right"), (1, -2, "wrong or tied"), (2, 0, "wrong or tied"), (2.5, 4, "right"),
    ]  # fmt: skip


def test_a_chart_of_very_many_pairs_has_some_of_them() -> None:
    n = 2500
    result = judged([float(k % 97) for k in range(n)], [float(k % 89) for k in range(n)])
    [figure] = [part for part in _parts(result) if isinstance(part, Figure) and part.id == "people"]
    assert "The chart has 2,000 of 2,500 pairs" in figure.note
    assert len(figure.rows) == 1000


def _parts(result: Result) -> list[object]:
    return list(computed_parts(parts_of(result, table_of(result.outcomes))))


def _values(spec: object) -> list[list[dict[str, Any]]]:
    if isinstance(spec, dict):
        own = [spec["values"]] if isinstance(spec.get("values"), list) else []
        return own + [found for value in spec.values() for found in _values(value)]
    return [found for value in spec for found in _values(value)] if isinstance(spec, list) else []
