"""Tokenizers and word lists made from the text that a model is trained on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wug.models.tokenization.words import words_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

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
