"""The devices and processor cores of this machine."""

from __future__ import annotations

import ctypes
import os

from wug.errors import InputError, needs_extra

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
