"""A run that is watched from its start to its end, and killed: its page is right at every look.

The run is a separate process with a slow model: 28 chunks of requests with a pause at each, some seconds in all.
`WUG_WATCH_PAUSE=8` in the environment makes it a run of four minutes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from browsing import Served, client_of
from timeouts import PATIENCE
from wug.results.reader import RunReader

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "cli" / "killable.py"
PAUSE = float(os.environ.get("WUG_WATCH_PAUSE", "0.25"))
QUESTIONS, SUITES = 192, 2
FAR = re.compile(r"([\d,]+) of ([\d,]+) requests.*?(\d+) of (\d+) suites? done", re.DOTALL)
STATUS = re.compile(r'class="status (\w+)"')


class Seen(NamedTuple):
    """How far a run was at a look; what is not shown is counted as none."""

    status: str
    done: int
    questions: int
    judged: int
    suites: int
    results: int


def stored(reader: RunReader) -> Seen:
    """What the store says of its one run."""
    with reader.snapshot():
        run = reader.run(1)
        far = run.progress
        shown = far is not None and run.status in ("running", "interrupted")
        numbers = (far.done, far.requests, far.judged, far.suites) if far is not None and shown else (0, 0, 0, 0)
        return Seen(run.status, *numbers, len(reader.overview([1])))


def read(html: str) -> Seen:
    """What the page of the run says."""
    found = FAR.search(html.partition('id="about"')[2].partition("<details")[0])
    numbers = [int(number.replace(",", "")) for number in found.groups()] if found else [0, 0, 0, 0]
    done, questions, judged, suites = numbers
    status = STATUS.search(html)
    assert status is not None
    return Seen(status[1], done, questions, judged, suites, len(re.findall(r'<tr id="result-\d+"', html)))


@contextmanager
def running(folder: Path, pause: float = PAUSE) -> Iterator[subprocess.Popen[bytes]]:
    """A run with a slow model, under way; it is ended at last."""
    arguments = [folder / "asked.txt", folder / "store", folder / "run-answers.db", pause]
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        reader, end = RunReader(folder / "store"), time.monotonic() + PATIENCE
        while not reader.runs() or reader.runs()[0].status != "running":
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def look(client: TestClient, reader: RunReader) -> Seen:
    """What the page says, which is what the store said at some moment while it was made."""
    before = stored(reader)
    html = client.get("/run/1").text
    after = stored(reader)
    seen = read(html)
    if before == after:
        assert seen == before
    if before.status == after.status:
        assert all(low <= own <= high for low, own, high in zip(before[1:], seen[1:], after[1:], strict=True))
    assert seen.status in (before.status, after.status)
    return seen


@pytest.mark.usefixtures("hurried")
def test_a_run_is_watched_from_start_to_end_and_its_page_is_right_at_every_look(served: Served, page: Any) -> None:
    folder, reader = served.site.store.path.parent, served.site.reader
    client = client_of(served.site)
    looks: list[Seen] = []
    shown: list[Seen] = []
    with running(folder) as process:
        page.goto("/run/1")
        page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
        while process.poll() is None:
            looks.append(look(client, reader))
            shown.append(read(page.content()))
            page.wait_for_timeout(150)  # the run needs the processor too
        assert process.returncode == 0
    looks.append(look(client, reader))
    assert looks[-1] == Seen("complete", 0, 0, 0, 0, SUITES)
    going = [one for one in looks if one.status == "running" and one.questions]
    assert {(one.questions, one.suites) for one in going} == {(QUESTIONS, SUITES)}
    assert [one.done for one in going] == sorted(one.done for one in going)
    assert len({one.done for one in going}) > 2
    assert {one.results for one in looks} == {0, 1, 2}  # results came one by one
    # The open page keeps up from time to time: it never goes back, and is never ahead of what is looked up after it.
    told = [(one, after) for one, after in zip(shown, looks[1:], strict=True) if one.questions]
    assert {(one.questions, one.suites) for one, _ in told} <= {(QUESTIONS, SUITES)}
    assert [one.done for one, _ in told] == sorted(one.done for one, _ in told)
    assert all(one.done <= after.done and one.judged <= after.judged for one, after in told if after.questions)
    # It ends where the run did, without a new page.
    page.wait_for_selector(".status.complete")
    assert page.locator("#result-rows tr").count() == SUITES
    assert page.locator("h1").get_attribute("data-kept") == "yes"


@pytest.mark.usefixtures("hurried")
def test_after_a_kill_the_page_says_how_far_it_came_and_the_same_command_goes_on(served: Served, page: Any) -> None:
    folder, reader = served.site.store.path.parent, served.site.reader
    client = client_of(served.site)
    with running(folder) as process:
        page.goto("/run/1")
        while stored(reader).judged == 0:
            look(client, reader)
            page.wait_for_timeout(100)
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and nobody has waited for it yet
        seen = look(client, reader)
        assert (seen.status, seen.questions, seen.judged, seen.results) == ("interrupted", QUESTIONS, 1, 1)
        page.wait_for_selector(".status.interrupted")
        words = f"interrupted at {seen.done} of {QUESTIONS} requests · 1 of {SUITES} suites done. The same command"
        assert words in page.locator("#about").inner_text()
    with running(folder, 0.0) as again:
        assert again.wait() == 0
    assert look(client, reader) == Seen("complete", 0, 0, 0, 0, SUITES)
    assert len(reader.runs()) == 1
    page.wait_for_selector(".status.complete")
