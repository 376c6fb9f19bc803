"""Loading a model in a thread while another model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def beside(device: str, threads: int | None) -> Iterator[None]:
    """A context in which this thread computes with so many threads, and on a GPU apart from what is asked there.

    Without a number of threads it has those that torch gives it. A copy of weights to the GPU would else stand in the
    queue before the questions that come after it. What is loaded may be used everywhere once the context has ended.
    """
    import torch

    if threads is not None:
        # What torch would else take for a thread that it has not met is what some thread, anywhere, set last.
        torch.set_num_threads(threads)
    if torch.device(device).type != "cuda":
        yield
        return
    stream = _stream(device)
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()


@lru_cache
def _stream(device: str) -> Any:
    """One queue for all loads, whose memory is used again by the next: each queue has memory of its own."""
    import torch

    return torch.cuda.Stream(device)
