"""Every Eval Ever: exports fit its schemas and the rules of its validator beyond them."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import refused, wug
from run_factory import keep, outcomes, result
from wug.errors import InputError
from wug.exchange.export import ExportedRun, ExportOptions, portable, stable_uuid
from wug.exchange.writers import eee
from wug.outcomes import DATASET_KEY, Estimate, Metric, Outcome, Result
from wug.results.records import Run


def schema(name: str) -> Any:
    text = (files("wug") / "assets" / "schemas" / "eee" / name).read_text(encoding="utf-8")
    return jsonschema.Draft7Validator(json.loads(text))


AGGREGATE, INSTANCE = schema("eval.schema.json"), schema("instance_level_eval.schema.json")


def validated(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The files of an export with their samples, once they are found valid."""
    found = []
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
        AGGREGATE.validate(document)
        assert path.relative_to(folder).parts[0] == "data"
        assert len(path.relative_to(folder).parts) == 5
        ids = [one["evaluation_result_id"] for one in document["evaluation_results"]]
        assert len(set(ids)) == len(ids)
        for one in document["evaluation_results"]:
            low, high = (float(one["metric_config"][name]) for name in ("min_score", "max_score"))
            assert low <= one["score_details"]["score"] <= high
        about, rows = document.get("detailed_evaluation_results"), []
        if about:
            data = (folder / about["file_path"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == about["checksum"]
            rows = [json.loads(line, parse_constant=pytest.fail) for line in data.decode().splitlines()]
            assert len(rows) == about["total_rows"]
        for row in rows:
            INSTANCE.validate(row)
            assert row["evaluation_id"] == document["evaluation_id"]
            assert row["model_id"] == document["model_info"]["id"]
            assert row["evaluation_result_id"] in ids
        found.append((document, rows))
    return found


def exported(one: Result) -> ExportedRun:
    return ExportedRun(Run(7, "complete", one.model, "wug run", "2026-11-17T10:00:00+00:00", None, 1), (one,))


def test_the_export_of_wug_coord_is_valid_and_equals_the_worked_example(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert wug("run", "wug_coord", "--limit", 12, "--store", store, "--no-cache").code == 0
    said = wug("export", "last", "--to", "eee", "-o", tmp_path / "out", "--store", store)
    assert said.code == 0, said.err
    [(document, rows)] = validated(tmp_path / "out")
    overall = document["evaluation_results"][0]
    assert (overall["evaluation_result_id"], overall["evaluation_name"]) == ("wug_coord/accuracy", "wug_coord")
    assert overall["source_data"]["source_type"] == "other"
    assert overall["metric_config"]["metric_unit"] == "proportion"
    assert overall["score_details"]["uncertainty"]["confidence_interval"]["method"] == "wilson"
    assert document["model_info"]["id"] == "local/wug-causal"
    assert document["model_info"]["additional_details"]["deployment_type"] == "self_deployed"
    first = rows[0]
    both = ["The student is busy.", "The student are busy."]
    assert first["input"] == {"raw": "", "reference": both[:1], "choices": both}
    assert first["output"] == {"raw": both[:1]}
    # SHA-256 of {"raw":"","reference":["The student is busy."]}, as in the published example.
    assert first["sample_hash"] == "1a1357603d371ca544c63f9e3c44600bfc9a081f3ed848e5f8d61b553c2b9239"
    assert first["evaluation"] == {"score": 1.0, "is_correct": True}
    assert first["metadata"]["pattern"] == "simple_sing"
    assert json.loads(first["metadata"]["logprobs"])[0] == pytest.approx(-25.0712, abs=1e-3)
    levels = {
        one["evaluation_name"]: one["score_details"]["details"]["level"] for one in document["evaluation_results"]
    }
    assert levels["wug_coord/pattern=simple_sing"] == "group"


def test_a_second_export_of_the_same_run_is_equal_byte_by_byte(tmp_path: Path) -> None:
    store = tmp_path / "store"
    keep(store, result("toy", "causal/x@1f", outcomes({"accuracy": [True, False]}, good="a", bad="b")))
    written = []
    for name in ("one", "two"):
        assert wug("export", "1", "--to", "eee", "-o", tmp_path / name, "--store", store).code == 0
        folder = tmp_path / name
        written.append({p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert len(written[0]) == 2
    assert written[0] == written[1]


def test_outcomes_without_a_value_have_no_row_and_are_counted(tmp_path: Path) -> None:
    rows = outcomes({"accuracy": [True, None, False]}, good="a", bad="b")
    said = list(eee.write([exported(result("toy", "causal/x@1f", rows))], tmp_path, ExportOptions()))
    assert "toy: 1 outcome without a value left out" in said
    [(_, found)] = validated(tmp_path)
    assert [row["sample_id"] for row in found] == ["1", "3"]


def test_unicode_line_ends_in_items_are_escaped(tmp_path: Path) -> None:
    rows = outcomes({"accuracy": [True]}, good="a\u2028b\u2029c\x85d", bad="b")
    list(eee.write([exported(result("toy", "causal/x@1f", rows))], tmp_path, ExportOptions()))
    [path] = tmp_path.rglob("*_samples.jsonl")
    [line] = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["input"]["reference"] == ["a\u2028b\u2029c\x85d"]


def test_a_run_without_outcomes_has_an_aggregate_only(tmp_path: Path) -> None:
    one = result("toy", "imported/x@step5", [], estimates=(Estimate("accuracy", "all", 0.5, 10, 0.2, 0.8, "wilson"),))
    list(eee.write([exported(one)], tmp_path, ExportOptions()))
    [(document, rows)] = validated(tmp_path)
    assert "detailed_evaluation_results" not in document
    assert rows == []


@pytest.mark.parametrize(
    "meta", [{"plain_text": False}, {DATASET_KEY: {"plain_text": False, "repository": "r", "commit": "c"}}]
)
def test_private_items_are_never_exported(meta: dict[str, Any], tmp_path: Path) -> None:
    rows = outcomes({"accuracy": [True]}, good="secret", bad="hidden")
    one = exported(result("ewok", "causal/x@1f", rows, meta=meta))
    said = list(eee.write([one], tmp_path, ExportOptions()))
    assert any("plain text" in line for line in said)
    assert not list(tmp_path.rglob("*.jsonl"))
    assert all("secret" not in path.read_text() for path in tmp_path.rglob("*.json"))
    with pytest.raises(InputError, match="--with-samples"):
        list(eee.write([one], tmp_path, ExportOptions(with_samples=True)))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_a_number_is_refused_and_nothing_is_written(value: float, tmp_path: Path) -> None:
    one = result("toy", "causal/x@1f", [], estimates=(Estimate("bleu", "all", value, 3),))
    with pytest.raises(InputError, match="JSON has no such number"):
        list(eee.write([exported(one)], tmp_path, ExportOptions()))
    assert not list(tmp_path.iterdir())


def test_unknown_formats_and_runs_are_refused(tmp_path: Path) -> None:
    keep(tmp_path / "store", result("toy", "causal/x@1f", outcomes({"accuracy": [True]})))
    refused(wug("export", "1", "--to", "eeee", "-o", tmp_path / "out", "--store", tmp_path / "store"), "'eee'")
    refused(wug("export", "1", "--to", "eee", "--store", tmp_path / "store"), "-o")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b", "a_b"), ("data", "data_"), ("NUL.txt", "NUL.txt_"), ("x. ", "x"), ("..", "_"), ("", "_")],
)
def test_names_of_folders_are_portable(name: str, expected: str) -> None:
    assert portable(name) == expected


def test_a_uuid_is_version_4_in_form_and_depends_on_every_part() -> None:
    assert stable_uuid("a", "b") == stable_uuid("a", "b")
    assert stable_uuid("a", "b") != stable_uuid("ab", "")
    assert stable_uuid("a", "b")[14] == "4"


names = st.text(min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
metric = st.builds(
    Metric,
    names,
    st.sampled_from(["share", "bits", "nats", "tokens", "count", "distance", "score"]),
    st.sampled_from(["higher", "lower", "neither"]),
)
outcome = st.builds(
    Outcome,
    names,
    names,
    st.none() | st.booleans() | numbers,
    st.dictionaries(names, names, max_size=2),
    st.fixed_dictionaries({}, optional={"good": names, "bad": names, "logprob_good": numbers, "source": names}),
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["pairs", "imported", "cogs"]),
    st.lists(metric, min_size=1, max_size=3),
    st.lists(st.tuples(numbers, st.integers(0, 9), numbers), min_size=1, max_size=3),
    st.lists(outcome, max_size=4),
    names,
)
def test_any_result_becomes_a_valid_file(
    kind: str, metrics: list[Metric], values: list[tuple[float, int, float]], rows: list[Outcome], model: str
) -> None:
    known = {one.name for one in metrics}
    found = tuple(Estimate(one.name, "all", v, n, low, low) for one, (v, n, low) in zip(metrics, values, strict=False))
    kept = [one for one in rows if one.metric in {e.metric for e in found}]
    estimates = tuple({one.metric: one for one in found if one.metric in known}.values())
    one = result("a suite", model, kept, kind=kind, estimates=estimates, metrics=tuple(metrics))
    with tempfile.TemporaryDirectory() as folder:
        list(eee.write([exported(one)], Path(folder), ExportOptions()))
        assert len(validated(Path(folder))) == 1
