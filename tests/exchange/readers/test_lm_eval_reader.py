"""lm-eval: results and samples as runs, with their values worked out in view."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, wug
from reference import reference
from wug.exchange.readers.lm_eval import paradigm
from wug.results.store import Store
from wug.stats import wilson

Json = dict[str, Any]


def pythia(values: dict[str, float], *, shots: int = 0, n: int = 1000) -> Json:
    """A results file from before 0.4."""
    results = {task: {"acc": p, "acc_stderr": (p * (1 - p) / (n - 1)) ** 0.5} for task, p in values.items()}
    config = {"model": "neox", "model_args": {"iteration": 71500}, "num_fewshot": shots}
    return {"results": results, "versions": dict.fromkeys(values, 0), "config": config}


def write(path: Path, content: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def neox(folder: Path, content: Json, name: str = "pythia-160m", step: int = 71500, date: str = "a") -> Path:
    return write(folder / f"{name}-0shot-global_step{step}_eval_results_{date}.json", content)


def sample(number: int, logprobs: list[float], right: int = 0, **more: Any) -> Json:
    options = [f" option {place}" for place in range(len(logprobs))]
    best = logprobs.index(max(logprobs))
    return {
        "doc_id": number,
        "doc": {},
        "target": str(right),
        "arguments": {f"gen_args_{n}": {"arg_0": "", "arg_1": text} for n, text in enumerate(options)},
        "filtered_resps": [[str(value), "False"] for value in logprobs],
        "resps": [[[str(value), "False"]] for value in logprobs],
        "filter": "none",
        "metrics": ["acc"],
        "acc": float(best == right),
        **more,
    }


def samples(path: Path, rows: list[Json]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_pythia_file_becomes_the_run_of_the_worked_example(tmp_path: Path) -> None:
    path = neox(tmp_path, pythia({"blimp_adjunct_island": 0.872, "blimp_causative": 0.7, "arc_easy": 0.5}))
    [blimp, arc] = wug("import", path, "--store", tmp_path / "s", "--format", "json").results
    assert (blimp["suite"], blimp["kind"], blimp["model"]) == ("blimp", "pairs", "imported/pythia-160m@step71500")
    assert blimp["status"] == "complete"
    kind, _, rest = blimp["signature"].partition("|")
    assert kind.startswith("imported:lm-eval@")
    assert rest == "program:lm_eval, before 0.4|task:blimp v0|shots:0|delimiter:space"
    assert blimp["warnings"] == ["aggregates only: no items to compare"]
    assert blimp["n"] == 2000
    found = {one["group"]: one for one in blimp["estimates"]}
    island = found["paradigm=adjunct_island"]
    assert (island["value"], island["n"], island["method"]) == (0.872, 1000, "wilson")
    assert (round(island["low"], 4), round(island["high"], 4)) == (0.8499, 0.8913)
    assert found["all"]["value"] == pytest.approx((872 + 700) / 2000)
    assert {"field=syntax", "phenomenon=island_effects", "phenomenon=argument_structure"} <= found.keys()
    assert (arc["suite"], arc["kind"], arc["n"]) == ("arc_easy", "imported", 1000)


def test_the_published_pythia_files_give_their_accuracies_and_a_learning_curve(tmp_path: Path) -> None:
    folder = reference("exchange/pythia")
    said = wug("import", folder, "--sweep", "pythia-v0", "--store", tmp_path / "s", "--format", "json")
    runs = {result["model"]: result for result in said.results if result["suite"] == "blimp"}
    assert len(runs) == 5
    for path in folder.glob("*.json.gz"):
        document = json.loads(gzip.decompress(path.read_bytes()))
        step = document["config"]["model_args"]["iteration"]
        accuracies = {task: one["acc"] for task, one in document["results"].items() if task.startswith("blimp_")}
        found = {one["group"]: one["value"] for one in runs[f"imported/pythia-160m@step{step}"]["estimates"]}
        assert {f"blimp_{key[9:]}": value for key, value in found.items() if key.startswith("paradigm=")} == accuracies
        assert found["all"] == pytest.approx(sum(accuracies.values()) / 67)
    curve = wug("compare", "--curve", "sweep:pythia-v0", "--suite", "blimp", "--store", tmp_path / "s")
    assert curve.code == 0, curve.err
    assert "71,500" in curve.out
    assert "20 of 67 curves" in wug("show", "sweep:pythia-v0", "--store", tmp_path / "s").out
    matrix = wug("show", "sweep:pythia-v0", "--matrix", "--store", tmp_path / "s")
    assert "8 of 67 suites" in matrix.out


def test_two_equal_files_of_a_checkpoint_are_one_run_and_different_ones_an_error(tmp_path: Path) -> None:
    first = neox(tmp_path / "a", pythia({"blimp_causative": 0.7}), date="1")
    equal = neox(tmp_path / "a", {**pythia({"blimp_causative": 0.7}), "note": "rerun"}, date="2")
    assert len(wug("import", tmp_path / "a", "--store", tmp_path / "s", "--format", "json").results) == 1
    said = wug("import", equal, "--store", tmp_path / "s")
    assert "nothing was added" in said.err
    other = neox(tmp_path / "a", pythia({"blimp_causative": 0.6}), date="3")
    refused(wug("import", tmp_path / "a", "--store", tmp_path / "t"), str(first), str(other), "pythia-160m@step71500")
    assert not (tmp_path / "t" / "outcomes").exists() or Store(tmp_path / "t").runs() == []
    refused(wug("import", other, "--store", tmp_path / "s"), "run 1 has other values of blimp", "--model")
    assert wug("import", other, "--model", "another", "--store", tmp_path / "s").code == 0


def test_the_same_content_gives_the_same_run_and_one_notice_also_compressed(tmp_path: Path) -> None:
    path = neox(tmp_path, pythia({"blimp_causative": 0.7}))
    first = wug("import", path, "--store", tmp_path / "s", "--format", "json")
    zipped = tmp_path / f"{path.name}.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    second = wug("import", path, zipped, "--store", tmp_path / "s", "--format", "json")
    assert second.results == first.results
    assert second.err.count("nothing was added") == 1
    assert len(Store(tmp_path / "s").runs()) == 1


def test_runs_with_other_numbers_of_shots_are_other_runs_and_curves(tmp_path: Path) -> None:
    for step in (1, 2):
        neox(tmp_path / "a", pythia({"arc_easy": 0.5}), step=step) if step == 1 else None
        content = pythia({"arc_easy": 0.5 + step / 10}, shots=5)
        content["config"]["model_args"]["iteration"] = step
        write(tmp_path / "a" / f"pythia-160m-5shot-global_step{step}_eval_results_x.json", content)
        zero = pythia({"arc_easy": 0.3 + step / 10})
        zero["config"]["model_args"]["iteration"] = step
        neox(tmp_path / "a", zero, step=step, date="z")
    (tmp_path / "a" / "pythia-160m-0shot-global_step1_eval_results_a.json").unlink()
    wug("import", tmp_path / "a", "--sweep", "s", "--store", tmp_path / "s")
    store = Store(tmp_path / "s")
    assert len(store.runs()) == 4
    said = wug("compare", "--curve", *range(1, 5), "--store", tmp_path / "s")
    assert "each version has its curve" in said.err + said.out


def test_the_output_of_lm_eval_is_one_run_with_the_outcomes_of_its_samples(tmp_path: Path) -> None:
    folder = reference("exchange/lm_eval/output")
    [coord, places] = wug("import", folder, "--store", tmp_path / "s", "--format", "json").results
    assert (coord["kind"], coord["n"], coord["estimates"][0]["value"]) == ("pairs", 30, 0.9)
    assert (places["kind"], places["n"]) == ("choices", 12)
    assert {e["metric"]: e["value"] for e in places["estimates"]} == pytest.approx(
        {"accuracy": 5 / 12, "acc_norm": 5 / 12}
    )
    assert coord["signature"].endswith("program:lm_eval 0.4.13|task:demo_coord v1|shots:0|delimiter:space")
    first = Store(tmp_path / "s").results(1)[0].outcomes[0]
    assert first.item == "0"
    assert first.detail == {
        "good": "The student is busy.",
        "bad": "The student are busy.",
        "logprob_good": -37.50019073486328,
        "logprob_bad": -44.98830032348633,
    }


def test_imported_samples_are_compared_item_by_item_with_a_run_of_the_same_task(tmp_path: Path) -> None:
    folder = reference("exchange/lm_eval")
    wug("import", folder / "output", "--store", tmp_path / "s")
    assert wug("run", folder / "task" / "demo_coord.yaml", "--store", tmp_path / "s", "--no-cache").code == 0
    said = wug("compare", "1", "2", "--suite", "demo_coord", "--store", tmp_path / "s", "--format", "json")
    [contrast] = json.loads(said.out)["contrasts"]
    assert (contrast["n"], contrast["both"], contrast["neither"]) == (30, 27, 3)
    said = wug("compare", "1", "2", "--suite", "demo_coord", "--store", tmp_path / "s")
    assert "imported, lm_eval 0.4.13" in said.out + said.err


def test_samples_alone_need_the_name_of_the_model(tmp_path: Path) -> None:
    path = samples(tmp_path / "samples_my_task_2026-01-01T00-00-00.000000.jsonl", [sample(0, [-1.0, -2.0])])
    refused(wug("import", path, "--store", tmp_path / "s"), "--model")
    [result] = wug("import", path, "--model", "gpt2@step5", "--store", tmp_path / "s", "--format", "json").results
    assert (result["suite"], result["model"], result["n"]) == ("my_task", "imported/gpt2@step5", 1)


def test_ties_keep_the_value_of_lm_eval_and_are_counted(tmp_path: Path) -> None:
    path = samples(tmp_path / "samples_t_2026-01-01T00-00-00.jsonl", [sample(0, [-1.0, -1.0]), sample(1, [-2.0, -1.0])])
    [result] = wug("import", path, "--model", "m", "--store", tmp_path / "s", "--format", "json").results
    assert result["estimates"][0]["value"] == 0.5
    assert result["warnings"] == ["1 item of t tied: lm-eval takes the first of equal options"]


def test_n_is_taken_from_the_results_and_an_unknown_one_has_no_interval(tmp_path: Path) -> None:
    content = {
        "results": {
            "a": {"alias": "a", "acc,none": 0.5, "acc_stderr,none": "N/A", "sample_len": 8},
            "b": {"acc,none": 1.0, "acc_stderr,none": 0.0},
            "c": {"f1,none": 0.123, "f1_stderr,none": 0.01},
        },
        "model_name": "org/model",
        "lm_eval_version": "0.4.9",
    }
    found = wug("import", write(tmp_path / "r.json", content), "--store", tmp_path / "s", "--format", "json").results
    first, second, third = (result["estimates"][0] for result in found)
    half = wilson(4, 8)
    assert (first["n"], first["low"], first["high"]) == (8, half.low, half.high)
    assert (second["n"], second["low"], second["method"]) == (0, None, "none: the number of items is unknown")
    assert (third["metric"], third["method"]) == ("f1", "stderr")
    assert third["low"] == pytest.approx(0.123 - 0.0196)
    assert found[0]["model"] == "imported/org/model"


def test_groups_of_tasks_are_left_out_if_their_tasks_are_there(tmp_path: Path) -> None:
    content = {
        "results": {"g": {"acc,none": 0.75, " ": " "}, "g_a": {"acc,none": 0.5}, "g_b": {"acc,none": 1.0}},
        "group_subtasks": {"g": ["g_a", "g_b"]},
        "configs": {"g_a": {}, "g_b": {}},
        "n-samples": {"g_a": {"effective": 4}, "g_b": {"effective": 4}},
        "model_name": "m",
    }
    found = wug("import", write(tmp_path / "r.json", content), "--store", tmp_path / "s", "--format", "json").results
    assert [result["suite"] for result in found] == ["g_a", "g_b"]


def _broken(change: Callable[[Json], object]) -> Json:
    row = sample(1, [-1.0, -2.0])
    change(row)
    return row


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        (_broken(lambda row: row.update(acc=0.0)), ("line 2", "acc is 0", "highest score is number 0")),
        (_broken(lambda row: row["filtered_resps"].pop()), ("line 2", "2 options and 1 responses")),
        (_broken(lambda row: row.update(doc_id=0)), ("line 2", "document 0 is there twice")),
        (_broken(lambda row: row.update(target="9")), ("line 2", "the target '9'")),
        (_broken(lambda row: row["filtered_resps"].__setitem__(0, ["nan", "False"])), ("line 2", "log-probability")),
        (_broken(lambda row: row.update(acc="yes")), ("line 2", "acc is 'yes', not a number")),
        (_broken(lambda row: row.update(arguments=[])), ("line 2", "arguments")),
    ],
)
def test_bad_samples_are_one_message_with_the_line_and_nothing_is_stored(
    row: Json, parts: tuple[str, ...], tmp_path: Path
) -> None:
    path = samples(tmp_path / "samples_t_2026-01-01T00-00-00.jsonl", [sample(0, [-1.0, -2.0]), row])
    refused(wug("import", path, "--model", "m", "--store", tmp_path / "s"), *parts)
    assert Store(tmp_path / "s").runs() == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{"results": {"a": {"acc,none": 0.5', ("not JSON (", "line 1")),
        ('{"results": {"a": {"acc,none": NaN}}}', ("NaN",)),
        ('{"results": {"a": {"acc,none": "high"}}, "model_name": "m"}', ("acc,none of a is 'high', not a number",)),
        ('{"results": {"a": 5}}', ("results.a is 5, not an object",)),
        ('{"results": {}}', ("no task",)),
        ('{"results": {"a": {"acc": 0.5}}, "versions": 3, "n-samples": {"a": 7}}', ("versions is 3, not an object",)),
        ('{"results": {"a": {"acc": 0.5}}, "configs": {"a": {"target_delimiter": [3]}}}', ("not of the type",)),
        ('{"results": {"a": {"acc": 1e999}}}', ("not a number",)),
        ('{"results": {"a": {"acc": 0.5}, "a": {"acc": 0.6}}}', ("the key 'a' is there twice",)),
        ("[" * 100_000, ("nested too deeply",)),
        ("[1, 2]", ("the content is [1, 2], not an object",)),
        ("", ("the file is empty",)),
    ],
)
def test_bad_results_are_one_message_and_nothing_is_stored(text: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(text)
    refused(wug("import", tmp_path / "results.json", "--store", tmp_path / "s"), "results.json", *parts)


def test_a_json_file_that_memory_may_not_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = neox(tmp_path, pythia({"blimp_causative": 0.5}))
    monkeypatch.setenv("WUG_MAX_BYTES", "100")
    refused(wug("import", path, "--store", tmp_path / "s"), path.name, "100 is the maximum", "WUG_MAX_BYTES=")


def test_a_truncated_compressed_file_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "results.json.gz"
    path.write_bytes(gzip.compress(json.dumps(pythia({"arc_easy": 0.5})).encode())[:-20])
    for named in (path, tmp_path):
        refused(wug("import", named, "--store", tmp_path / "s"), "results.json.gz", "damaged compressed file")


@pytest.mark.parametrize(
    "data", [b"", gzip.compress(b'{"results": {}}' * 90, mtime=0)[:40]], ids=["empty", "truncated"]
)
def test_an_empty_or_truncated_file_in_a_folder_is_not_passed_over(data: bytes, tmp_path: Path) -> None:
    neox(tmp_path, pythia({"arc_easy": 0.5}))
    (tmp_path / "results_2.json.gz").write_bytes(data)
    refused(wug("import", tmp_path, "--store", tmp_path / "s"), "results_2.json.gz")
    assert Store(tmp_path / "s").runs() == []


@pytest.mark.parametrize("value", [87.2, -0.1])
def test_a_proportion_outside_0_and_1_is_refused_with_its_metric(value: float, tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", {"results": {"t": {"acc,none": value}}, "model_name": "m"})
    refused(
        wug("import", path, "--store", tmp_path / "s"), "results.json, t, accuracy (all)", f"{value:g} is not a prop"
    )
    assert Store(tmp_path / "s").runs() == []


def test_the_paradigm_of_an_impossible_accuracy_is_named_and_not_its_phenomenon(tmp_path: Path) -> None:
    path = neox(tmp_path, pythia({"blimp_adjunct_island": 0.9, "blimp_complex_NP_island": 0.8}))
    path.write_text(path.read_text().replace('"acc": 0.9', '"acc": 7.5'))
    said = wug("import", path, "--store", tmp_path / "s")
    refused(said, "accuracy (paradigm=adjunct_island)", "7.5 is not a proportion")


def test_samples_that_contradict_the_results_are_an_error(tmp_path: Path) -> None:
    date = "2026-01-01T00-00-00"
    samples(tmp_path / f"samples_t_{date}.jsonl", [sample(0, [-1.0, -2.0]), sample(1, [-2.0, -1.0])])
    content = {"results": {"t": {"acc,none": 1.0, "sample_len": 2}}, "model_name": "m", "lm_eval_version": "0.4.9"}
    write(tmp_path / f"results_{date}.json", content)
    refused(
        wug("import", tmp_path, "--store", tmp_path / "s"),
        "accuracy of t is 0.5 over these samples and 1 in the results file",
    )


def test_an_unknown_format_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = neox(tmp_path, pythia({"arc_easy": 0.5}))
    refused(wug("import", path, "--from", "lm-evil", "--store", tmp_path / "s"), "lm-eval")
    refused(wug("import", tmp_path / "none.json", "--store", tmp_path / "s"), "no such file")
    refused(wug("import", path, "--from", "inspect", "--store", tmp_path / "s"), "version")


def test_a_paradigm_of_a_published_set_is_found_by_its_task() -> None:
    found = paradigm("blimp_npi_present_1")
    assert found is not None
    assert found[:2] == ("blimp", "pairs")
    assert found[2]["field"] == "semantics"
    assert paradigm("blimp_nothing") is None
