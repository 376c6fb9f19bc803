"""A model in which the surprisal of a word is the sum of the bits of its letters."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wug.types import LN2, BackendTraits, InputError, ModelSpec, Option, Request, Scored, Token

TRAITS = BackendTraits(verbatim_names=True, uses_device=True)
"""Names may contain `?`, which otherwise starts the options of a model; `--device` is passed on as an option."""
OPTIONS = (Option("device", str, None, "cpu or cuda; the arithmetic is so simple that the scores are the same"),)
NAME = re.compile(r"(vowel\?(?P<vowel>\d+(\.\d+)?):)?(?P<letter>\d+(\.\d+)?)")


@dataclass(frozen=True, slots=True)
class LetterModel:
    """A model that scores texts."""

    name: str
    bits: Mapping[str, float]
    """The surprisal of each letter."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that change the scores: none."""
    chunk: int = 10_000
    """The number of requests that it scores in a few seconds; wug sends and caches this many at a time."""
    ordered: bool = False
    """Whether a score depends on earlier requests."""

    @property
    def id(self) -> str:
        """The backend, and everything that the scores depend on."""
        return f"letters/{self.name}"

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One scored text per request, in order."""
        return [self._scored(request.text) for request in requests]

    def _scored(self, text: str) -> Scored:
        words = re.finditer(r"\w+|[^\w\s]", text)
        # Tokens have natural logarithms of probabilities; a bit is ln 2.
        tokens = [Token(word[0], *word.span(), -LN2 * self._surprisal(word[0])) for word in words]
        return Scored.of(text, tokens)

    def _surprisal(self, word: str) -> float:
        return sum(self.bits.get(letter, self.bits["z"]) for letter in word.lower())


def load(spec: ModelSpec) -> LetterModel:
    """The model of a name: `2` for 2 bits per letter, `vowel?1:2` for 1 bit per vowel and 2 per other letter."""
    spec.read(OPTIONS)
    return LetterModel(spec.name, bits_by_letter(spec.name))


def prefetch(spec: ModelSpec) -> None:
    """Called in a thread while the model before this one runs: download or convert files here."""
    if NAME.fullmatch(spec.name):
        bits_by_letter(spec.name)


@functools.cache
def bits_by_letter(name: str) -> Mapping[str, float]:
    """The bits of each letter."""
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(f"letters:{name}: write the bits per letter, such as letters:2 or letters:vowel?1:2")
    letter = float(match["letter"])
    return dict.fromkeys(string.ascii_lowercase, letter) | dict.fromkeys("aeiou", float(match["vowel"] or letter))
