"""Sources and targets of PCFG SET, generated: by the grammar alone, or naturalised to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from wug.errors import InputError
from wug.families.pcfgset.language import meaning, parse
from wug.families.pcfgset.make.grammar import Grammar, Sampler, Shape, draw
from wug.families.pcfgset.make.natural import Natural
from wug.families.pcfgset.make.table import Table, published

SYMBOLS = tuple(f"{letter}{number}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(1, 21))
SPLITS: Mapping[str, int] = {"train": 82_622, "dev": 4_860, "test": 9_721}
"""The published sizes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A source and its target."""

    source: str
    target: str

    @classmethod
    def of(cls, source: str) -> Sample:
        """A source with its meaning."""
        return cls(source, meaning(source))


class Strings:
    """Strings of random symbols, none of them given twice."""

    def __init__(self, random: Random, used: Iterable[str] = ()) -> None:
        self._random = random
        self._used = set(used)
        self._counts = Counter(len(string.split()) for string in self._used)

    def new(self, size: int) -> str:
        """A string of `size` symbols that was never used before."""
        if self._counts[size] >= len(SYMBOLS) ** size:
            raise InputError(
                f"all {len(SYMBOLS) ** size:,} strings of {size} symbols are used up: strings are never "
                "used twice. Make fewer lines, or give short strings less weight"
            )
        while True:
            string = " ".join(self._random.choices(SYMBOLS, k=size))
            if string not in self._used:
                self._used.add(string)
                self._counts[size] += 1
                return string


def corpus(
    sizes: Mapping[str, int] = SPLITS,
    *,
    seed: int,
    table: Table | None = None,
    grammar: Grammar | None = None,
    natural: bool = True,
) -> dict[str, list[Sample]]:
    """The samples of each split; no string is used twice in all of them together.

    `natural` draws every split to the depths and lengths of `table`, by default those of the
    published test set, and without a grammar nests functions as that set does; without `natural` the
    grammar alone decides.
    """
    random = Random(seed)
    strings = Strings(random)
    if not natural:
        free = grammar or Grammar()
        return {
            name: [_filled(draw(free, random), strings) for _ in range(_size(name, n))] for name, n in sizes.items()
        }
    wanted = table or published()
    size = (wanted.depth, wanted.length)
    sampler = Sampler(grammar, *size) if grammar else Natural(*size)
    for cell, _ in wanted.weights:
        if not sampler.possible(cell.depth, cell.length):
            raise InputError(f"the table asks for depth {cell.depth} with {cell.length} words: no source is so")
    return {
        name: [
            _filled(sampler.draw(cell.depth, cell.length, random), strings)
            for cell in wanted.cells(_size(name, n), random)
        ]
        for name, n in sizes.items()
    }


def share_out(samples: int) -> dict[str, int]:
    """How many of `samples` lines each split gets, in the published proportions."""
    total = sum(SPLITS.values())
    found = {name: samples * size // total for name, size in SPLITS.items()}
    found["train"] += samples - sum(found.values())
    return found


def strings_of(samples: Iterable[Sample]) -> set[str]:
    """The plain strings of sources, so that new ones can differ from them."""
    return {" ".join(string) for sample in samples for string in parse(sample.source).strings}


def _filled(shape: Shape, strings: Strings) -> Sample:
    return Sample.of(" ".join(strings.new(part) if isinstance(part, int) else part for part in shape))


def _size(name: str, n: int) -> int:
    if n < 0:
        raise InputError(f"the split {name!r} cannot have {n} lines")
    return n
