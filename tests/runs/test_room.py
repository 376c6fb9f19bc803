"""How many models are loaded beside the one that is asked: by device, cores and free memory."""

from __future__ import annotations

import threading

import pytest
import torch

from wug.models import ModelSpec, beside
from wug.runs import room

GB = 1_000_000_000
CAUSAL = ModelSpec("causal", "somewhere")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """16 cores, a GPU, and as much memory as one could want."""
    monkeypatch.setattr(room, "cores", lambda: 16)
    monkeypatch.setattr(room, "device_of", lambda spec: "cuda" if spec.kind in room.NEURAL else "cpu")
    monkeypatch.setattr(room, "free_memory", lambda: 1000 * GB)
    monkeypatch.setattr(room, "_free_on_gpu", lambda: 1000 * GB)
    return monkeypatch


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 2), (16, 8), (64, 8)])
def test_half_of_the_cores_make_models_ready_eight_at_most(
    monkeypatch: pytest.MonkeyPatch, cores: int, threads: int
) -> None:
    monkeypatch.setattr(room, "cores", lambda: cores)
    assert room.threads_ahead() == threads


def test_on_a_gpu_as_many_as_there_are_threads_are_loaded_and_on_a_cpu_one(machine: pytest.MonkeyPatch) -> None:
    assert [room.allows(CAUSAL, GB, waiting, 0) for waiting in (0, 7, 8)] == [True, True, False]
    words = ModelSpec("lstm", "somewhere")  # loaded under Python's lock, one at a time
    assert [room.allows(words, GB, waiting, 0) for waiting in (0, 1)] == [True, False]
    machine.setattr(room, "device_of", lambda spec: "cpu")
    assert [room.allows(CAUSAL, GB, waiting, 0) for waiting in (0, 1)] == [True, False]


@pytest.mark.parametrize("where", ["free_memory", "_free_on_gpu"])
def test_room_is_four_times_a_models_files_beside_twice_those_that_are_loaded(
    machine: pytest.MonkeyPatch, where: str
) -> None:
    machine.setattr(room, where, lambda: 10 * GB)
    assert room.allows(CAUSAL, 2 * GB, 1, 0)  # 8 of 10
    assert not room.allows(CAUSAL, 2 * GB, 1, GB)  # 8 and 2
    assert not room.allows(CAUSAL, 3 * GB, 0, 0)  # 12
    machine.setattr(room, where, lambda: None)
    assert not room.allows(CAUSAL, 1, 0, 0)  # not known


def test_only_a_gpu_is_asked_ahead(machine: pytest.MonkeyPatch) -> None:
    assert room.may_ask_ahead(CAUSAL)
    assert not room.may_ask_ahead(ModelSpec("ngram", "somewhere"))
    machine.setattr(room, "device_of", lambda spec: "cpu")
    assert not room.may_ask_ahead(CAUSAL)


def test_free_memory_is_told_in_bytes_and_files_that_were_read_do_not_count() -> None:
    free = room.free_memory()
    assert free is not None
    assert free > 100_000_000  # a machine with less could not run these tests


def test_a_thread_that_loads_computes_with_the_threads_it_is_given() -> None:
    before, seen = torch.get_num_threads(), []

    def load() -> None:
        with beside("cpu", 3):
            seen.append(torch.get_num_threads())

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert seen == [3]
    assert torch.get_num_threads() == before
    torch.set_num_threads(before)  # also for threads that torch has not met yet
