"""Substitutivity: a function and its twin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fake_models import FakeGenerator
from wug.errors import InputError, SuiteError
from wug.families import pcfgset
from wug.families.pcfgset.substitutivity import score_synonyms
from wug.outcomes import Outcome, SuiteOutput
from wug.stats import estimates, wilson

TARGET = "A1 B2 A1 B2"


def replies(**answers: str) -> FakeGenerator:
    """Answers by the first word of the source."""
    return FakeGenerator(lambda source: answers[source.split()[0]])


def folder(path: Path, source: str, twin: str, target: str = TARGET, twin_target: str | None = None) -> Path:
    files = {"test.src": source, "test_twin.src": twin, "test.tgt": target, "test_twin.tgt": twin_target or target}
    for name, text in files.items():
        (path / name).write_text(text + "\n")
    return path


def values(rows: Sequence[SuiteOutput]) -> dict[str, object]:
    return {row.metric: row.value for row in rows if isinstance(row, Outcome)}


@pytest.mark.parametrize(
    ("answer", "twin", "true"),
    [
        (TARGET, TARGET, {"consistency", "consistency_nonempty", "consistent_correct"}),
        ("C3", "C3", {"consistency", "consistency_nonempty", "consistent_incorrect"}),
        ("", "", {"consistency", "consistent_incorrect"}),
        (TARGET, "C3", set()),
        ("C3", "D4", set()),
    ],
)
def test_two_answers_are_consistent_when_they_are_equal(tmp_path: Path, answer: str, twin: str, true: set[str]) -> None:
    (suite,) = pcfgset.read(folder(tmp_path, "repeat A1 B2", "repeat_twin A1 B2"), {})
    found = values(list(suite.run(replies(repeat=answer, repeat_twin=twin))))
    metrics = ["consistency", "consistency_nonempty", "consistent_correct", "consistent_incorrect"]
    assert {metric for metric in metrics if found[metric]} == true
    assert found["accuracy_original"] == (answer == TARGET)
    assert found["accuracy_twin"] == (twin == TARGET)
    right = answer == twin == TARGET
    assert found["consistency_among_incorrect"] == (None if right else answer == twin)
    assert found["consistency_among_incorrect_nonempty"] == (None if right else answer == twin != "")
    assert found["consistent_incorrect_nonempty"] == (answer == twin not in (TARGET, ""))


def test_the_group_is_the_function_that_was_replaced(tmp_path: Path) -> None:
    source = "append repeat A1 , repeat B2"
    (suite,) = pcfgset.read(folder(tmp_path, source, "append repeat_twin A1 , repeat_twin B2", "A1 A1 B2 B2"), {})
    rows = [row for row in suite.run(replies(append="A1")) if isinstance(row, Outcome)]
    assert {row.groups["function"] for row in rows} == {"repeat"}


def test_sources_and_twins_are_asked_together(tmp_path: Path) -> None:
    (suite,) = pcfgset.read(folder(tmp_path, "repeat A1 B2", "repeat_twin A1 B2"), {})
    model = replies(repeat="A1", repeat_twin="A1")
    list(suite.run(model))
    assert list(map(len, model.batches)) == [2]
    assert suite.requests() == ["repeat A1 B2", "repeat_twin A1 B2"]


@pytest.mark.parametrize(
    ("source", "twin", "twin_target", "place", "message"),
    [
        ("repeat A1 B2", "repeat_twin B2 A1", None, "test_twin.src, line 1", "not its source with a synonym"),
        ("repeat A1 B2", "repeat A1 B2", None, "test_twin.src, line 1", "0 functions are replaced by synonyms"),
        (
            "repeat append A1 , B2",
            "repeat_twin append_twin A1 , B2",
            None,
            "test_twin.src, line 1",
            "2 functions are replaced by synonyms",
        ),
        ("repeat A1 B2", "repeat_twin A1 B2", "A1", "test_twin.src, line 1", "that of the source is A1 B2 A1 B2"),
        ("repeat A1 B2", "repeat_twin A1 B2\nrepeat_twin A1", "A1\nA1", "test_twin.src, line 2", "no such line"),
    ],
)
def test_lines_that_are_no_twins_are_named(
    tmp_path: Path, source: str, twin: str, twin_target: str | None, place: str, message: str
) -> None:
    target = TARGET if twin_target != "A1\nA1" else "A1"
    path = folder(tmp_path, source, twin, target, twin_target)
    with pytest.raises(SuiteError) as caught:
        pcfgset.read(path, {})
    assert f"{place}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_twin_in_some_places_only_is_odd(tmp_path: Path) -> None:
    path = folder(tmp_path, "append repeat A1 , repeat B2", "append repeat A1 , repeat_twin B2", "A1 A1 B2 B2")
    (problem,) = pcfgset.check(path, {})
    assert (problem.level, problem.place) == ("warning", "test_twin.src, line 1")


def table(path: Path, source: str, *predictions: str) -> Path:
    rows = [f"{source}\t{TARGET}\t{prediction}\n" for prediction in predictions]
    path.write_text("source\ttarget\tprediction\n" + "".join(rows))
    return path


def test_two_tables_are_scored_row_by_row(tmp_path: Path) -> None:
    one = table(tmp_path / "run=1.txt", "repeat A1 B2", TARGET, "", "C3")
    two = table(tmp_path / "run=1_synonym.txt", "repeat_twin A1 B2", TARGET, "", "D4")
    rows = [row for row in score_synonyms(one, two).rows if isinstance(row, Outcome)]
    assert [row.value for row in rows if row.metric == "consistency"] == [True, True, False]
    assert [row.value for row in rows if row.metric == "consistency_nonempty"] == [True, False, False]


def test_tables_of_different_length_or_order_are_refused(tmp_path: Path) -> None:
    one = table(tmp_path / "one.txt", "repeat A1 B2", TARGET, TARGET)
    with pytest.raises(InputError, match=r"two\.txt, line 3: 1 rows, but one\.txt has 2"):
        list(score_synonyms(one, table(tmp_path / "two.txt", "repeat_twin A1 B2", TARGET)).rows)
    other = table(tmp_path / "two.txt", "repeat_twin C3", TARGET, TARGET)
    with pytest.raises(InputError, match=r"two\.txt, line 2: this is not its source with a synonym"):
        list(score_synonyms(one, other).rows)


def test_plain_answers_are_scored_beside_the_test_files(tmp_path: Path) -> None:
    gold = folder(tmp_path, "repeat A1 B2", "repeat_twin A1 B2") / "test.src"
    (tmp_path / "one.txt").write_text(TARGET + "\n")
    (tmp_path / "two.txt").write_text("C3\n")
    found = values(list(score_synonyms(tmp_path / "one.txt", tmp_path / "two.txt", gold).rows))
    assert (found["consistency"], found["accuracy_original"], found["accuracy_twin"]) == (False, True, False)


def test_rows_that_repeat_a_source_are_not_counted_as_independent() -> None:
    """The built-in set has 837, 421, 99 and 6 sources of 1 to 4 rows: 2000² / 3508 effective rows of 2,000."""
    (suite,) = pcfgset.read(Path(pcfgset.__file__).parents[2] / "assets/suites/pcfgset/substitutivity", {})
    rows = suite.run(FakeGenerator(lambda source: "A1"))
    found = {(e.metric, e.group): e for e in estimates(row for row in rows if isinstance(row, Outcome))}
    whole, one = found["consistency", "all"], found["consistency", "function=repeat"]
    assert (whole.value, whole.n, whole.method) == (1.0, 2000, "wilson, by source")
    assert whole.low == pytest.approx(wilson(4_000_000 / 3508, 4_000_000 / 3508).low)
    assert one.method == "wilson"
