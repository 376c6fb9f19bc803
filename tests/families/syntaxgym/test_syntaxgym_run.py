"""Running a suite: tokens into regions, metrics, verdicts, and what is said about odd answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_models import FakeScorer
from wug.errors import FormulaError, InputError
from wug.evaluation.evaluate import build_result
from wug.families import syntaxgym
from wug.families.syntaxgym.editor import scores
from wug.families.syntaxgym.parts import Condition, Region, SuiteItem
from wug.outcomes import Notice, Outcome, SuiteOutput
from wug.requests import LN2, Scored, Token
from wug.results.queries import rows_of


def speaker(
    bits: Mapping[str, float | None] | None = None, pattern: str = r"\S+", end: float | None = None
) -> FakeScorer:
    """Scores each word by a table of bits (1 if it is not there), and an EOS token; a word in capitals is unknown."""
    table = bits or {}

    def scored(text: str) -> Scored:
        tokens = []
        for match in re.finditer(pattern, text):
            surprisal = table.get(match[0], 1.0)
            name = "<unk>" if match[0].isupper() and len(match[0]) > 1 else match[0]
            tokens.append(Token(name, *match.span(), None if surprisal is None else -surprisal * LN2))
        if end is not None:
            tokens.append(Token("<eos>", len(text), len(text), -end * LN2))
        return Scored.of(text, tokens)

    return FakeScorer(scored, "speaker")


def suite(folder: Path, *predictions: str, options: Mapping[str, str] | None = None, **sentences: Sequence[str]) -> Any:
    count = len(next(iter(sentences.values())))
    conditions = [
        {
            "condition_name": name,
            "regions": [{"region_number": n, "content": content} for n, content in enumerate(contents, start=1)],
        }
        for name, contents in sentences.items()
    ]
    document = {
        "meta": {"name": "number_wugs"},
        "region_meta": {str(n): f"r{n}" for n in range(1, count + 1)},
        "predictions": list(predictions) or [f"(*;%{next(iter(sentences))}%) >= 0"],
        "items": [{"item_number": 7, "conditions": conditions}],
    }
    path = folder / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return syntaxgym.read(path, options or {})[0]


def with_items(asked: Any, *items: Mapping[str, Sequence[str]]) -> Any:
    """The suite with further items, from 8 on, each given by the regions of its conditions."""
    (first,) = asked.items
    further = [
        SuiteItem(
            number, tuple(Condition(n, tuple(map(Region, range(1, len(r) + 1), r))) for n, r in conditions.items())
        )
        for number, conditions in enumerate(items, 8)
    ]
    return replace(asked, items=(first, *further))


def verdicts(rows: Sequence[SuiteOutput]) -> dict[str, Any]:
    return {row.metric: row.value for row in rows if isinstance(row, Outcome)}


def notices(rows: Sequence[SuiteOutput]) -> list[str]:
    return [row.text for row in rows if isinstance(row, Notice)]


def regions(rows: Sequence[SuiteOutput], condition: str) -> list[dict[str, Any]]:
    last = next(row for row in rows if isinstance(row, Outcome) and row.metric == "all_predictions")
    found: list[dict[str, Any]] = last.detail["conditions"][condition]["regions"]
    return found


def test_every_prediction_is_judged_and_then_all_of_them(tmp_path: Path) -> None:
    asked = suite(
        tmp_path, "(2;%good%) < (2;%bad%)", "(1;%good%) < (1;%bad%)", good=["A wug", "runs"], bad=["A wug", "run"]
    )
    rows = list(asked.run(speaker({"run": 9.0, "runs": 4.0})))
    assert verdicts(rows) == {"prediction_0": True, "prediction_1": False, "all_predictions": False}
    assert notices(rows) == []
    outcomes = [row for row in rows if isinstance(row, Outcome)]
    assert {(row.item, row.groups["circuit"]) for row in outcomes} == {("7", "Agreement")}
    assert outcomes[0].detail["margin"] == pytest.approx(5.0)
    assert outcomes[0].detail["left"] == pytest.approx(4.0)
    assert outcomes[0].detail["right"] == pytest.approx(9.0)
    assert outcomes[1].detail["margin"] == 0.0


def test_the_last_row_of_an_item_has_everything_a_page_needs(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(2;%a%) > 0", a=["A WUG", "runs fast"])
    rows = list(asked.run(speaker({"runs": 4.0, "fast": 2.0})))
    detail = next(row for row in rows if isinstance(row, Outcome) and row.metric == "all_predictions").detail
    assert json.loads(json.dumps(detail)) == detail
    assert detail["conditions"]["a"]["sentence"] == "A WUG runs fast"
    first, second = detail["conditions"]["a"]["regions"]
    assert (first["number"], first["content"], first["oovs"]) == (1, "A WUG", ["WUG"])
    assert second["value"] == second["values"]["sum"] == pytest.approx(6.0)
    assert [text for text, _ in second["tokens"]] == ["runs", "fast"]
    assert [text for text, _ in first["tokens"]] == ["A", "<unk>"]


def test_without_predictions_there_is_nothing_to_judge_but_all_to_measure(tmp_path: Path) -> None:
    asked = replace(suite(tmp_path, a=["A wug", "runs"]), predictions=())
    rows = list(asked.run(speaker()))
    assert verdicts(rows) == {"all_predictions": None}
    assert notices(rows) == ["the suite has no predictions"]
    assert build_result(asked, "speaker", "wug:0", rows).n == 1
    assert [region["value"] for region in regions(rows, "a")] == pytest.approx([2.0, 1.0])


def test_metrics_are_taken_over_the_tokens_of_a_region(tmp_path: Path) -> None:
    asked = suite(tmp_path, options={"metric": "all"}, a=["x", "k l m n"])
    rows = list(asked.run(speaker({"k": 1.0, "l": 2.0, "m": 3.0, "n": 10.0})))
    # 16 in all over 4 tokens; the middle two are 2 and 3; 10 - 1.
    assert regions(rows, "a")[1]["values"] == pytest.approx(
        {"sum": 16.0, "mean": 4.0, "median": 2.5, "range": 9.0, "max": 10.0, "min": 1.0}
    )


def test_each_further_metric_has_checks_of_its_own(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(2;%a%) > (2;%b%)", options={"metric": "mean,sum"}, a=["x", "k k"], b=["x", "l"])
    rows = list(asked.run(speaker({"k": 2.0, "l": 3.0})))
    assert verdicts(rows) == {
        "prediction_0": True,
        "all_predictions": True,
        "prediction_0/mean": False,
        "all_predictions/mean": False,
    }
    meanings = {metric.name: metric.meaning for metric in asked.metrics}
    assert meanings["prediction_0/mean"].endswith("(by the mean of the tokens)")
    assert {metric.name for metric in asked.metrics if not metric.derived} == verdicts(rows).keys()


def test_wildcard_region_sums_the_whole_condition(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(*;%a%) = 7", a=["x y", "", "k"])
    assert verdicts(list(asked.run(speaker({"k": 5.0}))))["prediction_0"] is True


def test_wildcard_region_skips_empty_regions_by_metrics_that_have_no_value_there(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(*;%a%) = 6", options={"metric": "max"}, a=["x y", "", "k"])
    assert verdicts(list(asked.run(speaker({"k": 5.0}))))["prediction_0"] is True


def test_an_item_whose_critical_region_is_empty_is_excluded_and_counted(tmp_path: Path) -> None:
    asked = with_items(
        suite(tmp_path, "(2;%a%) < (2;%b%)", "(1;%a%) = (1;%b%)", a=["x", "k"], b=["x", "l"]),
        {"a": ["x", "l"], "b": ["x", "k"]},
        {"a": ["x", ""], "b": ["x", "l"]},
    )
    result = build_result(asked, "speaker", "wug:0", asked.run(speaker({"k": 2.0, "l": 3.0})))
    judged = [row.value for row in result.outcomes if row.metric == "prediction_0"]
    assert judged == [True, False, None]  # 50%; 0 bits for the empty region would give 2 of 3
    numbers = {one.metric: (one.value, one.n) for one in result.estimates if one.group == "all"}
    assert numbers.pop("effect_0") == numbers.pop("standardised_effect_0") == (0.0, 2)
    assert numbers == {"prediction_0": (0.5, 2), "prediction_1": (1.0, 3), "all_predictions": (0.5, 2)}
    assert result.warnings == (
        "prediction 1 not judged in 1 of 3 items, since a region that it compares has no token with a probability; "
        "the first is item 9, condition a, region 2",
    )
    assert result.n == 3
    why = next(row.detail["why"] for row in result.outcomes if row.value is None)
    assert why == "condition a, region 2 has no token with a probability"


@pytest.mark.parametrize("words", ["", "猫"])
def test_a_critical_region_without_tokens_has_no_value_by_any_metric(words: str, tmp_path: Path) -> None:
    asked = suite(tmp_path, "(2;%a%) < (2;%b%)", options={"metric": "all"}, a=["x", words], b=["x", "l"])
    rows = list(asked.run(speaker(pattern="[a-z]+")))
    assert set(verdicts(rows).values()) == {None}


def test_a_critical_region_whose_tokens_have_no_probability_has_no_value(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(1;%a%) < (1;%b%)", a=["x", "k"], b=["y", "k"])
    assert verdicts(list(asked.run(speaker({"x": None}))))["prediction_0"] is None


@pytest.mark.parametrize(
    ("formula", "judged"),
    [
        ("(2;%a%) + (3;%a%) < (2;%b%) + (3;%b%)", True),  # one of several regions of a condition that are added up
        ("sum((2;%a%), (3;%a%)) < (3;%b%)", True),
        ("(2;%a%) + (3;%a%) - (2;%b%) - (3;%b%) < 0", True),
        ("[(2;%a%) + (3;%a%)] / 2 < (3;%b%)", True),
        ("(*;%a%) < (*;%b%)", True),
        ("(2;%a%) < (2;%b%)", False),
        ("(2;%a%) < (3;%a%)", False),  # on the other side, not added up
        ("(3;%a%) - (2;%a%) > 0", False),
        ("(2;%a%) + (3;%b%) < 9", False),  # added up with another condition
        ("2 * (2;%a%) < 9", False),
        ("mean((2;%a%), (3;%a%)) < 9", False),
        ("abs((2;%a%)) < 9", False),
        ("((3;%a%) < (3;%b%)) | ((2;%a%) < 9)", False),
    ],
)
def test_an_empty_region_is_left_out_of_a_sum_of_regions_and_nowhere_else(
    formula: str, judged: bool, tmp_path: Path
) -> None:
    asked = suite(tmp_path, formula, a=["x", "", "k"], b=["x", "y", "l"])
    assert (verdicts(list(asked.run(speaker({"k": 2.0, "l": 3.0}))))["prediction_0"] is not None) is judged


def test_an_excluded_item_neither_holds_nor_fails_in_tables_and_in_the_editor(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(2;%a%) < (2;%b%)", "(1;%a%) = (1;%b%)", a=["x", ""], b=["x", "l"])
    result = build_result(asked, "speaker", "wug:0", asked.run(speaker()))
    assert syntaxgym.tsv([result])[1] == [("number_wugs", "0", "7", None), ("number_wugs", "1", "7", True)]
    shown = scores(result, rows_of(result))["items"]["7"]
    assert (shown["held"], shown["failed"]) == ([1], [])


def test_an_empty_critical_region_counts_as_0_bits_or_is_refused_on_request(tmp_path: Path) -> None:
    sentences = {"a": ["x", ""], "b": ["x", "l"]}
    asked = suite(tmp_path, "(2;%a%) < (2;%b%)", options={"empty": "zero"}, **sentences)
    rows = list(asked.run(speaker()))
    assert verdicts(rows)["prediction_0"] is True
    assert notices(rows)[0].startswith(
        "prediction 1 judged with 0 bits in 1 of 1 items, since a region that it compares"
    )
    assert asked.options["empty"] == "zero"
    with pytest.raises(InputError, match="item 7, condition a, region 2: is empty, so prediction 1 has no value"):
        suite(tmp_path, "(2;%a%) < (2;%b%)", options={"empty": "refuse"}, **sentences)
    asked = suite(tmp_path, "(2;%a%) < (2;%b%)", options={"empty": "refuse"}, a=["x", "猫"], b=["x", "l"])
    with pytest.raises(InputError, match="condition a, region 2 has no token with a probability"):
        list(asked.run(speaker(pattern="[a-z]+")))


def test_a_token_that_spans_two_regions_counts_in_the_first_and_is_reported(tmp_path: Path) -> None:
    asked = suite(tmp_path, options={"join": "detokenized"}, a=["A wug", "runs", "."])
    rows = list(asked.run(speaker({"runs.": 3.0})))
    assert [region["value"] for region in regions(rows, "a")] == pytest.approx([2.0, 3.0, 0.0])
    assert notices(rows) == [
        "1 token spans two regions and counts in the first; the first is 'runs.' in item 7, condition a, region 2",
        "1 region has text but no token begins in it: its sum is 0 bits; the first is item 7, condition a, region 3",
    ]


def test_a_first_token_without_a_probability_counts_as_0_and_is_reported(tmp_path: Path) -> None:
    asked = suite(tmp_path, options={"metric": "sum,min"}, a=["A wug", "runs"], b=["A dax", "runs"])
    rows = list(asked.run(speaker({"A": None})))
    assert regions(rows, "a")[0]["values"] == pytest.approx({"sum": 1.0, "min": 0.0})
    assert regions(rows, "a")[0]["tokens"][0] == ["A", None]
    assert notices(rows) == [
        "2 sentences begin with a token that has no probability, since the model has no BOS: it counts as 0 bits; "
        "the first is 'A' in item 7, condition a, region 1"
    ]


def test_tokens_without_a_probability_elsewhere_are_reported_too(tmp_path: Path) -> None:
    rows = list(suite(tmp_path, a=["A wug", "runs"]).run(speaker({"runs": None})))
    assert "1 token inside a sentence has no probability" in notices(rows)[0]


def test_unknown_words_are_counted(tmp_path: Path) -> None:
    rows = list(suite(tmp_path, a=["A WUG", "BLICKS"]).run(speaker()))
    assert notices(rows) == ["2 words are unknown to the model; the first is 'WUG' in item 7, condition a, region 1"]


def test_an_infinite_surprisal_is_judged_and_reported(tmp_path: Path) -> None:
    asked = suite(tmp_path, "(2;%a%) > (2;%b%)", a=["A wug", "run"], b=["A wug", "runs"])
    rows = list(asked.run(speaker({"run": math.inf})))
    assert verdicts(rows)["prediction_0"] is True
    assert "1 token has probability 0" in notices(rows)[0]
    assert regions(rows, "a")[1]["value"] is None  # JSON has no infinity


def test_an_end_mark_counts_in_the_last_region_only_when_asked(tmp_path: Path) -> None:
    sentences = {"a": ["A wug", "runs", ""]}
    rows = list(suite(tmp_path, options=None, **sentences).run(speaker(end=5.0)))
    assert [region["value"] for region in regions(rows, "a")] == pytest.approx([2.0, 1.0, 0.0])
    rows = list(suite(tmp_path, options={"eos": "last_region"}, **sentences).run(speaker(end=5.0)))
    assert [region["value"] for region in regions(rows, "a")] == pytest.approx([2.0, 6.0, 0.0])


def test_a_token_that_begins_with_the_space_before_a_region_counts_in_it(tmp_path: Path) -> None:
    rows = list(suite(tmp_path, a=["A wug", "runs"]).run(speaker(pattern=r" ?\S+")))
    assert [region["value"] for region in regions(rows, "a")] == pytest.approx([2.0, 1.0])
    assert notices(rows) == []


def test_a_file_s_oddities_are_notices_of_the_run(tmp_path: Path) -> None:
    rows = list(suite(tmp_path, a=["A wug ", "runs"]).run(speaker()))
    assert notices(rows) == ["item 7, condition a, region 1: spaces around the text are trimmed"]


def test_a_prediction_without_a_value_names_item_and_prediction(tmp_path: Path) -> None:
    asked = suite(tmp_path, "1 / [(2;%a%) - 1] > 0", a=["A wug", "runs"])
    with pytest.raises(FormulaError) as caught:
        list(asked.run(speaker()))
    assert str(caught.value).startswith("number_wugs, item 7, prediction 1: division by zero\n    1 / [(2;%a%) - 1]")


def test_a_region_without_tokens_has_no_mean_to_count_as_0(tmp_path: Path) -> None:
    options = {"join": "detokenized", "metric": "mean", "empty": "zero"}
    asked = suite(tmp_path, "(3;%a%) > 0", options=options, a=["A wug", "runs", "."])
    with pytest.raises(
        InputError, match="item 7, prediction 1: region 3 of condition a has no tokens, so it has no mean"
    ):
        list(asked.run(speaker()))


def test_the_model_is_asked_each_sentence_once_in_one_list(tmp_path: Path) -> None:
    model = speaker()
    list(suite(tmp_path, a=["A wug", "runs"], b=["A wug", "runs"], c=["A dax", "runs"]).run(model))
    assert model.batches == [["A wug runs", "A dax runs"]]
