"""A run that is killed at any moment and started again ends as an unbroken one, asking only what is missing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from case_selection import cases
from wug.results.store import Store

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killable.py")
SENTENCES = 2 * 24 * 4
"""Two suites of 24 items in four conditions, all different."""
CHUNK = 7


def start(folder: Path, pause: float) -> subprocess.Popen[str]:
    arguments = [folder / "asked.txt", folder / "store", folder / "answers.db", pause]
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_interruptible,
    )  # fmt: skip


def _interruptible() -> None:
    """A process that a shell started in the background ignores Ctrl-C; this one must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def asked(folder: Path) -> list[str]:
    path = folder / "asked.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def wait_for(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the model has had that many requests, or the process has ended."""
    while len(asked(folder)) < count and process.poll() is None:
        time.sleep(0.002)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    folder = tmp_path_factory.mktemp("unbroken")
    out, errors = start(folder, 0.0).communicate()
    assert len(asked(folder)) == SENTENCES, errors
    found: list[dict[str, object]] = json.loads(out)
    return found


def test_kills_at_random_points_change_nothing(tmp_path: Path, unbroken: list[dict[str, object]]) -> None:
    draw = random.Random(1958)
    kills = len(cases(range(4), range(4, 10)))
    for _ in range(kills):
        process = start(tmp_path, 0.01)
        wait_for(tmp_path, len(asked(tmp_path)) + draw.randint(1, 2 * CHUNK), process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    out, errors = start(tmp_path, 0.0).communicate()
    assert json.loads(out) == unbroken, errors
    # Only a chunk that was under way when the kill came can have been asked twice.
    assert SENTENCES <= len(asked(tmp_path)) <= SENTENCES + kills * CHUNK
    (run,) = Store(tmp_path / "store").runs()
    assert (run.status, run.suites) == ("complete", 2)


def test_a_resumed_run_asks_exactly_what_is_missing(tmp_path: Path, unbroken: list[dict[str, object]]) -> None:
    process = start(tmp_path, 0.05)
    wait_for(tmp_path, 5 * CHUNK + 1, process)  # the sixth chunk is under way: five are kept
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = asked(tmp_path)
    out, _ = start(tmp_path, 0.0).communicate()
    assert json.loads(out) == unbroken
    again = asked(tmp_path)[len(before) :]
    kept = SENTENCES - len(again)
    assert kept % CHUNK == 0
    assert kept in (5 * CHUNK, 6 * CHUNK)
    assert not set(again) & set(before[:kept])


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    process = start(tmp_path, 0.05)
    wait_for(tmp_path, CHUNK + 1, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "run the same command to resume" in errors
    assert "Traceback" not in errors
    assert Store(tmp_path / "store").runs()[0].status == "interrupted"
