"""Shared fixtures: tiny models, made once, and temporary stores and caches."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import reference
from case_selection import WHOLE

settings.register_profile(
    "wug",
    max_examples=100 if WHOLE else 20,
    deadline=None,  # how long an example takes depends on the machine
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("wug")
# One thread for each worker: threads that wait for one another are many times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where a test takes two, a thread that waits for the other sleeps: else it takes the core that the other needs.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Processes that tests start find the sources compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["HF_HUB_OFFLINE"] = "1"  # a test that uses the Hugging Face Hub fails at once
os.environ.setdefault("RAY_ADDRESS", "local")  # a command does not join the cluster of another test
# Folders of tests are in memory, where there is room: a test that keeps something waits for the disk otherwise.
MEMORY, ROOM = Path("/dev/shm"), 3 << 30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    os.environ.setdefault("TMPDIR", str(MEMORY))
# Collecting garbage takes a third of the time of reading a large suite, and there is little.
gc.set_threshold(20_000, 20, 20)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for what a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start and interrupt inherit it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark browser tests as slow; on several workers, slow files begin first, so that all workers end together."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """What is there before the first test stays, so the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Workers tell of skipped tests only by their reports."""
    reference.noticed(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if line := reference.summary():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are not there yet, one after the other: most tests write nothing, and need none."""
    return map(tmp_path_factory.mktemp("homes").joinpath, map(str, count()))


@pytest.fixture(autouse=True)
def _own_files(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A store and a file of answers of the test's own.

    The caches are in one folder, because converted models are stored next to them: a model of many tests is converted
    once. `own_conversions` is for tests that are about conversions.
    """
    home = next(_homes)
    monkeypatch.setenv("WUG_STORE", str(home / "store"))
    monkeypatch.setenv("WUG_CACHE", f"{home}-answers.db")


@pytest.fixture
def own_conversions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for models in the format of another engine: none is there yet."""
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "own" / "answers.db"))
    return tmp_path / "own" / "converted"


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that gives the folder of a tiny causal model of an architecture, made once."""
    import tiny

    made: dict[tuple[str, str], Path] = {}

    def make(architecture: str = "gpt2", tokenizer: str = "byte_level") -> Path:
        key = (architecture, tokenizer)
        if key not in made:
            kinds = {
                "byte_level": tiny.byte_level_tokenizer,
                "no_bos": lambda: tiny.byte_level_tokenizer(bos=False),
                "metaspace": tiny.metaspace_tokenizer,
            }
            folder = tmp_path_factory.mktemp(f"{architecture}-{tokenizer}")
            made[key] = tiny.save_causal(folder, architecture, tokenizer=kinds[tokenizer]())
        return made[key]

    return make


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Torch computes with two threads, as on a machine with two cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)
