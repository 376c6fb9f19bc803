"""The progress of a run: reports while it runs, and the state after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluating import record
from fake_models import FakeScorer
from fake_suites import FakeSuite
from wug.errors import ModelError
from wug.requests import Request, Scored
from wug.results.progress import Progress, ProgressReporter, duration, in_words
from wug.results.reader import RunReader
from wug.results.records import is_running
from wug.results.store import Store


class WatchingScorer(FakeScorer):
    """Reads the progress in the store at every chunk of two texts."""

    def __init__(self, store: Store, *, ordered: bool = False) -> None:
        super().__init__(chunk=2, ordered=ordered)
        self.store = store
        self.seen: list[tuple[int, int, int] | None] = []

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.seen.append(_far(self.store.reader))
        return super().score(requests)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store gets every report at once."""
    monkeypatch.setattr("wug.results.progress.WRITE_INTERVAL_SECONDS", 0.0)


def test_a_run_says_how_many_questions_are_answered_while_it_goes_on(store: Store, every_word: None) -> None:
    model = WatchingScorer(store)
    record([FakeSuite("one", "abcd"), FakeSuite("two", "cdef")], model, command="wug run", store=store)
    # a to f are six different questions, asked two at a time; both suites are judged when all are answered.
    assert model.seen == [(0, 6, 0), (2, 6, 0), (4, 6, 0)]
    assert _far(store.reader) == (6, 6, 2)


def test_questions_that_depend_on_answers_are_added_when_they_come(store: Store, every_word: None) -> None:
    model = WatchingScorer(store)
    record([FakeSuite("one", "ab", "xyz")], model, command="wug run", store=store)
    assert model.seen == [(0, 2, 0), (2, 5, 0), (4, 5, 0)]
    assert _far(store.reader) == (5, 5, 1)


def test_results_come_while_a_long_run_goes_on(store: Store, every_word: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.evaluation.cached_model.CHUNKS_PER_GROUP", 1)
    model = WatchingScorer(store)
    record(
        [FakeSuite("one", "ab"), FakeSuite("two", "c"), FakeSuite("three", "de")], model, command="wug run", store=store
    )
    # The first suite fills a group by itself; the second waits for the third.
    assert model.seen == [(0, 5, 0), (2, 5, 1), (4, 5, 1)]
    assert _far(store.reader) == (5, 5, 3)


def test_a_model_that_is_asked_in_order_says_how_far_it_is_too(store: Store, every_word: None) -> None:
    model = WatchingScorer(store, ordered=True)
    record([FakeSuite("one", "ab"), FakeSuite("two", "ab")], model, command="wug run", store=store)
    assert model.seen == [(0, 4, 0), (2, 4, 0), (2, 4, 1), (4, 4, 1)]  # the empty list of `more` is asked too


def test_progress_is_stored_at_most_once_per_second(store: Store) -> None:
    now = [100.0]
    number = store.begin("k", "m", "wug run")
    report = ProgressReporter(None, lambda: now[0])
    report.begin(store, number, 3, done=10, requests=110)
    for done, at in ((20, 100.4), (30, 100.9), (60, 105.0), (61, 105.5)):
        now[0] = at
        report.computed(done, 110)
    found = store.run(number).progress
    assert found == Progress(60, 110, 0, 3, cached=10, started=100.0, updated=105.0)
    assert found.rate == 10  # 50 answered in 5 seconds, without the 10 that the cache knew
    assert found.left == 5
    assert in_words(found) == "60 of 110 requests · 10 per second · 5 s left · 0 of 3 suites done"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (100, "2 min"), (3600, "1 h"), (7900, "2 h 12 min")]
)
def test_a_time_is_reported_no_more_exactly_than_it_is_known(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_run_that_fails_keeps_what_it_said(store: Store) -> None:
    def broken(text: str) -> Scored:
        raise ModelError("the server at port 9 does not answer")

    with pytest.raises(ModelError):
        record([FakeSuite("one", "ab")], FakeScorer(broken), command="wug run", store=store)
    assert (store.run(1).status, store.run(1).message) == ("failed", "the server at port 9 does not answer")
    assert _far(store.reader) == (0, 2, 0)


def test_a_run_that_is_taken_up_again_says_anew_how_far_it_is(store: Store) -> None:
    number = store.begin("k", "m", "wug run")
    ProgressReporter().begin(store, number, 3, 5, 9)
    store.finish(number, "interrupted")
    assert store.begin("k", "m", "wug run") == number
    assert store.run(number).progress is None


def test_a_process_that_was_killed_and_is_not_waited_for_does_not_go_on() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(os.uname().nodename, child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its entry is left
    assert not is_running(os.uname().nodename, child.pid)
    child.communicate()


def test_what_a_thread_reads_in_a_snapshot_is_of_one_moment(store: Store) -> None:
    reader = RunReader(store.path)
    number = store.begin("k", "m", "wug run")
    with reader.snapshot():
        assert reader.run(number).name is None
        store.change("UPDATE runs SET name = 'new' WHERE id = ?", number)
        assert reader.run(number).name is None
    assert reader.run(number).name == "new"


def _far(reader: RunReader) -> tuple[int, int, int] | None:
    found = reader.runs()[0].progress
    return None if found is None else (found.done, found.requests, found.judged)
