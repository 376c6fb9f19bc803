"""The device that computes, how many threads do, and what is done when memory runs out: half as much at a time."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from typing import Any, TypeVar

from wug.errors import InputError, MissingExtra, ModelError

SIGNS = ("allocate memory", "out of memory", "ALLOC_FAILED")
"""What torch says without an error of its own: on a CPU, on Apple's GPUs, in CUDA's libraries."""

COMPUTE_MODE = 20
"""NVIDIA's number for what tells whether a GPU takes several processes (CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)."""

REMEDY = "take a smaller model, -M dtype=bfloat16, or another --device"

log = logging.getLogger("wug")
Answers = TypeVar("Answers")


def pick_device(wanted: str | None) -> str:
    """The device to use: the one asked for, or the first of cuda, mps, cpu that is there."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("a neural model", "hf") from None
    if wanted and wanted != "auto":
        _require_device(wanted)
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _require_device(wanted: str) -> None:
    import torch

    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise InputError(
            f"device {wanted}: unknown. Use cuda for an NVIDIA or AMD GPU, mps for Apple's, cpu, or auto"
        ) from None
    if device.type != "cuda":
        return
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        raise InputError(
            f"device {wanted}: PyTorch {torch.__version__} finds no GPU here. Use cpu, or install PyTorch for your GPU"
        )
    if device.index is not None and device.index >= count:
        there = "is 1 GPU here, cuda:0" if count == 1 else f"are {count} GPUs here, cuda:0 to cuda:{count - 1}"
        raise InputError(f"device {wanted}: there {there}")


def device_of(model: Any) -> Any:
    """The device that a model computes on; of one that is spread out, that of its first layer."""
    import torch

    first = model.get_input_embeddings()
    # Weights on disk are nowhere until they are needed: accelerate knows where that will be.
    hook = getattr(first, "_hf_hook", None)
    return torch.device(hook.execution_device) if hook is not None and model.device.type == "meta" else model.device


def threads() -> int:
    """Threads to compute with: those that the user set, or one for each core that the process may use."""
    return _wanted() or cores()


def free_threads() -> int:
    """The same, but only as many as there are cores without other work: threads that wait for each other's turn on a
    core cost far more than they bring.
    """
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has no such number
        busy = 0.0
    return _wanted() or max(1, round(cores() - busy))


def _wanted() -> int | None:
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isascii() and given.isdigit() and int(given) > 0 else None


def cores() -> int:
    """Cores that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpu_is_shared() -> bool:
    """Whether several processes may compute on the first GPU of NVIDIA's: the keepers of a cluster may forbid it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:  # another system, or another maker's GPU
        return True
    device, mode = ctypes.c_int(), ctypes.c_int()
    known = (
        driver.cuInit(0) == 0
        and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
        and driver.cuDeviceGetAttribute(ctypes.byref(mode), COMPUTE_MODE, device) == 0
    )
    return not known or mode.value == 0


def ran_out(error: BaseException) -> bool:
    """Whether an error of torch says that memory ran out."""
    import torch

    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or (isinstance(error, RuntimeError) and any(sign in str(error) for sign in SIGNS))


def halving(
    compute: Callable[[int, int], Answers],
    low: int,
    high: int,
    *,
    shrink: Callable[[int, int], str],
    single: Callable[[int], str],
) -> list[Answers]:
    """What `compute` gives for the rows `low:high`; when memory runs out, for each half of them.

    `shrink` is told of the rows that will be tried next, to ask for as many from then on, and says how much that is
    ("512 tokens"); `single` says what one row that does not fit is, and the remedy ("512 tokens on cuda: take …").
    """
    import torch

    try:
        return [compute(low, high)]
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        if high - low == 1:
            raise ModelError(f"out of memory for {single(low)}") from error
    # Not before the error is gone, which holds on to what was computed.
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    half = (low + high) // 2
    log.warning("memory ran out: going on with %s at a time", shrink(low, half))
    return [
        *halving(compute, low, half, shrink=shrink, single=single),
        *halving(compute, half, high, shrink=shrink, single=single),
    ]
