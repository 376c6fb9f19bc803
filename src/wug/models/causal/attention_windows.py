"""Attention windows: how far back layers look, and the lengths at which a model computes differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from transformers import PretrainedConfig

WINDOWS = re.compile(r"window|chunk_size|local_attention|block_size|block_length|index_topk")
"""Settings with a number of tokens at which attention, or its computation, changes."""
RECURRENT = {"conv", "linear_attention", "mamba", "recurrent", "hybrid", "hybrid_sliding"}
"""Kinds of layers that read along the row, whatever a mask says."""
CONTEXTS = re.compile(r"original_max_position_embeddings")
"""Settings with the context of pretraining: past it a rotary embedding may use other factors."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which earlier tokens a layer sees: all, the nearest `window`, or those in the same `chunk`."""

    window: int | None = None
    chunk: int | None = None

    def mask(self, visible: torch.Tensor, depth: torch.Tensor, dtype: torch.dtype) -> Any:
        """The additive mask (rows, 1, width, width) of nodes that see their ancestors `visible`, by depth."""
        if self.window is not None:
            visible = visible & (depth[:, :, None] - depth[:, None, :] < self.window)
        if self.chunk is not None:
            visible = visible & (depth[:, :, None] // self.chunk == depth[:, None, :] // self.chunk)
        # Additive, since gptj, codegen, xglm and gemma2 silently misread a boolean mask.
        mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
        return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


Layout: TypeAlias = Reach | Mapping[str, Reach]
"""One mask for all layers, or one for each kind of layer."""


def layouts(config: PretrainedConfig, width: int) -> list[Layout]:
    """The masks that a model of this configuration may need in rows of `width`, the likeliest first.

    Which of them is right cannot be read off: some models take a mask for each kind of layer, some one
    with the window in it, and some ignore a window that their configuration names.
    """
    text = config.get_text_config()
    window, chunk = _window_setting(text, "sliding_window", width), _window_setting(text, "attention_chunk_size", width)
    by_kind = {"sliding_attention": Reach(window=window), "chunked_attention": Reach(chunk=chunk)}
    kinds = {"full_attention", *(getattr(text, "layer_types", None) or ())}
    mapping = {kind: by_kind.get(kind, Reach()) for kind in sorted(kinds)}
    candidates: list[Layout] = []
    if len(kinds) > 1 and (window or chunk):
        candidates.append(mapping)
    if window:
        candidates.append(Reach(window=window))
    if chunk:
        candidates.append(Reach(chunk=chunk))
    candidates.append(Reach())
    if len(kinds) > 1 and mapping not in candidates:
        candidates.append(mapping)
    return candidates


def recurrent_layers(config: PretrainedConfig) -> list[str]:
    """The kinds of layers that rule out trees."""
    text = config.get_text_config()
    kinds = {*(getattr(text, "layer_types", None) or ()), *(getattr(text, "layers_block_type", None) or ())}
    return sorted(kinds & RECURRENT)


def turning_points(config: PretrainedConfig, checked: int) -> list[int]:
    """The lengths in tokens after which texts must not share a batch with others.

    Past the context of pretraining, the longest text of a batch decides the rotary factors for all. Past a window
    longer than what was `checked`, the self-test has not seen that padding changes nothing.
    """
    settings = list(_numbers(config.get_text_config().to_dict()))
    contexts = {value for name, value in settings if CONTEXTS.search(name)}
    windows = {value for name, value in settings if WINDOWS.search(name) and value >= checked}
    return sorted(contexts | windows)


def _window_setting(config: PretrainedConfig, name: str, width: int) -> int | None:
    value = getattr(config, name, None)
    return value if isinstance(value, int) and 0 < value < width else None


def _numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The positive integers of a configuration, with their names, at any depth."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _numbers({f"{key}": inner for key, inner in value.items()})
        elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
            yield name, value
