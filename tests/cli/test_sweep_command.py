"""`wug run` of many models: patterns, failures, resuming, dry runs, sweep files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trainings
from command_line import refused, wug
from wug.results.reader import RunReader
from wug.results.store import Store
from wug.results.sweeps import counts, find, members, sweeps

MODELS = "ngram:run/checkpoint-*"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three checkpoints that know one, three and all four of the pairs of a suite."""
    monkeypatch.chdir(tmp_path)
    trainings.training(tmp_path / "run", {10: 1, 100: 3, 20: 4})
    trainings.suite(tmp_path / "words.jsonl")


def reader() -> RunReader:
    import os

    return Store(Path(os.environ["WUG_STORE"])).reader


def accuracies(*arguments: str) -> list[tuple[str, float]]:
    said = wug("run", "words.jsonl", *arguments, "--format", "json")
    assert said.code == 0, said.err
    found = [(one["model"].partition("@")[0], one["estimates"][0]["value"]) for one in json.loads(said.out)]
    return [(name.removeprefix("ngram/checkpoint-").removesuffix(".arpa"), value) for name, value in found]


def test_a_pattern_asks_every_model_that_fits_in_natural_order() -> None:
    assert accuracies("--model", MODELS) == [("10", 0.25), ("20", 1.0), ("100", 0.75)]
    (sweep,) = sweeps(reader())
    assert sweep.name == MODELS
    assert [str(model) for model in sweep.models] == [f"ngram:run/checkpoint-{n}.arpa" for n in (10, 20, 100)]
    assert sweep.suites == ("words",)
    assert [member.run and member.run.id for member in members(reader(), sweep)] == [1, 2, 3]


def test_the_same_command_asks_only_what_is_missing(tmp_path: Path) -> None:
    first = accuracies("--model", MODELS)
    (tmp_path / "run" / "checkpoint-30.arpa").write_bytes((tmp_path / "run" / "checkpoint-10.arpa").read_bytes())
    assert accuracies("--model", MODELS) == [*first[:2], ("30", 0.25), first[2]]
    assert len(reader().runs()) == 4
    assert len(sweeps(reader())) == 1
    # a checkpoint that was rewritten is another model
    trainings.checkpoint(tmp_path / "run" / "checkpoint-10.arpa", 2)
    assert accuracies("--model", MODELS)[0] == ("10", 0.5)
    runs = [member.run for member in members(reader(), find(reader(), MODELS))]
    assert [run and run.id for run in runs] == [5, 2, 4, 3]


def test_a_model_that_fails_is_reported_at_the_end_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint-15.arpa").write_text("no model\n")
    said = wug("run", "words.jsonl", "--model", MODELS, "--format", "csv")
    assert said.code == 1
    assert said.out.count(",accuracy,") == 3
    last = said.err.splitlines()[-2:]
    assert last[0].startswith("failed: ngram:run/checkpoint-15.arpa: ")
    assert last[1] == "1 of 4 models failed; the same command tries them again"
    assert counts(members(reader(), find(reader(), "1"))) == {"complete": 3, "missing": 1}
    trainings.checkpoint(tmp_path / "run" / "checkpoint-15.arpa", 2)
    assert [value for _, value in accuracies("--model", MODELS)] == [0.25, 0.5, 1.0, 0.75]
    assert len(reader().runs()) == 4


def test_a_model_that_cannot_be_named_is_refused_before_any_is_asked() -> None:
    refused(wug("run", "words.jsonl", "--model", MODELS, "--model", "ngramm:x"), "unknown kind of model 'ngramm'")
    refused(wug("run", "words.jsonl", "--model", MODELS, "-M", "dtype=x"), "unknown option 'dtype' of ngram models")
    assert reader().runs() == []


def test_several_plain_models_are_runs_of_their_own() -> None:
    models = ["--model", "ngram:run/checkpoint-10.arpa", "--model", "ngram:run/checkpoint-20.arpa"]
    assert [value for _, value in accuracies(*models)] == [0.25, 1.0]
    accuracies(*models)
    assert sweeps(reader()) == []
    assert len(reader().runs()) == 4
    accuracies(*models, "--sweep", "two")
    assert [sweep.name for sweep in sweeps(reader())] == ["two"]


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing() -> None:
    said = wug("run", "words.jsonl", "--model", MODELS, "--dry-run")
    assert said.code == 0
    assert said.out.splitlines() == [
        "3 models × 1 suite (4 items), 5 requests each",
        "  ngram:run/checkpoint-10.arpa   5 requests · cached outputs are known only after loading",
        "  ngram:run/checkpoint-20.arpa   5 requests · cached outputs are known only after loading",
        "  ngram:run/checkpoint-100.arpa  5 requests · cached outputs are known only after loading",
        "at most 15 requests to compute",
    ]
    assert reader().runs() == []
    assert sweeps(reader()) == []


def test_a_dry_run_counts_what_is_cached_and_done(tmp_path: Path) -> None:
    import shutil

    import tiny

    tiny.save_causal(tmp_path / "m" / "step-1")
    shutil.copytree(tmp_path / "m" / "step-1", tmp_path / "m" / "step-2")
    assert wug("run", "words.jsonl", "--model", "causal:m/step-1", "--no-save").code == 0
    command = ("run", "words.jsonl", "--model", "causal:m/*")
    found = json.loads(wug(*command, "--dry-run", "--format", "json").out)
    assert (found["requests"], found["requests_to_compute"], found["items"], found["suites"]) == (5, 5, 4, ["words"])
    assert [(one["model"], one["cached"], one["run"]) for one in found["models"]] == [
        ("causal:m/step-1", 5, None),
        ("causal:m/step-2", 0, None),
    ]
    assert wug(*command).code == 0
    found = json.loads(wug(*command, "--dry-run", "--format", "json").out)
    assert [(one["cached"], one["run"]) for one in found["models"]] == [(5, 1), (5, 2)]


def test_a_sweep_without_a_store_is_refused() -> None:
    refused(wug("run", "words.jsonl", "--sweep", "s", "--no-save"), "--sweep names runs in the store")


def test_a_sweep_file_names_models_suites_and_options(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(f'models = ["{MODELS}"]\nsuites = ["words.jsonl"]\nlimit = 2\n')
    said = wug("run", "sweep.toml", "--format", "json")
    assert [(one["n"], one["estimates"][0]["value"]) for one in said.results] == [(2, 0.5), (2, 1.0), (2, 1.0)]
    assert [sweep.name for sweep in sweeps(reader())] == ["sweep"]
    refused(wug("run", "sweep.toml", "--model", "ngram:x"), "a sweep file names the models")
    refused(wug("run", "sweep.toml", "words.jsonl"), "a sweep file names the suites")


def test_a_sweep_of_many_models_is_printed_as_models_by_suites(tmp_path: Path) -> None:
    trainings.training(tmp_path / "run", {40: 0})
    said = wug("run", "words.jsonl", "--model", MODELS)
    assert said.code == 0
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[:5] == [
        ["model", "words"],
        ["ngram:run/checkpoint-10.arpa", "25.0%"],
        ["ngram:run/checkpoint-20.arpa", "100.0%"],
        ["ngram:run/checkpoint-40.arpa", "0.0%"],
        ["ngram:run/checkpoint-100.arpa", "75.0%"],
    ]
    assert "wug show 'sweep:ngram:run/checkpoint-*'" in said.err
