"""Six kinds of tokenizers, which differ in how they split words, mark spaces and fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

SPECIAL = ["<unk>", "<s>", "</s>"]


def byte_level_bpe(texts: Sequence[str]) -> Any:
    """As GPT-2: bytes, a space before a word."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return _wrapped(backend, texts, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, **_COMMON))


def plain_bpe(texts: Sequence[str]) -> Any:
    """Characters, marks at the ends of words and no sign of spaces; unknown characters."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return _wrapped(backend, texts, trainers.BpeTrainer(vocab_size=300, end_of_word_suffix="</w>", **_COMMON))


def word_piece(texts: Sequence[str]) -> Any:
    """As BERT: small letters without accents, ## within words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece(unk_token="<unk>"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return _wrapped(backend, texts, trainers.WordPieceTrainer(vocab_size=300, **_COMMON))


def unigram(texts: Sequence[str]) -> Any:
    """As SentencePiece in T5 or Llama: ▁ before words, unknown characters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    return _wrapped(backend, texts, trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", **_COMMON))


def word_level(texts: Sequence[str]) -> Any:
    """A closed list of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _wrapped(backend, texts, trainers.WordLevelTrainer(vocab_size=400, **_COMMON))


def characters(texts: Sequence[str]) -> Any:
    """Every character a token, spaces too."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.WordLevel(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return _wrapped(backend, texts, trainers.WordLevelTrainer(vocab_size=400, **_COMMON))


KINDS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "byte-level BPE": byte_level_bpe,
    "BPE": plain_bpe,
    "WordPiece": word_piece,
    "Unigram": unigram,
    "words": word_level,
    "characters": characters,
}
_COMMON: dict[str, Any] = {"special_tokens": SPECIAL, "show_progress": False}


def _wrapped(backend: Any, texts: Sequence[str], trainer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    backend.train_from_iterator(texts, trainer)
    unknown, begin, end = SPECIAL
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token=unknown, bos_token=begin, eos_token=end)
