"""Jobs, done by a worker process whose models are toys."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from command_line import run_python
from job_helpers import ended, gone, heard
from wug.errors import ModelError
from wug.families import syntaxgym
from wug.results.reader import RunReader
from wug.results.store import Store
from wug.web import jobs as queue
from wug.web.jobs import JobQueue, WorkerProcess, scoring_models
from wug.web.worker import run_suites, score_texts

STAND_IN = Path(__file__).with_name("stand_in_worker.py")


@pytest.fixture
def loads(tmp_path: Path) -> Path:
    """The names of the models that were loaded, one a line."""
    return tmp_path / "loads.txt"


@pytest.fixture
def command(loads: Path) -> Sequence[str]:
    return (sys.executable, str(STAND_IN), str(loads))


@pytest.fixture
def jobs(command: Sequence[str]) -> Iterator[JobQueue]:
    made = JobQueue(command)
    yield made
    made.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe, by which a model says that it is asked."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "STOP_TIMEOUT_SECONDS", 0.01)


def suite(tmp_path: Path, formula: str = "(1;%a%) > (1;%b%)", items: int = 1) -> list[Any]:
    document = {
        "meta": {"name": "short"},
        "region_meta": {"1": "word"},
        "predictions": [formula],
        "items": [
            {
                "item_number": number,
                "conditions": [
                    {"condition_name": "a", "regions": [{"region_number": 1, "content": f"long{number}"}]},
                    {"condition_name": "b", "regions": [{"region_number": 1, "content": f"a{number}"}]},
                ],
            }
            for number in range(items)
        ],
    }
    path = tmp_path / "short.json"
    path.write_text(json.dumps(document))
    return list(syntaxgym.read(path, {}))


def number(jobs: JobQueue) -> int:
    """The number of the process that answers."""
    (found,) = ended(jobs.start("number", score_texts(["a"], None))).result[0].notices
    return int(found)


def test_a_job_ends_with_what_its_work_gives(jobs: JobQueue) -> None:
    job = ended(jobs.start("words", score_texts(["a bc"], None)))
    assert job.stage == "done"
    assert [token.logprob for token in job.result[0].tokens] == [-1.0, -2.0]
    assert job.state() == {
        "id": job.id, "model": "words", "stage": "done", "done": 1, "total": 1, "error": None, "stopping": False,
    }  # fmt: skip


def test_a_run_is_kept_in_the_store_as_the_command_line_keeps_it(jobs: JobQueue, tmp_path: Path) -> None:
    work = run_suites(suite(tmp_path), tmp_path / "store", tmp_path / "answers.db", "wug run short.json")
    job = ended(jobs.start("words", work))
    assert (job.stage, job.error) == ("done", None)
    store = Store(tmp_path / "store")
    run = store.run(job.result)
    assert (run.status, run.model, run.command, run.suites) == ("complete", "words/test@0", "wug run short.json", 1)
    (result,) = store.results(job.result)
    judged = [(e.metric, e.value) for e in result.estimates if not result.metric(e.metric).derived]
    assert judged == [("prediction_0", 1.0), ("all_predictions", 1.0)]
    store.close()


def test_an_answer_that_the_cache_has_is_not_requested_again(jobs: JobQueue, tmp_path: Path) -> None:
    first = ended(jobs.start("words", score_texts(["a"], tmp_path / "answers.db")))
    again = ended(jobs.start("faulty", score_texts(["a"], tmp_path / "answers.db")))
    assert again.result == first.result


def test_nothing_is_started_before_the_first_job_and_one_process_does_them_all(jobs: JobQueue, loads: Path) -> None:
    assert not loads.exists()
    first = number(jobs)
    ended(jobs.start("words", score_texts(["a"], None)))
    assert number(jobs) == first != os.getpid()


def test_a_model_is_loaded_once_and_the_one_that_was_not_used_for_longest_goes(jobs: JobQueue, loads: Path) -> None:
    for name in ["a", "b", "a", "c", "a", "b"]:
        ended(jobs.start(name, score_texts(["a"], None)))
    assert loads.read_text().split() == ["a", "b", "c", "b"]


def test_jobs_are_done_one_after_the_other_in_order(jobs: JobQueue, loads: Path) -> None:
    for job in [jobs.start(name, score_texts(["a"], None)) for name in "abcd"]:
        assert ended(job).stage == "done"
    assert loads.read_text().split() == ["a", "b", "c", "d"]


def test_a_job_that_waits_is_stopped_at_once(jobs: JobQueue, pipe: Path, loads: Path) -> None:
    first = jobs.start(f"held:{pipe}", score_texts(["a"], None))
    second = jobs.start("words", score_texts(["a"], None))
    jobs.stop(second)
    assert second.stage == "stopped"
    heard(pipe)
    assert ended(first).stage == "done"
    assert loads.read_text().split() == [f"held:{pipe}"]


def test_a_job_that_goes_on_is_stopped_at_the_next_chunk_and_its_process_stays(
    jobs: JobQueue, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "STOP_TIMEOUT_SECONDS", 60)
    job = jobs.start(f"slow:{pipe}", run_suites(suite(tmp_path, items=3000), tmp_path / "store", None, ""))
    pid = heard(pipe)
    jobs.stop(job)
    assert (ended(job).stage, job.error) == ("stopped", None)
    store = Store(tmp_path / "store")
    assert [run.status for run in store.runs()] == ["interrupted"]
    store.close()
    assert number(jobs) == pid


@pytest.mark.usefixtures("at_once")
def test_a_job_that_does_not_stop_is_killed_and_its_run_can_be_resumed(
    jobs: JobQueue, pipe: Path, tmp_path: Path
) -> None:
    job = jobs.start(f"stuck:{pipe}", run_suites(suite(tmp_path), tmp_path / "store", None, ""))
    pid = heard(pipe)
    jobs.stop(job)
    assert (ended(job).stage, job.error) == ("stopped", None)
    assert gone(pid)
    assert [run.status for run in RunReader(tmp_path / "store").runs()] == ["interrupted"]
    again = ended(jobs.start("words", run_suites(suite(tmp_path), tmp_path / "store", None, "")))
    assert [(run.id, run.status) for run in RunReader(tmp_path / "store").runs()] == [(again.result, "complete")]


@pytest.mark.usefixtures("at_once")
def test_a_stop_of_a_job_that_has_ended_does_not_touch_the_next(jobs: JobQueue, pipe: Path) -> None:
    first = ended(jobs.start("words", score_texts(["a"], None)))
    second = jobs.start(f"held:{pipe}", score_texts(["a"], None))
    jobs.stop(first)
    jobs._kill_worker(first)
    heard(pipe)
    assert ended(second).stage == "done"


def test_a_killed_process_is_one_message_and_the_next_job_gets_a_new_one(
    jobs: JobQueue, pipe: Path, tmp_path: Path
) -> None:
    work = run_suites(suite(tmp_path), tmp_path / "store", tmp_path / "answers.db", "")
    job = jobs.start(f"stuck:{pipe}", work)
    waiting = jobs.start("words", work)
    pid = heard(pipe)
    os.kill(pid, signal.SIGKILL)
    assert ended(job).stage == "failed"
    assert job.error == (
        f"the process that runs stuck:{pipe} was killed by signal 9, which can mean that memory ran out. "
        "Its outputs so far are cached: try again"
    )
    assert (ended(waiting).stage, waiting.error) == ("done", None)
    assert number(jobs) != pid
    assert [(run.id, run.status) for run in RunReader(tmp_path / "store").runs()] == [(waiting.result, "complete")]


def test_a_process_that_was_killed_between_two_jobs_is_not_missed(jobs: JobQueue) -> None:
    pid = number(jobs)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert number(jobs) != pid


def test_a_process_whose_end_is_not_yet_seen_is_replaced(jobs: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkerProcess, "is_alive", property(lambda worker: worker._process.returncode is None))
    pid = number(jobs)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert number(jobs) != pid


def test_a_model_that_ends_the_process_is_one_message(jobs: JobQueue) -> None:
    job = ended(jobs.start("leaving", score_texts(["a"], None)))
    assert "exited with code 3" in str(job.error)
    assert ended(jobs.start("words", score_texts(["a"], None))).stage == "done"


def test_a_process_that_cannot_be_started_is_one_message(tmp_path: Path) -> None:
    jobs = JobQueue((str(tmp_path / "nothing"),))
    job = ended(jobs.start("words", score_texts(["a"], None)))
    assert "cannot be started: No such file" in str(job.error)
    jobs.close()


def test_what_a_model_prints_does_not_get_between_the_answers(jobs: JobQueue) -> None:
    job = ended(jobs.start("talking", score_texts(["a"], None)))
    assert (job.stage, job.error) == ("done", None)


def test_work_that_cannot_travel_fails_alone(jobs: JobQueue, caplog: pytest.LogCaptureFixture) -> None:
    job = ended(jobs.start("words", lambda model, tell: 3))
    assert "cannot be evaluated" in str(job.error)
    assert "local object" in caplog.text
    assert ended(jobs.start("words", score_texts(["a"], None))).stage == "done"


def test_an_idle_process_ends(command: Sequence[str]) -> None:
    jobs = JobQueue(command, idle_seconds=0.01)
    first = number(jobs)
    assert gone(first)
    second = number(jobs)
    assert second != first
    jobs.close()
    assert gone(second)


def test_closing_stops_what_goes_on_and_what_waits(command: Sequence[str], pipe: Path) -> None:
    jobs = JobQueue(command)
    started = [jobs.start(f"stuck:{pipe}", score_texts(["a"], None)), jobs.start("words", score_texts(["a"], None))]
    pid = heard(pipe)
    jobs.close()
    assert [ended(job).stage for job in started] == ["stopped", "stopped"]
    assert gone(pid)


SERVER = """
import sys
from wug.web.jobs import JobQueue
from wug.web.worker import score_texts

