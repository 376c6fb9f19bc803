"""Figures of reading times: ΔLL per measure, slope per lag, calibration, ΔLL against perplexity."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from wug.families.reading.suite import DELTA, MEASURE
from wug.families.reading.terms import parse
from wug.formatting import interval_text, number
from wug.identity import Group
from wug.labels import short_names
from wug.outcomes import Estimate, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import charts
from wug.views import parts as page
from wug.views.grouped import dots, facts, overall_parts, value_cells
from wug.views.text_display import Piece

BINS = 10
EXAMPLE_WORDS = 8
EXAMPLE_LINES = (("observed", "y"), ("predicted", "predicted"))
NATS = "ΔLL (nats per row)"
LEAST_SQUARES = "Intervals and t values of slopes are those of least squares, which treats rows as independent."


def question(result: Result) -> str:
    """What the regressions test."""
    fields = dict(result.signature.fields)
    controls = [term for term in fields.get("baseline", "").split(" + ") if term and "@" not in term]
    beyond = f" beyond {' and '.join(controls)}" if controls else ""
    predictors = fields.get("predictors", "the predictor").replace(" + ", " and ")
    measures = " and ".join(fields.get("measure", "the measure").split("+"))
    return f"Does {predictors} predict {measures}{beyond}?"


def example(result: Result, rows: Rows) -> page.LinesPart:
    """The first words with their values, and with those that the regression predicts."""
    chosen = Filter(DELTA, group=(MEASURE, next(iter(_measures(result)), "")))
    details = [row.outcome.detail for row in rows.each(chosen, limit=EXAMPLE_WORDS)]
    lines = ((label, [(detail.get("word") or "–", detail[key]) for detail in details]) for label, key in EXAMPLE_LINES)
    return page.LinesPart(tuple(page.LabelledText(label, tuple(_with_values(words))) for label, words in lines))


def verdict(result: Result) -> str:
    """Whether the interval of the first ΔLL excludes 0."""
    delta = result.headline
    if delta is None or delta.low is None or delta.high is None:
        return ""
    interval = f"its 95% interval {interval_text(delta.low, delta.high, delta.method, share=False)}"
    if delta.low <= 0 <= delta.high:
        return f"No better than the baseline: a ΔLL of 0 is in {interval}."
    return f"{'Better' if delta.low > 0 else 'Worse'} than the baseline: a ΔLL of 0 is outside {interval}."


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """ΔLL, its table by measure, slopes by lag, calibration."""
    yield from overall_parts(result)
    yield measures_table(result)
    if (figure := delta_figure([result])) is not None:
        yield figure
    yield from slope_figures(result)
    for measure in _measures(result):
        make = partial(calibration_figure, result, rows, measure)
        yield page.DeferredPart(f"calibration-{measure}", f"Calibration: {measure}", make)
    if about := facts(result):
        yield page.FactsPart(about, folded="About this table")


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every word with its time and both log-likelihoods."""
    sorts = (page.SortOption("word", "word", _words),)
    return page.ItemsView(DELTA, _item, noun="row", texts=("source",), sorts=sorts)


def measures_table(result: Result) -> page.TablePart:
    """Per measure: ΔLL, interval, p, n, partial R², slopes of the predictors."""
    terms = _slopes(result)
    columns = ("measure", "ΔLL", "95% interval", "p", "n", "partial R² (%)", *terms)
    body = []
    for measure in _measures(result):
        by_metric, cells = delta_cells(result, measure)
        others = [number(by_metric[name].value) if name in by_metric else "" for name in ("partial_r2", *terms)]
        body.append(page.TablePartRow(tuple(page.TableCell(text) for text in (measure, *cells, *others))))
    heads = tuple(
        page.TableColumn(name.removeprefix("slope:"), numeric=index > 0) for index, name in enumerate(columns)
    )
    note = "Slopes are changes of the measure per unit of the term, for surprisal per bit, fitted on all rows."
    note += f" {LEAST_SQUARES}"
    return page.TablePart("measures", "Measures", heads, (("", tuple(body)),), note=note)


