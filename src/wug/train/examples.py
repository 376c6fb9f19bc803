"""Sources and targets to learn from: PCFG SET, SCAN and COGS folders or files, in batches of like length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wug.arrays import Ints
from wug.errors import InputError
from wug.files import checksum, read_lines

MAX_BUCKETS = 8
"""Length buckets, each padded to its longest source and target. More buckets pad less, but a batch comes from one
bucket, and the more uniform its examples are, the less it says about the others.
"""
PADDING_MULTIPLE = 8
TOKEN_COSTS = np.array([1, 2])
"""A target token costs more than a source token."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Pairs of source and target."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def checksum(self) -> str:
        """A checksum of all sources and targets."""
        return checksum("\n".join(self.sources), "\n".join(self.targets))


def read_examples(path: Path) -> Examples:
    """The training examples of a folder, or of a file of one.

    A folder has train.src and train.tgt (PCFG SET), tasks_train_*.txt (SCAN) or train.tsv (COGS).
    """
    if path.is_dir():
        path = _training_file(path)
    if path.suffix == ".src" or path.name.endswith(".src.gz"):
        target_path = path.with_name(path.name.replace(".src", ".tgt"))
        sources, targets = read_lines(path), read_lines(target_path)
        if len(sources) != len(targets):
            raise InputError(f"has {len(sources):,} lines, and {target_path.name} has {len(targets):,}", file=path)
    else:
        sources, targets = _read_columns(path)
    if not sources:
        raise InputError("there are no examples", file=path)
    return Examples(tuple(sources), tuple(targets))


def length_buckets(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], min_size: int
) -> list[tuple[Ints, Ints]]:
    """Sources and targets of examples of similar length: word ids, one row per example, padded with 0.

    A bucket has at least `min_size` examples, unless it is the only one.
    """
    sizes = np.array([(len(source), len(target)) for source, target in zip(sources, targets, strict=True)])
    return [
        (_padded([sources[index] for index in indices]), _padded([targets[index] for index in indices]))
        for indices in bucket_by_length(sizes, min_size)
    ]


def bucket_by_length(sizes: Ints, min_size: int) -> list[Ints]:
    """The indices of the examples in each bucket, from the lengths of sources and targets.

    The bucket whose split saves most padding is split, by the length of its sources or targets, until there are
    enough buckets or nothing is saved.
    """
    buckets = [np.arange(len(sizes))]
    cuts = [_best_cut(sizes, min_size)]
    while len(buckets) < MAX_BUCKETS:
        index = max(range(len(buckets)), key=lambda bucket: cuts[bucket].saved)
        cut, bucket = cuts[index], buckets[index]
        if not cut.saved:
            break
        below = sizes[bucket, cut.axis] <= cut.bound
        buckets[index : index + 1] = [bucket[below], bucket[~below]]
        cuts[index : index + 1] = [_best_cut(sizes[half], min_size) for half in buckets[index : index + 2]]
    return buckets


class _Cut(NamedTuple):
    """Where a bucket is split: examples up to a length, and longer ones."""

    saved: int = 0
    axis: int = 0
    """0 for sources, 1 for targets."""
    bound: int = 0


def _best_cut(sizes: Ints, min_size: int) -> _Cut:
    """The split that saves most padding; one that saves nothing if there is none."""
    best = _Cut()
    for axis in (0, 1):
        for bound in np.unique(_rounded_up(sizes[:, axis]))[:-1]:
            below = sizes[:, axis] <= bound
            if min_size <= np.count_nonzero(below) <= len(sizes) - min_size:
                saved = _cost(sizes) - _cost(sizes[below]) - _cost(sizes[~below])
                best = max(best, _Cut(saved, axis, int(bound)), key=lambda cut: cut.saved)
    return best


def _cost(sizes: Ints) -> int:
    return len(sizes) * int(_rounded_up(sizes.max(axis=0)) @ TOKEN_COSTS)


def _rounded_up(lengths: Ints) -> Ints:
    return -(-lengths // PADDING_MULTIPLE) * PADDING_MULTIPLE


class Batches:
    """The examples of each step: from one bucket, in an order that depends on seed and epoch."""

    def __init__(self, sizes: Sequence[int], batch: int, seed: int) -> None:
        self._sizes, self._seed = tuple(sizes), seed
        self._batch = min(batch, max(self._sizes))
        self._epoch, self._steps = -1, list[tuple[int, Ints]]()

    @property
    def steps_per_epoch(self) -> int:
        """Steps that see every example once, except those that do not fill a batch."""
        return sum(size // self._batch for size in self._sizes)

    def of(self, step: int) -> tuple[int, Ints]:
        """The bucket of a step, and the indices of its examples in it."""
        epoch, step_in_epoch = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._steps = epoch, self._plan(epoch)
        return self._steps[step_in_epoch]

    def _plan(self, epoch: int) -> list[tuple[int, Ints]]:
        generator = np.random.default_rng([self._seed, epoch])
        steps = []
        for bucket, size in enumerate(self._sizes):
            order = generator.permutation(size)
            for start in range(0, size - self._batch + 1, self._batch):
                steps.append((bucket, order[start : start + self._batch]))
        return [steps[index] for index in generator.permutation(len(steps))]


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    longest = int(_rounded_up(np.array(max(map(len, rows)))))
    table = np.zeros((len(rows), longest), dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _training_file(folder: Path) -> Path:
    names = ("train.src", "train.tsv", "tasks_train_*.txt")
    patterns = [name + suffix for name in names for suffix in ("", ".gz")]
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not paths:
        raise InputError("has no train.src (PCFG SET), train.tsv (COGS) or tasks_train_*.txt (SCAN)", file=folder)
    if len(paths) > 1:
        names_found = " and ".join(path.name for path in paths)
        raise InputError(f"has {names_found}: name the file to train on", file=folder)
    return paths[0]


def _read_columns(path: Path) -> tuple[list[str], list[str]]:
    sources: list[str] = []
    targets: list[str] = []
    for number, line in enumerate(read_lines(path), 1):
        scan = re.fullmatch(r"IN:(.*?)\sOUT:(.*)", line)
        cells = [cell.strip() for cell in scan.groups()] if scan else line.split("\t")
        if len(cells) > 3 and cells[1].endswith("?"):  # a question about a sentence (Syntax-COGS)
            cells = [f"{cells[0]} {cells[1]}", cells[2]]
        if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
            raise InputError("expected a source, a tab and a target", file=path, place=f"line {number}")
        sources.append(cells[0])
        targets.append(cells[1])
    return sources, targets
