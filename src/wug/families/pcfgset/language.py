"""The language of PCFG SET: what a source such as `repeat append A1 B2 , C3 D4` means.

Functions precede their arguments, without brackets: `S → unary S | binary S , S | string`.
A source is represented by its function applications in the order in which they can be computed, which meaning,
depth, drawing and unrolling all need; nothing here is recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from string import ascii_uppercase
from typing import Any, NamedTuple, TypeAlias

from wug.errors import FormulaError, InputError, suggestion
from wug.files import shortened

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
"""The functions with a synonym (a twin) in the substitutivity test: `repeat_twin` means `repeat`."""

EXCEPTIONS: Mapping[str, str] = {
    "reverse echo": "echo copy",
    "prepend remove_first": "remove_second append",
    "echo remove_first": "copy append",
    "prepend reverse": "remove_second echo",
}
"""The function pairs of the overgeneralisation test, and the exceptional reading of each."""

HELD_OUT = ("swap_first_last repeat", "append remove_second", "repeat remove_second", "append swap_first_last")
"""The function pairs that the systematicity test holds out of training."""

SYMBOLS = frozenset(f"{letter}{number}" for letter in ascii_uppercase for number in range(1, 21))
"""The symbols of the language, A1 to Z20."""

MAX_SYMBOLS = 1_000_000
"""Maximum length of a meaning, in symbols: `repeat` applied twenty times makes a million of one."""

MAX_TOTAL_SYMBOLS = 10 * MAX_SYMBOLS
"""Maximum total length of the results of all steps, in symbols."""

_ARITY: Mapping[str, int] = {
    name + end: arity for names, arity in ((UNARY, 1), (BINARY, 2)) for name in names for end in ("", TWIN)
}
_MEANINGS: Mapping[str, Callable[..., Symbols]] = {
    name + end: meaning for names in (UNARY, BINARY) for name, meaning in names.items() for end in ("", TWIN)
}


class FunctionStep(NamedTuple):
    """A function applied to its arguments."""

    function: str
    """As written: `repeat` or `repeat_twin`."""
    arguments: tuple[Argument, ...]


class Expression(NamedTuple):
    """A source as the steps of its computation: innermost first, left before right, outermost last."""

    words: tuple[str, ...]
    steps: tuple[FunctionStep, ...]
    root: Argument
    """The last step, or the string itself if there is no function."""

    @property
    def depths(self) -> tuple[int, ...]:
        """The depth of each step; a function of plain strings has depth 1."""
        depths: list[int] = []
        for step in self.steps:
            below = 0
            for part in step.arguments:
                if isinstance(part, int) and depths[part] > below:
                    below = depths[part]
            depths.append(1 + below)
        return tuple(depths)

    @property
    def depth(self) -> int:
        """Number of functions on the longest path from the root to a string."""
        return max(self.depths, default=0)

    @property
    def length(self) -> int:
        """Number of words, commas included."""
        return len(self.words)

    @property
    def functions(self) -> int:
        """Number of functions."""
        return len(self.steps)

    @property
    def outermost(self) -> str | None:
        """The outermost function, or None for a plain string."""
        return self.steps[-1].function if self.steps else None

    @property
    def strings(self) -> tuple[Symbols, ...]:
        """The plain strings in the source."""
        parts = [part for step in self.steps for part in step.arguments] or [self.root]
        return tuple(part for part in parts if not isinstance(part, int))

    @property
    def groups(self) -> dict[str, str]:
        """The groups that results are broken down by."""
        return {
            "function": self.outermost or "none",
            "depth": str(self.depth),
            "length": str(self.length),
            "functions": str(self.functions),
        }

    def results(self) -> tuple[Symbols, ...]:
        """The result of each step."""
        results: list[Symbols] = []
        total = 0
        for function, arguments in self.steps:
            result = apply(function, [results[part] if isinstance(part, int) else part for part in arguments])
            results.append(result)
            total += len(result)
            if len(result) > MAX_SYMBOLS:
                raise InputError(f"its meaning has more than {MAX_SYMBOLS:,} symbols: {self._short_text}")
            if total > MAX_TOTAL_SYMBOLS:
                steps = f"the {len(self.steps):,} steps of its meaning"
                raise InputError(f"{steps} have more than {MAX_TOTAL_SYMBOLS:,} symbols together: {self._short_text}")
        return tuple(results)

    @property
    def _short_text(self) -> str:
        return shortened(" ".join(self.words), 60)

    def meaning(self) -> Symbols:
        """The result of the whole."""
        return self.results()[self.root] if isinstance(self.root, int) else self.root


def parse(source: str, *, lenient: bool = False, **where: Any) -> Expression:
    """Parse a source; FormulaError with the column if it has no meaning, and with the file and the place of `where`.

    `lenient` accepts what a model's outputs can make of a source in localism: words that are not symbols, and empty
    strings.
    """
    words = source.split()
    if not words and not lenient:
        raise FormulaError("an empty source has no meaning", source, 0, 1, **where)
    steps: list[FunctionStep] = []
    waiting: list[tuple[int, list[Argument]]] = []  # functions that lack arguments, with those that they have
    string: list[str] = []
    root: Argument = ()
    for position, word in enumerate([*words, ","]):  # the end closes a string as a comma does
        if word in _ARITY:
            if string:
                raise FormulaError.at_word(f"a comma is missing before {word!r}", source, position, **where)
            waiting.append((position, []))
        elif word != ",":
            if word not in SYMBOLS and not lenient:
                near = suggestion(word, _ARITY) if word.islower() or "_" in word else ""
                message = f"unknown word {word!r}.{near if 'mean' in near else ' Symbols are A1 to Z20'}"
                raise FormulaError.at_word(message, source, position, **where)
            string.append(word)
        else:
            if not string and not lenient:
                raise FormulaError.at_word(_empty_reason(words, position), source, position, **where)
            root, string = tuple(string), []
            while waiting:
                at, arguments = waiting[-1]
                arguments.append(root)
                if len(arguments) < _ARITY[words[at]]:
                    break
                waiting.pop()
                steps.append(FunctionStep(words[at], tuple(arguments)))
                root = len(steps) - 1
            if not waiting and position < len(words):
                message = "this comma separates nothing: no function here takes a second argument"
                raise FormulaError.at_word(message, source, position, **where)
    if waiting:
        message = f"{words[waiting[-1][0]]!r} lacks its second argument"
        raise FormulaError.at_word(message, source, waiting[-1][0], **where)
    return Expression(tuple(words), tuple(steps), root)


def meaning(source: str) -> str:
    """The target of a source; FormulaError if it has none."""
    return " ".join(parse(source).meaning())


def answer(source: str) -> str:
    """The target of a source; empty if it has no meaning."""
    try:
        return " ".join(parse(source, lenient=True).meaning())
    except InputError:
        return ""


def apply(function: str, arguments: Sequence[Symbols]) -> Symbols:
    """Apply a function (or its synonym) to strings of any length."""
    return _MEANINGS[function](*arguments)


def arity(word: str) -> int | None:
    """1 or 2 for a function or its synonym, None for any other word."""
    return _ARITY.get(word)


def pairs(words: Sequence[str]) -> list[str]:
    """The pairs of neighbouring functions, such as `reverse echo`: one applied to the result of the next."""
    return [f"{a} {b}" for a, b in pairwise(words) if a in _ARITY and b in _ARITY]


def exceptional(source: str, pair: str) -> str:
    """The source with every occurrence of a pair of EXCEPTIONS rewritten."""
    first, second = pair.split()
    words, new = source.split(), EXCEPTIONS[pair].split()
    for at in range(len(words) - 1):
        if words[at : at + 2] == [first, second]:
            words[at : at + 2] = new
    return " ".join(words)


def exceptions(source: str) -> list[str]:
    """The pairs of EXCEPTIONS in a source, in the order of that table."""
    present = set(pairs(source.split()))
    return [pair for pair in EXCEPTIONS if pair in present]


def _empty_reason(words: Sequence[str], position: int) -> str:
    if position and words[position - 1] in _ARITY:
        return f"{words[position - 1]!r} has no argument"
    return f"there is no string {'before this' if position < len(words) else 'after the last'} comma"
