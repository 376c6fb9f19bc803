"""The paper's table with ours beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from wug.distributions import t_quantile
from wug.files import read_text
from wug.reproduce.plan import Cell, Plan
from wug.reproduce.recipe import Published
from wug.show.markup import latex_table, markdown_table
from wug.types import Estimate

HEAD = ("test", "model", "published", "here", "95 % interval", "difference", "n", "seeds")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A published cell and ours."""

    row: str
    network: str
    published: Published | None
    value: float | None
    """The mean over seeds; None where there is no result yet."""
    sd: float | None
    """Over seeds; None for fewer than two."""
    low: float | None
    high: float | None
    method: str
    """How the interval was made: from the items of one training, or from several trainings."""
    n: int
    """Items of each test."""
    seeds: tuple[int, ...]
    signatures: tuple[str, ...]
    source: str

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.published is None or self.value is None else self.value - self.published.value


@dataclass(frozen=True, slots=True)
class Found:
    """What one training gave for a cell."""

    estimate: Estimate
    signature: str


def rows_of(plan: Plan) -> list[TableRow]:
    """The table, as far as it is known."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.test.row, cell.network.name), []).append(cell)
    rows = []
    for (row, network), cells in groups.items():
        test, title = cells[0].test, cells[0].network.title
        values = {cell.seed: _highest(plan, cell) if test.profile else _results(plan, cell) for cell in cells}
        rows.append(_row(row, title, test.published[network], _of(values, test.group), test.source))
        if test.by:
            fields = dict.fromkeys(group for found in values.values() for group in found)
            parts = [group for group in fields if group.startswith(f"{test.by}=")]
            rows += [_row(f"  {part.partition('=')[2]}", title, None, _of(values, part), "") for part in parts]
    return rows


def _of(values: Mapping[int, Mapping[str, Found]], group: str) -> dict[int, Found]:
    """By seed, what is known of a group."""
    return {seed: found[group] for seed, found in values.items() if group in found}


def _row(row: str, network: str, published: Published | None, found: Mapping[int, Found], source: str) -> TableRow:
    values = [result.estimate.value for result in found.values()]
    value = fmean(values) if values else None
    sd = stdev(values) if len(values) > 1 else None
    low, high, method = None, None, ""
    if value is not None and sd is not None:
        half = t_quantile(len(values) - 1, 0.975) * sd / len(values) ** 0.5
        low, high, method = value - half, value + half, "t over seeds"
    elif values:
        only = next(iter(found.values())).estimate
        low, high, method = only.low, only.high, only.method or ""
    sizes = [result.estimate.n for result in found.values()]
    signatures = tuple(result.signature for result in found.values())
    return TableRow(
        row, network, published, value, sd, low, high, method, max(sizes, default=0), tuple(found), signatures, source
    )


def _results(plan: Plan, cell: Cell) -> dict[str, Found]:
    """By group, the values of a test that is done."""
    step = plan.step(cell.step)
    if not step.done:
        return {}
    return {
        estimate["group"]: Found(Estimate(**estimate), result["signature"])
        for result in json.loads(read_text(step.made))
        for estimate in result["estimates"]
        if estimate["check"] == cell.test.check
    }


def _highest(plan: Plan, cell: Cell) -> dict[str, Found]:
    """By group, the highest value of all tests that a finished training left in the store."""
    from wug.runs.shelf import Shelf

    highest: dict[str, Found] = {}
    if not plan.step(cell.step).done or not plan.store.exists():
        return highest
    shelf = Shelf(plan.store)
    for run in shelf.runs():
        if f"/{cell.step}-epoch" not in run.model:
            continue
        for stored in shelf.stored(run.id, outcomes=False):
            for estimate in stored.result.estimates:
                before = highest.get(estimate.group)
                if estimate.check == cell.test.check and (before is None or estimate.value > before.estimate.value):
                    highest[estimate.group] = Found(estimate, str(stored.result.signature))
    return highest


def as_json(rows: Iterable[TableRow]) -> str:
    """A list of rows."""

    def entry(row: TableRow) -> dict[str, Any]:
        data = asdict(row)
        data["published"] = None if row.published is None else row.published.value
        data["published_sd"] = None if row.published is None else row.published.sd
        return {**data, "difference": row.difference}

    return json.dumps([entry(row) for row in rows], ensure_ascii=False, indent=2)


def as_markdown(rows: Sequence[TableRow]) -> str:
    """A table in Markdown."""
    return markdown_table(HEAD, [cells(row) for row in rows], "llrrcrrl")


def as_latex(rows: Sequence[TableRow]) -> str:
    """A booktabs table."""
    return latex_table(HEAD, [cells(row) for row in rows], "llrrcrrl")


def cells(row: TableRow) -> tuple[str, ...]:
    """The row as text."""
    return (
        row.row,
        row.network,
        "" if row.published is None else _with_sd(row.published.value, row.published.sd),
        "not yet" if row.value is None else _with_sd(row.value, row.sd),
        "" if row.low is None or row.high is None else f"[{_share(row.low)}, {_share(row.high)}]",
        "" if row.difference is None else f"{row.difference:+.2f}",
        f"{row.n:,}" if row.n else "",
        ", ".join(map(str, row.seeds)),
    )


def _with_sd(value: float, sd: float | None) -> str:
    return _share(value) if sd is None else f"{_share(value)} ± {_share(sd)}"


def _share(value: float) -> str:
    """As the papers write it, a place more."""
    return f"{value:.3f}"
