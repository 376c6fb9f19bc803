"""How many models fit on this machine at a time, by traits, memory and cores."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from wug import registry
from wug.files import existing
from wug.models import ModelSpec
from wug.models.hardware import cores, gpu_is_shared, pick_device, threads

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".arpa", ".gz", ".jsonl", ".tsv")
MEMORY_PER_FILE_BYTE = 4
"""Bytes of memory per byte of a model's files: float32 is twice as large as 16-bit weights, and activations need
memory."""
MAX_PROCESSES_PER_GPU = 8
PROCESS_OVERHEAD_BYTES = 2_000_000_000
"""Memory of a process on a GPU, without its model."""
AVAILABLE = re.compile(r"^MemAvailable: *(\d+) kB$", re.MULTILINE)


def processes(models: Sequence[ModelSpec]) -> int:
    """How many processes to use for some models: several only on a GPU, as cores and memory allow."""
    if len(models) < 2 or not all(_shares_gpu(spec) for spec in models) or not gpu_is_shared():
        return 1
    sizes = [size for spec in models if (size := size_of(spec)) is not None]
    free = _free(models[0])
    if not sizes or free is None:
        return 1
    need = MEMORY_PER_FILE_BYTE * max(sizes) + PROCESS_OVERHEAD_BYTES
    return max(1, min(len(models), MAX_PROCESSES_PER_GPU, cores() // 2, free // need))


def threads_each(models: Sequence[ModelSpec], count: int) -> int | None:
    """CPU threads for each of `count` processes; None for the default.

    On a CPU the last digits can depend on it, so the default is kept there.
    """
    if not all(registry.traits(spec.backend).uses_device and device_of(spec) != "cpu" for spec in models):
        return None
    return max(1, threads() // max(1, count))


def size_of(spec: ModelSpec) -> int | None:
    """Bytes of the model's files; None if they are not on this machine."""
    path = existing(spec.name) or registry.backend(spec.backend).snapshot(spec)
    if path is None:
        return None
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix in WEIGHT_SUFFIXES]
    return sum(file.stat().st_size for file in files)


def _shares_gpu(spec: ModelSpec) -> bool:
    alone = spec.options.get("device_map", "no") == "no"
    return alone and registry.traits(spec.backend).shares_device and device_of(spec).startswith("cuda")


def _free(spec: ModelSpec) -> int | None:
    """Free bytes of main memory, or of the GPU if the model runs there and it has less; None if one is unknown."""
    amounts = [free_memory()] if device_of(spec) == "cpu" else [free_memory(), _free_on_gpu()]
    known = [bytes_ for bytes_ in amounts if bytes_ is not None]
    return min(known) if len(known) == len(amounts) else None


def device_of(spec: ModelSpec) -> str:
    """The device that a model will use."""
    return pick_device(spec.options.get("device", "auto")) if registry.traits(spec.backend).uses_device else "cpu"


def free_memory() -> int | None:
    """Free bytes of main memory; None if the system does not report them."""
    if sys.platform == "linux":
        # Unlike sysconf, MemAvailable includes the page cache, which is most of the memory after reading checkpoints.
        match = AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))
        if match:
            return int(match[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # not on every system
        return None


def _free_on_gpu() -> int | None:
    import torch

    if not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
