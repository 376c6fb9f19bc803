"""Learning curves, sweeps and models by suites: as tables for terminal and files, and as charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from wug import registry
from wug.formatting import FormattedEstimate, headline_estimate, interval_text, metric_label, signed_text, value_text
from wug.identity import IMPORTED, OVERALL
from wug.labels import caption
from wug.outcomes import Estimate, Result, Signature
from wug.results.learning_curves import Curve, Curves
from wug.results.sweep_curves import MatrixLine, SweepComparison, SweepMatrix
from wug.tables import Display, FormattedTable, RowTable
from wug.views import charts, vega
from wug.views.comparison import p_text
from wug.views.grouped import chance_level
from wug.views.parts import Figure
from wug.views.terminal import print_notes, print_table

if TYPE_CHECKING:
    import altair


MAX_TERMINAL_ROWS = 60
"""Rows that a terminal shows; the middle of a longer table is left out."""
STEP = "training step"
MIN_LOG_RATIO = 50
"""Ratio of the last training step to the first from which on their axis is logarithmic."""
_UNIT = re.compile(r"epoch|tokens", re.IGNORECASE)
CURVE_COLUMNS = ("suite", "kind", "metric", "model", "step", "value", "n", "low", "high", "method", "runs")
CURVE_HEAD = ("suite", "metric", "model", "step", "value", "interval", "n", "run")
COMPARISON_COLUMNS = ("suite", "metric", "step", "first", "second", "difference", "low", "high", "p", "p_holm", "n")
COMPARISON_HEAD = ("suite", "metric", "step", "A", "B", "difference", "95% interval", "p", "p (Holm)")
MAX_COLUMNS = 8
"""Suites, curves or steps that a table on the terminal has as columns."""
MAX_ROWS, MAX_ROWS_BY_FIELD = 20, 100
"""Curves that a terminal shows as rows: of suites, and of a field that the user names."""
MATRIX_COLUMNS = ("model", "run", "status", "suite", "metric", "value", "low", "high", "n")


def curve_table(curves: Curves) -> RowTable:
    """One row per point of the curves."""
    signatures = [str(signature) for signature in curves.signatures]
    return RowTable(
        CURVE_COLUMNS,
        _point_rows(curves),
        display=Display([FormattedTable(CURVE_HEAD, _curve_rows(curves), "lllrrcrr", {}, signatures)]),
        document={**asdict(curves), "signatures": signatures},
    )


def show_points(curves: Curves, console: Console) -> None:
    """Print the curves point by point."""
    print_table(FormattedTable(CURVE_HEAD, _curve_rows(curves), "lllrrrrr"), console, group_columns=3)
    note = "Intervals are 95%; ± is one standard deviation between runs."
    print_notes(console, [note], curves.warnings, curves.signatures)


def show_curves(curves: Curves, console: Console, *, by_field: bool = False) -> None:
    """Print the curves as columns; more than fit as rows, those of the first suites unless `by_field`."""
    total, steps = len(curves.curves), _steps(curves)
    if total > MAX_COLUMNS:
        curves = replace(curves, curves=_leading_curves(curves.curves, MAX_ROWS_BY_FIELD if by_field else MAX_ROWS))
        curve_count, steps = len(curves.curves), _spread(steps, MAX_COLUMNS)
        counts = ((curve_count, total, "curves"), (len(steps), len(_steps(curves)), "steps"))
        limits = [f"{count:,} of {full_count:,} {noun}" for count, full_count, noun in counts if count < full_count]
        if limits:
            console.print(Text(f"{', '.join(limits)}; all with --format csv", style="dim"))
    names = curve_names(list(curves.curves))
    values = [{p.step: value_text(p.value, share=c.share) for p in c.points} for c in curves.curves]
    columns = [f"{step:,.10g}" for step in steps]
    cells = [[column.get(step, "–") for step in steps] for column in values]
    if total > MAX_COLUMNS:
        rows = [(name, *row) for name, row in zip(names, cells, strict=True)]
        table = FormattedTable(("step", *columns), rows, "l" + "r" * len(columns))
    else:
        rows = list(zip(columns, *cells, strict=True))
        table = FormattedTable(("step", *names), _without_middle(rows), "r" * (1 + len(names)))
    print_table(table, console)
    max_runs = max((len(point.runs) for curve in curves.curves for point in curve.points), default=1)
    notes = [f"Means of up to {max_runs} runs per step."] if max_runs > 1 else []
    print_notes(console, notes, (), curves.signatures)


def curve_figures(curves: Curves, unit: str = STEP) -> list[Figure]:
    """One chart for proportions, and one per metric with other values."""
    panels: dict[str, list[Curve]] = {}
    for curve in curves.curves:
        panels.setdefault("share of items" if curve.share else metric_label(curve.metric, curve.kind), []).append(curve)
    return [_curve_figure(curves, title, panel, index, unit) for index, (title, panel) in enumerate(panels.items())]


def sweep_figures(curves: Curves, scale: str = "", unit: str = STEP) -> list[Figure]:
    """The charts of learning curves; `scale` is `log`, `linear`, or empty to choose it by the range of the steps."""
    steps, figures = _steps(curves), curve_figures(curves, unit)
    if (scale or default_scale(steps)) == "linear":
        return figures
    return [replace(figure, draw=partial(_on_log_steps, figure.draw, steps, unit)) for figure in figures]


def default_scale(steps: Sequence[float]) -> str:
    """`log` if the last step is many times the first, else `linear`."""
    positive_steps = [step for step in steps if step > 0]
    return "log" if positive_steps and max(positive_steps) >= MIN_LOG_RATIO * min(positive_steps) else "linear"


def step_unit(names: Iterable[str]) -> str:
    """The unit of training steps by the names of checkpoints: `epoch`, `tokens`, or `training step`."""
    units = {match[0].lower() if (match := _UNIT.search(name)) else STEP for name in names}
    return units.pop() if len(units) == 1 else STEP


def curve_names(curves: Sequence[Curve]) -> list[str]:
    """A unique name per curve: suite, metric and model as far as they differ."""
    prefix = f"{IMPORTED}:" if all(curve.series.startswith(f"{IMPORTED}:") for curve in curves) else ""
    parts = [
        (curve.suite, metric_label(curve.metric, curve.kind), curve.series.removeprefix(prefix)) for curve in curves
    ]
    indices = [index for index in range(3) if len({part[index] for part in parts}) > 1] or [1]
    return [" · ".join(part[index] for index in indices) for part in parts]


def comparison_table(comparison: SweepComparison) -> RowTable:
    """Two sweeps step by step: one row per test and step, and one over all steps."""
    rows = [
        (
            *(c.suite, c.metric, step.step, c.value_first, c.value_second, c.difference),
            *(c.low, c.high, c.p, c.p_holm, c.n),
        )
        for step in comparison.steps
        for c in [step.contrast]
    ]
    signatures = [str(signature) for signature in _signatures(comparison)]
    return RowTable(
        COMPARISON_COLUMNS,
        rows,
        display=Display(
            [FormattedTable(COMPARISON_HEAD, _comparison_rows(comparison), "llrrrrcrr", {}, signatures)],
            warnings=comparison.warnings,
        ),
        document={
            "first": comparison.first,
            "second": comparison.second,
            "steps": [dict(zip(COMPARISON_COLUMNS, row, strict=True)) for row in rows],
            "warnings": list(comparison.warnings),
        },
    )


def show_comparison(comparison: SweepComparison, console: Console) -> None:
    """Print two sweeps step by step."""
    console.print(Text(f"A = {comparison.first}\nB = {comparison.second}"))
    print_table(FormattedTable(COMPARISON_HEAD, _comparison_rows(comparison), "llrrrrrrr"), console, group_columns=2)
    print_notes(console, (), comparison.warnings, _signatures(comparison))


def result_matrix(runs: Iterable[tuple[str, int | None, Sequence[Result]]]) -> SweepMatrix:
    """The matrix of results that are at hand: models, the numbers of their runs, and their results."""
    models = list(runs)
    all_results = [result for _, _, results in models for result in results]
    suites = tuple(dict.fromkeys(result.suite for result in all_results))
    lines = []
    for model, number, results in models:
        by_suite = {result.suite: result for result in results}
        status = "failed" if any(result.status == "failed" for result in results) else "complete"
        lines.append(MatrixLine(model, number, status, tuple(by_suite.get(suite) for suite in suites)))
    return SweepMatrix(suites, tuple(lines), tuple(dict.fromkeys(result.signature for result in all_results)))


def matrix_table(matrix: SweepMatrix) -> RowTable:
    """One row per model and suite with its headline; for people, one row per model."""
    rows = [
        (
            *(line.model, line.run, line.status, suite),
            *((None,) * 5 if cell is None else (cell.metric, cell.value, cell.low, cell.high, cell.n)),
        )
        for line in matrix.lines
        for suite, cell in zip(matrix.suites, map(headline_estimate, line.results), strict=True)
    ]
    signatures = [str(signature) for signature in matrix.signatures]
    return RowTable(
        MATRIX_COLUMNS,
        rows,
        display=Display([replace(_formatted_matrix(matrix), signatures=signatures)]),
        document={"rows": [dict(zip(MATRIX_COLUMNS, row, strict=True)) for row in rows], "signatures": signatures},
    )


def show_matrix(matrix: SweepMatrix, console: Console) -> None:
    """Print models by suites, as many as fit."""
    if (total := len(matrix.suites)) > MAX_COLUMNS:
        console.print(Text(f"{MAX_COLUMNS} of {total} suites; all with --format csv", style="dim"))
        lines = tuple(line._replace(results=line.results[:MAX_COLUMNS]) for line in matrix.lines)
        matrix = matrix._replace(suites=matrix.suites[:MAX_COLUMNS], lines=lines)
    table = _formatted_matrix(matrix)
    print_table(replace(table, rows=_without_middle(table.rows)), console)
    names = metric_names(matrix.suites, (list(map(headline_estimate, line.results)) for line in matrix.lines))
    print_notes(console, [f"Values: {names}."], (), matrix.signatures)


def metric_names(suites: Sequence[str], rows: Iterable[Sequence[FormattedEstimate | None]]) -> str:
    """The metrics of a matrix, with their suites if there are several metrics."""
    metrics: dict[str, dict[str, None]] = {}
    for cells in rows:
        for suite, cell in zip(suites, cells, strict=True):
            if cell is not None:
                metrics.setdefault(cell.name, {})[suite] = None
    if len(metrics) < 2:
        return "".join(metrics) or "none"
    return ", ".join(f"{metric} ({', '.join(names)})" for metric, names in metrics.items())


def step_axis(steps: Sequence[float], unit: str = STEP) -> Any:
    """The horizontal axis of training steps: logarithmic, and linear below the first step if one of them is 0."""
    alt = vega.altair()
    positive_steps = [step for step in steps if step > 0]
    first, last = positive_steps[0], positive_steps[-1]
    has_zero = steps[0] <= 0
    kind = {"type": "symlog", "constant": first} if has_zero else {"type": "log"}
    scale = alt.Scale(**kind, domain=[0 if has_zero else first, last], nice=False)
    marks = (10.0**power * factor for power in range(-3, 16) for factor in (1, 2, 5))
    ticks = [*([0.0] if has_zero else []), first, *(mark for mark in marks if first < mark < last), last]
    # The format of an axis would give all ticks the prefix of the largest: 0k for 100.
    label = "format(datum.value, '~s')"
    axis = alt.Axis(
        values=ticks, labelExpr=label, grid=False, labelFlush=False, labelOverlap="greedy", labelSeparation=6
    )
    return alt.X("x:Q", title=unit, scale=scale, axis=axis)


def _on_log_steps(draw: Callable[[], altair.LayerChart], steps: list[float], unit: str) -> altair.LayerChart:
    alt = vega.altair()
    chart = draw()
    for layer in chart.layer if sum(step > 0 for step in steps) > 1 else ():
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x = step_axis(steps, unit)
    return chart


def _curve_figure(curves: Curves, title: str, panel: list[Curve], index: int, unit: str) -> Figure:
    panel_curves = replace(curves, curves=tuple(panel))
    # The values of some metrics are the chance levels of others.
    charted_curves = [
        curve for curve in panel if curve.metric not in registry.family_traits(curve.kind).chance_levels.values()
    ] or panel
    levels = {curve.suite: level for curve in charted_curves if (level := _chance(curve, panel)) is not None}
    chance = next(iter(levels.values())) if len(set(levels.values())) == 1 else None
    is_partial = chance is not None and len(levels) < len({curve.suite for curve in charted_curves})
    points = [
        charts.LinePoint(p.step, p.value, p.low, p.high, p.n, name, run=p.runs[0] if len(p.runs) == 1 else None)
        for name, curve in zip(curve_names(charted_curves), charted_curves, strict=True)
        for p in curve.points
    ]
    note = []
    if any(point.low is not None for point in points):
        note.append("With 95% intervals; points of several runs with one standard deviation on either side.")
    if is_partial:
        note.append(f"The chance level is that of {', '.join(levels)}.")
    x = unit if index == 0 else f"{unit} ({title})"
    counts = {p.n for curve in charted_curves for p in curve.points}
    return Figure(
        id=f"curve-{index}",
        draw=partial(charts.curves, points, x=x, title=title, share=panel[0].share, chance_level=chance),
        title=f"Over training: {title}",
        about=caption(
            (curve.suite for curve in charted_curves),
            (curve.series for curve in charted_curves),
            counts.pop() if len(counts) == 1 else None,
        ),
        note=" ".join(note),
        columns=CURVE_HEAD,
        rows=tuple(_curve_rows(panel_curves)),
        records=tuple(dict(zip(CURVE_COLUMNS, row, strict=True)) for row in _point_rows(panel_curves)),
    )


def _chance(curve: Curve, panel: Sequence[Curve]) -> float | None:
    """The chance level of a curve: its family's, or the last value of the suite's curve of chance levels."""
    last_estimates = [
        Estimate(c.metric, OVERALL, c.points[-1].value, c.points[-1].n) for c in panel if c.suite == curve.suite
    ]
    return chance_level(curve.kind, curve.metric, last_estimates)


def _point_rows(curves: Curves) -> list[tuple[Any, ...]]:
    return [
        (c.suite, c.kind, c.metric, c.series, p.step, p.value, p.n, p.low, p.high, p.method, ",".join(map(str, p.runs)))
        for c in curves.curves
        for p in c.points
    ]


def _curve_rows(curves: Curves) -> list[tuple[str, ...]]:
    return [
        (
            *(c.suite, metric_label(c.metric, c.kind), c.series, f"{p.step:,.10g}", value_text(p.value, share=c.share)),
            interval_text(p.low, p.high, p.method, share=c.share) or "–",
            *(f"{p.n:,}", ", ".join(map(str, p.runs))),
        )
        for c in curves.curves
        for p in c.points
    ]


def _comparison_rows(comparison: SweepComparison) -> list[tuple[str, ...]]:
    return [
        (
            *(c.suite, metric_label(c.metric, c.kind), "all" if step.step is None else f"{step.step:,.10g}"),
            *(value_text(c.value_first, share=c.share), value_text(c.value_second, share=c.share)),
            signed_text(c.difference, share=c.share),
            interval_text(c.low, c.high, c.interval_method or None, share=c.share) or "–",
            *(p_text(c.p), p_text(c.p_holm)),
        )
        for step in comparison.steps
        for c in [step.contrast]
    ]


def _formatted_matrix(matrix: SweepMatrix) -> FormattedTable:
    rows = []
    for line in matrix.lines:
        placeholder = "–" if line.status == "complete" else line.status
        cells = map(headline_estimate, line.results)
        rows.append((line.model, *(placeholder if cell is None else cell.text for cell in cells)))
    return FormattedTable(("model", *matrix.suites), rows, "l" + "r" * len(matrix.suites))


def _steps(curves: Curves) -> list[float]:
    return sorted({point.step for curve in curves.curves for point in curve.points})


def _leading_curves(curves: Sequence[Curve], limit: int) -> tuple[Curve, ...]:
    """The curves of the first suites, as many as fit: all models of a suite together."""
    suites: dict[str, list[Curve]] = {}
    for curve in curves:
        suites.setdefault(curve.suite, []).append(curve)
    first_curves: list[Curve] = []
    for suite_curves in suites.values():
        if first_curves and len(first_curves) + len(suite_curves) > limit:
            break
        first_curves += suite_curves
    return tuple(first_curves[:limit])


def _spread(steps: Sequence[float], limit: int) -> list[float]:
    """As many of the steps, from the first to the last."""
    if len(steps) <= limit:
        return list(steps)
    return [steps[round(index * (len(steps) - 1) / (limit - 1))] for index in range(limit)]


def _without_middle(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    if len(rows) <= MAX_TERMINAL_ROWS:
        return list(rows)
    half_limit = MAX_TERMINAL_ROWS // 2
    gap_row = (f"… {len(rows) - 2 * half_limit:,} more …", *["…"] * (len(rows[0]) - 1))
    return [*rows[:half_limit], gap_row, *rows[-half_limit:]]


def _signatures(comparison: SweepComparison) -> list[Signature]:
    return list(dict.fromkeys(mark for step in comparison.steps for mark in step.contrast.signatures))
