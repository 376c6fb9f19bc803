"""Judging region values that another program computed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from wug.errors import InputError
from wug.families.syntaxgym.commands import EvaluatedSuite, read_evaluated
from wug.families.syntaxgym.write import surprisals
from wug.outcomes import Notice, Outcome, Result, Signature


def region(number: int, bits: object) -> dict[str, Any]:
    return {
        "region_number": number,
        "content": f"r{number}",
        "metric_value": bits,
        "oovs": ["r1"] if number == 1 else [],
    }


DOCUMENT: dict[str, Any] = {
    "meta": {"name": "wugs", "metric": ["sum", "mean"], "model": "m"},
    "region_meta": {"1": "np", "2": "verb"},
    "predictions": ["(2;%a%) < (2;%b%)"],
    "items": [
        {
            "item_number": 1,
            "conditions": [
                {
                    "condition_name": "a",
                    "regions": [region(1, {"sum": 1, "mean": 1}), region(2, {"sum": 2.0, "mean": 4.0})],
                },
                {
                    "condition_name": "b",
                    "regions": [region(1, {"sum": 1, "mean": 1}), region(2, {"sum": 3.0, "mean": 3.0})],
                },
            ],
        }
    ],
}


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)


def save(document: object, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def verdicts(path: Path, gold: Path | None = None, metric: str | None = None) -> dict[str, Any]:
    rows = read_evaluated(path, gold, metric).rows()
    return {row.metric: row.value for row in rows if isinstance(row, Outcome)}


def result_of(evaluated: EvaluatedSuite) -> Result:
    outcomes = tuple(row for row in evaluated.rows() if isinstance(row, Outcome))
    return Result("wugs", "syntaxgym", "m", "complete", Signature.read(""), 1, (), outcomes=outcomes)


def gold_of(document: dict[str, Any], path: Path) -> Path:
    gold = copy.deepcopy(document)
    gold["meta"] = {"name": "wugs v2"}
    return save(gold, path)


def test_predictions_of_the_file_are_judged_by_its_metrics(document: dict[str, Any], tmp_path: Path) -> None:
    path = save(document, tmp_path / "out.json")
    assert verdicts(path) == {
        "prediction_0": True,
        "all_predictions": True,
        "prediction_0/mean": False,
        "all_predictions/mean": False,
    }
    assert verdicts(path, metric="mean") == {"prediction_0": False, "all_predictions": False}


def test_rows_carry_values_and_unknown_words(document: dict[str, Any], tmp_path: Path) -> None:
    evaluated = read_evaluated(save(document, tmp_path / "out.json"))
    assert evaluated.model == "m"
    _, table = surprisals([result_of(evaluated)])
    assert table[:2] == [("wugs", "1", "a", 1, "r1", 1.0, "r1"), ("wugs", "1", "a", 2, "r2", 2.0, "")]


def test_predictions_come_from_the_gold_suite_where_the_file_has_none(document: dict[str, Any], tmp_path: Path) -> None:
    gold = gold_of(document, tmp_path / "in.json")
    del document["predictions"]
    path = save(document, tmp_path / "out.json")
    assert verdicts(path, gold, "sum") == {"prediction_0": True, "all_predictions": True}
    assert read_evaluated(path, gold).suite.name == "wugs v2"


def test_no_predictions_anywhere_is_an_error(document: dict[str, Any], tmp_path: Path) -> None:
    del document["predictions"]
    with pytest.raises(InputError, match="Give the suite that has them"):
        verdicts(save(document, tmp_path / "out.json"))


def test_a_table_with_values_is_judged_with_its_gold_suite(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "out.tsv"
    evaluated = read_evaluated(save(document, tmp_path / "out.json"), region_metric="sum")
    columns, rows = surprisals([result_of(evaluated)])
    path.write_text("".join("\t".join(map(str, row[1:])) + "\n" for row in (columns, *rows)), encoding="utf-8")
    assert verdicts(path, gold_of(document, tmp_path / "in.json")) == {"prediction_0": True, "all_predictions": True}


def test_a_single_number_is_the_value_of_the_primary_metric(document: dict[str, Any], tmp_path: Path) -> None:
    for condition in document["items"][0]["conditions"]:
        for one in condition["regions"]:
            one["metric_value"] = one["metric_value"]["sum"]
    assert verdicts(save(document, tmp_path / "out.json")) == {"prediction_0": True, "all_predictions": True}


def test_an_undefined_value_is_an_error_only_where_a_prediction_uses_it(
    document: dict[str, Any], tmp_path: Path
) -> None:
    conditions = document["items"][0]["conditions"]
    conditions[0]["regions"][0]["metric_value"] = {"sum": float("nan"), "mean": None}
    assert verdicts(save(document, tmp_path / "out.json"))["prediction_0"] is True
    conditions[0]["regions"][1]["metric_value"] = {"sum": float("nan"), "mean": None}
    with pytest.raises(InputError, match="item 1, prediction 1: region 2 of condition a"):
        verdicts(save(document, tmp_path / "out.json"))


def test_an_empty_critical_region_of_an_evaluated_suite_is_excluded_or_counts_as_0(
    document: dict[str, Any], tmp_path: Path
) -> None:
    document["items"][0]["conditions"][0]["regions"][1] |= {"content": "", "metric_value": {"sum": 0.0, "mean": None}}
    path = save(document, tmp_path / "out.json")
    assert verdicts(path)["prediction_0"] is None
    rows = list(read_evaluated(path).rows())
    assert [row.text[:39] for row in rows if isinstance(row, Notice)] == ["prediction 1 not judged in 1 of 1 items"]
    zero = [row for row in read_evaluated(path, region_metric="sum", empty="zero").rows() if isinstance(row, Outcome)]
    assert zero[0].value is True


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("delete", "item 1, condition a, region 2: 'metric_value' is missing"),
        ({"mean": 1.0}, "metric_value has no 'sum', only: mean"),
        ({"sum": [1], "mean": 1.0}, "metric_value must be a number of bits, not a list"),
        ("many", "metric_value must be a number of bits, not the text 'many'"),
        (True, "metric_value must be a number of bits, not true"),
        (10**400, "metric_value is too large for a floating-point number"),
    ],
)
def test_a_missing_or_wrong_value_is_named(value: object, words: str, document: dict[str, Any], tmp_path: Path) -> None:
    one = document["items"][0]["conditions"][0]["regions"][1]
    one["metric_value"] = value
    if value == "delete":
        del one["metric_value"]
    with pytest.raises(InputError) as caught:
        verdicts(save(document, tmp_path / "out.json"))
    assert words in str(caught.value)


def test_items_that_do_not_match_the_gold_suite_are_an_error(document: dict[str, Any], tmp_path: Path) -> None:
    gold = gold_of(document, tmp_path / "in.json")
    document["items"][0]["item_number"] = 2
    with pytest.raises(InputError) as caught:
        verdicts(save(document, tmp_path / "out.json"), gold)
    assert "item 1: is in the gold suite but not here" in str(caught.value)
    assert "item 2: is not in the gold suite" in str(caught.value)


def test_sentences_that_differ_from_the_gold_suite_are_a_notice(document: dict[str, Any], tmp_path: Path) -> None:
    gold = gold_of(document, tmp_path / "in.json")
    document["items"][0]["conditions"][1]["regions"][0]["content"] = "other"
    rows = list(read_evaluated(save(document, tmp_path / "out.json"), gold).rows())
    assert rows[0] == Notice("1 sentences differ from the gold suite's; the first is item 1, condition b")


def test_a_number_by_one_metric_is_not_taken_for_another(tmp_path: Path, document: dict[str, Any]) -> None:
    document["meta"]["metric"] = "sum"
    for item in document["items"]:
        for condition in item["conditions"]:
            for each in condition["regions"]:
                each["metric_value"] = 1.5
    path = tmp_path / "evaluated.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_evaluated(path, region_metric="sum").suite.region_metrics == ("sum",)
    with pytest.raises(InputError, match="metric_value is the 'sum', but 'mean' was requested"):
        read_evaluated(path, region_metric="mean")
