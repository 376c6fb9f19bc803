"""Models by suites: the headline of each result, as a table for the terminal and for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.types import Result, Signature
from wug.views.markup import latex_table, markdown_table
from wug.views.numbers import Shown, shown, spaced
from wug.views.table import delimited, finite
from wug.views.terminal import common_signature, print_signature

if TYPE_CHECKING:
    from wug.results.sweep_curves import SweepMatrix

MOST = 60
"""Models that a terminal shows; of more, as many from the beginning as from the end."""
COLUMNS = ("model", "run", "status", "suite", "check", "value", "low", "high", "n")


@dataclass(frozen=True, slots=True)
class Line:
    """A model."""

    model: str
    run: int | None
    status: str
    cells: tuple[Shown | None, ...]
    """Its value on each suite; None where it has none."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Models by suites."""

    suites: tuple[str, ...]
    lines: tuple[Line, ...]
    signatures: tuple[Signature, ...] = ()


def of(found: SweepMatrix) -> Matrix:
    """The matrix as it is shown: of each result its headline."""
    return Matrix(
        found.suites,
        tuple(
            Line(
                line.model,
                line.run,
                line.status,
                tuple(None if one is None else _headline(one) for one in line.results),
            )
            for line in found.lines
        ),
        found.signatures,
    )


def _headline(result: Result | None) -> Shown | None:
    return None if result is None or result.headline is None else shown(result, result.headline)


def values_are(suites: Sequence[str], rows: Iterable[Sequence[Shown | None]]) -> str:
    """The checks whose values a matrix has, each with its suites where there are several."""
    found: dict[str, dict[str, None]] = {}
    for cells in rows:
        for suite, cell in zip(suites, cells, strict=True):
            if cell is not None:
                found.setdefault(cell.name, {})[suite] = None
    if len(found) < 2:
        return "".join(found) or "none"
    return ", ".join(f"{check} ({', '.join(own)})" for check, own in found.items())


def show(matrix: Matrix, console: Console) -> None:
    """Print the table for a person."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    table.add_column("model", overflow="fold")
    for suite in matrix.suites:
        table.add_column(escape(suite), justify="right", overflow="fold")
    half = MOST // 2
    lines = list(matrix.lines)
    left_out = len(lines) - 2 * half if len(lines) > MOST else 0
    for place, line in enumerate([*lines[:half], *lines[-half:]] if left_out else lines):
        if left_out and place == half:
            table.add_row(f"… {left_out:,} more …", *["…"] * len(matrix.suites))
        table.add_row(escape(line.model), *(escape(cell) for cell in _cells(line)))
    console.print(table)
    console.print(Text(f"Values: {values_are(matrix.suites, (line.cells for line in matrix.lines))}.", style="dim"))
    print_signature(common_signature(matrix.signatures), console)


def _cells(line: Line) -> list[str]:
    lacking = "–" if line.status == "complete" else line.status
    return [lacking if cell is None else spaced(cell.text) for cell in line.cells]


def rows(matrix: Matrix) -> list[tuple[Any, ...]]:
    """One row for each model and suite, in the order of COLUMNS."""
    return [
        (
            *(line.model, line.run, line.status, suite),
            *((None,) * 5 if cell is None else (cell.check, cell.value, cell.low, cell.high, cell.n)),
        )
        for line in matrix.lines
        for suite, cell in zip(matrix.suites, line.cells, strict=True)
    ]


def as_json(matrix: Matrix) -> str:
    """A list of objects, one for each model and suite, with the signatures."""
    fields = [dict(zip(COLUMNS, row, strict=True)) for row in rows(matrix)]
    found = {"rows": fields, "signatures": [str(signature) for signature in matrix.signatures]}
    return json.dumps(finite(found), ensure_ascii=False, indent=2, allow_nan=False)


def _lines(matrix: Matrix) -> list[tuple[str, ...]]:
    return [(line.model, *_cells(line)) for line in matrix.lines]


def _alignment(matrix: Matrix) -> str:
    return "l" + "r" * len(matrix.suites)


FORMATS: Mapping[str, Callable[[Matrix], str]] = {
    "json": as_json,
    "csv": lambda matrix: delimited(COLUMNS, rows(matrix), ","),
    "tsv": lambda matrix: delimited(COLUMNS, rows(matrix), "\t"),
    "md": lambda matrix: markdown_table(("model", *matrix.suites), _lines(matrix), _alignment(matrix)),
    "latex": lambda matrix: latex_table(
        ("model", *matrix.suites), _lines(matrix), _alignment(matrix), map(str, matrix.signatures)
    ),
}
