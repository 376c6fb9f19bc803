"""Increasing string length: each function by itself, applied to longer and longer strings."""

from __future__ import annotations

from random import Random

from wug.errors import InputError
from wug.families.pcfgset.language import FUNCTIONS, UNARY
from wug.families.pcfgset.make.pcfg import Sample, Strings

SHORTEST = 2
"""Symbols in the shortest string."""


def increasing(random: Random, *, rounds: int = 53, longest: int = 20) -> list[Sample]:
    """`rounds` lines for each function and each length, as published: 10 × 53 × 19.

    The other argument of a binary function has 2 to 5 symbols. In `append` and `prepend` either one
    may be the growing one, in `remove_first` and `remove_second` it is the one that is kept.
    """
    if rounds < 1 or longest < SHORTEST:
        raise InputError(f"{rounds} rounds of lengths {SHORTEST} to {longest} make no lines")
    strings = Strings(random)
    return [
        Sample.of(_source(function, size, strings, random))
        for function in sorted(FUNCTIONS)
        for _ in range(rounds)
        for size in range(SHORTEST, longest + 1)
    ]


def _source(function: str, size: int, strings: Strings, random: Random) -> str:
    growing = strings.new(size)
    if function in UNARY:
        return f"{function} {growing}"
    other = strings.new(random.randint(2, 5))
    kept = {"remove_first": 1, "remove_second": 0}
    place = kept[function] if function in kept else random.randint(0, 1)
    return f"{function} {other} , {growing}" if place else f"{function} {growing} , {other}"
