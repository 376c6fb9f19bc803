"""Views of PCFG SET results: accuracy and consistency by function, depth, length and steps; answers and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from wug.families.answer_views import answer, judged, line, samples, texts
from wug.families.pcfgset.language import FUNCTIONS
from wug.formatting import FormattedEstimate, percent
from wug.outcomes import Estimate, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.stats import estimate
from wug.views import charts, grouped
from wug.views import parts as page
from wug.views.text_display import mark_differences, single_piece

QUESTIONS = {
    "localism": "Is the output for the whole the same as that of its parts, computed step by step?",
    "substitutivity": "Does the output stay the same if a function is replaced by its synonym?",
    "overgeneralisation": "Does the model apply the rule to sources that training gives as exceptions?",
    "systematicity": "Does the model combine known functions in pairs that training does not have?",
    "productivity": "Does the model compute sequences that are longer than those of training?",
    "task_accuracy": "Does the model compute new sources like those of training?",
    "per_function": "Which functions does the model compute correctly?",
    "increasing_string_length": "Does the model compute longer and longer strings?",
}
"""By the beginning of the name of the suite, as the published folders are called."""


def question(result: Result) -> str:
    """What the test asks; empty for an unknown one."""
    return next((asked for name, asked in QUESTIONS.items() if result.suite.startswith(name)), "")


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Estimates over all items, and the parts of the test."""
    yield from grouped.overall_parts(result)
    yield from _view(result)[0](result, rows)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every item with its answers."""
    return _view(result)[1]


def _view(result: Result) -> tuple[Callable[[Result, Rows], Iterator[page.ViewPart]], page.ItemsView]:
    """The parts and the items of a test, by a metric that only this test declares; all others are plain."""
    from wug.families.pcfgset import view_localism as localism

    declared = {metric.name for metric in result.metrics}
    if localism.STEPWISE in declared:
        return localism.parts, localism.items(result)
    if "accuracy_twin" in declared:
        unlike = samples("Answers that differ", CONSISTENCY, "differ", "function")
        return synonym_parts, page.ItemsView(CONSISTENCY, synonym_item, (unlike,), size=20, texts=SOURCES)
    if RULED in declared:
        answered = replace(samples("Answers", RULED, RULES, "pair"), value=None, counted_value="true")
        return exception_parts, page.ItemsView(RULED, exception, (answered,), size=20, texts=SOURCES)
    wrong = samples("Wrong answers", ACCURACY, "wrong", "function")
    return plain_parts, page.ItemsView(ACCURACY, answer, (wrong,), size=20, texts=SOURCES)


REST_COLOUR = 6
SOURCES = ("source",)
"""The details with the input of an item."""
_PLACES = {name: place for place, name in enumerate(FUNCTIONS)}


def in_language_order(functions: Iterable[str]) -> list[str]:
    """Functions in the order of the language, then others."""
    return sorted(functions, key=lambda name: _PLACES.get(name, len(_PLACES)))


def function_figure(
    result: Result, series: Mapping[str, str], *, title: str, what: str, series_are: str
) -> Iterator[page.Figure]:
    """One row per function with a dot for each metric in `series`, which has their labels."""
    metric = next(iter(series))
    rows_of = {name: grouped.by_field(result, of).get("function", ()) for of, name in series.items()}
    by_series = {name: {row.group: row for row in rows} for name, rows in rows_of.items()}
    functions = in_language_order(by_series[series[metric]])
    cells = [(rows.get(name), of) for name in functions for of, rows in by_series.items()]
    points = [grouped.point(row, series=of) for row, of in cells if row is not None]
    if points:
        note = grouped.interval_note(result, metric)
        yield grouped.dots("functions", title, points, note=note, value=what, row="function", series=series_are)


def shares_figure(
    parts: Mapping[str, Mapping[str, float]],
    sizes: Mapping[str, int | None],
    *,
    title: str,
    note: str,
    what: str,
    columns: tuple[str, str],
) -> page.Figure:
    """The composition of each row, the rest last; `sizes` has the number of items, if known."""
    segments = []
    for row, values in parts.items():
        for name, value in values.items():
            n = sizes[row]
            segments.append(charts.StackedBar(row, name, value, None if n is None else round(value * n)))
    return page.Figure(
        id="shares",
        draw=partial(charts.shares, segments, title=what, colours={segments[-1].series: REST_COLOUR}),
        title=title,
        note=note,
        columns=(*columns, "share", "n"),
        rows=tuple((p.row, p.series, percent(p.value), "–" if p.n is None else f"{p.n:,}") for p in segments),
        records=tuple({columns[0]: p.row, columns[1]: p.series, "share": p.value, "n": p.n} for p in segments),
    )


def share_curve(values: Mapping[int, Sequence[bool]], series: str = "") -> list[charts.LinePoint]:
    """The share of true values at each number, with its interval."""
    shares = {x: estimate("", "", right) for x, right in sorted(values.items())}
    return [charts.LinePoint(x, share.value, share.low, share.high, share.n, series) for x, share in shares.items()]


ACCURACY = "accuracy"
PLAIN_AXES = {"depth": "depth", "functions": "number of functions", "length": "length (words of the source)"}
GROWS = "length (symbols in the growing string)"
LEGEND = "One line per function. Choose one in the legend to see it alone, with its 95% intervals."


def plain_parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Charts of a plain test, one per function, or one of increasing length."""
    growing = result.meta.get("subtest") == "increasing_length"
    if growing and rows.tally(ACCURACY)[""]:
        yield page.DeferredPart("growing", "Accuracy as strings grow", lambda: _length_figure(rows), note=LEGEND)
    fields, note = grouped.by_field(result, ACCURACY), grouped.interval_note(result, ACCURACY)
    yield from _functions(fields.get("function", ()), fields.get("contains", ()), note)
    if pairs := grouped.best_first(fields.get("pair", ())):
        yield grouped.dots(
            "pairs",
            "Accuracy on pairs of functions that systematicity holds out",
            [grouped.point(row) for row in pairs],
            note=f"{note} Over the lines in which one function is applied to the result of the other.",
            value=ACCURACY,
            row="pair",
        )
    axes = {**PLAIN_AXES, "length": GROWS} if growing else PLAIN_AXES
    yield from grouped.curves(result, {ACCURACY: ""}, axes, title="Accuracy by", what=ACCURACY)


