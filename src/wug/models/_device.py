"""Is the chosen device to be trusted? A few probes there and on the CPU, before anything is asked."""

from __future__ import annotations

import copy
import logging
from typing import Any

import numpy as np

from wug.errors import first_line
from wug.models._architecture import ArchitectureCache
from wug.stages import stage

TOLERANCE = {"float64": 0.005, "float32": 0.005, "float16": 0.1, "bfloat16": 0.5}
"""Nats that the device may differ from the CPU in float32: at any place of a probe, the mean over some tokens."""
TF32_TOLERANCE = 0.05
"""For float32 where the user lets the GPU shorten its products."""
COPIED = 1_000_000_000
"""Parameters up to which a model in half precision is copied to float32, to be measured by that. A larger one is
measured by the CPU in its own precision: a copy would take two or three times its memory."""
LONG = 128
"""Tokens of the longest probe; half-size models and smaller alone, since a CPU takes long for others."""

AGAIN = 2
"""Probes, the shortest ones, for a model of a shape with which the device was right already."""
RIGHT: ArchitectureCache[bool] = ArchitectureCache()
"""The shapes with which a device was seen to compute what the CPU does."""

log = logging.getLogger("wug")


def settle(model: Any, device: str, *, demanded: bool, shape: str | None = None) -> Any:
    """The model, which is on the CPU, moved to `device`; back on the CPU if the device computes something else.

    A user who `demanded` the device keeps it, with the notice. Of several models of one `shape` the first is compared
    in full, the others by the shorter probes.
    """
    import torch

    if torch.device(device).type == "cpu":
        return model.to(device)
    probes = _probes(model)[: AGAIN if RIGHT.get(shape) else None]
    try:
        with stage("reference"):
            expected = _measure(_reference(model), probes)
    except (RuntimeError, TypeError, ValueError) as error:
        log.warning("%s could not be compared with the CPU: %s", device, first_line(error))
        return model.to(device)
    with stage("copy"):
        model = model.to(device)
    with stage("compare"):
        fault = _fault(model, probes, expected)
    if not fault:
        RIGHT.keep(shape, True)
        return model
    if demanded:
        log.warning("%s: %s. It is used since it was asked for; --device cpu is safe", device, fault)
        return model
    log.warning("%s: %s. Going on with the CPU; --device %s insists", device, fault, device)
    return model.to("cpu")


def tolerance(dtype: Any) -> float:
    """Nats that a device may differ from the CPU."""
    import torch

    name = str(dtype).removeprefix("torch.")
    shortened = torch.get_float32_matmul_precision() != "highest"
    return TF32_TOLERANCE if name == "float32" and shortened else TOLERANCE.get(name, TOLERANCE["bfloat16"])


def _fault(model: Any, probes: list[list[int]], expected: list[Any]) -> str:
    """What is wrong with the device that the model is on; empty if nothing is."""
    try:
        found = _measure(model, probes)
    except RuntimeError as error:
        return f"the model cannot be computed there ({first_line(error)})"
    gap = max(float(np.abs(a - b).mean(axis=-1).max()) for a, b in zip(expected, found, strict=True))
    if gap <= tolerance(model.dtype):  # false for NaN too
        return ""
    return f"log-probabilities differ from the CPU's by {gap:.2g} nats where {tolerance(model.dtype):g} would be usual"


def _reference(model: Any) -> Any:
    """The model for the CPU to compute, in float32 where a copy is affordable."""
    import torch

    if model.dtype in (torch.float32, torch.float64) or _size(model) > COPIED:
        return model
    return copy.deepcopy(model).float()


def _probes(model: Any) -> list[list[int]]:
    draw = np.random.default_rng(1916)
    count = model.get_input_embeddings().num_embeddings
    limit = getattr(model.config, "max_position_embeddings", None) or LONG
    lengths = [3, 24] + ([min(LONG, limit // 2)] if _size(model) <= COPIED // 2 else [])
    return [draw.integers(0, count, size=length).tolist() for length in lengths]


def _measure(model: Any, probes: list[list[int]]) -> list[Any]:
    """For each probe, the log-probabilities (places, tokens) of some tokens of the vocabulary."""
    import torch

    found = []
    for probe in probes:
        tokens = torch.tensor([probe], device=model.device)
        inputs = {"decoder_input_ids": tokens} if model.config.is_encoder_decoder else {}
        with torch.inference_mode():
            shares = model(input_ids=tokens, **inputs).logits[0].float().log_softmax(-1)
        columns = np.random.default_rng(1942).integers(0, shares.shape[-1], size=64)
        found.append(shares[:, torch.from_numpy(columns).to(shares.device)].cpu().double().numpy())
    return found


def _size(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
