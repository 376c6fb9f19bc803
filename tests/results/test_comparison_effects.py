"""Paired differences of effects and margins, which are computed from the stored details of outcomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import run_factory
from command_line import wug
from wug.families.links import margin_metrics
from wug.outcomes import Metric, Outcome, Result, Signature
from wug.requests import LN2
from wug.results.comparison import ComparisonSettings, compare
from wug.results.store import Store

FIRST = [(-1.0, -2.5), (-3.0, -2.0), (-4.0, -9.0), (-1.0, -1.5), (-2.0, -2.25)]
SECOND = [(-2.0, -2.5), (-3.0, -5.0), (-4.0, -5.0), (-1.0, -4.5), (-6.0, -2.25)]


def result(model: str, scores: list[tuple[float, float]]) -> Result:
    rows = [
        Outcome(str(n), "accuracy", good > bad, {}, {"logprob_good": good, "logprob_bad": bad})
        for n, (good, bad) in enumerate(scores)
    ]
    metrics = (Metric("accuracy"), *margin_metrics("accuracy", "sum", "logprob_good", "logprob_bad", "the good one"))
    signature = Signature.read(f"wug:0|suite:s@1f3a|model:{model}")
    return Result("s", "pairs", model, "complete", signature, len(rows), (), (), tuple(rows), metrics=metrics)


def test_the_difference_of_margins_is_that_of_a_paired_t_test(tmp_path: Path) -> None:
    path = tmp_path / "store"
    runs = [run_factory.keep(path, result(f"kind/{name}@1", found)) for name, found in (("a", FIRST), ("b", SECOND))]
    [contrast] = compare(Store(path), [[run] for run in runs], ComparisonSettings(metrics=["margin"])).contrasts
    first, second = (np.array([good - bad for good, bad in found]) / LN2 for found in (FIRST, SECOND))
    expected = stats.ttest_rel(second, first)
    interval = expected.confidence_interval(0.95)
    assert contrast.value_first == pytest.approx(first.mean())
    assert contrast.difference == pytest.approx((second - first).mean())
    assert (contrast.low, contrast.high) == pytest.approx((interval.low, interval.high))
    assert contrast.p == pytest.approx(expected.pvalue)
    assert not contrast.share


def test_the_items_that_differ_most_have_their_details(tmp_path: Path) -> None:
    path = tmp_path / "store"
    runs = [run_factory.keep(path, result(f"kind/{name}@1", found)) for name, found in (("a", FIRST), ("b", SECOND))]
    choice = ComparisonSettings(metrics=["margin"], items=1)
    [contrast] = compare(Store(path), [[run] for run in runs], choice).contrasts
    [item] = contrast.disagreements
    assert item.item == "2"
    assert (item.first, item.second) == pytest.approx((5 / LN2, 1 / LN2))
    assert item.detail_second["logprob_bad"] == -5.0


def test_an_unknown_metric_is_distinguished_from_a_derived_one(tmp_path: Path) -> None:
    path = tmp_path / "store"
    for name, found in (("a", FIRST), ("b", SECOND)):
        run_factory.keep(path, result(f"kind/{name}@1", found))
    assert "Did you mean 'margin'?" in wug("compare", "1", "2", "--metric", "margn", "--store", path).err
