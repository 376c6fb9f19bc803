"""Answers of an encoder–decoder as far as they are written, which can be parted and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wug.models._ragged import Ragged

Layer: TypeAlias = tuple[Any, Any, Any, Any]
"""Keys and values of an answer, then of its source: (rows, heads, tokens, size of a head)."""
WIDTHS = (18, 36, 72, 144, 288, 576, 1152)
"""Tokens for which there is room in a source; twice, four times … the last for longer ones.

An eighth more than a power of two: an answer that was cut off at one, in a source that asks about it, has room.
"""


@dataclass(frozen=True, slots=True)
class State:
    """Answers as far as they are written, a row each."""

    places: list[int]
    """Which answer a row writes."""
    mask: Any
    """(rows, 1, 1, width): 0 where the source has a token, else the least number."""
    tokens: Any
    """(rows, written): what is written so far."""
    bounds: Any
    nearest: Any
    """Nats between the best and the second token, where they came closest."""
    kept: Sequence[Layer]
    """For each layer, keys and values of the answer, but for its last token, then of the source."""

    @property
    def width(self) -> int:
        """Tokens for which there is room in a source."""
        return int(self.mask.shape[-1])

    @property
    def size(self) -> int:
        """Tokens whose keys and values it holds."""
        return len(self.places) * max(self.width, int(self.tokens.shape[1]))

    def rows(self, some: slice) -> State:
        """Some of the answers."""
        kept = [(k[some], v[some], sk[some], sv[some]) for k, v, sk, sv in self.kept]
        columns = (self.mask[some], self.tokens[some], self.bounds[some], self.nearest[some])
        return State(self.places[some], *columns, kept)

    def narrowed(self) -> State:
        """The same with no more room for sources than the longest of them needs."""
        width = min(self.width, width_for(int((self.mask == 0).sum(-1).max())))
        kept = [(k, v, sk[:, :, :width], sv[:, :, :width]) for k, v, sk, sv in self.kept]
        return replace(self, mask=self.mask[..., :width], kept=kept)


def joined(states: Sequence[State], width: int) -> State:
    """Answers of which as much is written, together, with as much room for sources."""
    import torch
    from torch.nn.functional import pad

    if len(states) == 1 and states[0].width == width:
        return states[0]
    least = torch.finfo(states[0].mask.dtype).min
    more = [width - state.width for state in states]
    kept = [
        (
            *(torch.cat([layer[which] for layer in layers]) for which in (0, 1)),
            *(torch.cat([pad(x[which], (0, 0, 0, n)) for x, n in zip(layers, more, strict=True)]) for which in (2, 3)),
        )
        for layers in zip(*(state.kept for state in states), strict=True)
    ]
    return State(
        [place for state in states for place in state.places],
        torch.cat([pad(state.mask, (0, n), value=least) for state, n in zip(states, more, strict=True)]),
        torch.cat([state.tokens for state in states]),
        torch.cat([state.bounds for state in states]),
        torch.cat([state.nearest for state in states]),
        kept,
    )


def table(rows: Sequence[Sequence[int]], width: int, filler: int, *, right: bool = False) -> Any:
    """Numbers as a table of torch's, each row at the left of its width, or at the right."""
    import torch

    ragged = Ragged.of(rows)
    columns, lengths = np.arange(width), ragged.lengths[:, None]
    found = np.full((len(rows), width), filler, dtype=np.int64)
    found[columns >= width - lengths if right else columns < lengths] = ragged.flat
    return torch.from_numpy(found)


def width_for(size: int) -> int:
    """The width for a source of so many tokens."""
    return fitting(WIDTHS, size)


def fitting(sizes: Sequence[int], wanted: int) -> int:
    """The first of some sizes that is enough; twice, four times … the last where none is."""
    for size in sizes:
        if size >= wanted:
            return size
    size = sizes[-1]
    while size < wanted:
        size *= 2
    return size


def room_for(memory: Sequence[Sequence[Any]], like: Sequence[Layer], rows: int, length: int, width: int) -> list[Layer]:
    """Keys and values for answers of so many tokens and sources of that width, in memory that is there."""
    return [
        (
            *(
                flat[: rows * tensor.shape[1] * size * tensor.shape[3]].view(
                    rows, tensor.shape[1], size, tensor.shape[3]
                )
                for flat, tensor, size in zip(flats, tensors, (length, length, width, width), strict=True)
            ),
        )
        for flats, tensors in zip(memory, like, strict=True)
    ]


def static_cache(kept: Sequence[Layer]) -> tuple[Any, list[Any]]:
    """The keys and values as a cache of transformers, and for each layer the number of its tokens, to be set."""
    from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache, StaticLayer

    mine = [_filled(StaticLayer(keys.shape[2]), keys, values) for keys, values, _, _ in kept]
    theirs = [_filled(DynamicLayer(), keys, values) for _, _, keys, values in kept]
    cache = EncoderDecoderCache(Cache(layers=mine), Cache(layers=theirs))
    return cache, [layer.cumulative_length for layer in mine]


def read_sources(like: Any, rows: int, width: int, model: Any) -> Any:
    """What a model wants of its encoder, in the number format of `like`.

    Only the shape is looked at: keys and values of the sources are in the cache.
    """
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=like.new_zeros(1).expand(rows, width, model.config.hidden_size))


def _filled(layer: Any, keys: Any, values: Any) -> Any:
    """A layer of a cache with its memory."""
    layer.keys, layer.values, layer.dtype, layer.device = keys, values, keys.dtype, keys.device
    if hasattr(layer, "cumulative_length"):
        layer.cumulative_length = layer.cumulative_length.to(keys.device)
    layer.is_initialized = True
    return layer