def delta_cells(result: Result, measure: str) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """The estimates of a measure by metric; and its ΔLL with interval, p and n as text."""
    by_metric = {e.metric: e for e in result.estimates if e.group == str(Group(MEASURE, measure))}
    delta = by_metric[DELTA]
    draws = (result.signature.get("permutations") or "").partition(",")[0]
    least = 1 / (1 + int(draws)) if draws.isdecimal() else 0.0
    p = p_text(by_metric["p"].value, least) if "p" in by_metric else ""
    interval = interval_text(delta.low, delta.high, delta.method, share=False)
    return by_metric, (number(delta.value), interval, p, f"{delta.n:,}")


def delta_figure(results: Sequence[Result]) -> page.Figure | None:
    """ΔLL with intervals, a row per measure and a dot per model."""
    names = short_names(result.model for result in results)
    several = len(names) > 1
    points = [
        _point(Group.parse(e.group).value, e, names[result.model] if several else "")
        for result in results
        for e in result.estimates
        if e.metric == DELTA and Group.parse(e.group).field == MEASURE
    ]
    if not points:
        return None
    note = "Dots with 95% intervals. 0: the predictors add nothing to the baseline."
    series = "model" if several else ""
    title = "ΔLL by measure"
    return dots("delta-ll", title, points, note=note, value=NATS, row="measure", series=series, share=False)


def slope_figures(result: Result) -> Iterator[page.Figure]:
    """The slope of each predictor at the word and at earlier words, and alone at each lag if that was fitted."""
    slopes = _lags(result, "slope")
    if any(len(effects) > 1 for effects in slopes.values()):
        note = f"All lags are in one model. {LEAST_SQUARES}"
        yield _lag_figure("slopes", "Slope by lag", slopes, _slope_axis(result, slopes), note)
    for metric, title in (("lag_delta_ll", "ΔLL"), ("lag_slope", "Slope")):
        if alone := _lags(result, metric):
            what = NATS if metric == "lag_delta_ll" else _slope_axis(result, alone)
            note = "Each word alone with the baseline, on the rows that have all of them; t+1 is the next word."
            note += f" {LEAST_SQUARES}" if metric == "lag_slope" else ""
            yield _lag_figure(metric.replace("_", "-"), f"{title} of each word alone", alone, what, note)


def calibration_figure(result: Result, rows: Rows, measure: str) -> page.Figure | None:
    """Predicted and observed means per bin of the first predictor."""
    chosen = Filter(DELTA, group=(MEASURE, measure))
    details = [row.outcome.detail for row in rows.each(chosen, keys=("x", "y", "predicted"))]
    if len(details) < 2 * BINS:
        return None
    x, y, predicted = (np.array([detail[name] for detail in details], float) for name in ("x", "y", "predicted"))
    edges = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(0, len(edges) - 2))
    points = []
    for bin_number in np.unique(bins):
        x_in_bin, y_in_bin, predicted_in_bin = (values[bins == bin_number] for values in (x, y, predicted))
        count, middle, mean = len(x_in_bin), float(x_in_bin.mean()), float(y_in_bin.mean())
        half = 1.96 * float(y_in_bin.std(ddof=1)) / count**0.5 if count > 1 else 0.0
        points.append(charts.LinePoint(middle, mean, mean - half, mean + half, count, "observed"))
        points.append(charts.LinePoint(middle, float(predicted_in_bin.mean()), n=count, series="predicted"))
    name = next((term.removeprefix("slope:") for term in _slopes(result)), "predictor")
    return page.Figure(
        id=f"calibration-{measure}",
        draw=partial(charts.curves, points, x=name, title=measure, share=False),
        title=f"Calibration: {measure}",
        note=f"Means per bin of {name} ({len(np.unique(bins))} bins of equal size), on test rows; 1.96 SE.",
        columns=("which", name, measure, "95% interval", "n"),
        rows=tuple((p.series, number(p.x), *value_cells(p, share=False)) for p in points),
        records=tuple({"which": p.series, name: p.x, measure: p.value, "n": p.n} for p in points),
    )


def across(results: Sequence[Result]) -> Iterator[page.Figure]:
    """Figures of several models."""
    if (figure := perplexity_figure(results)) is not None:
        yield figure


