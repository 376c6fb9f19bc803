"""COGS-style data: train, dev, test and gen, with words and structures held out of training.

Clauses are sampled each kind as often as in the published training set. For each of the 21 types of generalisation,
it says what training shows once, and what is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from wug.errors import InputError
from wug.families.cogs.make import grammar
from wug.families.cogs.make.grammar import FRAMES, ROLES, Clause, CogsLine, Lexicon, Phrase, Verb, english

Nesting: TypeAlias = int | Literal["perhaps", "surely"]
"""Number of modifiers nested in a phrase; `perhaps` for a random number, `surely` for one above 0."""

# With these weights, innermost clauses have the proportions of the published training set. Short frames are drawn
# somewhat more often, because more of their sentences are duplicates and rejected.
WEIGHTS: Mapping[str, int] = {
    "transitive": 200,
    "passive_by": 175,
    "passive": 100,
    "pp_dative": 66,
    "do_dative": 66,
    "pp_dative_passive_by": 64,
    "pp_dative_passive": 60,
    "do_dative_passive_by": 52,
    "do_dative_passive": 51,
    "infinitive": 64,
    "unaccusative": 72,
    "omitted": 50,
    "unergative": 50,
}
VERBS: Mapping[str, tuple[str, ...]] = {
    "transitive": ("transitive", "omissible", "causative"),
    "passive_by": ("transitive", "omissible", "causative"),
    "passive": ("transitive", "omissible", "causative"),
    "omitted": ("omissible",),
    "unergative": ("unergative",),
    "unaccusative": ("causative",),
    "infinitive": ("control",),
    "clausal": ("clausal",),
}
"""Verb classes of a frame, equally likely; the dative frames take dative verbs."""
INFINITIVES = ("unergative", "omissible")
OBJECT_FRAMES = ("transitive", "pp_dative", "do_dative", "do_dative_passive", "do_dative_passive_by")
"""Frames in which a theme follows the verb: the only phrases that are modified in training."""

P_EMBEDDED = 0.085
"""Probability that a clause becomes the complement of another one."""
P_MODIFIED = 0.5
P_MODIFIED_AGAIN = 0.09
MAX_TRAINING_DEPTH = 2
"""Nesting clauses, or nested modifiers, that training goes down to."""


@dataclass(frozen=True, slots=True)
class ClauseSpec:
    """Constraints on a clause; everything else is random."""

    frames: tuple[str, ...] = tuple(WEIGHTS)
    verb: Verb | None = None
    infinitive: Verb | None = None
    fillers: Mapping[str, str] = field(default_factory=dict)
    modified_subject: bool = False
    modifiers: int | None = None
    """Number of modifiers nested in the object."""
    clauses: int | None = None
    """Number of clauses nested in the sentence."""


@dataclass(slots=True)
class ClauseSampler:
    """Samples one sentence, without repeating nouns or names."""

    lexicon: Lexicon
    random: Random
    used: set[str] = field(default_factory=set)

    def clause(self, spec: ClauseSpec) -> Clause:
        """A random clause that fits the constraints, perhaps embedded in others."""
        self.used.update(spec.fillers.values())
        inner = self._simple(spec)
        depth = 0
        while (
            depth < spec.clauses
            if spec.clauses is not None
            else depth < MAX_TRAINING_DEPTH and self._chance(P_EMBEDDED)
        ):
            agent = self._phrase("clausal", "agent")
            inner = Clause("clausal", self._verb("clausal"), {"agent": agent}, complement=inner)
            depth += 1
        return inner

    def _simple(self, spec: ClauseSpec) -> Clause:
        frame = self.random.choices(spec.frames, weights=[WEIGHTS[name] for name in spec.frames])[0]
        phrases = {}
        for index, part in enumerate(FRAMES[frame]):
            if part in ROLES:
                nested: Nesting = 0
                if index == 0:
                    nested = "surely" if spec.modified_subject else 0
                elif part == "theme":
                    nested = "perhaps" if spec.modifiers is None else spec.modifiers
                phrases[part] = self._phrase(frame, part, nested, spec.fillers.get(part))
        infinitive = spec.infinitive if frame == "infinitive" else None
        if frame == "infinitive" and infinitive is None:
            infinitive = self.lexicon.verbs[self.random.choice(INFINITIVES)].draw(self.random)
        return Clause(frame, spec.verb or self._verb(frame), phrases, infinitive)

    def _verb(self, frame: str) -> Verb:
        return self.lexicon.verbs[self.random.choice(VERBS.get(frame, ("dative",)))].draw(self.random)

    def _phrase(self, frame: str, role: str, nested: Nesting = 0, word: str | None = None) -> Phrase:
        """A name, or a noun with its modifiers; always a noun if it must be modified."""
        kind = self._kind(frame, role)
        while word is None and kind == "names" and nested not in (0, "perhaps"):
            kind = self._kind(frame, role)
        word = word or self._fresh(kind)
        return Phrase(word) if word[0].isupper() else self._modified(word, self._depth(nested))

    def _depth(self, nested: Nesting) -> int:
        if isinstance(nested, int):
            return nested
        if nested == "surely" or self._chance(P_MODIFIED):
            return 2 if self._chance(P_MODIFIED_AGAIN) else 1
        return 0

    def _modified(self, noun: str, depth: int) -> Phrase:
        article = self.random.choice(("a", "the"))
        if depth == 0:
            return Phrase(noun, article)
        preposition = self.random.choice(("in", "on", "beside"))
        inner = self._fresh("insides" if preposition == "in" else "surfaces")
        return Phrase(noun, article, preposition, self._modified(inner, depth - 1))

    def _kind(self, frame: str, role: str) -> str:
        """The class of words for a role: themes are things, but some verbs take people as well."""
        chance = self.random.random()
        if role != "theme":
            return "names" if chance < 0.5 else "people"
        if frame not in ("transitive", "unaccusative") or chance >= 0.4:
            return "things"
        return "names" if chance < 0.18 else "people"

    def _fresh(self, kind: str) -> str:
        words = self.lexicon.names if kind == "names" else self.lexicon.nouns[kind]
        word = words.draw(self.random)
        while word in self.used:
            word = words.draw(self.random)
        self.used.add(word)
        return word

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability


SUBJECT_FRAMES = ("transitive", "pp_dative", "do_dative", "infinitive", "omitted", "unergative")
"""Frames in which the subject of an active verb is its agent."""
ACTIVE_OBJECT_FRAMES = ("transitive", "pp_dative", "do_dative")
PASSIVE_FRAMES = ("passive", "passive_by")
TEST_DEPTHS = range(3, 13)
"""Depths of recursion in the test; training goes down to 2."""


class HeldOutWord(NamedTuple):
    """A word that training has once, and where a sentence has it."""

    word: str
    frames: tuple[str, ...]
    role: str | None = None
    """The role of a noun or name; `xcomp` for an infinitive; None for another verb."""


EXPOSURES = (
    HeldOutWord("subj_common", SUBJECT_FRAMES, "agent"),
    HeldOutWord("subj_proper", SUBJECT_FRAMES, "agent"),
    HeldOutWord("obj_common", ("transitive",), "theme"),
    HeldOutWord("obj_proper", ("transitive",), "theme"),
    HeldOutWord("active", ("transitive",)),
    HeldOutWord("passive", PASSIVE_FRAMES),
    HeldOutWord("obj_omitted_transitive", ("omitted",)),
    HeldOutWord("unacc", ("unaccusative",)),
    HeldOutWord("do_dative", ("do_dative",)),
    HeldOutWord("pp_dative", ("pp_dative",)),
    HeldOutWord("transitive_subj", ("transitive",), "agent"),
    HeldOutWord("unacc_subj", ("unaccusative",), "theme"),
)
"""The only training sentence with each word, by its name in the published set without `exposure_example_`."""
LEXICAL: Mapping[str, HeldOutWord] = {
    "subj_to_obj_common": HeldOutWord("subj_common", ACTIVE_OBJECT_FRAMES, "theme"),
    "subj_to_obj_proper": HeldOutWord("subj_proper", ACTIVE_OBJECT_FRAMES, "theme"),
    "obj_to_subj_common": HeldOutWord("obj_common", SUBJECT_FRAMES, "agent"),
    "obj_to_subj_proper": HeldOutWord("obj_proper", SUBJECT_FRAMES, "agent"),
    "prim_to_subj_common": HeldOutWord("prim_common", SUBJECT_FRAMES, "agent"),
    "prim_to_subj_proper": HeldOutWord("prim_proper", SUBJECT_FRAMES, "agent"),
    "prim_to_obj_common": HeldOutWord("prim_common", ACTIVE_OBJECT_FRAMES, "theme"),
    "prim_to_obj_proper": HeldOutWord("prim_proper", ACTIVE_OBJECT_FRAMES, "theme"),
    "prim_to_inf_arg": HeldOutWord("prim_verb", ("infinitive",), "xcomp"),
    "active_to_passive": HeldOutWord("active", PASSIVE_FRAMES),
    "passive_to_active": HeldOutWord("passive", ("transitive",)),
    "obj_omitted_transitive_to_transitive": HeldOutWord("obj_omitted_transitive", ("transitive",)),
    "unacc_to_transitive": HeldOutWord("unacc", ("transitive",)),
    "do_dative_to_pp_dative": HeldOutWord("do_dative", ("pp_dative",)),
    "pp_dative_to_do_dative": HeldOutWord("pp_dative", ("do_dative",)),
    "only_seen_as_transitive_subj_as_unacc_subj": HeldOutWord("transitive_subj", ("unaccusative",), "theme"),
    "only_seen_as_unacc_subj_as_obj_omitted_transitive_subj": HeldOutWord("unacc_subj", ("omitted",), "agent"),
    "only_seen_as_unacc_subj_as_unerg_subj": HeldOutWord("unacc_subj", ("unergative",), "agent"),
}
"""The types that test a known word in a new role or frame."""
STRUCTURAL = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")
TYPES = (*LEXICAL, *STRUCTURAL)


def tested(kind: str, number: int, lexicon: Lexicon) -> ClauseSpec:
    """The `number`th test sentence of a type; depths of recursion cycle."""
    depth = TEST_DEPTHS[number % len(TEST_DEPTHS)]
    if kind == "obj_pp_to_subj_pp":
        return ClauseSpec(modified_subject=True)
    if kind == "cp_recursion":
        return ClauseSpec(clauses=depth)
    if kind == "pp_recursion":
        return ClauseSpec(OBJECT_FRAMES, modifiers=depth)
    return held_out_clause(lexicon, *LEXICAL[kind])


def held_out_clause(lexicon: Lexicon, word: str, frames: tuple[str, ...], role: str | None) -> ClauseSpec:
    """A sentence with a held-out word."""
    if role is None:
        return ClauseSpec(frames, verb=lexicon.held_out_verbs[word])
    if role == "xcomp":
        return ClauseSpec(frames, infinitive=lexicon.held_out_verbs[word])
    return ClauseSpec(frames, fillers={role: lexicon.held_out[word]})


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
