"""The run store: what goes in comes out, and a broken run is taken up again."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from run_factory import result
from wug.errors import StoreError
from wug.outcomes import Estimate, Metric, Outcome, Signature
from wug.results import store as stores
from wug.results.schema import INDEX, OUTCOMES
from wug.results.store import Store

RESULT = result(
    "number <script>",
    "causal/x@1",
    [
        Outcome("1", "prediction_0", True, {"circuit": "Agreement"}, {"margin": -1.5}),
        Outcome("2", "prediction_0", False),
        Outcome("2", "surprisal", 3.25),
        Outcome("2", "all_predictions", None),
    ],
    kind="syntaxgym",
    signature=Signature.read("wug:0|suite:number@1"),
    estimates=(Estimate("prediction_0", "all", 0.5, 2, 0.09, 0.91, "wilson"), Estimate("bleu", "all", 31.4, 2)),
    warnings=("café",),
    meta={"regions": {"1": "verb"}},
    metrics=(Metric("prediction_0", meaning="the verb …"), Metric("bleu", "score"), Metric("surprisal", "bits")),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_result_comes_back_as_it_was(store: Store) -> None:
    number = store.begin("key", "causal/x@1", "wug run x")
    store.add(number, RESULT)
    store.finish(number, "complete")
    assert store.results(number) == [RESULT]
    assert store.results(number, outcomes=False)[0].outcomes == ()
    assert [(run.id, run.status, run.suites, run.command) for run in store.runs()] == [(1, "complete", 1, "wug run x")]


def test_a_result_that_measures_nothing_comes_back_as_such(store: Store) -> None:
    number = store.begin("key", "causal/x@1", "wug run x")
    store.add(number, RESULT)
    store.add(number, replace(RESULT, measurable=False))
    assert [result.measurable for result in store.results(number)] == [True, False]
    assert [summary.measurable for summary in store.reader.overview([number])] == [True, False]


def test_the_error_that_ended_a_suite_comes_back(store: Store) -> None:
    number = store.begin("key", "causal/x@1", "wug run x")
    store.add(number, replace(RESULT, status="failed", failure="line 3: no verb"))
    assert [result.failure for result in store.results(number)] == ["line 3: no verb"]
    assert [summary.failure for summary in store.reader.overview([number])] == ["line 3: no verb"]


def test_a_complete_run_is_never_written_over(store: Store) -> None:
    first = store.begin("key", "m", "c")
    store.finish(first, "complete")
    assert store.begin("key", "m", "c") != first


def test_a_run_whose_process_died_is_taken_up_under_its_number(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store.begin("key", "m", "c")
    store.add(first, RESULT)
    monkeypatch.setattr(stores, "is_running", lambda host, pid, elsewhere=False: False)
    assert store.begin("key", "m", "c") == first
    assert store.results(first) == []
    assert store.begin("another key", "m", "c") != first


def test_a_run_that_still_goes_on_elsewhere_is_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)  # pid 1 always lives
    first = store.begin("key", "m", "c")
    monkeypatch.undo()
    assert store.begin("key", "m", "c") != first


def test_an_unknown_run_says_which_there_are(store: Store) -> None:
    with pytest.raises(StoreError, match="there is none yet"):
        store.results(3)
    store.begin("key", "m", "c")
    with pytest.raises(StoreError, match=r"no run 3 .* the latest is 1"):
        store.run(3)


def test_a_store_of_another_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.mkdir()
    with closing(sqlite3.connect(path / INDEX)) as db, db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match="by another version of wug"):
        Store(path)


def test_a_file_is_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "wug.db"
    path.write_bytes(b"SQLite format 3\0, and so on" * 30)
    with pytest.raises(StoreError, match=r"is a file, and a store is a folder.*\(wug\.db\).*with --store"):
        Store(path)


def test_a_folder_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not a store of wug, and not empty"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_index_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_bytes(b"something else entirely, and quite long" * 30)
    with pytest.raises(StoreError, match="Choose another with --store"):
        Store(tmp_path)


def files(store: Store) -> list[str]:
    return sorted(path.name for path in (store.path / OUTCOMES).iterdir())


def test_small_results_of_a_finished_run_share_a_file(store: Store) -> None:
    number = store.begin("key", "causal/x@1", "wug run x")
    second = replace(RESULT, suite="second", outcomes=RESULT.outcomes[:1])
    other = replace(RESULT, suite="other", outcomes=(Outcome("1", "m", True, {}, {"only": "here"}),))
    for one in (RESULT, second, replace(RESULT, suite="empty", outcomes=()), other, second):
        store.add(number, one)
    assert len(files(store)) == 4
    before = store.results(number)
    store.finish(number, "complete")
    assert len(files(store)) == 2
    assert store.results(number) == before
    assert before[1].outcomes == second.outcomes  # which were located in another file before
    assert before[2].outcomes == ()


def test_files_that_no_result_has_are_deleted_unless_their_run_is_running(store: Store, tmp_path: Path) -> None:
    number = store.begin("key", "m", "c")
    store.add(number, RESULT)
    (kept,) = files(store)
    for name in ("000009-00000000.parquet", "000009-00000000.parquet.tmp", f"{number:06d}-00000000.parquet", "notes"):
        (store.path / OUTCOMES / name).touch()
    other = Store(store.path)
    other.begin("other", "m", "c")
    assert files(store) == sorted([f"{number:06d}-00000000.parquet", kept, "notes"])
    store.finish(number, "complete")
    other.shrink()
    assert files(store) == [kept, "notes"]


def test_a_resumed_run_deletes_its_earlier_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store.begin("key", "m", "c")
    store.add(first, RESULT)
    monkeypatch.setattr(stores, "is_running", lambda host, pid, elsewhere=False: False)
    assert store.begin("key", "m", "c") == first
    assert files(store) == []


def test_a_result_that_cannot_be_entered_leaves_no_file(store: Store) -> None:
    number = store.begin("key", "m", "c")
    store._db.execute("PRAGMA max_page_count=1")
    with pytest.raises(StoreError, match="the disk is full"):
        store.add(number, replace(RESULT, meta={"large": "x" * 100_000}))
    assert files(store) == []


def test_a_run_whose_process_was_killed_is_listed_as_interrupted(store: Store) -> None:
    number = store.begin("key", "m", "c")
    assert store.run(number).status == "running"
    store._db.execute("UPDATE runs SET pid = 2147483646")  # no process has this number
    assert store.run(number).status == "interrupted"
