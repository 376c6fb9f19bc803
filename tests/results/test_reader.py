"""Reading a store page by page."""

from __future__ import annotations

import gc
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from wug.errors import InputError, StoreError
from wug.outcomes import Estimate, Outcome, Result, Signature
from wug.results.reader import RunReader
from wug.results.records import summary_of_row
from wug.results.schema import INDEX, RESULT
from wug.results.store import Store
from wug.rows import Filter


def result(items: int = 10) -> Result:
    outcomes = []
    for number in range(items):
        groups = {"half": "first" if number < items / 2 else "second"}
        outcomes.append(
            Outcome(str(number), "a", number % 2 == 0, groups, {"text": f"Word {number}", "deep": [number]})
        )
        outcomes.append(Outcome(str(number), "b", 0.5 * number))
    whole = Estimate("a", "all", 0.5, items, 0.2, 0.8, "wilson")
    return Result(
        "s",
        "pairs",
        "m",
        "complete",
        Signature.read("sig"),
        items,
        (whole, Estimate("a", "half=first", 0.6, 5)),
        (),
        tuple(outcomes),
        {"phenomenon": "C"},
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.add(store.begin("k", "m", "wug run"), result())
    return store


@pytest.fixture
def reader(store: Store) -> RunReader:
    return RunReader(store.path)


def places(reader: RunReader, wanted: Filter) -> list[str]:
    return [placed.outcome.item for placed in reader.rows(1).each(wanted)]


def test_an_overview_has_the_estimates_over_all_items_alone(reader: RunReader) -> None:
    (kept,) = reader.overview()
    assert kept.estimates == (Estimate("a", "all", 0.5, 10, 0.2, 0.8, "wilson"),)
    assert kept.phenomenon == "C"


def test_outcomes_are_chosen_by_check_value_and_group(reader: RunReader) -> None:
    assert places(reader, Filter("a", "false")) == ["1", "3", "5", "7", "9"]
    assert places(reader, Filter("a", "true", ("half", "second"))) == ["6", "8"]
    assert places(reader, Filter("b", "none")) == []


def test_a_measurement_of_one_is_no_judgement(reader: RunReader) -> None:
    assert places(reader, Filter("b", "true")) == []


def test_outcomes_are_found_by_a_word_in_any_case(reader: RunReader) -> None:
    assert places(reader, Filter("a", text="WORD 7")) == ["7"]


def test_a_percent_sign_is_a_plain_character(reader: RunReader) -> None:
    assert places(reader, Filter(text="%")) == []


def test_an_unknown_value_is_refused(reader: RunReader) -> None:
    with pytest.raises(InputError, match="not a value to filter by"):
        reader.rows(1).positions(Filter(value="maybe"))


def test_all_outcomes_of_an_item_are_found_beside_one(reader: RunReader) -> None:
    every = reader.rows(1).same_item(reader.rows(1).at(6))
    assert [(p.outcome.item, p.outcome.metric) for p in every] == [("3", "a"), ("3", "b")]


def test_a_sketch_has_the_parts_requested_alone(reader: RunReader) -> None:
    first = next(reader.rows(1).each(Filter("a"), keys=("deep", "missing")))
    assert first.outcome.detail == {"deep": [0]}


def test_checks_are_found_step_by_step(reader: RunReader) -> None:
    assert reader.rows(1).metrics() == ["a", "b"]


def test_a_look_does_not_wait_for_a_writer(store: Store, reader: RunReader) -> None:
    with closing(sqlite3.connect(store.path / INDEX, isolation_level=None)) as writer, writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE runs SET status = 'complete'")
        assert reader.run(1).status == "running"
        writer.execute("COMMIT")
    assert reader.run(1).status == "complete"


def test_a_run_whose_process_was_killed_is_reported_as_interrupted(store: Store, reader: RunReader) -> None:
    assert (reader.run(1).status, reader.state()[1]) == ("running", True)
    with closing(sqlite3.connect(store.path / INDEX)) as db, db:
        db.execute("UPDATE runs SET pid = 2147483646")  # no process has this number
    assert (reader.run(1).status, reader.state()[1]) == ("interrupted", False)


def test_a_look_cannot_write(reader: RunReader) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        reader.one("DELETE FROM runs")


def test_a_damaged_result_is_an_error_that_says_so(store: Store, reader: RunReader) -> None:
    with closing(sqlite3.connect(store.path / INDEX)) as db, db:
        db.execute("UPDATE results SET meta = '{'")
    with pytest.raises(StoreError, match="the store is damaged here"):
        reader.result(1)


def test_threads_that_have_ended_leave_no_files_open(tmp_path: Path) -> None:
    """SQLite itself keeps some for reuse, as long as another connection is open."""
    keep = Store(tmp_path / "store")
    reader = RunReader(keep.path)
    gc.disable()  # as in a large process, where the collector comes late
    try:
        for _ in range(100):
            thread = threading.Thread(target=reader.runs)
            thread.start()
            thread.join()
    finally:
        gc.enable()
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("no /proc to count open files in")
    there = [str(handle.readlink()) for handle in handles.iterdir() if handle.exists()]
    assert sum(name.startswith(str(keep.path)) for name in there) < 50


def test_an_overview_that_was_read_before_notices_a_change(store: Store, reader: RunReader) -> None:
    (before,) = reader.overview()
    assert (before.n, before.error) == (10, "")
    store.change("UPDATE results SET n = 9")
    (after,) = reader.overview()
    assert after.n == 9
    assert "checksum" in after.error


def test_a_table_that_is_kept_answers_like_one_that_is_not(store: Store, reader: RunReader) -> None:
    single = [outcome for outcome in result().outcomes if outcome.metric == "a"]
    store.add(store.begin("l", "m", "wug run"), replace(result(), outcomes=tuple(single)))
    for number in (1, 2):
        plain, kept = reader.rows(number), reader.rows(number, keep=True)
        for _ in range(2):
            for wanted in (Filter("a"), Filter("a", group=("half", "second")), Filter("a", "false", text="word")):
                for limit in (1, 3):
                    first = list(plain.each(wanted, limit=limit))
                    assert list(kept.each(wanted, limit=limit)) == first
                    assert kept.same_items(first) == plain.same_items(first)


def test_rows_with_the_same_hash_have_their_own_summaries() -> None:
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    names = ["id", "model", "checksum", *(name for name in RESULT if name != "n")]
    query = f"SELECT {', '.join(f'NULL AS {name}' for name in names)}, ? AS n"
    first, second = (db.execute(query, (n,)).fetchone() for n in (-1, -2))
    assert hash(tuple(first)) == hash(tuple(second))
    assert [summary_of_row(row).n for row in (first, second)] == [-1, -2]
