"""Runs by suites: which are shown, in which order, and what each cell says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from wug.runs.shelf import Run, Summary
from wug.show.numbers import Shown
from wug.web.looks import headline
from wug.web.site import address, page_number

ROWS, COLUMNS = 25, 24
"""Runs and suites on a page."""
SORTS = ("run", "model", "status", "suites", "started")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the address asks for."""

    text: str = ""
    """What the model's name, the command or a suite's name contains."""
    kind: str = ""
    suite: str = ""
    status: str = ""
    sort: str = "-run"
    """A column, or `suite:NAME`; with `-` in front from the top down."""
    page: int = 1
    columns: int = 1
    """The page of suites."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """The wishes in an address; what makes no sense is as if it were not there."""
        return cls(
            text=query.get("q", "").strip(),
            kind=query.get("kind", ""),
            suite=query.get("suite", ""),
            status=query.get("status", ""),
            sort=query.get("sort") or "-run",
            page=page_number(query.get("page", "")),
            columns=page_number(query.get("columns", "")),
        )

    def link(self, **changed: object) -> str:
        """The address of the same with something changed."""
        own = {
            "q": self.text,
            "kind": self.kind,
            "suite": self.suite,
            "status": self.status,
            "sort": "" if self.sort == "-run" else self.sort,
            "page": "" if self.page == 1 else self.page,
            "columns": "" if self.columns == 1 else self.columns,
        }
        return address("/", {**own, **changed})

    def sorted_by(self, column: str) -> str:
        """The address of the same sorted by a column; by the one it is sorted by, the other way round."""
        falls = column == "run" or column.startswith("suite:")
        usual, other = (f"-{column}", column) if falls else (column, f"-{column}")
        return self.link(sort=other if self.sort == usual else usual, page="")


@dataclass(frozen=True, slots=True)
class Cell:
    """A result in the grid."""

    result: int
    status: str
    fault: str
    shown: Shown | None

    @property
    def shade(self) -> str:
        """The class of its colour: the higher a share, the stronger."""
        if self.shown is None or not self.shown.share or not 0 <= self.shown.value <= 1:
            return ""
        return f"h{min(9, int(10 * self.shown.value))}"


@dataclass(frozen=True, slots=True)
class Line:
    """A run in the grid."""

    run: Run
    cells: tuple[Cell | None, ...]
    mark: str
    """Changes with anything that the line shows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A suite in the grid."""

    suite: str
    kind: str
    circuit: str

    @property
    def label(self) -> str:
        """What it belongs to: its circuit, or its family."""
        return self.circuit or self.kind


@dataclass(frozen=True, slots=True)
class Grid:
    """A page of the grid."""

    lines: tuple[Line, ...]
    columns: tuple[Column, ...]
    spans: tuple[tuple[str, int], ...]
    """Circuits or families over neighbouring columns, and over how many."""
    runs: int
    """Of all pages."""
    suites: int
    pages: int
    column_pages: int
    kinds: tuple[str, ...]
    statuses: tuple[str, ...]
    mark: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the filters let through, on all pages."""

    runs: list[Run]
    columns: list[Column]
    by_run: Mapping[int, Mapping[str, Summary]]


def choose(runs: Sequence[Run], results: Sequence[Summary], wanted: Wanted) -> Chosen:
    """The runs that are wanted in their order, and the suites that they have."""
    by_run: dict[int, dict[str, Summary]] = {}
    for kept in results:
        by_run.setdefault(kept.run, {})[kept.suite] = kept
    columns = _columns(results, wanted)
    names = {column.suite for column in columns}
    fitting = [run for run in runs if _fits(run, by_run.get(run.id, {}), names, wanted)]
    met = {suite for run in fitting for suite in by_run.get(run.id, ())}
    columns = [column for column in columns if column.suite in met]
    return Chosen(_ordered(fitting, by_run, wanted), columns, by_run)


