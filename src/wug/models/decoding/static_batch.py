"""Partial outputs of an encoder–decoder, and batches of a fixed shape in which they are continued.

A CUDA graph replays the same kernels on the same memory, so keys, values and masks have a fixed size. Nothing here
needs a GPU except recording the graph; elsewhere the same steps run one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from transformers import PreTrainedModel

from wug.models.decoding.outputs import ChooseToken
from wug.models.tokenization.ragged import Ragged

LayerCache: TypeAlias = tuple[Any, Any, Any, Any]
"""Keys and values of the output, then of the source: (rows, heads, tokens, head size)."""
SOURCE_WIDTHS = (18, 36, 72, 144, 288, 576, 1152)
"""Padded source lengths in tokens; multiples of the last for longer sources.

An eighth above a power of two: a source that contains an output cut off at a power of two still fits.
"""


@dataclass(frozen=True, slots=True)
class GreedyModel:
    """An encoder–decoder with its rule for the next token."""

    network: PreTrainedModel
    choose: ChooseToken
    ends: torch.Tensor


@dataclass(frozen=True, slots=True)
class PartialOutputs:
    """Outputs decoded so far, one row each; all rows have the same number of tokens."""

    indices: list[int]
    """Which output each row continues."""
    source_mask: torch.Tensor
    """(rows, 1, 1, width): 0 for tokens of the source, else the lowest number."""
    tokens: torch.Tensor
    """(rows, tokens so far)."""
    limits: torch.Tensor
    """Maximum number of tokens of each output."""
    margins: torch.Tensor
    """Smallest difference in nats between the best and the second token so far."""
    layers: Sequence[LayerCache]
    """Keys and values, for all tokens of an output but the last."""

    @property
    def width(self) -> int:
        """Padded source length."""
        return int(self.source_mask.shape[-1])

    @property
    def length(self) -> int:
        """Tokens decoded so far."""
        return int(self.tokens.shape[1])

    @property
    def cached_tokens(self) -> int:
        """Tokens whose keys and values are in memory."""
        return len(self.indices) * max(self.width, self.length)

    def rows(self, selection: slice) -> PartialOutputs:
        """Some of the rows."""
        columns = (self.source_mask[selection], self.tokens[selection], self.limits[selection], self.margins[selection])
        layers = [(k[selection], v[selection], sk[selection], sv[selection]) for k, v, sk, sv in self.layers]
        return PartialOutputs(self.indices[selection], *columns, layers)

    def narrowed(self) -> PartialOutputs:
        """Without source padding that no row needs."""
        width = min(self.width, source_width(int((self.source_mask == 0).sum(-1).max())))
        layers = [(k, v, sk[:, :, :width], sv[:, :, :width]) for k, v, sk, sv in self.layers]
        return replace(self, source_mask=self.source_mask[..., :width], layers=layers)


def join(parts: Sequence[PartialOutputs], width: int) -> PartialOutputs:
    """Rows of several parts with the same number of tokens, with their sources padded to `width`."""
    from torch.nn.functional import pad

    if len(parts) == 1 and parts[0].width == width:
        return parts[0]
    lowest = torch.finfo(parts[0].source_mask.dtype).min
    layers: list[LayerCache] = []
    for number in range(len(parts[0].layers)):
        keys, values, source_keys, source_values = zip(*(part.layers[number] for part in parts), strict=True)
        padded = [
            [pad(tensor, (0, 0, 0, width - tensor.shape[2])) for tensor in tensors]
            for tensors in (source_keys, source_values)
        ]
        layers.append((torch.cat(keys), torch.cat(values), torch.cat(padded[0]), torch.cat(padded[1])))
    return PartialOutputs(
        [index for part in parts for index in part.indices],
        torch.cat([pad(part.source_mask, (0, width - part.width), value=lowest) for part in parts]),
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.limits for part in parts]),
        torch.cat([part.margins for part in parts]),
        layers,
    )


class StaticBatch(ABC):
    """Memory of a fixed shape, and one step of the model that runs in it.

    Subclasses define `_step`, which must not depend on values that the CPU reads.
    """

    def __init__(
        self, model: GreedyModel, memory: Sequence[Sequence[Any]], like: Any, rows: int, length: int, width: int
    ) -> None:
        """Use `memory` for the keys and values of `rows` outputs of `length` tokens, with sources padded to `width`."""
        self._model, self._rows = model, rows
        self._layers = _views_of(memory, like.layers, rows, length, width)
        self._cache, self._cache_lengths = _static_cache(self._layers)
        self._source_mask = like.source_mask.new_zeros(rows, 1, 1, width)
        self._lowest = torch.finfo(like.source_mask.dtype).min
        self._encoded = _encoder_placeholder(like.source_mask, rows, width, model.network)
        self._limits, self._margins = like.limits.new_zeros(rows), like.margins.new_zeros(rows)
        self.done = torch.ones_like(self._limits, dtype=torch.bool)
        self.indices: list[int] = []
        self._graph: Any = None

    def record(self, pool: object) -> None:
        """Record the step as a CUDA graph, after one run in which libraries choose their kernels."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            self._step()
        self._graph = graph

    def _advance(self, steps: int) -> None:
        for _ in range(steps):
            if self._graph is None:
                self._step()
            else:
                self._graph.replay()

    @abstractmethod
    def _step(self) -> None: ...

    def _forward(self, tokens: torch.Tensor, hidden: torch.Tensor) -> tuple[Any, Any]:
        """For each of the next tokens (rows, count), the best token after it and its margin in nats.

        `hidden` tells which cached tokens each of them must not see; it broadcasts to (rows, 1, count, length).
        """
        mask = torch.zeros_like(hidden, dtype=self._source_mask.dtype).masked_fill_(hidden, self._lowest)
        # Transformers takes a mask of four dimensions as it is. Others it converts in ways that cannot be recorded.
        output = self._model.network(
            encoder_outputs=self._encoded,
            attention_mask=self._source_mask,
            decoder_input_ids=tokens,
            decoder_attention_mask=mask.expand(self._rows, 1, -1, -1),
            past_key_values=self._cache,
            use_cache=True,
        )
        best, margins = self._model.choose(output.logits.flatten(0, 1)[:, None])
        return best.view(tokens.shape), margins.view(tokens.shape)

    def _set_cached_tokens(self, count: int) -> None:
        for length in self._cache_lengths:
            length.fill_(count)

    def _are_ends(self, tokens: torch.Tensor) -> Any:
        return (tokens[..., None] == self._model.ends).any(-1)

    def _finished(self, tokens: torch.Tensor, counts: torch.Tensor) -> Iterator[tuple[int, list[int], float]]:
        """Index, tokens and margin of the outputs that are done, given the tokens of all rows and how many count."""
        rows = torch.nonzero(self.done[: len(self.indices)])[:, 0]
        columns = (rows, tokens[rows], counts[rows], self._margins[rows])
        for row, row_tokens, count, margin in zip(*(column.tolist() for column in columns), strict=True):
            yield self.indices[row], row_tokens[:count], margin

    def _unfinished(self) -> tuple[list[int], Any]:
        rows = torch.nonzero(~self.done[: len(self.indices)])[:, 0]
        return [self.indices[row] for row in rows.tolist()], rows


