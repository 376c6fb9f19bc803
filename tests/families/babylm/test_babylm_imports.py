"""Submissions to BabyLM as runs, and the data of the challenge that they are compared with."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from babylm_times import table
from command_line import refused, wug
from run_factory import keep, result
from wug import data
from wug.evaluation.models import builtin_models
from wug.families.babylm import submission as submission_writer
from wug.families.babylm import tasks
from wug.families.babylm.tasks import sizes
from wug.outcomes import Estimate, Outcome, Result
from wug.results.store import Store


@pytest.fixture
def evaluation_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wug test of three items that counts as the official one."""
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    task = tasks.TASKS["wug_past"]
    small = type(task)({"wug_past_tense": 3}, task.fields, task.item)
    monkeypatch.setattr(tasks, "TASKS", {**tasks.TASKS, "wug_past": small})
    folder = tmp_path / "evaluation_data" / "full_eval" / "wug_past_tense"
    folder.mkdir(parents=True)
    rows = [{"sentences": f"He wug{n}ed.\tHe wag{n}.", "ratio": n / 10} for n in range(3)]
    (folder / "wug_past_tense.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "evaluation_data"


def submission(path: Path, **tasks: Any) -> Path:
    path.write_text(json.dumps(tasks))
    return path


def wug_past(*probs: float) -> dict[str, Any]:
    rows = [{"id": f"wug_past_{n}", "pred": f" He wug{n}ed.", "prob": prob} for n, prob in enumerate(probs)]
    return {"wug_past": {"predictions": rows}}


def test_a_submission_needs_the_data_of_the_challenge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    path = submission(tmp_path / "all_full_preds_causal.json", wug_past=wug_past(0.1, 0.2, 0.3))
    refused(wug("import", path, "--store", tmp_path / "s"), "wug data get babylm --from evaluation_data")


def test_a_submission_becomes_a_run_and_each_fast_checkpoint_another(evaluation_data: Path, tmp_path: Path) -> None:
    assert wug("data", "get", "babylm", "--from", evaluation_data).code == 0
    reading = {"predictions": [{"id": 0, "pred": 1.0, "prev_pred": float("nan")}]}
    path = submission(
        tmp_path / "all_full_preds_causal.json",
        wug_past=wug_past(0.1, 0.9, 0.2),
        reading=reading,
        fast_eval_results={"blimp": [0.5, 0.6]},
    )
    first, one, two = wug("import", path, "--model", "baby", "--store", tmp_path / "s", "--format", "json").results
    # Ranks of 0.1, 0.9, 0.2 are 1, 3, 2, and people's are 1, 2, 3: Spearman's correlation is 0.5.
    assert {e["metric"]: e["value"] for e in first["estimates"] if e["group"] == "all"}["spearman"] == pytest.approx(
        0.5
    )
    assert first["warnings"] == ["tasks left out: reading"]
    assert (one["model"], one["estimates"][0]["value"]) == ("imported/baby@chck_1M", 0.5)
    assert (two["model"], two["estimates"][0]["value"]) == ("imported/baby@chck_2M", 0.6)


def test_other_numbers_of_predictions_than_items_are_refused(evaluation_data: Path, tmp_path: Path) -> None:
    wug("data", "get", "babylm", "--from", evaluation_data)
    for probs, part in (((0.1, 0.2), "no prediction wug_past_2"), ((0.1, 0.2, 0.3, 0.4), "4 predictions of")):
        path = submission(tmp_path / "preds.json", wug_past=wug_past(*probs))
        refused(wug("import", path, "--store", tmp_path / "s"), part)


def test_data_of_another_size_is_not_adopted(evaluation_data: Path) -> None:
    file = evaluation_data / "full_eval" / "wug_past_tense" / "wug_past_tense.jsonl"
    file.write_text(file.read_text() + file.read_text())
    refused(wug("data", "get", "babylm", "--from", evaluation_data), "6 items and not 3")


def test_adopted_data_is_run_by_its_name(evaluation_data: Path, tmp_path: Path) -> None:
    wug("data", "get", "babylm", "--from", evaluation_data)
    said = wug("run", "babylm", "--store", tmp_path / "s", "--no-cache", "--format", "json")
    [found] = said.results
    assert (found["suite"], found["kind"], found["n"]) == ("wug_past", "babylm", 3)
    assert any(text.startswith("not run, since their data is not here: blimp, ") for text in found["warnings"])


def test_scores_of_fast_tasks_by_paradigm_become_groups_with_their_mean(tmp_path: Path) -> None:
    fast = {"blimp": [{"causative": 0.5, "passive_1": 1.0}], "wug_past": [{"wug_past": -0.2}]}
    path = submission(tmp_path / "scores.json", fast_eval_results=fast)
    blimp, past = wug("import", path, "--from", "babylm", "--store", tmp_path / "s", "--format", "json").results
    assert {one["group"]: one["value"] for one in blimp["estimates"]} == {
        "all": 0.75,
        "paradigm=causative": 0.5,
        "paradigm=passive_1": 1.0,
    }
    assert past["estimates"][0]["value"] == -0.2


def test_a_collated_submission_needs_all_tasks(evaluation_data: Path, tmp_path: Path) -> None:
    wug("run", evaluation_data, "--protocol", "babylm", "--store", tmp_path / "s", "--no-cache")
    said = wug("export", "last", "--to", "babylm", "--collate", "-o", tmp_path / "o", "--store", tmp_path / "s")
    refused(said, "--collate", "without blimp")


def past_tense(model: str) -> Result:
    """A result of the small wug test."""
    rows = [
        Outcome(
            f"{n}", "preference", n / 3, {"paradigm": "wug_past"}, {"options": ["a", "b"], "chosen": 1, "human": n / 10}
        )
        for n in range(3)
    ]
    about = {"task": "wug_past", "folder": "wug_past_tense"}
    found = (Estimate("spearman", "all", 0.5, 3),)
    return result("wug_past", model, rows, kind="babylm", meta=about, estimates=found)  # fmt: skip


def test_a_collated_submission_has_all_tasks_and_scores_by_checkpoint(
    evaluation_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {name: tasks.TASKS[name]._replace(folders={name: 2}) for name in ("reading", "aoa")}
    monkeypatch.setattr(submission_writer, "TASKS", {"wug_past": tasks.TASKS["wug_past"], **small})
    runs = [
        keep(tmp_path / "s", past_tense(f"causal/baby@{number}f"), revision=revision)
        for number, revision in enumerate((None, "chck_2M", "chck_1M"))
    ]
    export = ("export", *runs, "--to", "babylm", "--collate", "-o", tmp_path / "o", "--store", tmp_path / "s")
    zero_shot = tmp_path / "o" / "baby" / "main" / "zero_shot" / "causal"
    refused(wug(*export), "reading", str(zero_shot / "reading" / "predictions.json"))
    assert not zero_shot.exists()
    words = [{"id": n, "pred": 1.0, "prev_pred": float("nan")} for n in range(2)]
    points = [{"step": step, "surprisal": 2.0} for step in submission_writer.CHECKPOINTS[:19] for _ in range(2)]
    for name, content in {
        "reading/predictions.json": {"reading": {"predictions": words}},
        "AoA_word/surprisal.json": {"metadata": {}, "results": points[1:]},
    }.items():
        (zero_shot / name).parent.mkdir(parents=True)
        (zero_shot / name).write_text(json.dumps(content))
    refused(wug(*export), "surprisal.json", "2 rows")
    (zero_shot / "AoA_word" / "surprisal.json").write_text(json.dumps({"metadata": {}, "results": points}))
    said = wug(*export)
    assert said.code == 0, said.err
    collated = tmp_path / "o" / "baby" / "all_full_preds_and_fast_scores_causal.json"
    made = json.loads(collated.read_text())
    assert made.keys() == {"wug_past", "reading", "aoa", "fast_eval_results"}
    assert made["wug_past"]["wug_past"]["predictions"][1] == {"id": "wug_past_1", "pred": "a", "prob": 1 / 3}
    assert {path.name for path in (tmp_path / "o" / "baby").iterdir() if path.is_dir()} == {
        "main", "chck_1M", "chck_2M"
    }  # fmt: skip
    assert len(made["reading"]["reading"]["predictions"]) == 2
    assert made["fast_eval_results"] == {"wug_past": [{"wug_past": 0.5}, {"wug_past": 0.5}]}
    refused(wug(*export[:3], *export[4:]), "the runs lack chck_1M of wug_past")
    full_only = tasks.TASKS["wug_past"]._replace(full_only=True)
    monkeypatch.setattr(submission_writer, "TASKS", {"wug_past": full_only, **small})
    assert wug(*export).code == 0
    assert "fast_eval_results" not in json.loads(collated.read_text())


def small_data(archive: Path, *, fast: bool) -> None:
    """A file of each task in the shape of the challenge, with fewer items."""
    both = {"sentence_good": "The cat sleeps.", "sentence_bad": "The cat sleep."}
    files: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "blimp": ("causative", [{**both, "field": "syntax", "UID": "causative"}] * 2),
        "blimp_supplement": ("hypernym", [both, {"sentence_good": "A\nB.", "sentence_bad": "B\nA."}]),
        "entity_tracking": ("regular", [{"input_prefix": "A cat", "options": [" sees", " sleeps"], "numops": 1}]),
        "wug_past": ("wug", [{"sentences": f"He wug{n}ed.\tHe wag{n}.", "ratio": n % 3} for n in range(6)]),
    }
    version = archive / ("fast_eval" if fast else "full_eval")
    for name, (file, rows) in files.items():
        folder = version / list(tasks.TASKS[name].folders)[-fast]
        folder.mkdir(parents=True)
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table(version / "reading" / "reading_data.csv")


@pytest.mark.parametrize("fast", [False, True])
def test_exported_predictions_are_imported_with_the_same_scores_and_items(
    fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    small_data(data.adopted("babylm"), fast=fast)
    options = ("--store", tmp_path / "s", "--no-cache", "--format", "json")
    ours = wug("run", "babylm", *options, *(["--fast"] if fast else []))
    said = wug("export", "last", "--to", "babylm", "-o", tmp_path / "o", "--store", tmp_path / "s")
    assert said.code == 0, said.err
    again = wug("import", tmp_path / "o", "--store", tmp_path / "i", "--format", "json")
    scores = {found["suite"]: values for found, values in zip(ours.results, ours.values, strict=True)}
    del scores["reading_with_space"]
    assert len(scores) == 5
    assert {found["model"] for found in again.results} == {"imported/wug-causal"}
    for found, values in zip(again.results, again.values, strict=True):
        assert values == pytest.approx(scores.pop(found["suite"])), found["suite"]
    assert not scores
    before, after = (
        {
            (suite.suite, one.item, one.metric): (one.value, one.detail.get("chosen"), one.detail.get("prev_surprisal"))
            for suite in Store(tmp_path / name).results(1)
            for one in suite.outcomes
            if suite.suite != "reading_with_space"
        }
        for name in "si"
    )
    assert after == before


def test_all_checkpoints_of_a_model_of_the_hub_are_a_sweep_of_the_fast_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    small_data(data.adopted("babylm"), fast=True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--org--baby"
    (repository / "refs").mkdir(parents=True)
    for number in (1, 2):
        commit = f"{number:040}"
        shutil.copytree(builtin_models()["wug-causal"], repository / "snapshots" / commit)
        (repository / "refs" / f"chck_{number}M").write_text(commit)
    options = ("--store", tmp_path / "s", "--no-cache", "--format", "json", "--executor", "serial")
    said = wug("run", "babylm", "--fast", "--model", "causal:org/baby@chck_*", *options)
    assert {found["model"].split("@")[0] for found in said.results} == {"causal/org/baby"}
    suites = [found["suite"] for found in said.results]
    assert len(suites) == 2 * len(set(suites))
    listed = wug("list", "runs", "--store", tmp_path / "s").out.splitlines()
    assert len(listed) == 2
    assert "2 complete" in listed[1]


def test_a_wug_test_without_a_correlation_is_exported_as_nan(tmp_path: Path) -> None:
    found = dataclasses.replace(past_tense("causal/baby@1f"), estimates=())
    run = keep(tmp_path / "s", found)
    said = wug("export", run, "--to", "babylm", "-o", tmp_path / "o", "--store", tmp_path / "s")
    assert said.code == 0, said.err
    [report] = (tmp_path / "o").rglob("best_temperature_report.txt")
    assert report.read_text().split()[-1] == "nan"


def test_the_sizes_by_paradigm_add_up_to_that_of_the_task() -> None:
    blimp, supplement = sizes()["blimp_filtered"], sizes()["supplement_filtered"]
    assert isinstance(blimp, dict)
    assert isinstance(supplement, dict)
    assert (len(blimp), sum(blimp.values()), min(blimp.values()), max(blimp.values())) == (67, 59_875, 681, 986)
    assert sum(supplement.values()) == 5218
