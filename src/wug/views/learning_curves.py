"""Learning curves as tables, for the terminal and other programs, and as charts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.views import charts
from wug.views.markup import latex_table, markdown_table
from wug.views.numbers import interval_text, spaced, value_text
from wug.views.parts import Figure
from wug.views.table import delimited, finite
from wug.views.terminal import common_signature, print_signature

if TYPE_CHECKING:
    import altair

    from wug.results.learning_curves import Curve, Curves

COLUMNS = ("suite", "kind", "check", "model", "step", "value", "n", "low", "high", "method", "runs")
HEAD = ("suite", "check", "model", "step", "value", "interval", "n", "run")


def rows(curves: Curves) -> list[tuple[Any, ...]]:
    """One row for each point, in the order of COLUMNS."""
    return [
        (c.suite, c.kind, c.check, c.series, p.step, p.value, p.n, p.low, p.high, p.method, ",".join(map(str, p.runs)))
        for c in curves.curves
        for p in c.points
    ]


def as_json(curves: Curves) -> str:
    """An object with the curves and the signatures of the runs."""
    fields = {**asdict(curves), "signatures": [str(signature) for signature in curves.signatures]}
    return json.dumps(finite(fields), ensure_ascii=False, indent=2, allow_nan=False)


def lines(curves: Curves) -> list[tuple[str, ...]]:
    """The cells of every point under HEAD."""
    return [
        (
            *(c.suite, c.check.replace("_", " "), c.series, f"{p.step:,.10g}"),
            spaced(value_text(p.value, share=c.share)),
            interval_text(p.low, p.high, p.method, share=c.share) or "–",
            *(f"{p.n:,}", ", ".join(map(str, p.runs))),
        )
        for c in curves.curves
        for p in c.points
    ]


FORMATS: Mapping[str, Callable[[Curves], str]] = {
    "json": as_json,
    "csv": lambda curves: delimited(COLUMNS, rows(curves), ","),
    "tsv": lambda curves: delimited(COLUMNS, rows(curves), "\t"),
    "md": lambda curves: markdown_table(HEAD, lines(curves), "lllrrcrr"),
    "latex": lambda curves: latex_table(HEAD, lines(curves), "lllrrcrr", map(str, curves.signatures)),
}


def show(curves: Curves, console: Console) -> None:
    """Print the curves for a person, a block a curve."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for place, name in enumerate(HEAD):
        table.add_column(name, justify="left" if place < 3 else "right", overflow="fold", no_wrap=place > 2)
    before: tuple[str, ...] = ()
    for line in lines(curves):
        again = line[:3] == before
        table.add_row(*([""] * 3 if again else map(escape, line[:3])), *map(escape, line[3:]))
        before = line[:3]
    console.print(table)
    console.print(Text("Intervals are 95 %; ± is one standard deviation between runs.", style="dim"))
    for warning in curves.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    print_signature(common_signature(curves.signatures), console)


def chart(curves: Curves) -> altair.VConcatChart:
    """A panel for shares and one for each check of numbers; a line a suite, check and model."""
    return charts.stacked([figure.chart for figure in figures(curves)])


def figures(curves: Curves) -> list[Figure]:
    """The panels of the chart, each with its words and numbers."""
    panels: dict[str, list[Curve]] = {}
    for curve in curves.curves:
        panels.setdefault("share of items" if curve.share else curve.check.replace("_", " "), []).append(curve)
    named = {name: names(own) for name, own in panels.items()}
    return [
        Figure(
            id=f"curve-{place}",
            draw=partial(
                charts.curves,
                [
                    charts.CurvePoint(p.step, p.value, p.low, p.high, p.n, name)
                    for name, curve in zip(named[title], own, strict=True)
                    for p in curve.points
                ],
                x="training step" if place == 0 else f"training step ({title})",
                title=title,
                share=own[0].share,
            ),
            title=f"Over training: {title}",
            note="With 95 % intervals; where several runs are one point, one standard deviation either way.",
            columns=HEAD,
            rows=tuple(line for line, c in zip(lines(curves), _owners(curves), strict=True) if c in own),
            records=tuple(
                dict(zip(COLUMNS, row, strict=True))
                for row, c in zip(rows(curves), _owners(curves), strict=True)
                if c in own
            ),
        )
        for place, (title, own) in enumerate(panels.items())
    ]


def _owners(curves: Curves) -> list[Curve]:
    return [curve for curve in curves.curves for _ in curve.points]


def names(curves: list[Curve]) -> list[str]:
    """A name for each curve: as much of suite, check and model as tells them apart."""
    parts = [(curve.suite, curve.check.replace("_", " "), curve.series) for curve in curves]
    telling = [place for place in range(3) if len({part[place] for part in parts}) > 1] or [1]
    return [" · ".join(part[place] for place in telling) for part in parts]
