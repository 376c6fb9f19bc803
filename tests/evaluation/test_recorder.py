"""How a run is recorded, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from evaluating import record
from fake_models import FakeGenerator, FakeScorer
from fake_suites import FakeSuite
from wug.errors import InputError, ModelError, StoreError
from wug.evaluation.handle import ModelHandle
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ModelTask, Plan
from wug.models.spec import ModelSpec
from wug.results.outcomes import PackedOutcomes, collected
from wug.results.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


OPTIONS = {"path": "a|b:c"}
MODEL = ModelHandle.from_loaded(
    FakeScorer(options=OPTIONS, ordered=True), ModelSpec("fake", "org/lengths", "step20", {"device": "cpu"})
)


def test_a_run_keeps_what_the_user_called_the_model(store: Store) -> None:
    found = record([FakeSuite()], MODEL, command="wug run", store=store)
    assert found.number == 1
    run = store.run(1)
    assert (run.specification, run.revision, run.status) == ("fake:org/lengths@step20", "step20", "complete")
    assert record([FakeSuite()], FakeScorer(options=OPTIONS, ordered=True), command="wug run", store=store).number == 2
    assert (store.run(2).specification, store.run(2).revision) == (None, None)


def test_a_value_with_marks_of_the_signature_in_it_comes_back_from_the_store(store: Store) -> None:
    record([FakeSuite()], MODEL, command="wug run", store=store)
    (result,) = store.results(1)
    assert result.signature.get("path") == "a|b:c"
    assert result.signature.without("wug", "read").fields == (
        ("suite", "words@1f"),
        ("model", "fake/scorer@1"),
        ("path", "a|b:c"),
    )


def test_requests_are_made_once_per_run(store: Store) -> None:
    suite = FakeSuite()
    record([suite], MODEL, command="wug run", store=store)
    assert suite.listings == 1


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (InputError("a fault of the suite"), "failed"),
        (KeyboardInterrupt(), "interrupted"),
        (RuntimeError("a bug"), "failed"),
    ],
)
def test_a_run_says_how_it_ended(store: Store, fault: BaseException, status: str) -> None:
    suites = [FakeSuite("first"), FakeSuite("second", fault=fault)]
    if isinstance(fault, InputError):
        results = record(suites, MODEL, command="wug run", store=store).results
        assert [result.status for result in results] == ["complete", "failed"]
    else:
        with pytest.raises(type(fault)):
            record(suites, MODEL, command="wug run", store=store)
    assert store.run(1).status == status
    assert store.results(1)[0].status == "complete"


def test_a_run_of_another_process_that_cannot_be_stored_has_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would otherwise look as if it were still running."""
    task = ModelTask(ModelSpec("fake", "lengths"), (FakeSuite(),))
    recorder = Recorder(Plan((task,), "wug run"), store, None)
    result = record([FakeSuite()], MODEL).results[0]

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "add", full)
    with pytest.raises(StoreError, match="the disk is full"):
        recorder.record(task, "fake/scorer@1", [(result, PackedOutcomes.of(collected(result.outcomes), "words", "m"))])
    assert (store.run(1).status, store.run(1).message) == ("failed", "the disk is full")


@pytest.mark.parametrize(
    ("model", "needs", "remedy"),
    [
        (FakeScorer(id="endpoint/tiny@1"), "text", "can only score it. Open it with mode=generate"),
        (FakeGenerator(str.upper, "endpoint/tiny@1"), "scores", "can only generate it. Open it without mode=generate"),
        (FakeScorer(id="causal/gpt2@1"), "text", "Use prompt: instead of causal:, or a seq2seq: model"),
        (FakeGenerator(str.upper, "prompt/gpt2@1"), "scores", "Use causal: instead of prompt:"),
        (FakeGenerator(str.upper, "seq2seq/t5@1"), "scores", "Open it with score=source"),
        (FakeScorer(id="seq2seq/t5@1"), "text", "Open it without score=source"),
        (FakeGenerator(str.upper, "oracle/pcfgset@1"), "scores", "can only generate it"),
    ],
)
def test_a_model_that_cannot_do_what_a_suite_needs_is_refused_with_the_remedy(
    model: Any, needs: Literal["scores", "text"], remedy: str
) -> None:
    with pytest.raises(ModelError) as error:
        record([FakeSuite(needs=needs)], model, command="wug run")
    assert str(error.value).endswith(remedy)


def test_a_model_that_cannot_answer_leaves_no_run(store: Store) -> None:
    with pytest.raises(ModelError, match="suite words needs a model that can generate text"):
        record([FakeSuite(needs="text")], MODEL, command="wug run", store=store)
    assert store.runs() == []
