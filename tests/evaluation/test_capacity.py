"""How many models there may be at a time, in threads and processes: by device, cores and free memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug import registry
from wug.evaluation.executors import processes as capacity
from wug.models import ModelSpec

GB = 1_000_000_000
CAUSAL = ModelSpec("causal", "somewhere")
CHECKPOINTS = [ModelSpec("causal", f"step-{number}") for number in range(40)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """16 cores, a GPU, and as much memory as one could want."""
    monkeypatch.setattr(capacity, "cores", lambda: 16)
    uses_device = {name: registry.traits(name).uses_device for name in registry.names("models")}
    monkeypatch.setattr(capacity, "device_of", lambda spec: "cuda" if uses_device[spec.backend] else "cpu")
    monkeypatch.setattr(capacity, "free_memory", lambda: 1000 * GB)
    monkeypatch.setattr(capacity, "_free_on_gpu", lambda: 1000 * GB)
    monkeypatch.setattr(capacity, "gpu_is_shared", lambda: True)
    return monkeypatch


def test_eight_processes_share_a_gpu_fewer_where_cores_or_models_are_fewer(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(capacity, "size_of", lambda spec: GB)
    assert capacity.worker_count(CHECKPOINTS) == 8
    assert capacity.worker_count(CHECKPOINTS[:3]) == 3
    machine.setattr(capacity, "cores", lambda: 6)
    assert capacity.worker_count(CHECKPOINTS) == 3


@pytest.mark.parametrize("where", ["free_memory", "_free_on_gpu"])
def test_a_process_needs_four_times_its_models_files_and_two_gigabytes(machine: pytest.MonkeyPatch, where: str) -> None:
    machine.setattr(capacity, "size_of", lambda spec: 3 * GB if spec.name == "step-7" else None)
    machine.setattr(capacity, where, lambda: 43 * GB)
    assert capacity.worker_count(CHECKPOINTS) == 3  # of 14 each
    machine.setattr(capacity, where, lambda: 13 * GB)
    assert capacity.worker_count(CHECKPOINTS) == 1
    machine.setattr(capacity, where, lambda: None)
    assert capacity.worker_count(CHECKPOINTS) == 1  # not known


def test_one_process_asks_what_no_gpu_computes_and_what_needs_all_of_it(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(capacity, "size_of", lambda spec: GB)
    assert capacity.worker_count([*CHECKPOINTS, ModelSpec("ngram", "somewhere")]) == 1
    machine.setattr(capacity, "gpu_is_shared", lambda: False)
    assert capacity.worker_count(CHECKPOINTS) == 1
    machine.setattr(capacity, "gpu_is_shared", lambda: True)
    assert capacity.worker_count([ModelSpec("causal", name, None, {"device_map": "auto"}) for name in "ab"]) == 1
    machine.setattr(capacity, "size_of", lambda spec: None)
    assert capacity.worker_count(CHECKPOINTS) == 1  # not on this machine yet
    machine.setattr(capacity, "device_of", lambda spec: "cpu")
    assert capacity.worker_count(CHECKPOINTS) == 1


def test_processes_share_the_cores_where_a_gpu_computes(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(capacity, "threads", lambda: 16)
    assert [capacity.threads_each(CHECKPOINTS, count) for count in (5, 8, 20)] == [3, 2, 1]
    machine.setattr(capacity, "device_of", lambda spec: "cpu")
    assert capacity.threads_each(CHECKPOINTS, 8) is None  # the last digits may hang on it


def test_free_memory_is_in_bytes() -> None:
    free = capacity.free_memory()
    assert free is not None
    assert free > 100_000_000  # a machine with less could not run these tests


def test_the_size_of_a_downloaded_model_is_that_of_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--owner--name"
    snapshot = folder / "snapshots" / ("0" * 40)
    for path, text in [
        (folder / "refs" / "main", "0" * 40),
        (snapshot / "config.json", "{}"),
        (snapshot / "model.safetensors", "12345"),
    ]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert capacity.size_of(ModelSpec("causal", "owner/name")) == 5
    assert capacity.size_of(ModelSpec("causal", "owner/other")) is None
    assert capacity.size_of(ModelSpec("ngram", "owner/name")) is None
