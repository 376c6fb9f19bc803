"""The grid of runs by suites: which rows and columns, in which order."""

from __future__ import annotations

import json

import pytest

from wug.runs.shelf import Run, Summary
from wug.web.grid import COLUMNS, ROWS, Wanted, grid
from wug.web.rendering import Named, named, when


def run(number: int, model: str = "m", status: str = "complete") -> Run:
    return Run(number, status, model, f"wug run --model {model}", "2026-01-01T00:00:00+00:00", None, 1)  # type: ignore[arg-type]


def kept(number: int, of: int, suite: str, value: float = 0.5, kind: str = "pairs", circuit: str = "") -> Summary:
    estimate = {
        "check": "accuracy",
        "group": "all",
        "value": value,
        "n": 10,
        "low": 0.1,
        "high": 0.9,
        "method": "wilson",
    }
    return Summary(
        number, of, "m", suite, kind, "complete", 10, json.dumps({"estimates": [estimate], "circuit": circuit})
    )


def order(found: object) -> list[int]:
    return [line.run.id for line in found.lines]  # type: ignore[attr-defined]


def test_the_latest_run_comes_first() -> None:
    assert order(grid([run(2), run(1)], [], Wanted())) == [2, 1]


def test_runs_are_sorted_by_a_suite_and_those_without_it_come_last() -> None:
    runs = [run(3), run(2), run(1)]
    results = [kept(1, 1, "s", 0.9), kept(2, 3, "s", 0.2)]
    assert order(grid(runs, results, Wanted(sort="-suite:s"))) == [1, 3, 2]
    assert order(grid(runs, results, Wanted(sort="suite:s"))) == [3, 1, 2]


def test_a_filter_keeps_runs_by_model_suite_family_and_status() -> None:
    runs = [run(2, "gpt2"), run(1, "pythia", "failed")]
    results = [kept(1, 1, "npi"), kept(2, 2, "gaps", kind="syntaxgym")]
    assert order(grid(runs, results, Wanted(text="GPT"))) == [2]
    assert order(grid(runs, results, Wanted(text="npi"))) == [1]
    assert order(grid(runs, results, Wanted(kind="syntaxgym"))) == [2]
    assert order(grid(runs, results, Wanted(suite="np"))) == [1]
    assert order(grid(runs, results, Wanted(status="failed"))) == [1]


def test_suites_of_a_circuit_stand_together() -> None:
    results = [kept(1, 1, "a", circuit="X"), kept(2, 1, "b", circuit="Y"), kept(3, 1, "c", circuit="X")]
    found = grid([run(1)], results, Wanted())
    assert [column.suite for column in found.columns] == ["a", "c", "b"]
    assert found.spans == (("X", 2), ("Y", 1))


def test_rows_and_columns_are_paged() -> None:
    runs = [run(number) for number in range(ROWS + 1, 0, -1)]
    results = [kept(number, 1, f"s{number:02}") for number in range(COLUMNS + 1)]
    first, last = grid(runs, results, Wanted()), grid(runs, results, Wanted(page=2, columns=2))
    assert (len(first.lines), len(first.columns), first.pages, first.column_pages) == (ROWS, COLUMNS, 2, 2)
    assert (order(last), [column.suite for column in last.columns]) == ([1], [f"s{COLUMNS:02}"])


def test_a_page_beyond_the_last_is_the_last() -> None:
    assert order(grid([run(1)], [], Wanted(page=99))) == [1]


def test_a_line_is_marked_by_what_it_shows() -> None:
    before, after = (grid([run(1, status=status)], [], Wanted()) for status in ("running", "complete"))
    assert before.mark == after.mark
    assert before.lines[0].mark != after.lines[0].mark


def test_an_address_keeps_what_is_not_changed() -> None:
    wanted = Wanted.of({"q": "a b", "kind": "pairs", "sort": "model"})
    assert wanted.link(page=2) == "/?q=a+b&kind=pairs&sort=model&page=2"
    assert wanted.sorted_by("model") == "/?q=a+b&kind=pairs&sort=-model"
    assert wanted.sorted_by("suite:x") == "/?q=a+b&kind=pairs&sort=-suite%3Ax"


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("causal/gpt2@607a30d", Named("causal", "gpt2", "607a30d")),
        ("oracle/pcfgset", Named("oracle", "pcfgset", "")),
        ("causal/org/name@1", Named("causal", "org/name", "1")),
        ("plain", Named("", "plain", "")),
    ],
)
def test_a_model_is_taken_apart(model: str, parts: Named) -> None:
    assert named(model) == parts


def test_a_moment_that_is_none_stays_as_it_is() -> None:
    assert when("yesterday") == "yesterday"
    assert when(None) == ""
