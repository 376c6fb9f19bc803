"""`wug.run` with patterns."""

from __future__ import annotations

from pathlib import Path

import pytest

import trainings
import wug
from wug.errors import InputError, WugError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainings.training(tmp_path / "run", {10: 1, 20: 4, 100: 3})
    trainings.suite(tmp_path / "words.jsonl")


def values(results: wug.Results) -> list[float]:
    return [result.estimates[0].value for result in results]


def test_a_pattern_stands_for_every_model_that_fits() -> None:
    told: list[tuple[int, int]] = []
    found = wug.run("words.jsonl", "ngram:run/*", progress=lambda done, total: told.append((done, total)))
    assert values(found) == [0.25, 1.0, 0.75]
    assert told[-1] == (15, 15)


def test_a_list_of_patterns_is_kept_as_a_sweep_and_resumes() -> None:
    models = ["ngram:run/checkpoint-[12]0.arpa", "ngram:run/checkpoint-100.arpa"]
    first = wug.run("words.jsonl", models, store="store")
    again = wug.run("words.jsonl", models, store="store")
    assert first.runs == again.runs == (1, 2, 3)
    assert values(again) == [0.25, 1.0, 0.75]


def test_a_run_is_stored_with_the_arguments_of_its_call() -> None:
    model = "ngram:run/checkpoint-10.arpa"
    wug.run("words.jsonl", model, limit=2, interval="clopper-pearson", sweep="s", store="store")
    written = f"wug.run(['words.jsonl'], '{model}', limit=2, interval='clopper-pearson', sweep='s')"
    assert wug.open_store("store").runs()["command"] == [written]


def test_the_name_of_a_sweep_needs_a_store() -> None:
    with pytest.raises(InputError, match="sweep='s' names runs in a store"):
        wug.run("words.jsonl", "ngram:run/checkpoint-10.arpa", sweep="s")


def test_a_model_that_fails_is_a_warning_and_the_others_are_asked(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint-15.arpa").write_text("no model\n")
    with pytest.warns(UserWarning, match=r"1 model failed(.|\n)*checkpoint-15"):
        found = wug.run("words.jsonl", "ngram:run/*")
    assert values(found) == [0.25, 1.0, 0.75]


def test_where_every_model_fails_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run" / "broken-1.arpa").write_text("no model\n")
    with pytest.raises(WugError, match="broken-1"):
        wug.run("words.jsonl", "ngram:run/broken-*")


def test_a_pattern_beside_a_model_that_is_open_is_refused() -> None:
    with pytest.raises(InputError, match="patterns cannot be mixed with model objects"):
        wug.run("words.jsonl", ["ngram:run/*", wug.open_model("ngram:run/checkpoint-10.arpa")])
