"""The paper's table with ours beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wug.reproduce.found import Found, fields_in, found_in, mean
from wug.reproduce.plan import Cell, Plan
from wug.reproduce.recipe import Network, Published
from wug.views.markup import latex_table, markdown_table

HEAD = ("test", "model", "published", "here", "95 % interval", "difference", "n", "seeds")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A published cell and ours."""

    row: str
    network: str
    published: Published | None
    value: float | None
    """The mean over seeds, or over released models; None where there is no result."""
    sd: float | None
    """Of what the mean is of; None for fewer than two."""
    low: float | None
    high: float | None
    method: str
    """How the interval was made: from the items of one training, or from several trainings."""
    n: int
    """Items of each test."""
    seeds: tuple[int, ...]
    signatures: tuple[str, ...]
    source: str
    pending: bool
    """Whether a value of ours is still to come."""
    within: str = ""
    """The row that it is a part of."""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.published is None or self.value is None else self.value - self.published.value


def rows_of(plan: Plan) -> list[TableRow]:
    """The table, as far as it is known."""
    rows = []
    for cells in grouped(plan):
        test, network = cells[0].test, cells[0].network
        values = found_in(plan, cells, test.check)
        here = [found[test.group] for found in values if test.group in found]
        rows.append(_row(test.row, network, test.published[network.name], here, test.source))
        parts = fields_in(values, test.by) if test.by else {}
        rows += [replace(_row(f"  {part}", network, None, here, ""), within=test.row) for part, here in parts.items()]
    return rows


def grouped(plan: Plan) -> list[list[Cell]]:
    """The cells of each row and network, a seed each."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.test.row, cell.network.name), []).append(cell)
    return list(groups.values())


def _row(row: str, network: Network, published: Published | None, found: Sequence[Found], source: str) -> TableRow:
    ours = mean(found)
    return TableRow(
        row=row,
        network=network.title,
        published=published,
        value=None if ours is None else ours.value,
        sd=None if ours is None else ours.sd,
        low=None if ours is None else ours.low,
        high=None if ours is None else ours.high,
        method="" if ours is None else ours.method,
        n=0 if ours is None else ours.n,
        seeds=tuple(result.seed for result in found if result.seed is not None),
        signatures=tuple(result.signature for result in found),
        source=source,
        pending=network.asked and not found,
    )


def as_json(rows: Iterable[TableRow]) -> str:
    """A list of rows."""

    def entry(row: TableRow) -> dict[str, Any]:
        data = asdict(row)
        data["published"] = None if row.published is None else row.published.value
        data["published_sd"] = None if row.published is None else row.published.sd
        return {**data, "difference": row.difference}

    return json.dumps([entry(row) for row in rows], ensure_ascii=False, indent=2)


def from_json(text: str) -> list[TableRow]:
    """The rows that `as_json` wrote."""

    def row(entry: dict[str, Any]) -> TableRow:
        value, sd = entry.pop("published"), entry.pop("published_sd")
        del entry["difference"]
        published = None if value is None else Published(value, sd)
        seeds, signatures = tuple(entry.pop("seeds")), tuple(entry.pop("signatures"))
        return TableRow(published=published, seeds=seeds, signatures=signatures, **entry)

    return [row(entry) for entry in json.loads(text)]


def as_matrix(rows: Sequence[TableRow]) -> str:
    """A table in Markdown of tests by models, the fewer of them as columns: ours, and the paper's in brackets."""
    tests, models = (
        list(dict.fromkeys(names)) for names in zip(*((row.row, row.network) for row in rows), strict=True)
    )
    found = {(row.row, row.network): _both(row) for row in rows}
    if len(models) > len(tests):
        lines = [(model, *(found.get((test, model), "") for test in tests)) for model in models]
        return markdown_table(("model", *tests), lines, "l" + "r" * len(tests))
    lines = [(test, *(found.get((test, model), "") for model in models)) for test in tests]
    return markdown_table(("test", *models), lines, "l" + "r" * len(models))


def as_markdown(rows: Sequence[TableRow]) -> str:
    """A table in Markdown."""
    return markdown_table(HEAD, [cells(row) for row in rows], "llrrcrrl")


def as_latex(rows: Sequence[TableRow]) -> str:
    """A booktabs table."""
    return latex_table(HEAD, [cells(row) for row in rows], "llrrcrrl")


def cells(row: TableRow) -> tuple[str, ...]:
    """The row as text, ours with as many places as the paper's."""
    places = 3 if row.published is None or round(row.published.value, 3) == row.published.value else 4
    return (
        row.row,
        row.network,
        "" if row.published is None else _with_sd(row.published.value, row.published.sd, places),
        ("not yet" if row.pending else "") if row.value is None else _with_sd(row.value, row.sd, places),
        "" if row.low is None or row.high is None else f"[{row.low:.3f}, {row.high:.3f}]",
        "" if row.difference is None else f"{round(row.difference, 2) + 0.0:+.2f}",
        f"{row.n:,}" if row.n else "",
        ", ".join(map(str, row.seeds)),
    )


def _both(row: TableRow) -> str:
    """Ours, and the paper's in brackets."""
    _, _, published, here, *_ = cells(row)
    return " ".join(filter(None, (here, published and f"({published})")))


def _with_sd(value: float, sd: float | None, places: int) -> str:
    """As the papers write it, a place more."""
    return f"{value:.{places}f}" if sd is None else f"{value:.{places}f} ± {sd:.{places}f}"
