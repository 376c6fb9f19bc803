"""How the benchmark of a GPU during a sweep makes shares of what it sees."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from timeouts import PATIENCE
from wug.timings import timed

FILE = Path(__file__).resolve().parents[1] / "benchmarks" / "sweep_gpu.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("sweep_gpu", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "sweep_gpu", module)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_shares_are_of_the_time_between_the_first_work_and_the_last(benchmark: ModuleType) -> None:
    samples = [benchmark.Sample(at, used) for at, used in enumerate([0, 0, 50, 100, 0, 90, 0])]
    within = benchmark.worked(samples)  # 50, 100, 0 and 90: 60 on average
    assert benchmark.idle_share(within) == pytest.approx(0.4)
    assert benchmark.share_at_nought(within) == 0.25
    assert benchmark.worked(samples[:2]) == []
    assert benchmark.idle_share([]) is None
    assert benchmark.share_at_nought([]) is None


def test_of_a_sweep_the_time_from_the_first_question_to_the_last_answer_counts(benchmark: ModuleType) -> None:
    samples = [benchmark.Sample(at, used) for at, used in enumerate([0, 30, 0, 80, 0, 100, 10])]
    spans = [
        benchmark.Span("load", 0.5, 2.5),
        benchmark.Span("evaluate", 2.5, 4.0),
        benchmark.Span("evaluate", 3.5, 5.2),
    ]
    within = benchmark.between(samples, *benchmark.summary(spans)["asked"])
    assert [sample.used for sample in within] == [80, 0, 100]
    assert benchmark.idle_share(within) == pytest.approx(0.4)


def test_waiting_is_the_time_without_requests_between_the_first_and_the_last(benchmark: ModuleType) -> None:
    spans = [
        benchmark.Span("wait", 0.0, 10.0),  # for the first model, before any question
        benchmark.Span("evaluate", 10.0, 14.0),
        benchmark.Span("load", 3.0, 15.0),
        benchmark.Span("evaluate", 15.0, 18.0),  # nobody was asked from 14 to 15
        benchmark.Span("evaluate", 16.0, 17.0),  # by another process
        benchmark.Span("wait", 17.5, 18.0),
        benchmark.Span("evaluate", 18.0, 20.0),
    ]
    assert benchmark.waiting(spans) == (1.0, 10.0)
    found = benchmark.summary(spans)
    assert found["waited_share"] == "10.0 %"
    assert found["evaluate"] == {"a_model": 2.5, "longest": 4.0}  # 10 s, four models
    assert found["asked_at_a_time"] == 1.11  # 10 s in 9
    assert benchmark.waiting(spans[:1]) == (0.0, 0.0)


def test_stages_are_read_from_the_log(benchmark: ModuleType) -> None:
    stages, log = benchmark.Stages(), logging.getLogger("wug.timings")
    log.addHandler(stages)
    before = log.level
    try:
        with timed("unheard"):
            pass
        log.setLevel(logging.DEBUG)
        with timed("hash"):
            pass
    finally:
        log.setLevel(before)
        log.removeHandler(stages)
    assert [span.name for span in stages.spans] == ["hash"]
    assert stages.spans[0].began <= stages.spans[0].ended


def test_samples_come_from_nvidia_smi_where_nvml_is_not_there(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nprintf '0\\n80\\n[N/A]\\n100\\n'\nexec sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(benchmark, "by_nvml", lambda: None)
    end = time.monotonic() + PATIENCE
    with benchmark.watching() as samples:
        while len(samples) < 3 and time.monotonic() < end:
            time.sleep(0.01)
    assert [sample.used for sample in samples] == [0, 80, 100]
