"""Steps that a GPU records: played back, a hundred little kernels are a single launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def recorded(step: Callable[[], None], pool: Any) -> Any:
    """A step as a graph of torch's; before that it is taken once, in which libraries choose their kernels."""
    import torch

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        step()
    return graph
