"""The language of PCFG SET: what a source such as `repeat append A1 B2 , C3 D4` means.

Functions stand before their arguments, without brackets: `S → unary S | binary S , S | string`.
A source is kept as its function applications in the order in which they can be computed, each with
its arguments: the form that meaning, depth, drawing and unrolling all need, and no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from wug.errors import InputError, caret, suggestion

Symbols: TypeAlias = tuple[str, ...]
Argument: TypeAlias = int | Symbols
"""A string of symbols, or the number of an earlier step whose result it is."""

UNARY: Mapping[str, Callable[[Symbols], Symbols]] = {
    "copy": lambda x: x,
    "reverse": lambda x: x[::-1],
    "repeat": lambda x: x + x,
    "shift": lambda x: x[1:] + x[:1],
    "echo": lambda x: x + x[-1:],
    "swap_first_last": lambda x: x[-1:] + x[1:-1] + x[:1] if len(x) > 1 else x,
}
BINARY: Mapping[str, Callable[[Symbols, Symbols], Symbols]] = {
    "append": lambda x, y: x + y,
    "prepend": lambda x, y: y + x,
    "remove_first": lambda x, y: y,
    "remove_second": lambda x, y: x,
}
FUNCTIONS = (*UNARY, *BINARY)
TWIN = "_twin"
TWINNED = ("swap_first_last", "repeat", "append", "remove_second")
"""The functions that have a synonym in the substitutivity test: `repeat_twin` means `repeat`."""

EXCEPTIONS: Mapping[str, str] = {
    "reverse echo": "echo copy",
    "prepend remove_first": "remove_second append",
    "echo remove_first": "copy append",
    "prepend reverse": "remove_second echo",
}
"""The function pairs of the overgeneralisation test, and what each is to be read as."""

HELD_OUT = (
    "swap_first_last repeat",
    "append remove_second",
    "repeat remove_second",
    "append swap_first_last",
)
"""The function pairs that the systematicity test keeps out of training."""

SYMBOL = re.compile(r"[A-Z](?:1[0-9]|20|[1-9])")
LONGEST = 1_000_000
"""Symbols that a meaning may have: twenty times `repeat` makes a million of one."""

TOGETHER = 10 * LONGEST
"""Symbols that the results of all steps may have together."""
DRAWN = 500
"""Functions that a tree is drawn of: its width grows with its depth, and its size with both."""

_ARITY: Mapping[str, int] = {
    name + end: arity for names, arity in ((UNARY, 1), (BINARY, 2)) for name in names for end in ("", TWIN)
}


class SourceFault(InputError):
    """A source that has no meaning; `start` and `end` are the columns of the fault in `source`."""

    def __init__(self, message: str, source: str, start: int, end: int) -> None:
        self.source, self.start, self.end = source, start, end
        super().__init__(f"{message}\n{caret(source, start, end)}")
        self.message = message


@dataclass(frozen=True, slots=True)
class Step:
    """One function and what it is applied to."""

    function: str
    """As written: `repeat` or `repeat_twin`."""
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A source as the steps of its computation: innermost first, left before right, outermost last."""

    words: tuple[str, ...]
    steps: tuple[Step, ...]
    root: Argument
    """The last step; the string itself where there is no function at all."""

    @property
    def depths(self) -> tuple[int, ...]:
        """For each step the functions on the longest way down; a function of plain strings has 1."""
        depths: list[int] = []
        for step in self.steps:
            below = (depths[part] for part in step.arguments if isinstance(part, int))
            depths.append(1 + max(below, default=0))
        return tuple(depths)

    @property
    def depth(self) -> int:
        """Functions on the longest way from the whole to a string."""
        return max(self.depths, default=0)

    @property
    def length(self) -> int:
        """Words of the source, commas included."""
        return len(self.words)

    @property
    def functions(self) -> int:
        """Functions in the source."""
        return len(self.steps)

    @property
    def outermost(self) -> str | None:
        """The function of the whole, or None for a plain string."""
        return self.steps[-1].function if self.steps else None

    @property
    def strings(self) -> tuple[Symbols, ...]:
        """The plain strings in the source."""
        parts = [part for step in self.steps for part in step.arguments] or [self.root]
        return tuple(part for part in parts if not isinstance(part, int))

    def results(self) -> tuple[Symbols, ...]:
        """What each step comes to."""
        results: list[Symbols] = []
        together = 0
        for step in self.steps:
            parts = [results[part] if isinstance(part, int) else part for part in step.arguments]
            results.append(apply(step.function, parts))
            together += len(results[-1])
            if len(results[-1]) > LONGEST:
                raise InputError(f"its meaning has more than {LONGEST:,} symbols: {_short(' '.join(self.words))}")
            if together > TOGETHER:
                raise InputError(
                    f"the {len(self.steps):,} steps of its meaning have more than {TOGETHER:,} symbols together: "
                    f"{_short(' '.join(self.words))}"
                )
        return tuple(results)

    def meaning(self) -> Symbols:
        """What the whole comes to."""
        return self.results()[self.root] if isinstance(self.root, int) else self.root


def parse(source: str, *, lenient: bool = False) -> Expression:
    """The steps of a source, or a SourceFault with the column.

    `lenient` takes what a model's answers can make of a source in localism: words that are no
    symbols, and strings of no symbols at all. What remains a fault has no structure to compute.
    """
    words = source.split()
    reader = _Reader(source, words, lenient)
    for place, word in enumerate(words):
        if word == ",":
            reader.comma(place)
        elif word in _ARITY:
            reader.function(place)
        else:
            reader.symbol(place)
    return reader.end()


