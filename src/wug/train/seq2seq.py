"""Training an encoder–decoder of T5's shape, with relative positions, on sources and targets."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from wug.train._text import save_model
from wug.train._text_to_text import NOT_ASKED, TextToTextLesson, vocabulary_of
from wug.train.examples import Examples
from wug.train.lesson import Batch
from wug.train.shape import Shape
from wug.train.tokens import CLOSING, PADDING, UNKNOWN, word_tokenizer

SPECIAL = (PADDING, CLOSING, UNKNOWN)
DISTANCES, FARTHEST = 128, 256
"""Kinds of distance that attention tells apart, and the distance beyond which all are alike.

T5 has 32 and 128, which blurs distances beyond 8: too coarse for languages in which words are copied.
"""
UNSEEN = -1e9
"""Added to the attention of what is not to be seen."""


def query_share(shape: Shape) -> float:
    """The share of the learning rate for the matrices that make queries: one over the root of a head's size.

    Other transformers divide what attention compares by that root; T5 leaves it out and begins with smaller queries
    instead. Steps of the usual size are then too large for them by that root: attention hardens early, the more so the
    larger a head is, and what is learnt is memorised rather than composed, if training does not stall.
    """
    return 1 / math.sqrt(shape.embedding_size // shape.heads)


class Seq2SeqLesson(TextToTextLesson):
    """Each word of a target from the source and the words before it."""

    def __init__(self, examples: Examples, shape: Shape, *, batch: int, seed: int, device: str) -> None:
        from transformers import T5Config, T5ForConditionalGeneration

        names = vocabulary_of(examples, SPECIAL)
        self.tokenizer = word_tokenizer({name: number for number, name in enumerate(names)})
        config = T5Config(
            vocab_size=len(names),
            d_model=shape.embedding_size,
            d_kv=shape.embedding_size // shape.heads,
            d_ff=shape.inner,
            num_layers=shape.layers,
            num_heads=shape.heads,
            relative_attention_num_buckets=DISTANCES,
            relative_attention_max_distance=FARTHEST,
            dropout_rate=shape.dropout,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
        model = T5ForConditionalGeneration(config)
        _join_norms(model)
        self._shared = shape.shared
        if shape.shared:
            _share_layers(model)
        super().__init__(model, examples, names, batch=batch, seed=seed, device=device)
        self.shares = {name: query_share(shape) for name, _ in model.named_parameters() if name.endswith(".q.weight")}

    def loss(self, batch: Batch) -> Any:
        """Nats a word."""
        import torch

        sources, targets = batch["sources"], batch["targets"]
        wanted = targets.masked_fill(targets == 0, NOT_ASKED)
        # Masks in full: of a shorter one transformers would look at the content, which no recorded step can do.
        padding = torch.zeros(sources.shape, device=sources.device).masked_fill(sources == 0, UNSEEN)
        length = targets.shape[1]
        later = torch.full((length, length), UNSEEN, device=targets.device).triu(1)
        return self.model(
            input_ids=sources,
            attention_mask=padding[:, None, None],
            decoder_attention_mask=later.expand(len(targets), 1, -1, -1),
            labels=wanted,
            use_cache=False,
        ).loss

    def save(self, folder: Path, dtype: str) -> None:
        """In the Hugging Face layout; shared layers are written as often as they are used, as T5 wants them."""
        model = self.model
        if self._shared:
            model = type(model)(model.config)
            model.load_state_dict(self.model.state_dict())
        save_model(model, self.tokenizer, folder, dtype)


def _join_norms(model: Any) -> None:
    """Let each norm be computed at once: T5's own is a chain of small operations, and a GPU pays for each of them."""
    for module in model.modules():
        if type(module).__name__ == "T5LayerNorm":
            module.forward = partial(_norm, module)


def _norm(module: Any, hidden: Any) -> Any:
    """What a T5LayerNorm gives."""
    import torch

    return torch.nn.functional.rms_norm(hidden, module.weight.shape, module.weight, module.variance_epsilon)


def _share_layers(model: Any) -> None:
    """Let every layer of the encoder use the weights of its first, and so in the decoder.

    The first layer alone has positions, which it hands on; so attention is shared matrix by matrix.
    """
    for stack in (model.encoder, model.decoder):
        first = stack.block[0]
        for block in stack.block[1:]:
            for own, shared in zip(block.layer, first.layer, strict=True):
                own.layer_norm = shared.layer_norm
                if hasattr(own, "DenseReluDense"):
                    own.DenseReluDense = shared.DenseReluDense
                else:
                    attention = "SelfAttention" if hasattr(own, "SelfAttention") else "EncDecAttention"
                    for name in ("q", "k", "v", "o"):
                        setattr(getattr(own, attention), name, getattr(getattr(shared, attention), name))
