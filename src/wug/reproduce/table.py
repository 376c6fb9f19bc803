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
from wug.outcomes import Estimate, IntervalMethod
from wug.reproduce.plan import RecipeCell, ReproductionPlan
from wug.reproduce.recipe import PublishedValue, RecipeNetwork
from wug.tables import Display, FormattedTable, RowTable

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


def values_by_group(plan: ReproductionPlan, cells: Iterable[RecipeCell], metric: str) -> list[dict[str, CellValue]]:
    """The values of a metric by group, for each complete training or model of the cells."""
    values: list[dict[str, CellValue]] = []
    for cell in cells:
        values += (_profile_values if cell.test.profile else _result_values)(plan, cell, metric)
    return values


def mean(values: Sequence[CellValue]) -> MeanValue:
    """The mean, with Student's interval if there are several values, clipped for proportions."""
    if not values:
        return MeanValue()
    numbers = [result.estimate.value for result in values]
    value, n = fmean(numbers), max(result.estimate.n for result in values)
    if len(numbers) == 1:
        estimate = values[0].estimate
        return MeanValue(value, None, estimate.low, estimate.high, estimate.method or "", n)
    sd = stdev(numbers)
    half_width = t_quantile(len(numbers) - 1, 0.975) * sd / len(numbers) ** 0.5
    low, high = value - half_width, value + half_width
    if all(IntervalMethod.parse(result.estimate.method).for_proportion for result in values):
        low, high = max(0.0, low), min(1.0, high)
    trained = any(result.seed is not None for result in values)
    return MeanValue(value, sd, low, high, "t over seeds" if trained else "t over models", n)


def values_by_field(values: Iterable[Mapping[str, CellValue]], field: str) -> dict[str, list[CellValue]]:
    """The values by a field of groups, such as `depth`."""
    by_field: dict[str, list[CellValue]] = {}
    for by_group in values:
        for group, result in by_group.items():
            parsed = Group.parse(group)
            if parsed.field == field:
                by_field.setdefault(parsed.value, []).append(result)
    return by_field


def _result_values(plan: ReproductionPlan, cell: RecipeCell, metric: str) -> list[dict[str, CellValue]]:
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
        for result in json.loads(read_text(step.output))
        if not result["model"].startswith("mean/")  # added by `wug score`; computed here
    ]


def _profile_values(plan: ReproductionPlan, cell: RecipeCell, metric: str) -> list[dict[str, CellValue]]:
    """The tests of a complete training in the store: the highest value by group, and each epoch."""
    from wug.results.reader import RunReader

    if cell.step is None or not plan.step(cell.step).done or not plan.store.exists():
        return []
    highest: dict[str, CellValue] = {}
    epochs: dict[int, CellValue] = {}
    reader = RunReader(plan.store)
    for run in reversed(reader.runs()):
        _, matched, epoch = f"/{ModelId.parse(run.model).name}".rpartition(f"/{cell.step}-epoch")
        for stored in reader.stored(run.id, outcomes=False) if matched and run.status == "complete" else ():
            for estimate in stored.result.estimates:
                if estimate.metric != metric:
                    continue
                value = CellValue(estimate, str(stored.result.signature), cell.seed)
                best = highest.get(estimate.group)
                if best is None or estimate.value > best.estimate.value:
                    highest[estimate.group] = value
                if estimate.group == cell.test.group:
                    epochs[int(epoch)] = value
    return [{**highest, **{f"{EPOCH}={epoch}": value for epoch, value in sorted(epochs.items())}}]


COLUMNS = ("test", "model", "published", "here", "95% interval", "difference", "n", "seeds")


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


def table_rows(plan: ReproductionPlan) -> list[TableRow]:
    """The rows, as far as they are known."""
    rows = []
    for cells in plan.rows:
        test, network = cells[0].test, cells[0].network
        values = values_by_group(plan, cells, test.metric)
        row_values = [by_group[test.group] for by_group in values if test.group in by_group]
        rows.append(_row(test.row, network, test.published[network.name], row_values, test.source))
        breakdown = values_by_field(values, test.by) if test.by else {}
        for part, row_values in breakdown.items():
            rows.append(replace(_row(f"  {part}", network, None, row_values, ""), within=test.row))
    return rows


def _row(
    row: str, network: RecipeNetwork, published: PublishedValue | None, values: Sequence[CellValue], source: str
) -> TableRow:
    return TableRow(
        row=row,
        network=network.title,
        published=published,
        **asdict(mean(values)),
        seeds=tuple(result.seed for result in values if result.seed is not None),
        signatures=tuple(result.signature for result in values),
        source=source,
        pending=network.is_computed and not values,
    )


def table(rows: Sequence[TableRow]) -> RowTable:
    """The table for programs and for people."""
    entries: list[dict[str, Any]] = []
    for row in rows:
        paper = row.published
        published = {"published": paper and paper.value, "published_sd": paper and paper.sd}
        entries.append({**asdict(row), **published, "difference": row.difference})
    names = list(entries[0]) if entries else []
    formatted = FormattedTable(COLUMNS, [cells(row) for row in rows], "llrrcrrl")
    return RowTable(names, [list(data.values()) for data in entries], display=Display([formatted]), document=entries)


def cells(row: TableRow) -> tuple[str, ...]:
    """The row as text, with as many decimals as the paper."""
    value = "not yet" if row.pending else ""
    decimals = 3 if row.published is None or round(row.published.value, 3) == row.published.value else 4
    return (
        row.row,
        row.network,
        "" if row.published is None else _with_sd(row.published.value, row.published.sd, decimals),
        value if row.value is None else _with_sd(row.value, row.sd, decimals),
        "" if row.low is None or row.high is None else f"[{row.low:.3f}, {row.high:.3f}]",
        "" if row.difference is None else f"{round(row.difference, 2) + 0.0:+.2f}",
        f"{row.n:,}" if row.n else "",
        ", ".join(map(str, row.seeds)),
    )


def _with_sd(value: float, sd: float | None, decimals: int) -> str:
    return f"{value:.{decimals}f}" if sd is None else f"{value:.{decimals}f} ± {sd:.{decimals}f}"
