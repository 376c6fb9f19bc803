"""Sweeps for the terminal, other programs and charts: values by training step, and two sweeps step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.views import learning_curves as learning
from wug.views.comparison import p_text
from wug.views.markup import latex_table, markdown_table
from wug.views.numbers import interval_text, signed_text, spaced, value_text
from wug.views.parts import Figure
from wug.views.table import delimited, finite
from wug.views.terminal import common_signature, print_signature

if TYPE_CHECKING:
    import altair

    from wug.results.learning_curves import Curve, Curves
    from wug.results.sweep_curves import StepContrast, SweepComparison

MOST = 60
"""Steps that a terminal shows; of more, as many from the beginning as from the end."""
COLUMNS = ("suite", "check", "step", "first", "second", "difference", "low", "high", "p", "p_holm", "n")
HEAD = ("suite", "check", "step", "A", "B", "difference", "95 % interval", "p", "p (Holm)")


def show_curves(curves: Curves, console: Console) -> None:
    """Print the values of each curve, a row a step."""
    names = learning.names(list(curves.curves))
    steps = sorted({point.step for curve in curves.curves for point in curve.points})
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    table.add_column("step", justify="right", no_wrap=True)
    for name in names:
        table.add_column(escape(name), justify="right", overflow="fold")
    values = [{point.step: _value(curve, point.value) for point in curve.points} for curve in curves.curves]
    half = MOST // 2
    left_out = len(steps) - 2 * half if len(steps) > MOST else 0
    for place, step in enumerate([*steps[:half], *steps[-half:]] if left_out else steps):
        if left_out and place == half:
            table.add_row("…", *[f"… {left_out:,} more …"] * len(names))
        table.add_row(f"{step:,.10g}", *(escape(own.get(step, "–")) for own in values))
    console.print(table)
    pooled = max((len(point.runs) for curve in curves.curves for point in curve.points), default=1)
    if pooled > 1:
        console.print(Text(f"Means of up to {pooled} runs at a step.", style="dim"))
    print_signature(common_signature(curves.signatures), console)


def _value(curve: Curve, value: float) -> str:
    return spaced(value_text(value, share=curve.share))


def figures(curves: Curves) -> list[Figure]:
    """The panels of the learning curves, steps on a logarithmic axis."""
    steps = sorted({point.step for curve in curves.curves for point in curve.points})
    return [replace(figure, draw=partial(_on_log_steps, figure.draw, steps)) for figure in learning.figures(curves)]


def chart(curves: Curves) -> altair.VConcatChart:
    """The panels below one another."""
    from wug.views import charts

    return charts.stacked([figure.chart for figure in figures(curves)])


def _on_log_steps(draw: Callable[[], altair.LayerChart], steps: list[float]) -> altair.LayerChart:
    """The chart with its steps on a scale that grows by factors; step 0, which has no logarithm, stands at its left."""
    from wug.views import vega

    alt = vega.altair()
    made = draw()
    for layer in made.layer if sum(step > 0 for step in steps) > 1 else ():
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x = step_axis(steps)
    return made


def step_axis(steps: list[float]) -> Any:
    """The horizontal axis for these steps: logarithmic, or linear up to the first step where one of them is 0."""
    from wug.views import vega

    alt = vega.altair()
    above = [step for step in steps if step > 0]
    zero = steps[0] <= 0
    low = 0 if zero else above[0]
    scale = (
        alt.Scale(type="symlog", constant=above[0], domain=[low, above[-1]], nice=False)
        if zero
        else alt.Scale(type="log", domain=[low, above[-1]], nice=False)
    )
    marks = _marks(above, zero)
    drawn = alt.Axis(values=marks, format="~s", grid=False, labelFlush=False, labelOverlap=True)
    return alt.X("x:Q", title="training step", scale=scale, axis=drawn)


def _marks(steps: list[float], zero: bool) -> list[float]:
    """Powers of ten between the steps, and the first and the last of them."""
    powers = [10.0**power for power in range(-3, 16) if steps[0] < 10.0**power < steps[-1]]
    return [*([0.0] if zero else []), steps[0], *powers, steps[-1]]


def rows(comparison: SweepComparison) -> list[tuple[Any, ...]]:
    """One row for each test and step, in the order of COLUMNS; over all steps where there is none."""
    return [
        (
            *(c.suite, c.check, one.step, c.value_first, c.value_second, c.difference),
            *(c.low, c.high, c.p, c.p_holm, c.n),
        )
        for one in comparison.steps
        for c in [one.contrast]
    ]


def _lines(comparison: SweepComparison) -> list[tuple[str, ...]]:
    return [_line(one) for one in comparison.steps]


def _line(one: StepContrast) -> tuple[str, ...]:
    c = one.contrast
    return (
        *(c.suite, c.check.replace("_", " "), "all" if one.step is None else f"{one.step:,.10g}"),
        spaced(value_text(c.value_first, share=c.share)),
        spaced(value_text(c.value_second, share=c.share)),
        spaced(signed_text(c.difference, share=c.share)),
        interval_text(c.low, c.high, c.interval_method or None, share=c.share) or "–",
        *(p_text(c.p), p_text(c.p_holm)),
    )


def as_json(comparison: SweepComparison) -> str:
    """An object with the two sweeps and a list of tests."""
    found = {
        "first": comparison.first,
        "second": comparison.second,
        "steps": [dict(zip(COLUMNS, row, strict=True)) for row in rows(comparison)],
        "warnings": list(comparison.warnings),
    }
    return json.dumps(finite(found), ensure_ascii=False, indent=2, allow_nan=False)


FORMATS: Mapping[str, Callable[[SweepComparison], str]] = {
    "json": as_json,
    "csv": lambda comparison: delimited(COLUMNS, rows(comparison), ","),
    "tsv": lambda comparison: delimited(COLUMNS, rows(comparison), "\t"),
    "md": lambda comparison: markdown_table(HEAD, _lines(comparison), "llrrrrcrr"),
    "latex": lambda comparison: latex_table(HEAD, _lines(comparison), "llrrrrcrr", map(str, _signatures(comparison))),
}


def show_comparison(comparison: SweepComparison, console: Console) -> None:
    """Print two sweeps step by step for a person."""
    console.print(Text(f"A = {comparison.first}\nB = {comparison.second}"))
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for place, name in enumerate(HEAD):
        table.add_column(name, justify="left" if place < 2 else "right", overflow="fold", no_wrap=place > 1)
    before: tuple[str, ...] = ()
    for line in _lines(comparison):
        again = line[:2] == before
        table.add_row(*(["", ""] if again else map(escape, line[:2])), *map(escape, line[2:]))
        before = line[:2]
    console.print(table)
    for warning in comparison.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    print_signature(common_signature(_signatures(comparison)), console)


def _signatures(comparison: SweepComparison) -> list[Any]:
    return list(dict.fromkeys(mark for one in comparison.steps for mark in one.contrast.signatures))
