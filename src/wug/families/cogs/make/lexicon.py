"""The words that sentences are made of, by class, the frequent ones first."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from random import Random
from typing import Generic, NamedTuple, TypeVar

Word = TypeVar("Word")

EXPONENT, FLOOR = 1.3, 0.01
"""The weight of the nth word is n ** -EXPONENT + FLOOR. So fall the frequencies of the published training set: of its
hundred names the first is about 18 times as frequent as the 11th, and the later ones hardly get rarer."""


class Verb(NamedTuple):
    """A verb in the three forms that sentences need."""

    lemma: str
    past: str
    participle: str


@dataclass(frozen=True, slots=True)
class Words(Generic[Word]):
    """The words of a class, each with its weight."""

    items: tuple[Word, ...]
    cumulated: tuple[int, ...]

    @classmethod
    def of(cls, items: Iterable[Word]) -> Words[Word]:
        """A class whose words grow rarer from first to last."""
        listed = tuple(items)
        return cls(listed, tuple(accumulate(_weight(rank) for rank in range(1, len(listed) + 1))))

    def draw(self, random: Random) -> Word:
        """One of the words."""
        return random.choices(self.items, cum_weights=self.cumulated)[0]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words."""

    nouns: Mapping[str, Words[str]]
    """`people` can act; `things` cannot; `insides` follow "in", `surfaces` "on" and "beside"."""
    names: Words[str]
    verbs: Mapping[str, Words[Verb]]
    """By class: transitive, omissible, causative, dative, unergative, control, clausal."""
    held_out: Mapping[str, str]
    """Nouns and names that training shows once, by what it shows them as."""
    held_out_verbs: Mapping[str, Verb]


@cache
def english() -> Lexicon:
    """The built-in lexicon."""
    return read(files("wug").joinpath("assets", "cogs", "english.toml").read_text(encoding="utf-8"))


def read(text: str) -> Lexicon:
    """The lexicon that a TOML text describes."""
    table = tomllib.loads(text)
    held_out: Mapping[str, str] = table["held_out"]
    return Lexicon(
        {name: Words.of(listed.split()) for name, listed in table["nouns"].items()},
        Words.of(table["names"]["people"].split()),
        {name: Words.of(_verbs(listed)) for name, listed in table["verbs"].items()},
        {seen: word for seen, word in held_out.items() if " " not in word},
        {seen: _verb(word.split()) for seen, word in held_out.items() if " " in word},
    )


def _weight(rank: int) -> int:
    # A whole number, so that the last bit of a power, which libraries disagree about, changes nothing.
    return round(1e6 * (math.pow(rank, -EXPONENT) + FLOOR))


def _verbs(listed: str) -> list[Verb]:
    return [_verb(forms.split()) for forms in listed.split(";")]


def _verb(forms: Sequence[str]) -> Verb:
    return Verb(forms[0], forms[1], forms[-1])
