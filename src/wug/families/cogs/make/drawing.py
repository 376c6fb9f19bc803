"""Drawing clauses at random, each kind as often as in the published training set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeAlias

from wug.families.cogs.make.clauses import FRAMES, ROLES, Clause, Phrase
from wug.families.cogs.make.lexicon import Lexicon, Verb

Nested: TypeAlias = int | Literal["perhaps", "surely"]
"""How many modifiers are nested in a phrase: so many, or some number, or some number above 0."""

# With these the innermost clauses of a training set have the shares of the published one. The short kinds are drawn
# somewhat more often than that, because more of their sentences are known already and drawn in vain.
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
"""The classes whose verbs a frame takes, each as often; the dative frames take dative verbs."""
INFINITIVES = ("unergative", "omissible")
OBJECT_FRAMES = ("transitive", "pp_dative", "do_dative", "do_dative_passive", "do_dative_passive_by")
"""Where a theme follows the verb: the only phrases that training modifies."""

EMBEDDED = 0.085
"""How likely a clause is to become the complement of another one."""
MODIFIED = 0.5
"""How likely a noun in object place is to be modified."""
MODIFIED_AGAIN = 0.09
"""How likely the noun in a modifier is to be modified itself."""
DEEPEST = 2
"""Nested clauses, or nested modifiers, that training goes down to."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a clause must have; what is left open is drawn."""

    frames: tuple[str, ...] = tuple(WEIGHTS)
    verb: Verb | None = None
    infinitive: Verb | None = None
    fillers: Mapping[str, str] = field(default_factory=dict)
    """A noun or a name for a role."""
    modified_subject: bool = False
    modifiers: int | None = None
    """How many modifiers are nested in the object."""
    clauses: int | None = None
    """How many clauses are nested in the sentence."""


@dataclass(slots=True)
class Drawing:
    """One sentence in the making: no noun and no name stands in it twice."""

    lexicon: Lexicon
    random: Random
    used: set[str] = field(default_factory=set)

    def clause(self, wish: Wish) -> Clause:
        """A sentence: a clause as wished for, perhaps within others."""
        self.used.update(wish.fillers.values())
        inner = self._simple(wish)
        depth = 0
        while depth < wish.clauses if wish.clauses is not None else depth < DEEPEST and self._chance(EMBEDDED):
            agent = self._phrase("clausal", "agent")
            inner = Clause("clausal", self._verb("clausal"), {"agent": agent}, complement=inner)
            depth += 1
        return inner

    def _simple(self, wish: Wish) -> Clause:
        frame = self.random.choices(wish.frames, weights=[WEIGHTS[name] for name in wish.frames])[0]
        parts = FRAMES[frame]
        phrases = {}
        for place, part in enumerate(parts):
            if part in ROLES:
                nested: Nested = 0
                if place == 0:
                    nested = "surely" if wish.modified_subject else 0
                elif part == "theme":
                    nested = "perhaps" if wish.modifiers is None else wish.modifiers
                phrases[part] = self._phrase(frame, part, nested, wish.fillers.get(part))
        infinitive = (wish.infinitive or self._infinitive()) if frame == "infinitive" else None
        return Clause(frame, wish.verb or self._verb(frame), phrases, infinitive)

    def _verb(self, frame: str) -> Verb:
        return self.lexicon.verbs[self.random.choice(VERBS.get(frame, ("dative",)))].draw(self.random)

    def _infinitive(self) -> Verb:
        return self.lexicon.verbs[self.random.choice(INFINITIVES)].draw(self.random)

    def _phrase(self, frame: str, role: str, nested: Nested = 0, word: str | None = None) -> Phrase:
        """A name, or a noun with its modifiers; where there must be a modifier, a noun."""
        kind = self._kind(frame, role)
        while word is None and kind == "names" and nested not in (0, "perhaps"):
            kind = self._kind(frame, role)
        word = word or self._fresh(kind)
        return Phrase(word) if word[0].isupper() else self._modified(word, self._depth(nested))

    def _depth(self, nested: Nested) -> int:
        if isinstance(nested, int):
            return nested
        if nested == "surely" or self._chance(MODIFIED):
            return 2 if self._chance(MODIFIED_AGAIN) else 1
        return 0

    def _modified(self, noun: str, depth: int) -> Phrase:
        article = self.random.choice(("a", "the"))
        if depth == 0:
            return Phrase(noun, article)
        preposition = self.random.choice(("in", "on", "beside"))
        inner = self._fresh("insides" if preposition == "in" else "surfaces")
        return Phrase(noun, article, preposition, self._modified(inner, depth - 1))

    def _kind(self, frame: str, role: str) -> str:
        """What a role is filled with: themes are things, except that some verbs take people as well."""
        chance = self.random.random()
        if role != "theme":
            return "names" if chance < 0.5 else "people"
        if frame in ("transitive", "unaccusative"):
            return "names" if chance < 0.18 else "people" if chance < 0.4 else "things"
        return "things"

    def _fresh(self, kind: str) -> str:
        words = self.lexicon.names if kind == "names" else self.lexicon.nouns[kind]
        word = words.draw(self.random)
        while word in self.used:
            word = words.draw(self.random)
        self.used.add(word)
        return word

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability
