"""The charts and tables of minimal pairs, of questions about them, and of methods compared on one model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING

from wug.families.pairs import outcomes
from wug.families.pairs.questions import FIRST_OPTION_RATE, YES_RATE
from wug.families.suite import evenly_spaced
from wug.formatting import FormattedEstimate, finite_or_none, number, percent, plural, spaced_name
from wug.identity import Group
from wug.labels import short_names
from wug.outcomes import Result
from wug.rows import Filter, Rows
from wug.views import charts, grouped
from wug.views.grouped import best_first, by_field, dots, field_figures, interval_note, overall_of
from wug.views.parts import Figure

if TYPE_CHECKING:
    import altair

CROSSED = "pattern_type"
SEPARATE = {"pattern", "type", CROSSED, "field", "term", "phenomenon", "paradigm", outcomes.LANGUAGE}
PHENOMENA = ("phenomenon", "term")
"""Groups of paradigms; the first that exists is used."""
HISTOGRAM_BARS = 40
MIN_CLIPPED_PAIRS = 200
"""From this number of pairs on, the outermost bars hold the extreme 1% of the margins."""
MAX_DOTS, MAX_TABLE_ROWS = 2000, 1000
"""Pairs in the chart of human judgements, and in its table."""
RIGHT, WRONG, TIED, NOT_RIGHT = "right", "wrong", "tied", "wrong or tied"
TIED_COLOUR = 6
HUMAN_TITLE = "Judgements by people"
HUMAN_NOTE = "By how much people prefer the grammatical sentence of a pair, against the model's margin."
BIAS = (FIRST_OPTION_RATE, YES_RATE)
"""Shares of one answer, whatever the sentence: 0.5 means no bias."""
ANSWER_METRICS = (
    "accuracy_both_orders",
    "accuracy_either_order",
    "accuracy_mean_margin",
    "balanced_accuracy",
    *BIAS,
    "invalid",
)
ANSWERS_NOTE = "Dots with 95% intervals. A share of first options, or of Yes, far from 50% is a bias."
Fields = Mapping[str, Sequence[FormattedEstimate]]
point = partial(grouped.point, chance=outcomes.CHANCE)


def group_figures(result: Result, paradigms: Callable[[], Sequence[Mapping[str, str]]]) -> Iterator[Figure]:
    """The charts of accuracy by group, for fields with at least two values.

    `paradigms` returns the groups of one pair of each paradigm, from which the term of the paradigm is read.
    """
    every = by_field(result, outcomes.ACCURACY)
    fields = {name: rows for name, rows in every.items() if len(rows) > 1}
    note = interval_note(result, outcomes.ACCURACY)
    draw = partial(dots, note=note, value="accuracy")
    if outcomes.LANGUAGE in fields:
        points = [point(row) for row in best_first(fields[outcomes.LANGUAGE])]
        points += [point(row, name="macro average") for row in overall_of(result, outcomes.MACRO_ACCURACY)]
        yield draw("languages", "Accuracy by language", points, row="language")
    yield from _types_and_patterns(fields, every.get(CROSSED, ()), draw)
    phenomenon = next((name for name in PHENOMENA if name in fields), "")  # nearly the same groups
    if above := [name for name in ("field", phenomenon) if name in fields]:
        points = [point(row, group=name) for name in above for row in best_first(fields[name])]
        yield draw("terms", f"Accuracy by {' and '.join(above)}", points, row=" or ".join(above))
    if "paradigm" in fields:
        yield _paradigms(fields, next((name for name in PHENOMENA if name in every), ""), paradigms, draw, note)
    others = {name: rows for name, rows in fields.items() if name not in SEPARATE}
    yield from field_figures(others, draw, id="others", value="Accuracy", point=point)


def _types_and_patterns(
    fields: Fields, crossed: Sequence[FormattedEstimate], draw: Callable[..., Figure]
) -> Iterator[Figure]:
    """Original and nonce sentences, over all pairs and by pattern; or only patterns."""
    types = sorted(fields.get("type", ()), key=lambda row: row.group != "original")
    patterns = best_first(fields.get("pattern", ()))
    if not types:
        if patterns:
            yield draw("types", "Accuracy by pattern", [point(row) for row in patterns], row="pattern")
        return
    by_group = {row.group: row for row in crossed}
    points = [point(row, name="all pairs", series=row.group) for row in types]
    for pattern in patterns:
        cells = [(of.group, by_group.get(f"{pattern.group}/{of.group}")) for of in types]
        points += [point(row, name=pattern.group, series=of) for of, row in cells if row is not None]
    names = " and ".join(row.group for row in types)
    yield draw("types", f"Accuracy on {names} sentences", points, row="pattern", series="type")


def repeated_field(result: Result) -> Sequence[str]:
    """The field with nearly the same groups as another one, if there is one."""
    fields = {
        Group.parse(estimate.group).field for estimate in result.estimates if estimate.metric == outcomes.ACCURACY
    }
    return [name for name in PHENOMENA if name in fields][1:]


def _paradigms(
    fields: Fields,
    above: str,
    paradigms: Callable[[], Sequence[Mapping[str, str]]],
    draw: Callable[..., Figure],
    note: str,
) -> Figure:
    """The paradigms by term or phenomenon, both sorted by accuracy."""
    groups = paradigms() if above else ()
    terms = {of_pair["paradigm"]: of_pair.get(above, "") for of_pair in groups if "paradigm" in of_pair}
    values = {row.group: row.value for row in fields.get(above, ())}

    def rank(row: FormattedEstimate) -> tuple[float, str]:
        term = terms.get(row.group, "")
        return -values.get(term, -1.0), term

    ordered = sorted(best_first(fields["paradigm"]), key=rank)
    points = [point(row, group=spaced_name(terms.get(row.group, ""))) for row in ordered]
    note = f"{note} Best first, by {above or 'accuracy'}.".strip()
    return draw("paradigms", "Accuracy by paradigm", points, row="paradigm", note=note)


def correlation_figure(result: Result, ceiling: float | None) -> Figure | None:
    """The correlations with people's judgements, of all pairs and by group, with a line at the noise ceiling.

    None if there is nothing to compare: neither groups nor a ceiling.
    """
    points, without = [], repeated_field(result)
    for metric in (outcomes.PEARSON, outcomes.SPEARMAN):
        fields = {name: rows for name, rows in by_field(result, metric).items() if name not in without}
        rows = [("all", "all pairs", row) for row in overall_of(result, metric)]
        rows += [(spaced_name(name), row.group, row) for name, some in fields.items() for row in best_first(some)]
        points += [grouped.point(row, name=name, series=metric.title(), group=field) for field, name, row in rows]
    if len({dot.row for dot in points}) < 2 and ceiling is None:
        return None
    limit = f" A perfect model would reach the noise ceiling, {number(ceiling)}." if ceiling is not None else ""
    figure = grouped.dots(
        "correlations",
        "Correlation with people",
        points,
        note=f"{interval_note(result, outcomes.PEARSON)}{limit}",
        value="correlation",
        row="pairs",
        series="coefficient",
        share=False,
    )
    return figure if ceiling is None else replace(figure, draw=partial(_with_ceiling, figure.draw, ceiling))


def _with_ceiling(draw: Callable[[], altair.LayerChart], ceiling: float) -> altair.LayerChart:
    chart = draw()
    charts.add_behind(chart, charts.chance_line(ceiling, "x", f"noise ceiling {number(ceiling)}"))
    return chart


def human_figure(rows: Rows, scale: str, factor: float) -> Figure | None:
    """The model's margin against people's judgement, one dot per pair."""
    pairs = []
    for row in rows.each(Filter(outcomes.ACCURACY), keys=("human", *outcomes.JUDGEMENT_KEYS)):
        human, pair = finite_or_none(row.outcome.detail.get("human")), outcomes.PairOutcome.of(row.outcome, factor)
        if human is not None and pair.margin is not None and pair.value is not None:
            pairs.append(charts.ScatterPoint(row.outcome.item, human, pair.margin, RIGHT if pair.value else NOT_RIGHT))
    if not pairs:
        return None
    drawn = evenly_spaced(pairs, MAX_DOTS)
    x, y = "people's judgement", "the model's margin (bits)" if scale.endswith("(bits)") else "the model's margin"
    notes = f" The chart has {len(drawn):,} of {len(pairs):,} pairs, evenly spaced." if len(drawn) < len(pairs) else ""
    notes += f" The table has the first {MAX_TABLE_ROWS:,}." if len(pairs) > MAX_TABLE_ROWS else ""
    return Figure(
        id="people",
        draw=partial(charts.scatter, drawn, x=x, y=y, colours={RIGHT: 1, NOT_RIGHT: 2}),
        title=HUMAN_TITLE,
        note=f"{HUMAN_NOTE}{notes}",
        columns=("pair", x, y),
        rows=tuple((dot.name, number(dot.x), number(dot.y)) for dot in pairs[:MAX_TABLE_ROWS]),
        records=tuple({"pair": dot.name, x: dot.x, y: dot.y} for dot in pairs),
    )


def histogram(margins: Sequence[float], scale: str) -> Figure | None:
    """The histogram of some margins, None if there are none; `scale` is the name of the scores with their unit."""
    if not margins:
        return None
    ties = sum(margin == 0 for margin in margins)
    bins, clipped = _bins(sorted(margin for margin in margins if margin))
    tied = f" {plural(ties, 'pair')} {'is' if ties == 1 else 'are'} tied: both sentences have the same score." * (
        ties > 0
    )
    if bins:
        width = bins[0].high - bins[0].low
        close = sum(abs(margin) <= width for margin in margins) / len(margins)
        tied = (
            f" The median is {number(median(margins))}; {percent(close)} of the pairs are within {number(width)} of "
            f"a tie.{tied}"
        )
    if ties:
        bins = [*bins, charts.HistogramBin(0.0, 0.0, ties, TIED)]
    outer = " The outermost bars include all more extreme margins." if clipped else ""
    return Figure(
        id="margins",
        draw=partial(
            charts.histogram,
            bins,
            title=f"difference of {scale}",
            what="pairs",
            colours={RIGHT: 1, WRONG: 2, TIED: TIED_COLOUR},
        ),
        title="Margins",
        note=f"The {scale} of the grammatical sentence minus that of the ungrammatical one.{tied}{outer}",
        columns=("from", "to", "pairs", "which are"),
        rows=tuple(
            (number(interval.low), number(interval.high), f"{interval.count:,}", interval.series) for interval in bins
        ),
        records=tuple({"from": b.low, "to": b.high, "pairs": b.count, "which are": b.series} for b in bins),
    )


def _bins(margins: Sequence[float]) -> tuple[list[charts.HistogramBin], bool]:
    """Bars of equal width with a boundary at 0, and whether the outermost include more extreme margins.

    Ties are not among the margins.
    """
    if not margins:
        return [], False
    low, high = margins[0], margins[-1]
    if len(margins) >= MIN_CLIPPED_PAIRS:
        low, high = margins[len(margins) // 200], margins[-1 - len(margins) // 200]
    width = _round_width((max(high, 0) - min(low, 0)) / HISTOGRAM_BARS)
    first, last = _bin_of(min(low, 0), width), _bin_of(max(high, width / 2), width)
    counts = Counter(min(last, max(first, _bin_of(margin, width))) for margin in margins)
    bins = [
        charts.HistogramBin(index * width, (index + 1) * width, counts[index], RIGHT if index >= 0 else WRONG)
        for index in range(first, last + 1)
    ]
    return bins, margins[0] < first * width or margins[-1] > (last + 1) * width


def _bin_of(margin: float, width: float) -> int:
    """The index of the bar of a margin; 0 is the first bar above a tie."""
    index = math.ceil(margin / width) - 1
    # A tiny margin is not rounded to a tie.
    return max(0, index) if margin > 0 else index


def _round_width(width: float) -> float:
    """The nearest of 1, 2, 5, 10, … times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda step: abs(math.log(step / width)))


