"""Scored sentences as a page shows them: tokens with their bits, where they first differ, the totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wug.show.scripts import Direction, characters, direction, first_texts, joining, runs
from wug.types import Scored, Token

BITS, SHADES = 2, 10
"""Bits to a shade, and shades: as everywhere else."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token as the page shows it, or several that are one character together."""

    text: str
    bits: str
    shade: str
    """The class of its colour."""
    differs: bool = False
    """Whether it is the first token that another sentence has not in this place."""
    joined: bool = False
    """Whether it goes on with the word of the token before it."""
    parts: int = 1
    """Tokens that it stands for: several where each is a part of one character."""
    place: int = 0
    """Which token of the sentence it is, or begins with."""
    entropy: str = ""
    """Bits, of the distribution that its first token comes from; empty where that is not known."""
    rank: str = ""
    """Of its first token among all by probability; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence with its tokens."""

    text: str
    pieces: tuple[Piece, ...]
    total: str
    mean: str
    """Bits a token."""
    change: str = ""
    """Bits more or fewer than the first sentence; empty for the first itself."""
    least: bool = False
    """Whether it is the least surprising of several."""
    unscored: int = 0
    """Tokens without a probability."""

    @property
    def direction(self) -> Direction:
        """Which way the sentence runs."""
        return direction(self.text)

    @property
    def runs(self) -> list[tuple[Direction, tuple[Piece, ...]]]:
        """The pieces that run the same way together."""
        found = runs([piece.text for piece in self.pieces])
        return [(run.direction, self.pieces[run.places.start : run.places.stop]) for run in found]


@dataclass(frozen=True, slots=True)
class Panel:
    """What one model says of all sentences."""

    model: str
    lines: tuple[Line, ...]
    ended: bool = True
    error: str = ""
    verdict: str = ""


def panel(model: str, scored: Sequence[Scored]) -> Panel:
    """The sentences as one model has them."""
    totals = [one.surprisal() for one in scored]
    first = differing([one.tokens for one in scored])
    least = min(totals) if len(set(totals)) > 1 else None
    lines = tuple(
        Line(
            text=one.text,
            pieces=tuple(_pieces(one, first)),
            total=_bits(total),
            mean=_bits(total / len(known)) if (known := [t for t in one.tokens if t.logprob is not None]) else "–",
            change="" if index == 0 else _signed(total - totals[0]),
            least=total == least,
            unscored=len(one.tokens) - len(known),
        )
        for index, (one, total) in enumerate(zip(scored, totals, strict=True))
    )
    return Panel(model, lines, verdict=_verdict(totals))


def differing(sentences: Sequence[Sequence[Token]]) -> int | None:
    """Which token is the first that not all sentences share; None for one sentence, or where all are alike."""
    if len(sentences) < 2:
        return None
    for index in range(max(map(len, sentences))):
        if len({tokens[index].text if index < len(tokens) else None for tokens in sentences}) > 1:
            return index
    return None


def _verdict(totals: Sequence[float]) -> str:
    if len(totals) < 2:
        return ""
    low = min(totals)
    if all(total == low for total in totals):
        return "All sentences are as surprising."
    place = totals.index(low) + 1
    second = sorted(totals)[1]
    more = f"by {_bits(second - low)} bits" if second > low else "with another one"
    return f"Sentence {place} is the least surprising, {more}."


def _pieces(scored: Scored, first: int | None) -> Iterator[Piece]:
    """The tokens; those that are parts of one character as one, with the bits of all of them."""
    texts, tokens = first_texts(scored), scored.tokens
    together = characters(texts)
    joined = [_goes_on(scored.text, tokens[some.start].start) for some in together]
    shown = joining(["".join(text for place in some if (text := texts[place])) for some in together], joined)
    for some, text, goes_on in zip(together, shown, joined, strict=True):
        known = [bits for place in some if (bits := tokens[place].surprisal) is not None]
        bits = sum(known) if known else None
        shade = "sx" if bits is None else f"s{min(SHADES - 1, max(0, int(min(bits, 1e6) / BITS)))}"
        yield Piece(
            text=text.strip() or "␣",
            bits="–" if bits is None else _bits(bits),
            shade=shade,
            differs=first in some,
            joined=goes_on,
            parts=len(some),
            place=some.start,
            entropy=_entropy(scored, some.start),
            rank=_rank(scored, some.start),
        )


def _entropy(scored: Scored, place: int) -> str:
    nats = None if scored.entropies is None else scored.entropies[place]
    return "" if nats is None else _bits(nats / math.log(2))


def _rank(scored: Scored, place: int) -> str:
    rank = None if scored.ranks is None else scored.ranks[place]
    return "" if rank is None else f"{rank:,}"


def candidates(tokens: Sequence[Token]) -> list[dict[str, str]]:
    """The most probable tokens of a place as a page shows them: text, bits, percent."""
    return [
        {
            "text": token.text.strip() or "␣",
            "bits": _bits(-token.logprob / math.log(2)),
            "percent": f"{100 * math.exp(token.logprob):.1f}",
        }
        for token in tokens
        if token.logprob is not None
    ]


def _goes_on(text: str, place: int) -> bool:
    """Whether a word goes on at a place."""
    return 0 < place < len(text) and not text[place - 1].isspace()


def _bits(value: float) -> str:
    return "∞" if value == float("inf") else f"{value + 0.0:.1f}".replace("-", "−")


def _signed(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return "–"
    return f"{'+' if value >= 0 else '−'}{abs(value):.1f}"
