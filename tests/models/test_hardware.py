"""The devices and processor cores of a machine."""

from __future__ import annotations

import os

import pytest
import torch

from wug.errors import InputError
from wug.models.hardware import free_threads, pick_device, threads


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
