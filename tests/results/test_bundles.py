"""Bundles: runs of one store in another, complete, in their order, each once."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import run_factory
from wug.errors import WugError
from wug.results.reader import RunReader
from wug.results.run_admin import add_bundle, write_bundle
from wug.results.store import Store


def test_complete_runs_are_added_in_their_order_and_once(tmp_path: Path) -> None:
    far, here = tmp_path / "far.db", tmp_path / "here.db"
    run_factory.keep(here, run_factory.result("own", "causal/own@0", run_factory.outcomes({"accuracy": [True]})))
    for number in (1, 2):
        rows = run_factory.outcomes({"accuracy": [True, number == 1]})
        run_factory.keep(far, run_factory.result("s", f"causal/m{number}@{number}", rows), command=f"wug run {number}")
    run_factory.keep(far, status="running")
    bundle = tmp_path / "bundle.zip"
    write_bundle(RunReader(far), RunReader(far).runs()[:0:-1], bundle)
    store = Store(here)
    # Runs of `keep` have their position as their key, and the first position is taken here.
    assert add_bundle(store, bundle) == ([2], 1)
    assert add_bundle(store, bundle) == ([], 2)
    runs = RunReader(here).runs()
    assert [(run.model, run.command, run.status) for run in reversed(runs)] == [
        ("causal/own@0", "wug run x", "complete"),
        ("causal/m2@2", "wug run 2", "complete"),
    ]
    (stored,) = RunReader(here).stored(runs[0].id, outcomes=True)
    assert stored.result.estimates[0].value == 0.5
    assert [outcome.value for outcome in stored.result.outcomes] == [True, False]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for number in (1, 2):
        rows = run_factory.outcomes({"accuracy": [True, number == 1]})
        run_factory.keep(tmp_path / "far", run_factory.result("s", f"causal/m{number}@{number}", rows))
    path = tmp_path / "bundle.zip"
    write_bundle(RunReader(tmp_path / "far"), RunReader(tmp_path / "far").runs()[::-1], path)
    return path


def changed(bundle: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """A bundle with other members."""
    path = bundle.with_name("changed.zip")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        members = dict(pair for name in old.namelist() for pair in change(name, old.read(name)))
        for name, data in members.items():
            new.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, data: [(f"../{name}", data)], "is not a bundle of runs: unexpected content '../index.sqlite'"),
        (lambda name, data: [(name, data), ("/etc/passwd", b"x")], "unexpected content '/etc/passwd'"),
        (lambda name, data: [(name, data), ("outcomes/../../x-00000000.parquet", b"")], "unexpected content"),
        (lambda name, data: [] if name == "index.sqlite" else [(name, data)], "it has no index.sqlite"),
        (lambda name, data: [(name, data if name == "index.sqlite" else data[:-1])], "the store is damaged here"),
        (lambda name, data: [(name, data)] if name == "index.sqlite" else [], "cannot be read: No such file"),
        (lambda name, data: [(name, data[:5000] if name == "index.sqlite" else data)], "changed.zip"),
        (lambda name, data: [(name, data), ("index.sqlite-wal", b"x")], "unexpected content 'index.sqlite-wal'"),
        (lambda name, data: [(name, data), ("outcomes/1-00000000.parquet", bytes(10**8))], "content is too large"),
    ],
)
def test_a_bundle_with_anything_wrong_adds_nothing(
    tmp_path: Path, bundle: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]], message: str
) -> None:
    store = Store(tmp_path / "here")
    with pytest.raises(WugError, match=re.compile(message)):
        add_bundle(store, changed(bundle, change))
    assert store.runs() == []
    assert list((tmp_path / "here" / "outcomes").iterdir()) == []
    assert not (tmp_path / "index.sqlite").exists()
    assert add_bundle(store, bundle) == ([1, 2], 0)


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK, or not")
    with pytest.raises(WugError, match="is not a bundle of runs, or is damaged"):
        add_bundle(Store(tmp_path / "here"), tmp_path / "x.zip")
