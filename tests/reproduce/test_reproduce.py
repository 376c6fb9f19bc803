"""`wug reproduce`: a table from a recipe; killed and given again it ends with the same table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import run_factory
from command_line import refused, start_wug, wug
from recipes import profile_test, recipe, task_test
from timeouts import PATIENCE
from wug.errors import InputError
from wug.reproduce.page import training_curves
from wug.reproduce.plan import Planner, ReproductionPlan
from wug.reproduce.recipe import names, parse, read
from wug.reproduce.table import cells, table, table_rows
from wug.reproduce.work import LocalRunner, StepCommand, run_steps
from wug.tables import render_table

pytestmark = pytest.mark.slow

TINY = "--embedding-size 16 --ffn-size 16 --batch-size 8 --checkpoint-every 2"
RECIPE = recipe(
    "A small table",
    seeds=[1, 2],
    networks={"t5": {"title": "Transformer", "train": f"seq2seq --steps 12 --layers 1 {TINY}"}},
    materials={
        "base": {"make": "pcfgset --samples 60 --no-table"},
        "steps": {"make": "localism --source {base}/test.src"},
        "exceptions": {"make": "overgeneralisation --ratio 0.02 --samples 300"},
    },
    tests=[
        task_test("t5", (0.5, 0.1)),
        {
            "row": "localism",
            "train_on": "{base}",
            "suite": "{steps}",
            "metric": "consistency",
            "by": "steps",
            "published": {"t5": 0.25},
        },
        profile_test("t5", "--every 1"),
    ],
)
SMALLER = recipe(
    "A smaller table",
    seeds=[1],
    networks={"lstm": {"title": "LSTM", "train": f"seq2seq --network lstm --steps 12 {TINY.replace('16', '8')}"}},
    materials={
        "base": {"make": "pcfgset --samples 60 --no-table"},
        "exceptions": {"make": "overgeneralisation --ratio 0.02 --samples 100"},
    },
    tests=[
        task_test("lstm", (0.5, 0.1), by="depth"),
        profile_test("lstm", "--steps 24", curves="epoch"),
    ],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe, `work` with all that it gives without a break, and what it said, `table.json`."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "smaller.toml").write_text(SMALLER, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("WUG_CACHE", str(folder / "cache.db"))
        said = wug(*told(folder / "smaller.toml", folder / "work"))
    assert said.code == 0, said.err
    (folder / "table.json").write_text(said.out, encoding="utf-8")
    return folder


def told(recipe: Path, folder: Path) -> list[str]:
    return ["reproduce", str(recipe), "--folder", str(folder), "--device", "cpu", "--format", "json"]


def planned(folder: Path, seeds: Sequence[int], *rows: str) -> ReproductionPlan:
    return Planner(parse(RECIPE, "small", Path("small.toml")), folder, small=False).plan(seeds, rows)


def answered(plan: ReproductionPlan, values: Mapping[str, Mapping[str, float]]) -> None:
    """As if these tests had been made: their values of `accuracy` by group, of ten items each."""
    for step in plan.steps:
        step.output.parent.mkdir(parents=True, exist_ok=True)
        if step.name in values:
            estimates = [
                {"metric": "accuracy", "group": group, "value": value, "n": 10, "low": 0, "high": 1, "method": "wilson"}
                for group, value in values[step.name].items()
            ]
            result = {"model": "m", "signature": f"signature of {step.name}", "estimates": estimates}
            step.output.write_text(json.dumps([result]), encoding="utf-8")


def test_a_row_is_the_mean_over_its_seeds_with_students_interval(tmp_path: Path) -> None:
    plan = planned(tmp_path, (1, 2), "task")
    answered(plan, {"base-test.src-t5-base-1": {"all": 0.39}, "base-test.src-t5-base-2": {"all": 0.41}})
    (task,) = json.loads(render_table(table(table_rows(plan)), "json"))
    assert (task["row"], task["published"], task["published_sd"], task["seeds"]) == ("task", 0.5, 0.1, [1, 2])
    assert (task["value"], task["n"], task["method"]) == (pytest.approx(0.4), 10, "t over seeds")
    assert task["sd"] == pytest.approx(0.02 / 2**0.5)  # (0.01² + 0.01²) / (2 - 1)
    # Student's t with one degree of freedom is 12.706, times sd / √2 = 0.01
    assert (task["low"], task["high"]) == pytest.approx((0.4 - 0.12706, 0.4 + 0.12706), abs=1e-4)
    assert task["difference"] == pytest.approx(-0.1)
    assert task["signatures"] == [f"signature of base-test.src-t5-base-{seed}" for seed in (1, 2)]
    text = cells(table_rows(plan)[0])
    assert text[2:] == ("0.500 ± 0.100", "0.400 ± 0.014", "[0.273, 0.527]", "-0.10", "10", "1, 2")


def test_an_interval_over_seeds_ends_where_shares_do(tmp_path: Path) -> None:
    plan = planned(tmp_path, (1, 2), "task")
    answered(plan, {"base-test.src-t5-base-1": {"all": 0.98}, "base-test.src-t5-base-2": {"all": 1.0}})
    (task,) = table_rows(plan)
    assert (task.high, task.method) == (1.0, "t over seeds")
    assert task.value == pytest.approx(0.99)
    assert task.low == pytest.approx(0.99 - 0.12706, abs=1e-4)


def test_a_profile_is_the_highest_of_its_tests_and_a_curve_over_their_epochs(tmp_path: Path) -> None:
    """Exceptions answered by the rules: 1, 3 and 2 of 4; an epoch that was tested twice, after a kill, counts once."""
    text = RECIPE.replace('metric = "overgeneralisation"', 'metric = "overgeneralisation"\ncurves = "epoch"')
    plan = Planner(parse(text, "small", Path("small.toml")), tmp_path, small=False).plan([1], ["profile"])
    (training,) = (step for step in plan.steps if step.kind == "train")
    training.output.parent.mkdir(parents=True)
    training.output.touch()
    for epoch, right in ((1, 1), (2, 3), (2, 3), (3, 2)):
        given = run_factory.outcomes({"overgeneralisation": [place < right for place in range(4)]})
        model = f"seq2seq/{training.name}-epoch{epoch}@{epoch}{epoch}"
        run_factory.keep(plan.store, run_factory.result("over", model, given))
    run_factory.keep(
        plan.store, run_factory.result("over", f"seq2seq/{training.name}0-epoch1@9", given)
    )  # of another one
    (row,) = table_rows(plan)
    assert (row.value, row.n, row.seeds) == (0.75, 4, (1,))
    assert f"{training.name}-epoch2@22" in row.signatures[0]
    (figure,) = training_curves(plan)
    assert [(record["epoch"], record["overgeneralisation"]) for record in figure.records] == [
        (1.0, 0.25),
        (2.0, 0.75),
        (3.0, 0.5),
    ]


def test_a_curve_has_a_line_per_network_and_sorted_numbers(tmp_path: Path) -> None:
    text = RECIPE.replace("t5 = [0.5, 0.1]", "t5 = 0.5, lstm = 0.4").replace(
        "[materials.base]", '[networks.lstm]\ntitle = "LSTM"\ntrain = "seq2seq"\n\n[materials.base]'
    )
    text = text.replace('metric = "accuracy"', 'metric = "accuracy"\ncurves = "depth"')
    plan = Planner(parse(text, "small", Path("small.toml")), tmp_path, small=False).plan([1, 2], ["task"])
    t5 = {"all": 0.5, "depth=10": 0.2, "depth=2": 0.6, "length=3": 1.0}
    given = {f"base-test.src-t5-base-{seed}": {**t5, "depth=2": seed / 2} for seed in (1, 2)}
    answered(plan, {**given, "base-test.src-lstm-base-1": {"depth=2": 0.25}})
    (figure,) = training_curves(plan)
    assert figure.title == "Task: accuracy by depth"
    assert [(record["of"], record["depth"], record["accuracy"]) for record in figure.records] == [
        ("Transformer", 2.0, 0.75),
        ("Transformer", 10.0, 0.2),
        ("LSTM", 2.0, 0.25),
    ]


def test_steps_stand_in_an_order_in_which_a_seed_of_all_rows_is_done_before_another(tmp_path: Path) -> None:
    steps = [step.name for step in planned(tmp_path, (1, 2)).steps]
    of_one_seed = "base-1 t5-base-1 base-test.src-t5-base-1 steps-1 steps-t5-base-1 exceptions-1".split()
    assert steps[: len(steps) // 2] == [*of_one_seed, "t5-exceptions-train_pcfg_ratio=0.02.src-1"]


def test_a_row_may_train_for_longer_but_not_in_a_miniature(tmp_path: Path) -> None:
    text = RECIPE.replace('row = "profile"', 'row = "profile"\ntrain = { t5 = "--steps 99 --batch-size 4" }')
    text = text.replace('title = "Transformer"', 'title = "Transformer"\nsmall = "seq2seq --steps 3"')
    for small, steps in ((False, "99"), (True, "3")):
        plan = Planner(parse(text, "small", Path("small.toml")), tmp_path, small=small).plan([1])
        task, longer = (step.command for step in plan.steps if step.kind == "train")
        chosen = [longer[place + 1] for place, word in enumerate(longer) if word == "--steps"]
        assert chosen[-1] == steps  # the last one counts
        assert "99" not in task


def test_a_plan_of_one_network_has_its_steps_alone(tmp_path: Path) -> None:
    plan = Planner(read("kim2020"), tmp_path, small=True).plan([1], ["gen"], ["lstm"])
    assert [step.name for step in plan.steps] == [
        "cogs-1",
        "lstm-cogs-train.tsv-1",
        "cogs-gen.tsv-lstm-cogs-train.tsv-1",
    ]
    assert [cell.network.name for row in plan.rows for cell in row] == ["lstm"]
    with pytest.raises(InputError, match=r"no network 'lsmt'\. There are: transformer; lstm"):
        Planner(read("kim2020"), tmp_path, small=True).plan([1], [], ["lsmt"])


def test_a_table_that_was_killed_twice_ends_as_an_unbroken_one(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed with its training, which has a checkpoint; then alone, so that another training outlives it."""
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache.db"))
    work = tmp_path / "work"
    profile = "models/lstm-exceptions-train_pcfg_ratio=0.02.src-1/training/checkpoint.pt"
    for sign, kill in (("models/lstm-base-1/training/checkpoint.pt", os.killpg), (profile, os.kill)):
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = start_wug(*told(made / "smaller.toml", work), start_new_session=True, **silent)
        while not (work / sign).exists() and process.poll() is None:
            time.sleep(0.02)
        kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    said = wug(*told(made / "smaller.toml", work))
    assert said.code == 0, said.err
    assert said.out == (made / "table.json").read_text(encoding="utf-8")
    task, *depths, highest = json.loads(said.out)
    assert (task["seeds"], len(task["signatures"]), highest["n"]) == ([1], 1, 3)
    assert {row["within"] for row in depths} == {"task"}