def grid(runs: Sequence[Run], results: Sequence[Summary], wanted: Wanted) -> Grid:
    """The page of the grid that is wanted."""
    found = choose(runs, results, wanted)
    ordered, columns, by_run = found.runs, found.columns, found.by_run
    pages, column_pages = max(1, -(-len(ordered) // ROWS)), max(1, -(-len(columns) // COLUMNS))
    first, left = (min(wanted.page, pages) - 1) * ROWS, (min(wanted.columns, column_pages) - 1) * COLUMNS
    shown = columns[left : left + COLUMNS]
    lines = tuple(_line(run, by_run.get(run.id, {}), shown) for run in ordered[first : first + ROWS])
    shape = [str(line.run.id) for line in lines] + [column.suite for column in shown] + [str(len(ordered))]
    return Grid(
        lines=lines,
        columns=tuple(shown),
        spans=tuple((label, len(list(some))) for label, some in groupby(shown, key=lambda column: column.label)),
        runs=len(ordered),
        suites=len(columns),
        pages=pages,
        column_pages=column_pages,
        kinds=tuple(sorted({kept.kind for kept in results})),
        statuses=tuple(sorted({run.status for run in runs})),
        mark=_mark(shape),
    )


def _columns(results: Sequence[Summary], wanted: Wanted) -> list[Column]:
    """The suites, family by family and circuit by circuit, each as first met."""
    found: dict[str, Column] = {}
    for kept in results:
        if kept.suite not in found and (not wanted.kind or kept.kind == wanted.kind):
            found[kept.suite] = Column(kept.suite, kept.kind, kept.circuit)
    if wanted.suite:
        found = {name: column for name, column in found.items() if wanted.suite.lower() in name.lower()}
    order: dict[tuple[str, str], int] = {}
    for column in found.values():
        order.setdefault((column.kind, column.circuit), len(order))
    kinds: dict[str, int] = {}
    for kind, _ in order:
        kinds.setdefault(kind, len(kinds))
    return sorted(found.values(), key=lambda c: (kinds[c.kind], order[c.kind, c.circuit]))


def _fits(run: Run, results: Mapping[str, Summary], names: set[str], wanted: Wanted) -> bool:
    if wanted.status and run.status != wanted.status:
        return False
    if (wanted.kind or wanted.suite) and not names & results.keys():
        return False
    text = wanted.text.lower()
    said = (run.model, run.command, str(run.id), *results)
    return not text or any(text in str(one).lower() for one in said)


def _ordered(runs: Sequence[Run], by_run: Mapping[int, Mapping[str, Summary]], wanted: Wanted) -> list[Run]:
    column = wanted.sort.removeprefix("-")
    falls = wanted.sort.startswith("-")
    if column.startswith("suite:"):
        suite = column.removeprefix("suite:")
        values = {run.id: _value(by_run.get(run.id, {}).get(suite)) for run in runs}
        # Runs without the suite come last, whichever way it is sorted.
        there = sorted((r for r in runs if values[r.id] is not None), key=lambda r: values[r.id] or 0.0, reverse=falls)
        return [*there, *(run for run in runs if values[run.id] is None)]
    if column not in SORTS:
        column, falls = "run", True
    keys = {
        "run": lambda run: (0, "", run.id),
        "model": lambda run: (0, run.model.lower(), run.id),
        "status": lambda run: (0, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (0, run.started, run.id),
    }
    return sorted(runs, key=keys[column], reverse=falls)


def _value(kept: Summary | None) -> float | None:
    found = None if kept is None else headline(kept)
    return None if found is None else found.value


def _line(run: Run, results: Mapping[str, Summary], columns: Sequence[Column]) -> Line:
    cells = tuple(_cell(results.get(column.suite)) for column in columns)
    ids = [str(cell.result) if cell else "" for cell in cells]
    return Line(run, cells, _mark([run.status, str(run.finished), str(run.suites), *ids]))


def _cell(kept: Summary | None) -> Cell | None:
    return None if kept is None else Cell(kept.id, kept.status, kept.fault, headline(kept))


def _mark(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
