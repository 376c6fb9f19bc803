"""The grid of models by suites: its query, filters, order, and the newest result for each cell."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import NamedTuple, TypeAlias, TypeVar

from wug.formatting import FormattedEstimate, number
from wug.identity import ModelId
from wug.labels import short_names
from wug.results.learning_curves import step_in
from wug.results.records import Run, Summary
from wug.views.chance import chance_level
from wug.web.phenomenon_means import (
    PhenomenonMean,
    Ranking,
    phenomenon_headline,
    phenomenon_mean,
    ranking_key,
    ranking_of,
)
from wug.web.result_view import MAX_CACHED_HEADLINES
from wug.web.run_query import DEFAULT_SORT, RunQuery
from wug.web.site import page_count

SHADE_THRESHOLDS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995)
"""Distances from chance (0) to 100% (1) at which a cell's shade changes: finer where models differ."""
SPARKLINE_WIDTH_PX, SPARKLINE_HEIGHT_PX, SPARKLINE_POINTS = 48, 14, 24
ROWS_PER_PAGE, COLUMNS_PER_PAGE = 25, 40
ResultsByRun: TypeAlias = Mapping[int, Sequence[Summary]]
Key = TypeVar("Key", int, str)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small line chart."""

    points: str
    """Points of an SVG polyline."""
    count: int
    """Number of values."""

    @classmethod
    def of_values(cls, values: Sequence[float]) -> Sparkline | None:
        """A line through the values, sampled if there are many; None for fewer than two."""
        if len(values) < 2:
            return None
        last_index = len(values) - 1
        sampled_indices = {round(index * last_index / (SPARKLINE_POINTS - 1)) for index in range(SPARKLINE_POINTS)}
        indices = sorted(sampled_indices) if last_index >= SPARKLINE_POINTS else range(len(values))
        # Proportions share the axis from 0 to 1, so that lines can be compared; other numbers fill the height.
        proportions = all(0 <= value <= 1 for value in values)
        low, high = (0.0, 1.0) if proportions else (min(values), max(values))
        span = (high - low) or 1.0
        heights = {i: 1 + (SPARKLINE_HEIGHT_PX - 2) * (1 - (values[i] - low) / span) for i in indices}
        coordinates = [f"{SPARKLINE_WIDTH_PX * i / last_index:.0f},{height:.1f}" for i, height in heights.items()]
        return cls(" ".join(coordinates), len(values))


class GridCell(NamedTuple):
    """The newest result of a model on a suite."""

    result: int
    run: int
    status: str
    fault: str
    headline: FormattedEstimate | None
    later: str = ""
    """Status of a later result that is not complete and was skipped."""
    sparkline: Sparkline | None = None
    """For a sweep: the values of its models."""
    warnings: tuple[str, ...] = ()
    chance: float = 0.0
    """The chance level of its metric; 0 if it has none."""
    measurable: bool = True

    @property
    def text(self) -> str:
        """The value without a unit, such as `71.2`."""
        if self.headline is None or (self.headline.value == 0 and not self.measurable):
            return "–"
        if not self.headline.share:
            return number(self.headline.value)
        text = f"{100 * self.headline.value:.1f}"
        return "100" if text == "100.0" else text

    @property
    def shade(self) -> str:
        """CSS class of the background: the further a proportion is above chance, the stronger."""
        if self.headline is None or not self.headline.share or not 0 <= self.headline.value <= 1:
            return ""
        distance = (self.headline.value - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0
        return f"h{sum(distance >= threshold for threshold in SHADE_THRESHOLDS)}"


class GridRow(NamedTuple):
    """A model in the grid, or a sweep over several."""

    key: str
    """The model's id, or `sweep:3`."""
    name: str
    kind: str
    """The backend; for a sweep, its number of models."""
    url: str
    """Its run, the list of its runs, or its sweep."""
    runs: tuple[int, ...]
    """Newest first."""
    newest: str
    """Start time of the newest run."""
    cells: tuple[GridCell | None, ...]
    fingerprint: str
    """Changes with anything that the row shows."""
    mean: PhenomenonMean | None = None
    """The mean on the phenomenon that was chosen."""

    @property
    def is_sweep(self) -> bool:
        """Whether it is a sweep."""
        return self.key.startswith("sweep:")


