"""Greedy decoding in batches of a few fixed shapes, whose step a GPU records as a CUDA graph.

A step of a small model is a hundred small kernels, and a GPU waits for each to be launched. As a CUDA graph, a step is
one launch. The shape changes when an output outgrows it, or when a smaller batch is enough. Long outputs are decoded
speculatively (`prompt_lookup`) if the model allows it. On a CPU the same steps run one by one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from transformers import PreTrainedModel

from wug.models.decoding import prompt_lookup
from wug.models.decoding.outputs import NEAR_TIE_NATS, Decoded, TokenRules, trim_at_end
from wug.models.decoding.prompt_lookup import LookupBatch, LookupOutputs, LookupShape
from wug.models.decoding.static_batch import (
    GreedyModel,
    PartialOutputs,
    StaticBatch,
    join,
    pad_rows,
    smallest_fit,
    source_width,
)

BATCH_ROWS = (16, 64, 256, 1024, 4096)
"""Outputs per batch. Recording a shape takes as long as twenty steps."""
OUTPUT_LENGTHS = (32, 64, 256, 1024)
"""Room for an output, in tokens; a step attends to all of it."""
LOOKUP_AFTER_TOKENS = 64
"""Tokens after which an output is decoded speculatively."""
LOOKUP_WIDTHS = (144, 1152)
"""Padded lengths of the sources of long outputs: few, so that most share a batch. Sources above the first are long."""
STEPS_PER_SYNC = 8
"""Steps between two checks for finished outputs, each of which waits for the GPU."""
MAX_CACHED_TOKENS = 1 << 20
"""Tokens, of sources or of outputs, whose keys and values are in memory; fewer if memory is short."""
MEMORY_SHARE = 0.25
"""Maximum proportion of the free memory for keys and values."""
MAX_ENCODER_WEIGHTS = 1 << 26
"""Attention weights per head that the encoder computes at a time."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class StepShape:
    """The shape of a batch."""

    rows: int
    width: int
    """Padded source length."""
    length: int
    """Room for an output."""