def is_question(result: Result) -> bool:
    """Whether a result is of a question about pairs."""
    return any(estimate.metric in BIAS for estimate in result.estimates)


def question_figure(result: Result) -> Figure:
    """Accuracy over all and by order, and the bias towards one answer."""
    fields = by_field(result, outcomes.ACCURACY)
    points = [point(row, name="accuracy") for row in overall_of(result, outcomes.ACCURACY)]
    points += [point(row, name=f"accuracy, {spaced_name(row.group)}") for row in fields.get("order", ())]
    for metric in ANSWER_METRICS:
        chance = outcomes.CHANCE if metric in BIAS else None
        points += [grouped.point(row, name=spaced_name(metric), chance=chance) for row in overall_of(result, metric)]
    return dots("answers", "Answers and their biases", points, note=ANSWERS_NOTE, value="share", row="metric")


def across(results: Sequence[Result]) -> Iterator[Figure]:
    """Methods compared, for each suite and model that was asked with several."""
    groups: dict[tuple[str, str], dict[str, Result]] = {}
    for result in results:
        method, suite = result.signature.get("method"), result.signature.get("suite") or result.suite
        if method is not None and result.status == "complete":
            groups.setdefault((suite, result.model), {}).setdefault(method, result)
    names = short_names(model for _, model in groups)
    for index, ((suite, model), by_method) in enumerate(groups.items()):
        if len(by_method) > 1:
            yield _methods_figure(
                f"methods-{index}", f"Methods on {suite.partition('@')[0]}, {names[model]}", by_method
            )


