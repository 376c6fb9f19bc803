"""Texts that are longer than a model can take, as passages of tokens, each token asked in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from wug.errors import ModelError
from wug.models._ragged import Ints, Ragged
from wug.types import Reading

Piece: TypeAlias = tuple[int, int, int, int]
"""A passage reads the tokens from the first number up to the last, and asks those from the second up to the third."""
Cut: TypeAlias = Callable[[int, int, int], Iterator[Piece]]
"""The pieces of so many tokens, for passages of some size that go on by some stride."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Passages of texts."""

    tokens: Ragged
    where: Ints
    """For each token of a passage, where it stands in the flat texts; -1 where it is read but not asked."""
    texts: Ints
    """For each passage, the text that it is of."""
    firsts: Ints
    """For each passage, where it begins in its text."""


def room(
    reading: Reading, limit: int | None, marks: int, model: object, *, without_bos: bool = False
) -> tuple[int | None, int]:
    """Tokens of a text that a passage holds beside the model's own marks, and by how many passages go on.

    None: any number. Half of the room, where nothing else is said, is what a token has before it at least.
    `without_bos`: whether the model can read a passage that no BOS token begins.
    """
    if not (reading.window_bos or without_bos):
        raise ModelError(f"{model}: every window needs its start token: only causal models can leave out window_bos")
    if reading.window is not None and limit is not None and reading.window > limit:
        raise ModelError(
            f"{model}: a window of {reading.window:,} tokens is longer than the model's context of {limit:,}"
        )
    whole = reading.window or limit
    size = None if whole is None else whole - marks
    if size is None:
        return None, 1
    stride = reading.stride or max(1, size // 2)
    if size < 2 or stride >= size:
        raise ModelError(
            f"{model}: windows of {whole:,} tokens, {marks} of them marks, cannot go on by {stride:,}: the stride must "
            "be smaller than what a window holds"
        )
    return size, stride


def passages(texts: Ragged, size: int | None, stride: int, cut: Cut) -> Passages | None:
    """The passages of all texts; None where each text is one."""
    if size is None or not len(texts) or texts.lengths.max() <= size:
        return None
    flat: list[Ints] = []
    where: list[Ints] = []
    of_text: list[int] = []
    begins: list[int] = []
    for number, (start, length) in enumerate(zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)):
        for begin, first, last, end in cut(length, size, stride) if length > size else [(0, 0, length, length)]:
            flat.append(texts.flat[start + begin : start + end])
            places = np.arange(start + begin, start + end)
            where.append(np.where((places >= start + first) & (places < start + last), places, -1))
            of_text.append(number)
            begins.append(begin)
    lengths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat))
    return Passages(Ragged(np.concatenate(flat), lengths), np.concatenate(where), np.array(of_text), np.array(begins))


def to_the_left(length: int, size: int, stride: int, *, beyond: int = 0) -> Iterator[Piece]:
    """Pieces for a model that reads from left to right; `beyond` tokens after those asked are read as well."""
    last = size - beyond
    yield 0, 0, last, size
    while last < length:
        first, last = last, min(length, last + max(1, stride - beyond))
        end = min(length, last + beyond)
        yield end - size, first, last, end


def on_both_sides(length: int, size: int, stride: int) -> Iterator[Piece]:
    """Pieces for a model that sees both sides: what is asked stands in the middle, but at the ends of the text."""
    begin, first = 0, 0
    while True:
        end = begin + size
        last = length if end >= length else begin + (size + stride) // 2
        yield begin, first, last, end
        if end >= length:
            return
        begin, first = min(begin + stride, length - size), last
