"""Tiny masked models with random weights, so that tests need no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny

BERT_MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_MARKS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def word_piece_tokenizer() -> Any:
    """A BERT-like tokenizer: words and punctuation apart, pieces with ##, `[CLS]` … `[SEP]`, no ï."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=130, special_tokens=BERT_MARKS, show_progress=False)
    backend.train_from_iterator([text for text in tiny.sentences(500) if "ï" not in text], trainer)
    return _finished(backend, "[CLS]", "[SEP]", pad="[PAD]", unknown="[UNK]", mask="[MASK]")


def byte_level_tokenizer() -> Any:
    """A RoBERTa-like tokenizer: byte-level pieces with Ġ, `<s>` … `</s>`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=ROBERTA_MARKS, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(tiny.sentences(500), trainer)
    return _finished(backend, "<s>", "</s>", pad="<pad>", unknown="<unk>", mask="<mask>")


def metaspace_tokenizer(*, split: bool = True) -> Any:
    """An XLM-RoBERTa-like tokenizer: Unigram with ▁ before words; without `split` it knows no words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=ROBERTA_MARKS, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(tiny.sentences(500), trainer)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(split=split)
    return _finished(backend, "<s>", "</s>", pad="<pad>", unknown="<unk>", mask="<mask>")


TOKENIZERS = {"bert": word_piece_tokenizer, "roberta": byte_level_tokenizer, "xlm-roberta": metaspace_tokenizer}


def save_masked(folder: Path, architecture: str = "bert", *, tokenizer: Any = None, seed: int = 0) -> Path:
    """A masked model of three small layers with weights large enough that every token of context matters."""
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM

    tokenizer = tokenizer or TOKENIZERS.get(architecture, word_piece_tokenizer)()
    small: dict[str, Any] = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 160, "embedding_size": 24,
        "pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.cls_token_id,
        "cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id,
        "eos_token_id": tokenizer.sep_token_id, "use_cache": False,
    }  # fmt: skip
    extra: dict[str, dict[str, Any]] = {
        "distilbert": {"dim": 32, "hidden_dim": 64, "n_layers": 3, "n_heads": 4},
        "bart": {
            "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "decoder_start_token_id": tokenizer.sep_token_id, "forced_eos_token_id": None,
        },
        "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16},
        "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2},
    }  # fmt: skip
    torch.manual_seed(seed)
    config = AutoConfig.for_model(architecture, **(small | extra.get(architecture, {})))
    model = AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
            elif parameter.std() == 0:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _finished(backend: Any, before: str, after: str, *, pad: str, unknown: str, mask: str) -> Any:
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    marks = [(mark, backend.token_to_id(mark)) for mark in (before, after)]
    backend.post_processor = processors.TemplateProcessing(f"{before} $A {after}", special_tokens=marks)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token=before, sep_token=after, pad_token=pad, unk_token=unknown, mask_token=mask
    )
