"""The grid of models by suites: its filters, its order, the newest result for each cell, and means on a phenomenon."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import NamedTuple, TypeVar

from wug.formatting import FormattedEstimate, format_estimate, interval_text, number, percent, plural
from wug.identity import ModelId
from wug.labels import short_names
from wug.results.learning_curves import step_in
from wug.results.records import Run, Summary
from wug.results.sweep_curves import result_of
from wug.stats import mean_of_intervals
from wug.views.grouped import chance_level
from wug.web.result_view import MAX_CACHED_HEADLINES, summary_headline
from wug.web.site import DEFAULT_SORT, RunQuery, build_url, page_of

SHADE_THRESHOLDS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995)
"""Distances from chance (0) to 100% (1) at which a cell's shade changes: finer where models differ."""
SPARKLINE_WIDTH_PX, SPARKLINE_HEIGHT_PX, SPARKLINE_POINTS = 48, 14, 24
ROWS_PER_PAGE, COLUMNS_PER_PAGE = 25, 40
Key = TypeVar("Key", int, str)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small line chart."""

    points: str
    """Points of an SVG polyline."""
    count: int
    """Number of values."""


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


class PhenomenonMean(NamedTuple):
    """The mean of a model's scores on a phenomenon: over the suites of a family, then over families."""

    value: float
    low: float
    high: float
    families: int
    suites: int

    @property
    def text(self) -> str:
        """Such as `84.7%`."""
        return percent(self.value)

    @property
    def interval(self) -> str:
        """Such as `[79.1, 89.0]`."""
        return interval_text(self.low, self.high, None, share=True)

    @property
    def scope(self) -> str:
        """Such as `2 families, 5 suites`."""
        return f"{plural(self.families, 'family', 'families')}, {plural(self.suites, 'suite')}"


class GridRow(NamedTuple):
    """A model in the grid, or a sweep over several."""

    key: str
    """The model's id, or `sweep:3`."""
    name: str
    kind: str
    """The backend; for a sweep, its number of models."""
    runs: tuple[Run, ...]
    """Newest first."""
    results: Mapping[str, Sequence[Summary]]
    """By suite: for a model oldest first, for a sweep in the order of its models."""
    mean: PhenomenonMean | None = None
    """The mean on the phenomenon that was chosen."""
    cells: tuple[GridCell | None, ...] = ()

    @property
    def is_sweep(self) -> bool:
        """Whether it is a sweep."""
        return self.key.startswith("sweep:")

    @property
    def url(self) -> str:
        """Its run, the list of its runs, or its sweep."""
        if self.is_sweep:
            return self.key.replace("sweep:", "/sweeps/")
        return f"/run/{self.runs[0].id}" if len(self.runs) == 1 else RunQuery(model=self.key).url("/runs")

    @property
    def fingerprint(self) -> str:
        """Changes with anything that the row shows."""
        ids = (f"{cell.result}{cell.later}" if cell else "" for cell in self.cells)
        return fingerprint([str(len(self.runs)), self.name, *ids])

    def newest(self, suite: str) -> Summary | None:
        """The newest complete result on a suite, or the newest of any status."""
        results = self.results.get(suite)
        return max(reversed(results), key=lambda summary: summary.status == "complete") if results else None


class Ranking(NamedTuple):
    """Which model is best on a phenomenon."""

    phenomenon: str
    sentence: str
    compare_url: str
    """The comparison of the two best models on the suites of the phenomenon; empty for a single model."""


class ResultGrid(NamedTuple):
    """One page of the grid."""

    rows: tuple[GridRow, ...]
    columns: tuple[Summary, ...]
    """A result on each suite."""
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
    ranking: Ranking | None
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


def build_grid(source: GridSource, query: RunQuery) -> ResultGrid:
    """The requested page of the grid."""
    all_rows, all_columns = _select(source, query)
    rows, columns = page_of(all_rows, query.page, ROWS_PER_PAGE), page_of(all_columns, query.columns, COLUMNS_PER_PAGE)
    suites = [column.suite for column in columns.rows]
    page_rows = tuple(
        row._replace(cells=tuple(_cell(row, suite, query.phenomenon, source.warnings) for suite in suites))
        for row in rows.rows
    )
    return ResultGrid(
        rows=page_rows,
        columns=tuple(columns.rows),
        family_spans=_spans(columns.rows, lambda column: (column.kind,)),
        phenomenon_spans=_spans(columns.rows, lambda column: (column.kind, column.phenomenon)),
        row_count=len(all_rows),
        sweep_count=sum(row.is_sweep for row in all_rows),
        suite_count=len(all_columns),
        pages=rows.pages,
        column_pages=columns.pages,
        families=tuple(sorted({summary.kind for summary in source.results})),
        phenomena=tuple(sorted({name for column in _columns(source.results, RunQuery()) for name in column.phenomena})),
        fingerprint=fingerprint([*(row.key for row in page_rows), *suites, str(len(all_rows))]),
        ranking=_ranking(query.phenomenon, all_rows, [column.suite for column in all_columns]),
    )


