"""Training text: sentences, token ids, and rows of tokens that begin at a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from wug.arrays import Ints
from wug.errors import InputError
from wug.files import checksum, read_lines
from wug.train.checkpoint import TrainingFolder
from wug.train.vocabulary import save_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Unit = Literal["sentence", "paragraph"]
Ids = npt.NDArray[np.uint16]

NOT_TEXT = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".html", ".xml")
CHUNK_UNITS = 1 << 16

_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')]))\s+(?=["'(]?[A-Z])""")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Prof|Gen|Capt|Col|Rev|Hon|[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Rows of one length from a corpus, drawn by seed and step."""

    ids: Ids
    """Units one after the other, each preceded by BOS."""
    bos: int
    length: int
    batch: int
    seed: int
    unit: Unit = "sentence"
    """What the model sees at a time."""
    bos_positions: Ints = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bos_positions", np.flatnonzero(self.ids == self.bos))

    @property
    def steps_per_epoch(self) -> int:
        """Steps that see as many tokens as the corpus has."""
        return max(1, len(self.ids) // (self.length * self.batch))

    def starts(self, step: int) -> Ints:
        """The start positions of the rows of a step, each at the beginning of a unit."""
        epoch, step_in_epoch = divmod(step, self.steps_per_epoch)
        generator = np.random.default_rng([self.seed, epoch, step_in_epoch])
        n_starts = np.searchsorted(self.bos_positions, len(self.ids) - self.length, side="right")
        return self.bos_positions[generator.integers(0, n_starts, self.batch)]


def read_units(paths: Sequence[Path], unit: Unit, seed: int) -> list[str]:
    """The sentences or paragraphs (lines) of files, shuffled by the seed."""
    units: list[str] = []
    for path in paths:
        for line in read_lines(path):
            if line := line.strip():
                units += sentences(line) if unit == "sentence" else [line]
    if not units:
        raise InputError("there is no text to train on", file=paths[0] if paths else None)
    order = np.random.default_rng(seed).permutation(len(units))
    return [units[index] for index in order]


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph after . ! ? before a capital letter, but not after a title or an initial."""
    texts: list[str] = []
    start = 0
    for end in _END.finditer(paragraph):
        if not _TITLE.search(paragraph, max(0, end.start() - 8), end.start()):
            texts.append(paragraph[start : end.start()])
            start = end.end()
    texts.append(paragraph[start:])
    # A quotation of several sentences leaves its first quotation mark to one and its last to another.
    return [text.replace('"', "") if text.count('"') == 1 else text for text in texts]


def encode(
    units: Sequence[str], ids_of: Callable[[list[str]], Iterator[list[int]]], bos: int, end: int | None = None
) -> Ids:
    """The token ids of all units, each preceded by BOS and, if `end` is given, followed by it."""
    closing = [] if end is None else [end]
    chunks: list[Ids] = []
    for start in range(0, len(units), CHUNK_UNITS):
        chunk_ids = ids_of(list(units[start : start + CHUNK_UNITS]))
        flat = chain.from_iterable(chain((bos,), ids, closing) for ids in chunk_ids)
        chunks.append(np.fromiter(flat, dtype=np.uint16))
    return np.concatenate(chunks)


def corpus_checksum(paths: Sequence[Path]) -> str:
    """A checksum of the files; InputError for what is not plain text."""
    for path in paths:
        if path.is_dir():
            raise InputError("is a folder: name the files in it", file=path)
        if not path.is_file():
            raise InputError("no such file", file=path)
        if Path(path.name.lower().removesuffix(".gz").removesuffix(".xz")).suffix in NOT_TEXT:
            raise InputError("not plain text, by its name: write its text to a file, one paragraph per line", file=path)
    return checksum(*(path.read_bytes() for path in paths))


def cached_ids(folder: Path, make: Callable[[], Ids]) -> Ids:
    """The token ids of a started training, from its folder; made if it is new, since the text may be another."""
    path = folder / "training" / "ids.npy"
    if TrainingFolder(folder).begun and path.exists():
        stored: Ids = np.load(path)
        return stored
    ids = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".new")
    with partial.open("wb") as out:
        np.save(out, ids)
    partial.replace(path)
    return ids


def cached_tokenizer(folder: Path, make: Callable[[], PreTrainedTokenizerFast]) -> PreTrainedTokenizerFast:
    """The tokenizer of a started training, from its folder; made if it is new."""
    from transformers import AutoTokenizer

    path = folder / "training" / "tokenizer"
    if TrainingFolder(folder).begun and (path / "tokenizer.json").exists():
        return AutoTokenizer.from_pretrained(path)
    tokenizer = make()
    save_tokenizer(tokenizer, path)
    return tokenizer
