"""Memory that does not suffice for a step: what to do about it, in place of torch's own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wug.errors import ModelError
from wug.train.checkpoint import Checkpoint

SIGNS = ("allocate memory", "out of memory", "ALLOC_FAILED")
"""What torch says without an error of its own: on a CPU, on Apple's GPUs, in CUDA's libraries."""


@contextmanager
def enough_memory(checkpoint: Checkpoint, batch: int) -> Iterator[None]:
    """Turns want of memory into a ModelError with a remedy.

    A folder in which nothing was kept yet is open again for other options, since a remedy is one.
    """
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
        known = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not known and not any(sign in str(error) for sign in SIGNS):
            raise
        remedy = f"out of memory with {batch:,} rows a step: give a smaller --batch-size"
        if checkpoint.file.exists():
            raise ModelError(
                f"{remedy}, and another folder. The checkpoint in {checkpoint.folder.parent} stays: given more memory, "
                "the same command goes on from it"
            ) from error
        checkpoint.withdraw()
        raise ModelError(remedy) from error
