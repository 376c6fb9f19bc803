"""The grid of models by suites: which rows and columns, in which order, and the content of a cell."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from starlette.datastructures import QueryParams

from wug.formatting import local_time
from wug.results.records import Run, Summary
from wug.web.pages.runs import RunEntry, matching_results, matching_runs, run_entries
from wug.web.result_grid import (
    COLUMNS_PER_PAGE,
    ROWS_PER_PAGE,
    GridCell,
    GridSource,
    ResultGrid,
    Sparkline,
    build_grid,
    selected_results,
    sparkline,
)
from wug.web.site import RowPage, RunQuery


def run(number: int, model: str = "m", status: str = "complete", **more: object) -> Run:
    return Run(number, status, model, f"wug run --model {model}", "2026-01-01T00:00:00+00:00", None, 1, **more)  # type: ignore[arg-type]


def kept(
    number: int,
    of: int,
    suite: str,
    value: float = 0.5,
    kind: str = "pairs",
    phenomenon: str = "",
    status: str = "complete",
    measurable: bool = True,
) -> Summary:
    estimate = {
        "metric": "accuracy",
        "group": "all",
        "value": value,
        "n": 10,
        "low": 0.1,
        "high": 0.9,
        "method": "wilson",
    }
    text = json.dumps({"estimates": [estimate], "phenomenon": phenomenon, "measurable": measurable})
    return Summary(number, of, "m", suite, kind, status, 10, text)  # type: ignore[arg-type]


def made(
    runs: list[Run], results: list[Summary], wanted: RunQuery | None = None, sweeps: dict[int, str] | None = None
) -> ResultGrid:
    return build_grid(GridSource(runs, results, sweeps or {}), wanted or RunQuery())


def listed(
    runs: list[Run], results: list[Summary], wanted: RunQuery, sweeps: dict[int, str] | None = None
) -> RowPage[RunEntry]:
    by_run = matching_results(results, wanted)
    return run_entries(matching_runs(runs, by_run, wanted), runs, by_run, wanted, sweeps or {})


def rows(found: ResultGrid) -> list[str]:
    return [line.name for line in found.rows]


def cell(found: ResultGrid, row: int = 0, column: int = 0) -> GridCell:
    one = found.rows[row].cells[column]
    assert one is not None
    return one


def test_a_model_is_one_row_with_its_newest_result_in_each_cell() -> None:
    runs = [run(3, "a/x@1"), run(2, "a/y@1"), run(1, "a/x@1")]
    results = [kept(1, 1, "s", 0.1), kept(2, 1, "t", 0.2), kept(3, 2, "s", 0.3), kept(4, 3, "s", 0.4)]
    found = made(runs, results)
    assert rows(found) == ["x", "y"]
    assert [[one and one.text for one in line.cells] for line in found.rows] == [["40.0", "20.0"], ["30.0", None]]
    assert (cell(found).result, cell(found, 0, 1).result) == (4, 2)
    assert (found.rows[0].url, found.rows[1].url) == ("/runs?model=a%2Fx%401", "/run/2")


def test_a_later_result_that_failed_does_not_hide_the_one_before_it() -> None:
    results = [kept(1, 1, "s", 0.9), kept(2, 2, "s", 0.1, status="failed"), kept(3, 2, "t", status="failed")]
    found = made([run(2), run(1)], results)
    assert (cell(found).text, cell(found).later) == ("90.0", "failed")
    assert (cell(found, 0, 1).status, cell(found, 0, 1).later) == ("failed", "")


@pytest.mark.parametrize(
    ("value", "text", "shade"),
    [(0.0, "0.0", "h0"), (0.5, "50.0", "h0"), (0.62, "62.0", "h1"), (0.71, "71.0", "h2"), (1.0, "100", "h9")],
)
def test_a_colour_tells_71_from_100(value: float, text: str, shade: str) -> None:
    one = cell(made([run(1)], [kept(1, 1, "s", value)]))
    assert (one.text, one.shade) == (text, shade)


def test_models_are_ranked_by_their_mean_over_families_on_a_phenomenon() -> None:
    runs = [run(3, "a/partial@1"), run(2, "a/worse@1"), run(1, "a/better@1")]
    results = [
        kept(1, 1, "s", 0.9, phenomenon="Agreement"),
        kept(2, 1, "t", 0.5, phenomenon="Agreement"),
        kept(3, 1, "u", 0.8, kind="syntaxgym", phenomenon="Agreement"),
        *(kept(4 + place, 2, name, 0.6, phenomenon="Agreement") for place, name in enumerate(("s", "t"))),
        kept(6, 2, "u", 0.6, kind="syntaxgym", phenomenon="Agreement"),
        kept(7, 3, "s", 1.0, phenomenon="Agreement"),
        kept(8, 3, "v", 1.0),
    ]
    found = made(runs, results, RunQuery(phenomenon="Agreement"))
    assert rows(found) == ["better", "worse", "partial"]  # which lacks suites
    assert [column.suite for column in found.columns] == ["s", "t", "u"]
    mean = found.rows[0].mean
    assert mean is not None
    # Pairs: (0.9 + 0.5) / 2 = 0.7, below by hypot(0.8, 0.4) / 2; with 0.8 - 0.1 of the other family.
    low = 0.75 - math.hypot(math.hypot(0.8, 0.4) / 2, 0.7) / 2
    assert (mean.value, mean.low) == pytest.approx((0.75, low))
    assert mean.scope == "2 families, 3 suites"
    assert found.ranking is not None
    assert found.ranking.sentence.startswith("better has the highest mean of 2 models with all 3 suites: 75.0% [")


def test_a_model_that_alone_has_most_suites_is_not_said_to_have_the_highest_mean() -> None:
    results = [kept(number, 1, name, 0.6, phenomenon="Agreement") for number, name in enumerate("st", 1)]
    results.append(kept(3, 2, "u", 0.9, phenomenon="Agreement"))
    ranking = made([run(2, "a/few@1"), run(1, "a/most@1")], results, RunQuery(phenomenon="Agreement")).ranking
    assert ranking is not None
    assert ranking.sentence.startswith("most is the only model with 2 of 3 suites: 60.0% [")


def test_models_are_sorted_by_a_suite_and_those_without_it_come_last() -> None:
    runs = [run(3, "a/c@1"), run(2, "a/b@1"), run(1, "a/a@1")]
    results = [kept(1, 1, "s", 0.9), kept(2, 3, "s", 0.2), kept(3, 2, "t")]
    assert rows(made(runs, results)) == ["c", "b", "a"]  # the newest first
    assert rows(made(runs, results, RunQuery(sort="-suite:s"))) == ["a", "c", "b"]
    assert rows(made(runs, results, RunQuery(sort="suite:s"))) == ["c", "a", "b"]
    assert rows(made(runs, results, RunQuery(sort="model"))) == ["a", "b", "c"]


def test_a_filter_keeps_models_and_suites_and_hides_columns_that_are_empty_then() -> None:
    runs = [run(2, "causal/gpt2@1"), run(1, "causal/pythia@1", name="my try")]
    results = [kept(1, 1, "npi", phenomenon="Licensing"), kept(2, 2, "gaps", kind="syntaxgym")]
    for wanted, name, suite in (
        (RunQuery(text="GPT"), "gpt2", "gaps"),
        (RunQuery(text="my TRY"), "pythia", "npi"),
        (RunQuery(kind="syntaxgym"), "gpt2", "gaps"),
        (RunQuery(suite="np"), "pythia", "npi"),
        (RunQuery(phenomenon="Licensing"), "pythia", "npi"),
    ):
        found = made(runs, results, wanted)
        assert (rows(found), [column.suite for column in found.columns]) == ([name], [suite])


def test_suites_of_a_family_and_of_a_phenomenon_stand_together() -> None:
    results = [
        kept(1, 1, "a", phenomenon="X"),
        kept(2, 1, "b", kind="cogs"),
        kept(3, 1, "c"),
        kept(4, 1, "d", phenomenon="X"),
    ]
    found = made([run(1)], results)
    assert [column.suite for column in found.columns] == ["a", "d", "c", "b"]
    assert found.family_spans == (("pairs", 3), ("cogs", 1))
    assert found.phenomenon_spans == (("X", 2), ("", 1), ("", 1))  # what has no phenomenon is not under another one


def test_rows_and_columns_are_paged() -> None:
    runs = [run(number, f"a/m{number:03}@1") for number in range(ROWS_PER_PAGE + 1, 0, -1)]
    results = [kept(number, 1, f"s{number:02}") for number in range(COLUMNS_PER_PAGE + 1)]
    results += [kept(1000 + number, number, "s00") for number in range(2, ROWS_PER_PAGE + 2)]
    first, last = made(runs, results), made(runs, results, RunQuery(page=2, columns=2))
    assert (len(first.rows), len(first.columns), first.pages, first.column_pages) == (
        ROWS_PER_PAGE,
        COLUMNS_PER_PAGE,
        2,
        2,
    )
    assert (rows(last), [column.suite for column in last.columns]) == (["m001"], [f"s{COLUMNS_PER_PAGE:02}"])


def test_a_page_beyond_the_last_is_the_last() -> None:
    assert rows(made([run(1)], [kept(1, 1, "s")], RunQuery(page=99))) == ["m"]


def test_a_sweep_is_one_row_with_its_values_in_the_order_of_steps() -> None:
    runs = [
        run(number, f"causal/p@{number}", revision=f"step{step}", sweep=7)
        for number, step in ((3, 10), (2, 200), (1, 0))
    ]
    results = [kept(1, 1, "s", 0.0), kept(2, 2, "s", 1.0), kept(3, 3, "s", 0.5)]
    found = made([run(4, "causal/other@1"), *runs], [*results, kept(4, 4, "s", 0.7)], sweeps={7: "p@step*"})
    assert rows(found) == ["other", "p@step*"]
    swept = found.rows[1]
    assert (swept.kind, swept.url) == ("sweep of 3 checkpoints", "/sweeps/7")
    one = cell(found, 1)
    assert one.text == "100"  # of the last step, although its run is not the last
    assert one.sparkline == Sparkline("0,13.0 24,7.0 48,1.0", 3)


def test_a_sweep_over_two_trainings_has_their_mean_at_each_step() -> None:
    models = [(seed, step) for step in (0, 10) for seed in (1, 2)]
    runs = [
        run(n, f"causal/p-seed{seed}@{n}", revision=f"step{step}", sweep=7) for n, (seed, step) in enumerate(models, 1)
    ]
    results = [kept(n, n, "s", value) for n, value in enumerate((0.0, 1.0, 0.5, 1.0), 1)]
    one = cell(made(runs, results, sweeps={7: "p*"}), 0)
    assert one.sparkline == Sparkline("0,7.0 48,4.0", 2)


def test_a_long_sparkline_goes_through_a_few_values_from_the_first_to_the_last() -> None:
    line = sparkline([place / 149 for place in range(150)])
    assert line is not None
    points = line.points.split()
    assert (len(points), points[0], points[-1], line.count) == (24, "0,13.0", "48,1.0", 150)


def test_a_line_is_marked_by_what_it_shows() -> None:
    before = made([run(1)], [kept(1, 1, "s")])
    after = made([run(2), run(1)], [kept(1, 1, "s"), kept(2, 2, "s")])
    assert before.fingerprint == after.fingerprint
    assert before.rows[0].fingerprint != after.rows[0].fingerprint


def test_the_table_has_the_results_that_the_cells_show() -> None:
    source = GridSource([run(2), run(1)], [kept(1, 1, "s"), kept(2, 1, "t"), kept(3, 2, "s")], {})
    assert [(run.id, one.id) for run, one in selected_results(source, RunQuery())] == [(2, 3), (1, 2)]


def test_an_address_keeps_what_is_not_changed() -> None:
    wanted = RunQuery.parse(QueryParams("q=a b&kind=pairs&sort=model&page=3"))
    assert wanted.url(page=2) == "/?q=a+b&kind=pairs&sort=model&page=2"
    assert wanted.sort_url("model") == "/?q=a+b&kind=pairs&sort=-model"
    assert wanted.sort_url("suite:x") == "/?q=a+b&kind=pairs&sort=-suite%3Ax"
    assert RunQuery().url(suite="s t") == "/?suite=s+t"


def test_the_list_has_the_latest_run_first_and_can_be_filtered_by_every_field() -> None:
    runs = [run(3, note="with care"), run(2, "gpt2", name="final"), run(1, "pythia", "failed", message="no server")]
    results = [kept(1, 1, "npi")]

    def numbers(wanted: RunQuery) -> list[int]:
        return [one.id for one in matching_runs(runs, matching_results(results, wanted), wanted)]

    assert numbers(RunQuery()) == [3, 2, 1]
    assert numbers(RunQuery(sort="run")) == [1, 2, 3]
    assert numbers(RunQuery(sort="name")) == [2, 1, 3]
    for text, number in (("CARE", 3), ("fin", 2), ("no server", 1), ("npi", 1), ("GPT", 2)):
        assert numbers(RunQuery(text=text)) == [number]
    assert numbers(RunQuery(status="failed")) == [1]
    assert numbers(RunQuery(model="gpt2")) == [2]
    assert [one.message for one in listed(runs, results, RunQuery()).rows] == ["", "", "no server"]


def test_the_step_in_the_name_of_a_model_counts_if_its_revision_has_none() -> None:
    steps = (300, 20)
    runs = [run(n, f"causal/p/checkpoint-{step}@{n}", revision="main", sweep=7) for n, step in enumerate(steps, 1)]
    results = [kept(n, n, "s", n / 10) for n in (1, 2)]
    (swept,) = made(runs, results, sweeps={7: "p/*"}).rows
    assert swept.kind == "sweep of 2 checkpoints"


def test_a_row_of_the_list_has_suites_headline_and_duration_and_a_sweep_is_one_row() -> None:
    long = replace(run(1, "a/x@1"), finished="2026-01-01T00:02:05+00:00")
    runs = [run(5, "a/tied@1"), run(4, "a/s2@1", sweep=7), run(3, "a/s1@1", sweep=7), run(2, "a/y@1"), long]
    results = [
        *(kept(place, 1, name, 0.6 + place / 10) for place, name in enumerate("abcd")),
        kept(5, 2, "a", 0.4),
        kept(6, 3, "a", 0.3),
        kept(7, 4, "a", 0.5),
        kept(8, 5, "a", 0.0, measurable=False),
    ]
    page = listed(runs, results, RunQuery(), {7: "seeds"})
    assert [(one.model, one.suites, one.headline) for one in page.rows] == [
        ("tied", "a", "not measurable"),
        ("seeds (2 models)", "a", "30.0–50.0%"),
        ("y", "a", "40.0%"),
        ("x", "a, b, c and 1 more", "60.0–90.0%"),
    ]
    assert page.rows[-1].took == "2 min"
    assert page.rows[1].sweep == (4, 3)
    unfolded = listed(runs, results, RunQuery(model="sweep:7"), {7: "seeds"})
    assert [one.model for one in unfolded.rows] == ["s2", "s1"]


def test_a_moment_that_is_none_stays_as_it_is() -> None:
    assert local_time("yesterday") == "yesterday"
    assert local_time(None) == ""
