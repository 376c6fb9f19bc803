"""Charts of the differences between the sides of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wug.errors import InputError
from wug.formatting import metric_label
from wug.labels import caption
from wug.results.contrasts import Contrast, RunComparison
from wug.views import chart_files, charts
from wug.views.comparison import COLUMNS, difference, interval, p_text, row, side_names, verdict
from wug.views.parts import Figure

if TYPE_CHECKING:
    import altair


def chart(comparison: RunComparison) -> altair.VConcatChart:
    """All charts below each other, under the names of the sides."""
    drawn_figures = figures(comparison)
    if not drawn_figures:
        raise InputError("there is no difference to draw")
    about = dict.fromkeys(line for figure in drawn_figures for line in (figure.about, figure.note))
    panels: altair.VConcatChart = chart_files.stack_charts([figure.chart for figure in drawn_figures]).properties(
        title=chart_files.title("Differences between models", *about)
    )
    return panels


def figures(comparison: RunComparison) -> list[Figure]:
    """One chart for proportions, in percentage points, and one per metric with other values."""
    names = side_names(comparison)
    panels: dict[str, list[Contrast]] = {}
    for contrast in comparison.contrasts:
        panels.setdefault("" if contrast.share else contrast.metric, []).append(contrast)
    return [
        _figure(metric, contrasts, names, f"compared-{index}")
        for index, (metric, contrasts) in enumerate(panels.items())
    ]


def _figure(metric: str, contrasts: Sequence[Contrast], names: Mapping[str, str], id: str) -> Figure:
    share, name = not metric, metric_label(metric, contrasts[0].kind)
    side_pairs = list(dict.fromkeys(_minus(c, names) for c in contrasts))
    subject = side_pairs[0] if len(side_pairs) == 1 else "Differences"
    title = "difference (percentage points)" if share else f"difference in {name}"
    has_metrics = len({c.metric for c in contrasts}) > 1
    scale = 100 if share else 1
    points = [
        charts.Point(
            row=metric_label(c.metric, c.kind) if has_metrics else c.suite,
            value=scale * c.difference,
            low=None if c.low is None else scale * c.low,
            high=None if c.high is None else scale * c.high,
            n=c.n,
            series=_minus(c, names) if len(side_pairs) > 1 else "",
            group=c.suite if has_metrics else "",
        )
        for c in contrasts
    ]
    counts = {c.n for c in contrasts}
    about = caption([c.suite for c in contrasts], (), counts.pop() if len(counts) == 1 else None)
    return Figure(
        id=id,
        draw=partial(charts.intervals, points, title=title, series_are="pair", zero=True),
        title="Differences in percent correct" if share else f"Differences in {name}",
        note=f"{subject} on the items that both have, with 95% intervals.",
        about=about,
        columns=("suite", "metric", "pair", "difference", "95% interval", "p", "p (Holm)", "verdict"),
        rows=tuple(
            (
                *(c.suite, metric_label(c.metric, c.kind), _minus(c, names)),
                *(difference(c), interval(c), p_text(c.p), p_text(c.p_holm), verdict(c)),
            )
            for c in contrasts
        ),
        records=tuple(dict(zip(COLUMNS, row(c), strict=True)) for c in contrasts),
    )


def _minus(c: Contrast, names: Mapping[str, str]) -> str:
    return f"{names[c.second.label]} − {names[c.first.label]}"
