"""The run service: command line, Python and site give the same results, and a model that fails stops no other."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trainings
import wug as api
from command_line import wug
from wug.errors import InputError, UnknownName, WugError
from wug.evaluation.models import open_model
from wug.evaluation.request import RunEvent, RunRequest
from wug.evaluation.service import execute, resolve
from wug.evaluation.suites import open_suites
from wug.results.store import Store
from wug.results.sweeps import sweeps
from wug.tables import render_table
from wug.views.result_tables import estimate_table
from wug.web.worker import run_suites

MODELS = ["ngram:run/checkpoint-10.arpa", "ngram:run/broken.arpa", "ngram:run/checkpoint-20.arpa"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainings.with_suites(tmp_path)
    (tmp_path / "run" / "broken.arpa").write_text("no model\n")


def stored(path: str) -> str:
    """All results of a store as JSON, in the order of the runs."""
    store = Store(Path(path))
    return render_table(
        estimate_table([result for run in reversed(store.runs()) for result in store.results(run.id)]), "json"
    )


def by_command_line(path: str) -> list[str]:
    command = [argument for model in MODELS for argument in ("--model", model)]
    said = wug("run", "words.jsonl", *command, "--store", path, "--no-cache", "--format", "json")
    assert said.code == 1
    assert said.out.strip() == stored(path).strip()
    return [line.partition(": ")[2].partition(": ")[2] for line in said.err.splitlines() if line.startswith("failed: ")]


def by_python(path: str) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        api.run("words.jsonl", MODELS, store=path)
    (warning,) = said
    return [line.partition(": ")[2] for line in str(warning.message).splitlines()[1:]]


def by_site(path: str) -> list[str]:
    errors = []
    for name in MODELS:
        try:
            run_suites(open_suites("words.jsonl"), Path(path), None, "x")(open_model(name), lambda done, total: None)
        except WugError as error:
            errors.append(str(error))
    return errors


def test_command_line_python_and_site_give_the_same_results_and_the_same_error() -> None:
    ways: dict[str, Callable[[str], list[str]]] = {"c.db": by_command_line, "p.db": by_python, "s.db": by_site}
    errors = [way(path) for path, way in ways.items()]
    assert errors[0] == errors[1] == errors[2]
    assert len(errors[0]) == 1
    assert stored("c.db") == stored("p.db") == stored("s.db")
    assert stored("c.db").count('"suite": "words"') == 2


def test_command_line_and_python_have_the_same_settings() -> None:
    given = ["--model", MODELS[0], "--model", MODELS[2], "-M", "lowercase=yes", "--limit", "2", "--sweep", "sizes"]
    said = wug("run", "words.jsonl", *given, "--executor", "processes", "--workers", "2", "--store", "c", "--no-cache")
    assert said.code == 0
    api.run(
        "words.jsonl",
        MODELS[::2],
        model_options={"lowercase": True},
        limit=2,
        sweep="sizes",
        executor="processes",
        workers=2,
        store="p",
    )
    found = [sorted(json.loads(stored(path)), key=lambda result: str(result["model"])) for path in ("c", "p")]
    assert found[0] == found[1]
    assert ["lowercase:yes" in result["signature"] for result in found[0]] == [True, True]
    assert [sweep.name for sweep in sweeps(Store(Path("p")).reader)] == ["sizes"]


@pytest.mark.parametrize(
    ("flag", "name", "value"),
    [("--protocol", "protocol", "lm-eval"), ("--tag", "tags", "nouns"), ("-M", "model_options", "bos=yes")],
)
def test_a_setting_that_does_not_fit_gives_the_same_message(flag: str, name: str, value: str) -> None:
    said = wug("run", "words.jsonl", "--model", MODELS[0], flag, value)
    setting: Any = dict([value.split("=")]) if "=" in value else value
    with pytest.raises(WugError) as error:
        api.run("words.jsonl", MODELS[0], **{name: setting})
    assert said.err.strip().removeprefix("error: ") == str(error.value)


def test_a_protocol_is_not_for_suites_that_are_open() -> None:
    with pytest.raises(InputError, match="already open"):
        api.run(api.open_suites("words.jsonl"), MODELS[0], protocol="lm-eval")
    with pytest.raises(InputError, match="models given by name"):
        api.run("words.jsonl", lambda texts: [0.0 for _ in texts], protocol="lm-eval")


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_every_executor_reports_the_failure_and_continues(executor: str) -> None:
    report = execute(RunRequest(suites=["words.jsonl"], models=MODELS, executor=executor, workers=2))
    assert [failure.model for failure in report.failures] == [MODELS[1]]
    assert list(report.recorded) == [MODELS[0], MODELS[2]]
    assert report.failed
    assert [result.estimates[0].value for result in report.results] == [0.25, 1.0]


def test_the_error_of_a_single_model_is_raised() -> None:
    with pytest.raises(InputError, match=r"broken\.arpa"):
        execute(RunRequest(suites=["words.jsonl"], models=MODELS[1:2]))


def test_events_tell_how_many_models_are_done() -> None:
    events: list[RunEvent] = []
    execute(RunRequest(suites=["words.jsonl"], models=MODELS), events.append)
    assert (events[0].stage, events[0].done, events[0].models, events[0].model) == ("loading", 0, 3, MODELS[0])
    assert (events[-1].stage, events[-1].done) == ("finished", 3)
    assert [event.done for event in events] == sorted(event.done for event in events)


def test_mistakes_are_reported_before_any_model_is_opened() -> None:
    with pytest.raises(InputError, match="limit=0"):
        resolve(RunRequest(suites=["words.jsonl"], models=MODELS, limit=0))
    with pytest.raises(UnknownName, match="lowecase"):
        resolve(RunRequest(suites=["words.jsonl"], models=MODELS, model_options={"lowecase": "yes"}))
    with pytest.raises(UnknownName, match="unknown executor 'threads'"):
        execute(RunRequest(suites=["words.jsonl"], models=MODELS, executor="threads"))


def test_shared_options_go_to_the_backends_that_have_them() -> None:
    plan = resolve(
        RunRequest(
            suites=["words.jsonl"],
            models=["ngram:run/checkpoint-10.arpa", "wug-causal"],
            shared_model_options={"device": "cpu"},
        )
    )
    assert [dict(task.spec.options) for task in plan.tasks if task.spec] == [{}, {"device": "cpu"}]