class GridColumn(NamedTuple):
    """A suite in the grid."""

    suite: str
    family: str
    phenomenon: str
    phenomena: frozenset[str] = frozenset()
    """All that it has items of."""


class ResultGrid(NamedTuple):
    """One page of the grid."""

    rows: tuple[GridRow, ...]
    columns: tuple[GridColumn, ...]
    family_spans: tuple[tuple[str, int], ...]
    """Headings above the columns, each with its number of columns."""
    phenomenon_spans: tuple[tuple[str, int], ...]
    row_count: int
    """Rows on all pages."""
    sweep_count: int
    """Those of them that are sweeps."""
    suite_count: int
    pages: int
    column_pages: int
    families: tuple[str, ...]
    """Choices of the filter."""
    phenomena: tuple[str, ...]
    """Choices of the filter."""
    fingerprint: str
    """Changes with the rows and columns of the page."""
    ranking: Ranking | None = None
    """Which model is best on the phenomenon that was chosen."""


@dataclass(frozen=True, slots=True)
class GridSource:
    """Runs and results to build a grid from."""

    runs: Sequence[Run]
    """Newest first, without drafts."""
    results: Sequence[Summary]
    sweeps: Mapping[int, str]
    """Names of sweeps by id."""
    warnings: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Warnings by result."""


class _RowSource(NamedTuple):
    """A model or a sweep with its results by suite."""

    key: str
    name: str
    kind: str
    runs: tuple[Run, ...]
    results: Mapping[str, Sequence[Summary]]
    """For a model oldest first; for a sweep in the order of its models."""

    @property
    def is_sweep(self) -> bool:
        return self.key.startswith("sweep:")

    def mean(self, phenomenon: str) -> PhenomenonMean | None:
        """The mean of the newest results on a phenomenon."""
        newest = map(self.newest, self.results if phenomenon else ())
        return phenomenon_mean(filter(None, newest), phenomenon)

    def newest(self, suite: str) -> Summary | None:
        """The newest complete result on a suite, or the newest of any status."""
        results = self.results.get(suite)
        return max(reversed(results), key=lambda summary: summary.status == "complete") if results else None


class GridSelection(NamedTuple):
    """Rows and columns that match the filters, on all pages."""

    rows: list[_RowSource]
    columns: list[GridColumn]

    def results(self) -> Iterable[tuple[Run, Summary]]:
        """The results in the cells, row by row, with their runs."""
        for row in self.rows:
            runs = {run.id: run for run in row.runs}
            for column in self.columns:
                summary = row.newest(column.suite)
                if summary is not None:
                    yield runs[summary.run], summary


def select(source: GridSource, query: RunQuery) -> GridSelection:
    """The models that match the filters, sorted, and their suites."""
    columns = _columns(source.results, query)
    suites = {column.suite for column in columns}
    rows = [row for row in _rows(source) if _matches(row, suites, query)]
    present_suites = {suite for row in rows for suite in row.results}
    return GridSelection(_sort_rows(rows, query), [column for column in columns if column.suite in present_suites])


def build_grid(source: GridSource, query: RunQuery) -> ResultGrid:
    """The requested page of the grid."""
    selection = select(source, query)
    pages = page_count(len(selection.rows), ROWS_PER_PAGE)
    column_pages = page_count(len(selection.columns), COLUMNS_PER_PAGE)
    first_row = (min(query.page, pages) - 1) * ROWS_PER_PAGE
    first_column = (min(query.columns, column_pages) - 1) * COLUMNS_PER_PAGE
    columns = selection.columns[first_column : first_column + COLUMNS_PER_PAGE]
    page_rows = selection.rows[first_row : first_row + ROWS_PER_PAGE]
    rows = tuple(_row(row, columns, query, source.warnings) for row in page_rows)
    all_columns, suites = _columns(source.results, RunQuery()), [column.suite for column in columns]
    return ResultGrid(
        rows=rows,
        columns=tuple(columns),
        family_spans=_spans(columns, lambda column: (column.family,)),
        phenomenon_spans=_spans(columns, lambda column: (column.family, column.phenomenon)),
        row_count=len(selection.rows),
        sweep_count=sum(row.is_sweep for row in selection.rows),
        suite_count=len(selection.columns),
        pages=pages,
        column_pages=column_pages,
        families=tuple(sorted({summary.kind for summary in source.results})),
        phenomena=tuple(sorted({name for column in all_columns for name in column.phenomena})),
        fingerprint=fingerprint([*(row.key for row in rows), *suites, str(len(selection.rows))]),
        ranking=_ranking(selection, query.phenomenon),
    )


def fingerprint(parts: Sequence[str]) -> str:
    """A short hash of the parts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _rows(source: GridSource) -> list[_RowSource]:
    """One row per model and per sweep, those with the newest runs first."""
    by_run = _grouped(source.results, lambda summary: summary.run)
    runs: dict[str, list[Run]] = {}
    for run in source.runs:
        if run.id in by_run:
            runs.setdefault(f"sweep:{run.sweep}" if run.sweep in source.sweeps else run.model, []).append(run)
    names = short_names(key for key in runs if not key.startswith("sweep:"))
    return [
        _sweep_row(key, runs_of_row, by_run, source.sweeps)
        if key.startswith("sweep:")
        else _model_row(key, runs_of_row, by_run, names)
        for key, runs_of_row in runs.items()
    ]


