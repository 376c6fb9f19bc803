"""Masked copies of sentences: which are asked, which of them are the same, and how they are batched.

A masked copy is never written out before its batch is: it is a sequence, the place of the token that is asked,
and the place up to which the sequence is masked from there on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wug.models._ragged import Ints, Ragged

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, each for one token of a sequence with that token masked, and those after it up to `stops`."""

    sequences: Ints
    places: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.sequences)


@dataclass(frozen=True, slots=True)
class Batch:
    """Different masked copies, one a row and padded at their ends, and the questions to them."""

    tokens: Ints
    lengths: Ints
    places: Ints
    """For each row, the place that is asked."""
    rows: Ints
    """For each question, its row."""
    targets: Ints
    """For each question, the token whose probability is wanted."""
    where: Ints
    """For each question, its number among all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The different masked copies that answer some questions, longest first."""

    sequences: Ragged
    asked: Asked
    mask: int
    copies: Ints
    """For each copy, a question that needs it."""
    lengths: Ints
    """For each copy, its tokens: descending."""
    order: Ints
    """The questions in the order of their copies."""
    bounds: Ints
    """For each copy, where its questions begin in that order; and the end."""

    def cut(self, first: int, nodes: int, *, padding: bool) -> int:
        """Where a batch that begins with copy `first` ends.

        Copies of one length make a batch, so that nothing is padded, unless they fill less than an eighth of
        it: then shorter ones join them, if the model takes `padding`.
        """
        width = int(self.lengths[first])
        same = int(np.searchsorted(-self.lengths, -width, side="right"))
        least = -(-nodes // 8 // width) if padding else 0
        return min(len(self.copies), first + max(1, nodes // width), max(same, first + least))

    def batch(self, first: int, last: int, pad: int) -> Batch:
        """The copies `first:last`, written out."""
        asked, lengths = self.asked, self.lengths[first:last]
        some = self.copies[first:last]
        column = np.arange(int(lengths[0]))
        here = np.minimum(self.sequences.starts[asked.sequences[some], None] + column, len(self.sequences.flat) - 1)
        tokens = np.where(column < lengths[:, None], self.sequences.flat[here], pad)
        masked = (column >= asked.places[some, None]) & (column < asked.stops[some, None])
        low, high = self.bounds[first], self.bounds[last]
        where = self.order[low:high]
        return Batch(
            np.where(masked, self.mask, tokens),
            lengths,
            asked.places[some],
            np.repeat(np.arange(last - first), np.diff(self.bounds[first : last + 1])),
            self.sequences.flat[self.sequences.starts[asked.sequences[where]] + asked.places[where]],
            where,
        )


def plan(sequences: Ragged, asked: Asked, mask: int) -> Plan:
    """What to compute so that every question is answered and no masked copy is computed twice."""
    copy_of, copies = _same(_keys(sequences, asked, mask))
    lengths = sequences.lengths[asked.sequences[copies]]
    by_length = np.lexsort((copies, -lengths))
    rank = np.empty_like(by_length)
    rank[by_length] = np.arange(len(by_length))
    row_of = rank[copy_of]
    counts = np.bincount(row_of, minlength=len(copies))
    return Plan(
        sequences,
        asked,
        mask,
        copies[by_length],
        lengths[by_length],
        np.argsort(row_of, kind="stable"),
        np.append(0, np.cumsum(counts)),
    )


def _keys(sequences: Ragged, asked: Asked, mask: int) -> tuple[Keys, Keys]:
    """Two numbers for each question that are the same where masked copy and place are the same.

    Each is the sum over a copy's tokens of the token times a random factor of its place, modulo 2 ** 64, plus
    random numbers for length and place asked. Different copies meet in both with a probability below 1e-25.
    """
    longest = int(sequences.lengths.max(initial=0)) + 1
    column = np.arange(len(sequences.flat)) - np.repeat(sequences.starts, sequences.lengths)
    first = sequences.starts[asked.sequences]
    draw = np.random.default_rng(1958)

    def key() -> Keys:
        factor, length, place = draw.integers(0, 1 << 64, size=(3, longest), dtype=np.uint64)
        whole = np.append(np.uint64(0), np.cumsum(factor[column] * sequences.flat.astype(np.uint64)))
        holes = np.append(np.uint64(0), np.cumsum(factor[column] * np.uint64(mask)))
        change = holes - whole
        total = whole[first + sequences.lengths[asked.sequences]] - whole[first]
        total += change[first + asked.stops] - change[first + asked.places]
        found: Keys = total + length[sequences.lengths[asked.sequences]] + place[asked.places]
        return found

    return key(), key()


def _same(keys: tuple[Keys, Keys]) -> tuple[Ints, Ints]:
    """For each key, the number of its group; for each group, the first that is in it."""
    order = np.lexsort((*keys,))
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    group = np.empty_like(order)
    group[order] = np.cumsum(new) - 1
    return group, order[new]
