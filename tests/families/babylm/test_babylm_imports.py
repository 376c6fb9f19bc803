"""Submissions to BabyLM as runs, and the data of the challenge that they are compared with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, wug
from wug.families.babylm import tasks
from wug.families.babylm.tasks import sizes


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
    assert any(text.startswith("not run: blimp, ") for text in found["warnings"])


def test_a_collated_submission_needs_all_tasks(evaluation_data: Path, tmp_path: Path) -> None:
    wug("run", evaluation_data, "--protocol", "babylm", "--store", tmp_path / "s", "--no-cache")
    said = wug("export", "last", "--to", "babylm", "--collate", "-o", tmp_path / "o", "--store", tmp_path / "s")
    refused(said, "--collate", "without blimp")


def test_the_sizes_by_paradigm_add_up_to_that_of_the_task() -> None:
    blimp, supplement = sizes()["blimp_filtered"], sizes()["supplement_filtered"]
    assert isinstance(blimp, dict)
    assert isinstance(supplement, dict)
    assert (len(blimp), sum(blimp.values()), min(blimp.values()), max(blimp.values())) == (67, 59_875, 681, 986)
    assert sum(supplement.values()) == 5218
