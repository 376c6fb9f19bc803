"""Sources and targets of PCFG SET: from the grammar alone, or naturalised to a table of depths and lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pcfgset.language import meaning, parse
from wug.families.pcfgset.make.grammar import Natural, PcfgGrammar, Sampler, Shape, draw
from wug.files import ASSETS, read_lines


class DepthLength(NamedTuple):
    """A depth and a length."""

    length: int
    """Number of words, commas included."""
    depth: int
    """Number of functions on the longest path from the root to a string."""


class DepthLengthTable(NamedTuple):
    """The weight of each depth and length."""

    weights: tuple[tuple[DepthLength, float], ...]
    """Sorted by length, then depth; every weight above 0."""

    @property
    def depth(self) -> int:
        """The greatest depth."""
        return max(cell.depth for cell, _ in self.weights)

    @property
    def length(self) -> int:
        """The greatest length."""
        return max(cell.length for cell, _ in self.weights)

    def cells(self, n: int, random: Random) -> list[DepthLength]:
        """`n` cells in random order, in the proportions of the table.

        They are evenly spaced along the table from one random start instead of drawn one by one, so the share of any
        stretch of the table is off by less than one line.
        """
        total = sum(weight for _, weight in self.weights)
        drawn: list[DepthLength] = []
        start, reached = random.random(), 0.0
        for cell, weight in self.weights:
            reached += weight
            while len(drawn) < n and (start + len(drawn)) * total < reached * n:
                drawn.append(cell)
        drawn += [self.weights[-1][0]] * (n - len(drawn))  # what rounding may leave
        random.shuffle(drawn)
        return drawn


def published() -> DepthLengthTable:
    """The table of the published test set: depths 1 to 17, 3 to 71 words."""
    return read_table(ASSETS / "pcfgset" / "depth_length.tsv")


def read_table(path: Path) -> DepthLengthTable:
    """Read a file with the columns depth, length and count, with or without a header."""
    lines = read_lines(path)
    rows: dict[DepthLength, float] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.lower().startswith("depth")):
            continue
        cell, weight = _row(line, path, number)
        if cell in rows:
            message = f"depth {cell.depth} and length {cell.length} are repeated from an earlier line"
            raise InputError(message, file=path, place=f"line {number}")
        rows[cell] = weight
    if not any(rows.values()):
        raise InputError("the table is empty. Write lines of depth, length and count, separated by tabs", file=path)
    weighted = sorted((cell, weight) for cell, weight in rows.items() if weight > 0)
    return DepthLengthTable(tuple(weighted))


def _row(line: str, path: Path, number: int) -> tuple[DepthLength, float]:
    fields = line.split("\t")
    try:
        depth, length, weight = int(fields[0]), int(fields[1]), float(fields[2])
    except (ValueError, IndexError):
        fields = []
    if len(fields) != 3 or depth < 1 or length < 1 or not 0 <= weight < float("inf"):
        message = f"expected a depth, a length and a count, separated by tabs, found {line!r}"
        raise InputError(message, file=path, place=f"line {number}")
    return DepthLength(length, depth), weight


SYMBOLS = tuple(f"{letter}{number}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(1, 21))
SPLITS: Mapping[str, int] = {"train": 82_622, "dev": 4_860, "test": 9_721}


class SourceTarget(NamedTuple):
    """A source and its target."""

    source: str
    target: str

    @classmethod
    def of(cls, source: str) -> SourceTarget:
        """A source with its meaning."""
        return cls(source, meaning(source))


class Strings:
    """Random strings of symbols without repetition."""

    def __init__(self, random: Random, used: Iterable[str] = ()) -> None:
        self._random = random
        self._used = set(used)
        self._counts = Counter(len(string.split()) for string in self._used)

    def new(self, size: int) -> str:
        """A new string of `size` symbols."""
        if self._counts[size] >= len(SYMBOLS) ** size:
            raise InputError(
                f"all {len(SYMBOLS) ** size:,} strings of {size} symbols are used up, and none is used twice. "
                "Make fewer lines, or give short strings less weight"
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
    table: DepthLengthTable | None = None,
    grammar: PcfgGrammar | None = None,
    natural: bool = True,
) -> dict[str, list[SourceTarget]]:
    """The samples of each split, without repeated strings.

    With `natural`, every split follows the depths and lengths of `table` (default: those of the published test set)
    and, without a grammar, nests functions as that set does. Otherwise the grammar alone decides.
    """
    for name, n in sizes.items():
        if n < 0:
            raise InputError(f"the split {name!r} cannot have {n} lines")
    random = Random(seed)
    strings = Strings(random)
    if not natural:
        free = grammar or PcfgGrammar()
        return {name: [_filled(draw(free, random), strings) for _ in range(n)] for name, n in sizes.items()}
    target = table or published()
    size = (target.depth, target.length)
    sampler = Sampler(grammar, *size) if grammar else Natural(*size)
    for cell, _ in target.weights:
        if not sampler.possible(cell.depth, cell.length):
            raise InputError(f"the table has depth {cell.depth} with {cell.length} words, but no source is like that")
    return {
        name: [_filled(sampler.draw(cell.depth, cell.length, random), strings) for cell in target.cells(n, random)]
        for name, n in sizes.items()
    }


def share_out(samples: int) -> dict[str, int]:
    """Number of lines per split, in the published proportions."""
    total = sum(SPLITS.values())
    sizes = {name: samples * size // total for name, size in SPLITS.items()}
    sizes["train"] += samples - sum(sizes.values())
    return sizes


def strings_of(samples: Iterable[SourceTarget]) -> set[str]:
    """The plain strings in sources."""
    return {" ".join(string) for sample in samples for string in parse(sample.source).strings}


def _filled(shape: Shape, strings: Strings) -> SourceTarget:
    return SourceTarget.of(" ".join(strings.new(part) if isinstance(part, int) else part for part in shape))