def pad_rows(rows: Sequence[Sequence[int]], width: int, filler: int, *, right: bool = False) -> Any:
    """Token lists as a tensor (rows, width), aligned at the left, or at the right."""
    ragged = Ragged.of(rows)
    columns, lengths = np.arange(width), ragged.lengths[:, None]
    padded = np.full((len(rows), width), filler, dtype=np.int64)
    padded[columns >= width - lengths if right else columns < lengths] = ragged.flat
    return torch.from_numpy(padded)


def source_width(tokens: int) -> int:
    """The padded length of a source."""
    return smallest_fit(SOURCE_WIDTHS, tokens)


def smallest_fit(sizes: Sequence[int], minimum: int) -> int:
    """The first of some ascending sizes that is large enough, or the last one doubled as often as needed."""
    for size in sizes:
        if size >= minimum:
            return size
    size = sizes[-1]
    while size < minimum:
        size *= 2
    return size


def _views_of(memory: Sequence[Sequence[Any]], like: Sequence[LayerCache], rows: int, length: int, width: int) -> Any:
    def view(flat: torch.Tensor, tensor: torch.Tensor, size: int) -> Any:
        heads, head_size = tensor.shape[1], tensor.shape[3]
        return flat[: rows * heads * size * head_size].view(rows, heads, size, head_size)

    sizes = (length, length, width, width)
    return [
        tuple(view(flat, tensor, size) for flat, tensor, size in zip(flats, tensors, sizes, strict=True))
        for flats, tensors in zip(memory, like, strict=True)
    ]


def _static_cache(layers: Sequence[LayerCache]) -> tuple[Any, list[Any]]:
    """Keys and values as a cache of transformers, and the number of cached tokens of each layer, to be set."""
    from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache, StaticLayer

    self_layers = [_initialised(StaticLayer(keys.shape[2]), keys, values) for keys, values, _, _ in layers]
    cross_layers = [_initialised(DynamicLayer(), keys, values) for _, _, keys, values in layers]
    cache = EncoderDecoderCache(Cache(layers=self_layers), Cache(layers=cross_layers))
    return cache, [layer.cumulative_length for layer in self_layers]


def _initialised(layer: torch.nn.Module, keys: torch.Tensor, values: torch.Tensor) -> Any:
    layer.keys, layer.values, layer.dtype, layer.device = keys, values, keys.dtype, keys.device
    if hasattr(layer, "cumulative_length"):
        layer.cumulative_length = layer.cumulative_length.to(keys.device)
    layer.is_initialized = True
    return layer


def _encoder_placeholder(like: Any, rows: int, width: int, network: PreTrainedModel) -> Any:
    """Encoder outputs of which models read only the shape, since the keys and values of sources are cached."""
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=like.new_zeros(1).expand(rows, width, network.config.hidden_size))
