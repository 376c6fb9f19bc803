"""Long texts in overlapping passages of tokens; each token is scored in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from wug.arrays import Ints
from wug.errors import ModelError
from wug.models.tokenization.ragged import Ragged
from wug.requests import TextScoring

Piece: TypeAlias = tuple[int, int, int, int]
"""A passage reads the tokens from the first number to the last, and scores those from the second to the third."""
Cut: TypeAlias = Callable[[int, int, int], Iterator[Piece]]
"""The pieces of a text of some length, given size and stride."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Passages of texts."""

    tokens: Ragged
    where: Ints
    """For each token of a passage, its index in the flat texts; -1 if it is read but not scored."""
    texts: Ints
    """For each passage, its text."""
    firsts: Ints
    """For each passage, where it begins in its text."""


def window_size(
    scoring: TextScoring, limit: int | None, special: int, model: object, *, without_bos: bool = False
) -> tuple[int | None, int]:
    """Tokens of a text per window, without `special` tokens (None: any number), and the stride (default: half of it).

    `without_bos` says whether the model can read a window without a BOS token.
    """
    if not (scoring.window_bos or without_bos):
        raise ModelError(f"{model}: every window needs its start token: only causal models can leave out window_bos")
    if scoring.window is not None and limit is not None and scoring.window > limit:
        raise ModelError(
            f"{model}: a window of {scoring.window:,} tokens is longer than the model's context of {limit:,}"
        )
    window = scoring.window or limit
    size = None if window is None else window - special
    if size is None:
        return None, 1
    stride = scoring.stride or max(1, size // 2)
    if size < 2 or stride >= size:
        raise ModelError(
            f"{model}: windows of {window:,} tokens, {special} of them special, cannot advance by {stride:,}: the "
            "stride must be smaller than a window"
        )
    return size, stride


def passages(texts: Ragged, size: int | None, stride: int, cut: Cut) -> Passages | None:
    """The passages of all texts; None if each text is one."""
    if size is None or not len(texts) or texts.lengths.max() <= size:
        return None
    flat: list[Ints] = []
    where: list[Ints] = []
    of_text: list[int] = []
    begins: list[int] = []
    for number, (start, length) in enumerate(zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)):
        for begin, first, last, end in cut(length, size, stride) if length > size else [(0, 0, length, length)]:
            flat.append(texts.flat[start + begin : start + end])
            positions = np.arange(start + begin, start + end)
            where.append(np.where((positions >= start + first) & (positions < start + last), positions, -1))
            of_text.append(number)
            begins.append(begin)
    lengths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat))
    return Passages(Ragged(np.concatenate(flat), lengths), np.concatenate(where), np.array(of_text), np.array(begins))


def to_the_left(length: int, size: int, stride: int, *, beyond: int = 0) -> Iterator[Piece]:
    """Pieces for a model that reads from left to right; `beyond` tokens after those scored are read as well."""
    last = size - beyond
    yield 0, 0, last, size
    while last < length:
        first, last = last, min(length, last + max(1, stride - beyond))
        end = min(length, last + beyond)
        yield end - size, first, last, end


def on_both_sides(length: int, size: int, stride: int) -> Iterator[Piece]:
    """Pieces for a model that sees both sides: scored tokens are in the middle, except at the ends of the text."""
    begin, first = 0, 0
    while True:
        end = begin + size
        last = length if end >= length else begin + (size + stride) // 2
        yield begin, first, last, end
        if end >= length:
            return
        begin, first = min(begin + stride, length - size), last


def refuse_long(sequences: Ragged, limit: int | None, texts: Sequence[str], model: object, special: int = 0) -> None:
    """Refuse texts that are longer than the context of a model with the `special` tokens that are added."""
    if limit is None or not len(sequences) or sequences.lengths.max() + special <= limit:
        return
    longest = int(sequences.lengths.argmax())
    raise ModelError(
        f"{model}: a text of {sequences.lengths[longest] + special:,} tokens is longer than the model's context of "
        f"{limit:,}: {texts[longest][:60]!r}…"
    )
