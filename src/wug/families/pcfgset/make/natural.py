"""Sources as the published test set has them: its depths and lengths, numbers of functions and function pairs.

A single grammar nests functions otherwise: in the published set some sources are rich in unary
functions and others in binary ones, far more so than chance would have it. It reads as a mixture.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import accumulate
from random import Random

from wug.families.pcfgset.language import arity
from wug.families.pcfgset.make.grammar import Grammar, Sampler, Shape, pick
from wug.files import read_lines

# Shares and probabilities that make the published test sources likeliest, given depth and length of each.
MIXTURE: tuple[tuple[float, Grammar], ...] = (
    (0.241, Grammar(0.635, 0.484, {3: 0.352, 4: 0.329, 5: 0.320})),
    (0.334, Grammar(0.141, 0.264, {2: 0.219, 3: 0.259, 4: 0.253, 5: 0.268})),
    (0.261, Grammar(0.359, 0.691, {2: 0.238, 3: 0.241, 4: 0.249, 5: 0.272})),
    (0.164, Grammar(0.833, 0.718, {2: 0.158, 3: 0.275, 4: 0.277, 5: 0.290})),
)
"""Grammars, each with the share of sources that come from it."""

# Published share of each number of functions over that of the mixture; from the last number on, of all together.
_KEPT = (1, 0.965, 1, 0.992, 1.035, 1.05, 0.934, 1.016, 0.972, 1.01, 1.125, 1.218, 0.91, 0.978, 0.837, 0.8)
_HIGHEST = 1.08
"""What the liking of a function for two arguments may come to in the published table."""


class Natural:
    """Draws shapes of a wanted depth and length that nest functions as the published sources do."""

    def __init__(self, depth: int, length: int) -> None:
        self._samplers = [(share, Sampler(grammar, depth, length)) for share, grammar in MIXTURE]
        self._names = Names(published_pairs())

    def possible(self, depth: int, length: int) -> bool:
        """Whether some source has this depth and this many words."""
        return any(sampler.possible(depth, length) for _, sampler in self._samplers)

    def draw(self, depth: int, length: int, random: Random) -> Shape:
        """A shape of this depth and this many words, which must be possible."""
        running = list(accumulate(share * sampler.weight(depth, length) for share, sampler in self._samplers))
        while True:
            shape = self._samplers[pick(running, random)][1].draw(depth, length, random)
            functions = sum(isinstance(part, str) and part != "," for part in shape)
            if random.random() * max(_KEPT) < _KEPT[min(functions, len(_KEPT)) - 1]:
                return self._names.dealt(shape, random)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function stands, and how many arguments it has."""

    before: str
    """The words of its pair before it: `append`, `append ,` for a second argument, nothing for the outermost."""
    arity: int


class Names:
    """Gives the functions of shapes their names, so that pairs have the shares of a table.

    For every place there is a deck of names, as many cards each as the table has. It is dealt to the
    last card before it is shuffled again, so that a few thousand lines already have these shares. A card
    whose function has such arguments more rarely than others of its arity may be left for the next one.
    """

    def __init__(self, pairs: Mapping[str, int]) -> None:
        self._cards: dict[Place, list[str]] = {}
        self._left: dict[Place, list[str]] = {}
        for pair, count in pairs.items():
            before, _, function = pair.rpartition(" ")
            self._cards.setdefault(Place(before, arity(function) or 0), []).extend([function] * count)
        self._likings = _likings(pairs)

    def dealt(self, shape: Shape, random: Random) -> Shape:
        """The shape with a new name of the same number of arguments for each function."""
        named = list(shape)
        before = [""]
        for at, arguments in reversed(_arguments(shape)):
            place = before.pop()
            if not arguments:
                continue
            name = named[at] = self._deal(Place(place, len(arguments)), arguments, random)
            before += [f"{name} ,", name] if len(arguments) == 2 else [name]
        return named

    def _deal(self, place: Place, arguments: Sequence[int], random: Random) -> str:
        left = self._left.setdefault(place, [])
        if not left:
            left += random.sample(self._cards[place], len(self._cards[place]))
        for at in reversed(range(len(left))):
            liking = math.prod(self._likings.get((left[at], n, kind), 1.0) for n, kind in enumerate(arguments))
            if random.random() * _HIGHEST < liking:
                return left.pop(at)
        return left.pop()


def _arguments(shape: Shape) -> list[tuple[int, list[int]]]:
    """For each string and function, from the last to the first, its place and the arities of its arguments.

    The arity of a string is 0.
    """
    found: list[tuple[int, list[int]]] = []
    complete: list[int] = []
    for at in range(len(shape) - 1, -1, -1):
        part = shape[at]
        if part == ",":
            continue
        size = (arity(part) or 0) if isinstance(part, str) else 0
        found.append((at, [complete.pop() for _ in range(size)]))
        complete.append(size)
    return found


def _likings(pairs: Mapping[str, int]) -> dict[tuple[str, int, int], float]:
    """How often a function has an argument of an arity, over how often functions like it have.

    By function, argument (0 or 1) and the arity of what stands there, 0 for a string.
    """
    total: Counter[str] = Counter()
    nested: Counter[tuple[str, int, int]] = Counter()
    for pair, count in pairs.items():
        *above, function = pair.split()
        total[function] += count
        if above:
            nested[above[0], len(above) - 1, arity(function) or 0] += count
    for function, count in total.items():
        for n in range(arity(function) or 0):
            nested[function, n, 0] = count - nested[function, n, 1] - nested[function, n, 2]
    likings = {}
    for (function, n, kind), count in nested.items():
        alike = [other for other in total if arity(other) == arity(function)]
        mean = sum(nested[other, n, kind] for other in alike) / sum(total[other] for other in alike)
        likings[function, n, kind] = count / total[function] / mean if mean else 1.0
    return likings


def published_pairs() -> dict[str, int]:
    """How often each pair of functions occurs in the published test set, and each function outermost."""
    with as_file(files("wug").joinpath("assets", "pcfgset", "function_pairs.tsv")) as path:
        rows = [line.split("\t") for line in read_lines(path)[1:]]
    return {pair: int(count) for pair, count in rows}
