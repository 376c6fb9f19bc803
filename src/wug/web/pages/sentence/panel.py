"""Scored sentences as the page shows them: tokens with their surprisal, the first difference, totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wug.types import LN2, Scored, Token
from wug.views.parts import shade
from wug.views.scripts import Direction, characters, direction, first_texts, joining, runs


@dataclass(frozen=True, slots=True)
class TokenBox:
    """A token as the page shows it, or several tokens that make up one character."""

    text: str
    bits: str
    shade: str
    """CSS class of the background."""
    differs: bool = False
    """Whether it is the first token that not all sentences share."""
    joined: bool = False
    """Whether it continues the word of the previous token."""
    parts: int = 1
    """Number of tokens; several if each is a part of one character."""
    place: int = 0
    """Index of its first token."""
    entropy: str = ""
    """Entropy in bits at its first token; empty if unknown."""
    rank: str = ""
    """Rank of its first token by probability; empty if unknown."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence with its tokens."""

    text: str
    pieces: tuple[TokenBox, ...]
    total: str
    mean: str
    """Bits per token."""
    change: str = ""
    """Difference from the first sentence in bits; empty for the first."""
    least: bool = False
    """Whether it is the least surprising of several."""
    unscored: int = 0
    """Tokens without a probability."""

    @property
    def direction(self) -> Direction:
        """Writing direction of the sentence."""
        return direction(self.text)

    @property
    def runs(self) -> list[tuple[Direction, tuple[TokenBox, ...]]]:
        """Tokens grouped into runs of one writing direction."""
        found = runs([piece.text for piece in self.pieces])
        return [(run.direction, self.pieces[run.places.start : run.places.stop]) for run in found]


@dataclass(frozen=True, slots=True)
class ModelPanel:
    """One model's scores for all sentences."""

    model: str
    lines: tuple[ScoredSentence, ...]
    ended: bool = True
    error: str = ""
    verdict: str = ""


def score_panel(model: str, scored: Sequence[Scored]) -> ModelPanel:
    """The panel of one model."""
    totals = [one.surprisal() for one in scored]
    first = first_difference([one.tokens for one in scored])
    least = min(totals) if len(set(totals)) > 1 else None
    lines = tuple(
        ScoredSentence(
            text=one.text,
            pieces=tuple(_boxes(one, first)),
            total=_bits(total),
            mean=_bits(total / len(known)) if (known := [t for t in one.tokens if t.logprob is not None]) else "–",
            change="" if index == 0 else _signed(total - totals[0]),
            least=total == least,
            unscored=len(one.tokens) - len(known),
        )
        for index, (one, total) in enumerate(zip(scored, totals, strict=True))
    )
    return ModelPanel(model, lines, verdict=_verdict(totals))


def first_difference(sentences: Sequence[Sequence[Token]]) -> int | None:
    """Index of the first token that not all sentences share; None if there is none."""
    if len(sentences) < 2:
        return None
    for index in range(max(map(len, sentences))):
        if len({tokens[index].text if index < len(tokens) else None for tokens in sentences}) > 1:
            return index
    return None


def token_candidates(tokens: Sequence[Token]) -> list[dict[str, str]]:
    """The most probable tokens at a position: text, bits and percent."""
    return [
        {
            "text": token.text.strip() or "␣",
            "bits": _bits(-token.logprob / LN2),
            "percent": f"{100 * math.exp(token.logprob):.1f}",
        }
        for token in tokens
        if token.logprob is not None
    ]


def _verdict(totals: Sequence[float]) -> str:
    if len(totals) < 2:
        return ""
    low = min(totals)
    if all(total == low for total in totals):
        return "All sentences are equally surprising."
    second = sorted(totals)[1]
    margin = f"by {_bits(second - low)} bits" if second > low else "tied with another one"
    return f"Sentence {totals.index(low) + 1} is the least surprising, {margin}."


def _boxes(scored: Scored, first: int | None) -> Iterator[TokenBox]:
    """The tokens; those that make up one character as one, with their total surprisal."""
    texts, tokens = first_texts(scored), scored.tokens
    together = characters(texts)
    joined = [_continues_word(scored.text, tokens[some.start].start) for some in together]
    shown = joining(["".join(text for place in some if (text := texts[place])) for some in together], joined)
    for some, text, is_joined in zip(together, shown, joined, strict=True):
        known = [bits for place in some if (bits := tokens[place].surprisal) is not None]
        bits = min(sum(known), 1e6) if known else None
        yield TokenBox(
            text=text.strip() or "␣",
            bits="–" if bits is None else _bits(sum(known)),
            shade=shade(bits),
            differs=first in some,
            joined=is_joined,
            parts=len(some),
            place=some.start,
            entropy=_entropy(scored, some.start),
            rank=_rank(scored, some.start),
        )


def _entropy(scored: Scored, place: int) -> str:
    nats = None if scored.entropies is None else scored.entropies[place]
    return "" if nats is None else _bits(nats / LN2)


def _rank(scored: Scored, place: int) -> str:
    rank = None if scored.ranks is None else scored.ranks[place]
    return "" if rank is None else f"{rank:,}"


def _continues_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and not text[place - 1].isspace()


def _bits(value: float) -> str:
    return "∞" if value == math.inf else f"{value + 0.0:.1f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '−'}{abs(value):.1f}" if math.isfinite(value) else "–"
