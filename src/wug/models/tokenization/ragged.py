"""Lists of different lengths as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from wug.arrays import Ints


@dataclass(frozen=True, slots=True)
class Ragged:
    """Sequences of integers, one after the other."""

    flat: Ints
    lengths: Ints

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        """From lists."""
        lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
        return cls(flatten(sequences, int(lengths.sum())), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> Ints:
        """Where each sequence begins."""
        return np.cumsum(self.lengths) - self.lengths

    def split(self) -> Iterator[list[int]]:
        """The sequences as lists."""
        flat: list[int] = self.flat.tolist()
        ends = np.cumsum(self.lengths).tolist()
        return (flat[end - length : end] for end, length in zip(ends, self.lengths.tolist(), strict=True))

    def element_indices(self, sequences: Ints) -> Ints:
        """The indices of the elements of these sequences."""
        lengths = self.lengths[sequences]
        starts = np.cumsum(lengths) - lengths
        return np.repeat(self.starts[sequences] - starts, lengths) + np.arange(int(lengths.sum()))

    def with_first(self, token: int, starts: Ints | None = None) -> Ragged:
        """With `token` before each sequence, or before those that begin at `starts`."""
        if starts is None:
            return Ragged(np.insert(self.flat, self.starts, token), self.lengths + 1)
        return Ragged(np.insert(self.flat, starts, token), self.lengths + np.isin(self.starts, starts))


def flatten(sequences: Iterable[Sequence[int]], count: int) -> Ints:
    """All elements in one array."""
    return np.fromiter(chain.from_iterable(sequences), dtype=np.int64, count=count)
