"""Answers by the rules of a family's language, with a stated proportion of errors if wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from wug import registry
from wug.errors import UnknownName
from wug.models._spec import ModelSpec
from wug.options import Option
from wug.types import Traits

TRAITS = Traits(returns="text", shows_kind=True)
MISTAKES, READINGS = ("symbol", "early", "empty"), ("rule", "exception")
OPTIONS = (
    Option("error", float, 0.0, "the share of sources that get a wrong answer", least=0, most=1),
    Option("mistake", MISTAKES, "symbol", "a wrong answer has another symbol, lacks the last one (early), or is empty"),
    Option("reading", READINGS, "rule", "of the overgeneralisation pairs; exception is the remapped meaning"),
    Option("seed", int, 0, "which sources get a wrong answer"),
)

Mistake: TypeAlias = Literal["symbol", "early", "empty"]
Reading: TypeAlias = Literal["rule", "exception"]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A generator that knows the language of a family: the family declares `oracle(source, exception)`.

    Whether it errs on a source depends on the source and the seed alone, so that the same question
    always gets the same answer, in whatever company it is asked.
    """

    family: str
    error: float = 0.0
    mistake: Mistake = "symbol"
    reading: Reading = "rule"
    seed: int = 0
    chunk: int = 50_000

    @property
    def id(self) -> str:
        """The name of the language; options change its answers."""
        return f"oracle/{self.family}"

    @property
    def options(self) -> Mapping[str, str]:
        """Whatever makes it differ from a perfect one."""
        if not self.error:
            return {"reading": self.reading} if self.reading != "rule" else {}
        mistakes = {"error": f"{self.error:g}", "mistake": self.mistake, "seed": str(self.seed)}
        return {**mistakes, "reading": self.reading} if self.reading != "rule" else mistakes

    def generate(self, sources: Sequence[str]) -> list[str]:
        """The meaning of each source, empty where it has none, or a mistake."""
        answer = registry.find("families", self.family).oracle
        return [self._answer(source, answer(source, exception=self.reading == "exception")) for source in sources]

    def _answer(self, source: str, right: str) -> str:
        if not self.error:
            return right
        key = f"{self.seed}\t{' '.join(source.split())}".encode()
        random = Random(int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big"))
        return _wrong(right, self.mistake, random) if random.random() < self.error else right


def load(spec: ModelSpec) -> Oracle:
    """The oracle of a language, by its name."""
    languages = registry.declared("families", "oracle")
    if spec.name not in languages:
        raise UnknownName("oracle", spec.name, languages)
    return Oracle(spec.name, **spec.read(OPTIONS))


def _wrong(right: str, mistake: Mistake, random: Random) -> str:
    """An answer that differs from the right one."""
    symbols = right.split()
    if not symbols:
        return "A1"
    if mistake == "empty":
        return ""
    if mistake == "early":
        return " ".join(symbols[:-1])
    place = random.randrange(len(symbols))
    others = [f"{letter}{number}" for letter in "ABCDE" for number in range(1, 4)]
    symbols[place] = random.choice([symbol for symbol in others if symbol != symbols[place]])
    return " ".join(symbols)
