"""`wug score people` and `wug.people` on small files, with values worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import wug as package
from command_line import CommandOutput, refused, score_table

COLUMNS = ("item=pair", "rater=who", "correct=right")
# a: 3 of 3; b: 1 of 2, a tie; c: 0 of 2.
ANSWERS = "pair,who,right\na,x,1\na,y,1\na,z,1\nb,x,1\nb,y,0\nc,x,0\nc,y,0\n"


def score(path: Path, *options: str) -> CommandOutput:
    return score_table("people", "--responses", path, *options)


def written(tmp_path: Path, text: str, name: str = "answers.csv") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_agreement_with_labels_and_with_others(tmp_path: Path) -> None:
    said = score(written(tmp_path, ANSWERS), *COLUMNS)
    (values,) = said.values
    assert values["majority_agreement", "all"] == pytest.approx(1 / 3)
    assert values["item_agreement", "all"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert values["agreement", "all"] == pytest.approx(4 / 7)
    # a and c: all agree with the others; b: x and y contradict the one other response.
    assert values["leave_one_out", "all"] == pytest.approx(5 / 7)
    assert values["ties", "all"] == 1
    assert [values[metric, "all"] for metric in ("raters_min", "raters", "raters_max")] == [2, 2, 3]
    assert {one["low"] for one in said.results[0]["estimates"] if one["metric"].startswith("raters")} == {None}
    assert said.results[0]["kind"] == "people"
    assert said.results[0]["warnings"] == ["1 item tied, counted as failures"]


def test_a_tie_among_the_others_counts_half(tmp_path: Path) -> None:
    rows = "pair,who,right\na,x,1\na,y,1\na,z,0\n"
    # Without x: y and z tie, 0.5; without y the same; without z: x and y against z, 0.
    assert score(written(tmp_path, rows), *COLUMNS).values[0]["leave_one_out", "all"] == pytest.approx(1 / 3)


def test_a_rater_who_answers_twice_counts_once(tmp_path: Path) -> None:
    rows = "pair,who,right\na,x,0\na,x,0\na,x,0\na,y,1\na,z,1\n"
    said = score(written(tmp_path, rows), *COLUMNS)
    assert said.values[0]["majority_agreement", "all"] == 1
    assert said.values[0]["item_agreement", "all"] == pytest.approx(2 / 3)
    assert "1 case of a rater judging the same item more than once: the mean counts" in said.results[0]["warnings"]


def test_a_column_about_raters_is_not_a_group_of_items(tmp_path: Path) -> None:
    rows = "pair,who,right,language,field\na,x,1,en,syntax\na,y,1,fr,syntax\nb,x,0,en,lexicon\nb,y,1,fr,lexicon\n"
    said = score(written(tmp_path, rows), *COLUMNS, "groups=language")
    assert said.values[0]["item_agreement", "field=syntax"] == 1
    assert not [group for _, group in said.values[0] if group.startswith("language")]
    assert "language is not a group: it differs between rows of an item" in said.results[0]["warnings"]


def test_responses_are_compared_with_labels(tmp_path: Path) -> None:
    rows = "pair,said,key\na,A,A\na,B,A\na,,A\nb,B,B\n"
    said = score(written(tmp_path, rows), "item=pair", "response=said", "label=key")
    assert said.values[0]["item_agreement", "all"] == 0.75
    assert "1 row without a response left out" in said.results[0]["warnings"]


def test_reliability_of_raters_who_agree_is_one(tmp_path: Path) -> None:
    rows = "".join(f"{item},{who},{item % 2}\n" for item in range(6) for who in "wxyz")
    values = score(written(tmp_path, f"pair,who,right\n{rows}"), *COLUMNS).values[0]
    assert values["split_half", "all"] == pytest.approx(1)
    assert values["noise_ceiling", "all"] == pytest.approx(1)


def test_ratings_become_z_scores_per_rater(tmp_path: Path) -> None:
    # x rates 1 and 7, y 3 and 5, both with z of ±1/√2; c gives one rating to all.
    rows = "pair,who,type,r\na,x,good,7\na,x,bad,1\na,y,good,5\na,y,bad,3\na,c,good,4\na,c,bad,4\n"
    said = score(written(tmp_path, rows), "item=pair", "rater=who", "rating=r", "condition=type")
    (values,) = said.values
    assert values["rating_difference_z", "all"] == pytest.approx(math.sqrt(2))
    assert values["rating_good", "all"] == pytest.approx(16 / 3)
    assert values["rating_bad", "all"] == pytest.approx(8 / 3)
    assert values["rating_preference", "all"] == 1
    assert "1 rater left out of the z scores: all ratings are equal" in said.results[0]["warnings"]


def test_counts_per_paradigm_have_no_majority(tmp_path: Path) -> None:
    path = written(tmp_path, "UID,correct,total,acc,phenomenon\np,9,10,0.9,a\nq,6,10,0.6,b\n")
    said = score(path)
    assert said.values[0] == {("agreement", "all"): 0.75, ("paradigm_agreement", "all"): 0.75}
    assert "no majority agreement" in said.results[0]["warnings"][0]
    assert score(path, "paradigms=published").values[0]["agreement", "all"] == 0.9


MTURK = (
    "AssignmentStatus,Input.item_1_condition,Input.field_1_1,Input.field_1_2,Answer.Choice1,anonCode\n"
    "Approved,transitiveans1,She slept.,She slept him.,1. She slept.,7\n"
    "Approved,transitiveans1,She slept.,She slept him.,2. She slept him.,8\n"
    "Rejected,transitiveans1,She slept.,She slept him.,2. She slept him.,9\n"
    "Approved,attnchkans1,Choose.,Do not.,2. Do not.,7\n"
    "Approved,other_paradigmans2,A.,B.,2. B.,7\n"
    "Approved,,,,,7\n"
)


def test_assignments_of_blimp_are_read_by_column(tmp_path: Path) -> None:
    path = written(tmp_path, MTURK)
    said = score(path)
    assert said.values[0]["item_agreement", "paradigm=transitive"] == 0.5
    assert said.values[0]["item_agreement", "phenomenon=argument_structure"] == 0.5
    warnings = said.results[0]["warnings"]
    assert "1 rejected assignment left out: add -S status=all to keep them" in warnings
    assert "1 of 1 attention checks failed" in warnings
    assert score(path, "status=all").values[0]["item_agreement", "all"] == pytest.approx(1 / 3)
    assert score(path, "paradigms=all").results[0]["n"] == 2


def test_a_spreadsheet_is_read_like_a_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in ANSWERS.splitlines():
        book.active.append([int(cell) if cell.isdigit() else cell for cell in line.split(",")])
    path = tmp_path / "answers.xlsx"
    book.save(path)
    assert score(path, *COLUMNS).values == score(written(tmp_path, ANSWERS), *COLUMNS).values


def test_python_returns_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, ANSWERS)
    with pytest.warns(UserWarning, match="1 item tied"):
        table = package.people(path, {"item": "pair", "rater": "who", "correct": "right"})
    rows = {(row["metric"], row["group"]): row for row in table}
    assert rows["agreement", "all"]["value"] == pytest.approx(4 / 7)
    assert rows["agreement", "all"]["n"] == 7


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("a,b\n1,2\n", (), ("not a known format of responses", "correct=COLUMN")),
        ("a,b\n1,2\n", ("item=a", "correct=b"), ("line 2", "b is '2', not 0 or 1")),
        ("a,b\n1,2\n", ("item=a", "response=b"), ("response needs label=COLUMN",)),
        ("a,b\n1,2\n", ("item=a",), ("name one of correct=COLUMN",)),
        ("a,b\n1,2\n", ("correct=b",), ("item=COLUMN",)),
        ("a,b,c\n1,2,good\n", ("item=a", "rating=b", "condition=c"), ("rater=COLUMN",)),
        ("a,b\n1,2\n", ("item=a", "rating=a,b"), ("z_scored=yes",)),
        ("a,b\n1,x\n", ("rating=a,b", "z_scored=yes"), ("line 2", "b is 'x', not a number")),
        ("UID,correct,total,acc\np,11,10,1.1\n", (), ("line 2", "11 of 10 responses are correct")),
        ("q1,q2\nA_good,B_bad\n1,\n", (), ("columns 1 and 2", "'A_good' and 'B_bad' are not the conditions of a pair")),
        ("q1,q2\nA_good,A_bad\n1,x\n", (), ("row 3, column 2", "'x' is not a rating")),
        ("q1,q2\nA_good,A_bad\n1,nan\n", (), ("row 3, column 2", "'nan' is not a rating")),
        ("a,b\n1,inf\n", ("rating=a,b", "z_scored=yes"), ("line 2", "b is 'inf', not a finite number")),
        ("Condition,accepted,total_mean,count\ntransitive,inf,1,2\n", (), ("line 2", "accepted is 'inf'")),
        ("pair,right\n", ("item=pair", "correct=right"), ("no rows",)),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(
    tmp_path: Path, text: str, options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(score(written(tmp_path, text), *options), *parts)


def test_a_damaged_spreadsheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.xlsx"
    path.write_bytes(b"PK\x03\x04 and nothing else")
    refused(score(path), "broken.xlsx", "not an XLSX file that can be read")
