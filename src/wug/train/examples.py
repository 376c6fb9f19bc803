"""Sources and targets to learn from: PCFG SET and COGS folders or files, in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wug.errors import InputError
from wug.files import checksum, read_lines

Ints = npt.NDArray[np.int64]

PARTS = 8
"""Parts of like length, each padded to its own longest source and target. More of them pad less, but a batch is of one
part, and the more alike its examples are, the less it says about the others.
"""
GRAIN = 8
"""Lengths are padded to a multiple of this."""
WEIGHTS = np.array([1, 2])
"""A target's token costs more than a source's."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What is asked, and what the answer is to be."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def checksum(self) -> str:
        """Of all sources and targets."""
        return checksum("\n".join(self.sources), "\n".join(self.targets))


def read_examples(path: Path) -> Examples:
    """The training examples of a folder (train.src and train.tgt of PCFG SET, train.tsv of COGS), or of such a file."""
    if path.is_dir():
        path = _within(path)
    if path.suffix == ".src" or path.name.endswith(".src.gz"):
        other = path.with_name(path.name.replace(".src", ".tgt"))
        sources, targets = read_lines(path), read_lines(other)
        if len(sources) != len(targets):
            raise InputError(f"has {len(sources):,} lines, and {other.name} has {len(targets):,}", file=path)
    else:
        sources, targets = _columns(path)
    if not sources:
        raise InputError("there is nothing to learn from", file=path)
    return Examples(tuple(sources), tuple(targets))


@dataclass(frozen=True, slots=True)
class Part:
    """Examples of like length: their numbers, a row each, padded with 0."""

    sources: Ints
    targets: Ints


def parts_of(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], fewest: int) -> list[Part]:
    """All examples in parts of like length, none with fewer than `fewest` of them unless it is the only one."""
    sizes = np.array([(len(source), len(target)) for source, target in zip(sources, targets, strict=True)])
    return [
        Part(_padded([sources[place] for place in places]), _padded([targets[place] for place in places]))
        for places in alike(sizes, fewest)
    ]


def alike(sizes: Ints, fewest: int) -> list[Ints]:
    """The places of examples in parts of like length, from their lengths (of source and target).

    The part whose division saves most is divided, by the length of its sources or of its targets, until there are
    enough parts or nothing is saved.
    """
    parts = [np.arange(len(sizes))]
    cuts = [_best_cut(sizes, fewest)]
    while len(parts) < PARTS:
        place = max(range(len(parts)), key=lambda place: cuts[place].saved)
        cut, part = cuts[place], parts[place]
        if not cut.saved:
            break
        below = sizes[part, cut.axis] <= cut.bound
        parts[place : place + 1] = [part[below], part[~below]]
        cuts[place : place + 1] = [_best_cut(sizes[half], fewest) for half in parts[place : place + 2]]
    return parts


class _Cut(NamedTuple):
    """Where a part is divided: examples up to a length, and longer ones."""

    saved: int = 0
    axis: int = 0
    """0 for sources, 1 for targets."""
    bound: int = 0


def _best_cut(sizes: Ints, fewest: int) -> _Cut:
    """The cut that saves most of what padding costs; one that saves nothing where there is none."""
    best = _Cut()
    for axis in (0, 1):
        for bound in np.unique(_full(sizes[:, axis]))[:-1]:
            below = sizes[:, axis] <= bound
            if fewest <= np.count_nonzero(below) <= len(sizes) - fewest:
                saved = _cost(sizes) - _cost(sizes[below]) - _cost(sizes[~below])
                best = max(best, _Cut(saved, axis, int(bound)), key=lambda cut: cut.saved)
    return best


def _cost(sizes: Ints) -> int:
    """Of a part, padding included."""
    return len(sizes) * int(_full(sizes.max(axis=0)) @ WEIGHTS)


def _full(lengths: Ints) -> Ints:
    """Lengths with what fills them up."""
    return -(-lengths // GRAIN) * GRAIN


class Batches:
    """Which examples are learnt in a step: of one part, in an order that the seed and the epoch decide."""

    def __init__(self, sizes: Sequence[int], batch: int, seed: int) -> None:
        self._sizes, self._seed = tuple(sizes), seed
        self._batch = min(batch, max(self._sizes))
        self._epoch, self._steps = -1, list[tuple[int, Ints]]()

    @property
    def steps_an_epoch(self) -> int:
        """Steps in which every example is seen once, but for what does not fill a batch."""
        return sum(size // self._batch for size in self._sizes)

    def of(self, step: int) -> tuple[int, Ints]:
        """The part, and the places in it, for a step."""
        epoch, place = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._epoch, self._steps = epoch, self._plan(epoch)
        return self._steps[place]

    def _plan(self, epoch: int) -> list[tuple[int, Ints]]:
        draw = np.random.default_rng([self._seed, epoch])
        steps = []
        for part, size in enumerate(self._sizes):
            order = draw.permutation(size)
            for first in range(0, size - self._batch + 1, self._batch):
                steps.append((part, order[first : first + self._batch]))
        return [steps[place] for place in draw.permutation(len(steps))]


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    longest = int(_full(np.array(max(map(len, rows)))))
    table = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _within(folder: Path) -> Path:
    names = ("train.src", "train.src.gz", "train.tsv", "train.tsv.gz")
    found = [folder / name for name in names if (folder / name).is_file()]
    if not found:
        raise InputError("has neither train.src (PCFG SET) nor train.tsv (COGS)", file=folder)
    if len(found) > 1:
        both = " and ".join(path.name for path in found)
        raise InputError(f"has both {both}: name the file to learn from", file=folder)
    return found[0]


def _columns(path: Path) -> tuple[list[str], list[str]]:
    sources: list[str] = []
    targets: list[str] = []
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
            raise InputError("expected a source, a tab and a target", file=path, place=f"line {number}")
        sources.append(cells[0])
        targets.append(cells[1])
    return sources, targets
