"""Suites from data frames, results by name, and wide tables for papers."""

from __future__ import annotations

import pandas
import polars
import pytest

import wug

PAIRS: list[dict[str, str | None]] = [
    {"good": "The keys are here.", "bad": "The keys is here.", "kind": "plural"},
    {"good": "The key is here.", "bad": "The key are here.", "kind": None},
]
COLUMNS = {"good": "good", "bad": "bad"}


@pytest.fixture(scope="module")
def results() -> wug.Results:
    def long(texts: list[str]) -> list[int]:
        return [-len(text) for text in texts]

    def short(texts: list[str]) -> list[int]:
        return [-1 for _ in texts]

    suites = [wug.read_suite(PAIRS, name, options=COLUMNS) for name in ("keys", "locks")]
    return wug.run(suites, [long, short])


def test_a_data_frame_is_the_suite_of_its_rows() -> None:
    expected = wug.read_suite(PAIRS, "keys", options=COLUMNS)
    for frame in (pandas.DataFrame(PAIRS), polars.DataFrame(PAIRS), wug.Table.of_rows(PAIRS)):
        found = wug.read_suite(frame, "keys", options=COLUMNS)
        assert (found.checksum, len(found)) == (expected.checksum, 2)
    with pytest.raises(wug.WugError):
        wug.read_suite(pandas.DataFrame())


def test_results_are_chosen_by_suite_model_and_metric(results: wug.Results) -> None:
    assert [result.suite for result in results["keys"]] == ["keys", "keys"]
    assert [result.model for result in results.select(model="short")] == ["function/short"] * 2
    chosen = results.select("locks", "function/long", "accuracy")
    assert set(chosen.estimates["metric"]) == {"accuracy"} == {one.metric for one in chosen[0].outcomes}
    for wrong in ({"suite": "key"}, {"model": "longer"}, {"metric": "accurcy"}):
        with pytest.raises(wug.WugError, match="Did you mean"):
            results.select(**wrong)


def test_a_row_with_an_error_is_named_as_a_row(results: wug.Results) -> None:
    frame = pandas.DataFrame([*PAIRS, {"good": None, "bad": "x", "kind": "plural"}])
    with pytest.raises(wug.WugError) as caught:
        wug.read_suite(frame, "keys", options=COLUMNS)
    assert "keys: 1 error" in str(caught.value)
    assert "row 3: good is missing" in str(caught.value)


def test_results_of_a_mean_effect_are_compared_by_the_effects_of_items() -> None:
    suite = wug.read_suite(PAIRS, "keys", options=COLUMNS)
    chosen = (results := wug.run(suite, ["wug-causal", "wug-lstm"])).select(metric="margin")
    (whole,) = [one for one in chosen[0].estimates if one.group == "all"]
    assert sum(chosen.outcomes["value"][:2]) / 2 == pytest.approx(whole.value)
    assert wug.compare(chosen).contrasts[0].difference == wug.compare(results, metrics="margin").contrasts[0].difference


def test_a_wide_table_has_the_best_model_of_each_suite_in_bold(results: wug.Results) -> None:
    table = results.to_latex(wide=True, labels={"long": "Long & slow"})
    assert r"model & keys & locks \\" in table
    assert r"Long \& slow & \textbf{50.0\%} & \textbf{50.0\%} \\" in table  # each good sentence is 1 longer or shorter
    assert "textbf" not in table.partition("short &")[2]
    assert r"\textbf" not in results.select(model="long").to_latex(wide=True)
    with pytest.raises(wug.WugError, match="unknown model 'lng'"):
        results.to_latex(wide=True, labels={"lng": "x"})
