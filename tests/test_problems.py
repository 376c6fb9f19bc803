"""Lists of problems: errors that are raised in a block, and what is kept of very many."""

from __future__ import annotations

import pytest

from wug.errors import InputError, SuiteError
from wug.problems import MAX_KEPT_PROBLEMS, Problem, ProblemList, capped, refuse_errors


def test_an_error_of_a_block_is_added_and_the_next_line_follows() -> None:
    problems = ProblemList()
    for place in ("line 1", "line 2"):
        with problems:
            raise InputError("is empty", place=place)
    assert problems == [Problem("error", "line 1", "is empty"), Problem("error", "line 2", "is empty")]


def test_other_errors_are_raised() -> None:
    with pytest.raises(ValueError, match="other"), ProblemList():
        raise ValueError("other")


def test_very_many_errors_are_counted_and_not_kept() -> None:
    problems = ProblemList()
    for number in range(MAX_KEPT_PROBLEMS + 5):
        problems.error(f"line {number}", "is empty")
    assert (len(problems), problems.dropped) == (MAX_KEPT_PROBLEMS, 5)
    assert capped(problems)[-1].message == "905 more like these"
    with pytest.raises(SuiteError, match="985 more"):
        refuse_errors(problems, "file.tsv")


def test_lists_are_joined_with_the_numbers_of_errors_that_they_have_not_kept() -> None:
    problems, more = ProblemList(), ProblemList()
    for number in range(MAX_KEPT_PROBLEMS + 5):
        problems.error(f"line {number}", "is empty")
        more.error(f"line {number}", "is long")
    joined = ProblemList.of(problems, more, [Problem("warning", "", "has a tab")])
    assert (len(joined), joined.dropped) == (2 * MAX_KEPT_PROBLEMS + 1, 10)
    assert capped(joined)[-1].message == "1,911 more like these"


def test_warnings_alone_are_not_refused_and_errors_are_listed_first() -> None:
    problems = ProblemList()
    problems.warn("line 1", "has a tab")
    refuse_errors(problems, "file.tsv")
    problems.error("line 2", "is empty")
    assert [problem.place for problem in capped(problems)] == ["line 2", "line 1"]


def test_warnings_that_are_not_kept_are_counted() -> None:
    problems = ProblemList()
    for number in range(2 * MAX_KEPT_PROBLEMS + 5):
        problems.warn(f"line {number}", "has a tab")
    assert len(problems) == 2 * MAX_KEPT_PROBLEMS
    assert capped(problems)[-1].message == "1,905 more like these"
