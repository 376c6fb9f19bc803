"""Terms of a regression: `freq + len`, products `freq:len` and `freq*len`, values of earlier words `surprisal@2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from wug.errors import InputError

_FACTOR = re.compile(r"\s*(?P<name>`[^`]+`|[^+*:@`\s][^+*:@`]*)(?:@(?P<lag>[+-]?\d+))?\s*")


class Factor(NamedTuple):
    """A column, or its value at another word."""

    column: str
    lag: int = 0
    """Words back: 1 is the previous word, -1 the next one."""

    def __str__(self) -> str:
        name = f"`{self.column}`" if re.search(r"[+*:@]|^1$", self.column) else self.column
        return f"{name}@{self.lag}" if self.lag else name


class RegressionTerm(NamedTuple):
    """A product of factors, in most cases of one."""

    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.factors))

    @property
    def key(self) -> tuple[Factor, ...]:
        """The same for `a:b` and `b:a`."""
        return tuple(sorted(self.factors))

    def at(self, words_back: int) -> RegressionTerm:
        """The same term of an earlier word."""
        return RegressionTerm(tuple(Factor(factor.column, factor.lag + words_back) for factor in self.factors))


def parse(text: str) -> tuple[RegressionTerm, ...]:
    """The terms of a formula, each once; `1` is the intercept, which every model has."""
    terms: list[RegressionTerm] = []
    for summand in _summands(text):
        for size in range(1, len(summand) + 1):
            for chosen in combinations(summand, size):
                terms.append(RegressionTerm(tuple(factor for product in chosen for factor in product)))
    return distinct(terms)


def spread(terms: Iterable[RegressionTerm], spillover: int, position: str | None = None) -> tuple[RegressionTerm, ...]:
    """The terms and their values at 1 to `spillover` earlier words.

    The position of an earlier word says nothing new, so a term that is the position alone is not repeated.
    """
    every = tuple(terms)
    later = [term for term in every if [factor.column for factor in term.factors] != [position]]
    return distinct([*every, *(term.at(lag) for lag in range(1, spillover + 1) for term in later)])


def distinct(terms: Iterable[RegressionTerm]) -> tuple[RegressionTerm, ...]:
    """The terms in order, each once."""
    by_key: dict[tuple[Factor, ...], RegressionTerm] = {}
    for term in terms:
        by_key.setdefault(term.key, term)
    return tuple(by_key.values())


def written(terms: Iterable[RegressionTerm]) -> str:
    """The terms as a formula."""
    return " + ".join(map(str, terms)) or "1"


def _summands(text: str) -> list[list[tuple[Factor, ...]]]:
    """Summands as lists of crossed products: `a + b*c:d` is [[a]], [[b], [c, d]]."""
    if not text.strip():
        raise InputError("no terms given")
    return [
        []
        if summand.strip() == "1"
        else [tuple(_factor(part, text) for part in _split(product, ":")) for product in _split(summand, "*")]
        for summand in _split(text, "+")
    ]


def _split(text: str, operator: str) -> list[str]:
    """The parts of a text between operators that are not in backquotes, nor the sign of a lag."""
    return re.split(rf"(?<!@)\{operator}(?=(?:[^`]*`[^`]*`)*[^`]*$)", text)


def _factor(text: str, formula: str) -> Factor:
    match = _FACTOR.fullmatch(text)
    if match is None:
        what = f"cannot read {text.strip()!r}" if text.strip() else "a term is missing"
        raise InputError(f"terms {formula!r}: {what}. Write such as 'freq + len*surp@1'")
    return Factor(match["name"].strip().strip("`"), int(match["lag"] or 0))
