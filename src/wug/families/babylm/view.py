"""The view of BabyLM's tasks: the score of the leaderboard, charts by group, and completions as choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wug.families.babylm.suite import ACCURACY, MACRO
from wug.formatting import format_estimate
from wug.outcomes import Result
from wug.rows import Rows
from wug.views import grouped
from wug.views.family_views import view_of
from wug.views.parts import EstimatesPart, ItemsView, ViewPart


def question(result: Result) -> str:
    """What a task of completions asks; empty for other tasks."""
    completions = any(metric.name == ACCURACY for metric in result.metrics)
    return "Does the model give the right completion a higher probability than the others?" if completions else ""


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """The estimates over all items, the score of the leaderboard, and charts by group."""
    yield from grouped.overall_parts(result)
    for estimate in result.estimates:
        if estimate.group == MACRO:
            macro_estimate = format_estimate(result, estimate)
            yield EstimatesPart(
                (replace(macro_estimate, name="mean of paradigms", meaning="the score of the leaderboard"),)
            )
    yield from grouped.group_figures(result)


def items(result: Result, rows: Rows) -> ItemsView:
    """Every item: completions as choices."""
    view = view_of("choices") if ACCURACY in rows.metrics() else grouped
    return view.items(result, rows)
