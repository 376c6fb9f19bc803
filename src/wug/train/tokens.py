"""Tokenizers made from the text that a model learns from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

END = "<|endoftext|>"
OPENING, CLOSING, PADDING, UNKNOWN, MASK = "<s>", "</s>", "<pad>", "<unk>", "<mask>"


def causal_tokenizer(units: Sequence[str], size: int) -> Any:
    """A byte-level tokenizer of `size` tokens that puts its one special token, BOS and EOS in one, before a text."""
    from transformers import PreTrainedTokenizerFast

    backend = _byte_level(units, size, [END])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=END, eos_token=END, add_bos_token=True)


def masked_tokenizer(units: Sequence[str], size: int) -> Any:
    """A byte-level tokenizer with the special tokens of masked models, which puts a text between two of them."""
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


def word_tokenizer(words: Mapping[str, int]) -> Any:
    """A tokenizer of whole words between spaces, with an end token after a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel(dict(words), unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {CLOSING}", special_tokens=[(CLOSING, words[CLOSING])]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=PADDING, eos_token=CLOSING, unk_token=UNKNOWN)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Save a tokenizer so that other programs encode a text as it was in training.

    Its class is named as in transformers 4: version 5 knows both names, version 4 only this one. Version 5 writes that
    a text begins with BOS into tokenizer.json alone; many programs look for it among the settings.
    """
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    if tokenizer.add_bos_token:
        settings["add_bos_token"] = True
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def encode_all(tokenizer: Any, texts: list[str]) -> Iterator[list[int]]:
    """The numbers of each text, without special tokens."""
    for encoding in tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False):
        yield encoding.ids


def _byte_level(units: Sequence[str], size: int, special: list[str]) -> Any:
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
