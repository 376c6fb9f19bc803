"""One answer against one target: accuracy by function, depth, length and number of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.figures import curves, in_language_order, judged, line, share_curve, texts
from wug.formatting import FormattedEstimate
from wug.rows import Filter, OutcomeRow, Rows
from wug.types import Result
from wug.views.grouped import best_first, by_field, curve, dots, interval_note, point
from wug.views.parts import DeferredPart, Figure, ItemSample, ItemsView, ItemView, LabelledText, LinesPart, ViewPart
from wug.views.text_display import marked, unmarked

METRIC = "accuracy"
AXES = {"depth": "depth", "functions": "number of functions", "length": "length (words of the source)"}
GROWS = "length (symbols in the growing string)"
LEGEND = "One line per function. Choose one in the legend to see it alone, with its 95% intervals."


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Charts of a plain test, one per function, or one of increasing length."""
    growing = result.meta.get("test") == "increasing_length"
    if growing and rows.tally(METRIC)[""]:
        yield DeferredPart("growing", "Accuracy as strings grow", lambda: _growing(rows), note=LEGEND)
    fields, note = by_field(result, METRIC), interval_note(result, METRIC)
    yield from _functions(fields.get("function", ()), fields.get("contains", ()), note)
    if pairs := best_first(fields.get("pair", ())):
        yield dots(
            "pairs",
            "Accuracy on pairs of functions that systematicity holds out",
            [point(row) for row in pairs],
            note=f"{note} Over the lines in which one function is applied to the result of the other.",
            what=METRIC,
            first="pair",
        )
    axes = {**AXES, "length": GROWS} if growing else AXES
    yield from curves(result, {METRIC: ""}, axes, title="Accuracy by", what=METRIC)


def items(result: Result) -> ItemsView:
    """Every line; wrong answers by outermost function."""
    wrong = ItemSample("Wrong answers", METRIC, verb="wrong", group=lambda outcome: outcome.groups.get("function", ""))
    return ItemsView(METRIC, answer, (wrong,), size=20)


def answer(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> ItemView:
    """A line with target and answer, and whether it ends too early."""
    source, target, answered = texts(judgements, "source", "target", "answer")
    right = answered == target
    expected, found = (unmarked(target), unmarked(answered)) if right else marked(target, answered)
    said = answered.split()
    early = "no answer" if not said else "stops too early" if target.split()[: len(said)] == said else ""
    lines = (line("source", source), LabelledText("target", expected, "ins"), judged("answer", found, right=right))
    return ItemView("" if right else early, parts=(LinesPart(lines, symbols=True),))


def _functions(
    outermost: Sequence[FormattedEstimate], anywhere: Sequence[FormattedEstimate], note: str
) -> Iterator[Figure]:
    if not outermost and not anywhere:
        return
    found = {"outermost": outermost, "anywhere in it": anywhere}
    series = {name: {row.group: row for row in rows} for name, rows in found.items() if rows}
    # If every line has one function, both are the same.
    if len(series) == 2 and series["outermost"] == series["anywhere in it"]:
        del series["anywhere in it"]
    several = len(series) > 1
    points = [
        point(row, name=name, series=of if several else "")
        for name in in_language_order(dict.fromkeys(name for rows in series.values() for name in rows))
        for of, rows in series.items()
        if (row := rows.get(name)) is not None
    ]
    more = " Lines in which the function is outermost, and all lines that contain it." if several else ""
    series_are = "function is" if several else ""
    title = "Accuracy by function"
    yield dots("functions", title, points, note=note + more, what=METRIC, first="function", series=series_are)


def _growing(rows: Rows) -> Figure | None:
    """A curve per function over the length of the growing string; None if lengths are unknown."""
    cells: dict[str, dict[int, list[bool]]] = {}
    for row in rows.each(Filter(METRIC), keys=()):
        groups, value = row.outcome.groups, row.outcome.value
        size = groups.get("length", "")
        if size.isdecimal() and isinstance(value, bool):
            cells.setdefault(groups.get("function", ""), {}).setdefault(int(size), []).append(value)
    points = [p for function in in_language_order(sorted(cells)) for p in share_curve(cells[function], function)]
    if not points:
        return None
    return curve(
        "growing",
        "Accuracy as strings grow",
        points,
        note=LEGEND,
        x="symbols in the growing string",
        what=METRIC,
    )
