"""Estimates by group as charts and tables, and the default view of families."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wug import registry
from wug.formatting import (
    FormattedEstimate,
    format_estimate,
    headlines,
    interval_text,
    metric_label,
    other_estimates,
    plural,
    spaced_name,
    value_text,
)
from wug.identity import OVERALL, Group
from wug.outcomes import DATASET_KEY, Estimate, IntervalMethod, Result
from wug.record_tables import as_number
from wug.rows import OutcomeRow, Rows
from wug.views import charts
from wug.views.parts import EstimatesPart, FactsPart, Figure, ItemSample, ItemsView, ItemView, TextPart, ViewPart

MIN_POINT_ITEMS = 10
"""Points of a curve with fewer items are not drawn."""
MAX_CHART_ROWS, MAX_TABLE_ROWS = 100, 1000
MAX_SHARED_VALUES = 12
"""Fields with more values do not share a chart with others."""


def overall_parts(result: Result) -> Iterator[ViewPart]:
    """The estimates over all items: headlines, a note on standard deviations, and the others collapsed."""
    yield EstimatesPart(headlines(result))
    if note := deviation_note(result):
        yield TextPart(note)
    if further_estimates := other_estimates(result):
        yield EstimatesPart(further_estimates, folded=plural(len(further_estimates), "more measure"))


def chance_level(kind: str, metric: str, estimates: Iterable[Estimate], group: str = OVERALL) -> float | None:
    """The chance level of a metric in a group, as its family declares it; None if it has none."""
    level = registry.family_traits(kind).chance_levels.get(metric)
    if not isinstance(level, str):
        return None if level is None else float(level)
    levels = {estimate.group: estimate.value for estimate in estimates if estimate.metric == level}
    return levels.get(group, levels.get(OVERALL))


def result_chance(result: Result, metric: str, group: str = OVERALL) -> float | None:
    """The chance level of a metric of a result; None if it has none."""
    return chance_level(result.kind, metric, result.estimates, group)


def chance_note(points: Iterable[charts.Point]) -> str:
    """A sentence about chance levels if they differ between rows, so that no line is labelled."""
    return " Short grey lines are chance levels." if len({point.chance for point in points}) > 1 else ""


def overall_of(result: Result, *metrics: str) -> list[FormattedEstimate]:
    """The estimates of some metrics over all items, if they exist."""
    estimates = {e.metric: e for e in result.estimates if e.group == "all"}
    return [format_estimate(result, estimates[metric]) for metric in metrics if metric in estimates]


def by_field(result: Result, metric: str) -> dict[str, list[FormattedEstimate]]:
    """The estimates of a metric by group field, if they are measurable; `group` is the value of the field."""
    fields: dict[str, list[FormattedEstimate]] = {}
    for estimate in result.estimates if result.measurable else ():
        if estimate.metric != metric or not math.isfinite(estimate.value):
            continue
        if not (group := Group.parse(estimate.group)).is_overall:
            fields.setdefault(group.field, []).append(format_estimate(result, estimate, group.value))
    return {name: in_order(rows) for name, rows in fields.items()}


def in_order(rows: Sequence[FormattedEstimate]) -> list[FormattedEstimate]:
    """Rows sorted by group if all groups are numbers, else unchanged."""
    return sorted(rows, key=lambda row: float(row.group)) if _are_numbers(rows) else list(rows)


def best_first(rows: Sequence[FormattedEstimate]) -> list[FormattedEstimate]:
    """Rows from the best value on, or unchanged if all groups are numbers."""
    return list(rows) if _are_numbers(rows) else sorted(rows, key=lambda row: -row.goodness)


def _are_numbers(rows: Iterable[FormattedEstimate]) -> bool:
    return all(math.isfinite(as_number(row.group)) for row in rows)


def interval_note(result: Result, metric: str, opening: str = "Dots with") -> str:
    """A sentence about the intervals of a metric."""
    if not counts_items(result, metric):
        return "Means, with one standard deviation either side."
    has_intervals = any(e.low is not None for e in result.estimates if e.metric == metric)
    return f"{opening} 95% intervals." if has_intervals else ""


def point(
    row: FormattedEstimate, *, name: str | None = None, series: str = "", group: str = "", chance: float | None = None
) -> charts.Point:
    """An estimate as a point of a dot chart."""
    low, high = _clipped_interval(row)
    name = row.group if name is None else name
    return charts.Point(name, row.value, low, high, row.n, series, group, row.interval, chance)


def curve_points(rows: Iterable[FormattedEstimate], series: str = "") -> list[charts.LinePoint]:
    """Estimates as points of a curve, without those whose group is not a number."""
    return [
        charts.LinePoint(float(row.group), row.value, *_clipped_interval(row), row.n, series, row.interval)
        for row in rows
        if _are_numbers([row])
    ]


def dots(
    id: str,
    title: str,
    points: Sequence[charts.Point],
    *,
    note: str,
    value: str,
    row: str,
    series: str = "",
    share: bool = True,
) -> Figure:
    """A dot chart of proportions, or of numbers with a line at 0, with its table.

    `row` names the rows, `series` the dots in a row.
    """
    has_groups = any(p.group for p in points)
    places = {place: index for index, place in enumerate(dict.fromkeys((p.group, p.row) for p in points))}
    limit_note = (
        f" The chart has the first {MAX_CHART_ROWS} of {len(places):,}." if len(places) > MAX_CHART_ROWS else ""
    )
    limit_note += f" The table has the first {MAX_TABLE_ROWS:,}." if len(places) > MAX_TABLE_ROWS else ""
    names = (*(["group"] if has_groups else []), row, *([series] if series else []))

    def cells(p: charts.Point) -> tuple[str, ...]:
        return (*([p.group] if has_groups else []), p.row, *([p.series] if series else []))

    charted_points = [p for p in points if places[p.group, p.row] < MAX_CHART_ROWS]
    draw = partial(charts.intervals, title=value, share=share, zero=not share, series_are=series or "model")
    return Figure(
        id=id,
        draw=partial(draw, charted_points),
        title=title,
        note=f"{note}{limit_note}".strip(),
        columns=(*names, value, "interval", "n"),
        rows=tuple((*cells(p), *value_cells(p, share)) for p in points if places[p.group, p.row] < MAX_TABLE_ROWS),
        records=tuple({**dict(zip(names, cells(p), strict=True)), **_record(p, value)} for p in points),
    )


def field_figures(
    fields: Mapping[str, Sequence[FormattedEstimate]],
    draw: Callable[..., Figure],
    *,
    id: str,
    value: str,
    point: Callable[..., charts.Point] = point,
) -> Iterator[Figure]:
    """A metric by group: small fields in one chart, each large field in a separate one."""
    ordered_fields = [(spaced_name(name), best_first(rows)) for name, rows in fields.items()]
    small_fields = [(name, rows) for name, rows in ordered_fields if len(rows) <= MAX_SHARED_VALUES]
    if small_fields:
        points = [
            point(row, group=name if len(small_fields) > 1 else "") for name, rows in small_fields for row in rows
        ]
        yield draw(id, f"{value} by {', '.join(name for name, _ in small_fields)}", points, row=small_fields[0][0])
    large_fields = [(name, rows) for name, rows in ordered_fields if len(rows) > MAX_SHARED_VALUES]
    for index, (name, rows) in enumerate(large_fields):
        yield draw(f"{id}-{index}", f"{value} by {name}", [point(row) for row in rows], row=name)


def curve(
    id: str,
    title: str,
    points: Sequence[charts.LinePoint],
    *,
    note: str,
    x: str,
    value: str,
    peak: charts.LinePoint | None = None,
) -> Figure:
    """A line chart of proportions with its table, without points of few items unless most have few."""
    has_series = any(point.series for point in points)
    charted_points = [point for point in points if point.n is None or point.n >= MIN_POINT_ITEMS]
    if len(charted_points) < len(points) / 4:
        charted_points = list(points)
    omission_note = (
        f" Points with fewer than {MIN_POINT_ITEMS} items are left out." if len(charted_points) < len(points) else ""
    )
    return Figure(
        id=id,
        draw=partial(charts.curves, charted_points, x=x, title=value, peak=peak),
        title=title,
        note=f"{note}{omission_note}".strip(),
        columns=(*(["of"] if has_series else []), x, value, "interval", "n"),
        rows=tuple((*([p.series] if has_series else []), f"{p.x:g}", *value_cells(p)) for p in points[:MAX_TABLE_ROWS]),
        records=tuple({**({"of": p.series} if has_series else {}), x: p.x, **_record(p, value)} for p in points),
    )


def curves(
    result: Result, series: Mapping[str, str], axes: Mapping[str, str], *, title: str, what: str
) -> Iterator[Figure]:
    """A chart for each field of `axes` with several values, with a line for each metric in `series`.

    The title ends with the label of the axis, without its brackets.
    """
    note = interval_note(result, next(iter(series)), "With")
    fields = {metric: by_field(result, metric) for metric in series}
    for field, x in axes.items():
        points = [p for metric, name in series.items() for p in curve_points(fields[metric].get(field, ()), name)]
        if len({p.x for p in points}) > 1:
            yield curve(f"by-{field}", f"{title} {x.partition(' (')[0]}", points, note=note, x=x, value=what)


def estimate_figure(
    id: str,
    title: str,
    note: str,
    rows: Sequence[tuple[charts.Point, Mapping[str, str], FormattedEstimate]],
    *,
    axis: str = "accuracy",
    share: bool = True,
    value: str = "value",
) -> Figure:
    """A dot chart of estimates; its table has the given cells of each, then value, interval and n."""
    return Figure(
        id=id,
        draw=partial(charts.intervals, [point for point, _, _ in rows], title=axis, share=share),
        title=title,
        note=note,
        columns=(*rows[0][1], value, "95% interval", "n"),
        rows=tuple(
            (
                *(row.name if name == "metric" else text for name, text in cells.items()),
                *(row.text, row.interval or "–", f"{row.n:,}"),
            )
            for _, cells, row in rows
        ),
        records=tuple({**cells, **_record(row, value)} for _, cells, row in rows),
    )


def _record(row: charts.Point | charts.LinePoint | FormattedEstimate, value: str) -> dict[str, Any]:
    return {value: row.value, "low": row.low, "high": row.high, "n": row.n}


def counts_items(result: Result, metric: str) -> bool:
    """Whether the n of a metric counts items, not runs."""
    return not any(IntervalMethod.parse(e.method).is_deviation for e in result.estimates if e.metric == metric)


def deviation_note(result: Result) -> str:
    """A sentence about standard deviations; empty if the estimates have intervals."""
    deviations = [e for e in result.estimates if IntervalMethod.parse(e.method).is_deviation]
    return f"Means of {max(e.n for e in deviations)}, with one standard deviation either side." if deviations else ""


def value_cells(point: charts.Point | charts.LinePoint, share: bool = True) -> tuple[str, str, str]:
    """Value, interval and n as text."""
    interval = point.interval or interval_text(point.low, point.high, None, share=share)
    return value_text(point.value, share=share), interval or "–", "–" if point.n is None else f"{point.n:,}"


def _clipped_interval(row: FormattedEstimate) -> tuple[float | None, float | None]:
    if not row.share or row.low is None or row.high is None:
        return row.low, row.high
    return max(0.0, row.low), min(1.0, row.high)


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Estimates, charts by group, and the metadata of the suite."""
    yield from overall_parts(result)
    yield from group_figures(result)
    if about := facts(result):
        yield FactsPart(about, folded="About this suite")


