"""One answer against one target: accuracy by function, depth, length and number of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.answers import judged, line, texts
from wug.families.pcfgset.view.figures import curves, in_language_order
from wug.rows import Filter, Placed, Rows
from wug.stats import estimate
from wug.types import Result
from wug.views import charts
from wug.views.grouped import best_first, by_field, curve, dots, intervals_are, point
from wug.views.marked import marked, unmarked
from wug.views.numbers import Shown
from wug.views.parts import Figure, Item, Items, Later, Line, Lines, Part, Sample

CHECK = "accuracy"
AXES = {"depth": "depth", "functions": "number of functions", "length": "length (words of the source)"}
GROWS = "length (symbols in the string that grows)"
LEGEND = "A line for each function. Choose one in the legend to see it alone, with its 95 % intervals."


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Charts of a plain test, one per function, or one of increasing length."""
    growing = result.meta.get("test") == "increasing_length"
    if growing and rows.tally(CHECK)[""]:
        yield Later("growing", "Accuracy as strings grow", lambda: _growing(rows), note=LEGEND)
    fields, note = by_field(result, CHECK), intervals_are(result, CHECK)
    yield from _functions(fields.get("function", ()), fields.get("contains", ()), note)
    if pairs := best_first(fields.get("pair", ())):
        yield dots(
            "pairs",
            "Accuracy on pairs of functions that systematicity holds out",
            [point(row) for row in pairs],
            note=f"{note} Over the lines in which one function is applied to what the other gives.",
            what=CHECK,
            first="pair",
        )
    axes = {**AXES, "length": GROWS} if growing else AXES
    yield from curves(result, {CHECK: ""}, axes, title="Accuracy by", what=CHECK)


def items(result: Result) -> Items:
    """Every line, those answered wrong by their outermost function."""
    wrong = Sample("Wrong answers", CHECK, verb="wrong", group=lambda outcome: outcome.groups.get("function", ""))
    return Items(CHECK, answer, (wrong,), size=20)


def answer(row: Placed, judgements: Sequence[Placed]) -> Item:
    """A line with its target and the answer, and whether that ends too early."""
    source, target, answered = texts(judgements, "source", "target", "answer")
    right = answered == target
    wanted, found = (unmarked(target), unmarked(answered)) if right else marked(target, answered)
    said = answered.split()
    early = "no answer" if not said else "stops too early" if target.split()[: len(said)] == said else ""
    lines = (line("source", source), Line("target", wanted, "ins"), judged("answer", found, right=right))
    return Item("" if right else early, parts=(Lines(lines, symbols=True),))


def _functions(outermost: Sequence[Shown], anywhere: Sequence[Shown], note: str) -> Iterator[Figure]:
    """Functions by their place: outermost, or anywhere in the line where that is known too."""
    if not outermost and not anywhere:
        return
    found = {"outermost": outermost, "anywhere in it": anywhere}
    series = {name: {row.group: row for row in rows} for name, rows in found.items() if rows}
    # Where every line has one function, both say the same.
    if len(series) == 2 and series["outermost"] == series["anywhere in it"]:
        del series["anywhere in it"]
    several = len(series) > 1
    points = [
        point(row, name=name, series=of if several else "")
        for name in in_language_order(dict.fromkeys(name for rows in series.values() for name in rows))
        for of, rows in series.items()
        if (row := rows.get(name)) is not None
    ]
    more = " Lines in which the function is the outermost one, and all lines that have it." if several else ""
    series_are = "function is" if several else ""
    title = "Accuracy by function"
    yield dots("functions", title, points, note=note + more, what=CHECK, first="function", series=series_are)


def _growing(rows: Rows) -> Figure | None:
    """A curve for each function over the length of the string that grows; None where no line says its length."""
    cells: dict[str, dict[int, list[bool]]] = {}
    for row in rows.each(Filter(CHECK), keys=()):
        groups, value = row.outcome.groups, row.outcome.value
        size = groups.get("length", "")
        if size.isdecimal() and isinstance(value, bool):
            cells.setdefault(groups.get("function", ""), {}).setdefault(int(size), []).append(value)
    points = []
    for function in in_language_order(sorted(cells)):
        for length, values in sorted(cells[function].items()):
            found = estimate(CHECK, "", values)
            points.append(charts.CurvePoint(length, found.value, found.low, found.high, found.n, function))
    if not points:
        return None
    return curve(
        "growing",
        "Accuracy as strings grow",
        points,
        note=LEGEND,
        x="symbols in the string that grows",
        what=CHECK,
    )
