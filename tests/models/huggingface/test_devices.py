"""Memory that runs out: smaller and smaller halves, and an error where not even one row fits."""

from __future__ import annotations

import logging

import pytest
import torch

from wug.errors import ModelError
from wug.models.hardware import compute_in_halves, is_out_of_memory


def run(rows: int, most: int, error: Exception) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """How many rows are computed at once if at most `most` fit, and which are tried."""
    tried: list[tuple[int, int]] = []

    def compute(low: int, high: int) -> tuple[int, int]:
        tried.append((low, high))
        if high - low > most:
            raise error
        return low, high

    return compute_in_halves(compute, range(rows), 1, "rows", "use fewer"), tried


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("MPS backend out of memory (MPS allocated: 9.00 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
        MemoryError(),
    ],
)
def test_rows_are_halved_until_they_fit(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        found, tried = run(7, 2, error)
    assert found == [(0, 1), (1, 3), (3, 5), (5, 7)]
    assert tried == [(0, 7), (0, 3), (0, 1), (1, 3), (3, 7), (3, 5), (5, 7)]
    assert "memory ran out: continuing with 3 rows at a time" in caplog.text


def test_torch_has_an_error_for_it() -> None:
    assert run(2, 1, torch.OutOfMemoryError("no room"))[0] == [(0, 1), (1, 2)]


def test_a_row_that_does_not_fit_alone_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"^out of memory for 1 rows: use fewer$"):
        run(3, 0, MemoryError())


def test_any_other_error_is_not_about_memory() -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        run(3, 1, RuntimeError("shapes do not fit"))
    assert not is_out_of_memory(ValueError("out of memory"))
