"""Tests of PCFG SET with one answer and one target: the task, per function, increasing length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fake_models import FakeGenerator
from wug.errors import InputError, ModelError, SuiteError
from wug.families import pcfgset
from wug.families.pcfgset.suite import PcfgSuite, score_plain
from wug.outcomes import Estimate, Notice, Outcome, SuiteOutput
from wug.requests import Answer


class Answers(FakeGenerator):
    """Gives these answers, whatever the sources are."""

    def __init__(self, *answers: str) -> None:
        super().__init__(str, "answers")
        self.answers = answers

    def generate(self, sources: Sequence[str]) -> list[str | Answer]:
        return list(self.answers)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def values(rows: Iterable[SuiteOutput], metric: str = "accuracy") -> list[object]:
    return [row.value for row in rows if isinstance(row, Outcome) and row.metric == metric]


def suite(folder: Path, source: str, target: str, name: str = "test") -> PcfgSuite[Any]:
    write(folder / f"{name}.src", source)
    write(folder / f"{name}.tgt", target)
    (found,) = pcfgset.read(folder, {})
    assert isinstance(found, PcfgSuite)
    return found


def test_an_answer_is_right_when_it_is_the_target_but_for_spaces(tmp_path: Path) -> None:
    found = suite(tmp_path, "copy A1 B2\ncopy C3\ncopy D4\n", "A1 B2\nC3\nD4\n")
    assert values(found.run(Answers(" A1  B2", "c3", ""))) == [True, False, False]


def test_items_are_grouped_by_function_depth_length_and_functions(tmp_path: Path) -> None:
    found = suite(tmp_path, "append reverse A1 B2 , C3 D4\n", "B2 A1 C3 D4\n")
    (outcome,) = [row for row in found.run(Answers("B2 A1 C3 D4")) if isinstance(row, Outcome)]
    assert outcome.groups == {"function": "append", "depth": "2", "length": "7", "functions": "2"}
    assert outcome.detail == {
        "source": "append reverse A1 B2 , C3 D4",
        "target": "B2 A1 C3 D4",
        "answer": "B2 A1 C3 D4",
    }


def test_a_line_counts_for_each_function_and_held_out_pair_in_it(tmp_path: Path) -> None:
    found = suite(
        tmp_path,
        "swap_first_last repeat remove_second A1 , B2\nrepeat remove_second A1 B2 , C3\n",
        "A1 A1\nA1 B2 A1 B2\n",
    )
    rows = list(found.run(Answers("A1 A1", "A1 B2")))
    shares = {row.group: (row.value, row.n) for row in rows if isinstance(row, Estimate)}
    assert shares == {
        "contains=remove_second": (0.5, 2),
        "contains=repeat": (0.5, 2),
        "contains=swap_first_last": (1.0, 1),
        "pair=repeat remove_second": (0.5, 2),
        "pair=swap_first_last repeat": (1.0, 1),
    }


def test_a_wrong_answer_that_only_ends_too_early_is_distinguished_from_others(tmp_path: Path) -> None:
    found = suite(tmp_path, "copy A12 B2\n" * 5, "A12 B2\n" * 5)
    rows = list(found.run(Answers("A12 B2", "A12", "B2", "A1", "C3")))
    assert values(rows, "eos_strict_prefix") == [True, False, False, False]
    assert values(rows, "eos_contiguous_token_sub") == [True, True, False, False]
    assert values(rows, "eos_contained_in_target") == [True, True, True, False]


def test_empty_answers_are_counted(tmp_path: Path) -> None:
    found = suite(tmp_path, "copy A1\ncopy B2\n", "A1\nB2\n")
    assert [row.text for row in found.run(Answers("A1", " ")) if isinstance(row, Notice)] == [
        "1 of 2 answers are empty"
    ]


def test_a_model_with_too_few_answers_is_an_error(tmp_path: Path) -> None:
    found = suite(tmp_path, "copy A1\ncopy B2\n", "A1\nB2\n")
    with pytest.raises(ModelError, match="answers gave 1 answers to 2 sources"):
        list(found.run(Answers("A1")))


def test_per_function_items_carry_their_function(tmp_path: Path) -> None:
    for function in ("copy", "echo"):
        write(tmp_path / f"test_{function}.src", f"{function} A1 B2\n")
    write(tmp_path / "test_copy.tgt", "A1 B2\n")
    write(tmp_path / "test_echo.tgt", "A1 B2 B2\n")
    (found,) = pcfgset.read(tmp_path, {})
    outcomes = [row for row in found.run(Answers("A1 B2", "A1 B2 B2")) if isinstance(row, Outcome)]
    assert [(row.item, row.groups["function"]) for row in outcomes] == [("copy/1", "copy"), ("echo/1", "echo")]


def test_increasing_length_is_that_of_the_string_that_grows(tmp_path: Path) -> None:
    # Two rounds of lengths 1 to 3, as the unary function shows; the other argument may be longer.
    sources = [
        "append A1 , B1 B2",  # 1: the first grows
        "append A1 A2 A3 , B1 B2",  # 2: the second grows
        "append A1 A2 A3 , B1 B2",  # 3: the first grows
        "copy A1",
        "copy A1 A2",
        "copy A1 A2 A3",
        "remove_first A1 A2 A3 , B1",  # the kept one grows
        "remove_second A1 , B1 B2 B3",
    ]
    targets = ["A1"] * len(sources)
    found = suite(tmp_path, "\n".join(sources) + "\n", "\n".join(targets) + "\n", "increasing_length")
    rows = [row for row in found.run(Answers(*targets)) if isinstance(row, Outcome) and row.metric == "accuracy"]
    assert [row.groups["length"] for row in rows] == ["1", "2", "3", "1", "2", "3", "1", "1"]


TABLE = "source\ttarget\tprediction\ncopy A1 B2\tA1 B2\tA1 B2\ncopy C3\tC3\t\n"


def test_a_table_of_predictions_is_scored_by_its_own_targets(tmp_path: Path) -> None:
    assert values(score_plain(write(tmp_path / "run.txt", TABLE)).rows) == [True, False]


def test_a_table_without_targets_is_scored_by_the_meanings(tmp_path: Path) -> None:
    table = "prediction\tsource\nB2 A1\treverse A1 B2\nA1\treverse A1 B2\n"
    assert values(score_plain(write(tmp_path / "run.txt", table)).rows) == [True, False]


def gold(folder: Path, source: str, target: str) -> tuple[Path, Path]:
    return write(folder / "test.src", source), write(folder / "test.tgt", target)


def test_rows_in_another_order_are_aligned_by_source_and_duplicates_by_order(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy A1\ncopy C3\ncopy A1\n", "A1\nC3\nA1\n")
    table = "source\ttarget\tprediction\ncopy A1\tA1\tA1\ncopy A1\tA1\tB2\ncopy C3\tC3\tC3\n"
    rows = list(score_plain(write(tmp_path / "run.txt", table), files).rows)
    assert values(rows) == [True, True, False]


def test_a_source_without_a_prediction_is_an_error(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy A1\ncopy B2\n", "A1\nB2\n")
    table = write(tmp_path / "run.txt", "source\ttarget\tprediction\ncopy A1\tA1\tA1\n")
    with pytest.raises(InputError, match=r"run\.txt: no prediction for source 2: copy B2"):
        list(score_plain(table, files).rows)


def test_a_prediction_for_another_source_is_an_error(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy A1\n", "A1\n")
    text = "source\ttarget\tprediction\ncopy A1\tA1\tA1\ncopy B2\tB2\tB2\n"
    with pytest.raises(InputError, match=r"run\.txt, line 3: a prediction for a source .* gold file: 'copy B2'"):
        list(score_plain(write(tmp_path / "run.txt", text), files).rows)


def test_plain_answers_are_taken_line_by_line(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy A1\ncopy C3\n", "A1\nC3\n")
    assert values(score_plain(write(tmp_path / "a.txt", "A1\n\n"), files).rows) == [True, False]


def test_fairseq_answers_are_put_in_order(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy A1\ncopy C3\n", "A1\nC3\n")
    text = "S-1\tcopy C3\nH-1\t-0.1\tC3\nH-1\t-0.9\tD4\nP-1\t-0.1\nH-0\t-0.2\tA1\n"
    assert values(score_plain(write(tmp_path / "a.txt", text), files).rows) == [True, True]


def test_faulty_gold_is_refused(tmp_path: Path) -> None:
    files = gold(tmp_path, "copy\n", "A1\n")
    with pytest.raises(SuiteError, match=r"test\.src, line 1, column 5"):
        list(score_plain(write(tmp_path / "a.txt", "A1\n"), files).rows)


def test_a_source_without_meaning_in_a_table_is_named(tmp_path: Path) -> None:
    text = "source\ttarget\tprediction\ncopy\tA1\tA1\n"
    with pytest.raises(InputError, match=r"run\.txt, line 2, source: 'copy' has no argument"):
        list(score_plain(write(tmp_path / "run.txt", text)).rows)