def _model_row(key: str, runs: Sequence[Run], by_run: ResultsByRun, names: Mapping[str, str]) -> _RowSource:
    results = sorted((summary for run in runs for summary in by_run[run.id]), key=lambda summary: summary.id)
    by_suite = _grouped(results, lambda summary: summary.suite)
    return _RowSource(key, names[key], ModelId.parse(key).backend, tuple(runs), by_suite)


def _sweep_row(key: str, runs: Sequence[Run], by_run: ResultsByRun, sweeps: Mapping[int, str]) -> _RowSource:
    """A sweep with its models in the order of their training steps, or of their runs if a step is unknown."""
    steps = {run.id: step_in(run) for run in runs}
    has_steps = all(step is not None for step in steps.values())
    ordered_runs = sorted(runs, key=lambda run: (steps[run.id] or 0.0 if has_steps else 0.0, run.id))
    results = _grouped((summary for run in ordered_runs for summary in by_run[run.id]), lambda summary: summary.suite)
    models = len({run.model for run in runs})
    noun = "checkpoints" if has_steps and models > 1 else "models" if models != 1 else "model"
    return _RowSource(key, sweeps[int(key.partition(":")[2])], f"sweep of {models:,} {noun}", tuple(runs), results)


def _grouped(summaries: Iterable[Summary], key: Callable[[Summary], Key]) -> dict[Key, list[Summary]]:
    groups: dict[Key, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(key(summary), []).append(summary)
    return groups


def _columns(results: Sequence[Summary], query: RunQuery) -> list[GridColumn]:
    first_results: dict[str, Summary] = {}
    for summary in results:
        if not query.kind or summary.kind == query.kind:
            first_results.setdefault(summary.suite, summary)
    families: dict[str, dict[str, list[GridColumn]]] = {}
    for suite, summary in first_results.items():
        if (not query.phenomenon or query.phenomenon in summary.phenomena) and query.suite.lower() in suite.lower():
            column = GridColumn(suite, summary.kind, summary.phenomenon, frozenset(summary.phenomena))
            families.setdefault(column.family, {}).setdefault(column.phenomenon, []).append(column)
    return [column for phenomena in families.values() for columns in phenomena.values() for column in columns]


def _matches(row: _RowSource, suites: set[str], query: RunQuery) -> bool:
    if (query.kind or query.suite or query.phenomenon) and not suites & row.results.keys():
        return False
    text = query.text.lower()
    run_names = (name or "" for run in row.runs for name in (run.name, run.specification))
    return not text or any(text in name.lower() for name in (row.key, row.name, *run_names))


def _sort_rows(rows: Sequence[_RowSource], query: RunQuery) -> list[_RowSource]:
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    if column.startswith("suite:"):
        suite = column.removeprefix("suite:")
        values = {row.key: _value(row.newest(suite), query.phenomenon) for row in rows}
        sign = -1 if descending else 1  # models without the suite come last in either direction
        return sorted(rows, key=lambda row: (values[row.key] is None, sign * (values[row.key] or 0)))
    if column == "model":
        return sorted(rows, key=lambda row: (row.name.lower(), row.key), reverse=descending)
    if query.phenomenon and query.sort == DEFAULT_SORT:
        means = {row.key: row.mean(query.phenomenon) for row in rows}
        suite_count = max((mean.suites for mean in means.values() if mean), default=0)
        return sorted(rows, key=lambda row: ranking_key(means[row.key], suite_count))
    return sorted(rows, key=lambda row: row.runs[0].id, reverse=column != "newest" or descending)


def _ranking(selection: GridSelection, phenomenon: str) -> Ranking | None:
    means = {row.key: mean for row in selection.rows if (mean := row.mean(phenomenon)) is not None}
    suites = [column.suite for column in selection.columns]
    return ranking_of(phenomenon, means, {row.key: row.name for row in selection.rows}, suites)


def _value(summary: Summary | None, phenomenon: str = "") -> float | None:
    headline = None if summary is None else phenomenon_headline(summary, phenomenon)
    return None if headline is None else headline.value


def _row(
    row: _RowSource, columns: Sequence[GridColumn], query: RunQuery, warnings: Mapping[int, tuple[str, ...]]
) -> GridRow:
    cells = tuple(_cell(row, column.suite, query.phenomenon, warnings) for column in columns)
    ids = [f"{cell.result}{cell.later}" if cell else "" for cell in cells]
    latest_run = row.runs[0]
    runs_url = f"/run/{latest_run.id}" if len(row.runs) == 1 else RunQuery(model=row.key).url("/runs")
    return GridRow(
        key=row.key,
        name=row.name,
        kind=row.kind,
        url=f"/sweeps/{row.key.partition(':')[2]}" if row.is_sweep else runs_url,
        runs=tuple(run.id for run in row.runs),
        newest=latest_run.started,
        cells=cells,
        fingerprint=fingerprint([str(len(row.runs)), row.name, *ids]),
        mean=row.mean(query.phenomenon),
    )


def _cell(row: _RowSource, suite: str, phenomenon: str, warnings: Mapping[int, tuple[str, ...]]) -> GridCell | None:
    summary = row.newest(suite)
    if summary is None:
        return None
    cell = cell_of(summary, warnings.get(summary.id, ()), phenomenon)
    if row.is_sweep:
        steps = {run.id: step_in(run) for run in row.runs}
        values: defaultdict[object, list[float]] = defaultdict(list)  # several trainings have a value each at a step
        for result in row.results[suite]:
            if (value := _value(result, phenomenon)) is not None:
                values[result.run if steps[result.run] is None else ("step", steps[result.run])].append(value)
        return cell._replace(sparkline=Sparkline.of_values([fmean(at_step) for at_step in values.values()]))
    last_result = row.results[suite][-1]
    return cell._replace(later="" if last_result is summary else last_result.status)


@functools.lru_cache(maxsize=MAX_CACHED_HEADLINES)
def cell_of(summary: Summary, warnings: tuple[str, ...] = (), phenomenon: str = "") -> GridCell:
    """The cell of one result, or of its part on a phenomenon."""
    headline = phenomenon_headline(summary, phenomenon)
    chance = None if headline is None else chance_level(summary.kind, headline.metric, summary.estimates)
    first = (summary.id, summary.run, summary.status, summary.error, headline)
    return GridCell(*first, warnings=warnings, chance=chance or 0, measurable=summary.measurable)


def _spans(
    columns: Sequence[GridColumn], headings: Callable[[GridColumn], tuple[str, ...]]
) -> tuple[tuple[str, int], ...]:
    return tuple((name[-1], len(list(columns_of_group))) for name, columns_of_group in groupby(columns, key=headings))
