from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from wug.errors import ModelError
from wug.runs.store import Store
from wug.suites import syntaxgym
from wug.types import Request, Scored, Token
from wug.web import scoring
from wug.web.scoring import Job, Scoring, Tell, run_suites, score_texts, scorers


class Words:
    """A scorer that gives each word as many nats as it has letters."""

    id = "words/test@0"
    options: ClassVar[dict[str, str]] = {}
    chunk = 2
    ordered = False

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        if self.fault:
            raise self.fault
        return [Scored.of(r.text, _tokens(r.text)) for r in requests]


class Echo:
    id = "echo/test@0"
    options: ClassVar[dict[str, str]] = {}
    chunk = 2

    def generate(self, sources: Sequence[str]) -> list[str]:
        return list(sources)


def _tokens(text: str) -> list[Token]:
    tokens, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        tokens.append(Token(word, start, start + len(word), -float(len(word))))
        start += len(word)
    return tokens


def ended(job: Job) -> Job:
    assert job.ended.wait(20)
    return job


def suite(tmp_path: Path, formula: str = "(1;%a%) > (1;%b%)") -> list[Any]:
    document = {
        "meta": {"name": "short"},
        "region_meta": {"1": "word"},
        "predictions": [formula],
        "items": [
            {
                "item_number": 1,
                "conditions": [
                    {"condition_name": "a", "regions": [{"region_number": 1, "content": "long"}]},
                    {"condition_name": "b", "regions": [{"region_number": 1, "content": "a"}]},
                ],
            }
        ],
    }
    path = tmp_path / "short.json"
    path.write_text(json.dumps(document))
    return list(syntaxgym.read(path, {}))


def test_a_job_ends_with_what_its_work_gives() -> None:
    job = ended(Scoring(lambda name: Words()).start("words", score_texts(["a bc"], None)))
    assert job.stage == "done"
    assert [token.logprob for token in job.result[0].tokens] == [-1.0, -2.0]
    assert job.state() == {
        "id": job.id, "model": "words", "stage": "done", "done": 1, "total": 1, "error": None, "stopping": False,
    }  # fmt: skip


def test_a_run_is_kept_in_the_store_as_the_command_line_keeps_it(tmp_path: Path) -> None:
    work = run_suites(suite(tmp_path), tmp_path / "wug.db", tmp_path / "answers.db", "wug run short.json")
    job = ended(Scoring(lambda name: Words()).start("words", work))
    store = Store(tmp_path / "wug.db")
    run = store.run(job.result)
    assert (run.status, run.model, run.command, run.suites) == ("complete", "words/test@0", "wug run short.json", 1)
    (result,) = store.results(job.result)
    assert [(e.check, e.value) for e in result.estimates] == [("prediction_0", 1.0), ("all_predictions", 1.0)]
    store.close()


def test_a_model_is_loaded_once_and_kept() -> None:
    loads: list[str] = []
    jobs = Scoring(lambda name: loads.append(name) or Words())
    for _ in range(3):
        ended(jobs.start("words", score_texts(["a"], None)))
    assert loads == ["words"]


def test_a_model_is_loaded_only_while_no_other_is_loaded_or_asked() -> None:
    alone = threading.Lock()
    pause = threading.Event()

    def load(name: str) -> Words:
        assert alone.acquire(blocking=False)
        pause.wait(0.005)
        alone.release()
        return Words()

    def work(model: Any, tell: Tell) -> None:
        assert alone.acquire(blocking=False)
        pause.wait(0.005)
        alone.release()

    jobs = Scoring(load)
    assert ended(jobs.start("first", lambda model, tell: None)).stage == "done"
    started = [jobs.start(name, work if name == "first" else score_texts(["a"], None)) for name in ("first", *"abcd")]
    assert [(ended(job).stage, job.error) for job in started] == [("done", None)] * 5


def test_the_model_that_was_not_used_for_longest_goes() -> None:
    loads: list[str] = []
    jobs = Scoring(lambda name: loads.append(name) or Words())
    for name in ["a", "b", "a", "c", "a", "b"]:
        ended(jobs.start(name, score_texts(["a"], None)))
    assert loads == ["a", "b", "c", "b"]


def test_one_model_does_one_thing_at_a_time_in_order() -> None:
    seen: list[int] = []
    gate = threading.Event()
    busy = threading.Lock()

    def work(number: int) -> Any:
        def act(model: Any, tell: Tell) -> None:
            assert busy.acquire(blocking=False)
            gate.wait(20)
            seen.append(number)
            busy.release()

        return act

    jobs = Scoring(lambda name: Words())
    started = [jobs.start("words", work(number)) for number in range(4)]
    gate.set()
    for job in started:
        assert ended(job).stage == "done"
    assert seen == [0, 1, 2, 3]


