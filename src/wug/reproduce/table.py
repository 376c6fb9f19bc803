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
from wug.reproduce.recipe import Network, Published
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

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.published is None or self.value is None else self.value - self.published.value


@dataclass(frozen=True, slots=True)
class Found:
    """What one training, or one released model, gave for a cell."""

    estimate: Estimate
    signature: str
    seed: int | None


def rows_of(plan: Plan) -> list[TableRow]:
    """The table, as far as it is known."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.test.row, cell.network.name), []).append(cell)
    rows = []
    for (row, network), cells in groups.items():
        test, trained = cells[0].test, cells[0].network
        values = [found for cell in cells for found in (_highest if test.profile else _results)(plan, cell)]
        rows.append(_row(row, trained, test.published[network], _of(values, test.group), test.source))
        if test.by:
            fields = dict.fromkeys(group for found in values for group in found)
            parts = [group for group in fields if group.startswith(f"{test.by}=")]
            rows += [_row(f"  {part.partition('=')[2]}", trained, None, _of(values, part), "") for part in parts]
    return rows


def _of(values: Iterable[Mapping[str, Found]], group: str) -> list[Found]:
    """What is known of a group, for each training or model."""
    return [found[group] for found in values if group in found]


def _row(row: str, network: Network, published: Published | None, found: Sequence[Found], source: str) -> TableRow:
    values = [result.estimate.value for result in found]
    seeds = tuple(result.seed for result in found if result.seed is not None)
    value = fmean(values) if values else None
    sd = stdev(values) if len(values) > 1 else None
    low, high, method = None, None, ""
    if value is not None and sd is not None:
        half = t_quantile(len(values) - 1, 0.975) * sd / len(values) ** 0.5
        low, high, method = value - half, value + half, "t over seeds" if seeds else "t over models"
    elif values:
        only = found[0].estimate
        low, high, method = only.low, only.high, only.method or ""
    return TableRow(
        row=row,
        network=network.title,
        published=published,
        value=value,
        sd=sd,
        low=low,
        high=high,
        method=method,
        n=max((result.estimate.n for result in found), default=0),
        seeds=seeds,
        signatures=tuple(result.signature for result in found),
        source=source,
        pending=network.asked and not found,
    )


def _results(plan: Plan, cell: Cell) -> list[dict[str, Found]]:
    """By group, the values of a test that is done; of released scores, for each model that was judged."""
    step = None if cell.step is None else plan.step(cell.step)
    if step is None or not step.done:
        return []
    return [
        {
            estimate["group"]: Found(Estimate(**estimate), result["signature"], cell.seed)
            for estimate in result["estimates"]
            if estimate["check"] == cell.test.check
        }
        for result in json.loads(read_text(step.made))
        if not result["model"].startswith("mean/")  # which `wug score` adds, and we compute
    ]


def _highest(plan: Plan, cell: Cell) -> list[dict[str, Found]]:
    """By group, the highest value of all tests that a finished training left in the store."""
    from wug.runs.shelf import Shelf

    highest: dict[str, Found] = {}
    if cell.step is None or not plan.step(cell.step).done or not plan.store.exists():
        return []
    shelf = Shelf(plan.store)
    for run in shelf.runs():
        if f"/{cell.step}-epoch" not in run.model:
            continue
        for stored in shelf.stored(run.id, outcomes=False):
            for estimate in stored.result.estimates:
                before = highest.get(estimate.group)
                if estimate.check == cell.test.check and (before is None or estimate.value > before.estimate.value):
                    highest[estimate.group] = Found(estimate, str(stored.result.signature), cell.seed)
    return [highest]


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


def _with_sd(value: float, sd: float | None, places: int) -> str:
    """As the papers write it, a place more."""
    return f"{value:.{places}f}" if sd is None else f"{value:.{places}f} ± {sd:.{places}f}"