class CudaGraphDecoder:
    """An encoder–decoder that decodes greedily in a few shapes."""

    def __init__(self, model: PreTrainedModel, rules: TokenRules, pad: int) -> None:
        self._network, self._rules, self._pad = model, rules, pad
        self.lookup_after: int | None = None
        """Tokens after which outputs are decoded speculatively; None: never."""
        self._near_tie_nats = NEAR_TIE_NATS if model.dtype == torch.float32 else 0.0
        ends = torch.tensor(list(rules.ends), device=model.device)
        self._model = GreedyModel(model, rules.chooser(model.device), ends)
        self._step_batches: dict[StepShape, StepBatch] = {}
        self._lookup_batches: dict[LookupShape, LookupBatch] = {}
        self._memory: list[tuple[Any, ...]] = []
        self._pool = torch.cuda.graph_pool_handle() if model.device.type == "cuda" else None
        self.max_cached_tokens = MAX_CACHED_TOKENS

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode each sequence, up to its limit of tokens."""
        outputs: dict[int, Decoded] = {}
        waiting = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
        partial: list[PartialOutputs] = []
        with torch.inference_mode():
            while waiting or partial:
                long = [part for part in partial if self._is_long(part)]
                if waiting and sum(part.cached_tokens for part in partial) <= self.max_cached_tokens:
                    waiting, batch = self._next_sources(waiting, sequences)
                    started = self._begin(batch, [sequences[n] for n in batch], [limits[n] for n in batch])
                    finished = self._continue(started, partial)
                elif long:
                    partial = [part for part in partial if not self._is_long(part)]
                    finished = self._look_up(long, sequences)
                else:
                    joined, partial = self._gather(partial)
                    finished = self._continue(joined, partial)
                for index, tokens, margin in finished:
                    near_tie = margin < self._near_tie_nats
                    outputs[index] = replace(trim_at_end(tokens, self._rules.ends), near_tie=near_tie)
        return [outputs[index] for index in range(len(sequences))]

    def smaller(self) -> CudaGraphDecoder | None:
        """The same with half the memory, after this one has released its own; None if that is too little."""
        self._step_batches.clear()
        self._lookup_batches.clear()
        self._memory = []
        torch.cuda.empty_cache()
        if self.max_cached_tokens < 2 * BATCH_ROWS[0] * OUTPUT_LENGTHS[0]:
            return None
        half_tokens = self.max_cached_tokens // 2
        log.warning("out of memory: continuing with %s tokens at a time", f"{half_tokens:,}")
        decoder = CudaGraphDecoder(self._network, self._rules, self._pad)
        decoder.max_cached_tokens, decoder.lookup_after = half_tokens, self.lookup_after
        return decoder

    def _next_sources(self, waiting: list[int], sequences: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """The sources that keep waiting, and a batch: the longest ones, with shorter ones as far as there is room."""
        longest = len(sequences[waiting[-1]])
        rows = max(1, min(BATCH_ROWS[-1], self.max_cached_tokens // max(source_width(longest), OUTPUT_LENGTHS[0])))
        rows = sum(_lookup_width(len(sequences[n])) == _lookup_width(longest) for n in waiting[-rows:])
        return waiting[:-rows], waiting[-rows:]

    def _is_long(self, part: PartialOutputs) -> bool:
        if self.lookup_after is None:
            return False
        length = int(part.limits.max()) + prompt_lookup.PASS_TOKENS
        if prompt_lookup.BATCH_ROWS[0] * max(part.width, length) > self.max_cached_tokens:
            return False
        # Outputs for long sources are long, and mostly copied from the source.
        return part.length >= self.lookup_after or part.width > LOOKUP_WIDTHS[0]

    def _look_up(
        self, long: Sequence[PartialOutputs], sequences: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, list[int], float]]:

        def shape(part: PartialOutputs) -> tuple[int, int]:
            return part.length, _lookup_width(part.width)

        def batch_for(shape: LookupShape, like: LookupOutputs) -> LookupBatch:
            if shape not in self._lookup_batches:
                batch = self._lookup_batches[shape] = LookupBatch(shape, self._model, self._memory, like)
                if self._pool is not None:
                    batch.record(self._pool)
            return self._lookup_batches[shape]

        for (_, width), group in groupby(sorted(long, key=shape, reverse=True), key=shape):
            joined = join(list(group), width)
            max_tokens = int(joined.limits.max())
            size = max(width, max_tokens + prompt_lookup.PASS_TOKENS)
            rows = next(rows for rows in reversed(prompt_lookup.BATCH_ROWS) if rows * size <= self.max_cached_tokens)
            for start in range(0, len(joined.indices), rows):
                part = joined.rows(slice(start, start + rows))
                outputs = LookupOutputs.of(part, [sequences[index] for index in part.indices], max_tokens)
                yield from prompt_lookup.decode(outputs, max_tokens, batch_for)

    def _gather(self, partial: Sequence[PartialOutputs]) -> tuple[PartialOutputs, list[PartialOutputs]]:
        """The shortest outputs, joined, and the others.

        A few long outputs are left over from every batch. One by one, each would take as many steps as its longest.
        """
        shortest = min(part.length for part in partial)
        others = [part for part in partial if part.length != shortest]
        ready = sorted((part for part in partial if part.length == shortest), key=lambda part: -part.width)
        chosen = [part for part in ready if part.width == ready[0].width]
        count = sum(len(part.indices) for part in chosen)
        room = self._rows(count, max(_output_length(shortest), ready[0].width))
        for part in ready[len(chosen) :]:
            if count + len(part.indices) <= room:  # rows that are computed in any case
                count += len(part.indices)
                chosen.append(part)
            else:
                others.append(part)
        joined = join(chosen, ready[0].width)
        if len(joined.indices) > room:
            others.append(joined.rows(slice(room, None)))
            joined = joined.rows(slice(room))
        return joined, others

    def _continue(self, part: PartialOutputs, partial: list[PartialOutputs]) -> Iterator[tuple[int, list[int], float]]:
        """Finish outputs step by step; those that need a larger shape are added to `partial`."""
        self._allocate(part)
        if self._is_long(part):
            partial.append(part.narrowed())
            return
        length, width = _output_length(part.length), part.width
        while part.indices:
            if part.length == length:
                partial.append(part.narrowed())
                return
            shape = StepShape(self._rows(len(part.indices), max(length, width)), width, length)
            if len(part.indices) > shape.rows:
                partial.append(part.rows(slice(shape.rows, None)).narrowed())
            if shape not in self._step_batches:
                self._step_batches[shape] = StepBatch(shape, self._model, self._memory, part, self._pool)
            batch = self._step_batches[shape]
            batch.load(part)
            batch.run(until=next((rows for rows in reversed(BATCH_ROWS) if rows < shape.rows), 0))
            yield from batch.finished()
            part = batch.unfinished()

    def _rows(self, count: int, size: int) -> int:
        """Rows of a shape for this many outputs, as far as there is memory."""
        sizes = [rows for rows in BATCH_ROWS if rows * size <= self.max_cached_tokens]
        sizes = sizes or [max(1, self.max_cached_tokens // size)]
        return next((rows for rows in sizes if rows >= count), sizes[-1])

    def _allocate(self, part: PartialOutputs) -> None:
        if self._memory:
            return
        if self._pool is not None:
            tensors = [tensor for layer in part.layers for tensor in layer]
            bytes_per_token = sum(tensor.shape[1] * tensor.shape[3] * tensor.element_size() for tensor in tensors)
            free, _ = torch.cuda.mem_get_info(self._network.device)
            self.max_cached_tokens = min(self.max_cached_tokens, int(MEMORY_SHARE * free / bytes_per_token))
        # Zeros, since masked values must be numbers too.
        self._memory = [
            tuple(tensor.new_zeros(self.max_cached_tokens * tensor.shape[1] * tensor.shape[3]) for tensor in layer)
            for layer in part.layers
        ]

    def _begin(self, indices: list[int], sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> PartialOutputs:
        """Encode sources of ascending length, and decode the first token of each output."""
        from transformers import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        device, dtype, width = self._network.device, self._network.dtype, source_width(len(sequences[-1]))
        lengths = torch.tensor([len(sequence) for sequence in sequences], device=device)
        is_padding = torch.arange(width, device=device) >= lengths[:, None]
        mask = torch.zeros(is_padding.shape, device=device, dtype=dtype)
        mask = mask.masked_fill_(is_padding, torch.finfo(dtype).min)[:, None, None]
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        output = self._network(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encode(sequences, width)),
            attention_mask=mask,
            decoder_input_ids=torch.full((len(indices), 1), self._rules.start, device=device),
            past_key_values=cache,
            use_cache=True,
        )
        token, margin = self._model.choose(output.logits)
        if self._rules.forced_first is not None:
            token, margin = torch.full_like(token, self._rules.forced_first), torch.full_like(margin, torch.inf)
        caches = (cache.self_attention_cache.layers, cache.cross_attention_cache.layers)
        layers = [
            (self_layer.keys, self_layer.values, cross_layer.keys, cross_layer.values)
            for self_layer, cross_layer in zip(*caches, strict=True)
        ]
        return PartialOutputs(indices, mask, token[:, None], torch.tensor(limits, device=device), margin, layers)

    def _encode(self, sequences: Sequence[Sequence[int]], width: int) -> Any:
        """Encode sources of ascending length, in parts: attention grows with the square of the length."""
        device, encoder = self._network.device, self._network.get_encoder()
        encoded: list[Any] = []
        low = 0
        while low < len(sequences):
            high = len(sequences)
            while high > low + 1 and (high - low) * _encoder_width(len(sequences[high - 1])) ** 2 > MAX_ENCODER_WEIGHTS:
                high = (low + high) // 2
            padded_width = min(width, _encoder_width(len(sequences[high - 1])))
            ids = pad_rows(sequences[low:high], padded_width, self._pad)
            present = pad_rows([[1] * len(sequence) for sequence in sequences[low:high]], padded_width, 0)
            states = encoder(input_ids=ids.to(device), attention_mask=present.to(device)).last_hidden_state
            encoded.append(torch.nn.functional.pad(states, (0, 0, 0, width - padded_width)))
            low = high
        return torch.cat(encoded)


class StepBatch(StaticBatch):
    """A batch of one shape, each step of which decodes one token of every output."""

    def __init__(
        self, shape: StepShape, model: GreedyModel, memory: Sequence[Sequence[Any]], like: PartialOutputs, pool: object
    ) -> None:
        super().__init__(model, memory, like, shape.rows, shape.length, shape.width)
        self._max_length, self._length = shape.length, 0
        self._columns = torch.arange(shape.length, device=like.tokens.device)
        self._tokens = like.tokens.new_zeros(shape.rows, shape.length)
        self._last_tokens = like.tokens.new_zeros(shape.rows, 1)
        self._position = like.tokens.new_zeros(1)
        if pool is not None:
            self._set_length(1)
            self.record(pool)

    def load(self, part: PartialOutputs) -> None:
        """Take over as many outputs as there are rows; other rows compute something that nobody reads."""
        count = min(len(part.indices), self._rows)
        self.indices = part.indices[:count]
        for target, source in zip(self._layers, part.layers, strict=True):
            for memory, tensor in zip(target, source, strict=True):
                memory[:count, :, : tensor.shape[2]] = tensor[:count]
        self._source_mask[:count], self._tokens[:count, : part.length] = part.source_mask[:count], part.tokens[:count]
        self._limits[:count], self._margins[:count] = part.limits[:count], part.margins[:count]
        self._last_tokens[:count] = part.tokens[:count, -1:]
        self.done.fill_(True)
        self.done[:count] = self._are_ends(part.tokens[:count, -1]) | (part.limits[:count] <= part.length)
        self._set_length(part.length)

    def run(self, until: int) -> None:
        """Decode until there is no more room, or at most `until` outputs are left."""
        while self._length < self._max_length and int((~self.done).sum()) > until:
            steps = min(STEPS_PER_SYNC, self._max_length - self._length)
            self._advance(steps)
            self._length += steps

    def finished(self) -> Iterator[tuple[int, list[int], float]]:
        """Index, tokens (with what follows the end token) and margin of the outputs that are done."""
        return self._finished(self._tokens[:, : self._length], self._limits)

    def unfinished(self) -> PartialOutputs:
        """The other outputs."""
        indices, rows = self._unfinished()
        size = self._length
        layers = [(k[rows, :, :size], v[rows, :, :size], sk[rows], sv[rows]) for k, v, sk, sv in self._layers]
        columns = (self._source_mask[rows], self._tokens[rows, :size], self._limits[rows], self._margins[rows])
        return PartialOutputs(indices, *columns, layers)

    def _step(self) -> None:
        tokens, margins = self._forward(self._last_tokens, (self._columns > self._position)[None, None, None])
        self._tokens.index_copy_(1, self._position, tokens)
        self._last_tokens.copy_(tokens)
        self._position.add_(1)
        margins = torch.minimum(self._margins, margins[:, 0])
        self._margins.copy_(torch.where(self.done, self._margins, margins))
        self.done.logical_or_(self._are_ends(tokens[:, 0])).logical_or_(self._position >= self._limits)

    def _set_length(self, length: int) -> None:
        """Set the number of decoded tokens; cached are the start token and all of them but the last."""
        self._length = length
        self._position.fill_(length)
        self._set_cached_tokens(length)


def _output_length(tokens: int) -> int:
    return smallest_fit(OUTPUT_LENGTHS, tokens + 1)


def _lookup_width(tokens: int) -> int:
    return smallest_fit(LOOKUP_WIDTHS, tokens)


def _encoder_width(tokens: int) -> int:
    """The padded length of a source in the encoder, which is not recorded and may have more shapes."""
    return max(16, 1 << (tokens - 1).bit_length()) if tokens <= 128 else 128 * math.ceil(tokens / 128)
