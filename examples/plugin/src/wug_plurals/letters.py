"""A model that finds a word as surprising as it has letters, so many bits each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.errors import InputError
from wug.types import LN2, Request, Scored, Token, Traits

TRAITS = Traits()
OPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Letters:
    """A scorer."""

    bits: float
    chunk: int = 10_000
    ordered: bool = False

    @property
    def id(self) -> str:
        """What tells it from others: all that its answers depend on."""
        return f"letters/{self.bits:g}"

    @property
    def options(self) -> Mapping[str, str]:
        """There are none."""
        return {}

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order."""
        return [self._scored(request.text) for request in requests]

    def _scored(self, text: str) -> Scored:
        words = re.finditer(r"\w+|[^\w\s]", text)
        return Scored.of(text, [Token(w[0], *w.span(), -LN2 * self.bits * len(w[0])) for w in words])


def load(spec: Any) -> Letters:
    """The model that a specification such as `letters:2` names."""
    try:
        bits = float(spec.name)
    except ValueError:
        raise InputError(f"letters:{spec.name}: write the bits of a letter, such as letters:2") from None
    return Letters(bits)
