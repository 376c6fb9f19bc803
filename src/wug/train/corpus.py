"""Training text: sentences, vocabularies, token ids, and rows of tokens that begin at a sentence."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from wug.arrays import Ints
from wug.errors import InputError
from wug.files import checksum, read_lines
from wug.models.tokenization.words import words_of
from wug.train.loop import TrainingFolder

if TYPE_CHECKING:
    from tokenizers import Tokenizer
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


END = "<|endoftext|>"
OPENING, CLOSING, PADDING, UNKNOWN, MASK = "<s>", "</s>", "<pad>", "<unk>", "<mask>"


def causal_tokenizer(units: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of `size` tokens that puts its only special token, BOS and EOS in one, before a text."""
    from transformers import PreTrainedTokenizerFast

    backend = _byte_level(units, size, [END])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=END, eos_token=END, add_bos_token=True)


def masked_tokenizer(units: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that encloses a text in the special tokens of masked models."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    backend = _byte_level(units, size, [OPENING, PADDING, CLOSING, UNKNOWN, MASK])
    special = [(OPENING, backend.token_to_id(OPENING)), (CLOSING, backend.token_to_id(CLOSING))]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{OPENING} $A {CLOSING}", pair=f"{OPENING} $A {CLOSING} $B {CLOSING}", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=OPENING, eos_token=CLOSING, cls_token=OPENING, sep_token=CLOSING,
        pad_token=PADDING, unk_token=UNKNOWN, mask_token=MASK,
    )  # fmt: skip


def word_tokenizer(words: Mapping[str, int]) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words between spaces, with an end token after a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel(dict(words), unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {CLOSING}", special_tokens=[(CLOSING, words[CLOSING])]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=PADDING, eos_token=CLOSING, unk_token=UNKNOWN)


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save a tokenizer so that other programs encode texts as in training.

    Its class is named as in transformers 4, since version 4 knows only that name. Version 5 writes `add_bos_token` to
    tokenizer.json only, and many programs read it from the configuration.
    """
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    if tokenizer.add_bos_token:
        settings["add_bos_token"] = True
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def encode_all(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> Iterator[list[int]]:
    """The token ids of each text, without special tokens."""
    for encoding in tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False):
        yield encoding.ids


def _byte_level(units: Sequence[str], size: int, special: list[str]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(units, trainer, length=len(units))
    return backend


def frequent_words(texts: Iterable[str], mode: str, *, size: int, lowercase: bool, special: Sequence[str]) -> list[str]:
    """The special tokens and the most frequent words, `size` in all; ties in alphabetical order."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words_of(text.lower() if lowercase else text, mode))
    for token in special:
        counts.pop(token, None)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [*special, *(word for word, _ in ranked[: size - len(special)])]


def word_ids(
    texts: Iterable[str], mode: str, vocabulary: Sequence[str], unknown: str, *, lowercase: bool
) -> Iterator[list[int]]:
    """The ids of the words of each text."""
    index = {word: number for number, word in enumerate(vocabulary)}
    unknown_id = index[unknown]
    for text in texts:
        yield [index.get(word, unknown_id) for word in words_of(text.lower() if lowercase else text, mode)]
