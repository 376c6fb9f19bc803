"""Charts and lines of text that several tests share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from wug.families.pcfgset.language import FUNCTIONS
from wug.formatting import percent
from wug.rows import OutcomeRow
from wug.stats import estimate
from wug.types import Result
from wug.views import charts
from wug.views.grouped import by_field, curve, curve_points, dots, interval_note, point
from wug.views.parts import Figure, LabelledText, carrier
from wug.views.text_display import Pieces, unmarked

REST_COLOUR = 6
_PLACES = {name: place for place, name in enumerate(FUNCTIONS)}


def in_language_order(functions: Iterable[str]) -> list[str]:
    """Functions in the order of the language, then others."""
    return sorted(functions, key=lambda name: _PLACES.get(name, len(_PLACES)))


def function_figure(
    result: Result, series: Mapping[str, str], *, title: str, what: str, series_are: str
) -> Iterator[Figure]:
    """One row per function with a dot for each metric in `series`, which has their labels."""
    metric = next(iter(series))
    found = {name: {row.group: row for row in by_field(result, of).get("function", ())} for of, name in series.items()}
    functions = in_language_order(found[series[metric]])
    points = [point(rows[name], series=of) for name in functions for of, rows in found.items() if name in rows]
    if points:
        note = interval_note(result, metric)
        yield dots("functions", title, points, note=note, what=what, first="function", series=series_are)


def curves(
    result: Result, series: Mapping[str, str], axes: Mapping[str, str], *, title: str, what: str
) -> Iterator[Figure]:
    """A chart for each field of `axes` with several values, with a line for each metric in `series`.

    The title ends with the label of the axis, without its brackets.
    """
    note = interval_note(result, next(iter(series)))
    bands = note.replace("Dots with 95% intervals", "With 95% intervals")
    fields = {metric: by_field(result, metric) for metric in series}
    for field, x in axes.items():
        points = [p for metric, name in series.items() for p in curve_points(fields[metric].get(field, ()), name)]
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
    """The composition of each row, the rest last; `sizes` has the number of items, if known."""
    found = []
    for row, values in parts.items():
        for name, value in values.items():
            n = sizes[row]
            found.append(charts.StackedBar(row, name, value, None if n is None else round(value * n)))
    return Figure(
        id="shares",
        draw=partial(charts.shares, found, title=what, colours={found[-1].series: REST_COLOUR}),
        title=title,
        note=note,
        columns=(*columns, "share", "n"),
        rows=tuple((p.row, p.series, percent(p.value), "–" if p.count is None else f"{p.count:,}") for p in found),
        records=tuple({columns[0]: p.row, columns[1]: p.series, "share": p.value, "n": p.count} for p in found),
    )


def share_points(values: Mapping[str, Sequence[bool]]) -> list[charts.Point]:
    """The share of true values in each row, with its interval."""
    found = {row: estimate("", "", some) for row, some in values.items()}
    return [charts.Point(row, one.value, one.low, one.high, one.n) for row, one in found.items()]


def share_curve(values: Mapping[int, Sequence[bool]], series: str = "") -> list[charts.LinePoint]:
    """The share of true values at each number, with its interval."""
    found = {x: estimate("", "", some) for x, some in sorted(values.items())}
    return [charts.LinePoint(x, one.value, one.low, one.high, one.n, series) for x, one in found.items()]


def texts(judgements: Sequence[OutcomeRow], *keys: str) -> list[str]:
    """Strings in the detail of an item's answer; empty if missing."""
    detail = carrier(judgements, "answer").detail
    return [str(detail.get(key) or "") for key in keys]


def line(label: str, text: str) -> LabelledText:
    """A line without marks."""
    return LabelledText(label, unmarked(text))


def judged(label: str, pieces: Pieces, *, right: bool) -> LabelledText:
    """A line that is marked as right or wrong."""
    return LabelledText(f"{'✓' if right else '✗'} {label}", pieces, "ins" if right else "del")
