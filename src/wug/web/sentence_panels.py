"""Scored sentences as a page shows them: token by token, and two sentences above each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import starmap, zip_longest
from typing import NamedTuple

from wug.alignment import first_texts
from wug.requests import LN2, Scored, Token
from wug.views.parts import shade
from wug.views.text_display import Direction, characters, direction, direction_runs, join_letters


class TokenBox(NamedTuple):
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


class ScoredSentence(NamedTuple):
    """A sentence with its tokens."""

    text: str
    pieces: tuple[TokenBox, ...]
    total: str
    mean: str
    """Bits per token."""
    change: str = ""
    """Difference from the first sentence in bits; empty for the first."""
    is_least: bool = False
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
        sections = direction_runs([piece.text for piece in self.pieces])
        return [(run.direction, self.pieces[run.positions.start : run.positions.stop]) for run in sections]


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


class ModelPanel(NamedTuple):
    """One model's scores for all sentences."""

    model: str
    lines: tuple[ScoredSentence, ...]
    ended: bool = True
    error: str = ""
    verdict: str = ""
    token_pairs: tuple[AlignedTokens, ...] = ()
    """The tokens of two sentences above each other; empty for another number of sentences."""


def score_panel(model: str, scored: Sequence[Scored]) -> ModelPanel:
    """The panel of one model."""
    totals = [sentence.surprisal() for sentence in scored]
    difference_index = first_difference([sentence.tokens for sentence in scored])
    lowest = min(totals) if len(set(totals)) > 1 else None
    lines = tuple(
        ScoredSentence(
            text=sentence.text,
            pieces=tuple(_boxes(sentence, difference_index)),
            total=_bits(total),
            mean=_bits(total / len(scored_tokens))
            if (scored_tokens := [t for t in sentence.tokens if t.logprob is not None])
            else "–",
            change="" if index == 0 else _signed_bits(total - totals[0]),
            is_least=total == lowest,
            unscored=len(sentence.tokens) - len(scored_tokens),
        )
        for index, (sentence, total) in enumerate(zip(scored, totals, strict=True))
    )
    token_rows = tuple(align(*scored)) if len(scored) == 2 else ()
    return ModelPanel(model, lines, verdict=_verdict(totals), token_pairs=token_rows)


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
    runner_up = sorted(totals)[1]
    margin = f"by {_bits(runner_up - low)} bits" if runner_up > low else "tied with another one"
    word = "less" if len(totals) == 2 else "the least"
    return f"Sentence {totals.index(low) + 1} is {word} surprising, {margin}."


def _boxes(scored: Scored, difference_index: int | None) -> Iterator[TokenBox]:
    """The tokens; those that make up one character as one, with their total surprisal."""
    texts, tokens = first_texts(scored), scored.tokens
    spans = characters(texts)
    starts = [tokens[span.start].start for span in spans]
    continues_word = [0 < at < len(scored.text) and not scored.text[at - 1].isspace() for at in starts]
    labels = join_letters(
        ["".join(text for position in span if (text := texts[position])) for span in spans], continues_word
    )
    for span, text, is_joined in zip(spans, labels, continues_word, strict=True):
        known_bits = [bits for position in span if (bits := tokens[position].surprisal) is not None]
        bits = min(sum(known_bits), 1e6) if known_bits else None
        yield TokenBox(
            text=text.strip() or "␣",
            bits="–" if bits is None else _bits(sum(known_bits)),
            shade=shade(bits),
            differs=difference_index in span,
            joined=is_joined,
            parts=len(span),
            place=span.start,
            entropy=_entropy(scored, span.start),
            rank=_rank(scored, span.start),
        )


def _entropy(scored: Scored, position: int) -> str:
    nats = None if scored.entropies is None else scored.entropies[position]
    return "" if nats is None else _bits(nats / LN2)


def _rank(scored: Scored, position: int) -> str:
    rank = None if scored.ranks is None else scored.ranks[position]
    return "" if rank is None else f"{rank:,}"


def _bits(value: float) -> str:
    return "∞" if value == math.inf else f"{value + 0.0:.1f}".replace("-", "−")


def _signed_bits(value: float) -> str:
    return f"{'+' if value >= 0 else '−'}{abs(value):.1f}" if math.isfinite(value) else "–"


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