def test_a_finished_table_is_printed_at_once_and_other_options_are_refused(made: Path) -> None:
    files = [path for path in (made / "work").rglob("*") if path.is_file() and path.parent.name != "locks"]
    before = {
        path: path.stat().st_mtime_ns for path in files if ".db" not in path.name and "index.sqlite" not in path.name
    }
    assert wug(*told(made / "smaller.toml", made / "work")).out == (made / "table.json").read_text(encoding="utf-8")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    refused(wug("reproduce", made / "smaller.toml", "--folder", made / "none", "--so-far", "--only", "x"), "no row 'x'")
    said = wug("reproduce", made / "smaller.toml", "--folder", made / "none", "--so-far", "--format", "json")
    assert [row["pending"] for row in json.loads(said.out)] == [True, True]
    assert not (made / "none").exists()
    again = ("reproduce", made / "smaller.toml", "--folder", made / "work")
    assert "A smaller table" in wug(*again, "--device", "cpu", "--only", "task").out
    refused(wug(*again, "--device", "auto"), "of another command")


def test_a_step_that_fails_is_said_and_the_others_are_taken(tmp_path: Path) -> None:
    text = SMALLER.replace("pcfgset --samples 60 --no-table", "pcfgset --samples 0")
    recipe = tmp_path / "bad.toml"
    recipe.write_text(text, encoding="utf-8")
    said = wug("reproduce", recipe, "--folder", tmp_path / "work", "--device", "cpu", "--seed", 1, "--format", "json")
    assert said.code == 1
    assert "failed: make base-1" in said.err
    found = {row["row"]: row for row in json.loads(said.out)}
    assert (found["task"]["value"], found["task"]["signatures"]) == (None, [])
    profile = found["profile"]
    assert (profile["published"], profile["seeds"], len(profile["signatures"])) == (None, [1], 1)
    assert "model:attention_lstm/lstm-exceptions" in profile["signatures"][0]


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("row = ", "row ", "not TOML"),
        ("{base}/test.src", "{bass}/test.src", "unknown material 'bass'"),
        ("t5 = 0.25", "t6 = 0.25", "unknown network 't6'"),
        ('metric = "accuracy"', 'metrc = "accuracy"', "metrc"),
        ("seeds = [1, 2]", "", "seeds"),
        ('row = "task"', 'row = "task"\ntrain = "--steps 9"', "train of a test is by network"),
        ('row = "task"', 'row = "task"\ntrain = { t4 = "--steps 9" }', "unknown network 't4'"),
        ('row = "task"', 'row = "task"\ntrain = { t5 = "--steps 9" }', "the model that 'task' trains, with another"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_said(wrong: str, right: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(RECIPE.replace(wrong, right, 1), "small", Path("small.toml"))


@pytest.mark.parametrize("name", names())
def test_the_recipes_that_come_along_can_be_planned_in_miniature(name: str, tmp_path: Path) -> None:
    plan = Planner(read(name), tmp_path, small=True).plan([1])
    assert {cell.test.row for row in plan.rows for cell in row} == set(read(name).rows)
    taken: set[str] = set()
    for step in plan.steps:
        assert set(step.needs) <= taken, f"{step.name} before what it needs"
        taken.add(step.name)
    assert all(row.value is None for row in table_rows(plan))


def test_an_unknown_recipe_names_the_nearest() -> None:
    refused(wug("reproduce", "hupkes2019"), "Did you mean 'hupkes2020'?")
    assert "hupkes2020" in wug("reproduce").out


@dataclass(frozen=True)
class Unending(LocalRunner):
    """Runs commands that end on request."""

    parallel: int = 2
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, launch: StepCommand) -> int:
        return 1 if self.stopped.wait(PATIENCE) else 0

    def stop(self) -> None:
        self.stopped.set()


def test_whoever_ends_it_ends_what_is_under_way(tmp_path: Path) -> None:
    launcher = Unending()

    def interrupt(told: str) -> None:
        if told.startswith("2 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_steps(planned(tmp_path, (1, 2), "task"), runner=launcher, notify=interrupt, fail=print)
    assert launcher.stopped.is_set()


def test_steps_that_are_done_are_not_taken_again(tmp_path: Path) -> None:
    plan = Planner(parse(RECIPE, "small", Path("small.toml")), tmp_path, small=False).plan([1], ["task"])
    for step in plan.steps:
        step.output.parent.mkdir(parents=True, exist_ok=True)
        step.output.touch()
    told: list[str] = []
    assert run_steps(plan, runner=LocalRunner(1), notify=told.append, fail=print) == []
    assert told == []
