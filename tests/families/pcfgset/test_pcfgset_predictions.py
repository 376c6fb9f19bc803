"""Readers of published predictions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from wug.errors import InputError
from wug.families.pcfgset import read_answers
from wug.families.pcfgset.suite import read_table
from wug.families.predictions import answers_to


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_answers_of_a_table_are_found_by_source(tmp_path: Path) -> None:
    text = "source\ttarget\tprediction\ncopy  A1\tA1\tA1\ncopy A1\tA1\tA1\ncopy B2\tB2\tC3\n"
    assert read_answers(write(tmp_path / "run.txt", text)) == {"copy A1": "A1", "copy B2": "C3"}


def test_answers_of_a_trace_are_found_by_source(tmp_path: Path) -> None:
    text = "-----\ncopy A1 -> A1\nrepeat A1 -> \nrepeat copy A1 -> []\nTrue\n"
    assert read_answers(write(tmp_path / "run.txt", text)) == {"copy A1": "A1", "repeat A1": "", "repeat copy A1": ""}


def test_plain_answers_have_no_source(tmp_path: Path) -> None:
    path = write(tmp_path / "run.txt", "A1\nB2\n")
    assert answers_to(["copy A1", "copy  B2"], path) == ["A1", "B2"]
    with pytest.raises(InputError, match=r"run\.txt, line 1: neither a table"):
        read_answers(path)


def test_crlf_and_gzip_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "run.txt.gz"
    path.write_bytes(gzip.compress(b"source\ttarget\tprediction\r\ncopy A1\tA1\t\r\n"))
    (row,) = read_table(path)
    assert (row.source, row.target, row.prediction) == ("copy A1", "A1", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("copy A1\tA1\tA1\n", ", line 1: expected the header source<TAB>target<TAB>prediction"),
        ("", ": the file is empty"),
        (
            "source\ttarget\tprediction\ncopy A1\tA1\n",
            ": 1 error in this suite\n  line 2: 2 fields where the header has 3",
        ),
        ("source\ttarget\tprediction\n", ": there are no rows below the header"),
    ],
)
def test_a_faulty_table_gives_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(write(tmp_path / "run.txt", text))
    assert f"run.txt{message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A1\n", "line 2: 1 prediction for 2 sources"),
        ("A1\nB2\nC3\n", "line 3: 3 predictions for 2 sources"),
        ("H-0\t-0.1\tA1\n", "1 of 2 sources have no H- line, the first of them H-1"),
        ("H-2\t-0.1\tA1\n", r"line 1: an answer to source number 2 \(counted from 0\), but there are only 2 sources"),
    ],
)
def test_a_wrong_number_of_answers_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        answers_to(["copy A1", "copy B2"], write(tmp_path / "a.txt", text))


def test_an_empty_fairseq_answer_is_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "H-1\t-0.1\t\nH-0\t-0.1\n")
    assert answers_to(["copy A1", "copy B2"], path) == ["", ""]
