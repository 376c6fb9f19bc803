"""`wug reproduce --executor ray`: steps go to other machines with what they read, and what they leave comes back."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_line import wug
from recipes import profile_test, recipe
from wug.reproduce import cluster
from wug.reproduce.cluster import RayRunner, remote_step, run_remote_step
from wug.reproduce.plan import Planner
from wug.reproduce.recipe import parse
from wug.reproduce.work import StepCommand
from wug.results.reader import RunReader

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ASKED = recipe(
    "Asked",
    networks={"right": {"title": "one that knows", "model": "oracle:pcfgset"}},
    materials={"base": {"make": "pcfgset --samples 40 --no-table"}},
    tests=[{"row": "task", "suite": "{base}/test.src", "metric": "accuracy", "published": {"right": 0.9}}],
)
TRAINED = recipe(
    "Trained",
    seeds=[1],
    networks={
        "lstm": {
            "title": "LSTM",
            "train": "seq2seq --network lstm --steps 8 --layers 1 --embedding-size 16 --ffn-size 16 --batch-size 8 "
            "--threads 1",
        }
    },
    materials={"exceptions": {"make": "overgeneralisation --ratio 0.02 --samples 40"}},
    tests=[profile_test("lstm")],
)


class OtherMachine:
    """Ray, as far as steps need it, with one machine that sees nothing of this one's folders but what is sent to it."""

    exceptions = SimpleNamespace(RayError=ConnectionError)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def remote(self, **needs: object) -> Callable[[Any], Any]:
        assert needs == {"max_retries": cluster.MAX_RETRIES, "num_cpus": 1}
        return lambda function: type("Task", (), {"remote": staticmethod(lambda asked: lambda: function(asked))})

    def get(self, pending: Callable[[], Any]) -> Any:
        return pending()


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the other machine's own."""
    (tmp_path / "there").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there"))
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache.db"))


def rows(tmp_path: Path, recipe: str, folder: str, *more: str) -> str:
    (tmp_path / "recipe.toml").write_text(recipe, encoding="utf-8")
    given = (tmp_path / "recipe.toml", "--folder", tmp_path / folder, "--device", "cpu", "--format", "json", *more)
    said = wug("reproduce", *given)
    assert said.code == 0, said.err
    return said.out


def test_a_training_on_another_machine_brings_home_its_model_and_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def joined() -> Iterator[OtherMachine]:
        yield OtherMachine()

    monkeypatch.setattr("wug.evaluation.executors.ray.joined", joined)
    here = rows(tmp_path, TRAINED, "here")
    assert rows(tmp_path, TRAINED, "far", "--executor", "ray") == here
    model = "models/lstm-exceptions-train_pcfg_ratio=0.02.src-1"
    listed = [sorted(str(path.relative_to(tmp_path / at / model)) for path in (tmp_path / at / model).rglob("*"))
              for at in ("here", "far")]  # fmt: skip
    assert listed[0] == listed[1]
    runs = [[run.model for run in RunReader(tmp_path / at / "runs").runs()] for at in ("here", "far")]
    assert runs[0] == runs[1]
    assert not [path for path in (tmp_path / "there").rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_a_step_on_a_cluster_gives_the_row_that_it_gives_here(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'wug[ray]'")
    here = rows(tmp_path, ASKED, "here")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        assert rows(tmp_path, ASKED, "far", "--executor", "ray") == here
    finally:
        ray.shutdown()
    assert '"value": 1.0' in here


def launch(tmp_path: Path) -> StepCommand:
    """Of a test whose suite lies in the folder, with a model that lies outside."""
    plan = Planner(parse(ASKED, "asked", Path("asked.toml")), tmp_path / "work", small=False).plan([])
    step = plan.step("base-test.src-right-0")
    for name in ("test.src", "test.tgt"):
        path = tmp_path / "work" / "materials" / "base-0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("copy A1\n" if name == "test.src" else "A1\n")
    (tmp_path / "given.src").touch()
    (tmp_path / "given.tgt").touch()
    command = (*step.command, "--option", str(tmp_path / "given.src"))
    return StepCommand(tmp_path / "work", step, command, tmp_path / "out", tmp_path / "log")


def test_a_parcel_has_what_the_command_reads_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "unasked.src").touch()
    sent = remote_step(launch(tmp_path))
    cluster._unpack(sent.archive, tmp_path / "opened")
    found = sorted(str(p.relative_to(tmp_path / "opened")) for p in (tmp_path / "opened").rglob("*") if p.is_file())
    inside = ["plan/materials/base-0/test.src", "plan/materials/base-0/test.tgt"]
    assert found == ["given-1/given.src", "given-1/given.tgt", *inside]
    assert sent.paths == {str(tmp_path / "work"): "plan", str(tmp_path): "given-1"}
    assert sent.returned_folder == ""


def test_a_command_that_fails_there_is_reported_here_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that prints its arguments replaces Python, so that wug is not started."""
    (tmp_path / "python").write_text('#!/bin/sh\necho "asked $*" >&2\nexit 3\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    asked = launch(tmp_path)
    assert RayRunner(OtherMachine(), 1).run(asked) == 3
    said = asked.log.read_text()
    root = next((tmp_path / "there").iterdir())
    scratch = next(path for path in root.iterdir() if path.is_dir())
    assert f"--option {scratch}/given-1/given.src" in said
    assert f"run {scratch}/plan/materials/base-0/test.src" in said
    assert (scratch / "sent").exists()  # what it left is there for another try
    assert run_remote_step(remote_step(asked)).exit_status == 3
