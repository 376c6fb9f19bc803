"""Shapes of PCFG SET sources, drawn from the grammar, from all its trees of one depth and length, or as published.

A shape is the words of a source with each string left as its number of symbols.

A single grammar does not nest functions as the published test set does: some of its sources are rich in unary
functions and others in binary ones, far more than chance would have it. It fits a mixture of grammars.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np

from wug.errors import InputError
from wug.families.pcfgset.language import BINARY, UNARY, arity
from wug.files import ASSETS, read_lines

Shape: TypeAlias = list[str | int]
Strings: TypeAlias = Mapping[int, float]

EVEN: Strings = dict.fromkeys((2, 3, 4, 5), 0.25)
_UNARY, _BINARY = tuple(UNARY), tuple(BINARY)


@dataclass(frozen=True, slots=True)
class PcfgGrammar:
    """The probabilities of the grammar; the outermost word is always a function."""

    unary: float = 0.603
    """Probability that a function is unary; fitted on the published test set."""
    function: float = 0.576
    """Probability that an argument is a function; fitted on the published test set."""
    strings: Strings = field(default_factory=lambda: EVEN)
    """The weight of each number of symbols in a string."""

    def __post_init__(self) -> None:
        for name, value in (("unary", self.unary), ("function", self.function)):
            if not 0 <= value <= 1:
                raise InputError(f"the probability of {name!r} is {value}. It must lie between 0 and 1")
        if not self.strings or min(self.strings) < 1 or min(self.strings.values()) <= 0:
            raise InputError(f"string lengths {dict(self.strings)}: sizes start at 1 and weights above 0")


# With the depths and lengths of the published test set, these weights give its 60.3% of unary functions, 5.1
# functions per line and 16, 30, 27 and 27% of strings with 2, 3, 4 and 5 symbols.
NATURAL = PcfgGrammar(unary=0.603, function=0.495, strings={2: 0.153, 3: 0.299, 4: 0.276, 5: 0.272})


def draw(grammar: PcfgGrammar, random: Random) -> Shape:
    """A shape from the grammar alone, of any depth and length."""
    if (2 - grammar.unary) * grammar.function >= 1:
        raise InputError(
            f"with unary={grammar.unary} and function={grammar.function} sources never end: "
            "(2 - unary) × function must stay below 1"
        )
    sizes, running = list(grammar.strings), list(accumulate(grammar.strings.values()))
    shape: Shape = []
    waiting = ["function"]
    while waiting:
        part = waiting.pop()
        if part == "argument":
            part = "function" if random.random() < grammar.function else "string"
        if part == "string":
            shape.append(sizes[pick(running, random)])
        elif part == ",":
            shape.append(",")
        elif random.random() < grammar.unary:
            shape.append(random.choice(_UNARY))
            waiting.append("argument")
        else:
            shape.append(random.choice(_BINARY))
            waiting += ["argument", ",", "argument"]
    return shape


class _Part(NamedTuple):
    """A part of a source still to be drawn."""

    depth: int
    length: int
    exact: bool
    """Whether it has exactly this depth, or at most."""


class Sampler:
    """Draws shapes of a given depth and length, each in proportion to its probability.

    The weight of all trees of each depth and length is summed once, bottom up. A tree is then drawn top down, every
    choice in proportion to the weight of the trees that remain possible, so nothing is rejected.
    """

    def __init__(self, grammar: PcfgGrammar, depth: int, length: int) -> None:
        self.grammar = grammar
        self._exact = _weights(grammar, depth, length)
        self._at_most = np.cumsum(self._exact, axis=0)
        self._choices: dict[_Part, tuple[list[float], list[tuple[_Part, ...]]]] = {}

    def possible(self, depth: int, length: int) -> bool:
        """Whether some source has this depth and this many words."""
        inside = 1 <= depth < len(self._exact) and 1 <= length < self._exact.shape[1]
        return inside and bool(self._exact[depth, length] > 0)

    def weight(self, depth: int, length: int) -> float:
        """The probability that a source has this depth and this many words."""
        return float(self._exact[depth, length]) / self.grammar.function if self.possible(depth, length) else 0.0

    def draw(self, depth: int, length: int, random: Random) -> Shape:
        """A shape of this depth and this many words, which must be possible."""
        shape: Shape = []
        waiting: list[_Part | str] = [_Part(depth, length, exact=True)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                shape.append(part)
                continue
            if not part.exact:
                (part,) = self._choose(part, random)
            if part.depth == 0:
                shape.append(part.length)
                continue
            arguments = self._choose(part, random)
            if len(arguments) == 1:
                shape.append(random.choice(_UNARY))
                waiting.append(arguments[0])
            else:
                shape.append(random.choice(_BINARY))
                waiting += [arguments[1], ",", arguments[0]]
        return shape

    def _choose(self, part: _Part, random: Random) -> tuple[_Part, ...]:
        if part not in self._choices:
            possible = [(weight, below) for weight, below in self._options(part) if weight > 0]
            running = list(accumulate(weight for weight, _ in possible))
            self._choices[part] = running, [below for _, below in possible]
        running, options = self._choices[part]
        return options[pick(running, random)]

    def _options(self, part: _Part) -> Iterator[tuple[float, tuple[_Part, ...]]]:
        if not part.exact:
            for depth, weight in enumerate(self._exact[: part.depth + 1, part.length]):
                yield float(weight), (_Part(depth, part.length, exact=True),)
            return
        below, unary = part.depth - 1, self.grammar.unary
        yield unary * float(self._exact[below, part.length - 1]), (_Part(below, part.length - 1, exact=True),)
        for first in range(1, part.length - 2):
            second = part.length - 2 - first
            weight = self._exact[below, first] * self._at_most[below, second]
            yield (1 - unary) * float(weight), (_Part(below, first, True), _Part(below, second, False))
            if below:  # the deeper argument is the second one, and only the second
                weight = self._at_most[below - 1, first] * self._exact[below, second]
                yield (1 - unary) * float(weight), (_Part(below - 1, first, False), _Part(below, second, True))


def _weights(grammar: PcfgGrammar, depth: int, length: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The weight of all arguments of each depth (rows) and number of words (columns)."""
    exact = np.zeros((depth + 1, length + 1))
    total = sum(grammar.strings.values())
    for size, weight in grammar.strings.items():
        if size <= length:
            exact[0, size] = (1 - grammar.function) * weight / total
    for d in range(1, depth + 1):
        deep, any_depth, shallower = exact[d - 1], exact[:d].sum(axis=0), exact[: d - 1].sum(axis=0)
        two = np.convolve(deep, any_depth)[: length + 1] + np.convolve(shallower, deep)[: length + 1]
        exact[d, 1:] += grammar.unary * deep[:-1]
        exact[d, 2:] += (1 - grammar.unary) * two[:-2]
        exact[d] *= grammar.function
    return exact