def meaning(source: str) -> str:
    """The target of a source, or a SourceFault."""
    return " ".join(parse(source).meaning())


def answer(source: str) -> str:
    """The target of a source as a model would see it: empty where it has no meaning."""
    try:
        return " ".join(parse(source, lenient=True).meaning())
    except InputError:
        return ""


def apply(function: str, arguments: Sequence[Symbols]) -> Symbols:
    """What a function (or its twin) makes of strings of any length, also of none."""
    name = function.removesuffix(TWIN)
    return UNARY[name](arguments[0]) if name in UNARY else BINARY[name](arguments[0], arguments[1])


def arity(word: str) -> int | None:
    """1 or 2 for a function or its twin, None for any other word."""
    return _ARITY.get(word)


def pairs(words: Sequence[str]) -> list[str]:
    """The pairs of neighbouring functions, such as `reverse echo`: one applied to what the next gives."""
    return [f"{a} {b}" for a, b in pairwise(words) if a in _ARITY and b in _ARITY]


def exceptional(source: str, pair: str) -> str:
    """The source with a pair of EXCEPTIONS rewritten wherever it stands; other pairs stay."""
    first, second = pair.split()
    words, new = source.split(), EXCEPTIONS[pair].split()
    for at in range(len(words) - 1):
        if words[at : at + 2] == [first, second]:
            words[at : at + 2] = new
    return " ".join(words)


def exceptions(source: str) -> list[str]:
    """The pairs of EXCEPTIONS that a source has, in the order of that table."""
    found = set(pairs(source.split()))
    return [pair for pair in EXCEPTIONS if pair in found]


def draw(expression: Expression, labels: Sequence[str] | None = None) -> str:
    """The tree of an expression as lines of text; `labels` replaces each step's function by a line."""
    if isinstance(expression.root, tuple):
        return " ".join(expression.root) or "(nothing)"
    if len(expression.steps) > DRAWN:
        return f"(a tree of {len(expression.steps):,} functions; {DRAWN} at most are drawn)"
    lines: list[str] = []
    stack: list[tuple[Argument, str, str]] = [(expression.root, "", "")]
    while stack:
        part, lead, indent = stack.pop()
        if isinstance(part, tuple):
            lines.append(lead + (" ".join(part) or "(nothing)"))
            continue
        step = expression.steps[part]
        lines.append(lead + (labels[part] if labels else step.function))
        for number, child in reversed(list(enumerate(step.arguments))):
            last = number == len(step.arguments) - 1
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return "\n".join(lines)


class _Reader:
    """The state of reading a source from left to right: functions that still wait for arguments."""

    def __init__(self, source: str, words: list[str], lenient: bool) -> None:
        self.source, self.words, self.lenient = source, words, lenient
        self.steps: list[Step] = []
        self.waiting: list[tuple[int, list[Argument]]] = []
        self.string: list[str] = []
        self.root: Argument = ()

    def function(self, place: int) -> None:
        """Note a function, which then waits for its arguments."""
        if self.string:
            raise self.fault(f"a comma is missing before {self.words[place]!r}", place)
        self.waiting.append((place, []))

    def symbol(self, place: int) -> None:
        """Add a symbol to the string being read."""
        word = self.words[place]
        if not self.lenient and not SYMBOL.fullmatch(word):
            near = suggestion(word, _ARITY) if word.islower() or "_" in word else ""
            hint = near if "mean" in near else " Symbols are A1 to Z20"
            raise self.fault(f"unknown word {word!r}.{hint}", place)
        self.string.append(word)

    def comma(self, place: int) -> None:
        """End the first argument of a binary function."""
        self.close(place)
        if not self.waiting:
            raise self.fault("this comma separates nothing: no function here takes a second argument", place)

    def close(self, place: int) -> None:
        """End the string at `place` and every function that is complete with it."""
        if not self.string and not self.lenient:
            raise self.fault(self.nothing(place), place)
        part: Argument = tuple(self.string)
        self.string = []
        while self.waiting:
            at, arguments = self.waiting[-1]
            arguments.append(part)
            function = self.words[at]
            if len(arguments) < _ARITY[function]:
                return
            self.waiting.pop()
            self.steps.append(Step(function, tuple(arguments)))
            part = len(self.steps) - 1
        self.root = part

    def end(self) -> Expression:
        """The whole, once every word was read."""
        if not self.words and not self.lenient:
            raise SourceFault("an empty source has no meaning", self.source, 0, 1)
        self.close(len(self.words))
        if self.waiting:
            at, _ = self.waiting[-1]
            raise self.fault(f"{self.words[at]!r} lacks its second argument", at)
        return Expression(tuple(self.words), tuple(self.steps), self.root)

    def nothing(self, place: int) -> str:
        """What is wrong where a string should stand and does not."""
        before = self.words[place - 1] if place else ""
        if before in _ARITY:
            return f"{before!r} has no argument"
        return "no string before this comma" if place < len(self.words) else "no string after the last comma"

    def fault(self, message: str, place: int) -> SourceFault:
        """A fault at the word number `place`, or after the last."""
        spans = [match.span() for match in re.finditer(r"\S+", self.source)]
        end = len(self.source.rstrip())
        start, stop = spans[place] if place < len(spans) else (end, end + 1)
        return SourceFault(message, self.source, start, stop)


def _short(text: str) -> str:
    """At most sixty characters of a text."""
    return text if len(text) <= 60 else f"{text[:57]}..."