def perplexity_figure(results: Sequence[Result]) -> page.Figure | None:
    """ΔLL against perplexity per word, a dot per model."""
    names = short_names(result.model for result in results)
    dots = []
    for result in results:
        whole = {e.metric: e.value for e in result.estimates if e.group == "all"}
        if "perplexity" in whole and DELTA in whole:
            dots.append(charts.ScatterPoint(names[result.model], whole["perplexity"], whole[DELTA], result.suite))
    if len(dots) < 2:
        return None
    suites = {name: series_number for series_number, name in enumerate(dict.fromkeys(dot.series for dot in dots), 1)}
    return page.Figure(
        id="perplexity",
        draw=partial(charts.scatter, dots, x="perplexity per word", y=NATS, colours=suites),
        title="ΔLL by perplexity",
        note="Perplexity is that of the words whose times were predicted.",
        columns=("model", "perplexity", "ΔLL"),
        rows=tuple((dot.name, number(dot.x), number(dot.y)) for dot in dots),
        records=tuple({"model": dot.name, "perplexity": dot.x, "delta_ll": dot.y} for dot in dots),
    )


def p_text(p: float, least: float = 0.0) -> str:
    """A p-value to three decimals, or four next to .05; `least` is the smallest that the permutations can give."""
    if math.isclose(p, least):
        return f"≤ {f'{p:.3g}'.lstrip('0')}"
    if p < 0.001:
        return "< .001"
    return f"{p:.4f}".lstrip("0") if f"{p:.3f}" == "0.050" else f"{p:.3f}".lstrip("0")


def _measures(result: Result) -> list[str]:
    groups = (Group.parse(e.group) for e in result.estimates if e.metric == DELTA)
    return [group.value for group in groups if group.field == MEASURE]


def _slopes(result: Result) -> list[str]:
    text = result.signature.get("predictors")
    wanted = _columns(text) if text else set()
    names = dict.fromkeys(e.metric for e in result.estimates if e.metric.startswith("slope:"))
    return [name for name in names if _columns(name.removeprefix("slope:")) <= wanted]


def _columns(terms: str) -> set[str]:
    return {factor.column for term in parse(terms) for factor in term.factors}


def _lags(result: Result, metric: str) -> dict[str, list[tuple[str, Estimate]]]:
    effects: dict[str, list[tuple[str, Estimate]]] = {}
    several = len(_measures(result)) > 1
    shown = set(_slopes(result))
    for estimate in result.estimates:
        kind, _, term = estimate.metric.partition(":")
        if kind != metric or (kind == "slope" and estimate.metric not in shown):
            continue
        name, _, lag = term.partition("@")
        where = lag if lag.startswith("t") else f"t-{lag}" if lag else "t"
        measure = f", {Group.parse(estimate.group).value}" if several else ""
        effects.setdefault(f"{name}{measure}", []).append((where, estimate))
    return effects


def _slope_axis(result: Result, predictors: Collection[str]) -> str:
    """The title of an axis of slopes, such as `slope (rt per unit of surprisal)`."""
    measures = list(_measures(result))
    if len(measures) > 1:
        return "slope (per unit)"
    return f"slope ({measures[0]} per unit of {next(iter(predictors)) if len(predictors) == 1 else 'the predictor'})"


def _lag_figure(
    id: str, title: str, effects: Mapping[str, Sequence[tuple[str, Estimate]]], what: str, note: str
) -> page.Figure:
    points = [_point(lag, estimate, series) for series, by_lag in effects.items() for lag, estimate in by_lag]
    note = f"Dots with 95% intervals. {note}"
    return dots(id, title, points, note=note, value=what, row="word", series="predictor", share=False)


def _point(row: str, estimate: Estimate, series: str) -> charts.Point:
    return charts.Point(row, estimate.value, estimate.low, estimate.high, estimate.n, series)


def _with_values(words: Sequence[tuple[str, float]]) -> Iterator[Piece]:
    for word, value in words:
        yield Piece(str(word), value=f"{value:.4g}")
        yield Piece(" ")


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    detail = {key: value for key, value in row.outcome.detail.items() if key != "word"}
    value = row.outcome.value
    note = "" if value is None else f"ΔLL {number(float(value))}"
    word = str(row.outcome.detail.get("word", ""))
    return page.ItemView(note, fails=False, sentence=word, parts=(page.FactsPart({**row.outcome.groups, **detail}),))


def _words(rows: Rows, chosen: Filter) -> Iterator[tuple[int, str]]:
    words = rows.each(chosen, keys=("word",))
    return ((row.position, str(row.outcome.detail.get("word", ""))) for row in words)
