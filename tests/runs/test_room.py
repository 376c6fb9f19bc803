"""How many models there may be at a time, in threads and processes: by device, cores and free memory."""

from __future__ import annotations

import threading

import pytest
import torch

from wug import registry
from wug.models import ModelSpec, beside
from wug.runs import room

GB = 1_000_000_000
CAUSAL = ModelSpec("causal", "somewhere")
CHECKPOINTS = [ModelSpec("causal", f"step-{number}") for number in range(40)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """16 cores, a GPU, and as much memory as one could want."""
    monkeypatch.setattr(room, "cores", lambda: 16)
    monkeypatch.setattr(room, "device_of", lambda spec: "cuda" if registry.traits(spec.kind).uses_device else "cpu")
    monkeypatch.setattr(room, "free_memory", lambda: 1000 * GB)
    monkeypatch.setattr(room, "_free_on_gpu", lambda: 1000 * GB)
    monkeypatch.setattr(room, "gpu_is_shared", lambda: True)
    return monkeypatch


def test_eight_processes_share_a_gpu_fewer_where_cores_or_models_are_fewer(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(room, "size_of", lambda spec: GB)
    assert room.processes(CHECKPOINTS) == 8
    assert room.processes(CHECKPOINTS[:3]) == 3
    machine.setattr(room, "cores", lambda: 6)
    assert room.processes(CHECKPOINTS) == 3


@pytest.mark.parametrize("where", ["free_memory", "_free_on_gpu"])
def test_a_process_needs_four_times_its_models_files_and_two_gigabytes(machine: pytest.MonkeyPatch, where: str) -> None:
    machine.setattr(room, "size_of", lambda spec: 3 * GB if spec.name == "step-7" else None)
    machine.setattr(room, where, lambda: 43 * GB)
    assert room.processes(CHECKPOINTS) == 3  # of 14 each
    machine.setattr(room, where, lambda: 13 * GB)
    assert room.processes(CHECKPOINTS) == 1
    machine.setattr(room, where, lambda: None)
    assert room.processes(CHECKPOINTS) == 1  # not known


def test_one_process_asks_what_no_gpu_computes_and_what_needs_all_of_it(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(room, "size_of", lambda spec: GB)
    assert room.processes([*CHECKPOINTS, ModelSpec("ngram", "somewhere")]) == 1
    machine.setattr(room, "gpu_is_shared", lambda: False)
    assert room.processes(CHECKPOINTS) == 1
    machine.setattr(room, "gpu_is_shared", lambda: True)
    assert room.processes([ModelSpec("causal", name, None, {"device_map": "auto"}) for name in "ab"]) == 1
    machine.setattr(room, "size_of", lambda spec: None)
    assert room.processes(CHECKPOINTS) == 1  # not on this machine yet
    machine.setattr(room, "device_of", lambda spec: "cpu")
    assert room.processes(CHECKPOINTS) == 1


def test_processes_share_the_cores_where_a_gpu_computes(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(room, "threads", lambda: 16)
    assert [room.threads_each(CHECKPOINTS, count) for count in (5, 8, 20)] == [3, 2, 1]
    machine.setattr(room, "device_of", lambda spec: "cpu")
    assert room.threads_each(CHECKPOINTS, 8) is None  # the last digits may hang on it


@pytest.mark.parametrize("where", ["free_memory", "_free_on_gpu"])
def test_room_is_four_times_a_models_files(machine: pytest.MonkeyPatch, where: str) -> None:
    machine.setattr(room, where, lambda: 10 * GB)
    machine.setattr(room, "size_of", lambda spec: 2 * GB)
    assert room.may_be_beside(CAUSAL)  # 8 of 10
    machine.setattr(room, "size_of", lambda spec: 3 * GB)
    assert not room.may_be_beside(CAUSAL)  # 12
    machine.setattr(room, "size_of", lambda spec: None)
    assert not room.may_be_beside(CAUSAL)  # not on this machine
    machine.setattr(room, "size_of", lambda spec: 1)
    machine.setattr(room, where, lambda: None)
    assert not room.may_be_beside(CAUSAL)  # not known


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