def items(result: Result, rows: Rows) -> ItemsView:
    """Every item with its groups and details."""
    metric = "" if result.headline is None else result.headline.metric
    failing_metrics = [name for name in rows.metrics() if rows.tally(name)["false"]]
    has_failing_metrics = len(failing_metrics) > 1
    samples = (
        ItemSample(f"Items that fail: {metric_label(c, result.kind)}" if has_failing_metrics else "Items that fail", c)
        for c in failing_metrics
    )
    return ItemsView(metric, _item, tuple(samples))


def group_figures(result: Result, *metrics: str) -> Iterator[Figure]:
    """One dot chart per metric and group field with several values, with chance levels; by default of every metric."""
    metric_names = metrics or tuple(dict.fromkeys(estimate.metric for estimate in result.estimates))
    fields = [(m, field, rows) for m in metric_names for field, rows in by_field(result, m).items() if len(rows) > 1]
    for index, (metric, field, rows) in enumerate(fields):
        points = [
            point(row, chance=result_chance(result, metric, str(Group(field, row.group)))) for row in best_first(rows)
        ]
        yield dots(
            f"groups-{index}",
            f"{metric_label(metric, result.kind).capitalize()} by {spaced_name(field)}",
            points,
            note=f"{interval_note(result, metric)}{chance_note(points)}",
            value=metric_label(metric, result.kind),
            row=spaced_name(field),
            share=result.metric(metric).unit == "share",
        )


def facts(result: Result) -> dict[str, Any]:
    """The metadata of the suite, without empty values."""
    values = {key: value for key, value in result.meta.items() if key != DATASET_KEY}
    return {spaced_name(key): value for key, value in values.items() if value not in (None, "", [], (), {})}


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> ItemView:
    failed_metrics = [judgement.outcome.metric for judgement in judgements if judgement.outcome.value is False]
    facts = {**row.outcome.groups, **row.outcome.detail}
    return ItemView(
        failed_metrics=tuple(metric for metric in failed_metrics if metric != row.outcome.metric),
        parts=(FactsPart(facts),) if facts else (),
    )