def pick(running: list[float], random: Random) -> int:
    """An index, by running weights."""
    return min(bisect(running, random.random() * running[-1]), len(running) - 1)


# Maximum-likelihood fit to the published test sources, given depth and length of each.
MIXTURE: tuple[tuple[float, PcfgGrammar], ...] = (
    (0.241, PcfgGrammar(0.635, 0.484, {3: 0.352, 4: 0.329, 5: 0.320})),
    (0.334, PcfgGrammar(0.141, 0.264, {2: 0.219, 3: 0.259, 4: 0.253, 5: 0.268})),
    (0.261, PcfgGrammar(0.359, 0.691, {2: 0.238, 3: 0.241, 4: 0.249, 5: 0.272})),
    (0.164, PcfgGrammar(0.833, 0.718, {2: 0.158, 3: 0.275, 4: 0.277, 5: 0.290})),
)

# Ratio of published and mixture share by number of functions; the last is that of all larger numbers.
_KEPT = (1, 0.965, 1, 0.992, 1.035, 1.05, 0.934, 1.016, 0.972, 1.01, 1.125, 1.218, 0.91, 0.978, 0.837, 0.8)
MAX_PREFERENCE = 1.08
"""Upper bound of the preference of a function for two arguments in the published table."""


class Natural:
    """Draws shapes of a given depth and length that nest functions as the published sources do."""

    def __init__(self, depth: int, length: int) -> None:
        self._samplers = [(share, Sampler(grammar, depth, length)) for share, grammar in MIXTURE]
        self._names = FunctionNames(published_pairs())

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
                return self._names.with_new_names(shape, random)


