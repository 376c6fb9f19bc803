"""Copies of a model on a Ray cluster: the same answers, copies that die, what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import tiny
from answers import texts
from command_line import refused, wug
from patience import PATIENCE
from wug.errors import ModelError
from wug.runs.opening import model_spec, open_model
from wug.runs.ray import Copy, Crew, Described, Report, spread
from wug.runs.store import Store
from wug.types import Request

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A small cluster on this machine."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'wug[ray]'")
    ray.init(address="local", num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield ray
    ray.shutdown()


def test_a_run_on_copies_equals_one_on_this_machine(ray: Any, tiny_causal: Callable[..., Path], tmp_path: Path) -> None:
    given = ("run", "wug_agreement_pp", "--model", f"causal:{tiny_causal()}", "--format", "json")
    local = wug(*given, "--db", tmp_path / "a.db", "--cache", tmp_path / "a.cache")
    spread_out = wug(
        *given, "--engine", "ray", "--workers", "2", "--db", tmp_path / "b.db", "--cache", tmp_path / "b.cache"
    )
    assert local.code == 0, local.err
    assert spread_out.out == local.out, spread_out.err
    rows = [list(Store(tmp_path / name).runs()) for name in ("a.db", "b.db")]
    assert [(run.model, run.status, run.suites) for run in rows[0]] == [
        (run.model, run.status, run.suites) for run in rows[1]
    ]
    # What copies answered is what this machine would have answered: it need not ask again.
    again = wug(*given, "--db", tmp_path / "b.db", "--cache", tmp_path / "b.cache")
    assert again.out == local.out


def test_chunks_are_those_of_the_model_and_answers_come_in_order(ray: Any, tiny_causal: Callable[..., Path]) -> None:
    requests = [Request(text) for text in tiny.sentences(50)]
    name = f"causal:{tiny_causal()}"
    own = open_model(name)
    with spread(model_spec(name), workers=2) as model:
        assert (model.id, model.options) == (own.id, own.options)
        assert model.chunk == own.chunk * 2 * 2
        model._size = 7  # as if the model liked chunks of seven
        found = model.score(requests)  # type: ignore[union-attr]
        expected = [one for first in range(0, 50, 7) for one in own.score(requests[first : first + 7])]  # type: ignore[union-attr]
        assert [one.text for one in found] == [request.text for request in requests]
        assert found == expected


def test_a_generator_is_spread_too(ray: Any) -> None:
    with spread(model_spec("oracle:pcfgset"), workers=2) as model:
        assert texts(model.generate(["copy A1 B2", "reverse A1 B2"])) == ["A1 B2", "B2 A1"]  # type: ignore[union-attr]


def test_an_error_of_the_model_comes_through_with_its_text(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nothing_here"), spread(model_spec(f"causal:{tmp_path}/nothing_here"), 1):
        pass
    with (
        pytest.raises(ModelError, match="unknown option 'x' of oracle models"),
        spread(model_spec("oracle:pcfgset?x=y")),
    ):
        pass


def test_more_copies_than_the_cluster_can_take_are_refused(ray: Any) -> None:
    with pytest.raises(ModelError, match="--workers 99: the cluster has"), spread(model_spec("oracle:pcfgset"), 99):
        pass


def mortal(ray: Any, deaths: Path, allowed: int) -> Crew:
    """Two copies of which one dies over the word `die`, so many times in all."""

    class Mortal:  # local, so that it travels by value
        def describe(self) -> Report:
            return Report(Described("mortal/x@1", {}, 1, False, False))

        def ask(self, sources: Sequence[str]) -> Report:
            import os
            from pathlib import Path

            noted = Path(deaths_file)
            if "die" in sources and len(noted.read_text()) < allowed:
                noted.write_text(noted.read_text() + "x")
                os._exit(1)
            return Report([source.upper() for source in sources])

    deaths_file = str(deaths)
    deaths.write_text("")
    return Crew(ray, ray.remote(num_cpus=1)(Mortal), (), 2)


def test_a_copy_that_dies_is_started_anew_and_asked_again(ray: Any, tmp_path: Path) -> None:
    crew = mortal(ray, tmp_path / "deaths", 2)
    assert crew.answers([["a"], ["die"], ["b"], ["c"]]) == ["A", "DIE", "B", "C"]
    assert (tmp_path / "deaths").read_text() == "xx"
    crew.stop()


def test_a_copy_that_dies_over_and_over_is_given_up(ray: Any, tmp_path: Path) -> None:
    crew = mortal(ray, tmp_path / "deaths", 99)
    with pytest.raises(ModelError, match="died 3 times over the same work"):
        crew.answers([["a"], ["die"]])
    crew.stop()


def test_copies_that_differ_are_refused(ray: Any) -> None:
    class Other:
        def describe(self) -> Report:
            import os

            return Report(Described(f"other/x@{os.getpid()}", {}, 1, False, True))

    crew = Crew(ray, ray.remote(num_cpus=1)(Other), (), 2)
    with pytest.raises(ModelError, match="not the same everywhere: other/x@"):
        crew.describe()
    crew.stop()


def test_a_model_whose_answers_depend_on_one_another_is_refused(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crew, "describe", lambda self: Described("lstm/x@1", {}, 1, True, True))
    refusal = "depend on one another and cannot be spread: --engine local"
    with pytest.raises(ModelError, match=refusal), spread(model_spec("oracle:pcfgset"), 1):
        pass


def test_an_interrupt_ends_the_run_and_its_cluster(ray: Any, tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = tmp_path / "slow.py"
    program.write_text(
        f"import sys\nfor line in sys.stdin:\n    open({str(started)!r}, 'w').close()\n    sys.stdin.read()\n"
    )
    (tmp_path / "test.src").write_text("copy A1\n")
    (tmp_path / "test.tgt").write_text("A1\n")
    command = ["run", str(tmp_path), "--kind", "pcfgset", "--model", f"command:{sys.executable} {program}"]
    environment = {**os.environ, "RAY_ADDRESS": "local"}
    process = subprocess.Popen(
        [sys.executable, "-m", "wug", *command, "--engine", "ray", "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    while not started.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "run the same command to resume" in errors
    assert "Traceback" not in errors


def test_a_copy_passes_on_warnings_and_errors_as_texts(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    copy = Copy(model_spec("oracle:pcfgset"), "/nowhere/at/all")
    logging.getLogger("wug").warning("look out")
    said = copy.describe()
    assert said.error is None
    assert said.answer.scores is False
    assert said.warnings == ("look out",)
    assert copy.ask(["copy A1"]).answer == ["A1"]
    assert "unknown option" in str(Copy(model_spec("oracle:pcfgset?x=y"), ".").describe().error)
    logger = logging.getLogger("wug")
    logger.handlers[:] = [one for one in logger.handlers if type(one).__name__ != "_Collecting"]


def test_without_ray_installed_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = wug("run", "wug_agreement_pp", "--model", "wug-causal", "--engine", "ray")
    refused(said, "--engine ray needs packages that are not installed: pip install 'wug[ray]'")


def test_workers_without_ray_are_a_mistake_of_usage() -> None:
    refused(wug("run", "wug_agreement_pp", "--workers", "2"), "--workers is for --engine ray")
