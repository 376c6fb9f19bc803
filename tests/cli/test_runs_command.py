"""`wug runs` and what `wug list runs` and `wug show` say of runs that failed or were broken off."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import run_factory
from command_line import refused, wug
from wug.results.progress import ProgressReporter
from wug.results.store import Store


@pytest.fixture
def db() -> Path:
    """A complete run, one that failed, and one that was broken off."""
    path = Path(os.environ["WUG_STORE"])
    path.parent.mkdir(parents=True, exist_ok=True)
    run_factory.keep(path, run_factory.result("s", "causal/a@1", run_factory.outcomes({"accuracy": [True, False]})))
    store = Store(path)
    store.finish(store.begin("b", "causal/b@1", "wug run b"), "failed", "the server does not answer")
    number = store.begin("c", "causal/c@1", "wug run c")
    ProgressReporter(None, lambda: 100.0).begin(store, number, 6, 1200, 4000)
    store.finish(number, "interrupted")
    store.close()
    return path


def listed() -> list[int]:
    return [row["run"] for row in json.loads(wug("runs", "list", "--format", "json").out)]


@pytest.mark.parametrize("command", [("list", "runs"), ("runs", "list")])
def test_a_list_says_why_a_run_failed_and_how_far_one_came(db: Path, command: tuple[str, ...]) -> None:
    said = wug(*command).out
    assert "the server does not answer" in said
    assert "1,200 of 4,000 requests · 0 of 6 suites done" in said


def test_a_list_cuts_only_the_last_column(db: Path) -> None:
    store = Store(db)
    name = f"causal/{'a-long-folder/' * 12}checkpoint-1000@607a30d"
    store.finish(store.begin("d", name, "wug run d"), "complete")
    store.close()
    _, line, *_ = wug("list", "runs").out.splitlines()
    assert f"  {name}       0  " in line
    assert line.endswith("…")


def test_showing_a_run_says_why_it_failed_and_how_far_it_came(db: Path) -> None:
    assert "it failed: the server does not answer" in wug("show", 2).err
    said = wug("show", "last").err
    assert "1,200 of 4,000 requests · 0 of 6 suites done" in said
    assert "the same command resumes it" in said


def test_a_run_is_named_noted_and_shown_by_its_name(db: Path) -> None:
    assert wug("runs", "rename", 1, "the first").code == 0
    assert wug("runs", "note", "the", "with a note").code == 0
    said = wug("runs", "show", "the first", "--format", "json")
    assert said.results[0]["model"] == "causal/a@1"
    assert "note: with a note" in said.err


def test_runs_are_removed_brought_back_and_deleted_for_good(db: Path) -> None:
    assert "removed runs 1 and 3. To restore: wug runs undo" in wug("runs", "rm", 1, "last").err
    assert listed() == [2]
    refused(wug("show", 1), "run 1 was removed; wug runs undo 1 restores it")
    assert "restored runs 3 and 1" in wug("runs", "undo").err
    assert listed() == [3, 2, 1]
    wug("runs", "rm", 2)
    assert [row["run"] for row in json.loads(wug("runs", "list", "--removed", "--format", "json").out)] == [2]
    assert "1 removed run deleted for good" in wug("runs", "purge").err
    assert "no run was removed" in wug("runs", "undo").err


def test_the_list_for_programs_has_every_field(db: Path) -> None:
    last, failed, _ = json.loads(wug("list", "runs", "--format", "json").out)
    assert failed["message"] == "the server does not answer"
    assert (last["progress"]["done"], last["progress"]["requests"]) == (1200, 4000)


@pytest.mark.parametrize("command", [("rename", "x", "y"), ("note", "x", "y"), ("rm", "x"), ("show", "x")])
def test_a_run_that_is_not_there_is_reported(db: Path, command: tuple[str, ...]) -> None:
    refused(wug("runs", *command), "no run 'x' in", "Give the number of a run, last, or the beginning of a name")


def test_a_store_without_runs_has_no_last_one() -> None:
    refused(wug("runs", "path", "last"), "there is none yet")


def test_runs_are_shared_added_and_found_as_files(tmp_path: Path) -> None:
    here, there, bundle = tmp_path / "here", tmp_path / "there", tmp_path / "bundle.zip"
    for model in ("causal/a@1", "causal/b@1"):
        run_factory.keep(here, run_factory.result("s", model, run_factory.outcomes({"accuracy": [True, False]})))
    assert wug("runs", "share", 1, 2, "-o", bundle, "--store", here).err == f"wrote runs 1 and 2 to {bundle}\n"
    assert wug("runs", "add", bundle, "--store", there).err == "added as runs 1 and 2\n"
    assert wug("runs", "add", bundle, "--store", there).err == "nothing added; 2 left out, since the store has them\n"
    for run in (1, 2):
        texts = [wug("show", run, "--format", "csv", "--store", store).out for store in (here, there)]
        assert texts[0] == texts[1]
    (file,) = wug("runs", "path", 1, "--store", there).out.splitlines()
    assert Path(file).parent == there / "outcomes"
    assert Path(file).exists()
