"""lm-eval: exports have its form, and are read back as the same outcomes."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import refused, wug
from run_factory import keep, outcomes, result
from wug.outcomes import Outcome
from wug.results.store import Store


def test_a_sample_has_the_fields_of_the_worked_example(tmp_path: Path) -> None:
    detail = {
        "good": "He is.",
        "bad": "He are.",
        "logprob_good": -25.071195125579834,
        "logprob_bad": -32.51955032348633,
    }
    row = Outcome("1", "accuracy", True, {"pattern": "simple_sing"}, detail)
    keep(tmp_path / "store", result("toy", "causal/x@1f", [row]))
    said = wug("export", "last", "--to", "lm-eval", "-o", tmp_path / "out", "--store", tmp_path / "store")
    assert said.code == 0, said.err
    [path] = (tmp_path / "out" / "x").glob("samples_toy_*.jsonl")
    document = {"item": "1", "sentence_good": "He is.", "sentence_bad": "He are.", "pattern": "simple_sing"}
    assert json.loads(path.read_text()) == {
        "doc_id": 0,
        "doc": document,
        "target": "0",
        "arguments": {
            "gen_args_0": {"arg_0": "", "arg_1": "He is."},
            "gen_args_1": {"arg_0": "", "arg_1": "He are."},
        },
        "resps": [[["-25.071195125579834", "False"]], [["-32.51955032348633", "False"]]],
        "filtered_resps": [["-25.071195125579834", "False"], ["-32.51955032348633", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": hashlib.sha256(json.dumps(document, indent=2).encode()).hexdigest(),
        "prompt_hash": hashlib.sha256(b"").hexdigest(),
        "target_hash": hashlib.sha256(b"0").hexdigest(),
        "acc": 1.0,
    }


def test_results_have_a_task_per_group_and_the_standard_error_of_lm_eval(tmp_path: Path) -> None:
    rows = [Outcome(str(n), "accuracy", n < 3, {"kind": "ab"[n % 2]}, {"good": "g", "bad": "b"}) for n in range(4)]
    keep(tmp_path / "store", result("toy", "causal/x@1f", rows))
    wug("export", "last", "--to", "lm-eval", "-o", tmp_path / "out", "--store", tmp_path / "store")
    [path] = (tmp_path / "out" / "x").glob("results_*.json")
    document = json.loads(path.read_text())
    assert document["group_subtasks"] == {"toy": ["toy_a", "toy_b"]}
    # 3 of 4: sqrt(0.75 * 0.25 / 3) = 0.25
    assert document["results"]["toy"]["acc,none"] == 0.75
    assert document["results"]["toy"]["acc_stderr,none"] == pytest.approx(0.25)
    assert document["n-samples"]["toy_a"] == {"original": 2, "effective": 2}
    assert document["configs"]["toy"]["metadata"]["wug_signature"].startswith("wug:0|suite:toy@")


numbers = st.floats(-1e4, 0, allow_nan=False)


@settings(max_examples=25, deadline=None)
@given(scores=st.lists(st.tuples(numbers, numbers, st.sampled_from("ab")), min_size=1, max_size=6))
def test_an_export_is_imported_as_the_same_outcomes(
    scores: list[tuple[float, float, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    rows = [
        Outcome(f"item {n}", "accuracy", good > bad, {"kind": kind}, {
            "good": f"good {n}", "bad": f"bad {n}", "logprob_good": good, "logprob_bad": bad,
        })
        for n, (good, bad, kind) in enumerate(scores)
    ]  # fmt: skip
    keep(folder / "store", result("toy", "causal/x@1f", rows))
    assert wug("export", "1", "--to", "lm-eval", "-o", folder / "out", "--store", folder / "store").code == 0
    said = wug("import", folder / "out", "--store", folder / "store", "--format", "json")
    assert said.code == 0, said.err
    first, second = (Store(folder / "store").results(number)[0] for number in (1, 2))
    assert list(second.outcomes) == list(first.outcomes)
    assert {(e.metric, e.group): e.value for e in second.estimates} == {
        (e.metric, e.group): e.value for e in first.estimates
    }
    assert second.kind == "pairs"


def test_a_suite_whose_name_no_file_can_have_is_imported_with_its_items(tmp_path: Path) -> None:
    keep(tmp_path / "store", result("what?", "causal/x@1f", outcomes({"accuracy": [True, False]}, good="a", bad="b")))
    assert wug("export", "last", "--to", "lm-eval", "-o", tmp_path / "out", "--store", tmp_path / "store").code == 0
    [found] = wug("import", tmp_path / "out", "--store", tmp_path / "s", "--format", "json").results
    assert (found["suite"], found["kind"], found["n"], found["warnings"]) == ("what?", "pairs", 2, [])


def test_hugging_face_files_have_the_required_fields(tmp_path: Path) -> None:
    rows = outcomes({"accuracy": [True, True, True, False]}, good="g", bad="b")
    keep(tmp_path / "store", result("blimp", "causal/x@1f", rows))
    said = wug("export", "last", "--to", "hf", "-o", tmp_path / "out", "--store", tmp_path / "store")
    assert said.code == 0
    assert "registered as a benchmark" in said.err
    [entry] = yaml.safe_load((tmp_path / "out" / ".eval_results" / "wug.yaml").read_text())
    assert entry["dataset"] == {"id": "nyu-mll/blimp", "task_id": "blimp"}
    assert entry["value"] == 0.75
    assert isinstance(entry["date"], str)
    assert "n=4" in entry["notes"]
    said = wug("export", "last", "--to", "model-index", "--store", tmp_path / "store")
    [model] = yaml.safe_load(said.out)["model-index"]
    assert model["name"] == "x"
    [one] = model["results"]
    assert one["task"]["type"]
    assert one["dataset"] == {"type": "nyu-mll/blimp", "name": "blimp"}
    assert (one["metrics"][0]["type"], one["metrics"][0]["value"]) == ("accuracy", 0.75)


def test_a_suite_without_an_id_on_the_hub_needs_one(tmp_path: Path) -> None:
    keep(tmp_path / "store", result("toy", "causal/x@1f", outcomes({"accuracy": [True]})))
    given = ("export", "last", "--to", "hf", "-o", tmp_path / "out", "--store", tmp_path / "store")
    refused(wug(*given), "--dataset ID --task-id ID")
    assert wug(*given, "--dataset", "me/toy", "--task-id", "t").code == 0
    [entry] = yaml.safe_load((tmp_path / "out" / ".eval_results" / "wug.yaml").read_text())
    assert entry["dataset"] == {"id": "me/toy", "task_id": "t"}


def test_an_infinite_score_of_an_item_is_refused_by_name(tmp_path: Path) -> None:
    rows = [Outcome("7", "bits", math.inf, {}, {}), Outcome("8", "bits", 1.0, {}, {})]
    keep(tmp_path / "store", result("toy", "causal/x@1f", [], outcomes=tuple(rows)))
    refused(wug("export", "1", "--to", "lm-eval", "-o", tmp_path / "o", "--store", tmp_path / "store"), "item 7", "inf")


@pytest.mark.parametrize("form", ["lm-eval", "eee"])
def test_the_checkpoint_of_a_run_is_imported_again(form: str, tmp_path: Path) -> None:
    rows = outcomes({"accuracy": [True, False]}, good="a", bad="b")
    keep(tmp_path / "store", result("toy", "causal/lab/x@1f", rows), revision="step2000")
    assert wug("export", "1", "--to", form, "-o", tmp_path / "o", "--store", tmp_path / "store").code == 0
    assert wug("import", tmp_path / "o", "--store", tmp_path / "again").code == 0
    [run] = Store(tmp_path / "again").runs()
    assert run.model.endswith("x@step2000")
    assert run.revision == "step2000"
