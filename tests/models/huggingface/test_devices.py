"""Memory that runs out: smaller and smaller halves, and an error where not even one row fits."""

from __future__ import annotations

import logging
import os

import pytest
import torch

from wug.errors import InputError, ModelError
from wug.models.huggingface.devices import compute_in_halves, free_threads, is_out_of_memory, pick_device, threads


def run(rows: int, most: int, error: Exception) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """How many rows are computed at once if at most `most` fit, and how many are tried from then on."""
    smaller: list[tuple[int, int]] = []

    def compute(low: int, high: int) -> tuple[int, int]:
        if high - low > most:
            raise error
        return low, high

    def size(low: int, high: int) -> str:
        smaller.append((low, high))
        return f"{high - low} rows"

    return compute_in_halves(compute, 0, rows, size, "use fewer"), smaller


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
        found, smaller = run(7, 2, error)
    assert found == [(0, 1), (1, 3), (3, 5), (5, 7)]
    assert smaller == [(0, 3), (0, 1), (3, 5)]
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


@pytest.mark.parametrize(
    ("cores", "load", "set_by_user", "expected"),
    [(2, 0.2, "", 2), (2, 6.0, "", 1), (16, 3.4, "", 13), (16, 3.4, "5", 5), (4, 0.0, "zero", 4)],
)
def test_threads_are_those_of_cores_without_other_work(
    cores: int, load: float, set_by_user: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setenv("OMP_NUM_THREADS", set_by_user)
    assert free_threads() == expected
    assert threads() == (int(set_by_user) if set_by_user.isdigit() else cores)


@pytest.mark.parametrize("wanted", ["gpu", "GPU", "nonsense", "cuda:x", "CUDA"])
def test_a_device_that_pytorch_has_no_name_for_is_refused_with_those_that_it_has(wanted: str) -> None:
    with pytest.raises(InputError, match=rf"device {wanted}: unknown\. Use cuda for an NVIDIA or AMD GPU, mps"):
        pick_device(wanted)


@pytest.mark.parametrize(
    ("wanted", "there", "message"),
    [
        ("cuda", 0, "device cuda: PyTorch .* finds no GPU here. Use cpu, or install PyTorch for your GPU"),
        ("cuda:1", 1, "device cuda:1: there is 1 GPU here, cuda:0"),
        ("cuda:7", 2, "device cuda:7: there are 2 GPUs here, cuda:0 to cuda:1"),
    ],
)
def test_a_gpu_that_is_not_there_is_refused(
    wanted: str, there: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    with pytest.raises(InputError, match=message):
        pick_device(wanted)


def test_a_device_that_is_there_is_taken() -> None:
    assert pick_device("cpu") == "cpu"
