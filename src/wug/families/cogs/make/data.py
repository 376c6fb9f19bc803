"""The four files: train, dev, test and gen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from wug.errors import InputError
from wug.families.cogs.make import clauses
from wug.families.cogs.make.clauses import Line
from wug.families.cogs.make.drawing import Drawing, Wish
from wug.families.cogs.make.generalisations import EXPOSURES, TYPES, exposure, tested
from wug.families.cogs.make.lexicon import Lexicon, Verb, Words, english

Files: TypeAlias = dict[str, list[Line]]
"""The lines of each file, by its name."""

NAMES_ALONE, NOUNS_ALONE, TRANSITIVE_ALONE = 20, 40, 40
"""Primitives of each kind beside the held-out ones; all unergative and causative verbs come on top."""
SINGLE_LINES = 155
"""Primitives and exposure examples in training, as many as published."""
PATIENCE = 20_000
"""Draws in a row that give nothing new before it counts as certain that there is nothing new."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lines of the files; the defaults are the published ones."""

    train: int = 24_155
    """With primitives and exposure examples."""
    test: int = 3_000
    """Of dev and of test."""
    each: int = 1_000
    """Of each type in gen."""


def make(seed: int = 0, sizes: Sizes | None = None, lexicon: Lexicon | None = None) -> Files:
    """The lines of all files; no sentence stands in two of them, or twice in one.

    Every file and every type has its own stream of random numbers, and train.tsv is drawn first: it depends on the
    seed and its own size alone. All words of the other files are in it.
    """
    sizes, lexicon = sizes or Sizes(), lexicon or english()
    if sizes.train <= SINGLE_LINES:
        message = f"{sizes.train} training lines: {SINGLE_LINES} are primitives and single examples, so ask for more"
        raise InputError(message)
    maker = _Maker(seed, lexicon)
    made = {"train.tsv": maker.train(sizes.train)}
    maker.words = {word for line in made["train.tsv"] for word in line.sentence.split()}
    made["dev.tsv"] = maker.in_distribution(maker.random("dev"), sizes.test)
    made["test.tsv"] = maker.in_distribution(maker.random("test"), sizes.test)
    made["gen.tsv"] = maker.gen(sizes.each)
    return made


@dataclass(slots=True)
class _Maker:
    """What is drawn depends on what was drawn before: no sentence comes twice, and no word is new after training."""

    seed: int
    lexicon: Lexicon
    sentences: set[str] = field(default_factory=set)
    words: set[str] | None = None
    """The words that may be used; None while training lines are drawn."""

    def random(self, name: str) -> Random:
        """The random numbers of a file or type."""
        return Random(f"wug make cogs {self.seed} {name}")

    def train(self, size: int) -> list[Line]:
        """Primitives, one example of each exposure, and sentences."""
        random = self.random("train")
        lines = _primitives(random, self.lexicon)
        for seen in EXPOSURES:
            lines += self.draw(random, [exposure(seen, self.lexicon)], f"exposure_example_{seen}")
        lines += self.in_distribution(random, size - len(lines))
        random.shuffle(lines)
        return lines

    def in_distribution(self, random: Random, size: int) -> list[Line]:
        """Sentences of the grammar as it is."""
        return self.draw(random, [Wish()] * size, "in_distribution")

    def gen(self, each: int) -> list[Line]:
        """So many sentences of each type, in random order."""
        lines: list[Line] = []
        for kind in TYPES:
            wishes = [tested(kind, number, self.lexicon) for number in range(each)]
            lines += self.draw(self.random(kind), wishes, kind)
        self.random("gen").shuffle(lines)
        return lines

    def draw(self, random: Random, wishes: Iterable[Wish], kind: str) -> list[Line]:
        """A new line for each wish."""
        return [self._new(random, wish, kind) for wish in wishes]

    def _new(self, random: Random, wish: Wish, kind: str) -> Line:
        for _ in range(PATIENCE):
            line = clauses.line(Drawing(self.lexicon, random).clause(wish), kind)
            if line.sentence not in self.sentences and (
                self.words is None or self.words.issuperset(line.sentence.split())
            ):
                self.sentences.add(line.sentence)
                return line
        raise InputError(
            f"there are not that many different sentences of the kind {kind} with words of the training lines. "
            "Ask for fewer of them, or for more training lines"
        )


def _primitives(random: Random, lexicon: Lexicon) -> list[Line]:
    nouns = [*lexicon.nouns["people"].items, *lexicon.nouns["things"].items]
    transitive = _all(lexicon, "transitive", "omissible")
    names, held = lexicon.names.items, lexicon.held_out
    return [
        *(clauses.name_alone(name) for name in [*random.sample(names, NAMES_ALONE), held["prim_proper"]]),
        *(clauses.noun_alone(noun) for noun in [*random.sample(nouns, NOUNS_ALONE), held["prim_common"]]),
        *(clauses.transitive_alone(verb) for verb in random.sample(transitive, TRANSITIVE_ALONE)),
        *(clauses.intransitive_alone(verb, "theme") for verb in _all(lexicon, "causative")),
        *(
            clauses.intransitive_alone(verb, "agent")
            for verb in [*_all(lexicon, "unergative"), lexicon.held_out_verbs["prim_verb"]]
        ),
    ]


def _all(lexicon: Lexicon, *classes: str) -> list[Verb]:
    words: list[Words[Verb]] = [lexicon.verbs[name] for name in classes]
    return [verb for listed in words for verb in listed.items]
