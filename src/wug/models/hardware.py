"""Devices and processor cores, and what happens when memory runs out: half as much at a time."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from wug.errors import InputError, ModelError, needs_extra

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


COMPUTE_MODE_ATTRIBUTE = 20
"""CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: whether an NVIDIA GPU takes several processes."""


def pick_device(name: str | None) -> str:
    """The device of this name, checked; without a name, or for auto, the first of cuda, mps, cpu."""
    with needs_extra("a neural model", "hf"):
        import torch
    if name and name != "auto":
        _require_device(name)
        return name
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _require_device(name: str) -> None:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(
            f"device {name}: unknown. Use cuda for an NVIDIA or AMD GPU, mps for Apple's, cpu, or auto"
        ) from None
    if device.type != "cuda":
        return
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        raise InputError(
            f"device {name}: PyTorch {torch.__version__} finds no GPU here. Use cpu, or install PyTorch for your GPU"
        )
    if device.index is not None and device.index >= count:
        available = "is 1 GPU here, cuda:0" if count == 1 else f"are {count} GPUs here, cuda:0 to cuda:{count - 1}"
        raise InputError(f"device {name}: there {available}")


def threads() -> int:
    """Threads to compute with: OMP_NUM_THREADS, or one per core that the process may use."""
    return _threads_set() or cores()


def free_threads() -> int:
    """Like `threads`, but at most as many as there are idle cores: threads that share a core slow each other down."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not on Windows
        load = 0.0
    return _threads_set() or max(1, round(cores() - load))


def _threads_set() -> int | None:
    value = os.environ.get("OMP_NUM_THREADS", "")
    return int(value) if value.isascii() and value.isdigit() and int(value) > 0 else None


def cores() -> int:
    """Cores that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpu_is_shared() -> bool:
    """Whether several processes may use the first NVIDIA GPU: the administrators of a cluster may forbid it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:  # another system, or another maker's GPU
        return True
    device, mode = ctypes.c_int(), ctypes.c_int()
    succeeded = (
        driver.cuInit(0) == 0
        and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
        and driver.cuDeviceGetAttribute(ctypes.byref(mode), COMPUTE_MODE_ATTRIBUTE, device) == 0
    )
    return not succeeded or mode.value == 0


OUT_OF_MEMORY_MESSAGES = ("allocate memory", "out of memory", "ALLOC_FAILED")
"""What torch says in plain RuntimeErrors: on a CPU, on Apple's GPUs, in CUDA's libraries."""
FAILURES = (TypeError, ValueError, RuntimeError, LookupError, AttributeError, AssertionError)
"""What a model may raise that is used in a way it was not made for."""
MEMORY_ADVICE = "use a smaller model, -M dtype=bfloat16, or another --device"

log = logging.getLogger("wug")
Result = TypeVar("Result")


def device_of(model: PreTrainedModel) -> torch.device:
    """The device that a model computes on; for a model on several, that of its first layer."""
    import torch

    # Weights on disk have no device until they are needed: accelerate knows which it will be.
    hook = getattr(model.get_input_embeddings(), "_hf_hook", None)
    return torch.device(hook.execution_device) if hook is not None and model.device.type == "meta" else model.device


def requests_per_chunk(model: PreTrainedModel, *, cpu: tuple[float, int, int], gpu: tuple[float, int, int]) -> int:
    """Requests for a few seconds of work: a rate divided by the millions of parameters, within a minimum and maximum.

    `cpu` and `gpu` are rate, minimum and maximum on each.
    """
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    rate, minimum, maximum = gpu if device_of(model).type == "cuda" else cpu
    return int(min(maximum, max(minimum, rate / max(millions, 1.0))))


def position_limit(model: PreTrainedModel) -> int | None:
    """Maximum length of a text in tokens, special ones included; None if there is none."""
    limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if limit is not None and limit < 1:  # XLNet has none
        return None
    for name, module in model.named_modules():
        # In models derived from RoBERTa, positions begin after that of the padding.
        skipped = getattr(module, "padding_idx", None)
        if limit is not None and skipped is not None and name.endswith("position_embeddings"):
            return min(limit, int(module.num_embeddings)) - int(skipped) - 1
    return limit


def without_cudnn(device: torch.device) -> AbstractContextManager[None]:
    """A context with torch's own LSTM kernels: cuDNN would compute float32 in TF32, with three digits."""
    import torch

    return torch.backends.cudnn.flags(enabled=False) if device.type == "cuda" else nullcontext()


def nan_error(name: str) -> ModelError:
    """The error for a model that returns NaN."""
    return ModelError(
        f"{name} returns NaN. In half precision that is an overflow: use -M dtype=float32. Otherwise its weights are "
        "damaged"
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of torch says that memory ran out."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in OUT_OF_MEMORY_MESSAGES)


def compute_in_halves(
    compute: Callable[[int, int], Result], rows: range, width: int, unit: str, advice: str = MEMORY_ADVICE
) -> list[Result]:
    """The results of `compute` for some rows, given the first and the end; when memory runs out, for each half of them.

    A row has `width` of some `unit` ("tokens"). Several results tell the caller to plan smaller batches.
    """
    import torch

    try:
        return [compute(rows.start, rows.stop)]
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if len(rows) == 1:
            raise ModelError(f"out of memory for {width:,} {unit}: {advice}") from error
    # After the except clause, since the error keeps tensors alive.
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    log.warning("memory ran out: continuing with %s %s at a time", f"{len(halves[0]) * width:,}", unit)
    return [result for half in halves for result in compute_in_halves(compute, half, width, unit, advice)]
