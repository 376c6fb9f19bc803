"""Localism: asked as a whole and asked step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fake_models import FakeGenerator
from wug.errors import InputError, SuiteError
from wug.families import pcfgset
from wug.families.pcfgset.language import answer
from wug.families.pcfgset.localism import score_trace
from wug.families.pcfgset.suite import PcfgSuite
from wug.models.oracle import Oracle
from wug.outcomes import Notice, Outcome, SuiteOutput
from wug.requests import text_of

FILE = """unrolled\tcopy M5 B15 \t*1
unrolled\trepeat *1\tM5 B15 M5 B15
original\trepeat copy M5 B15\tM5 B15 M5 B15
unrolled\techo A1 B2 \t*1
unrolled\treverse C3 D4 \t*2
unrolled\tappend *1 , *2\tA1 B2 B2 D4 C3
original\tappend echo A1 B2 , reverse C3 D4\tA1 B2 B2 D4 C3
"""


def replies(table: Mapping[str, str] | None = None) -> FakeGenerator:
    """Answers from a table, and by the rules if a source is not in it."""
    return FakeGenerator(lambda source: (table or {}).get(source, answer(source)), "replies")


def suite(folder: Path, text: str = FILE) -> PcfgSuite[Any]:
    path = folder / "unrolled_test.tsv"
    path.write_text(text)
    (found,) = pcfgset.read(path, {})
    assert isinstance(found, PcfgSuite)
    return found


def outcomes(rows: Iterable[SuiteOutput], metric: str = "consistency") -> list[Outcome]:
    return [row for row in rows if isinstance(row, Outcome) and row.metric == metric]


def test_questions_go_level_by_level_with_whole_sources_in_the_first(tmp_path: Path) -> None:
    model = replies()
    list(suite(tmp_path).run(model))
    assert model.batches == [
        [
            "repeat copy M5 B15",
            "append echo A1 B2 , reverse C3 D4",
            "copy M5 B15",
            "echo A1 B2",
            "reverse C3 D4",
        ],
        ["repeat M5 B15", "append A1 B2 B2 , D4 C3"],
    ]


def test_what_can_be_asked_up_front_is_the_first_level(tmp_path: Path) -> None:
    found = suite(tmp_path)
    model = replies()
    list(found.run(model))
    assert list(map(text_of, found.requests())) == model.batches[0]


def test_an_answer_becomes_part_of_the_next_question(tmp_path: Path) -> None:
    model = replies({"copy M5 B15": "M5 A3"})
    rows = list(suite(tmp_path).run(model))
    assert "repeat M5 A3" in model.batches[1]
    # The worked example of the data's own description: inconsistent, unrolled wrong, original right.
    assert outcomes(rows)[0].value is False
    assert outcomes(rows, "unrolled_accuracy")[0].value is False
    assert outcomes(rows, "original_accuracy")[0].value is True


def test_two_wrong_answers_that_are_equal_are_consistent(tmp_path: Path) -> None:
    rows = list(suite(tmp_path).run(replies({"repeat copy M5 B15": "X1", "repeat M5 B15": "X1"})))
    assert outcomes(rows)[0].value is True
    assert outcomes(rows, "unrolled_accuracy")[0].value is False


def test_an_empty_answer_leaves_its_place_empty(tmp_path: Path) -> None:
    model = replies({"copy M5 B15": "", "reverse C3 D4": ""})
    rows = list(suite(tmp_path).run(model))
    assert model.batches[1] == ["repeat", "append A1 B2 B2 ,"]
    assert [row.text for row in rows if isinstance(row, Notice)] == ["3 of 7 answers are empty"]


def test_results_are_grouped_by_steps_depth_and_the_longest_string_on_the_way(tmp_path: Path) -> None:
    one, two = outcomes(suite(tmp_path).run(Oracle("pcfgset")))
    assert one.groups == {
        "function": "repeat",
        "depth": "2",
        "length": "4",
        "functions": "2",
        "steps": "2",
        "longest": "2",
        "intermediate": "up to 5",
        "strings": "up to 5",
    }
    assert (two.groups["steps"], two.groups["depth"], two.groups["longest"]) == ("3", "2", "3")


def test_the_last_step_does_not_count_as_on_the_way(tmp_path: Path) -> None:
    text = (
        "unrolled\trepeat A1 B2 C3 \t*1\nunrolled\tcopy *1\tA1 B2 C3 A1 B2 C3\n"
        "original\tcopy repeat A1 B2 C3\tA1 B2 C3 A1 B2 C3\n"
    )
    (row,) = outcomes(suite(tmp_path, text).run(Oracle("pcfgset")))
    assert row.groups["intermediate"] == "over 5"
    text = "unrolled\tcopy A1 B2 C3 \t*1\nunrolled\trepeat *1\tA1 B2 C3 A1 B2 C3\n"
    text += "original\trepeat copy A1 B2 C3\tA1 B2 C3 A1 B2 C3\n"
    (row,) = outcomes(suite(tmp_path, text).run(Oracle("pcfgset")))
    assert row.groups["intermediate"] == "up to 5"


def test_the_script_groups_by_what_was_answered_on_the_way_and_not_by_what_is_right(tmp_path: Path) -> None:
    """`copy M5 B15` is answered with six symbols, which is wrong; `repeat` with six at last, which does not count."""
    six = "M5 B15 M5 B15 M5 B15"
    one, _ = outcomes(suite(tmp_path).run(replies({"copy M5 B15": six})))
    assert (one.groups["intermediate"], one.groups["strings"]) == ("up to 5", "over 5")
    one, _ = outcomes(suite(tmp_path).run(replies({"repeat M5 B15": six})))
    assert (one.groups["intermediate"], one.groups["strings"]) == ("up to 5", "up to 5")


def test_the_tree_of_answers_says_where_it_first_went_wrong(tmp_path: Path) -> None:
    model = replies({"echo A1 B2": "A1", "append A1 , D4 C3": "A1 C3"})
    detail = outcomes(suite(tmp_path).run(model))[1].detail
    assert detail["answer"] == "A1 B2 B2 D4 C3"
    assert detail["steps"] == [
        {"source": "echo A1 B2", "inputs": ["A1 B2"], "answer": "A1", "right": "A1 B2 B2", "diverges": True},
        {"source": "reverse C3 D4", "inputs": ["C3 D4"], "answer": "D4 C3", "right": "D4 C3", "diverges": False},
        {
            "source": "append A1 , D4 C3",
            "inputs": [0, 1],
            "answer": "A1 C3",
            "right": "A1 D4 C3",
            "diverges": False,
        },
    ]


WHOLE = "unrolled\trepeat *1\tA1 A1\noriginal\trepeat copy A1\tA1 A1\n"
FAULTS = [
    ("unrolled\tcopy A1 B2\t*1\nunrolled\trepeat *1 A1 B2\n", 2, "expected original<TAB>source<TAB>target"),
    (f"unrolled\tcopy *1 \t*1\n{WHOLE}", 1, "earlier steps that are not used yet: copy *1"),
    (f"unrolled\tcopy A1 \t*1\n{WHOLE.replace('*1', '*3')}", 2, "earlier steps that are not used yet: repeat *3"),
    ("original\trepeat copy A1\tA1 A1\n", 1, "the steps do not make up this source\n    steps there are none"),
    ("unrolled\tcopy A1 \t*1\nunrolled\trepeat *1\tA1 A1\n", 2, "expected original<TAB>source<TAB>target"),
    ("unrolled\tcopy A1 \t*1\noriginal\tcopy A1\tA1\n", 2, "the target is A1, but that of the last step is *1"),
    (f"unrolled\tcopy A1 \tA1\n{WHOLE}", 1, "the target of step 1 of 2 is A1, not *1"),
    (f"unroled\tcopy A1 \t*1\n{WHOLE}", 1, "expected unrolled<TAB>source<TAB>target, found 'unroled"),
    (f"unrolled\tcopy A1 \t*2\n{WHOLE}", 1, "the target of step 1 of 2 is *2, not *1"),
    (f"unrolled\tcopy A1 \t*1 B2\n{WHOLE}", 1, "the target of step 1 of 2 is *1 B2, not *1"),
    (f"unrolled\tcopi A1 \t*1\n{WHOLE}", 1, "a step is a function with its arguments"),
    (f"unrolled\tcopy repeat A1 \t*1\n{WHOLE}", 1, "a step is a function with its arguments"),
    (f"unrolled\tappend A1 \t*1\n{WHOLE}", 1, "a step is a function with its arguments"),
    (f"unrolled\tcopy A1 \t*1\n{WHOLE.replace('*1', '*1 B2')}", 2, "a step is a function with its arguments"),
    (f"unrolled\tcopy A1 \t*1\n{WHOLE.replace('repeat *1', 'append *1 , *1')}", 2, "append *1 , *1"),
    (
        "unrolled\tcopy A1 \t*1\nunrolled\tcopy B2 \tB2\noriginal\tcopy B2\tB2\n",
        3,
        "the steps do not make up this source",
    ),
    ("unrolled\tcopy A1 \tA1\noriginal\tcopy B2\tA1\n", 2, "the steps do not make up this source"),
    ("unrolled\tcopy A1 \tA1\noriginal\tcopy A1\tB2\n", 2, "that of the last step is A1"),
    ("unrolled\tcopy A1 \tA1\noriginal\tcopy\tA1\n", 2, "'copy' has no argument"),
]


@pytest.mark.parametrize(("text", "line", "message"), FAULTS)
def test_a_faulty_file_gives_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "unrolled_test.tsv"
    path.write_text(text)
    problem = pcfgset.check(path, {})[0]
    assert problem.place == f"unrolled_test.tsv, line {line}"
    assert message in problem.message
    with pytest.raises(SuiteError) as caught:
        pcfgset.read(path, {})
    assert str(path) in str(caught.value)
    assert f"unrolled_test.tsv, line {line}: " in str(caught.value)


def test_one_fault_is_reported_once_and_later_samples_are_still_checked(tmp_path: Path) -> None:
    path = tmp_path / "unrolled_test.tsv"
    path.write_text(
        "unrolled copy A1 *1\nunrolled\trepeat *1\tA1 A1\noriginal\trepeat copy A1\tA1 A1\n"
        + FILE
        + "orignal\tcopy A1\tA1\n"
    )
    assert [problem.place.rpartition(" ")[2] for problem in pcfgset.check(path, {})] == ["1", "11"]


def test_crlf_and_a_wrong_target_are_found_by_checking(tmp_path: Path) -> None:
    path = tmp_path / "unrolled_test.tsv"
    path.write_bytes(b"unrolled\tcopy A1 \tB2\r\noriginal\tcopy A1\tB2\r\n")
    places = [(problem.level, problem.place) for problem in pcfgset.check(path, {})]
    assert places == [("warning", "unrolled_test.tsv, line 1"), ("error", "unrolled_test.tsv, sample 1")]


TRACE = """-----------------------------
copy M5 B15 -> M5 B15
repeat M5 B15 -> 
repeat copy M5 B15 -> []
True
-----------------------------
shift B5 T13 -> T13
copy T13 -> T13
copy shift B5 T13 -> T13 B5
False
"""  # noqa: W291


def test_a_trace_is_scored_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text(TRACE)
    rows = list(score_trace(tmp_path / "trace.txt").rows)
    assert [row.value for row in outcomes(rows)] == [True, False]
    assert [row.value for row in outcomes(rows, "unrolled_accuracy")] == [False, False]
    assert [row.value for row in outcomes(rows, "original_accuracy")] == [False, True]
    assert [row.text for row in rows if isinstance(row, Notice)] == ["2 of 6 answers are empty"]


def test_a_trace_that_contradicts_itself_gives_notices(tmp_path: Path) -> None:
    text = TRACE.replace("True", "False").replace("copy T13 ->", "copy T14 ->")
    (tmp_path / "trace.txt").write_text(text)
    notices = [row.text for row in score_trace(tmp_path / "trace.txt").rows if isinstance(row, Notice)]
    assert "in 1 samples a step does not have the answers of the steps before it" in notices
    assert "in 1 samples the trace itself is wrong about consistency" in notices


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("copy A1 -> A1\n", "line 1: a localism trace begins with a line of dashes"),
        ("-----\ncopy A1 = A1\n", "line 2: expected `source -> answer`"),
        ("-----\ncopy A1 -> A1\nTrue\n", "line 2: a sample needs at least one step and the whole source"),
        ("-----\ncopy A1 -> A1\nrepeat copy A1 -> A1\n", "line 3: 1 steps for a source with 2 functions"),
        ("-----\ncopy A1 -> A1\nrepeat copi A1 -> A1\n", "line 3: unknown word 'copi'"),
    ],
)
def test_a_faulty_trace_gives_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "trace.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        list(score_trace(tmp_path / "trace.txt").rows)
    assert f"trace.txt, {message}" in str(caught.value)
