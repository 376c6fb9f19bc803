"""How many sources there are of each depth and length: what a naturalised corpus is drawn to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from random import Random

from wug.errors import InputError
from wug.files import read_lines


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """A depth and a number of words."""

    length: int
    """Words, commas included."""
    depth: int
    """Functions on the longest way from the whole to a string."""


@dataclass(frozen=True, slots=True)
class Table:
    """The weight of each depth and length."""

    weights: tuple[tuple[Cell, float], ...]
    """Sorted by length, then depth; every weight above 0."""

    @property
    def depth(self) -> int:
        """The greatest depth."""
        return max(cell.depth for cell, _ in self.weights)

    @property
    def length(self) -> int:
        """The greatest length."""
        return max(cell.length for cell, _ in self.weights)

    def cells(self, n: int, random: Random) -> list[Cell]:
        """`n` cells in random order whose shares are those of the table, as nearly as `n` allows.

        Evenly spaced along the table from one random start, rather than drawn one by one: the shares
        of any stretch of the table are off by less than one line.
        """
        total = sum(weight for _, weight in self.weights)
        found: list[Cell] = []
        start, reached = random.random(), 0.0
        for cell, weight in self.weights:
            reached += weight
            while len(found) < n and (start + len(found)) * total < reached * n:
                found.append(cell)
        found += [self.weights[-1][0]] * (n - len(found))  # what rounding may leave
        random.shuffle(found)
        return found


def published() -> Table:
    """The statistics of the published test set: depths 1 to 17, 3 to 71 words."""
    with as_file(files("wug").joinpath("assets", "pcfgset", "depth_length.tsv")) as path:
        return read_table(path)


def read_table(path: Path) -> Table:
    """The table of a file with the columns depth, length and count, a header being optional."""
    lines = read_lines(path)
    rows: dict[Cell, float] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.lower().startswith("depth")):
            continue
        cell, weight = _row(line, path, number)
        if cell in rows:
            message = f"depth {cell.depth} and length {cell.length} stand in an earlier line too"
            raise InputError(message, file=path, place=f"line {number}")
        rows[cell] = weight
    if not any(rows.values()):
        raise InputError("the table is empty. Write lines of depth, length and count, with tabs", file=path)
    return _sorted(rows.items())


def _row(line: str, path: Path, number: int) -> tuple[Cell, float]:
    fields = line.split("\t")
    try:
        depth, length, weight = int(fields[0]), int(fields[1]), float(fields[2])
    except (ValueError, IndexError):
        fields = []
    if len(fields) != 3 or depth < 1 or length < 1 or not 0 <= weight < float("inf"):
        message = f"expected a depth, a length and a count with tabs between them, found {line!r}"
        raise InputError(message, file=path, place=f"line {number}")
    return Cell(length, depth), weight


def _sorted(rows: Iterable[tuple[Cell, float]]) -> Table:
    kept: Sequence[tuple[Cell, float]] = sorted((cell, float(weight)) for cell, weight in rows if weight > 0)
    return Table(tuple(kept))