def selected_results(source: GridSource, query: RunQuery) -> Iterator[tuple[Run, Summary]]:
    """The results in the cells of all pages, row by row, with their runs."""
    rows, columns = _select(source, query)
    for row in rows:
        runs = {run.id: run for run in row.runs}
        newest = (row.newest(column.suite) for column in columns)
        yield from ((runs[summary.run], summary) for summary in newest if summary is not None)


def fingerprint(parts: Sequence[str]) -> str:
    """A short hash of the parts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _select(source: GridSource, query: RunQuery) -> tuple[list[GridRow], list[Summary]]:
    """The models that match the filters, sorted, and a result on each of their suites."""
    columns = _columns(source.results, query)
    suites = {column.suite for column in columns}
    rows = [row for row in _rows(source, query.phenomenon) if _matches(row, suites, query)]
    present_suites = {suite for row in rows for suite in row.results}
    return _sort_rows(rows, query), [column for column in columns if column.suite in present_suites]


def _rows(source: GridSource, phenomenon: str) -> Iterator[GridRow]:
    """One row per model and per sweep, those with the newest runs first."""
    by_run = _grouped(source.results, lambda summary: summary.run)
    runs: dict[str, list[Run]] = {}
    for run in source.runs:
        if run.id in by_run:
            runs.setdefault(f"sweep:{run.sweep}" if run.sweep in source.sweeps else run.model, []).append(run)
    names = short_names(key for key in runs if not key.startswith("sweep:"))
    for key, runs_of_row in runs.items():
        if key in names:
            name, kind = names[key], ModelId.parse(key).backend
            results = sorted((summary for run in runs_of_row for summary in by_run[run.id]), key=lambda one: one.id)
        else:
            # A sweep has its models in the order of their training steps, or of their runs if a step is unknown.
            steps = {run.id: step_in(run) for run in runs_of_row}
            has_steps, models = None not in steps.values(), len({run.model for run in runs_of_row})
            ordered_ids = sorted(steps, key=lambda id: (steps[id] or 0.0 if has_steps else 0.0, id))
            noun = "checkpoints" if has_steps and models > 1 else "models" if models != 1 else "model"
            name, kind = source.sweeps[int(key.partition(":")[2])], f"sweep of {models:,} {noun}"
            results = [summary for id in ordered_ids for summary in by_run[id]]
        row = GridRow(key, name, kind, tuple(runs_of_row), _grouped(results, lambda summary: summary.suite))
        yield row._replace(mean=_mean(row, phenomenon))


def _grouped(summaries: Iterable[Summary], key: Callable[[Summary], Key]) -> dict[Key, list[Summary]]:
    groups: dict[Key, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(key(summary), []).append(summary)
    return groups


def _columns(results: Sequence[Summary], query: RunQuery) -> list[Summary]:
    """The first result on each suite that matches a query; those of a family and of a phenomenon are together."""
    first_results: dict[str, Summary] = {}
    for summary in results:
        if not query.kind or summary.kind == query.kind:
            first_results.setdefault(summary.suite, summary)
    families: dict[str, dict[str, list[Summary]]] = {}
    for suite, summary in first_results.items():
        if (not query.phenomenon or query.phenomenon in summary.phenomena) and query.suite.lower() in suite.lower():
            families.setdefault(summary.kind, {}).setdefault(summary.phenomenon, []).append(summary)
    return [column for phenomena in families.values() for columns in phenomena.values() for column in columns]


def _matches(row: GridRow, suites: set[str], query: RunQuery) -> bool:
    if (query.kind or query.suite or query.phenomenon) and not suites & row.results.keys():
        return False
    text = query.text.lower()
    run_names = (name or "" for run in row.runs for name in (run.name, run.specification))
    return not text or any(text in name.lower() for name in (row.key, row.name, *run_names))


def _sort_rows(rows: Sequence[GridRow], query: RunQuery) -> list[GridRow]:
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    if column.startswith("suite:"):
        suite = column.removeprefix("suite:")
        values = {row.key: _value(row.newest(suite), query.phenomenon) for row in rows}
        sign = -1 if descending else 1  # models without the suite come last in either direction
        return sorted(rows, key=lambda row: (values[row.key] is None, sign * (values[row.key] or 0)))
    if column == "model":
        return sorted(rows, key=lambda row: (row.name.lower(), row.key), reverse=descending)
    if query.phenomenon and query.sort == DEFAULT_SORT:
        suite_count = _suite_count(rows)  # models that have all suites come first, the best first
        return sorted(rows, key=lambda row: (row.mean.suites < suite_count, -row.mean.value) if row.mean else (True, 0))
    return sorted(rows, key=lambda row: row.runs[0].id, reverse=column != "newest" or descending)


def _mean(row: GridRow, phenomenon: str) -> PhenomenonMean | None:
    """The mean of the newest results on a phenomenon; None if none has an interval."""
    families: dict[str, list[tuple[float, float, float]]] = {}
    for summary in filter(None, map(row.newest, row.results if phenomenon else ())):
        estimate = summary.phenomena.get(phenomenon)
        if summary.status == "complete" and estimate and estimate.low is not None and estimate.high is not None:
            families.setdefault(summary.kind, []).append((estimate.value, estimate.low, estimate.high))
    if not families:
        return None
    mean = mean_of_intervals([mean_of_intervals(scores) for scores in families.values()])
    return PhenomenonMean(*mean, len(families), sum(map(len, families.values())))


def _suite_count(rows: Sequence[GridRow]) -> int:
    """The largest number of suites that a mean is over."""
    return max((row.mean.suites for row in rows if row.mean), default=0)


def _ranking(phenomenon: str, rows: Sequence[GridRow], suites: Sequence[str]) -> Ranking | None:
    """The best of the models that have all suites of a phenomenon; None without models."""
    suite_count = _suite_count(rows)
    scores = [(row, row.mean) for row in rows if row.mean and row.mean.suites == suite_count]
    if not scores:
        return None
    scores.sort(key=lambda pair: -pair[1].value)
    winner, best = scores[0]
    with_suites = f"with {'all' if suite_count >= len(suites) else f'{suite_count} of'} {plural(len(suites), 'suite')}"
    value = f"{best.text} {best.interval} over {plural(best.families, 'family', 'families')}."
    if len(scores) == 1:
        return Ranking(phenomenon, f"{winner.name} is the only model {with_suites}: {value}", "")
    next_row, runner_up = scores[1]
    is_tied = runner_up.text == best.text
    leaders = f"{winner.name} and {next_row.name} have" if is_tied else f"{winner.name} has"
    sentence = f"{leaders} the highest mean of {len(scores)} models {with_suites}: {value}"
    sentence += "" if is_tied else f" Next is {next_row.name} with {runner_up.text} {runner_up.interval}."
    sides = tuple(row.key if row.is_sweep else f"model:{row.key}" for row in (winner, next_row))
    return Ranking(phenomenon, sentence, build_url("/compare", {"side": sides, "suite": tuple(suites), "pool": "yes"}))


def _headline(summary: Summary, phenomenon: str) -> FormattedEstimate | None:
    """The headline of a result, or its part on a phenomenon."""
    part = summary.phenomena.get(phenomenon) if phenomenon else None
    return summary_headline(summary) if part is None else format_estimate(result_of(summary), part)


def _value(summary: Summary | None, phenomenon: str) -> float | None:
    headline = None if summary is None else _headline(summary, phenomenon)
    return None if headline is None else headline.value


def _cell(row: GridRow, suite: str, phenomenon: str, warnings: Mapping[int, tuple[str, ...]]) -> GridCell | None:
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
        return cell._replace(sparkline=sparkline([fmean(at_step) for at_step in values.values()]))
    last_result = row.results[suite][-1]
    return cell._replace(later="" if last_result is summary else last_result.status)


def sparkline(values: Sequence[float]) -> Sparkline | None:
    """A line through the values, sampled if there are many; None for fewer than two."""
    if len(values) < 2:
        return None
    last_index = len(values) - 1
    count = min(SPARKLINE_POINTS, len(values))
    indices = [round(index * last_index / (count - 1)) for index in range(count)]
    # Proportions share the axis from 0 to 1, so that lines can be compared; other numbers fill the height.
    is_share = all(0 <= value <= 1 for value in values)
    low, high = (0.0, 1.0) if is_share else (min(values), max(values))
    heights = [1 + (SPARKLINE_HEIGHT_PX - 2) * (1 - (values[i] - low) / ((high - low) or 1.0)) for i in indices]
    coordinates = (f"{SPARKLINE_WIDTH_PX * i / last_index:.0f},{y:.1f}" for i, y in zip(indices, heights, strict=True))
    return Sparkline(" ".join(coordinates), len(values))


@functools.lru_cache(maxsize=MAX_CACHED_HEADLINES)
def cell_of(summary: Summary, warnings: tuple[str, ...] = (), phenomenon: str = "") -> GridCell:
    """The cell of one result, or of its part on a phenomenon."""
    headline = _headline(summary, phenomenon)
    chance = None if headline is None else chance_level(summary.kind, headline.metric, summary.estimates)
    first = (summary.id, summary.run, summary.status, summary.error, headline)
    return GridCell(*first, warnings=warnings, chance=chance or 0, measurable=summary.measurable)


def _spans(columns: Sequence[Summary], heading: Callable[[Summary], tuple[str, ...]]) -> tuple[tuple[str, int], ...]:
    return tuple((name[-1], len(list(columns_of_group))) for name, columns_of_group in groupby(columns, key=heading))
