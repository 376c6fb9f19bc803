"""The load-time self-test of a device: a few probes there and on the CPU. Results are cached by architecture."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from wug.errors import first_line
from wug.models.spec import Loading
from wug.timings import timed

TOLERANCE = {"float64": 0.005, "float32": 0.005, "float16": 0.1, "bfloat16": 0.5}
"""Nats by which a device may differ from the CPU in float32: the largest mean over some tokens at a position."""
TF32_TOLERANCE = 0.05
"""For float32 if the user allows TF32."""
MAX_COPIED_PARAMETERS = 1_000_000_000
"""Parameters up to which a model in half precision is copied to float32 for the comparison. A larger model is compared
with the CPU in its own dtype: a copy would take two or three times its memory."""
MAX_PROBE_TOKENS = 128
"""Tokens of the longest probe, which is for smaller models only, since a CPU takes long."""
REPEATED_PROBES = 2
"""Probes, the shortest ones, for a model of an architecture with which the device was right already."""
IGNORED_SETTINGS = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
"""Settings of a configuration that do not belong to an architecture; the dtype is taken from the model."""

log = logging.getLogger("wug")


PASSED: set[str | None] = set()
"""Architectures with which a device computed what the CPU does."""


def architecture_digest(model: PreTrainedModel, loading: Loading, device: str) -> str | None:
    """A digest of a model's class, configuration, dtype and device; None if these do not determine the computation."""
    is_placed = loading.quantize != "no" or loading.device_map != "no"
    if is_placed or loading.trust_remote_code or loading.adapter is not None or loading.gguf:
        return None
    settings = {name: value for name, value in model.config.to_dict().items() if name not in IGNORED_SETTINGS}
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    description = json.dumps([kind, str(model.dtype), device, settings], sort_keys=True, default=str)
    return hashlib.blake2b(description.encode(), digest_size=16).hexdigest()


def move_to_device(
    model: PreTrainedModel, device: str, *, required: bool, architecture: str | None = None
) -> PreTrainedModel:
    """Move a model from the CPU to `device`; back to the CPU if the device computes something else.

    If the user `required` the device, it is used with a warning. Further models of one architecture get fewer probes.
    """
    if torch.device(device).type == "cpu":
        return model.to(device)
    probes = _probes(model)[: REPEATED_PROBES if architecture in PASSED - {None} else None]
    try:
        with timed("reference"):
            is_precise = model.dtype in (torch.float32, torch.float64)
            as_it_is = is_precise or _parameters(model) > MAX_COPIED_PARAMETERS
            expected = _logprobs(model if as_it_is else copy.deepcopy(model).float(), probes)
    except (RuntimeError, TypeError, ValueError) as error:
        log.warning("%s could not be compared with the CPU: %s", device, first_line(error))
        return model.to(device)
    with timed("copy"):
        model = model.to(device)
    with timed("compare"):
        problem = _problem(model, probes, expected)
    if not problem:
        PASSED.add(architecture)
        return model
    if required:
        log.warning("%s: %s. It is used as you asked; --device cpu is safe", device, problem)
        return model
    log.warning("%s: %s. Continuing on the CPU; --device %s insists", device, problem, device)
    return model.to("cpu")


def tolerance(dtype: torch.dtype) -> float:
    """Nats by which a device may differ from the CPU."""
    name = str(dtype).removeprefix("torch.")
    uses_tf32 = torch.get_float32_matmul_precision() != "highest"
    return TF32_TOLERANCE if name == "float32" and uses_tf32 else TOLERANCE.get(name, TOLERANCE["bfloat16"])


def _problem(model: PreTrainedModel, probes: list[list[int]], expected: list[npt.NDArray[Any]]) -> str:
    try:
        logprobs = _logprobs(model, probes)
    except RuntimeError as error:
        return f"the model cannot be computed there ({first_line(error)})"
    gap = max(float(np.abs(a - b).mean(axis=-1).max()) for a, b in zip(expected, logprobs, strict=True))
    if gap <= tolerance(model.dtype):  # false for NaN too
        return ""
    return f"log-probabilities differ from the CPU's by {gap:.2g} nats where {tolerance(model.dtype):g} would be usual"


def _probes(model: PreTrainedModel) -> list[list[int]]:
    generator = np.random.default_rng(1916)
    count = model.get_input_embeddings().num_embeddings
    limit = getattr(model.config, "max_position_embeddings", None) or MAX_PROBE_TOKENS
    small = _parameters(model) <= MAX_COPIED_PARAMETERS // 2
    lengths = [3, 24] + ([min(MAX_PROBE_TOKENS, limit // 2)] if small else [])
    return [generator.integers(0, count, size=length).tolist() for length in lengths]


def _logprobs(model: PreTrainedModel, probes: list[list[int]]) -> list[npt.NDArray[Any]]:
    """For each probe, the log-probabilities (positions, tokens) of some tokens of the vocabulary."""
    selected = []
    for probe in probes:
        tokens = torch.tensor([probe], device=model.device)
        inputs = {"decoder_input_ids": tokens} if model.config.is_encoder_decoder else {}
        with torch.inference_mode():
            logprobs = model(input_ids=tokens, **inputs).logits[0].float().log_softmax(-1)
        columns = np.random.default_rng(1942).integers(0, logprobs.shape[-1], size=64)
        selected.append(logprobs[:, torch.from_numpy(columns).to(logprobs.device)].cpu().double().numpy())
    return selected


def _parameters(model: PreTrainedModel) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
