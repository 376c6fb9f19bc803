"""Rotary positions in one Triton kernel, where PyTorch's operations take four passes over memory."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

HEADS_PER_PROGRAM = 8


def _rotate_token(
    states: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    output: torch.Tensor,
    count: int,
    positions: int,
    states_text: int,
    states_head: int,
    states_position: int,
    output_text: int,
    output_head: int,
    output_position: int,
    angle_text: int,
    angle_position: int,
    half: tl.constexpr,
    block: tl.constexpr,
    heads: tl.constexpr,
) -> None:
    """Rotate some heads of one token; strides are named after their tensor and dimension."""
    token = tl.program_id(0).to(tl.int64)
    text, position = token // positions, token % positions
    head = tl.program_id(1) * heads + tl.arange(0, heads)[:, None]
    column = tl.arange(0, block)[None, :]
    inside = (head < count) & (column < half)
    angle = text * angle_text + position * angle_position + column
    source = states + text * states_text + position * states_position + head * states_head + column
    target = output + text * output_text + position * output_position + head * output_head + column
    first, second = tl.load(source, mask=inside), tl.load(source + half, mask=inside)
    kept = first * tl.load(cos + angle, mask=column < half)
    crossed = second * tl.load(sin + angle, mask=column < half)
    tl.store(target, kept - crossed, mask=inside)
    kept = second * tl.load(cos + half + angle, mask=column < half)
    crossed = first * tl.load(sin + half + angle, mask=column < half)
    tl.store(target + half, kept + crossed, mask=inside)


_KERNEL = triton.jit(_rotate_token, do_not_specialize=["positions"])


def rotated(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate (texts, heads, positions, dimensions) by the angles (texts, positions, dimensions).

    Each product is rounded to the dtype before the sum, as in PyTorch's operations, so the result is the same to the
    last bit: `enable_fp_fusion` would round products and sum once.
    """
    texts, heads, positions, size = states.shape
    cos, sin = (angles.contiguous().expand(texts, -1, -1) for angles in (cos, sin))
    if cos.shape != (texts, positions, size) or sin.shape != cos.shape or states.stride(-1) != 1:
        raise ValueError("the rotation does not cover all dimensions")
    output = torch.empty_like(states)
    half = size // 2
    with torch.cuda.device_of(states):  # Triton launches on the current device
        _KERNEL[(texts * positions, triton.cdiv(heads, HEADS_PER_PROGRAM))](
            states, cos, sin, output, heads, positions,
            *states.stride()[:3], *output.stride()[:3], *cos.stride()[:2],
            half=half, block=triton.next_power_of_2(half), heads=HEADS_PER_PROGRAM, enable_fp_fusion=False,
        )  # fmt: skip
    return output
