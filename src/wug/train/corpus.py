"""Text to learn from: sentences, tokens, and rows of tokens that begin where a sentence does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from wug.errors import InputError
from wug.files import checksum, read_lines

Unit = Literal["sentence", "paragraph"]
Ids = npt.NDArray[np.uint16]

NOT_TEXT = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".html", ".xml")
PIECE = 1 << 16
"""Units tokenised at a time."""

_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')]))\s+(?=["'(]?[A-Z])""")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Prof|Gen|Capt|Col|Rev|Hon|[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Stream:
    """A corpus as numbers: units one after the other, each opened by the beginning-of-sentence token (bos)."""

    ids: Ids
    starts: npt.NDArray[np.int64]
    """Where the units begin, with their bos."""

    @classmethod
    def of(cls, ids: Ids, bos: int) -> Stream:
        """The stream of these numbers."""
        return cls(ids, np.flatnonzero(ids == bos))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one length from a stream, in an order that the seed and the epoch decide."""

    stream: Stream
    length: int
    batch: int
    seed: int
    unit: Unit = "sentence"
    """What a model learns from these rows sees by itself."""

    @property
    def steps_an_epoch(self) -> int:
        """Steps in which as many tokens are seen as the stream has."""
        return max(1, len(self.stream.ids) // (self.length * self.batch))

    def starts(self, step: int) -> npt.NDArray[np.int64]:
        """Where the rows of a step begin: at the beginning of a unit, so that none is seen without its first half."""
        epoch, place = divmod(step, self.steps_an_epoch)
        draw = np.random.default_rng([self.seed, epoch, place])
        possible = np.searchsorted(self.stream.starts, len(self.stream.ids) - self.length, side="right")
        return self.stream.starts[draw.integers(0, possible, self.batch)]


def read_units(paths: Sequence[Path], unit: Unit, seed: int) -> list[str]:
    """The sentences or paragraphs (lines) of some files, in an order that the seed decides."""
    units: list[str] = []
    for path in paths:
        for line in read_lines(path):
            if line := line.strip():
                units += sentences(line) if unit == "sentence" else [line]
    if not units:
        raise InputError("there is no text to learn from", file=paths[0] if paths else None)
    order = np.random.default_rng(seed).permutation(len(units))
    return [units[place] for place in order]


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph: cut after . ! ? before a capital letter, but not after a title or an initial."""
    found: list[str] = []
    begin = 0
    for end in _END.finditer(paragraph):
        if not _TITLE.search(paragraph, max(0, end.start() - 8), end.start()):
            found.append(paragraph[begin : end.start()])
            begin = end.end()
    found.append(paragraph[begin:])
    # A quotation of several sentences leaves its first quotation mark to one and its last to another.
    return [text.replace('"', "") if text.count('"') == 1 else text for text in found]


def encode(
    units: Sequence[str], ids_of: Callable[[list[str]], Iterator[list[int]]], bos: int, end: int | None = None
) -> Ids:
    """The numbers of all units, each between a beginning-of-sentence token and, if there is one, an end token."""
    closing = [] if end is None else [end]
    parts: list[Ids] = []
    for first in range(0, len(units), PIECE):
        found = ids_of(list(units[first : first + PIECE]))
        flat = chain.from_iterable(chain((bos,), ids, closing) for ids in found)
        parts.append(np.fromiter(flat, dtype=np.uint16))
    return np.concatenate(parts)


def corpus_checksum(paths: Sequence[Path]) -> str:
    """A checksum of the files, as they lie on disk."""
    for path in paths:
        if path.is_dir():
            raise InputError("is a folder: name the files in it", file=path)
        if not path.is_file():
            raise InputError("no such file", file=path)
        if Path(path.name.lower().removesuffix(".gz").removesuffix(".xz")).suffix in NOT_TEXT:
            raise InputError("not plain text, by its name: write its text to a file, one paragraph per line", file=path)
    return checksum(*(path.read_bytes() for path in paths))
