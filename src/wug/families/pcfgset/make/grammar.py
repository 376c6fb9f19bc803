"""Shapes of PCFG SET sources, drawn from the grammar or from all its trees of one depth and length.

A shape is the words of a source with each string left as its number of symbols.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import TypeAlias

import numpy as np

from wug.errors import InputError
from wug.families.pcfgset.language import BINARY, UNARY

Shape: TypeAlias = list[str | int]
Strings: TypeAlias = Mapping[int, float]

EVEN: Strings = dict.fromkeys((2, 3, 4, 5), 0.25)
_UNARY, _BINARY = tuple(UNARY), tuple(BINARY)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The probabilities of the grammar; the outermost word is always a function."""

    unary: float = 0.603
    """That a function takes one argument rather than two; fitted on the published test set."""
    function: float = 0.576
    """That an argument is a function rather than a string; fitted on the published test set."""
    strings: Strings = field(default_factory=lambda: EVEN)
    """The weight of each number of symbols in a string."""

    def __post_init__(self) -> None:
        for name, value in (("unary", self.unary), ("function", self.function)):
            if not 0 <= value <= 1:
                raise InputError(f"the probability of {name!r} is {value}. It must lie between 0 and 1")
        if not self.strings or min(self.strings) < 1 or min(self.strings.values()) <= 0:
            raise InputError(f"string lengths {dict(self.strings)}: sizes start at 1 and weights above 0")


# Drawn to the depths and lengths of the published test set, these weights give its 60.3 % of unary
# functions, 5.1 functions a line and 16, 30, 27 and 27 % of strings with 2, 3, 4 and 5 symbols.
NATURAL = Grammar(unary=0.603, function=0.495, strings={2: 0.153, 3: 0.299, 4: 0.276, 5: 0.272})


def draw(grammar: Grammar, random: Random) -> Shape:
    """A shape from the grammar alone, of whatever depth and length comes."""
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


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a source still to be drawn."""

    depth: int
    length: int
    exact: bool
    """Of just this depth; otherwise of at most this depth."""


class Sampler:
    """Draws shapes of a wanted depth and length, each in proportion to its probability.

    The weight of all trees of each depth and length is summed once, from strings up. A tree is then
    drawn from its top, every choice in proportion to the weight of the trees that it leaves open, so
    that nothing is ever rejected.
    """

    def __init__(self, grammar: Grammar, depth: int, length: int) -> None:
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
        """What stands below a part; for one of at most a depth, the part of a certain depth."""
        if part not in self._choices:
            found = list(self._functions(part) if part.exact else self._depths(part))
            self._choices[part] = (
                list(accumulate(weight for weight, _ in found)),
                [below for _, below in found],
            )
        running, options = self._choices[part]
        return options[pick(running, random)]

    def _depths(self, part: _Part) -> list[tuple[float, tuple[_Part, ...]]]:
        weights = self._exact[: part.depth + 1, part.length]
        return [(float(w), (_Part(d, part.length, exact=True),)) for d, w in enumerate(weights) if w > 0]

    def _functions(self, part: _Part) -> list[tuple[float, tuple[_Part, ...]]]:
        below, unary = part.depth - 1, self.grammar.unary
        found: list[tuple[float, tuple[_Part, ...]]] = [
            (unary * float(self._exact[below, part.length - 1]), (_Part(below, part.length - 1, exact=True),))
        ]
        for first in range(1, part.length - 2):
            second = part.length - 2 - first
            weight = self._exact[below, first] * self._at_most[below, second]
            found.append(((1 - unary) * float(weight), (_Part(below, first, True), _Part(below, second, False))))
            if below:  # the deeper argument is the second one, and only the second
                weight = self._at_most[below - 1, first] * self._exact[below, second]
                parts = (_Part(below - 1, first, exact=False), _Part(below, second, exact=True))
                found.append(((1 - unary) * float(weight), parts))
        return [(weight, parts) for weight, parts in found if weight > 0]


def _weights(grammar: Grammar, depth: int, length: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
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
