"""`wug check`: reports all errors at once, and describes a valid file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, wug
from wug.evaluation.suites import builtin_suites


def suite(tmp_path: Path, **changes: object) -> Path:
    """The built-in agreement suite, some of it changed."""
    document = {**json.loads(builtin_suites()["wug_agreement_pp"].read_text(encoding="utf-8")), **changes}
    (tmp_path / "suite.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path / "suite.json"


def test_predictions_are_read_back_in_english(tmp_path: Path) -> None:
    path = suite(tmp_path)
    assert wug("check", path).out.splitlines() == [
        f"{path}: good (24 items)",
        "  prediction 1: region 4 (verb) is less surprising in sing_match than in sing_mismatch",
        "  prediction 2: region 4 (verb) is less surprising in plur_match than in plur_mismatch",
    ]


def test_two_faults_of_one_formula_are_both_named(tmp_path: Path) -> None:
    formula = "(4;%sing_mach%) < (9;%sing_mismatch%) & (4;%plur_mach%) < 3"
    shown = wug("check", suite(tmp_path, predictions=[formula]))
    assert shown.code == 1
    assert shown.out.splitlines()[1:] == [
        "  error: prediction 1: unknown condition 'sing_mach'. Did you mean 'sing_match'?",
        f"      {formula}",
        "         ^^^^^^^^^^^",
        "  error: prediction 1: unknown region 9. Regions are numbered 1 to 6",
        f"      {formula}",
        "                         ^",
        "  error: prediction 1: unknown condition 'plur_mach'. Did you mean 'plur_match'?",
        f"      {formula}",
        "                                                 ^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("formula", "messages"),
    [
        (
            "(4,%sing_match%) < (4;sing_match)",
            ["separated by a semicolon", "a condition must be between two % signs"],
        ),
        ("(4;%sing_match%) ≤ (4;%sing_mach%)", ["unexpected '≤'. Write <=", "unknown condition 'sing_mach'"]),
        ("(4;%sing_match%) < & (4;%sing_mach%) < 3", ["missing before this", "unknown condition 'sing_mach'"]),
        ("(4;%%) < (;%sing_match%)", ["the condition has no name", "no region before the semicolon"]),
    ],
)
def test_what_cannot_be_read_does_not_hide_what_else_is_wrong(
    tmp_path: Path, formula: str, messages: list[str]
) -> None:
    faults = [
        line for line in wug("check", suite(tmp_path, predictions=[formula])).out.splitlines() if "error:" in line
    ]
    assert len(faults) == len(messages)
    for fault, message in zip(faults, messages, strict=True):
        assert message in fault


def test_a_misspelt_condition_of_an_item_is_called_that(tmp_path: Path) -> None:
    document: Any = json.loads(suite(tmp_path).read_text(encoding="utf-8"))
    document["items"][3]["conditions"][0]["condition_name"] = "sing_mach"
    shown = wug("check", suite(tmp_path, **document)).out.splitlines()
    assert shown[1:] == [
        "  error: item 4, condition sing_mach: unknown condition 'sing_mach'. Did you mean 'sing_match', which "
        "prediction 1 needs?"
    ]


def test_a_condition_that_an_item_lacks_is_missing_and_no_misspelling_of_another(tmp_path: Path) -> None:
    document: Any = json.loads(suite(tmp_path).read_text(encoding="utf-8"))
    del document["items"][3]["conditions"][0]
    shown = wug("check", suite(tmp_path, **document)).out
    assert "item 4: condition 'sing_match' is missing, which prediction 1 needs" in shown
    assert "Did you mean" not in shown


def test_columns_of_pairs_can_be_named_and_make_a_table_one_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("yes,no\nThe cat sleeps.,The cat sleep.\nIt rains.,It rains.\n", encoding="utf-8")
    assert (
        "error: no known format has these columns: yes, no. Name them: -S good=COLUMN -S bad=COLUMN"
        in wug("check", path).out
    )
    said = wug("check", path, "-S", "good=yes", "-S", "bad=no")
    assert said.code == 0
    assert "identical" in said.out
    assert "column 'yess' is missing" in wug("check", path, "-S", "good=yess", "-S", "bad=no").out
    refused(wug("check", path, "-S", "good=yes", "-S", "bda=no"), "unknown option 'bda' of pairs. Did you mean 'bad'?")
    refused(wug("check", path, "-S", "good"), "'good' is not key=value")
    (found,) = wug("run", path, "-S", "good=yes", "-S", "bad=no", "--format", "json", "--no-save").results
    assert (found["kind"], found["n"]) == ("pairs", 2)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".txt"])
def test_a_utf_16_file_is_called_that(tmp_path: Path, suffix: str, encoding: str) -> None:
    path = tmp_path / f"mine{suffix}"
    path.write_bytes("sentence_good,sentence_bad\nIt rains.,It rain.\n".encode(encoding))
    if encoding == "utf-16-be":
        path.write_bytes("sentence_good,sentence_bad\nIt rains.,It rain.\n".encode(encoding))
    for said in (wug("check", path).out, wug("run", path).err):
        assert f"{encoding[:6].upper()} text, as some Windows programs write it, not UTF-8" in said


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.yaml", b"models: [gpt2]\nsuites: [blimp]\n", "YAML, which wug does not read. A sweep file is TOML:"),
        ("p.png", b"\x89PNG\r\n\x1a\n\0\0", "p.png: a PNG image, not text"),
        ("p.csv", b"PK\x03\x04\0\0", "p.csv: a ZIP archive or an office document, not text"),
        ("nul.csv", b"sentence_good,sentence_bad\nA c\0t.,A cats.\n", "nul.csv, line 2: contains a NUL byte"),
        (
            "u.csv",
            b"yes,no\nA cat.,A cats.\n",
            "u.csv: no known format has these columns: yes, no. Name them: -S good=COLUMN",
        ),
        (
            "u.jsonl",
            b'{"b": "A cat.", "a": "A cats."}\n',
            "u.jsonl: no known format has these columns: b, a. Name them:",
        ),
        (
            "u.txt",
            b"A cat.\nA cats.\n",
            "For files with one sentence per line, good and bad in turn, add -S lines=good-bad",
        ),
    ],
)
def test_a_file_that_is_no_suite_is_called_what_it_is(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    refused(wug("run", tmp_path / name), message)
    assert message.partition(": ")[2] or message in wug("check", tmp_path / name).out


def test_a_nul_that_json_spells_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "nul.jsonl"
    path.write_text('{"sentence_good": "A c\\u0000t.", "sentence_bad": "A cats."}\n', encoding="utf-8")
    assert "line 1: 'A c\\x00t.' contains NUL or a lone surrogate" in wug("check", path).out


def test_an_unknown_column_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,y\nThe cat sleeps.,The cat sleep.\n", encoding="utf-8")
    said = wug("check", path, "-S", "good=grammatical", "-S", "bad=y").out
    assert "header: column 'grammatical' is missing. There is: x, y" in said


def test_a_prediction_keeps_its_number_behind_a_broken_one(tmp_path: Path) -> None:
    document: Any = json.loads(suite(tmp_path).read_text(encoding="utf-8"))
    del document["items"][3]["conditions"][0]
    document["predictions"] = ["(4;%plur_match%) <", document["predictions"][0]]
    shown = wug("check", suite(tmp_path, **document)).out
    assert "error: prediction 1: " in shown
    assert "item 4: condition 'sing_match' is missing, which prediction 2 needs" in shown


def test_a_missing_condition_is_named_beside_a_formula_that_cannot_be_read(tmp_path: Path) -> None:
    document: Any = json.loads(suite(tmp_path).read_text(encoding="utf-8"))
    del document["items"][3]["conditions"][0]
    document["predictions"] = ["(4;%sing_match%) < (4;%plur_match%) <"]
    shown = wug("check", suite(tmp_path, **document)).out
    assert "error: prediction 1: " in shown
    assert "item 4: condition 'sing_match' is missing, which prediction 1 needs" in shown
