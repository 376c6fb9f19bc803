"""Lexicon and clauses: the sentence and the logical form of a clause, in the format of COGS (Kim & Linzen 2020)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from random import Random
from typing import Generic, NamedTuple, TypeVar

from wug.files import ASSETS, read_text

Word = TypeVar("Word")

EXPONENT, FLOOR = 1.3, 0.01
"""The weight of the nth word is n ** -EXPONENT + FLOOR. This fits the published training set: the first of its hundred
names is about 18 times as frequent as the 11th, and later ones hardly get rarer."""


class Verb(NamedTuple):
    """A verb in the three forms that sentences need."""

    lemma: str
    past: str
    participle: str


@dataclass(frozen=True, slots=True)
class WordClass(Generic[Word]):
    """Words with cumulative weights."""

    items: tuple[Word, ...]
    cumulative_weights: tuple[int, ...]

    @classmethod
    def of(cls, items: Iterable[Word]) -> WordClass[Word]:
        """A class of words from the most to the least frequent."""
        listed = tuple(items)
        return cls(listed, tuple(accumulate(_weight(rank) for rank in range(1, len(listed) + 1))))

    def draw(self, random: Random) -> Word:
        """A random word by weight."""
        return random.choices(self.items, cum_weights=self.cumulative_weights)[0]


class Lexicon(NamedTuple):
    """All words of the generator."""

    nouns: Mapping[str, WordClass[str]]
    """`people` can act; `things` cannot; `insides` follow "in", `surfaces` "on" and "beside"."""
    names: WordClass[str]
    verbs: Mapping[str, WordClass[Verb]]
    """By class: transitive, omissible, causative, dative, unergative, control, clausal."""
    held_out: Mapping[str, str]
    """Nouns and names that occur once in training, by their role there."""
    held_out_verbs: Mapping[str, Verb]


@cache
def english() -> Lexicon:
    """The built-in lexicon."""
    return read(read_text(ASSETS / "cogs" / "english.toml"))


def read(text: str) -> Lexicon:
    """The lexicon that a TOML text describes."""
    table = tomllib.loads(text)
    held_out: Mapping[str, str] = table["held_out"]
    return Lexicon(
        {name: WordClass.of(listed.split()) for name, listed in table["nouns"].items()},
        WordClass.of(table["names"]["people"].split()),
        {
            name: WordClass.of(_verb(forms.split()) for forms in listed.split(";"))
            for name, listed in table["verbs"].items()
        },
        {seen: word for seen, word in held_out.items() if " " not in word},
        {seen: _verb(word.split()) for seen, word in held_out.items() if " " in word},
    )


def _weight(rank: int) -> int:
    # An integer, since libraries disagree about the last bit of a power.
    return round(1e6 * (math.pow(rank, -EXPONENT) + FLOOR))


def _verb(forms: Sequence[str]) -> Verb:
    return Verb(forms[0], forms[1], forms[-1])


FRAMES: Mapping[str, tuple[str, ...]] = {
    name: tuple(pattern.split())
    for name, pattern in {
        "transitive": "agent PAST theme",
        "omitted": "agent PAST",
        "unergative": "agent PAST",
        "unaccusative": "theme PAST",
        "passive": "theme was PARTICIPLE",
        "passive_by": "theme was PARTICIPLE by agent",
        "pp_dative": "agent PAST theme to recipient",
        "do_dative": "agent PAST recipient theme",
        "pp_dative_passive": "theme was PARTICIPLE to recipient",
        "pp_dative_passive_by": "theme was PARTICIPLE to recipient by agent",
        "do_dative_passive": "recipient was PARTICIPLE theme",
        "do_dative_passive_by": "recipient was PARTICIPLE theme by agent",
        "infinitive": "agent PAST to xcomp",
        "clausal": "agent PAST that ccomp",
    }.items()
}
"""Word order of each frame: roles, forms of the verb in capitals, other words."""
ROLES = ("agent", "theme", "recipient")


class Phrase(NamedTuple):
    """A noun with its article, perhaps modified, or a name."""

    word: str
    article: str | None = None
    """None for a name."""
    preposition: str | None = None
    within: Phrase | None = None


class Clause(NamedTuple):
    """A verb in a frame, with the phrases that fill its roles."""

    frame: str
    verb: Verb
    phrases: Mapping[str, Phrase]
    infinitive: Verb | None = None
    complement: Clause | None = None


class CogsLine(NamedTuple):
    """A line of a file."""

    sentence: str
    form: str
    type: str

    def __str__(self) -> str:
        return "\t".join(self)


def line(clause: Clause, kind: str) -> CogsLine:
    """The sentence of a clause, with its logical form."""
    writing = _Writer()
    writing.clause(clause)
    words = [*writing.words, "."]
    words[0] = words[0][0].upper() + words[0][1:]
    return CogsLine(" ".join(words), writing.form(), kind)


_PRIMITIVES = {
    "name": "{0}",
    "noun": "LAMBDA a . {0} ( a )",
    "unergative": "LAMBDA a . LAMBDA e . {0} . agent ( e , a )",
    "unaccusative": "LAMBDA a . LAMBDA e . {0} . theme ( e , a )",
    "transitive": "LAMBDA a . LAMBDA b . LAMBDA e . {0} . agent ( e , b ) AND {0} . theme ( e , a )",
}


def primitive(kind: str, word: str) -> CogsLine:
    """A word alone: a name, a noun, or a verb by the arguments that it takes."""
    return CogsLine(word, _PRIMITIVES[kind].format(word), "primitive")


@dataclass(slots=True)
class _Writer:
    words: list[str] = field(default_factory=list)
    definite: list[str] = field(default_factory=list)
    terms: list[tuple[int, str]] = field(default_factory=list)

    def form(self) -> str:
        """Definite nouns in order, then all other terms by their first index, else in order."""
        body = " AND ".join(term for _, term in sorted(self.terms, key=lambda term: term[0]))
        return " ".join([*self.definite, body])

    def clause(self, clause: Clause) -> int:
        arguments: list[tuple[str, str]] = []
        event = -1
        for part in FRAMES[clause.frame]:
            if part in ROLES:
                arguments.append((part, self.phrase(clause.phrases[part])))
            elif part in ("PAST", "PARTICIPLE"):
                event = self.word(clause.verb.past if part == "PAST" else clause.verb.participle)
            elif part == "xcomp" and clause.infinitive is not None:
                index = self.word(clause.infinitive.lemma)
                arguments.append((part, f"x _ {index}"))
                # The subject of the main verb is also that of the infinitive.
                self.terms.append((index, f"{clause.infinitive.lemma} . agent ( x _ {index} , {arguments[0][1]} )"))
            elif part == "ccomp" and clause.complement is not None:
                arguments.append((part, f"x _ {self.clause(clause.complement)}"))
            else:
                self.word(part)
        lemma = clause.verb.lemma
        self.terms += [(event, f"{lemma} . {role} ( x _ {event} , {other} )") for role, other in arguments]
        return event

    def phrase(self, phrase: Phrase) -> str:
        if phrase.article is None:
            self.word(phrase.word)
            return phrase.word
        self.word(phrase.article)
        index = self.word(phrase.word)
        if phrase.article == "the":
            self.definite.append(f"* {phrase.word} ( x _ {index} ) ;")
        else:
            self.terms.append((index, f"{phrase.word} ( x _ {index} )"))
        if phrase.preposition is not None and phrase.within is not None:
            self.word(phrase.preposition)
            inner = self.phrase(phrase.within)
            self.terms.append((index, f"{phrase.word} . nmod . {phrase.preposition} ( x _ {index} , {inner} )"))
        return f"x _ {index}"

    def word(self, word: str) -> int:
        self.words.append(word)
        return len(self.words) - 1