def test_two_models_work_at_the_same_time() -> None:
    meet = threading.Barrier(2)
    jobs = Scoring(lambda name: Words())
    for name in ("a", "b"):
        ended(jobs.start(name, score_texts(["a"], None)))
    both = [jobs.start(name, lambda model, tell: meet.wait(20)) for name in ("a", "b")]
    assert {ended(job).stage for job in both} == {"done"}


def test_a_job_that_waits_is_stopped_at_once() -> None:
    gate = threading.Event()
    jobs = Scoring(lambda name: Words())
    first = jobs.start("words", lambda model, tell: gate.wait(20))
    second = jobs.start("words", lambda model, tell: pytest.fail("it was stopped"))
    jobs.stop(second)
    assert second.stage == "stopped"
    gate.set()
    assert ended(first).stage == "done"


def test_a_job_that_goes_on_is_stopped_at_the_next_chunk_and_its_run_can_be_taken_up_again(tmp_path: Path) -> None:
    jobs: Scoring

    class Stopping(Words):
        chunk = 1

        def score(self, requests: Sequence[Request]) -> list[Scored]:
            jobs.stop(job)
            return super().score(requests)

    models = iter([Stopping(), Words()])
    jobs = Scoring(lambda name: next(models))
    known = threading.Event()
    work = run_suites(suite(tmp_path), tmp_path / "wug.db", None, "")
    job = jobs.start("stopping", lambda model, tell: known.wait(20) and work(model, tell))
    known.set()
    assert ended(job).stage == "stopped"
    store = Store(tmp_path / "wug.db")
    assert [run.status for run in store.runs()] == ["interrupted"]
    again = ended(jobs.start("words", run_suites(suite(tmp_path), tmp_path / "wug.db", None, "")))
    assert [(run.id, run.status) for run in store.runs()] == [(again.result, "complete")]
    store.close()


def test_a_model_that_cannot_be_loaded_is_one_message() -> None:
    def load(name: str) -> Any:
        raise ModelError("no such model 'x'")

    job = ended(Scoring(load).start("x", score_texts(["a"], None)))
    assert (job.stage, job.error) == ("failed", "no such model 'x'")


def test_an_error_of_the_model_itself_is_told_and_the_next_job_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    models = iter([Words(RuntimeError("out of memory"))])
    jobs = Scoring(lambda name: next(models))
    job = ended(jobs.start("words", score_texts(["a"], None)))
    assert (job.stage, job.error) == ("failed", "words failed: RuntimeError: out of memory")
    assert "out of memory" in caplog.text
    assert ended(jobs.start("words", lambda model, tell: 3)).result == 3


def test_a_model_that_only_generates_says_so(tmp_path: Path) -> None:
    jobs = Scoring(lambda name: Echo())
    assert "cannot say how probable" in str(ended(jobs.start("echo", score_texts(["a"], None))).error)
    job = ended(jobs.start("echo", run_suites(suite(tmp_path), tmp_path / "wug.db", None, "")))
    assert "needs a model that can score text" in str(job.error)


def test_a_suite_that_fails_while_it_is_judged_says_why(tmp_path: Path) -> None:
    work = run_suites(suite(tmp_path, "(1;%a%) / [(1;%b%) - (1;%b%)] > 1"), tmp_path / "wug.db", None, "")
    job = ended(Scoring(lambda name: Words()).start("words", work))
    assert job.stage == "failed"
    assert "division by zero" in str(job.error)
    store = Store(tmp_path / "wug.db")
    assert [run.status for run in store.runs()] == ["failed"]
    store.close()


def test_only_the_last_ended_jobs_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "REMEMBERED", 2)
    jobs = Scoring(lambda name: Words())
    made = [ended(jobs.start("words", score_texts(["a"], None))) for _ in range(4)]
    assert [jobs.find(job.id) is not None for job in made] == [False, True, True, True]


def test_no_more_jobs_wait_for_a_model_than_there_is_patience_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "WAITING", 2)
    gate, begun = threading.Event(), threading.Event()
    jobs = Scoring(lambda name: Words())
    first = jobs.start("words", lambda model, tell: begun.set() or gate.wait(20))
    assert begun.wait(20)
    others = [jobs.start("words", score_texts(["a"], None)) for _ in range(2)]
    with pytest.raises(ModelError, match="jobs are waiting"):
        jobs.start("words", score_texts(["a"], None))
    gate.set()
    assert [ended(job).stage for job in (first, *others)] == ["done"] * 3


def test_models_that_only_generate_are_not_offered_for_sentences() -> None:
    given = ["causal:gpt2", "seq2seq:t5-small", "oracle:pcfgset", "masked:bert", "no such thing at all"]
    assert scorers(given) == ["causal:gpt2", "masked:bert", "no such thing at all"]
