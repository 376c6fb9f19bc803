"""The paper's table as one HTML page, with figures and every result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wug.record_tables import as_number
from wug.reproduce.plan import RecipeCell, ReproductionPlan
from wug.reproduce.recipe import RecipeTest
from wug.reproduce.table import COLUMNS, EPOCH, TableRow, cells, mean, values_by_field, values_by_group
from wug.results.reader import RunReader
from wug.views.charts import LinePoint, Point
from wug.views.grouped import curve, dots
from wug.views.parts import Figure, TableCell, TableColumn, TablePart, TablePartRow, TextPart, ViewPart
from wug.views.report import ReportedResult, ReportLead, render

INTERVALS_OVER_SEEDS = "Means over seeds, with 95% intervals (Student's)."
INTERVALS_OVER_ITEMS = "With 95% intervals over items."


def comparison_figures(rows: Sequence[TableRow]) -> list[Figure]:
    """Published values and ours as dots: one chart per model, or per test if there are more models.

    Rows that break a test down have a separate chart, with one dot per model.
    """
    main_rows = [row for row in rows if not row.within]
    tests = list(dict.fromkeys(row.row for row in main_rows))
    networks = list(dict.fromkeys(row.network for row in main_rows))
    by_network = len(networks) <= len(tests)
    figures = []
    for index, name in enumerate(networks if by_network else tests):
        chart_rows = [row for row in main_rows if (row.network if by_network else row.row) == name]
        if not any(row.value is not None for row in chart_rows):
            continue
        points = [point for row in chart_rows for point in _points(row, row.row if by_network else row.network)]
        points.sort(key=lambda point: point.series != "published")  # the same colour in every chart
        first = "test" if by_network else "model"
        note = "The published values, and ours with 95% intervals."
        figures.append(dots(f"comparison-{index}", name, points, note=note, value="value", row=first, series="found"))
    return figures + list(_breakdown_figures(rows))


def training_curves(plan: ReproductionPlan) -> Iterator[Figure]:
    """For each test and each of its curves, a chart with one line per network."""
    tests: dict[str, list[tuple[RecipeCell, ...]]] = {}
    for group in plan.rows:
        tests.setdefault(group[0].test.row, []).append(group)
    for index, (row, networks) in enumerate(tests.items()):
        test = networks[0][0].test
        for field in test.curves:
            points = list(_curve_points(plan, test, networks, field))
            if len({point.x for point in points}) < 2:
                continue
            has_seeds = any(len(group) > 1 for group in networks)
            yield curve(
                f"course-{index}-{field}",
                _curve_title(row.partition(",")[0], test.metric, field),
                points,
                note=INTERVALS_OVER_SEEDS if has_seeds else INTERVALS_OVER_ITEMS,
                x=field,
                value=test.metric if not test.secondary else "share",
            )


def _curve_points(
    plan: ReproductionPlan, test: RecipeTest, networks: Sequence[tuple[RecipeCell, ...]], field: str
) -> Iterator[LinePoint]:
    for group in networks:
        for metric in (test.metric, *test.secondary):
            title = group[0].network.title
            name = f"{title} · {metric.replace('_', ' ')}" if test.secondary else title
            by_value = values_by_field(values_by_group(plan, group, metric), field)
            for value in sorted((value for value in by_value if math.isfinite(as_number(value))), key=float):
                average = mean(by_value[value])
                assert average.value is not None, "a part exists because it has values"
                n = None if field == EPOCH else average.n  # epochs with few exceptions are shown too
                yield LinePoint(float(value), average.value, average.low, average.high, n, name)


def _breakdown_figures(rows: Sequence[TableRow]) -> Iterator[Figure]:
    tests = dict.fromkeys(row.within for row in rows if row.within)
    for index, test in enumerate(tests):
        test_rows = [row for row in rows if row.within == test and row.value is not None]
        points = [
            Point(row.row.strip(), row.value, row.low, row.high, row.n, row.network)
            for row in test_rows
            if row.value is not None
        ]
        if points:
            title = f"{_capitalised(test)}, in parts"
            networks = {row.network for row in test_rows}
            note = "With 95% intervals." if len(networks) == 1 else "With 95% intervals, by model."
            yield dots(f"parts-{index}", title, points, note=note, value="value", row="part", series="model")


def _points(row: TableRow, name: str) -> Iterator[Point]:
    if row.published is not None:
        yield Point(name, row.published.value, series="published")
    if row.value is not None:
        yield Point(name, row.value, row.low, row.high, row.n, series="here")


def _curve_title(row: str, metric: str, field: str) -> str:
    """The title of a chart, such as `Localism: consistency by depth`."""
    return f"{_capitalised(row)}{'' if metric in row else f': {metric}'.replace('_', ' ')} by {field}"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:].replace("_", " ")


NUMERIC_COLUMNS = ("published", "here", "95% interval", "difference", "n")


def as_page(plan: ReproductionPlan, rows: Sequence[TableRow], remark: str = "") -> str:
    """The page as HTML, which opens offline; `remark` is shown above the table."""
    recipe = plan.recipe
    prose = " ".join(text for text in (f"{recipe.reference}." if recipe.reference else "", recipe.note, remark) if text)
    opening: tuple[ViewPart, ...] = (TextPart(prose, lead=True),) if prose else ()
    parts = (*opening, table(rows), *comparison_figures(rows), *training_curves(plan))
    return render(list(_reports(plan, rows)), lead=ReportLead(recipe.title, parts))


def table(rows: Sequence[TableRow]) -> TablePart:
    """The table, with a heading per test; parts of a test are shown in charts."""
    rows = [row for row in rows if not row.within]
    hidden = {"test"} if any(row.seeds for row in rows) else {"test", "seeds"}
    columns = [column for column, name in enumerate(COLUMNS) if name not in hidden]
    tests: dict[str, list[TablePartRow]] = {}
    for row in rows:
        texts = cells(row)
        row_cells = tuple(TableCell(texts[column]) for column in columns)
        tests.setdefault(row.row.strip(), []).append(TablePartRow(row_cells))
    return TablePart(
        id="published",
        title="The paper's table, with computed values",
        columns=tuple(TableColumn(COLUMNS[column], numeric=COLUMNS[column] in NUMERIC_COLUMNS) for column in columns),
        groups=tuple((test, tuple(test_rows)) for test, test_rows in tests.items()),
        note=_intervals(rows),
        style="types",
    )


def _intervals(rows: Sequence[TableRow]) -> str:
    methods = dict.fromkeys(row.method for row in rows if row.method)
    units = [method.removeprefix("t over ") for method in methods if method.startswith("t over ")]
    items = [method for method in methods if not method.startswith("t over ")]
    parts = [f"Student's over {unit}" for unit in units] + ([f"over items ({', '.join(items)})"] if items else [])
    return f"Intervals: {'; '.join(parts)}." if parts else ""


def _reports(plan: ReproductionPlan, rows: Sequence[TableRow]) -> Iterator[ReportedResult]:
    missing = {signature for row in rows for signature in row.signatures}
    if not missing:
        return
    reader = RunReader(plan.store)
    for run in reader.runs():
        signatures = {str(stored.result.signature) for stored in reader.stored(run.id)} & missing
        if not signatures:
            continue
        missing -= signatures
        for stored in reader.stored(run.id, outcomes=True):
            if str(stored.result.signature) in signatures:
                yield ReportedResult(stored.result, run=run.id, command=run.command, created=run.started)
