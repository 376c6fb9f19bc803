"""Accuracy on pairs, by everything that they are grouped by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wug.show import charts
from wug.show.families import Figure, Place, Shown, percent, plain, shown
from wug.show.families._grouped import best_first, by_field, dots, intervals_are, point
from wug.show.families.pairs._judged import CHECK, Judged
from wug.types import Result

CROSSED = "pattern_type"


def group_figures(result: Result, judged: Sequence[Judged], place: Place) -> list[Figure]:
    """A chart for each way in which the pairs are grouped; a field with one value says nothing."""
    fields = {name: rows for name, rows in by_field(result, CHECK).items() if len(rows) > 1}
    note = f"{intervals_are(result, CHECK)} Chance is 50 %.".strip()
    found = [
        *_types_and_patterns(result, fields, note, f"{place.id}-types"),
        *_fields_and_terms(fields, note, f"{place.id}-terms"),
        *_paradigms(fields, judged, note, f"{place.id}-paradigms"),
    ]
    shown = {"pattern", "type", CROSSED, "field", "term", "paradigm"}
    return [*found, *_others({n: r for n, r in fields.items() if n not in shown}, note, f"{place.id}-others")]


def columns_figure(result: Result, place: Place) -> Figure | None:
    """The accuracy of every column, where scores of several were judged."""
    rows: dict[str, Shown] = {}
    types: dict[str, dict[str, str]] = {}
    for estimate in result.estimates:
        check, colon, column = estimate.check.partition(":")
        if check != CHECK or not colon:
            continue
        field, _, value = estimate.group.partition("=")
        if field == "all":
            rows[column] = shown(result, estimate)
        elif field == "type":
            types.setdefault(value, {})[column] = percent(estimate.value)
    if len(rows) < 2:
        return None
    ordered = sorted(rows, key=lambda column: -rows[column].value)
    figure = dots(
        f"{place.id}-columns",
        "Accuracy of every column",
        [point(rows[column], name=column) for column in ordered],
        note="Each column of the file is a model. Dots with 95 % intervals.",
        what="accuracy",
        first="column",
    )
    cells = [(*row, *(of.get(row[0], "–") for of in types.values())) for row in figure.rows]
    return Figure(figure.id, figure.chart, figure.title, figure.note, (*figure.columns, *types), tuple(cells))


def _types_and_patterns(result: Result, fields: Mapping[str, Sequence[Shown]], note: str, id: str) -> Iterator[Figure]:
    """Original against nonce sentences, over all pairs and pattern by pattern; or patterns alone."""
    types = sorted(fields.get("type", ()), key=lambda row: row.group != "original")
    patterns = best_first(fields.get("pattern", ()))
    if not types:
        if patterns:
            points = [point(row) for row in patterns]
            yield dots(id, "Accuracy by pattern", points, note=note, what="accuracy", first="pattern")
        return
    crossed = {row.group: row for row in by_field(result, CHECK).get(CROSSED, ())}
    points = [point(row, name="all pairs", series=row.group) for row in types]
    for pattern in patterns:
        cells = [(of.group, crossed.get(f"{pattern.group}/{of.group}")) for of in types]
        points += [point(row, name=pattern.group, series=of) for of, row in cells if row is not None]
    names = " and ".join(row.group for row in types)
    title = f"Accuracy on {names} sentences"
    yield dots(id, title, points, note=note, what="accuracy", first="pattern", series="type")


def _fields_and_terms(fields: Mapping[str, Sequence[Shown]], note: str, id: str) -> Iterator[Figure]:
    there = [name for name in ("field", "term") if name in fields]
    if there:
        points = [point(row, group=name) for name in there for row in best_first(fields[name])]
        title = f"Accuracy by {' and '.join(there)}"
        yield dots(id, title, points, note=note, what="accuracy", first=" or ".join(there))


def _paradigms(fields: Mapping[str, Sequence[Shown]], judged: Sequence[Judged], note: str, id: str) -> Iterator[Figure]:
    """Every paradigm under its term, the best term first and the best paradigm in it."""
    rows = best_first(fields.get("paradigm", ()))
    if not rows:
        return
    terms = {one.groups["paradigm"]: one.groups.get("term", "") for one in judged if "paradigm" in one.groups}
    values = {row.group: row for row in fields.get("term", ())}

    def rank(row: Shown) -> tuple[float, str]:
        term = terms.get(row.group, "")
        return (-values[term].value if term in values else 1.0, term)

    ordered = sorted(rows, key=rank)
    points = [point(row, group=plain(terms.get(row.group, ""))) for row in ordered]
    yield dots(
        id, "Accuracy by paradigm", points, note=f"{note} Best first, by term.", what="accuracy", first="paradigm"
    )


def _others(fields: Mapping[str, Sequence[Shown]], note: str, id: str) -> Iterator[Figure]:
    """All other groups: small ones in one chart, large ones in charts of their own."""
    small = {name: rows for name, rows in fields.items() if len(rows) <= 12}
    if small:
        points: list[charts.Point] = []
        for name, rows in small.items():
            points += [point(row, group=plain(name) if len(small) > 1 else "") for row in best_first(rows)]
        title = f"Accuracy by {', '.join(map(plain, small))}"
        yield dots(id, title, points, note=note, what="accuracy", first=plain(next(iter(small))))
    for number, (name, rows) in enumerate((n, r) for n, r in fields.items() if n not in small):
        points = [point(row) for row in best_first(rows)]
        title = f"Accuracy by {plain(name)}"
        yield dots(f"{id}-{number}", title, points, note=note, what="accuracy", first=plain(name))
