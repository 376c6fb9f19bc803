"""Worker threads, each of which computes with one torch thread.

Two threads with a matrix product each are faster than two that share every product: those wait for each other after
every step, and spin while they wait. On a busy machine that triples the CPU time of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

_STARTING = threading.Lock()
"""Held while the thread count is 1, since torch gives every new thread the count that was set last."""


class Workers:
    """A pool of as many threads as torch would use."""

    def __init__(self, count: int) -> None:
        import torch

        self._count = count
        self._thread = threading.local()
        all_here = threading.Barrier(count)

        def alone(_: int) -> None:
            torch.get_num_threads()  # a thread takes over the number set last when it first needs one: not later
            all_here.wait()
            torch.set_num_threads(1)
            self._thread.works = True

        self._pool = ThreadPoolExecutor(count, thread_name_prefix="wug")
        with _STARTING:
            list(self._pool.map(alone, range(count)))
            torch.set_num_threads(count)  # threads that begin later, and this one, are as they were

    @property
    def free(self) -> int:
        """Threads available to the caller: one inside a worker, else all."""
        return 1 if getattr(self._thread, "works", False) else self._count

    def each(self, do: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """The results of `do`, in order; torch uses all its threads for a single item."""
        import torch

        def apart(item: Item) -> Found:
            with torch.inference_mode():
                return do(item)

        listed = list(items)
        if len(listed) < 2 or self.free == 1:
            return [do(item) for item in listed]
        return list(self._pool.map(apart, listed))


def workers_for(device: str, *, foreign: bool = False) -> Workers | None:
    """Workers for a model; None for a single thread, and for `foreign` code, which may not be thread-safe."""
    import torch

    threads = torch.get_num_threads()
    return Workers(threads) if device == "cpu" and threads > 1 and not foreign else None
