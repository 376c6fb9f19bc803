"""A training step that runs out of memory: an error that says what to do, in place of torch's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wug.errors import ModelError
from wug.models import ran_out
from wug.train.checkpoint import Checkpoint


@contextmanager
def enough_memory(checkpoint: Checkpoint, batch: int) -> Iterator[None]:
    """Turns running out of memory into a ModelError with a remedy.

    A folder without a checkpoint may be used again with other options, such as the remedy.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        remedy = f"out of memory with {batch:,} rows a step: give a smaller --batch-size"
        if checkpoint.file.exists():
            raise ModelError(
                f"{remedy}, and another folder. The checkpoint in {checkpoint.folder.parent} stays: given more memory, "
                "the same command goes on from it"
            ) from error
        checkpoint.withdraw()
        raise ModelError(remedy) from error
