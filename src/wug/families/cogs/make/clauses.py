"""Clauses, and the sentence and the logical form of each, in the format of COGS (Kim & Linzen 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from wug.families.cogs.make.lexicon import Verb

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
"""What stands where: roles, forms of the verb in capitals, other words."""
ROLES = ("agent", "theme", "recipient")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun with its article, perhaps modified, or a name."""

    word: str
    article: str | None = None
    """None for a name."""
    preposition: str | None = None
    within: Phrase | None = None
    """What follows the preposition."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb in a frame, with what fills the places of the frame."""

    frame: str
    verb: Verb
    phrases: Mapping[str, Phrase]
    infinitive: Verb | None = None
    """Of an infinitive frame."""
    complement: Clause | None = None
    """Of a clausal frame."""


class Line(NamedTuple):
    """A line of a file."""

    sentence: str
    form: str
    type: str

    def __str__(self) -> str:
        return "\t".join(self)


def line(clause: Clause, kind: str) -> Line:
    """The sentence that a clause makes, with its logical form."""
    writing = _Writing()
    writing.clause(clause)
    words = [*writing.words, "."]
    words[0] = words[0][0].upper() + words[0][1:]
    return Line(" ".join(words), writing.form(), kind)


def noun_alone(noun: str) -> Line:
    """A noun as a primitive."""
    return Line(noun, f"LAMBDA a . {noun} ( a )", "primitive")


def name_alone(name: str) -> Line:
    """A name as a primitive."""
    return Line(name, name, "primitive")


def intransitive_alone(verb: Verb, role: str) -> Line:
    """An intransitive verb as a primitive; its one argument is the agent or the theme."""
    return Line(verb.lemma, f"LAMBDA a . LAMBDA e . {verb.lemma} . {role} ( e , a )", "primitive")


def transitive_alone(verb: Verb) -> Line:
    """A transitive verb as a primitive."""
    roles = f"{verb.lemma} . agent ( e , b ) AND {verb.lemma} . theme ( e , a )"
    return Line(verb.lemma, f"LAMBDA a . LAMBDA b . LAMBDA e . {roles}", "primitive")


@dataclass(slots=True)
class _Writing:
    """Words so far, and the terms about them: an index is the place of a word in the sentence."""

    words: list[str] = field(default_factory=list)
    definite: list[str] = field(default_factory=list)
    terms: list[tuple[int, str]] = field(default_factory=list)

    def form(self) -> str:
        """Definite nouns in their order, then all other terms by their first index, else as they came."""
        body = " AND ".join(term for _, term in sorted(self.terms, key=lambda term: term[0]))
        return " ".join([*self.definite, body])

    def clause(self, clause: Clause) -> int:
        """Write a clause, and return the index of its verb."""
        arguments: list[tuple[str, str]] = []
        event = -1
        for part in FRAMES[clause.frame]:
            if part in ROLES:
                arguments.append((part, self.phrase(clause.phrases[part])))
            elif part in ("PAST", "PARTICIPLE"):
                event = self.word(clause.verb.past if part == "PAST" else clause.verb.participle)
            elif part == "xcomp" and clause.infinitive is not None:
                place = self.word(clause.infinitive.lemma)
                arguments.append((part, f"x _ {place}"))
                # The subject of the main verb is also that of the infinitive.
                self.terms.append((place, f"{clause.infinitive.lemma} . agent ( x _ {place} , {arguments[0][1]} )"))
            elif part == "ccomp" and clause.complement is not None:
                arguments.append((part, f"x _ {self.clause(clause.complement)}"))
            else:
                self.word(part)
        lemma = clause.verb.lemma
        self.terms += [(event, f"{lemma} . {role} ( x _ {event} , {other} )") for role, other in arguments]
        return event

    def phrase(self, phrase: Phrase) -> str:
        """Write a phrase, and return what stands for it in a term: an index or a name."""
        if phrase.article is None:
            self.word(phrase.word)
            return phrase.word
        self.word(phrase.article)
        place = self.word(phrase.word)
        if phrase.article == "the":
            self.definite.append(f"* {phrase.word} ( x _ {place} ) ;")
        else:
            self.terms.append((place, f"{phrase.word} ( x _ {place} )"))
        if phrase.preposition is not None and phrase.within is not None:
            self.word(phrase.preposition)
            inner = self.phrase(phrase.within)
            self.terms.append((place, f"{phrase.word} . nmod . {phrase.preposition} ( x _ {place} , {inner} )"))
        return f"x _ {place}"

    def word(self, word: str) -> int:
        """Write a word, and return its index."""
        self.words.append(word)
        return len(self.words) - 1
