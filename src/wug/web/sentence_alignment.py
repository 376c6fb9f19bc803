"""Two sentences with their tokens above each other, and how much each differs in surprisal."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import starmap, zip_longest
from typing import NamedTuple

from wug.requests import Scored, Token
from wug.views.parts import shade


class AlignedTokens(NamedTuple):
    """A token of each sentence, either of which may be missing."""

    first: str
    second: str
    difference: float | None
    """Surprisal of the second minus that of the first, in bits; None if one of them is unknown."""

    @property
    def text(self) -> str:
        """The difference with its sign; empty if it is unknown or rounds to 0."""
        difference = round(self.difference or 0.0, 1)
        return f"{'+' if difference > 0 else '−'}{abs(difference):.1f}" if difference else ""

    @property
    def shade(self) -> str:
        """CSS class of the background: the larger the difference, the stronger."""
        return shade(abs(self.difference)) if self.text and self.difference is not None else ""


def align(first: Scored, second: Scored) -> list[AlignedTokens]:
    """The tokens of two sentences, with equal ones above each other."""
    first_tokens, second_tokens = first.tokens, second.tokens
    matcher = SequenceMatcher(
        None, [token.text for token in first_tokens], [token.text for token in second_tokens], autojunk=False
    )
    pairs: list[AlignedTokens] = []
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        pairs += starmap(_align_pair, zip_longest(first_tokens[start:end], second_tokens[other_start:other_end]))
    return pairs


def _align_pair(first: Token | None, second: Token | None) -> AlignedTokens:
    bits = [None if token is None else token.surprisal for token in (first, second)]
    difference = None if bits[0] is None or bits[1] is None else bits[1] - bits[0]
    texts = ["" if token is None else token.text.strip() or "␣" for token in (first, second)]
    return AlignedTokens(texts[0], texts[1], difference)