def _functions(
    outermost: Sequence[FormattedEstimate], anywhere: Sequence[FormattedEstimate], note: str
) -> Iterator[page.Figure]:
    if not outermost and not anywhere:
        return
    by_reading = {"outermost": outermost, "anywhere in it": anywhere}
    series = {name: {row.group: row for row in rows} for name, rows in by_reading.items() if rows}
    # If every line has one function, both are the same.
    if len(series) == 2 and series["outermost"] == series["anywhere in it"]:
        del series["anywhere in it"]
    by_series = len(series) > 1
    points = [
        grouped.point(row, name=name, series=of if by_series else "")
        for name in in_language_order(dict.fromkeys(name for rows in series.values() for name in rows))
        for of, rows in series.items()
        if (row := rows.get(name)) is not None
    ]
    more = " Lines in which the function is outermost, and all lines that contain it." if by_series else ""
    series_are = "function is" if by_series else ""
    title = "Accuracy by function"
    yield grouped.dots("functions", title, points, note=note + more, value=ACCURACY, row="function", series=series_are)


def _length_figure(rows: Rows) -> page.Figure | None:
    """A curve per function over the length of the growing string; None if lengths are unknown."""
    cells: dict[str, dict[int, list[bool]]] = {}
    for row in rows.each(Filter(ACCURACY), keys=()):
        groups, value = row.outcome.groups, row.outcome.value
        size = groups.get("length", "")
        if size.isdecimal() and isinstance(value, bool):
            cells.setdefault(groups.get("function", ""), {}).setdefault(int(size), []).append(value)
    points = [p for function in in_language_order(sorted(cells)) for p in share_curve(cells[function], function)]
    title, x = "Accuracy as strings grow", "symbols in the growing string"
    return grouped.curve("growing", title, points, note=LEGEND, x=x, value=ACCURACY) if points else None


RULED = "overgeneralisation"
RULES, EXCEPTION, NEITHER = "by the rules", "as an exception", "otherwise"
READINGS = {RULED: RULES, "memorisation": EXCEPTION}
OF_EXCEPTIONS = "share of exceptions"


