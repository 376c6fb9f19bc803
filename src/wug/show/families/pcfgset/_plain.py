"""One answer against one target: accuracy by function, depth, length and number of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wug.families.pcfgset.language import FUNCTIONS
from wug.show import charts
from wug.show.families import Figure, Place, Shown
from wug.show.families._grouped import best_first, by_field, curve, curve_points, dots, intervals_are, point
from wug.show.families._marked import marked
from wug.show.families.pcfgset._answers import Answer, Line, as_it_is, batches, text_of
from wug.stats import estimate
from wug.types import Outcome, Result

CHECK = "accuracy"
CURVES = {"depth": "depth", "functions": "number of functions", "length": "length (words of the source)"}


def plain(result: Result, place: Place) -> dict[str, Any]:
    """What the page shows of a plain test, one per function, or one of increasing length."""
    judged = [outcome for outcome in result.outcomes if outcome.check == CHECK]
    wrong = [outcome for outcome in judged if outcome.value is False]
    found, left = batches(wrong, judged, place.room, "function", _answer)
    growing = result.meta.get("test") == "increasing_length"
    figures = [*(_growing(judged, place) if growing else ()), *_figures(result, place, growing)]
    return {"figures": figures, "batches": found, "left": left, "what": "wrong answers", "verb": "wrong"}


def _figures(result: Result, place: Place, growing: bool) -> Iterator[Figure]:
    fields = by_field(result, CHECK)
    note = intervals_are(result, CHECK)
    yield from _functions(fields.get("function", ()), fields.get("contains", ()), note, f"{place.id}-functions")
    if pairs := best_first(fields.get("pair", ())):
        yield dots(
            f"{place.id}-pairs",
            "Accuracy on pairs of functions that systematicity holds out",
            [point(row) for row in pairs],
            note=f"{note} Over the lines in which one function is applied to what the other gives.",
            what=CHECK,
            first="pair",
        )
    for field, x in CURVES.items():
        points = curve_points(fields.get(field, ()))
        if len(points) > 1:
            length = growing and field == "length"
            x = "symbols in the string that grows" if length else x
            title = f"Accuracy by {'length' if length else x.partition(' (')[0]}"
            yield curve(f"{place.id}-by-{field}", title, points, note=band_note(result, CHECK), x=x, what=CHECK)


def band_note(result: Result, check: str) -> str:
    """What the bands around the lines are."""
    return intervals_are(result, check).replace("Dots with 95 % intervals", "The bands are 95 % intervals")


def _functions(outermost: Sequence[Shown], anywhere: Sequence[Shown], note: str, id: str) -> Iterator[Figure]:
    """Functions by their place: outermost, or anywhere in the line where that is known too."""
    if not outermost and not anywhere:
        return
    found = {"outermost": outermost, "anywhere in it": anywhere}
    series = {name: {row.group: row for row in rows} for name, rows in found.items() if rows}
    # Where every line has one function, both say the same.
    if len(series) == 2 and series["outermost"] == series["anywhere in it"]:
        del series["anywhere in it"]
    several = len(series) > 1
    names = dict.fromkeys([*FUNCTIONS, *(name for rows in series.values() for name in rows)])
    points = [
        point(row, name=name, series=of if several else "")
        for name in names
        for of, rows in series.items()
        if (row := rows.get(name)) is not None
    ]
    more = " Lines in which the function is the outermost one, and all lines that have it." if several else ""
    series_are = "function is" if several else ""
    yield dots(id, "Accuracy by function", points, note=note + more, what=CHECK, first="function", series=series_are)


def _growing(judged: Sequence[Outcome], place: Place) -> Iterator[Figure]:
    """A curve for each function over the length of the string that grows."""
    cells: dict[tuple[str, int], list[bool]] = {}
    for outcome in judged:
        size = str(outcome.groups.get("length", ""))
        if size.isdecimal() and isinstance(outcome.value, bool):
            cells.setdefault((str(outcome.groups.get("function", "")), int(size)), []).append(outcome.value)
    if not cells:
        return
    places = {name: place for place, name in enumerate(FUNCTIONS)}
    points = []
    for (function, length), values in sorted(cells.items(), key=lambda c: (places.get(c[0][0], 99), c[0])):
        found = estimate(CHECK, "", values)
        points.append(charts.CurvePoint(length, found.value, found.low, found.high, found.n, function))
    yield curve(
        f"{place.id}-growing",
        "Accuracy as strings grow",
        points,
        note="A line for each function. Choose one in the legend to see it alone, with its 95 % intervals.",
        x="symbols in the string that grows",
        what=CHECK,
    )


def _answer(outcome: Outcome) -> Answer:
    source, target, answer = (text_of(outcome, key) for key in ("source", "target", "answer"))
    right, wrong = marked(target, answer)
    said, wanted = answer.split(), target.split()
    early = "no answer" if not said else "stops too early" if wanted[: len(said)] == said else ""
    lines = (Line("source", as_it_is(source)), Line("target", right, "ins"), Line("answer", wrong))
    return Answer(outcome.item, early, lines)
