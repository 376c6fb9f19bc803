"""Overgeneralisation: exceptions read by the rules, and the profile of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug.errors import InputError, SuiteError
from wug.families import pcfgset
from wug.families.pcfgset.overgeneralisation import score_exceptions
from wug.models.oracle import Oracle
from wug.outcomes import Estimate, Outcome, SuiteOutput


def folder(path: Path, source: str, exception: str, original: str, other: str | None = None) -> Path:
    files = {"exception.src": source, "exception.tgt": exception, "original.src": other or source}
    for name, text in {**files, "original.tgt": original}.items():
        (path / f"test_pcfg_ratio=0.01_{name}").write_text(text + "\n")
    return path


SOURCE, EXCEPTION, ORIGINAL = "reverse echo A1 B2\necho remove_first A1 , B2", "A1 B2 B2\nA1 B2", "B2 B2 A1\nB2 B2"


def values(rows: list[SuiteOutput], metric: str) -> list[object]:
    return [row.value for row in rows if isinstance(row, Outcome) and row.metric == metric]


def test_an_answer_by_the_rules_is_overgeneralised(tmp_path: Path) -> None:
    (suite,) = pcfgset.read(folder(tmp_path, SOURCE, EXCEPTION, ORIGINAL), {})
    rows = list(suite.run(Oracle("pcfgset")))
    assert values(rows, "overgeneralisation") == [True, True]
    assert values(rows, "memorisation") == [False, False]


def test_an_exceptional_answer_is_memorised(tmp_path: Path) -> None:
    (suite,) = pcfgset.read(folder(tmp_path, SOURCE, EXCEPTION, ORIGINAL), {})
    rows = list(suite.run(Oracle("pcfgset", reading="exception")))
    assert values(rows, "overgeneralisation") == [False, False]
    assert values(rows, "memorisation") == [True, True]


def test_items_are_grouped_by_pair_and_number_of_functions(tmp_path: Path) -> None:
    (suite,) = pcfgset.read(folder(tmp_path, SOURCE, EXCEPTION, ORIGINAL), {})
    found = [row.groups for row in suite.run(Oracle("pcfgset")) if isinstance(row, Outcome)]
    assert {(groups["pair"], groups["functions"]) for groups in found} == {
        ("reverse echo", "2"),
        ("echo remove_first", "2"),
    }


def test_of_two_pairs_in_a_line_the_target_says_which_is_remapped(tmp_path: Path) -> None:
    source = "prepend reverse echo A1 B2 , C3"
    (suite,) = pcfgset.read(folder(tmp_path, source, "A1 B2 B2 B2", "C3 B2 B2 A1"), {})
    (outcome, _) = [row for row in suite.run(Oracle("pcfgset")) if isinstance(row, Outcome)]
    assert outcome.groups["pair"] == "prepend reverse"


@pytest.mark.parametrize(
    ("exception", "other", "message"),
    [
        ("B2 B2 A1", None, "the target B2 B2 A1 is not an exceptional reading of the source (reverse echo: A1 B2 B2)"),
        ("A1 B2 B2", "reverse echo C3 D4", "does not have this source in the same line"),
    ],
)
def test_a_faulty_exception_is_named(tmp_path: Path, exception: str, other: str | None, message: str) -> None:
    folder(tmp_path, "reverse echo A1 B2", exception, "B2 B2 A1", other)
    with pytest.raises(SuiteError) as caught:
        pcfgset.read(tmp_path, {})
    assert "test_pcfg_ratio=0.01_exception.src, line 1: " in str(caught.value)
    assert message in str(caught.value)


def test_a_wrong_original_target_is_found_by_checking(tmp_path: Path) -> None:
    (problem,) = pcfgset.check(folder(tmp_path, "reverse echo A1 B2", "A1 B2 B2", "A1 B2 B2"), {})
    assert problem.place == "test_pcfg_ratio=0.01_original.tgt, line 1"


LOG = """RUN 1
Ratio 0.001 - Evaluate

Epoch 1
Adapted - Sequence Accuracy: 0.0
Original - Sequence Accuracy: 0.25

Epoch 2
Adapted - Sequence Accuracy 0.5
Original - Sequence Accuracy 0.75

Epoch 3
Adapted - Sequence Accuracy: 0.25
Original - Sequence Accuracy: 0.75
"""


def test_a_log_gives_peak_and_memorisation(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(LOG)
    found = {
        (row.metric, row.group): row.value
        for row in score_exceptions(tmp_path / "log.txt").rows
        if isinstance(row, Estimate)
    }
    assert found["overgeneralisation_peak", "all"] == 0.75
    assert found["peak_epoch", "all"] == 2
    assert found["memorisation_final", "all"] == 0.25
    assert found["memorisation_max", "all"] == 0.5
    assert [found["overgeneralisation", f"epoch={n}"] for n in (1, 2, 3)] == [0.25, 0.75, 0.75]
    assert [found["memorisation", f"epoch={n}"] for n in (1, 2, 3)] == [0.0, 0.5, 0.25]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["nothing"], "log.txt: no `Epoch n` lines"),
        (["Adapted - Sequence Accuracy: 0.5"], "log.txt, line 1: an accuracy before any `Epoch` line"),
        (["Epoch 1", "Adapted - Sequence Accuracy: high"], "log.txt, line 2: 'high' is not an accuracy"),
        (["Epoch 1", "Adapted - Sequence Accuracy: nan"], "log.txt, line 2: 'nan' is not an accuracy"),
        (["Epoch 1", "Adapted - Sequence Accuracy: 0.5"], "log.txt, epoch 1: no Original accuracy"),
        (["Epoch 1", "Epoch 1"], "log.txt, line 2: epoch 1 is repeated"),
    ],
)
def test_a_faulty_log_gives_its_place(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "log.txt").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(InputError) as caught:
        list(score_exceptions(tmp_path / "log.txt").rows)
    assert message in str(caught.value)


def test_answers_are_scored_beside_the_test_files(tmp_path: Path) -> None:
    folder(tmp_path, SOURCE, EXCEPTION, ORIGINAL)
    (tmp_path / "answers.txt").write_text("A1 B2 B2\nB2 B2\n")
    gold = tmp_path / "test_pcfg_ratio=0.01_exception.src"
    rows = list(score_exceptions(tmp_path / "answers.txt", gold).rows)
    assert values(rows, "overgeneralisation") == [False, True]
    assert values(rows, "memorisation") == [True, False]