jobs = JobQueue(sys.argv[2:])
jobs.start(f"stuck:{sys.argv[1]}", score_texts(["a"], None))
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda server: server.stdin.close()], ids=["killed", "ended"])
def test_no_process_outlives_the_server(
    command: Sequence[str], pipe: Path, end: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER, str(pipe), *command], stdin=subprocess.PIPE) as server:
        worker = heard(pipe)
        end(server)
        assert gone(worker)
        assert gone(server.pid)


PAGES = """
import json, sys
from pathlib import Path
from starlette.testclient import TestClient
from wug.results.store import Store
from wug.web.app import create_app
from wug.web.jobs import job_queue
from wug.web.site import Site

model, folder = sys.argv[1], Path(sys.argv[2])
site = Site(store=Store(folder / "store"), cache=folder / "answers.db", models=(model,))
shown = {"x-wug-token": site.csrf_token, "authorization": f"Bearer {site.access_token}"}
client = TestClient(create_app(site), base_url="http://127.0.0.1:8000", headers=shown)
address = client.post("/editor/new.json", json={"from": "builtin:wug_reflexive"}).json()["address"]
job = job_queue(site).find(client.post(f"{address}/score.json", json={"model": model}).json()["id"])
job.ended.wait()
shown = client.get(f"/editor/runs/{job.result}.json").json()
asked = client.get("/sentence", params={"s": ["the boy swims", "the boy swim"], "m": model}).text
heavy = [name for name in ("torch", "transformers", "tokenizers") if name in sys.modules]
print(json.dumps({"error": job.error, "metrics": len(shown["metrics"]), "asked": asked.count("<ol"), "heavy": heavy}))
"""


