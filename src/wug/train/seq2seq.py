"""Training sequence-to-sequence models (T5 and an LSTM with attention) on sources and targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from wug.errors import InputError
from wug.models.attention_lstm import SPECIAL as LSTM_SPECIAL
from wug.models.attention_lstm import START, AttentionShape, save_attention_lstm
from wug.train.corpus import CLOSING, PADDING, UNKNOWN, frequent_words, word_ids, word_tokenizer
from wug.train.examples import Batches, Examples, length_buckets
from wug.train.options import NetworkSize
from wug.train.steps import Batch, TrainingTask
from wug.train.text_models import save_model

IGNORED = -100
"""The label of a word that the loss ignores."""


def vocabulary_of(examples: Examples, special: Sequence[str]) -> list[str]:
    """All words of all sources and targets, special tokens first; the first of them is padding."""
    texts = (*examples.sources, *examples.targets)
    return frequent_words(texts, "spaces", size=1 << 30, lowercase=False, special=special)


class _Seq2SeqTask(TrainingTask):
    """A model with tables of examples, each text as word ids and an end token, padded with 0."""

    def __init__(
        self, model: torch.nn.Module, examples: Examples, names: Sequence[str], *, batch: int, seed: int, device: str
    ) -> None:
        self.names = names
        self.model = model.to(device)
        end = names.index(CLOSING)
        sources, targets = (
            [[*ids, end] for ids in word_ids(texts, "spaces", names, UNKNOWN, lowercase=False)]
            for texts in (examples.sources, examples.targets)
        )
        buckets = length_buckets(sources, targets, batch)
        # On the model's device, so that rows are not copied at every step.
        self._tables = [tuple(torch.from_numpy(table).to(device) for table in bucket) for bucket in buckets]
        self._device = device
        self._batches = Batches([len(bucket_sources) for bucket_sources, _ in buckets], batch, seed)
        self.steps_per_epoch = self._batches.steps_per_epoch

    def batch(self, step: int) -> Batch:
        """Sources and targets of similar length, as word ids."""
        bucket, order = self._batches.of(step)
        indices = torch.from_numpy(order)
        if torch.device(self._device).type == "cuda":  # asynchronous from pinned memory
            indices = indices.pin_memory().to(self._device, non_blocking=True)
        sources, targets = self._tables[bucket]
        return {"sources": sources[indices], "targets": targets[indices]}


T5_SPECIAL = (PADDING, CLOSING, UNKNOWN)
POSITION_BUCKETS, MAX_DISTANCE = 128, 256
"""Buckets of relative positions, and the distance beyond which all fall into the last one.

