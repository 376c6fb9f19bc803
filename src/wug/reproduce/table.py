"""The paper's table: published values, and ours with intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, stdev
from typing import Any

from wug.distributions import t_quantile
from wug.files import read_text
from wug.identity import Group, ModelId
from wug.reproduce.plan import RecipeCell, ReproductionPlan
from wug.reproduce.recipe import PublishedValue, RecipeNetwork
from wug.tables import Display, FormattedTable, RowTable
from wug.types import PROPORTION_METHODS, Estimate, Result

EPOCH = "epoch"
"""The field that distinguishes the tests during a training."""


@dataclass(frozen=True, slots=True)
class CellValue:
    """The value of one training, or one released model, for a cell."""

    estimate: Estimate
    signature: str
    seed: int | None


@dataclass(frozen=True, slots=True)
class MeanValue:
    """The mean over trainings or models, with its interval; for one, its own value."""

    value: float | None = None
    sd: float | None = None
    """Standard deviation over trainings or models; None for fewer than two."""
    low: float | None = None
    high: float | None = None
    method: str = ""
    """The method of the interval: over items of one training, or over trainings."""
    n: int = 0


def values_in(plan: ReproductionPlan, cells: Iterable[RecipeCell], metric: str) -> list[dict[str, CellValue]]:
    """The values of a metric by group, for each complete training or model of the cells."""
    return [found for cell in cells for found in (_profile if cell.test.profile else _results)(plan, cell, metric)]


def mean(found: Sequence[CellValue]) -> MeanValue:
    """The mean, with Student's interval if there are several values, clipped for proportions."""
    if not found:
        return MeanValue()
    values = [result.estimate.value for result in found]
    value, n = fmean(values), max(result.estimate.n for result in found)
    if len(values) == 1:
        only = found[0].estimate
        return MeanValue(value, None, only.low, only.high, only.method or "", n)
    sd = stdev(values)
    half = t_quantile(len(values) - 1, 0.975) * sd / len(values) ** 0.5
    low, high = value - half, value + half
    if all((result.estimate.method or "").startswith(PROPORTION_METHODS) for result in found):
        low, high = max(0.0, low), min(1.0, high)
    trained = any(result.seed is not None for result in found)
    return MeanValue(value, sd, low, high, "t over seeds" if trained else "t over models", n)


def fields_in(values: Iterable[Mapping[str, CellValue]], field: str) -> dict[str, list[CellValue]]:
    """The values by a field of groups, such as `depth`."""
    parts: dict[str, list[CellValue]] = {}
    for found in values:
        for group, result in found.items():
            parsed = Group.parse(group)
            if parsed.field == field:
                parts.setdefault(parsed.value, []).append(result)
    return parts


def _results(plan: ReproductionPlan, cell: RecipeCell, metric: str) -> list[dict[str, CellValue]]:
    """The values of a complete test by group; one mapping per model for released scores."""
    step = None if cell.step is None else plan.step(cell.step)
    if step is None or not step.done:
        return []
    return [
        {
            estimate["group"]: CellValue(Estimate(**estimate), result["signature"], cell.seed)
            for estimate in result["estimates"]
            if estimate["metric"] == metric
        }
        for result in json.loads(read_text(step.made))
        if not result["model"].startswith("mean/")  # added by `wug score`; computed here
    ]


def _profile(plan: ReproductionPlan, cell: RecipeCell, metric: str) -> list[dict[str, CellValue]]:
    """The tests of a complete training in the store: the highest value by group, and each epoch."""
    if cell.step is None or not plan.step(cell.step).done or not plan.store.exists():
        return []
    highest: dict[str, CellValue] = {}
    epochs: dict[int, CellValue] = {}
    for epoch, result in _tests(plan, cell.step):
        for estimate in result.estimates:
            if estimate.metric != metric:
                continue
            found = CellValue(estimate, str(result.signature), cell.seed)
            before = highest.get(estimate.group)
            if before is None or estimate.value > before.estimate.value:
                highest[estimate.group] = found
            if estimate.group == cell.test.group:
                epochs[epoch] = found
    return [{**highest, **{f"{EPOCH}={epoch}": epochs[epoch] for epoch in sorted(epochs)}}]


def _tests(plan: ReproductionPlan, training: str) -> Iterable[tuple[int, Result]]:
    """The epoch and the result of each test during a training, in order."""
    from wug.results.reader import RunReader

    reader = RunReader(plan.store)
    for run in reversed(reader.runs()):
        _, within, epoch = f"/{ModelId.parse(run.model).name}".rpartition(f"/{training}-epoch")
        if within and run.status == "complete":
            for stored in reader.stored(run.id, outcomes=False):
                yield int(epoch), stored.result


HEAD = ("test", "model", "published", "here", "95% interval", "difference", "n", "seeds")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A published value and ours."""

    row: str
    network: str
    published: PublishedValue | None
    value: float | None
    sd: float | None
    low: float | None
    high: float | None
    method: str
    n: int
    seeds: tuple[int, ...]
    signatures: tuple[str, ...]
    source: str
    pending: bool
    within: str = ""

    @property
    def difference(self) -> float | None:
        """Our value minus the published one."""
        return None if self.published is None or self.value is None else self.value - self.published.value


def rows_of(plan: ReproductionPlan) -> list[TableRow]:
    """The rows, as far as they are known."""
    rows = []
    for cells in grouped(plan):
        test, network = cells[0].test, cells[0].network
        values = values_in(plan, cells, test.metric)
        here = [found[test.group] for found in values if test.group in found]
        rows.append(_row(test.row, network, test.published[network.name], here, test.source))
        parts = fields_in(values, test.by) if test.by else {}
        rows += [replace(_row(f"  {part}", network, None, here, ""), within=test.row) for part, here in parts.items()]
    return rows


def grouped(plan: ReproductionPlan) -> list[list[RecipeCell]]:
    """The cells of each row and network, one per seed."""
    groups: dict[tuple[str, str], list[RecipeCell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.test.row, cell.network.name), []).append(cell)
    return list(groups.values())


def _row(
    row: str, network: RecipeNetwork, published: PublishedValue | None, found: Sequence[CellValue], source: str
) -> TableRow:
    return TableRow(
        row=row,
        network=network.title,
        published=published,
        **asdict(mean(found)),
        seeds=tuple(result.seed for result in found if result.seed is not None),
        signatures=tuple(result.signature for result in found),
        source=source,
        pending=network.is_computed and not found,
    )


def table(rows: Sequence[TableRow]) -> RowTable:
    """The table for programs and for people."""

    def entry(row: TableRow) -> dict[str, Any]:
        data = asdict(row)
        data["published"] = None if row.published is None else row.published.value
        data["published_sd"] = None if row.published is None else row.published.sd
        return {**data, "difference": row.difference}

    entries = [entry(row) for row in rows]
    names = list(entries[0]) if entries else []
    shown = FormattedTable(HEAD, [cells(row) for row in rows], "llrrcrrl")
    return RowTable(names, [list(one.values()) for one in entries], display=Display([shown]), document=entries)


def cells(row: TableRow) -> tuple[str, ...]:
    """The row as text, with as many decimals as the paper."""
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
    return f"{value:.{places}f}" if sd is None else f"{value:.{places}f} ± {sd:.{places}f}"
