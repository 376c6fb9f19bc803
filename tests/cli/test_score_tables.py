"""`wug score pairs` on tables whose columns the user names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import CommandOutput, refused, score_table, wug


def score(path: Path, *options: str) -> CommandOutput:
    return score_table("pairs", "--predictions", path, *options)


def table(tmp_path: Path, text: str, name: str = "scores.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_two_columns_of_scores_are_compared(tmp_path: Path) -> None:
    path = table(tmp_path, "a,b,phenomenon\n-1,-2,x\n-3,-2,y\n-inf,-2,y\n")
    said = score(path, "good_score=a", "bad_score=b")
    assert said.values[0]["accuracy", "all"] == pytest.approx(1 / 3)
    assert said.values[0]["accuracy", "phenomenon=x"] == 1
    assert said.results[0]["model"].startswith("file/scores@")
    assert "good_score:a|bad_score:b" in said.results[0]["signature"]
    lower = score(path, "good_score=a", "bad_score=b", "lower_is_better=yes")
    assert lower.values[0]["accuracy", "all"] == pytest.approx(2 / 3)


def test_json_lines_with_the_default_names_are_read_without_options(tmp_path: Path) -> None:
    path = table(tmp_path, '{"good_score": 2, "bad_score": 1.5}\n{"good_score": 1, "bad_score": 1}\n', "s.jsonl")
    said = score(path)
    assert said.values[0]["accuracy", "all"] == 0.5
    assert said.results[0]["warnings"] == ["1 comparison tied, counted as failures"]


def test_a_long_table_lists_items_without_one_row_of_each_condition(tmp_path: Path) -> None:
    path = table(tmp_path, "set,n,c,s\nx,1,ok,2\nx,1,no,1\nx,2,ok,3\ny,1,ok,1\ny,1,no,2\ny,1,filler,9\n")
    said = score(path, "item=set,n", "condition=c", "score=s", "good=ok", "bad=no")
    assert said.values[0] == {("accuracy", "all"): 0.5}
    assert said.results[0]["n"] == 2
    assert said.results[0]["warnings"] == [
        "1 item not judged: x/2 (0 rows with c=no)",
        "1 row with another c left out",
    ]


def test_a_presentation_is_judged_by_its_labels(tmp_path: Path) -> None:
    # G1 > G2, B2 > B1; then G1 > G2, B2 < B1, a smaller margin than in the first order.
    path = table(tmp_path, "g1,g2,b1,b2\n-1,-2,-3,-1\n-1,-3,-1,-2\n")
    values = score(path, "good_first=g1,g2", "bad_first=b1,b2").values[0]
    assert values["accuracy", "all"] == 0.75
    assert (values["accuracy", "order=good_first"], values["accuracy", "order=bad_first"]) == (1, 0.5)
    assert (values["accuracy_both_orders", "all"], values["accuracy_either_order", "all"]) == (0.5, 1)
    assert values["accuracy_mean_margin", "all"] == 1
    assert values["first_option_rate", "all"] == 0.75
    assert values["accuracy_same_label", "label=1"] == 0.5  # -1 > -3; -1 > -1 is not


def test_yes_and_no_are_compared_for_both_sentences(tmp_path: Path) -> None:
    path = table(tmp_path, "yg,yb,ng,nb\n-1,-2,-2,-1\n-1,-1,-3,-2\n")
    values = score(path, "yes=yg,yb", "no=ng,nb").values[0]
    assert (values["accuracy", "all"], values["balanced_accuracy", "all"]) == (1, 0.75)
    assert (values["yes_rate", "all"], values["yes_rate", "sentence=good"]) == (0.75, 1)


def test_generated_answers_begin_with_a_label(tmp_path: Path) -> None:
    answers = ['"Yes."', "yes, it is", "No", "Yesterday", "", "**No**"]
    conditions = ["good", "good", "good", "good", "bad", "bad"]
    rows = (json.dumps({"said": a, "condition": c}) for a, c in zip(answers, conditions, strict=True))
    values = score(table(tmp_path, "\n".join(rows), "a.jsonl"), "answer=said").values[0]
    assert values["accuracy", "all"] == 0.5
    assert values["invalid", "all"] == pytest.approx(1 / 3)
    assert values["accuracy", "condition=bad"] == 0.5


def test_one_result_per_model_with_correlations_alone_for_a_margin(tmp_path: Path) -> None:
    rows = "".join(f"{model},{n},{sign * n}\n" for model, sign in (("a", 1), ("b", -1)) for n in (1, 2, 4, 8))
    said = score(table(tmp_path, f"who,h,d\n{rows}"), "margin=d", "human=h", "model=who")
    assert [result["model"].split("@")[0] for result in said.results] == ["file/a", "file/b"]
    assert [values["pearson", "all"] for values in said.values] == [1, -1]
    assert {metric for values in said.values for metric, _ in values} == {"pearson", "spearman"}


def test_models_in_one_file_are_compared_by_item(tmp_path: Path) -> None:
    path = table(tmp_path, "who,good_score,bad_score\na,2,1\na,1,2\nb,2,1\nb,2,1\n")
    assert wug("score", "pairs", "--predictions", path, "-S", "model=who").code == 0
    said = wug("compare", 1, 2, "--format", "json")
    assert said.code == 0, said.err


def test_rows_can_be_excluded(tmp_path: Path) -> None:
    path = table(tmp_path, "good_score,bad_score,kind\n2,1,test\n1,2,attention check\n")
    said = score(path, "exclude=kind=attention check")
    assert said.values[0]["accuracy", "all"] == 1
    assert said.results[0]["warnings"] == ["1 row with kind=attention check left out"]


def test_identical_sentences_and_several_models_are_named(tmp_path: Path) -> None:
    path = table(tmp_path, "sentence_good,sentence_bad,good_score,bad_score,model\nA.,A.,1,1,x\nA.,B.,2,1,y\n")
    assert score(path).results[0]["warnings"] == [
        "1 pair of identical sentences, counted as failures",
        "the column model has 2 values, judged together: add -S model=model for one result each",
    ]


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("good_score,bad_score\n1,\n", (), ("line 2", "bad_score is empty")),
        ("good_score,bad_score\n1,nan\n", (), ("line 2", "bad_score is 'nan', not a number")),
        ("good_score,bad_score,h\n1,2,inf\n", ("human=h",), ("line 2", "h is 'inf', not a finite number")),
        ("good_score,bad_score\n1,x\n", (), ("scores.csv", "bad_score is 'x'")),
        ("a,b\n1,2\n", ("good_score=a", "bad_score=c"), ("column 'c' is missing",)),
        ("a,b\n1,2\n", (), ("no column with scores is named (a, b)", "good_score=COLUMN")),
        ("a,b\n1,2\n", ("groups=a",), ("no column with scores is named", "good_score=COLUMN")),
        ("a,b\n1,2\n", ("margin=a",), ("human=COLUMN",)),
        ("a,b\n1,2\n", ("good_first=a,b",), ("bad_first takes two columns",)),
        ("a,b\n1,2\n", ("good_score=a", "yes=a,b"), ("describe different tables",)),
        ("a,b\n1,2\n1,3\n", ("good_score=a", "bad_score=b", "item=a"), ("item '1' occurs in several rows",)),
        ("a,b\n1,2\n", ("score=a", "condition=b"), ("item=COLUMN",)),
        ("a,b\n1,2\n", ("exclude=a",), ("write COLUMN=VALUE",)),
        ("a,condition\nYes,ok\n", ("answer=a",), ("line 2", "condition is 'ok', not 'good' or 'bad'")),
        ("a,condition\nYes,good\n", ("answer=a", "labels=Yes"), ("labels takes two different labels",)),
        ("a,b\n1,2\n", ("goodscore=a",), ("good_score",)),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(
    tmp_path: Path, text: str, options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(score(table(tmp_path, text), *options), *parts)