T5 has 32 and 128, which blurs distances beyond 8: too coarse for languages in which words are copied.
"""
HIDDEN = -1e9
"""Added to the attention scores of hidden positions."""


def query_share(size: NetworkSize) -> float:
    """The learning rate factor of query matrices: 1 / √(head size).

    Other transformers scale attention scores by this; T5 starts with smaller queries instead. Steps of the usual size
    are then too large for them: attention saturates early, and the model memorises rather than composes, or stalls.
    """
    return 1 / math.sqrt(size.embedding_size // size.heads)


class T5Task(_Seq2SeqTask):
    """An encoder–decoder of T5's architecture, with relative positions."""

    def __init__(self, examples: Examples, shape: NetworkSize, **batches: Any) -> None:
        from transformers import T5Config, T5ForConditionalGeneration

        names = vocabulary_of(examples, T5_SPECIAL)
        self.tokenizer = word_tokenizer({name: number for number, name in enumerate(names)})
        config = T5Config(
            vocab_size=len(names),
            d_model=shape.embedding_size,
            d_kv=shape.embedding_size // shape.heads,
            d_ff=shape.ffn_size,
            num_layers=shape.layers,
            num_heads=shape.heads,
            relative_attention_num_buckets=POSITION_BUCKETS,
            relative_attention_max_distance=MAX_DISTANCE,
            dropout_rate=shape.dropout,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
        model = T5ForConditionalGeneration(config)
        _join_norms(model)
        self._shared = shape.share_layers
        if shape.share_layers:
            _share_layers(model)
        super().__init__(model, examples, names, **batches)
        self.rate_factors = {
            name: query_share(shape) for name, _ in model.named_parameters() if name.endswith(".q.weight")
        }

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per word."""
        sources, targets = batch["sources"], batch["targets"]
        labels = targets.masked_fill(targets == 0, IGNORED)
        # Full masks: transformers would inspect the values of shorter ones, which a CUDA graph cannot do.
        padding = torch.zeros(sources.shape, device=sources.device).masked_fill(sources == 0, HIDDEN)
        length = targets.shape[1]
        later = torch.full((length, length), HIDDEN, device=targets.device).triu(1)
        return self.model(
            input_ids=sources,
            attention_mask=padding[:, None, None],
            decoder_attention_mask=later.expand(len(targets), 1, -1, -1),
            labels=labels,
            use_cache=False,
        ).loss

    def save(self, folder: Path, dtype: str) -> None:
        """Save in the Hugging Face layout; shared layers are written once per use, as T5 expects."""
        model = self.model
        if self._shared:
            model = type(model)(model.config)
            model.load_state_dict(self.model.state_dict())
        save_model(model, self.tokenizer, folder, dtype)


def _join_norms(model: torch.nn.Module) -> None:
    """Compute each norm in one kernel: T5's own is a chain of small operations."""
    for module in model.modules():
        if type(module).__name__ == "T5LayerNorm":
            module.forward = partial(_norm, module)


def _norm(module: torch.nn.Module, hidden: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(hidden, module.weight.shape, module.weight, module.variance_epsilon)


def _share_layers(model: torch.nn.Module) -> None:
    """Use the weights of the first layer in all layers, in the encoder and in the decoder.

    Only the first layer has positions, which it passes on; so attention is shared matrix by matrix.
    """
    for stack in (model.encoder, model.decoder):
        first_block = stack.block[0]
        for block in stack.block[1:]:
            for sublayer, shared in zip(block.layer, first_block.layer, strict=True):
                sublayer.layer_norm = shared.layer_norm
                if hasattr(sublayer, "DenseReluDense"):
                    sublayer.DenseReluDense = shared.DenseReluDense
                else:
                    attention = "SelfAttention" if hasattr(sublayer, "SelfAttention") else "EncDecAttention"
                    for name in ("q", "k", "v", "o"):
                        setattr(getattr(sublayer, attention), name, getattr(getattr(shared, attention), name))


class AttentionLSTMTask(_Seq2SeqTask):
    """An LSTM encoder–decoder with attention; see the options of `wug train seq2seq`."""

    def __init__(
        self,
        examples: Examples,
        shape: NetworkSize,
        *,
        attention: str = "general",
        untied: bool = False,
        start: str = "even",
        **batches: Any,
    ) -> None:
        from wug.models.attention_lstm.network import AttentionLSTM

        if shape.ffn_size % 2:
            cells = f"{shape.ffn_size} cells cannot be split into two directions"
            raise InputError(f"{cells}: use an even --ffn-size")
        names = vocabulary_of(examples, LSTM_SPECIAL)
        sizes = AttentionShape(
            vocabulary=len(names),
            layers=shape.layers,
            width=shape.embedding_size,
            hidden=shape.ffn_size,
            attention=attention,
            tied=not untied,
            dropout=shape.dropout,
        )
        super().__init__(AttentionLSTM(sizes, start), examples, names, **batches)
        self._start = names.index(START)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per word."""
        sources, targets = batch["sources"], batch["targets"]
        inputs = torch.nn.functional.pad(targets[:, :-1], (1, 0), value=self._start)
        logits = self.model(sources, sources != 0, inputs)
        labels = targets.masked_fill(targets == 0, IGNORED)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)

    def save(self, folder: Path, dtype: str) -> None:
        """Save in the layout of wug's attention LSTMs."""
        save_attention_lstm(folder, self.model, self.names, dtype=dtype)
