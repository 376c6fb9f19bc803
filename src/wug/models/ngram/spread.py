"""Entropies and ranks in a back-off model, without the probabilities of all words after each history.

After a history h, the words that the table lists there have probabilities of their own, and all others those after
the shorter history h', times one weight. So sums over all words after h are those after h', weighted, with the listed
words taken out and put in again; and so are counts of words above a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wug.models._ragged import Ints
from wug.models.ngram.arpa import Arpa, Floats

LN10 = float(np.log(10))
NEAR = 1e-9
"""Logarithms to base 10 by which sums in another order may differ; files give them with seven digits at most."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The words that are listed after a history."""

    before: Floats
    """Log-probabilities that they would have by backing off, ascending."""
    after: Floats
    """Those that they have, ascending."""
    weight: float
    """Of backing off, a logarithm as well."""
    mass: float
    """The sum of the probabilities of all words."""
    energy: float
    """The sum of p ln p over all words."""


class Spread:
    """What histories of a model leave open."""

    def __init__(self, arpa: Arpa) -> None:
        self._arpa, self._size = arpa, len(arpa.words) + 1
        alone = np.sort(_numbers(arpa.tables[0].logprobs[:-1]))
        self._alone = _Listed(alone[:0], alone, 0.0, *_sums(alone))
        self._known: dict[tuple[int, int], _Listed] = {}

    def columns(self, histories: Ints, logprobs: Floats) -> tuple[Floats, Floats]:
        """For each word the entropy in nats after its history, and its rank; NaN where it has no probability.

        A row of `histories` has for each order from 1 on the n-gram that ends before the word, by its place in its
        table, -1 where there is none.
        """
        entropies, ranks = np.empty(len(logprobs)), np.full(len(logprobs), np.nan)
        chains: dict[tuple[int, ...], list[_Listed]] = {}
        for place, (row, own) in enumerate(zip(map(tuple, histories.tolist()), logprobs.tolist(), strict=True)):
            if row not in chains:
                chains[row] = self._chain(row)
            chain = chains[row]
            # Probabilities of files that are rounded, or made by hand, need not sum to 1.
            mass, energy = chain[-1].mass, chain[-1].energy
            entropies[place] = np.log(mass) - energy / mass if mass > 0 else np.nan
            if not np.isnan(own):
                ranks[place] = 1 + _above(chain, own + NEAR)
        return entropies, ranks

    def _chain(self, history: Sequence[int]) -> list[_Listed]:
        """What is listed after no word, after the last one, after the last two and so on."""
        chain = [self._alone]
        for order, place in enumerate(history, 1):
            if place >= 0:
                if (order, place) not in self._known:
                    self._known[order, place] = self._listed(history[:order], chain[-1])
                chain.append(self._known[order, place])
        return chain

    def _listed(self, history: Sequence[int], shorter: _Listed) -> _Listed:
        order, place = len(history), history[-1]
        table, weight = self._arpa.tables[order], float(self._arpa.tables[order - 1].backoffs[place])
        low, high = np.searchsorted(table.keys, [place * self._size, (place + 1) * self._size])
        after = table.logprobs[low:high]
        given = ~np.isnan(after)  # some are there only as beginnings of longer ones
        after, words = after[given], table.keys[low:high][given] - place * self._size
        before = _numbers(self._logprobs(history[:-1], words) + weight)
        scale = 10.0**weight
        # Times a weight w, p ln p becomes w p (ln p + ln w).
        weighted = scale * (shorter.energy + weight * LN10 * shorter.mass) if scale else 0.0
        (out, out_energy), (put, put_energy) = _sums(before), _sums(after)
        mass, energy = scale * shorter.mass - out + put, weighted - out_energy + put_energy
        return _Listed(np.sort(before), np.sort(after), weight, mass, energy)

    def _logprobs(self, history: Sequence[int], words: Ints) -> Floats:
        """Log-probabilities of words after a history."""
        found: Floats = self._arpa.tables[0].logprobs[words]
        for order, place in enumerate(history, 1):
            if place >= 0:
                table = self._arpa.tables[order]
                listed = table.logprobs[table.find(place * self._size + words)]
                found = np.where(np.isnan(listed), found + self._arpa.tables[order - 1].backoffs[place], listed)
        return found


def _above(chain: Sequence[_Listed], bound: float) -> int:
    """How many words have a log-probability above a bound after the history that a chain is of."""
    count = 0
    for listed in reversed(chain):
        count += int(_beyond(listed.after, bound)) - int(_beyond(listed.before, bound))
        bound -= listed.weight
    return count


def _beyond(ascending: Floats, bound: float) -> int:
    return len(ascending) - int(np.searchsorted(ascending, bound, side="right"))


def _sums(logprobs: Floats) -> tuple[float, float]:
    """The sum of p, and of p ln p."""
    shares = 10.0**logprobs
    return float(shares.sum()), float((shares * np.maximum(logprobs, -300) * LN10).sum())


def _numbers(logprobs: Floats) -> Floats:
    """Without those that are no numbers: words without a probability."""
    return logprobs[~np.isnan(logprobs)]
