"""A model for which a word is as surprising as it is long: a fixed number of bits per letter."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wug.errors import InputError
from wug.models import ModelSpec
from wug.options import Option
from wug.types import LN2, BackendTraits, Request, Scored, Token

TRAITS = BackendTraits(verbatim_names=True, uses_device=True)
"""Names may contain `?`, which otherwise starts the options of a model; `--device` is passed on as an option."""
OPTIONS = (Option("device", str, None, "cpu or cuda; the arithmetic is so simple that the scores are the same"),)
NAME = re.compile(r"(vowel\?(?P<vowel>\d+(\.\d+)?):)?(?P<letter>\d+(\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Letters:
    """A scorer."""

    name: str
    bits: Mapping[str, float]
    """By letter."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that change the scores: none."""
    chunk: int = 10_000
    """Requests in a few seconds' work."""
    ordered: bool = False
    """Whether a score depends on the requests before it."""

    @property
    def id(self) -> str:
        """The backend, and everything that the scores depend on."""
        return f"letters/{self.name}"

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One scored text per request, in order."""
        return [self._scored(request.text) for request in requests]

    def _scored(self, text: str) -> Scored:
        words = re.finditer(r"\w+|[^\w\s]", text)
        return Scored.of(text, [Token(w[0], *w.span(), -LN2 * self._bits(w[0])) for w in words])

    def _bits(self, word: str) -> float:
        return sum(self.bits.get(letter, self.bits["z"]) for letter in word.lower())


def load(spec: ModelSpec) -> Letters:
    """The model of a name: `2` for 2 bits per letter, `vowel?1:2` for 1 bit per vowel and 2 per other letter."""
    spec.read(OPTIONS)
    return Letters(spec.name, table(spec.name))


def prefetch(spec: ModelSpec) -> None:
    """Called in a thread while the model before this one runs: download or convert files here."""
    if NAME.fullmatch(spec.name):
        table(spec.name)


@functools.cache
def table(name: str) -> Mapping[str, float]:
    """The bits of each letter."""
    found = NAME.fullmatch(name)
    if found is None:
        raise InputError(f"letters:{name}: write the bits per letter, such as letters:2 or letters:vowel?1:2")
    letter = float(found["letter"])
    return dict.fromkeys(string.ascii_lowercase, letter) | dict.fromkeys("aeiou", float(found["vowel"] or letter))
