"""How many models there may be at a time, in threads and processes: by their kind, and what memory and cores allow."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from wug import registry
from wug.files import existing
from wug.models import ModelSpec, beside, cores, gpu_is_shared, pick_device, threads

WEIGHTS = (".safetensors", ".bin", ".pt", ".arpa", ".gz", ".jsonl", ".tsv")
ROOM = 4
"""Times the size of its files that must be free for a model to be loaded beside another: float32 made of 16 bits is
twice as large, and the other needs room to work."""
WORKERS = 8
"""Processes of a sweep that share a GPU."""
EACH = 2_000_000_000
"""Bytes that a process takes on a GPU beside its model."""
AVAILABLE = re.compile(r"^MemAvailable: *(\d+) kB$", re.MULTILINE)


def processes(models: Sequence[ModelSpec]) -> int:
    """Processes that models of a sweep are best shared out to: several on a GPU alone, as cores and memory allow."""
    if len(models) < 2 or not all(_shares_gpu(spec) for spec in models) or not gpu_is_shared():
        return 1
    sizes = [size for spec in models if (size := size_of(spec)) is not None]
    free = _free(models[0])
    if not sizes or any(bytes_ is None for bytes_ in free):
        return 1
    need = ROOM * max(sizes) + EACH
    return max(1, min(len(models), WORKERS, cores() // 2, *(bytes_ // need for bytes_ in free if bytes_ is not None)))


def threads_each(models: Sequence[ModelSpec], count: int) -> int | None:
    """Threads that each of so many processes computes with; None for as many as one process would.

    On a CPU the last digits may hang on it, so there it is what it would be.
    """
    if not all(registry.traits(spec.kind).uses_device and device_of(spec) != "cpu" for spec in models):
        return None
    return max(1, threads() // max(1, count))


def may_be_beside(spec: ModelSpec) -> bool:
    """Whether a model may be loaded while another is asked, by its kind, its number format and the room there is.

    transformers sets the number format of all threads while it loads: one that is not the usual would get into the
    other model's work.
    """
    if not registry.traits(spec.kind).prefetch or spec.options.get("dtype", "float32") != "float32":
        return False
    size = size_of(spec)
    return size is not None and all(free is not None and ROOM * size < free for free in _free(spec))


def loading(spec: ModelSpec, asking: int | None) -> AbstractContextManager[None]:
    """A context in which a thread loads a model while another asks one, which computes with `asking` threads.

    On a CPU a load computes with as many, since the last digits may hang on it.
    """
    if not registry.traits(spec.kind).uses_device:
        return nullcontext()
    device = device_of(spec)
    return beside(device, asking if device == "cpu" else max(1, threads() // 2))


def size_of(spec: ModelSpec) -> int | None:
    """Bytes of the model's files; None where they are not here."""
    path = existing(spec.name) or _snapshot(spec)
    if path is None:
        return None
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix in WEIGHTS]
    return sum(file.stat().st_size for file in files)


def _shares_gpu(spec: ModelSpec) -> bool:
    alone = spec.options.get("device_map", "no") == "no"
    return alone and registry.traits(spec.kind).shares_device and device_of(spec).startswith("cuda")


def _free(spec: ModelSpec) -> tuple[int | None, ...]:
    """Bytes that are free wherever the model will be, memory first; None where that is not known."""
    return (free_memory(),) if device_of(spec) == "cpu" else (free_memory(), _free_on_gpu())


def device_of(spec: ModelSpec) -> str:
    """Where a model will compute."""
    return pick_device(spec.options.get("device", "auto")) if registry.traits(spec.kind).uses_device else "cpu"


def free_memory() -> int | None:
    """Bytes of memory that a program may still take; None where the system does not tell."""
    if sys.platform == "linux":
        # Pages that hold files count as taken elsewhere, though they are given away for the asking: after some
        # checkpoints were read they are most of the memory.
        found = AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))
        if found:
            return int(found[1]) * 1024
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


def _snapshot(spec: ModelSpec) -> Path | None:
    """The folder in which the hub's programs keep the model."""
    if not registry.traits(spec.kind).on_hub:
        return None
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    config = try_to_load_from_cache(spec.name, "config.json", revision=spec.revision)
    return Path(config).parent if isinstance(config, str) else None
