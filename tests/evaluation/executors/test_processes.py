"""A sweep shared out to processes: the same results and rows as in one, whatever becomes of the processes."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tiny
import trainings
from command_line import refused, start_wug, wug
from timeouts import PATIENCE
from trainings import ECHO, kept
from wug import registry, timings
from wug.errors import ModelError
from wug.evaluation import executors
from wug.evaluation.executors import processes, serial
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ModelTask, Plan
from wug.evaluation.suites import open_suites
from wug.models import ModelSpec
from wug.results.store import Store
from wug.results.sweeps import find, runs_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals are as on Linux")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainings.with_suites(tmp_path)


def both_ways(*command: str) -> None:
    """A command says and keeps the same in one process and in two."""
    plain = wug(*command, "--store", "plain.db", "--cache", "plain.cache", "--workers", "1")
    shared = wug(*command, "--store", "shared.db", "--cache", "shared.cache", "--workers", "2")
    assert plain.code == 0, plain.err
    assert shared.code == 0, shared.err
    assert shared.out == plain.out
    assert shared.err.splitlines()[-1] == plain.err.splitlines()[-1]  # how far it is, at the end
    assert kept("shared.db") == kept("plain.db")
    assert cached("shared.cache") == cached("plain.cache") != []


def cached(name: str) -> list[Any]:
    """The answers that a cache has, as they are kept."""
    with closing(sqlite3.connect(name)) as db:
        sql = "SELECT key, keys, sizes, outputs, crc FROM blocks JOIN models ON models.id = model ORDER BY 1, 2"
        return db.execute(sql).fetchall()


def test_processes_keep_what_one_process_does(tmp_path: Path) -> None:
    both_ways("run", "words.jsonl", "--model", "ngram:run/*", "--format", "json")
    store = Store(tmp_path / "shared.db")
    assert [run.specification for run in runs_of(store.reader, find(store.reader, "1"))] == [
        f"ngram:run/checkpoint-{step}.arpa" for step in (10, 20, 100)
    ]


def test_neural_models_give_the_same_numbers_in_processes(tmp_path: Path) -> None:
    for seed in (1, 2):
        tiny.save_causal(tmp_path / f"m/step-{seed}", seed=seed)
    both_ways("run", "words.jsonl", "--model", "causal:m/*", "--device", "cpu", "--format", "json")


def test_what_is_done_or_cached_is_not_asked_again(tmp_path: Path) -> None:
    command = ("run", "copying", "--kind", "pcfgset", *counting(tmp_path, "ab"), "--format", "json", "--workers", "2")
    said = wug(*command, "--sweep", "s")
    assert said.code == 0, said.err
    assert Counter((tmp_path / "started").read_text()) == Counter("ab")
    again = wug(*command, "--sweep", "s")
    assert again.out == said.out
    assert wug(*command, "--sweep", "t").out == said.out  # by the cache
    assert Counter((tmp_path / "started").read_text()) == Counter("ab")
    assert [len(runs_of(reader, find(reader, name))) for reader in [_store().reader] for name in "st"] == [2, 2]
    assert len(_store().runs()) == 4


def test_what_a_process_warns_of_is_reported_here_once() -> None:
    command = ("run", "words.jsonl", "--model", "ngram:run/*", "--format", "json", "--workers", "2")
    said = wug(*command, "--cache", "answers")
    sound = cached("answers")
    with closing(sqlite3.connect("answers")) as db:
        db.execute("UPDATE blocks SET outputs = x'00'")
        db.commit()
    again = wug(*command, "--cache", "answers", "--store", "another.db")
    assert again.out == said.out
    assert (
        again.err.count("5 outputs in the cache were damaged and were computed again") == 1
    )  # the same of three models
    assert cached("answers") == sound


def test_a_model_that_fails_is_reported_at_the_end_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint-15.arpa").write_text("no model\n")
    command = ("run", "words.jsonl", "--model", "ngram:run/*", "--format", "csv")
    plain = wug(*command, "--store", "plain.db", "--cache", "plain.cache")
    said = wug(*command, "--workers", "2")
    assert said.code == plain.code == 1
    assert said.out == plain.out
    assert [line for line in said.err.splitlines() if "fail" in line] == [
        line for line in plain.err.splitlines() if "fail" in line
    ]
    trainings.checkpoint(tmp_path / "run" / "checkpoint-15.arpa", 2)
    assert wug(*command, "--workers", "2").code == 0
    assert len(_store().runs()) == 4


def test_a_process_that_is_killed_costs_its_model_one_more_beginning(tmp_path: Path) -> None:
    said = wug(*copying(mortal(tmp_path, 1)), "--workers", "2")
    assert said.code == 0, said.err
    assert [result["estimates"][0]["value"] for result in said.results] == [1.0, 1.0]
    assert "mortal.py: its worker process was lost; it is started again" in said.err
    assert (tmp_path / "deaths").read_text() == "x"


def test_a_model_whose_processes_are_killed_over_and_over_is_given_up(tmp_path: Path) -> None:
    said = wug(*copying(mortal(tmp_path, 9)), "--workers", "2")
    assert said.code == 1
    assert "mortal.py: its worker process ended unexpectedly twice" in said.err
    assert (tmp_path / "deaths").read_text() == "xx"
    assert len(json.loads(said.out)) == 1  # the other continued


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_a_command_that_is_stopped_leaves_no_process_and_goes_on_where_it_was(
    tmp_path: Path, how: signal.Signals
) -> None:
    command = ["run", "copying", "--kind", "pcfgset", *counting(tmp_path, "abc", waits="c"), "--sweep", "s"]
    command += ["--format", "json", "--workers", "2"]
    process = start_wug(*command, start_new_session=True)
    _wait(process, lambda: (tmp_path / "c.waits").exists() and len(_store().runs()) == 2)
    below = descendants(process.pid)
    assert len(below) >= 3  # two workers, and the program that waits
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        process.send_signal(how)
    _, errors = process.communicate(timeout=PATIENCE)  # its processes have its stderr: it ends when they do
    assert "Traceback" not in errors
    if how is not signal.SIGKILL:
        assert process.returncode == 130, errors
        assert "run the same command to resume" in errors
    _wait(None, lambda: not any(map(lives, below)))
    (tmp_path / "go").touch()
    said = wug(*command)
    assert [result["estimates"][0]["value"] for result in said.results] == [1.0] * 3
    assert Counter((tmp_path / "started").read_text()) == Counter("abcc")  # what was under way, twice
    assert len(_store().runs()) == 3


def test_a_number_of_workers_is_one_or_more_and_for_several_models() -> None:
    refused(wug("run", "words.jsonl", "--model", "ngram:run/*", "--workers", "0"), "--workers", "0")
    one = ("run", "words.jsonl", "--model", "ngram:run/checkpoint-10.arpa")
    refused(wug(*one, "--workers", "2"), "--workers is for several models, or for --executor ray")
    assert wug(*one, "--workers", "1").code == 0


def test_without_a_number_as_many_processes_are_taken_as_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "worker_count", lambda models: 2)
    monkeypatch.setattr(serial, "run", None)
    assert wug("run", "words.jsonl", "--model", "ngram:run/*").code == 0


def test_a_process_computes_with_the_threads_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "threads_each", lambda models, count: 10 + count)
    program = tmp_path / "tells.py"
    program.write_text("import os\nopen('threads', 'w').write(os.environ['OMP_NUM_THREADS'])\n" + ECHO)
    assert wug(*copying(f"command:{sys.executable} {program}"), "--workers", "2").code == 0
    assert (tmp_path / "threads").read_text() == "12"


def test_what_stages_took_comes_home() -> None:
    with timings.collected() as found:
        assert wug("run", "words.jsonl", "--model", "ngram:run/*", "--workers", "2").code == 0
    assert Counter(record.args[0] for record in found if isinstance(record.args, tuple)) == {"load": 3, "evaluate": 3}


def test_suites_that_cannot_be_sent_are_evaluated_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Local(type(open_suites("words.jsonl")[0])):  # type: ignore[misc]
        """A suite of a class that no other process can import."""

    (suite,) = open_suites("words.jsonl")
    local: Any = object.__new__(Local)
    for field in dataclasses.fields(suite):  # type: ignore[arg-type]
        object.__setattr__(local, field.name, getattr(suite, field.name))
    models = [ModelSpec("ngram", f"run/checkpoint-{step}.arpa") for step in (10, 20)]
    monkeypatch.setattr(processes, "worker_count", lambda models: 2)
    plan = Plan(tuple(ModelTask(model, (local,)) for model in models), "x")
    recorder = Recorder(plan, None, None)
    executors.run("auto", recorder)
    assert [result.estimates[0].value for result in recorder.finish().results] == [0.25, 1.0]
    with pytest.raises(ModelError, match="a suite cannot be sent to another process"):
        executors.run("auto", Recorder(plan, None, None), 2)


WITHOUT_SUITE = ("babylm", "reading", "scan")
"""Families without a built-in suite."""


@pytest.mark.parametrize("family", sorted(set(registry.names("families")) - set(WITHOUT_SUITE)))
def test_suites_of_every_family_can_be_sent(family: str) -> None:
    for suite in open_suites(f"wug_{family}"):
        sent = pickle.loads(pickle.dumps(suite))
        assert (sent.name, sent.checksum, list(sent.requests())) == (
            suite.name,
            suite.checksum,
            list(suite.requests()),
        )


def counting(folder: Path, letters: str, waits: str = "") -> list[str]:
    """Models that note that they are started; some wait for a file `go` before they answer any."""
    program = folder / "counts.py"
    program.write_text(
        "import os, sys\n"
        "with open('started', 'a') as file: file.write(sys.argv[1])\n"
        f"if sys.argv[1] in {list(waits)} and not os.path.exists('go'):\n"
        "    open(sys.argv[1] + '.waits', 'w').close()\n"
        "    sys.stdin.read()\n" + ECHO
    )
    return [argument for one in letters for argument in ("--model", f"command:{sys.executable} {program} {one}")]


def copying(*models: str) -> list[str]:
    """A command that asks some models and one that copies."""
    every = [*models, f"command:{sys.executable} -c '{ECHO}'"]
    named = [argument for model in every for argument in ("--model", model)]
    return ["run", "copying", "--kind", "pcfgset", *named, "--format", "json"]


def mortal(folder: Path, lives: int) -> str:
    """A model whose process dies that many times before it answers."""
    program = folder / "mortal.py"
    program.write_text(
        "import os, signal, sys\n"
        "died = os.path.getsize('deaths') if os.path.exists('deaths') else 0\n"
        f"if died < {lives}:\n"
        "    with open('deaths', 'a') as file: file.write('x')\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n" + ECHO
    )
    return f"command:{sys.executable} {program}"


def descendants(pid: int) -> list[int]:
    """The processes below one."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    below: dict[int, list[int]] = {}
    for line in found.splitlines():
        child, parent = map(int, line.split())
        below.setdefault(parent, []).append(child)
    reached = [pid]
    for one in reached:
        reached += below.get(one, [])
    return reached[1:]


def lives(pid: int) -> bool:
    """Whether a process is there, and not only waits to be noticed dead."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(found.strip()) and not found.startswith("Z")


def _store() -> Store:
    return Store(Path(os.environ["WUG_STORE"]))


def _wait(process: subprocess.Popen[str] | None, until: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
