"""Models on a Ray cluster of three nodes on this machine: the same results, whatever is lost on the way.

All of it needs the one cluster, so it is one module, which one worker of xdist takes. Tests that need torch
come first: they share processes that have imported it, until one of the later tests takes a machine away.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tiny
import trainings
from answers import texts
from command_line import CommandOutput, refused, start_wug, wug
from timeouts import PATIENCE
from trainings import ECHO, kept
from wug.errors import ModelError
from wug.evaluation import remote
from wug.evaluation.executors import ray as on_ray
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import model_spec, open_model
from wug.models import Identity, ModelSpec
from wug.requests import Request
from wug.results.store import Store
from wug.results.sweeps import find, runs_of

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'wug[ray]'")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@contextmanager
def spread(spec: ModelSpec, workers: int | None = None) -> Iterator[ModelHandle]:
    """The model in copies on the cluster."""
    with on_ray.joined() as joined:
        yield on_ray._replicated(on_ray._Cluster(joined, workers), spec)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that only leads, and two machines with a place for one task each."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray looks after its machines every three seconds, and takes one that does not answer five times for lost.
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": {"health_check_period_ms": 300}}
    made: Any = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainings.with_suites(tmp_path)


def both_ways(*command: str) -> tuple[CommandOutput, CommandOutput]:
    """What a command says on this machine and on the cluster, each with a separate store and cache."""
    here = wug(*command, "--store", "here.db", "--cache", "here.cache")
    there = wug(*command, "--store", "there.db", "--cache", "there.cache", "--executor", "ray")
    return here, there


def test_a_sweep_on_a_cluster_keeps_what_one_on_this_machine_does(cluster: Any, tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        tiny.save_causal(tmp_path / f"m/step-{seed}", seed=seed)
    here, there = both_ways("run", "words.jsonl", "--model", "causal:m/*", "--format", "json")
    assert here.code == 0, here.err
    assert there.out == here.out, there.err
    assert kept("there.db") == kept("here.db")


def test_what_was_answered_on_the_cluster_is_in_the_cache_of_this_machine(cluster: Any, tmp_path: Path) -> None:
    tiny.save_causal(tmp_path / "m" / "step-1")
    command = ("run", "words.jsonl", "--model", "causal:m/*", "--cache", "there.cache")
    assert wug(*command, "--executor", "ray").code == 0
    found = json.loads(wug(*command, "--dry-run", "--format", "json", "--store", "another.db").out)
    assert [(one["requests"], one["cached"]) for one in found["models"]] == [(5, 5)]


def test_a_run_on_copies_equals_one_on_this_machine(
    cluster: Any, tiny_causal: Callable[..., Path], tmp_path: Path
) -> None:
    here, there = both_ways("run", "wug_agreement_pp", "--model", f"causal:{tiny_causal()}", "--format", "json")
    assert here.code == 0, here.err
    assert there.out == here.out, there.err
    assert kept("there.db") == kept("here.db")


def test_chunks_are_those_of_the_model_and_answers_come_in_order(
    cluster: Any, tiny_causal: Callable[..., Path]
) -> None:
    requests = [Request(text) for text in tiny.sentences(50)]
    name = f"causal:{tiny_causal()}"
    own = open_model(name)
    with spread(model_spec(name), workers=2) as model:
        assert (model.id, model.options) == (own.id, own.options)
        assert model.chunk == own.chunk * 2 * 2
        model.model._size = 7  # as if the model liked chunks of seven
        found = model.score(requests)
        expected = [one for first in range(0, 50, 7) for one in own.score(requests[first : first + 7])]
        assert [one.text for one in found] == [request.text for request in requests]
        assert found == expected
        word = Request("the dog", separate_word_start=len("the "))
        assert model.score([word]) == list(own.score([word]))


def test_the_same_command_asks_only_what_failed(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint-15.arpa").write_text("no model\n")
    command = ("run", "words.jsonl", "--model", "ngram:run/*", "--format", "csv", "--executor", "ray")
    said = wug(*command)
    assert said.code == 1
    assert said.out.count(",accuracy,") == 3
    assert "failed: ngram:run/checkpoint-15.arpa: " in said.err
    trainings.checkpoint(tmp_path / "run" / "checkpoint-15.arpa", 2)
    assert wug(*command).code == 0
    store = Store(Path(os.environ["WUG_STORE"]))
    assert len(store.runs()) == 4
    assert [run.specification for run in runs_of(store.reader, find(store.reader, "1"))] == [
        f"ngram:run/checkpoint-{step}.arpa" for step in (10, 15, 20, 100)
    ]


THERE = ("--executor", "ray", "--store", "there.db", "--cache", "there.cache")


def sweep_of_three(program: Path, code: str) -> list[str]:
    """The command of a sweep over a program with the arguments a, b and c, which runs this code before it answers."""
    loads = "with open('loaded', 'a') as file: file.write(sys.argv[1])\n"
    program.write_text(f"import os, sys\n{loads}{code}{ECHO}")
    models = [argument for letter in "abc" for argument in ("--model", f"command:{sys.executable} {program} {letter}")]
    return ["run", "copying", "--kind", "pcfgset", *models, "--sweep", "s", "--format", "json"]


def test_a_machine_that_is_lost_costs_only_what_it_was_doing(cluster: Any, tmp_path: Path) -> None:
    """The first model waits for ever the first time it is asked; the machine that it is on is then killed."""
    command = sweep_of_three(
        tmp_path / "waits.py",
        "if sys.argv[1] == 'a' and not os.path.exists('where'):\n"
        "    with open('where.new', 'w') as file: file.write(os.environ['RAY_RAYLET_PID'])\n"
        "    os.rename('where.new', 'where')\n"
        "    sys.stdin.read()\n",
    )
    process = _started(cluster, [*command, *THERE])
    _wait(process, tmp_path / "where")
    pid = int((tmp_path / "where").read_text())
    (lost,) = (node for node in cluster.list_all_nodes() if _raylet(node) == pid)
    cluster.remove_node(lost, allow_graceful=False)
    out, errors = process.communicate(timeout=PATIENCE)
    cluster.add_node(num_cpus=1)
    assert process.returncode == 0, errors
    here = wug(*command, "--store", "here.db", "--cache", "here.cache")
    assert json.loads(out) == here.results
    assert kept("there.db") == kept("here.db")
    assert "a machine of the cluster was lost; its tasks are started again" in errors
    assert "Raylet" not in errors  # Ray's pages about it
    # On the cluster what the machine had under way is loaded twice, all else once; then each once without Ray.
    assert Counter((tmp_path / "loaded").read_text()) == Counter("aabc" + "abc")


def _raylet(node: Any) -> int:
    from ray._private import ray_constants

    found: int = node.all_processes[ray_constants.PROCESS_TYPE_RAYLET][0].process.pid
    return found


def test_a_command_that_is_killed_goes_on_where_it_was(cluster: Any, tmp_path: Path) -> None:
    """The last model waits while the others are done; the command is killed, and given again."""
    waits = "if sys.argv[1] == 'c' and not os.path.exists('go'):\n    sys.stdin.read()\n"
    command = sweep_of_three(tmp_path / "counts.py", waits)
    process = _started(cluster, [*command, *THERE])
    store = Store(tmp_path / "there.db")
    _wait(process, lambda: len(store.runs()) == 2 and "c" in (tmp_path / "loaded").read_text())
    process.kill()
    process.communicate()
    (tmp_path / "go").touch()
    said = wug(*command, *THERE)
    assert said.code == 0, said.err
    # What was under way is loaded twice, all else once.
    assert sorted((tmp_path / "loaded").read_text()) == ["a", "b", "c", "c"]
    assert said.out == wug(*command, "--store", "here.db", "--cache", "here.cache").out
    assert len(store.runs()) == 3


def _started(cluster: Any, command: list[str]) -> subprocess.Popen[str]:
    return start_wug(*command, env={**os.environ, "RAY_ADDRESS": cluster.address})


def _wait(process: subprocess.Popen[str], until: Path | Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not (until.exists() if isinstance(until, Path) else until()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_fewer_models_than_places_are_asked_in_copies(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(on_ray, "_run_tasks", lambda cluster, tasks, recorder: asked.append(len(tasks)))
    command = ("run", "copying", "--kind", "pcfgset", "--model", "oracle:pcfgset", "--sweep", "s", "--format", "json")
    there = wug(*command, "--executor", "ray", "--workers", "2")
    assert there.out == wug(*command, "--store", "here.db", "--cache", "here.cache").out
    assert asked == []


def test_a_generator_is_spread_too(cluster: Any) -> None:
    with spread(model_spec("oracle:pcfgset"), workers=2) as model:
        assert texts(model.generate(["copy A1 B2", "reverse A1 B2"])) == ["A1 B2", "B2 A1"]


def test_an_error_of_the_model_comes_through_with_its_text(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nothing_here"), spread(model_spec(f"causal:{tmp_path}/nothing_here"), 1):
        pass
    with (
        pytest.raises(ModelError, match="unknown option 'x' of oracle models"),
        spread(model_spec("oracle:pcfgset?x=y")),
    ):
        pass


def test_more_places_than_the_cluster_has_are_refused(cluster: Any) -> None:
    with pytest.raises(ModelError, match="--workers 99: the cluster has 2 CPUs"), spread(model_spec("oracle:x"), 99):
        pass


def mortal(folder: Path, lives: int) -> str:
    """A model whose process dies that many times before it answers."""
    program = folder / "mortal.py"
    program.write_text(
        "import os, signal, sys\n"
        f"deaths = {str(folder / 'deaths')!r}\n"
        "died = os.path.getsize(deaths) if os.path.exists(deaths) else 0\n"
        f"if died < {lives}:\n"
        "    with open(deaths, 'a') as file: file.write('x')\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n" + ECHO
    )
    return f"command:{sys.executable} {program}"


def test_a_process_that_dies_is_started_anew_and_asked_again(cluster: Any, tmp_path: Path) -> None:
    with spread(model_spec(mortal(tmp_path, 2)), workers=2) as model:
        assert texts(model.generate(["copy A1"])) == ["A1"]
    assert (tmp_path / "deaths").read_text() == "xx"


def test_a_process_that_dies_over_and_over_is_given_up(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "RETRIES", 1)
    command = ("run", "copying", "--kind", "pcfgset", "--model", mortal(tmp_path, 99), "--executor", "ray")
    refused(wug(*command), "Ray gave up on it")
    said = wug(*command, "--model", f"command:{sys.executable} -c '{ECHO}'", "--format", "csv")
    assert said.code == 1
    assert "Ray gave up on it" in said.err
    assert said.out.count("\n") > 1  # the other continued


def test_copies_that_differ_are_refused(cluster: Any) -> None:
    with spread(model_spec("oracle:pcfgset"), 1) as model:
        model.model.id = "oracle/other"
        with pytest.raises(ModelError, match="different copies of the model: oracle/other, oracle/pcfgset"):
            model.generate(["copy A1"])


def test_a_model_whose_answers_depend_on_one_another_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ordered = remote.Replica(Identity("lstm/x@1", {}, "scores"), 1, True, False, ())
    monkeypatch.setattr(on_ray, "_replica", lambda *given: ordered)
    refusal = "depend on one another, so it cannot be spread"
    with pytest.raises(ModelError, match=refusal), spread(model_spec("oracle:pcfgset"), 1):
        pass


def test_an_interrupt_ends_the_run(cluster: Any, tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = tmp_path / "slow.py"
    program.write_text(
        f"import sys\nfor line in sys.stdin:\n    open({str(started)!r}, 'w').close()\n    sys.stdin.read()\n"
    )
    command = ["run", "copying", "--kind", "pcfgset", "--model", f"command:{sys.executable} {program}"]
    process = _started(cluster, [*command, "--executor", "ray", "--workers", "1"])
    _wait(process, started)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "run the same command to resume" in errors
    assert "Traceback" not in errors


def test_a_copy_passes_on_warnings_and_errors_as_texts() -> None:
    import logging

    logger = logging.getLogger("wug")

    def warned() -> str:
        logger.warning("look out")
        return "done"

    assert remote._with_warnings(warned) == ("done", ("look out",))
    replica, _ = remote.run_replica(model_spec("oracle:pcfgset"), "/nowhere/at/all", ["copy A1"])
    assert isinstance(replica, remote.Replica)
    assert texts(replica.outputs) == ["A1"]
    assert "unknown option" in str(remote.run_replica(model_spec("oracle:pcfgset?x=y"), ".", ())[0])
    assert not logger.handlers or type(logger.handlers[-1]).__name__ != "BufferingHandler"


def test_without_ray_installed_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = wug("run", "wug_agreement_pp", "--model", "wug-causal", "--executor", "ray")
    refused(said, "the executor ray needs packages that are not installed: pip install 'wug[ray]'")


def test_workers_for_a_single_model_without_ray_are_a_mistake_of_usage() -> None:
    refused(wug("run", "wug_agreement_pp", "--workers", "2"), "--workers is for several models, or for --executor ray")