def exception_parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Charts over epochs, or of the answers of one model."""
    yield from _profile(result)
    yield from _exception_shares(result)


def exception(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    """An exception with both of its readings, and which of them the answer is."""
    source, ruled, exceptional, answer = texts(judgements, "source", "original", "exception", "answer")
    how = {exceptional: EXCEPTION, ruled: RULES}.get(answer, NEITHER)
    pieces = mark_differences(ruled, answer)[1] if how == NEITHER else single_piece(answer)
    readings = (line(RULES, ruled), line(EXCEPTION, exceptional))
    lines = (line("source", source), *readings, page.LabelledText("answer", pieces))
    return page.ItemView(f"answered {how}", fails=how == NEITHER, parts=(page.LinesPart(lines, symbols=True),))


def _profile(result: Result) -> Iterator[page.Figure]:
    epochs = {metric: grouped.by_field(result, metric).get("epoch", ()) for metric in READINGS}
    points = [point for metric, rows in epochs.items() for point in grouped.curve_points(rows, metric)]
    if not points:
        return
    ruled = [p for p in points if p.series == RULED and p.value > 0]
    # The first, if several are highest. A mean over runs has none: its highest value is not the mean of theirs.
    peak = max(ruled, key=lambda p: (p.value, -p.x)) if ruled and grouped.counts_items(result, RULED) else None
    yield grouped.curve(
        "profile",
        "Exceptions over the epochs",
        points,
        note=(
            "Overgeneralisation is the share of exceptions that are answered by the rules, memorisation the share "
            "that are answered as exceptions."
        ),
        x="epoch",
        value=OF_EXCEPTIONS,
        peak=peak,
    )


def _exception_shares(result: Result) -> Iterator[page.Figure]:
    """For all exceptions, those of two functions alone, and each pair: by the rules, as an exception, otherwise."""
    overall = {row.metric: row for row in grouped.overall_of(result, *READINGS)}
    if len(overall) < len(READINGS):
        return
    by_group = {"all exceptions": overall}
    for metric in READINGS:
        fields = grouped.by_field(result, metric)
        for row in fields.get("functions", ()):
            if row.group == "2":
                by_group.setdefault("of two functions", {})[metric] = row
        for row in fields.get("pair", ()):
            by_group.setdefault(row.group, {})[metric] = row
    values: dict[str, dict[str, float]] = {}
    for name, cells in by_group.items():
        values[name] = {label: cells[metric].value for metric, label in READINGS.items() if metric in cells}
        values[name][NEITHER] = max(0.0, 1 - sum(values[name].values()))
    items = grouped.counts_items(result, RULED)
    yield shares_figure(
        values,
        {name: next(iter(cells.values())).n if items else None for name, cells in by_group.items()},
        title="How exceptions are answered",
        note="The published figures are those of exceptions of two functions.",
        what=OF_EXCEPTIONS,
        columns=("exceptions", "answered"),
    )


CONSISTENCY = "consistency"
SYNONYM_SERIES = {
    CONSISTENCY: "consistent",
    "accuracy_original": "right with the function",
    "accuracy_twin": "right with its synonym",
}
EQUAL = {"consistent_correct": "equal and right", "consistent_incorrect": "equal and wrong"}
SYNONYM_AXES = {"functions": "number of functions", "depth": "depth"}
ABOUT, OF_PAIRS = "Consistency and accuracy, by", "share of pairs"


def synonym_parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Charts of both answers, by function and by size of the source."""
    yield from _synonym_shares(result)
    yield from function_figure(
        result, SYNONYM_SERIES, title=f"{ABOUT} function", what=OF_PAIRS, series_are="answers are"
    )
    yield from grouped.curves(result, SYNONYM_SERIES, SYNONYM_AXES, title=ABOUT, what=OF_PAIRS)


def synonym_item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    """A source with and without a synonym, and both answers."""
    source, twin, target, first, second = texts(judgements, "source", "twin", "target", "answer", "twin_answer")
    ours, theirs = mark_differences(first, second)
    lines = (
        line("source", source),
        page.LabelledText("with synonym", mark_differences(source, twin)[1], "mark"),
        line("target", target),
        judged("answer", ours, right=first == target),
        judged("answer with synonym", theirs, right=second == target),
    )
    if first == second:
        note = "equal and right" if first == target else "equal and wrong"
    else:
        note = {first: "only the first is right", second: "only the second is right"}.get(target, "both are wrong")
    return page.ItemView(note, fails=first != second, parts=(page.LinesPart(lines, symbols=True),))


def _synonym_shares(result: Result) -> Iterator[page.Figure]:
    """For all pairs and each function: equal and right, equal and wrong, not equal."""
    by_function: dict[str, dict[str, Estimate]] = {}
    for value in result.estimates:
        if value.metric in (*EQUAL, CONSISTENCY) and (value.group == "all" or value.group.startswith("function=")):
            by_function.setdefault(value.group.partition("=")[2] or "all functions", {})[value.metric] = value
    complete = {name: cells for name, cells in by_function.items() if len(cells) > len(EQUAL)}
    if complete:
        items = grouped.counts_items(result, CONSISTENCY)
        yield shares_figure(
            {
                name: {label: cells[metric].value for metric, label in EQUAL.items()}
                | {"not equal": 1 - cells[CONSISTENCY].value}
                for name, cells in complete.items()
            },
            {name: cells[CONSISTENCY].n if items else None for name, cells in complete.items()},
            title="The two answers, by function",
            note="The answers to a source with and without a synonym for one function.",
            what=OF_PAIRS,
            columns=("function", "the answers are"),
        )
