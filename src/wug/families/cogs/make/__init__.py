"""COGS-style data: train, dev, test and gen, with words and structures held out of training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeAlias

from wug.errors import InputError
from wug.families.cogs.make import grammar
from wug.families.cogs.make.grammar import CogsLine, Lexicon, english
from wug.families.cogs.make.sampling import EXPOSURES, TYPES, ClauseSampler, ClauseSpec, held_out_clause, tested

Files: TypeAlias = dict[str, list[CogsLine]]

NAMES_ALONE, NOUNS_ALONE, TRANSITIVE_ALONE = 20, 40, 40
"""Primitives of each kind besides the held-out ones; all unergative and causative verbs are added."""
SINGLE_LINES = 155
"""Primitives and exposure examples in training, as in the published set."""
MAX_DRAWS = 20_000
"""Consecutive duplicates after which we assume that there are no new sentences."""


class Sizes(NamedTuple):
    """Numbers of lines; the defaults are the published ones."""

    train: int = 24_155
    """Lines of train, primitives and exposure examples included."""
    test: int = 3_000
    each: int = 1_000


def make(seed: int = 0, sizes: Sizes | None = None, lexicon: Lexicon | None = None) -> Files:
    """The lines of all files, without repeated sentences.

    Every file and every type has its own stream of random numbers, and train.tsv is drawn first: it only depends on
    the seed and its own size. It contains all words of the other files.
    """
    sizes, lexicon = sizes or Sizes(), lexicon or english()
    if sizes.train <= SINGLE_LINES:
        message = f"{sizes.train} training lines: {SINGLE_LINES} are primitives and single examples, so make more"
        raise InputError(message)
    maker = _Maker(seed, lexicon)
    files = {"train.tsv": maker.train(sizes.train)}
    maker.words = {word for line in files["train.tsv"] for word in line.sentence.split()}
    files["dev.tsv"] = maker.in_distribution(maker.random("dev"), sizes.test)
    files["test.tsv"] = maker.in_distribution(maker.random("test"), sizes.test)
    files["gen.tsv"] = maker.gen(sizes.each)
    return files


@dataclass(slots=True)
class _Maker:
    """Draws new sentences: none is repeated, and after training no word is new."""

    seed: int
    lexicon: Lexicon
    sentences: set[str] = field(default_factory=set)
    words: set[str] | None = None
    """Allowed words; None while training lines are drawn."""

    def random(self, name: str) -> Random:
        return Random(f"wug make cogs {self.seed} {name}")

    def train(self, size: int) -> list[CogsLine]:
        random = self.random("train")
        lines = _primitives(random, self.lexicon)
        for seen in EXPOSURES:
            lines += self.draw(random, [held_out_clause(self.lexicon, *seen)], f"exposure_example_{seen.word}")
        lines += self.in_distribution(random, size - len(lines))
        random.shuffle(lines)
        return lines

    def in_distribution(self, random: Random, size: int) -> list[CogsLine]:
        return self.draw(random, [ClauseSpec()] * size, "in_distribution")

    def gen(self, each: int) -> list[CogsLine]:
        lines: list[CogsLine] = []
        for kind in TYPES:
            specs = [tested(kind, number, self.lexicon) for number in range(each)]
            lines += self.draw(self.random(kind), specs, kind)
        self.random("gen").shuffle(lines)
        return lines

    def draw(self, random: Random, specs: Iterable[ClauseSpec], kind: str) -> list[CogsLine]:
        return [self._new(random, spec, kind) for spec in specs]

    def _new(self, random: Random, spec: ClauseSpec, kind: str) -> CogsLine:
        for _ in range(MAX_DRAWS):
            line = grammar.line(ClauseSampler(self.lexicon, random).clause(spec), kind)
            known = self.words is None or self.words.issuperset(line.sentence.split())
            if known and line.sentence not in self.sentences:
                self.sentences.add(line.sentence)
                return line
        raise InputError(
            f"there are not that many different sentences of type {kind} with words of the training lines. "
            "Make fewer of them, or more training lines"
        )


def _primitives(random: Random, lexicon: Lexicon) -> list[CogsLine]:
    nouns = [*lexicon.nouns["people"].items, *lexicon.nouns["things"].items]
    transitive = _lemmas(lexicon, "transitive", "omissible")
    words = {
        "name": [*random.sample(lexicon.names.items, NAMES_ALONE), lexicon.held_out["prim_proper"]],
        "noun": [*random.sample(nouns, NOUNS_ALONE), lexicon.held_out["prim_common"]],
        "transitive": random.sample(transitive, TRANSITIVE_ALONE),
        "unaccusative": _lemmas(lexicon, "causative"),
        "unergative": [*_lemmas(lexicon, "unergative"), lexicon.held_out_verbs["prim_verb"].lemma],
    }
    return [grammar.primitive(kind, word) for kind, words_of_kind in words.items() for word in words_of_kind]


def _lemmas(lexicon: Lexicon, *classes: str) -> list[str]:
    return [verb.lemma for name in classes for verb in lexicon.verbs[name].items]
