"""Models by suites, with the newest result in each cell: which are shown, in which order, and what each cell says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from wug.brief import short_names
from wug.runs.learning import step_of
from wug.runs.shelf import Run, Summary
from wug.show.numbers import Shown, number
from wug.web.pages.runs.grid_query import Wanted
from wug.web.pages.runs.sparkline import Sparkline
from wug.web.result_view import headline

ROWS, COLUMNS = 25, 40
"""Models and suites on a page."""
STEPS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995)
"""Where the colour of a share changes: finer where models differ, and 100 % has one of its own."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The newest result of a model on a suite."""

    result: int
    run: int
    status: str
    fault: str
    shown: Shown | None
    later: str = ""
    """The status of a later result that is not complete, and was passed over for this one."""
    sparkline: Sparkline | None = None
    """Of a sweep: the values over its models."""

    @property
    def text(self) -> str:
        """Such as `71.2`, without a unit."""
        if self.shown is None:
            return "–"
        if not self.shown.share:
            return number(self.shown.value)
        text = f"{100 * self.shown.value:.1f}"
        return "100" if text == "100.0" else text

    @property
    def shade(self) -> str:
        """The class of its colour: the higher a share, the stronger."""
        if self.shown is None or not self.shown.share or not 0 <= self.shown.value <= 1:
            return ""
        return f"h{sum(self.shown.value >= step for step in STEPS)}"


@dataclass(frozen=True, slots=True)
class Line:
    """A model in the grid, or a sweep over several."""

    key: str
    """The model's identity, or `sweep:3`."""
    name: str
    kind: str
    """What kind of model; of a sweep, how many it has."""
    address: str
    """The page about it: its run, or the list of its runs."""
    runs: tuple[int, ...]
    """The latest first."""
    newest: str
    """When the latest was started."""
    pinned: bool
    cells: tuple[Cell | None, ...]
    mark: str
    """Changes with anything that the line shows."""

    @property
    def sweep(self) -> bool:
        """Whether it is a sweep."""
        return self.key.startswith("sweep:")


@dataclass(frozen=True, slots=True)
class Column:
    """A suite in the grid."""

    suite: str
    kind: str
    circuit: str
    pinned: bool = False

    @property
    def label(self) -> tuple[str, str]:
        """The family and the phenomenon that it stands under."""
        return ("pinned", "") if self.pinned else (self.kind, self.circuit)


@dataclass(frozen=True, slots=True)
class Grid:
    """A page of the grid."""

    lines: tuple[Line, ...]
    columns: tuple[Column, ...]
    families: tuple[tuple[str, int], ...]
    """Over neighbouring columns, and over how many."""
    phenomena: tuple[tuple[str, int], ...]
    rows: int
    """Of all pages."""
    sweeps: int
    """Of these."""
    suites: int
    pages: int
    column_pages: int
    kinds: tuple[str, ...]
    circuits: tuple[str, ...]
    mark: str


