"""`wug reproduce`: a table from a recipe; killed and given again it ends with the same table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from command_line import refused, wug
from wug.errors import InputError
from wug.reproduce.launch import Here
from wug.reproduce.plan import Planner
from wug.reproduce.recipe import names, parse, read
from wug.reproduce.table import rows_of
from wug.reproduce.work import take

RECIPE = """
title = "A small table"
seeds = [1, 2]

[networks.t5]
title = "Transformer"
train = "seq2seq --steps 12 --layers 1 --embedding-size 16 --inner 16 --batch-size 8 --checkpoint-every 2"

[materials.base]
make = "pcfgset --samples 60 --no-table"

[materials.steps]
make = "localism --source {base}/test.src"

[materials.exceptions]
make = "overgeneralisation --ratio 0.02 --samples 300"

[[tests]]
row = "task"
train_on = "{base}"
suite = "{base}/test.src"
check = "accuracy"
published = { t5 = [0.5, 0.1] }

[[tests]]
row = "localism"
train_on = "{base}"
suite = "{steps}"
check = "consistency"
by = "steps"
published = { t5 = 0.25 }

[[tests]]
row = "profile"
train_on = "{exceptions}/train_pcfg_ratio=0.02.src"
profile = "--suite {exceptions}/test_pcfg_ratio=0.02_exception.src --every 1"
check = "overgeneralisation"
published = { t5 = [] }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recipe and, in `work`, what it gives for two of its rows."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(RECIPE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("WUG_CACHE", str(folder / "cache.db"))
        rows(folder / "small.toml", folder / "work", "--only", "task", "--only", "localism")
    return folder


def rows(recipe: Path, folder: Path, *more: object) -> list[dict[str, Any]]:
    said = wug("reproduce", recipe, "--folder", folder, "--device", "cpu", "--format", "json", *more)
    assert said.code == 0, said.err
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


def estimates(folder: Path, name: str) -> list[dict[str, Any]]:
    (result,) = json.loads((folder / "results" / f"{name}.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = result["estimates"]
    return found


def test_a_recipe_gives_a_row_for_each_cell_with_the_mean_over_its_seeds(made: Path) -> None:
    recipe, work = made / "small.toml", made / "work"
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*.json")}
    task, local, *steps = rows(recipe, work, "--only", "task", "--only", "localism")
    assert {path: path.stat().st_mtime_ns for path in work.rglob("*.json")} == before  # nothing is done twice
    assert (task["row"], task["published"], task["published_sd"], task["seeds"]) == ("task", 0.5, 0.1, [1, 2])
    wanted = ("consistency", "all")
    values = [
        estimate["value"]
        for seed in (1, 2)
        for estimate in estimates(work, f"steps-t5-base-{seed}")
        if (estimate["check"], estimate["group"]) == wanted
    ]
    assert local["value"] == pytest.approx(fmean(values))
    assert local["sd"] == pytest.approx(stdev(values))
    half = 12.706 * stdev(values) / 2**0.5  # Student's t, one degree of freedom
    assert (local["low"], local["high"]) == pytest.approx((fmean(values) - half, fmean(values) + half), abs=1e-4)
    assert local["difference"] == pytest.approx(fmean(values) - 0.25)
    assert steps
    assert all(row["row"].startswith("  ") and row["published"] is None for row in steps)
    assert rows(recipe, work, "--only", "task") == [task]
    shown = wug("reproduce", recipe, "--folder", work, "--device", "cpu", "--only", "task").out
    assert "A small table" in shown
    assert "0.500 ± 0.100" in shown
    refused(wug("reproduce", recipe, "--folder", work, "--device", "cuda:7"), "of another command")


def test_a_table_that_was_killed_twice_ends_as_an_unbroken_one(made: Path, tmp_path: Path) -> None:
    options = ("--device", "cpu", "--seed", "1", "--only", "task")
    command = [sys.executable, "-m", "wug", "reproduce", str(made / "small.toml"), "--folder", str(tmp_path), *options]
    for sign in ("materials/base-1", "models/t5-base-1/training/checkpoint.pt"):
        process = subprocess.Popen(
            command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        while not (tmp_path / sign).exists() and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    rows(made / "small.toml", tmp_path, *options[2:])
    name = "base-test.src-t5-base-1"
    assert estimates(tmp_path, name) == estimates(made / "work", name)
    curves = [
        (folder / "models" / "t5-base-1" / "training" / "loss.tsv").read_text() for folder in (tmp_path, made / "work")
    ]
    assert curves[0] == curves[1]


def test_a_step_that_fails_is_said_and_the_others_are_taken(tmp_path: Path) -> None:
    text = RECIPE.replace("pcfgset --samples 60 --no-table", "pcfgset --samples 0")
    recipe = tmp_path / "bad.toml"
    recipe.write_text(text, encoding="utf-8")
    said = wug("reproduce", recipe, "--folder", tmp_path / "work", "--device", "cpu", "--seed", 1, "--format", "json")
    assert said.code == 1
    assert "failed: make base-1" in said.err
    found = {row["row"]: row for row in json.loads(said.out)}
    assert (found["task"]["value"], found["task"]["signatures"]) == (None, [])
    profile = found["profile"]
    assert (profile["published"], profile["seeds"], len(profile["signatures"])) == (None, [1], 1)
    assert "model:seq2seq/t5-exceptions" in profile["signatures"][0]


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("row = ", "row ", "is no TOML"),
        ("{base}/test.src", "{bass}/test.src", "unknown material 'bass'"),
        ("t5 = 0.25", "t6 = 0.25", "unknown network 't6'"),
        ('check = "accuracy"', 'chek = "accuracy"', "chek"),
        ("seeds = [1, 2]", "", "seeds"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_said(wrong: str, right: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(RECIPE.replace(wrong, right, 1), "small", Path("small.toml"))


@pytest.mark.parametrize("name", names())
def test_the_recipes_that_come_along_can_be_planned_in_miniature(name: str, tmp_path: Path) -> None:
    plan = Planner(read(name), tmp_path, small=True).plan([1])
    assert {cell.test.row for cell in plan.cells} == set(read(name).rows)
    taken: set[str] = set()
    for step in plan.steps:
        assert set(step.needs) <= taken, f"{step.name} before what it needs"
        taken.add(step.name)
    assert all(row.value is None for row in rows_of(plan))


def test_an_unknown_recipe_names_the_nearest() -> None:
    refused(wug("reproduce", "hupkes2019"), "Did you mean 'hupkes2020'?")
    assert "hupkes2020" in wug("reproduce").out


def test_steps_that_are_done_are_not_taken_again(tmp_path: Path) -> None:
    plan = Planner(parse(RECIPE, "small", Path("small.toml")), tmp_path, small=False).plan([1], ["task"])
    for step in plan.steps:
        step.made.parent.mkdir(parents=True, exist_ok=True)
        step.made.touch()
    told: list[str] = []
    assert take(plan, launcher=Here(1), tell=told.append) == []
    assert told == []
