"""Runs are renamed, annotated, removed, restored and purged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import run_factory
from wug.errors import InputError, StoreError
from wug.results import run_admin
from wug.results.schema import INDEX, OUTCOMES
from wug.results.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three runs, each with one result of two outcomes; the second is called `first try`, the third `final`."""
    path = tmp_path / "store"
    for model in ("causal/a@1", "causal/b@1", "causal/c@1"):
        run_factory.keep(path, run_factory.result("s", model, run_factory.outcomes({"accuracy": [True, False]})))
    made = Store(path)
    run_admin.rename(made, made.run(2), "first try")
    run_admin.rename(made, made.run(3), "final")
    return made


def count(store: Store, table: str) -> int:
    with closing(sqlite3.connect(store.path / INDEX)) as db, db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("12", "cannot be a name"),
        ("last", "cannot be a name"),
        ("final", "run 3 is already called"),
        ("x" * 201, "200 characters"),
    ],
)
def test_a_name_that_would_mislead_is_refused(store: Store, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run_admin.rename(store, store.run(1), name)
    assert store.run(1).name is None


def test_an_empty_name_and_an_empty_note_take_away_what_was_there(store: Store) -> None:
    run_admin.annotate(store, store.run(2), " with commas \r\n and lines ")
    assert (store.run(2).name, store.run(2).note) == ("first try", "with commas \n and lines")
    run_admin.rename(store, store.run(2), " ")
    run_admin.annotate(store, store.run(2), "")
    assert (store.run(2).name, store.run(2).note) == (None, None)


def test_a_removed_run_vanishes_everywhere_until_that_is_undone(store: Store) -> None:
    before = store.reader.state()
    run_admin.remove(store, [store.run(2)])
    assert [run.id for run in store.runs()] == [3, 1]
    assert [one.run for one in store.reader.overview()] == [1, 3]
    assert store.reader.state() != before
    for look in (lambda: store.run(2), lambda: store.results(2), lambda: store.reader.result(2)):
        with pytest.raises(StoreError, match="wug runs undo 2 restores it"):
            look()
    run_admin.restore(store, [run_admin.find(store.reader, "first", removed=True)])
    assert [run.id for run in store.runs()] == [3, 2, 1]
    assert len(store.results(2)[0].outcomes) == 2


def test_what_was_removed_in_one_go_is_undone_in_one_go(store: Store) -> None:
    run_admin.remove(store, [store.run(1)])
    run_admin.remove(store, [store.run(2), store.run(3)])
    assert [run.id for run in run_admin.last_removed(store.reader)] == [3, 2]


def test_purging_deletes_removed_runs_with_all_that_is_theirs_and_nothing_else(store: Store) -> None:
    run_admin.remove(store, [store.run(1), store.run(3)])
    assert run_admin.purge(store) == 2
    assert (count(store, "runs"), count(store, "results"), len(list((store.path / OUTCOMES).iterdir()))) == (1, 1, 1)
    assert run_admin.purge(store) == 0
    assert store.results(2)[0].model == "causal/b@1"


def test_a_run_that_goes_on_is_removed_by_force_alone_and_not_purged(store: Store) -> None:
    number = store.begin("going", "causal/d@1", "wug run")
    with pytest.raises(StoreError, match="is still running: stop it first"):
        run_admin.remove(store, [store.run(1), store.run(number)])
    assert len(store.runs()) == 4
    run_admin.remove(store, [store.run(number)], force=True)
    assert run_admin.purge(store) == 0


def test_a_removed_run_is_not_taken_up_again(store: Store) -> None:
    number = store.begin("again", "causal/d@1", "wug run")
    store.finish(number, "interrupted")
    assert store.begin("again", "causal/d@1", "wug run") == number
    store.finish(number, "interrupted")
    run_admin.remove(store, [store.run(number)])
    assert store.begin("again", "causal/d@1", "wug run") == number + 1


def test_names_notes_and_removal_leave_the_checksum_of_a_run_as_it_is(store: Store) -> None:
    with closing(sqlite3.connect(store.path / INDEX)) as db, db:
        (before,) = db.execute("SELECT checksum FROM runs WHERE id = 1").fetchone()
    run_admin.rename(store, store.run(1), "a name")
    run_admin.annotate(store, store.run(1), "a note")
    with closing(sqlite3.connect(store.path / INDEX)) as db, db:
        assert db.execute("SELECT checksum FROM runs WHERE id = 1").fetchone() == (before,)
    assert store.run(1).name == "a name"