@dataclass(frozen=True, slots=True)
class Source:
    """What the grid is made of."""

    runs: Sequence[Run]
    """The latest first; drafts are left out."""
    results: Sequence[Summary]
    sweeps: Mapping[int, str]
    """Their names."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A model or a sweep, and its results suite by suite."""

    key: str
    name: str
    kind: str
    runs: tuple[Run, ...]
    results: Mapping[str, Sequence[Summary]]
    """Of a model the latest last; of a sweep in the order of its models."""

    @property
    def is_sweep(self) -> bool:
        return self.key.startswith("sweep:")

    def chosen(self, suite: str) -> Summary | None:
        """The result that stands for a suite: the newest that is complete, or the newest."""
        found = self.results.get(suite, ())
        return next((kept for kept in reversed(found) if kept.status == "complete"), found[-1] if found else None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the filters let through, on all pages."""

    rows: list[_Row]
    columns: list[Column]

    def each(self) -> Iterable[tuple[Run, Summary]]:
        """The results that the cells show, row by row, with their runs."""
        for row in self.rows:
            runs = {run.id: run for run in row.runs}
            for column in self.columns:
                kept = row.chosen(column.suite)
                if kept is not None:
                    yield runs[kept.run], kept


def choose(source: Source, wanted: Wanted) -> Chosen:
    """The models that are wanted in their order, and the suites that they have."""
    columns = _columns(source.results, wanted)
    names = {column.suite for column in columns}
    rows = [row for row in _rows(source) if _fits(row, names, wanted)]
    met = {suite for row in rows for suite in row.results}
    kept = [column for column in columns if column.suite in met]
    return Chosen(_ordered(rows, wanted), kept)


def grid(source: Source, wanted: Wanted) -> Grid:
    """The page of the grid that is wanted."""
    found = choose(source, wanted)
    pinned = [row for row in found.rows if row.key in wanted.pins]
    others = [row for row in found.rows if row.key not in wanted.pins]
    pages = max(1, -(-len(others) // ROWS))
    column_pages = max(1, -(-len(found.columns) // COLUMNS))
    first, left = (min(wanted.page, pages) - 1) * ROWS, (min(wanted.columns, column_pages) - 1) * COLUMNS
    shown = found.columns[left : left + COLUMNS]
    lines = tuple(_line(row, shown, row.key in wanted.pins) for row in (*pinned, *others[first : first + ROWS]))
    shape = [line.key for line in lines] + [column.suite for column in shown] + [str(len(found.rows))]
    return Grid(
        lines=lines,
        columns=tuple(shown),
        families=_spans(shown, lambda column: (column.label[0],)),
        phenomena=_spans(shown, lambda column: column.label),
        rows=len(found.rows),
        sweeps=sum(row.is_sweep for row in found.rows),
        suites=len(found.columns),
        pages=pages,
        column_pages=column_pages,
        kinds=tuple(sorted({kept.kind for kept in source.results})),
        circuits=tuple(sorted({column.circuit for column in _columns(source.results, Wanted()) if column.circuit})),
        mark=digest(shape),
    )


def digest(parts: Sequence[str]) -> str:
    """A word that changes with any of the parts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _rows(source: Source) -> list[_Row]:
    """A row for each model and each sweep, the one with the latest run first."""
    by_run: dict[int, list[Summary]] = {}
    for kept in source.results:
        by_run.setdefault(kept.run, []).append(kept)
    runs: dict[str, list[Run]] = {}
    for run in source.runs:
        if run.id in by_run:
            runs.setdefault(f"sweep:{run.sweep}" if run.sweep in source.sweeps else run.model, []).append(run)
    names = short_names(key for key in runs if not key.startswith("sweep:"))
    return [
        _swept(key, some, by_run, source.sweeps) if key.startswith("sweep:") else _modelled(key, some, by_run, names)
        for key, some in runs.items()
    ]


def _modelled(key: str, runs: Sequence[Run], by_run: Mapping[int, list[Summary]], names: Mapping[str, str]) -> _Row:
    results: dict[str, list[Summary]] = {}
    for kept in sorted((kept for run in runs for kept in by_run[run.id]), key=lambda kept: kept.id):
        results.setdefault(kept.suite, []).append(kept)
    return _Row(key, names[key], key.partition("/")[0] if "/" in key else "", tuple(runs), results)


def _swept(key: str, runs: Sequence[Run], by_run: Mapping[int, list[Summary]], sweeps: Mapping[int, str]) -> _Row:
    """A sweep, its models in the order of their training steps, or of their runs where these cannot be told."""
    steps = {run.id: step_of(run.revision or run.specification or run.model) for run in runs}
    told = all(step is not None for step in steps.values())
    ordered = sorted(runs, key=lambda run: (steps[run.id] or 0.0 if told else 0.0, run.id))
    results: dict[str, list[Summary]] = {}
    for run in ordered:
        for kept in by_run[run.id]:
            results.setdefault(kept.suite, []).append(kept)
    models = len({run.model for run in runs})
    kind = f"sweep of {models:,} {'checkpoints' if told and models > 1 else 'models' if models != 1 else 'model'}"
    return _Row(key, sweeps[int(key.partition(":")[2])], kind, tuple(runs), results)


def _columns(results: Sequence[Summary], wanted: Wanted) -> list[Column]:
    """The suites, family by family and phenomenon by phenomenon, each as first met; pinned ones before all."""
    found: dict[str, Column] = {}
    for kept in results:
        if kept.suite not in found and (not wanted.kind or kept.kind == wanted.kind):
            found[kept.suite] = Column(kept.suite, kept.kind, kept.circuit, kept.suite in wanted.pinned_suites)
    if wanted.circuit:
        found = {name: column for name, column in found.items() if column.circuit == wanted.circuit}
    if wanted.suite:
        found = {name: column for name, column in found.items() if wanted.suite.lower() in name.lower()}
    kinds: dict[str, int] = {}
    order: dict[tuple[str, str], int] = {}
    for column in found.values():
        kinds.setdefault(column.kind, len(kinds))
        order.setdefault((column.kind, column.circuit), len(order))
    return sorted(found.values(), key=lambda c: (not c.pinned, kinds[c.kind], order[c.kind, c.circuit]))


def _fits(row: _Row, names: set[str], wanted: Wanted) -> bool:
    if row.key in wanted.pins:
        return True
    if (wanted.kind or wanted.suite or wanted.circuit) and not names & row.results.keys():
        return False
    text = wanted.text.lower()
    said = (row.key, row.name, *(run.name or "" for run in row.runs), *(run.specification or "" for run in row.runs))
    return not text or any(text in one.lower() for one in said)


def _ordered(rows: Sequence[_Row], wanted: Wanted) -> list[_Row]:
    column, falls = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    if column.startswith("suite:"):
        suite = column.removeprefix("suite:")
        values = {row.key: _value(row.chosen(suite)) for row in rows}
        # Models without the suite come last, whichever way it is sorted.
        there = sorted((r for r in rows if values[r.key] is not None), key=lambda r: values[r.key] or 0, reverse=falls)
        return [*there, *(row for row in rows if values[row.key] is None)]
    if column == "model":
        return sorted(rows, key=lambda row: (row.name.lower(), row.key), reverse=falls)
    return sorted(rows, key=lambda row: row.runs[0].id, reverse=column != "newest" or falls)


def _value(kept: Summary | None) -> float | None:
    found = None if kept is None else headline(kept)
    return None if found is None else found.value


def _line(row: _Row, columns: Sequence[Column], pinned: bool) -> Line:
    cells = tuple(_cell(row, column.suite) for column in columns)
    ids = [f"{cell.result}{cell.later}" if cell else "" for cell in cells]
    latest = row.runs[0]
    own = f"/run/{latest.id}" if len(row.runs) == 1 else Wanted(model=row.key).link("/runs")
    return Line(
        key=row.key,
        name=row.name,
        kind=row.kind,
        address=f"/sweeps/{row.key.partition(':')[2]}" if row.is_sweep else own,
        runs=tuple(run.id for run in row.runs),
        newest=latest.started,
        pinned=pinned,
        cells=cells,
        mark=digest([str(len(row.runs)), row.name, *ids]),
    )


def _cell(row: _Row, suite: str) -> Cell | None:
    kept = row.chosen(suite)
    if kept is None:
        return None
    shown = headline(kept)
    if row.is_sweep:
        values = [value for one in row.results[suite] if (value := _value(one)) is not None]
        return Cell(kept.id, kept.run, kept.status, kept.fault, shown, "", Sparkline.of(values))
    last = row.results[suite][-1]
    return Cell(kept.id, kept.run, kept.status, kept.fault, shown, "" if last is kept else last.status)


def _spans(columns: Sequence[Column], label: Callable[[Column], tuple[str, ...]]) -> tuple[tuple[str, int], ...]:
    """Labels over neighbouring columns, and over how many."""
    return tuple((name[-1], len(list(some))) for name, some in groupby(columns, key=label))
