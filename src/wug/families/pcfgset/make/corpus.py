"""Sources and targets of PCFG SET: from the grammar alone, or naturalised to a table of depths and lengths.

The tests are made from such a corpus: splits, synonyms, exceptions, unrolled sources, growing strings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pcfgset import language
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


RATIOS = (0.0001, 0.0005, 0.001, 0.005)
MAX_PER_FUNCTION = 2_500
"""Substitutivity test lines per function in the published set."""
ADDED_SHARE = 0.001
"""Training lines added per function for `primitive`, as a share of the training set, as published."""
MIN_SYMBOLS = 2
"""Symbols in the shortest growing string."""


class Split(NamedTuple):
    """A training set and a test set."""

    train: list[SourceTarget]
    test: list[SourceTarget]


class ExceptionSample(NamedTuple):
    """A source, its meaning by the rules, and its meaning as an exception."""

    source: str
    original: str
    exception: str
    pair: str


def systematicity(samples: Sequence[SourceTarget]) -> Split:
    """Test sources with a held-out pair of functions, train on those without."""
    return _split(samples, lambda words: not set(language.HELD_OUT).isdisjoint(language.pairs(words)))


def productivity(samples: Sequence[SourceTarget], max_functions: int = 8) -> Split:
    """Test sources with more than `max_functions` functions, train on the others."""
    if max_functions < 1:
        raise InputError(f"at most {max_functions} functions in training leaves nothing to train on")
    return _split(samples, lambda words: _functions(words) > max_functions)


def synonym_pairs(
    samples: Sequence[SourceTarget], random: Random, per_function: int | None = None
) -> list[tuple[SourceTarget, SourceTarget]]:
    """Samples, each with and without a synonym for one function, equally many per function.

    Without `per_function` there are as many as the rarest function allows, 2,500 at most.
    """
    having = {name: [sample for sample in samples if name in sample.source.split()] for name in language.TWINNED}
    rarest = min(having, key=lambda function: len(having[function]))
    count = min(MAX_PER_FUNCTION, len(having[rarest])) if per_function is None else per_function
    if count < 1 or count > len(having[rarest]):
        raise InputError(
            f"{len(having[rarest])} of {len(samples)} test lines have the function {rarest!r}, but {max(count, 1)} are "
            "needed. Make a larger test set, or fewer lines per function"
        )
    return [
        (sample, SourceTarget(with_synonym(sample.source, function), sample.target))
        for function in language.TWINNED
        for sample in random.sample(having[function], count)
    ]


def with_synonym(source: str, function: str) -> str:
    """The source with the synonym of a function everywhere."""
    return " ".join(word + language.TWIN if word == function else word for word in source.split())


def equally_distributed(train: Sequence[SourceTarget], random: Random) -> list[SourceTarget]:
    """The training set with a random half of the occurrences of each function replaced by synonyms."""
    lines = [sample.source.split() for sample in train]
    for function in language.TWINNED:
        positions = [(n, at) for n, words in enumerate(lines) for at, word in enumerate(words) if word == function]
        for n, at in random.sample(positions, len(positions) // 2):
            lines[n][at] += language.TWIN
    return [SourceTarget(" ".join(words), sample.target) for words, sample in zip(lines, train, strict=True)]


def primitive(train: Sequence[SourceTarget], strings: Strings, random: Random) -> list[SourceTarget]:
    """The training set with added lines in which a synonym is applied once to plain strings."""
    added = []
    for function in language.TWINNED:
        for _ in range(round(ADDED_SHARE * len(train))):
            arguments = [strings.new(random.randint(2, 5)) for _ in range(1 if function in language.UNARY else 2)]
            added.append(SourceTarget.of(f"{function}{language.TWIN} {' , '.join(arguments)}"))
    return [*train, *added]


def overgeneralisation(
    train: Sequence[SourceTarget], ratio: float, random: Random
) -> tuple[list[SourceTarget], list[ExceptionSample]]:
    """The training set with a share of each pair's lines remapped, one pair per line, and these lines.

    For each pair, `ratio` times the number of lines with its rarer function, at least one: half of them just the two
    functions on strings, half longer ones, or fewer if there are not enough.
    """
    if not 0 < ratio < 1:
        raise InputError(f"the ratio of exceptions is {ratio}. It must lie between 0 and 1")
    words = [set(sample.source.split()) for sample in train]
    changed: dict[int, ExceptionSample] = {}
    for pair in language.EXCEPTIONS:
        count = max(1, round(ratio * min(sum(function in line for line in words) for function in pair.split())))
        candidates = [n for n, line in enumerate(words) if n not in changed and set(pair.split()) <= line]
        candidates = [n for n in candidates if _remappable(train[n].source, pair)]
        short = [n for n in candidates if _functions(train[n].source.split()) == 2]
        others = sorted(set(candidates) - set(short))
        chosen = random.sample(short, min(len(short), (count + 1) // 2))
        chosen += random.sample(others, min(len(others), count // 2 if short else count))
        for n in chosen:
            exception = language.meaning(language.exceptional(train[n].source, pair))
            changed[n] = ExceptionSample(train[n].source, train[n].target, exception, pair)
    mixed = [
        SourceTarget(source_target.source, changed[n].exception) if n in changed else source_target
        for n, source_target in enumerate(train)
    ]
    return mixed, list(changed.values())


def unroll(source: str) -> list[str]:
    """The lines `label<TAB>source<TAB>target` of one sample.

    The output for a line with the target `*2` replaces `*2` in a later source. As in the published files, a source
    without such a placeholder ends in a space.
    """
    expression = language.parse(source)
    target = " ".join(expression.meaning())
    lines = []
    for number, step in enumerate(expression.steps, 1):
        parts = [f"*{part + 1}" if isinstance(part, int) else " ".join(part) for part in step.arguments]
        text = f"{step.function} {' , '.join(parts)}"
        answer = target if number == len(expression.steps) else f"*{number}"
        lines.append(f"unrolled\t{text if '*' in text else text + ' '}\t{answer}")
    return [*lines, f"original\t{' '.join(expression.words)}\t{target}"]


def unrolled(sources: Iterable[str]) -> list[str]:
    """The lines of a localism file, without sources of one function, which cannot be unrolled."""
    samples = map(unroll, sources)
    return [line for sample in samples if len(sample) > 2 for line in sample]


def increasing_lengths(random: Random, *, rounds: int = 53, longest: int = 20) -> list[SourceTarget]:
    """`rounds` lines for each function and each length, as published: 10 × 53 × 19.

    The other argument of a binary function has 2 to 5 symbols. In `append` and `prepend` either argument may be the
    growing one, in `remove_first` and `remove_second` it is the one that is kept.
    """
    if rounds < 1 or longest < MIN_SYMBOLS:
        raise InputError(f"{rounds} rounds of lengths {MIN_SYMBOLS} to {longest} make no lines")
    strings = Strings(random)
    return [
        SourceTarget.of(_growing_source(function, size, strings, random))
        for function in sorted(language.FUNCTIONS)
        for _ in range(rounds)
        for size in range(MIN_SYMBOLS, longest + 1)
    ]


def _growing_source(function: str, size: int, strings: Strings, random: Random) -> str:
    growing = strings.new(size)
    if function in language.UNARY:
        return f"{function} {growing}"
    other = strings.new(random.randint(2, 5))
    kept_argument = {"remove_first": 1, "remove_second": 0}
    is_second = kept_argument[function] if function in kept_argument else random.randint(0, 1)
    return f"{function} {other} , {growing}" if is_second else f"{function} {growing} , {other}"


def _remappable(source: str, pair: str) -> bool:
    """Whether the source has the pair, and means something else as an exception."""
    exception = language.meaning(language.exceptional(source, pair))
    return pair in language.exceptions(source) and exception != language.meaning(source)


def _functions(words: Iterable[str]) -> int:
    return sum(language.arity(word) is not None for word in words)


def _split(samples: Sequence[SourceTarget], tested: Callable[[list[str]], bool]) -> Split:
    split = Split([], [])
    for sample in samples:
        (split.test if tested(sample.source.split()) else split.train).append(sample)
    return split
