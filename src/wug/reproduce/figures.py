"""The figures of the page: published values beside ours, and ours along depth, length or epochs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.reproduce.found import EPOCH, fields_in, found_in, mean
from wug.reproduce.plan import Cell, Plan
from wug.reproduce.recipe import Test
from wug.reproduce.table import TableRow, grouped
from wug.views.charts import CurvePoint, Point
from wug.views.grouped import curve, dots
from wug.views.parts import Figure

SEVERAL = "Means over seeds, with 95 % intervals (Student's)."
ONE = "With 95 % intervals over items."


def beside(rows: Sequence[TableRow]) -> list[Figure]:
    """Published values and ours as dots: a chart for each model, or for each test where there are more models.

    Rows that break a test down have a chart of their own, with a dot for each model.
    """
    whole = [row for row in rows if not row.within]
    tests, networks = (
        list(dict.fromkeys(names)) for names in zip(*((row.row, row.network) for row in whole), strict=True)
    )
    by_network = len(networks) <= len(tests)
    found = []
    for place, name in enumerate(networks if by_network else tests):
        chosen = [row for row in whole if (row.network if by_network else row.row) == name]
        if not any(row.value is not None for row in chosen):
            continue
        points = [point for row in chosen for point in _points(row, row.row if by_network else row.network)]
        points.sort(key=lambda point: point.series != "published")  # so that it has the same colour in every chart
        first = "test" if by_network else "model"
        note = "The published values, and ours with 95 % intervals."
        found.append(dots(f"beside-{place}", name, points, note=note, what="value", first=first, series="found"))
    return found + list(_broken_down(rows))


def courses(plan: Plan) -> Iterator[Figure]:
    """For each test and each field that it is drawn along, a chart with a line for each network."""
    tests: dict[str, list[list[Cell]]] = {}
    for cells in grouped(plan):
        tests.setdefault(cells[0].test.row, []).append(cells)
    for place, (row, networks) in enumerate(tests.items()):
        test = networks[0][0].test
        for field in test.curves:
            points = list(_course(plan, test, networks, field))
            if len({point.x for point in points}) < 2:
                continue
            several = any(len(cells) > 1 for cells in networks)
            yield curve(
                f"course-{place}-{field}",
                _title(row.partition(",")[0], test.check, field),
                points,
                note=SEVERAL if several else ONE,
                x=field,
                what=test.check if not test.beside else "share",
            )


def _course(plan: Plan, test: Test, networks: Sequence[list[Cell]], field: str) -> Iterator[CurvePoint]:
    for cells in networks:
        for check in (test.check, *test.beside):
            name = " · ".join((cells[0].network.title, *([check.replace("_", " ")] if test.beside else [])))
            parts = fields_in(found_in(plan, cells, check), field)
            for value in sorted(filter(_is_number, parts), key=float):
                ours = mean(parts[value])
                assert ours is not None, "a part is there because something was found"
                n = None if field == EPOCH else ours.n  # few exceptions are no reason to leave an epoch out
                yield CurvePoint(float(value), ours.value, ours.low, ours.high, n, name)


def _broken_down(rows: Sequence[TableRow]) -> Iterator[Figure]:
    """For each test that is broken down, its parts with a dot for each model."""
    tests = dict.fromkeys(row.within for row in rows if row.within)
    for place, test in enumerate(tests):
        parts = [row for row in rows if row.within == test and row.value is not None]
        points = [
            Point(row.row.strip(), row.value, row.low, row.high, row.n, row.network)
            for row in parts
            if row.value is not None
        ]
        if points:
            title = f"{_capital(test)}, in parts"
            note = (
                "With 95 % intervals." if len({row.network for row in parts}) == 1 else "With 95 % intervals, by model."
            )
            yield dots(f"parts-{place}", title, points, note=note, what="value", first="part", series="model")


def _points(row: TableRow, name: str) -> Iterator[Point]:
    if row.published is not None:
        yield Point(name, row.published.value, series="published")
    if row.value is not None:
        yield Point(name, row.value, row.low, row.high, row.n, series="here")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _title(row: str, check: str, field: str) -> str:
    """Of a chart, such as `Localism: consistency by depth`; the check is left out where the row says it."""
    return f"{_capital(row)}{'' if check in row else f': {check}'.replace('_', ' ')} by {field}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].replace("_", " ")
