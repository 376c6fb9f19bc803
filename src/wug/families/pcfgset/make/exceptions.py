"""Overgeneralisation: training lines in which one pair of functions has an exceptional meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from wug.errors import InputError
from wug.families.pcfgset.language import EXCEPTIONS, arity, exceptional, exceptions, meaning
from wug.families.pcfgset.make.pcfg import Sample

RATIOS = (0.0001, 0.0005, 0.001, 0.005)
"""The published ratios."""


@dataclass(frozen=True, slots=True)
class Remapped:
    """A source, what it means by the rules, and what it means as an exception."""

    source: str
    original: str
    exception: str
    pair: str


@dataclass(frozen=True, slots=True)
class Overgeneralisation:
    """A training set with exceptions, and the exceptions by themselves."""

    train: list[Sample]
    remapped: list[Remapped]


def overgeneralisation(train: Sequence[Sample], ratio: float, random: Random) -> Overgeneralisation:
    """The training set with a share of each pair's lines remapped, one pair type a line.

    For each pair, as many lines as `ratio` times the lines with its rarer function, one at least: half
    of them just the two functions on strings, half longer ones, or fewer where there are not so many.
    """
    if not 0 < ratio < 1:
        raise InputError(f"the ratio of exceptions is {ratio}. It must lie between 0 and 1")
    words = [set(sample.source.split()) for sample in train]
    changed: dict[int, Remapped] = {}
    for pair in EXCEPTIONS:
        rarer = min(sum(function in line for line in words) for function in pair.split())
        places = [n for n, line in enumerate(words) if n not in changed and set(pair.split()) <= line]
        places = [n for n in places if _remappable(train[n].source, pair)]
        short = [n for n in places if sum(arity(word) is not None for word in train[n].source.split()) == 2]
        for n in _chosen(places, short, max(1, round(ratio * rarer)), random):
            source = train[n].source
            changed[n] = Remapped(source, train[n].target, meaning(exceptional(source, pair)), pair)
    mixed = [Sample(sample.source, changed[n].exception) if n in changed else sample for n, sample in enumerate(train)]
    return Overgeneralisation(mixed, list(changed.values()))


def _remappable(source: str, pair: str) -> bool:
    """Whether the source has the pair, and means something else as an exception."""
    return pair in exceptions(source) and meaning(exceptional(source, pair)) != meaning(source)


def _chosen(places: list[int], short: list[int], wanted: int, random: Random) -> list[int]:
    """Half of the wanted lines from the short ones, half from the others, as far as there are."""
    first = random.sample(short, min(len(short), (wanted + 1) // 2))
    others = sorted(set(places) - set(short))
    return first + random.sample(others, min(len(others), wanted // 2 if short else wanted))
