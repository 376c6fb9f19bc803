"""The two ways through a list of sentences: as a prefix tree from one fresh state, or one after the other.

Fresh: every distinct beginning is a node of a tree, and the nodes of one depth are computed together. Carried: the
state after a sentence is the state before the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.models._ragged import Ints, Ragged
from wug.models.lstm.network import Floats, Network


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one depth, and the questions to them."""

    tokens: Ints
    """For each node, its last word."""
    parents: Ints
    """For each node, the node before it, by its place in the level above."""
    nodes: Ints
    """For each question, the node that is asked."""
    targets: Ints
    """For each question, the word whose log-probability is wanted."""
    where: Ints
    """For each question, where that word stands in the flat sequences."""


def levels(sequences: Ragged, words: int) -> Iterator[Level]:
    """The levels of the prefix tree of some sequences, which ask every word but the first of each.

    Two sequences share a node as long as they are the same; a last word, behind which nothing is asked, has none.
    """
    starts, lengths = sequences.starts, sequences.lengths
    alive = np.flatnonzero(lengths > 1)
    above = np.zeros(len(alive), dtype=np.int64)
    depth = 0
    while len(alive):
        here = starts[alive] + depth
        pairs, nodes = np.unique(above * words + sequences.flat[here], return_inverse=True)
        yield Level(pairs % words, pairs // words, nodes, sequences.flat[here + 1], here + 1)
        depth += 1
        going = lengths[alive] > depth + 1
        alive, above = alive[going], nodes[going]


def walk_tree(network: Network, sequences: Ragged, *, distribution: bool = False) -> Floats:
    """The log-probability of each word in the flat sequences from a state of zeros; NaN for the first of each.

    One row of numbers; with `distribution`, three: entropies and ranks below.
    """
    asked = _Asked(network, distribution)
    state = network.start()
    for level in levels(sequences, network.words):
        outputs, state = network.step(level.tokens, state, level.parents)
        first = asked.add(outputs)
        asked.ask(first + level.nodes, level.targets, level.where)
        asked.settle()
    return asked.collect(len(sequences.flat))


@dataclass(frozen=True, slots=True)
class Passage:
    """A place in a running text: what is read there, and what is asked."""

    read: Ints
    """The words that the state goes on from."""
    asked: Sequence[Ints]
    """Texts that might stand there, each up to the last word that counts."""
    before: Ints
    """Words to be read first, about which nothing is asked."""


def walk_list(
    network: Network, passages: Sequence[Passage], opening: Ints, *, distribution: bool = False
) -> list[Floats]:
    """The log-probabilities of the words of each text that is asked, the state carried on from passage to passage.

    As `walk_tree` has them, in one row or three.

    Each text is read from where it departs from what the passage goes on with. `opening` is read before everything;
    without it the very first word has no log-probability, but NaN.
    """
    asked = _Asked(network, distribution)
    last, state = network.read(opening, network.start())
    bounds = [0]
    for passage in passages:
        led, state = network.read(passage.before, state)
        last = led[-1:] if len(led) else last
        shared = min((_common(passage.read, words) for words in passage.asked), default=0)
        head, parting = network.read(passage.read[:shared], state)
        rest = passage.read[shared:]
        tail, state = network.read(rest, parting)
        # What comes before the first word, if anything does; then the shared words.
        trunk = asked.add(last)
        asked.add(head)
        skipped = 1 - len(last)
        for words in passage.asked:
            ending = words[shared:]
            same = _common(rest, ending) == len(ending)
            behind = asked.add(tail[: len(ending)] if same else network.read(ending, parting)[0])
            rows = np.append(trunk + np.arange(len(last) + shared), behind + np.arange(len(ending)))
            targets = words[skipped:]
            asked.ask(rows[: len(targets)], targets, bounds[-1] + np.arange(skipped, len(words)))
            bounds.append(bounds[-1] + len(words))
        last = next((part[-1:] for part in (tail, head) if len(part)), last)
        asked.settle()
    values = asked.collect(bounds[-1])
    return [values[:, low:high] for low, high in pairwise(bounds)]


def _common(first: Ints, second: Ints) -> int:
    """How many words two texts share from their beginning."""
    size = min(len(first), len(second))
    apart = np.flatnonzero(first[:size] != second[:size])
    return int(apart[0]) if len(apart) else size


class _Asked:
    """Outputs and the questions to them: the output layer runs when enough have come together."""

    __slots__ = ("_answers", "_distribution", "_network", "_outputs", "_rows", "_size", "_targets", "_where")

    def __init__(self, network: Network, distribution: bool) -> None:
        self._network, self._distribution = network, distribution
        self._answers: list[tuple[Ints, Any]] = []
        self._clear()

    def _clear(self) -> None:
        self._size = 0
        self._outputs: list[Any] = []
        self._rows: list[Ints] = []
        self._targets: list[Ints] = []
        self._where: list[Ints] = []

    def add(self, outputs: Any) -> int:
        """Keep outputs; the row of the first of them, good until the questions are settled."""
        first = self._size
        self._outputs.append(outputs)
        self._size += len(outputs)
        return first

    def ask(self, rows: Ints, targets: Ints, where: Ints) -> None:
        """Note questions: the output in each row about its target, the answer to be put `where`."""
        self._rows.append(rows)
        self._targets.append(targets)
        self._where.append(where)

    def settle(self, *, least: int | None = None) -> None:
        """Run the output layer if it is worth it."""
        import torch

        if self._size < (self._network.rows if least is None else least):
            return
        rows, targets = np.concatenate(self._rows), np.concatenate(self._targets)
        values = self._network.columns(torch.cat(self._outputs), rows, targets, distribution=self._distribution)
        self._answers.append((np.concatenate(self._where), values))
        self._clear()

    def collect(self, size: int) -> Floats:
        """All answers, each in its place; NaN where nothing was asked."""
        self.settle(least=1)
        found = np.full((3 if self._distribution else 1, size), np.nan)
        for where, values in self._answers:
            numbers = values.cpu().double().numpy()
            if np.isnan(numbers).any():
                raise ModelError(
                    "the network answers with values that are no numbers. In half precision that is an overflow: "
                    "use -M dtype=float32. Otherwise its weights are damaged"
                )
            found[:, where] = numbers
        return found
