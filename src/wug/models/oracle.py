"""Answers by the rules of the language itself, with a stated share of mistakes if wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Literal, TypeAlias, cast, get_args

from wug.errors import InputError, UnknownName
from wug.families.pcfgset.language import answer, exceptional, exceptions
from wug.models._spec import ModelSpec

ANSWERS = "text"
OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "error": "share of sources that get a wrong answer, 0 to 1 (default 0)",
        "mistake": "what a wrong answer is: symbol (one is another), early (the last is missing) or empty",
        "reading": "of the overgeneralisation pairs: rule, or exception for the remapped meaning",
        "seed": "which sources get a wrong answer (default 0)",
    }
)
LANGUAGES = ("pcfgset",)

Mistake: TypeAlias = Literal["symbol", "early", "empty"]
Reading: TypeAlias = Literal["rule", "exception"]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A generator that knows the language of PCFG SET.

    Whether it errs on a source depends on the source and the seed alone, so that the same question
    always gets the same answer, in whatever company it is asked.
    """

    error: float = 0.0
    mistake: Mistake = "symbol"
    reading: Reading = "rule"
    seed: int = 0
    id: str = "oracle/pcfgset"
    chunk: int = 50_000

    @property
    def options(self) -> Mapping[str, str]:
        """Whatever makes it differ from a perfect one."""
        if not self.error:
            return {"reading": self.reading} if self.reading != "rule" else {}
        mistakes = {"error": f"{self.error:g}", "mistake": self.mistake, "seed": str(self.seed)}
        return {**mistakes, "reading": self.reading} if self.reading != "rule" else mistakes

    def generate(self, sources: Sequence[str]) -> list[str]:
        """The meaning of each source, empty where it has none, or a mistake."""
        return [self._answer(source) for source in sources]

    def _answer(self, source: str) -> str:
        pair = exceptions(source)[:1] if self.reading == "exception" else []
        right = answer(exceptional(source, pair[0]) if pair else source)
        if not self.error:
            return right
        key = f"{self.seed}\t{' '.join(source.split())}".encode()
        random = Random(int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big"))
        return _wrong(right, self.mistake, random) if random.random() < self.error else right


def load(spec: ModelSpec) -> Oracle:
    """The oracle of a language, by its name."""
    if spec.name not in LANGUAGES:
        raise UnknownName("oracle", spec.name, LANGUAGES)
    given = spec.checked(OPTIONS)
    mistake, reading = given.get("mistake", "symbol"), given.get("reading", "rule")
    for value, kind, known in ((mistake, "mistake", get_args(Mistake)), (reading, "reading", get_args(Reading))):
        if value not in known:
            raise UnknownName(f"{kind} of an oracle", value, known)
    return Oracle(
        error=_share(given.get("error", "0")),
        mistake=cast(Mistake, mistake),
        reading=cast(Reading, reading),
        seed=_whole(given.get("seed", "0")),
    )


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


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"error={text}: a share of wrong answers lies between 0 and 1")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"seed={text}: a seed is a whole number") from None
