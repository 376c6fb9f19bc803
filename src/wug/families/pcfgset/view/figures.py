"""Charts that several tests have: by function, along an axis, and what a whole is made up of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from wug.families.pcfgset.language import FUNCTIONS
from wug.types import Result
from wug.views import charts
from wug.views.grouped import by_field, curve, curve_points, dots, intervals_are, point
from wug.views.numbers import percent
from wug.views.parts import Figure

REST = 6
"""The colour of what is neither the one nor the other."""
_PLACES = {name: place for place, name in enumerate(FUNCTIONS)}


def in_language_order(functions: Iterable[str]) -> list[str]:
    """Functions as the language lists them, others behind them as they are."""
    return sorted(functions, key=lambda name: _PLACES.get(name, len(_PLACES)))


def function_figure(
    result: Result, series: Mapping[str, str], *, title: str, what: str, series_are: str
) -> Iterator[Figure]:
    """A row for each function with a dot for each check of `series`, under the name that it has there."""
    check = next(iter(series))
    found = {name: {row.group: row for row in by_field(result, of).get("function", ())} for of, name in series.items()}
    functions = in_language_order(found[series[check]])
    points = [point(rows[name], series=of) for name in functions for of, rows in found.items() if name in rows]
    if points:
        note = intervals_are(result, check)
        yield dots("functions", title, points, note=note, what=what, first="function", series=series_are)


def curves(
    result: Result, series: Mapping[str, str], axes: Mapping[str, str], *, title: str, what: str
) -> Iterator[Figure]:
    """A chart for each field of `axes` that has several values, with a line for each check of `series`.

    The title goes on with what the axis is called, but for what that says in brackets.
    """
    note = intervals_are(result, next(iter(series)))
    bands = note.replace("Dots with 95 % intervals", "With 95 % intervals")
    fields = {check: by_field(result, check) for check in series}
    for field, x in axes.items():
        points = [p for check, name in series.items() for p in curve_points(fields[check].get(field, ()), name)]
        if len({p.x for p in points}) > 1:
            yield curve(f"by-{field}", f"{title} {x.partition(' (')[0]}", points, note=bands, x=x, what=what)


def shares_figure(
    parts: Mapping[str, Mapping[str, float]],
    sizes: Mapping[str, int | None],
    *,
    title: str,
    note: str,
    what: str,
    columns: tuple[str, str],
) -> Figure:
    """What each row is made up of, the last part of it being the rest; `sizes` says of how many items, where known."""
    found = []
    for row, values in parts.items():
        for name, value in values.items():
            n = sizes[row]
            found.append(charts.Part(row, name, value, None if n is None else round(value * n)))
    return Figure(
        id="shares",
        draw=partial(charts.shares, found, title=what, colours={found[-1].series: REST}),
        title=title,
        note=note,
        columns=(*columns, "share", "n"),
        rows=tuple((p.row, p.series, percent(p.value), "–" if p.count is None else f"{p.count:,}") for p in found),
        records=tuple({columns[0]: p.row, columns[1]: p.series, "share": p.value, "n": p.count} for p in found),
    )
