"""Masked copies of sentences, one per target, and how they are batched.

Until its batch is made, a masked copy is a sequence, the range of its masked tokens, and the one that is scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wug.arrays import Ints
from wug.models.tokenization.ragged import Ragged


@dataclass(frozen=True, slots=True)
class MaskedTargets:
    """Tokens to score, each with itself masked and those around it from `begins` to before `stops`."""

    sequences: Ints
    positions: Ints
    begins: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.sequences)


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """Distinct masked copies, one per row and padded at their ends, and their targets."""

    tokens: Ints
    lengths: Ints
    positions: Ints
    """For each row, the position that is scored."""
    rows: Ints
    """For each target, its row: the words of a minimal pair share one."""
    targets: Ints
    """For each target, its token."""
    where: Ints


@dataclass(frozen=True, slots=True)
class MaskedPlan:
    """The masked copies for some targets, longest first."""

    sequences: Ragged
    targets: MaskedTargets
    mask: int
    order: Ints
    """The targets in the order of their copies."""
    lengths: Ints
    """The lengths of the copies: descending."""

    @classmethod
    def of(cls, sequences: Ragged, targets: MaskedTargets, mask: int) -> MaskedPlan:
        """Plan every target."""
        lengths = sequences.lengths[targets.sequences]
        order = np.argsort(-lengths, kind="stable")
        return cls(sequences, targets, mask, order, lengths[order])

    def cut(self, first: int, nodes: int, *, padding: bool) -> int:
        """Where a batch that begins with copy `first` ends.

        A batch has copies of one length, so that nothing is padded, unless they fill less than an eighth of it: then
        shorter ones join them, if the model accepts `padding`.
        """
        width = int(self.lengths[first])
        same_length_end = int(np.searchsorted(-self.lengths, -width, side="right"))
        minimum = -(-nodes // 8 // width) if padding else 0
        return min(len(self.order), first + max(1, nodes // width), max(same_length_end, first + minimum))

    def batch(self, first: int, last: int, pad: int) -> MaskedBatch:
        """The copies `first:last`, written out."""
        targets = self.targets
        where, lengths = self.order[first:last], self.lengths[first:last]
        column = np.arange(int(lengths[0]))
        starts = self.sequences.starts[targets.sequences[where], None]
        indices = np.minimum(starts + column, len(self.sequences.flat) - 1)
        tokens = np.where(column < lengths[:, None], self.sequences.flat[indices], pad)
        masked = (column >= targets.begins[where, None]) & (column < targets.stops[where, None])
        positions = targets.positions[where]
        scored = tokens[np.arange(len(where)), positions]
        copies = np.column_stack([np.where(masked, self.mask, tokens), lengths, positions])
        distinct, rows = np.unique(copies, axis=0, return_inverse=True)
        return MaskedBatch(distinct[:, :-2], distinct[:, -2], distinct[:, -1], rows.reshape(-1), scored, where)
