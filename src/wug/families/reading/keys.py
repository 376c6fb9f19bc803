"""Keys of rows: text, participant and position, and so the neighbours of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wug.arrays import Indices, Ints, Mask
from wug.errors import InputError
from wug.families.reading.table import EXAMPLES, WordTable
from wug.formatting import plural

MAX_POSITION = 10**9
MAX_SLIPS = 0.05
"""Share of rows with a repeated key up to which these may be typing errors."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where each row is: text, participant and position, and so its neighbours."""

    units: Indices
    """A number for each text and participant."""
    texts: Indices
    positions: Ints
    _order: Indices
    _sorted: Ints
    _stride: int

    @classmethod
    def of(cls, table: WordTable, text: str | None, position: str, subject: str | None) -> Keys:
        """The keys of a table; a key that is there twice is an error."""
        numbers = table.numbers(position)
        if len(
            bad := np.flatnonzero(np.isnan(numbers) | (numbers != np.round(numbers)) | (np.abs(numbers) > MAX_POSITION))
        ):
            raise table.error("positions must be whole numbers", bad, position)
        positions = numbers.astype(np.int64)
        texts = np.zeros(len(table), np.intp) if text is None else table.codes(text)
        units = texts if subject is None else texts * (int(table.codes(subject).max()) + 1) + table.codes(subject)
        stride = int(np.ptp(positions)) + 1 if len(positions) else 1
        keys = units.astype(np.int64) * stride + positions - (positions.min() if len(positions) else 0)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        twice = order[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            earlier = order[:-1][ordered[1:] == ordered[:-1]]
            raise _repeated(table, (text, position, subject), earlier, twice)
        return cls(units, texts, positions, order, ordered, stride)

    def neighbour(self, words_back: int) -> Indices:
        """The row of the word `words_back` positions earlier in the same text; -1 if there is none."""
        lowest = int(self.positions.min()) if len(self.positions) else 0
        offset = self.positions - lowest - words_back
        inside = (offset >= 0) & (offset < self._stride)
        key = self.units.astype(np.int64) * self._stride + offset
        at = np.minimum(np.searchsorted(self._sorted, key), max(0, len(self._sorted) - 1))
        present = inside & (self._sorted[at] == key) if len(self._sorted) else inside
        return np.where(present, self._order[at], -1)

    def edges(self, groups: Indices, *, last: bool) -> Mask:
        """The first or last word of every group of every text and participant."""
        pairs = self.units.astype(np.int64) * (int(groups.max(initial=0)) + 1) + groups
        _, inverse = np.unique(pairs, return_inverse=True)
        ends = np.full(int(inverse.max(initial=-1)) + 1, np.iinfo(np.int64).min if last else np.iinfo(np.int64).max)
        (np.maximum if last else np.minimum).at(ends, inverse, self.positions)
        edge: Mask = self.positions == ends[inverse]
        return edge


def _repeated(table: WordTable, keys: Sequence[str | None], earlier: Indices, later: Indices) -> InputError:
    """The error about keys that are there twice, with both places of the first ones."""
    text, _, subject = keys
    names = [name for name in keys if name is not None]
    pairs = list(zip(earlier.tolist(), later.tolist(), strict=True))[:EXAMPLES]
    examples = "; ".join(
        f"{', '.join(f'{name} {table.texts(name)[second]}' for name in names)}: {table.place(first)} and "
        f"{table.place(second)}"
        for first, second in pairs
    )
    fixes = ["correct the positions"] if len(later) < MAX_SLIPS * len(table) else []
    fixes += [] if text else ["name the text with --text"]
    fixes += [] if subject else ["name the participants with --subject, or average over them with --aggregate"]
    fix = ", or ".join(fixes) or "leave one of them out"
    return table.error(f"repeated keys in {plural(len(later), 'row')} ({examples}). {fix[0].upper()}{fix[1:]}", later)