def _methods_figure(id: str, title: str, by_method: Mapping[str, Result]) -> Figure:
    points: list[charts.Point] = []
    first, *others = by_method
    verdicts = {method: _verdicts(result) for method, result in by_method.items()}
    for method, result in by_method.items():
        points += [point(row, name=method, series="accuracy") for row in overall_of(result, outcomes.ACCURACY)]
        points += [grouped.point(row, name=method, series="bias") for row in overall_of(result, *BIAS)]
        shared = verdicts[first].keys() & verdicts[method].keys()
        if method in others and shared:
            same = fmean(1 - abs(verdicts[first][item] - verdicts[method][item]) for item in shared)
            points.append(charts.Point(method, same, n=len(shared), series=f"agreement with {first}"))
    note = (
        f"Bias is the share of first options, or of Yes: 50% is none. Agreement is the share of pairs on which a "
        f"method and {first} have the same verdict; a pair that is right in one of two orders counts half."
    )
    return dots(id, title, points, note=note, value="share", row="method", series="measure")


def _verdicts(result: Result) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for outcome in result.outcomes:
        if outcome.metric == outcomes.ACCURACY and outcome.value is not None:
            values.setdefault(outcome.item, []).append(float(outcome.value))
    return {item: fmean(shares) for item, shares in values.items()}
