"""The paper's table as one HTML page: ours beside the published, figures, and every result behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.reproduce.figures import beside, courses
from wug.reproduce.plan import Plan
from wug.reproduce.table import HEAD, TableRow, cells
from wug.results.reader import RunReader
from wug.views.page import Lead, Report, render
from wug.views.parts import Cell, Column, Part, Prose, Row, Table

NUMERIC = ("published", "here", "95 % interval", "difference", "n")


def as_page(plan: Plan, rows: Sequence[TableRow], remark: str = "") -> str:
    """The page as HTML text, which needs no network; `remark` stands above the table."""
    recipe = plan.recipe
    prose = " ".join(text for text in (f"{recipe.reference}." if recipe.reference else "", recipe.note, remark) if text)
    opening: tuple[Part, ...] = (Prose(prose, lead=True),) if prose else ()
    parts = (*opening, table(rows), *beside(rows), *courses(plan))
    return render(list(_reports(plan, rows)), lead=Lead(recipe.title, parts))


def table(rows: Sequence[TableRow]) -> Table:
    """The table, a heading for each test; the parts of a test have a chart, with their numbers."""
    rows = [row for row in rows if not row.within]
    kept = [place for place, name in enumerate(HEAD) if place and (name != "seeds" or any(row.seeds for row in rows))]
    tests: dict[str, list[Row]] = {}
    for row in rows:
        texts = cells(row)
        tests.setdefault(row.row.strip(), []).append(Row(tuple(Cell(texts[place]) for place in kept)))
    return Table(
        id="published",
        title="The paper's table, and ours beside it",
        columns=tuple(Column(HEAD[place], numeric=HEAD[place] in NUMERIC) for place in kept),
        groups=tuple((test, tuple(found)) for test, found in tests.items()),
        note=_intervals(rows),
        style="types",
    )


def _intervals(rows: Sequence[TableRow]) -> str:
    """What the intervals are of, as a sentence."""
    methods = dict.fromkeys(row.method for row in rows if row.method)
    over = [method.removeprefix("t over ") for method in methods if method.startswith("t over ")]
    items = [method for method in methods if not method.startswith("t over ")]
    parts = [f"Student's over {one}" for one in over] + ([f"over items ({', '.join(items)})"] if items else [])
    return f"Intervals: {'; '.join(parts)}." if parts else ""


def _reports(plan: Plan, rows: Sequence[TableRow]) -> Iterator[Report]:
    """The results that the table's values come from, each once."""
    wanted = {signature for row in rows for signature in row.signatures}
    if not wanted:
        return
    reader = RunReader(plan.store)
    for run in reader.runs():
        found = {str(stored.result.signature) for stored in reader.stored(run.id)} & wanted
        if not found:
            continue
        wanted -= found
        for stored in reader.stored(run.id, outcomes=True):
            if str(stored.result.signature) in found:
                yield Report(stored.result, run=run.id, command=run.command, created=run.started)
