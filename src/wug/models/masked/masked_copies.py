"""Masked copies of sentences: which are needed, which of them are the same, and how they are batched.

Until its batch is made, a masked copy is a sequence, the range of its masked tokens, and the one that is scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wug.models.tokenization.ragged import Ints, Ragged

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class MaskedTargets:
    """Tokens to score, each with itself masked and those around it from `begins` to before `stops`."""

    sequences: Ints
    places: Ints
    stops: Ints
    begins: Ints | None = None
    """By default the tokens themselves."""

    @property
    def first_masked(self) -> Ints:
        """For each target, the first masked position."""
        return self.places if self.begins is None else self.begins

    def __len__(self) -> int:
        return len(self.sequences)


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """Distinct masked copies, one per row and padded at their ends, and their targets."""

    tokens: Ints
    lengths: Ints
    places: Ints
    """For each row, the position that is scored."""
    rows: Ints
    """For each target, its row."""
    targets: Ints
    """For each target, its token."""
    where: Ints
    """For each target, its index."""


@dataclass(frozen=True, slots=True)
class MaskedPlan:
    """The distinct masked copies for some targets, longest first."""

    sequences: Ragged
    targets: MaskedTargets
    mask: int
    copies: Ints
    """For each copy, a target that needs it."""
    lengths: Ints
    """For each copy, its length: descending."""
    order: Ints
    """The targets in the order of their copies."""
    bounds: Ints
    """For each copy, where its targets begin in that order; and the end."""

    def cut(self, first: int, nodes: int, *, padding: bool) -> int:
        """Where a batch that begins with copy `first` ends.

        A batch has copies of one length, so that nothing is padded, unless they fill less than an eighth of it: then
        shorter ones join them, if the model accepts `padding`.
        """
        width = int(self.lengths[first])
        same = int(np.searchsorted(-self.lengths, -width, side="right"))
        minimum = -(-nodes // 8 // width) if padding else 0
        return min(len(self.copies), first + max(1, nodes // width), max(same, first + minimum))

    def batch(self, first: int, last: int, pad: int) -> MaskedBatch:
        """The copies `first:last`, written out."""
        targets, lengths = self.targets, self.lengths[first:last]
        some = self.copies[first:last]
        column = np.arange(int(lengths[0]))
        here = np.minimum(self.sequences.starts[targets.sequences[some], None] + column, len(self.sequences.flat) - 1)
        tokens = np.where(column < lengths[:, None], self.sequences.flat[here], pad)
        masked = (column >= targets.first_masked[some, None]) & (column < targets.stops[some, None])
        low, high = self.bounds[first], self.bounds[last]
        where = self.order[low:high]
        return MaskedBatch(
            np.where(masked, self.mask, tokens),
            lengths,
            targets.places[some],
            np.repeat(np.arange(last - first), np.diff(self.bounds[first : last + 1])),
            self.sequences.flat[self.sequences.starts[targets.sequences[where]] + targets.places[where]],
            where,
        )


def plan(sequences: Ragged, targets: MaskedTargets, mask: int) -> MaskedPlan:
    """Plan every target, and no masked copy twice."""
    copy_of, copies = _same(_keys(sequences, targets, mask))
    lengths = sequences.lengths[targets.sequences[copies]]
    by_length = np.lexsort((copies, -lengths))
    rank = np.empty_like(by_length)
    rank[by_length] = np.arange(len(by_length))
    row_of = rank[copy_of]
    counts = np.bincount(row_of, minlength=len(copies))
    return MaskedPlan(
        sequences,
        targets,
        mask,
        copies[by_length],
        lengths[by_length],
        np.argsort(row_of, kind="stable"),
        np.append(0, np.cumsum(counts)),
    )


def _keys(sequences: Ragged, targets: MaskedTargets, mask: int) -> tuple[Keys, Keys]:
    """Two hashes for each target, equal if masked copy and position are equal.

    Each is the sum over a copy's tokens of the token times a random factor of its place, modulo 2 ** 64, plus random
    numbers for length and position. Different copies collide in both with a probability below 1e-25.
    """
    longest = int(sequences.lengths.max(initial=0)) + 1
    column = np.arange(len(sequences.flat)) - np.repeat(sequences.starts, sequences.lengths)
    first = sequences.starts[targets.sequences]
    draw = np.random.default_rng(1958)

    def key() -> Keys:
        factor, length, place = draw.integers(0, 1 << 64, size=(3, longest), dtype=np.uint64)
        whole = np.append(np.uint64(0), np.cumsum(factor[column] * sequences.flat.astype(np.uint64)))
        holes = np.append(np.uint64(0), np.cumsum(factor[column] * np.uint64(mask)))
        change = holes - whole
        total = whole[first + sequences.lengths[targets.sequences]] - whole[first]
        total += change[first + targets.stops] - change[first + targets.first_masked]
        found: Keys = total + length[sequences.lengths[targets.sequences]] + place[targets.places]
        return found

    return key(), key()


def _same(keys: tuple[Keys, Keys]) -> tuple[Ints, Ints]:
    """For each key, the number of its group; for each group, its first member."""
    order = np.lexsort((*keys,))
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    group = np.empty_like(order)
    group[order] = np.cumsum(new) - 1
    return group, order[new]