def test_the_server_asks_a_model_without_loading_what_models_need(
    tiny_causal: Callable[..., Path], tmp_path: Path
) -> None:
    output = run_python("-c", PAGES, tiny_causal(), tmp_path)
    assert output.code == 0, output.err
    found = json.loads(output.out)
    assert (found["error"], found["heavy"]) == (None, [])
    assert found["metrics"] > 1
    assert found["asked"] >= 1


def test_a_model_that_cannot_be_loaded_is_one_message(jobs: JobQueue) -> None:
    job = ended(jobs.start("missing", score_texts(["a"], None)))
    assert (job.stage, job.error) == ("failed", "no such model 'missing'")


def test_an_error_of_the_model_itself_is_reported_and_the_next_job_goes_on(jobs: JobQueue) -> None:
    pid = number(jobs)
    job = ended(jobs.start("faulty", score_texts(["a"], None)))
    assert (job.stage, job.error) == ("failed", "faulty failed: RuntimeError: a tensor of the wrong shape")
    assert number(jobs) == pid


def test_a_model_that_only_generates_says_so(jobs: JobQueue, tmp_path: Path) -> None:
    assert "cannot score sentences" in str(ended(jobs.start("echo", score_texts(["a"], None))).error)
    job = ended(jobs.start("echo", run_suites(suite(tmp_path), tmp_path / "store", None, "")))
    assert "needs a model that can score text" in str(job.error)


def test_a_suite_that_fails_while_it_is_judged_says_why(jobs: JobQueue, tmp_path: Path) -> None:
    work = run_suites(suite(tmp_path, "(1;%a%) / [(1;%b%) - (1;%b%)] > 1"), tmp_path / "store", None, "")
    job = ended(jobs.start("words", work))
    assert job.stage == "failed"
    assert "division by zero" in str(job.error)
    assert not str(job.error).startswith("failed")
    assert [run.status for run in RunReader(tmp_path / "store").runs()] == ["failed"]


def test_only_the_last_ended_jobs_are_remembered(jobs: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MAX_ENDED_JOBS", 2)
    made = [ended(jobs.start("words", score_texts(["a"], None))) for _ in range(4)]
    assert [jobs.find(job.id) is not None for job in made] == [False, True, True, True]


@pytest.mark.usefixtures("at_once")
def test_no_more_jobs_wait_than_there_is_patience_for(
    jobs: JobQueue, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_WAITING_JOBS", 2)
    first = jobs.start(f"stuck:{pipe}", score_texts(["a"], None))
    heard(pipe)
    others = [jobs.start("words", score_texts(["a"], None)) for _ in range(2)]
    with pytest.raises(ModelError, match="jobs are already waiting"):
        jobs.start("words", score_texts(["a"], None))
    jobs.stop(first)
    assert [ended(job).stage for job in (first, *others)] == ["stopped", "done", "done"]


def test_models_that_only_generate_are_not_offered_for_sentences() -> None:
    given = ["causal:gpt2", "seq2seq:t5-small", "oracle:pcfgset", "masked:bert", "no such thing at all"]
    assert scoring_models(given) == ["causal:gpt2", "masked:bert", "no such thing at all"]
