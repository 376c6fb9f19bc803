"""Passes of an encoder–decoder over several tokens of an answer, each with what was computed of the ones before.

Any model is asked through transformers, one answer at a time. T5 and mT5 are taken apart: what a layer computes of
single tokens is computed for several answers together, so that weights are read once for all of them, and attention for
each answer by itself, in memory that is there from the start. At few tokens a pass, reading and looking after memory is
most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

ROWS = 8
"""Answers that are written together, at most."""
MEMORY = 1 << 27
"""Bytes for the keys and values of answers that are written together; larger models gain nothing from company."""
USUAL = 2048
"""Tokens of a long source and a long answer."""


class Passes(Protocol):
    """A model that tells what follows each token of answers, as far as they are written or guessed."""

    @property
    def rows(self) -> int:
        """Answers that it is best asked about together."""

    def begin(self, source: Sequence[int], most: int) -> Any:
        """Memory for the answer to a source, which will have `most` tokens at most, wrong guesses among them."""

    def logits(self, memories: Sequence[Any], tokens: Sequence[Sequence[int]]) -> list[Any]:
        """For the next tokens of each answer, the logits of what follows: a row a token."""

    def forget(self, memory: Any, count: int) -> None:
        """Take back the last tokens of an answer."""


@dataclass(slots=True)
class Asked:
    """An answer as transformers remembers it."""

    encoded: Any
    present: Any
    cache: Any = None


@dataclass(frozen=True, slots=True)
class OwnPasses:
    """Those of the model as transformers has it, of any architecture."""

    model: Any
    rows = 1

    def begin(self, source: Sequence[int], most: int) -> Asked:
        """Memory for an answer."""
        import torch

        asked = torch.tensor([source], device=self.model.device)
        present = torch.ones_like(asked)
        return Asked(self.model.get_encoder()(input_ids=asked, attention_mask=present), present)

    def logits(self, memories: Sequence[Asked], tokens: Sequence[Sequence[int]]) -> list[Any]:
        """What follows each token."""
        return [self._logits(memory, some) for memory, some in zip(memories, tokens, strict=True)]

    def _logits(self, memory: Asked, tokens: Sequence[int]) -> Any:
        import torch

        found = self.model(
            encoder_outputs=memory.encoded,
            attention_mask=memory.present,
            decoder_input_ids=torch.tensor([tokens], device=self.model.device),
            past_key_values=memory.cache,
            use_cache=True,
        )
        memory.cache = found.past_key_values
        return found.logits[0]

    def forget(self, memory: Asked, count: int) -> None:
        """Take tokens back."""
        memory.cache.crop(-count)


@dataclass(slots=True)
class Room:
    """Keys and values of an answer and its source."""

    source: list[tuple[Any, Any]]
    """Of each layer, (1, heads, tokens, size)."""
    answer: list[tuple[Any, Any]]
    bias: Any
    """What attention adds for a token at each distance: (heads, 2 × most), with the nearest in the middle and minus
    infinity for all that come later.
    """
    count: int = 0
    """Tokens that are in it."""

    def visible(self, new: int) -> Any:
        """What is added to the attention of so many new tokens, to those before them and each other."""
        return _slanted(self.bias, new, self.count, self.count + new)


@dataclass(frozen=True, slots=True)
class T5Passes:
    """Those of T5 and mT5 on a CPU, in float32."""

    model: Any

    @classmethod
    def of(cls, model: Any) -> T5Passes | None:
        """None for other models."""
        import torch
        from transformers import MT5ForConditionalGeneration, T5ForConditionalGeneration

        known = type(model) in (T5ForConditionalGeneration, MT5ForConditionalGeneration)
        return cls(model) if known and model.device.type == "cpu" and model.dtype == torch.float32 else None

    @property
    def rows(self) -> int:
        """As many answers as there is memory for."""
        config = self.model.config
        token: int = 8 * config.num_decoder_layers * config.num_heads * config.d_kv
        return max(1, min(ROWS, MEMORY // (USUAL * token)))

    def begin(self, source: Sequence[int], most: int) -> Room:
        """Memory for an answer."""
        import torch

        encoded = self._encoded(source)
        kept = []
        for block in self.model.decoder.block:
            attention = block.layer[1].EncDecAttention
            kept.append(
                (self._split(attention.k(encoded)).contiguous(), self._split(attention.v(encoded)).contiguous())
            )
        shape = (1, self.model.config.num_heads, most, self.model.config.d_kv)
        bias = _by_distance(self.model.decoder.block[0].layer[0].SelfAttention, most)
        bias[:, most + 1 :] = -torch.inf
        return Room(kept, [(torch.empty(shape), torch.empty(shape)) for _ in kept], bias)

    def logits(self, memories: Sequence[Room], tokens: Sequence[Sequence[int]]) -> list[Any]:
        """What follows each token."""
        import torch

        sizes = [len(some) for some in tokens]
        states = self.model.shared(torch.tensor([token for some in tokens for token in some]))
        biases = [memory.visible(size) for memory, size in zip(memories, sizes, strict=True)]
        for number, block in enumerate(self.model.decoder.block):
            first, second, last = block.layer
            attention, normed = first.SelfAttention, first.layer_norm(states)
            parts = (part(normed).split(sizes) for part in (attention.q, attention.k, attention.v))
            found = []
            for memory, bias, query, key, value in zip(memories, biases, *parts, strict=True):
                end = memory.count + len(key)
                keys, values = (kept[:, :, :end] for kept in memory.answer[number])
                keys[:, :, memory.count :], values[:, :, memory.count :] = self._split(key), self._split(value)
                found.append(self._attended(query, keys, values, bias))
            states = states + attention.o(torch.cat(found))
            attention = second.EncDecAttention
            queries = attention.q(second.layer_norm(states)).split(sizes)
            asked = zip(memories, queries, strict=True)
            found = [self._attended(query, *memory.source[number]) for memory, query in asked]
            states = states + attention.o(torch.cat(found))
            states = last(states)
        for memory, size in zip(memories, sizes, strict=True):
            memory.count += size
        states = self.model.decoder.final_layer_norm(states)
        if getattr(self.model.config, "scale_decoder_outputs", False):  # which mT5 does not know
            states = states * self.model.model_dim**-0.5
        return list(self.model.lm_head(states).split(sizes))

    def forget(self, memory: Room, count: int) -> None:
        """Take tokens back."""
        memory.count -= count

    def _encoded(self, source: Sequence[int]) -> Any:
        """What the encoder makes of a source: (tokens, states)."""
        import torch

        encoder = self.model.encoder
        states = self.model.shared(torch.tensor(source))
        bias = _slanted(_by_distance(encoder.block[0].layer[0].SelfAttention, len(source)), len(source), 0, len(source))
        for block in encoder.block:
            first, last = block.layer
            attention, normed = first.SelfAttention, first.layer_norm(states)
            keys, values = self._split(attention.k(normed)), self._split(attention.v(normed))
            states = last(states + attention.o(self._attended(attention.q(normed), keys, values, bias)))
        return encoder.final_layer_norm(states)

    def _attended(self, query: Any, keys: Any, values: Any, bias: Any = None) -> Any:
        """The values that each token of one answer attends to: (tokens, heads × size)."""
        from torch.nn.functional import scaled_dot_product_attention

        found = scaled_dot_product_attention(self._split(query), keys, values, attn_mask=bias, scale=1.0)
        return found.transpose(1, 2).reshape(query.shape)

    def _split(self, states: Any) -> Any:
        """(tokens, heads × size) by heads: (1, heads, tokens, size)."""
        return states.view(1, len(states), -1, self.model.config.d_kv).transpose(1, 2)


def _by_distance(attention: Any, most: int) -> Any:
    """What a layer adds to the attention to a token `most` places before, and so on up to as many places behind."""
    import torch

    buckets = attention._relative_position_bucket(
        torch.arange(-most, most),
        bidirectional=not attention.is_decoder,
        num_buckets=attention.relative_attention_num_buckets,
        max_distance=attention.relative_attention_max_distance,
    )
    return attention.relative_attention_bias(buckets).t().contiguous()


def _slanted(bias: Any, rows: int, first: int, columns: int) -> Any:
    """A bias by distances as a table: of `rows` tokens from the place `first` on, to so many from the beginning."""
    middle = bias.shape[1] // 2
    # Every row is the one before, moved by one place: as they lie in the vector, the last row comes first.
    part = bias[:, middle - first - rows + 1 : middle - first + columns]
    return part.unfold(1, columns, 1).flip(1)[None]
