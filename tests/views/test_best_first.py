"""The order of results: the best first, whether higher or lower values are better."""

from __future__ import annotations

import pytest

from wug.formatting import format_estimate
from wug.outcomes import Better, Estimate, Metric, Result, Signature
from wug.views.grouped import best_first


@pytest.mark.parametrize(("better", "order"), [("higher", ["b", "c", "a"]), ("lower", ["a", "c", "b"])])
def test_the_best_group_comes_first(better: Better, order: list[str]) -> None:
    metric = Metric("perplexity", "score", better)
    estimates = tuple(
        Estimate("perplexity", f"field={name}", value, 9) for name, value in (("a", 12.0), ("b", 40.0), ("c", 25.0))
    )
    result = Result("s", "pairs", "x/y", "complete", Signature(()), 9, estimates, metrics=(metric,))
    rows = [format_estimate(result, estimate, estimate.group.partition("=")[2]) for estimate in estimates]
    assert [row.group for row in best_first(rows)] == order
