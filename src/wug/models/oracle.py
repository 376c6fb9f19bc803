"""Correct answers by the rules of a family's language, with a given proportion of errors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from wug import registry
from wug.errors import InputError, UnknownName
from wug.models.spec import ModelSpec
from wug.options import Option
from wug.traits import BackendTraits

TRAITS = BackendTraits(returns="text", shows_backend=True)
MISTAKES, READINGS = ("symbol", "early", "empty"), ("rule", "exception")
OPTIONS = (
    Option("error", float, 0.0, "proportion of sources with a wrong output", least=0, most=1),
    Option("mistake", MISTAKES, "symbol", "a wrong output has another symbol, lacks the last one (early), or is empty"),
    Option("reading", READINGS, "rule", "meaning of the overgeneralisation pairs: by the rule, or the exceptional one"),
    Option("seed", int, 0, "which sources get a wrong output"),
)


@dataclass(frozen=True, slots=True)
class Oracle:
    """A generator that knows the language of a family: the family declares `oracle(source, exception)`.

    Whether it errs on a source depends only on the source and the seed.
    """

    family: str
    error: float = 0.0
    mistake: str = "symbol"
    reading: str = "rule"
    seed: int = 0
    chunk: int = 50_000

    @property
    def id(self) -> str:
        """The name of the language."""
        return f"oracle/{self.family}"

    @property
    def options(self) -> Mapping[str, str]:
        """What makes it differ from a perfect one."""
        mistakes = {"error": f"{self.error:g}", "mistake": self.mistake, "seed": str(self.seed)} if self.error else {}
        return mistakes | ({"reading": self.reading} if self.reading != "rule" else {})

    def generate(self, sources: Sequence[str]) -> list[str]:
        """The correct answer to each source, empty if there is none, or a wrong one."""
        family, exception = registry.family(self.family), self.reading == "exception"
        assert family.oracle is not None
        outputs = [family.oracle(source, exception=exception) for source in sources]
        return [self._answer(*pair, family.TRAITS.oracle_symbols) for pair in zip(sources, outputs, strict=True)]

    def _answer(self, source: str, right: str, symbols: Sequence[str]) -> str:
        if not self.error:
            return right
        key = f"{self.seed}\t{' '.join(source.split())}".encode()
        random = Random(int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big"))
        return _wrong_answer(right, self.mistake, symbols, random) if random.random() < self.error else right


def load(spec: ModelSpec) -> Oracle:
    """The oracle of a language."""
    languages = [family.name for family in registry.families() if family.oracle]
    if spec.name not in languages:
        raise UnknownName("oracle", spec.name, languages)
    oracle = Oracle(spec.name, **spec.read(OPTIONS))
    if oracle.error and not registry.family_traits(spec.name).oracle_symbols:
        raise InputError(f"oracle:{spec.name}: error={oracle.error:g} needs symbols, and the family has none")
    return oracle


def _wrong_answer(right: str, mistake: str, replacements: Sequence[str], random: Random) -> str:
    """A wrong answer; `replacements` are the symbols that may replace a right one."""
    symbols = right.split()
    if not symbols:
        return replacements[0]
    if mistake == "empty":
        return ""
    if mistake == "early":
        return " ".join(symbols[:-1])
    index = random.randrange(len(symbols))
    symbols[index] = random.choice([symbol for symbol in replacements if symbol != symbols[index]])
    return " ".join(symbols)