FunctionPosition: TypeAlias = tuple[str, int]
"""The preceding words of a function's pair (`append`, `append ,` for a second argument, none), and its arity."""


class FunctionNames:
    """Names the functions of shapes so that pairs have the frequencies of a table.

    Every position has a deck of names with the counts of the table. It is dealt to the last card before it is shuffled
    again, so that a few thousand lines already have these frequencies. A card may be skipped if its function rarely
    has such arguments.
    """

    def __init__(self, pairs: Mapping[str, int]) -> None:
        self._cards: dict[FunctionPosition, list[str]] = {}
        self._left: dict[FunctionPosition, list[str]] = {}
        for pair, count in pairs.items():
            before, _, function = pair.rpartition(" ")
            self._cards.setdefault((before, arity(function) or 0), []).extend([function] * count)
        self._preferences = _preferences(pairs)

    def with_new_names(self, shape: Shape, random: Random) -> Shape:
        """The shape with a new name of the same arity for each function."""
        renamed = list(shape)
        before = [""]
        for at, arguments in reversed(_arguments(shape)):
            position = before.pop()
            if not arguments:
                continue
            name = renamed[at] = self._next_name((position, len(arguments)), arguments, random)
            before += [f"{name} ,", name] if len(arguments) == 2 else [name]
        return renamed

    def _next_name(self, position: FunctionPosition, arguments: Sequence[int], random: Random) -> str:
        deck = self._left.setdefault(position, [])
        if not deck:
            deck += random.sample(self._cards[position], len(self._cards[position]))
        for at in reversed(range(len(deck))):
            preference = math.prod(self._preferences.get((deck[at], n, kind), 1.0) for n, kind in enumerate(arguments))
            if random.random() * MAX_PREFERENCE < preference:
                return deck.pop(at)
        return deck.pop()


def _arguments(shape: Shape) -> list[tuple[int, list[int]]]:
    """Position and arities of the arguments of each string (arity 0) and function, last to first."""
    functions: list[tuple[int, list[int]]] = []
    complete: list[int] = []
    for at in range(len(shape) - 1, -1, -1):
        part = shape[at]
        if part == ",":
            continue
        size = (arity(part) or 0) if isinstance(part, str) else 0
        functions.append((at, [complete.pop() for _ in range(size)]))
        complete.append(size)
    return functions


def _preferences(pairs: Mapping[str, int]) -> dict[tuple[str, int, int], float]:
    """How often a function has an argument of an arity, relative to functions of the same arity.

    By function, argument (0 or 1) and arity of the argument (0 for a string).
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
    preferences = {}
    for (function, n, kind), count in nested.items():
        peers = [other for other in total if arity(other) == arity(function)]
        mean = sum(nested[other, n, kind] for other in peers) / sum(total[other] for other in peers)
        preferences[function, n, kind] = count / total[function] / mean if mean else 1.0
    return preferences


def published_pairs() -> dict[str, int]:
    """Counts of function pairs in the published test set, and of outermost functions."""
    rows = (line.split("\t") for line in read_lines(ASSETS / "pcfgset" / "function_pairs.tsv")[1:])
    return {pair: int(count) for pair, count in rows}
