"""What `wug reading` says about rows, folds, clusters and values that deserve a look."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wug
from command_line import wug as command
from reading_tables import stories, write
from wug.families.reading.view import LEAST_SQUARES, p_text
from wug.views import comparison

GIVEN: dict[str, Any] = {"baseline": "length + log_frequency", "predictors": "surp"}
KEYS: dict[str, Any] = {"text": "story", "position": "position"}


def analysed(rows: list[dict[str, Any]], **options: Any) -> wug.Reading:
    return wug.reading(wug.Table.of_rows(rows), **{"measure": "rt", **GIVEN, "spillover": 0, **options})


def warned(rows: list[dict[str, Any]], **options: Any) -> str:
    return "\n".join(analysed(rows, **options).results[0].warnings)


def value(found: wug.Reading, metric: str = "delta_ll") -> float:
    return next(float(row["value"]) for row in found.estimates if row["metric"] == metric)


def test_folds_that_are_not_by_text_are_said_with_the_fix() -> None:
    few = stories(count=3)
    text = "'story' has 3 values, fewer than 10 folds: folds are blocks of rows, not texts. Use --folds 3"
    assert text in warned(few, **KEYS)
    assert "blocks of rows" not in warned(few, **KEYS, folds=3)
    assert "blocks of rows" not in warned(few, **KEYS, split="contiguous")
    one = warned(stories(count=1, length=200), **KEYS)
    assert "'story' has 1 value, fewer than 10 folds" in one
    assert "--folds 1" not in one


def test_grouped_folds_without_clusters_are_said() -> None:
    rows = stories()
    assert "folds are by 'story' (12 values), but" in (said := warned(rows, split="by:story"))
    assert "--cluster story" in said
    for options in ({"text": "story"}, {"cluster": "story"}, {"cluster": "none"}):
        assert "--cluster story" not in warned(rows, split="by:story", **options)


def test_few_clusters_of_several_readers_are_rows_that_share_words() -> None:
    rows = [{**row, "reader": reader} for row in stories(count=2) for reader in "abc"]
    said = warned(rows, **KEYS, subject="reader", folds=2)
    assert "treat rows as independent, though each word has 3, and are too optimistic" in said


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        ([-250.0], ("1 of 720 values are negative", "--where 'rt > 0'")),
        ([0.0, 0.0], ("2 of 720 values are 0", "--exclude zero")),
        ([99999.0], ("1 of 720 values are more than 20 times the median",)),
    ],
)
def test_values_that_cannot_be_times_are_counted(times: list[float], parts: tuple[str, ...]) -> None:
    rows = stories()
    for row, time in zip(rows, times, strict=False):
        row["rt"] = time
    said = warned(rows, **KEYS)
    assert all(part in said for part in parts), said


def test_amplitudes_may_be_negative_and_plain_times_have_no_warning() -> None:
    rng = np.random.default_rng(0)
    rows = [{**row, "N400": float(rng.normal(-1, 3))} for row in stories()]
    for measure in ("N400", "rt"):
        assert "values are" not in warned(rows, **KEYS, measure=measure)


def test_a_key_is_not_a_measure_without_a_warning() -> None:
    assert "measure 'position' is the position column" in warned(stories(), **KEYS, measure="position")


def test_excluded_zeros_are_counted_moved_with_the_measure_and_have_no_logarithm() -> None:
    rows = stories()
    for place in (65, 130, 131):
        rows[place]["rt"] = 0.0
    (result,) = analysed(rows, **KEYS, exclude="zero").results
    assert "rt: 717 rows used; removed 3 by exclude zero" in result.warnings
    assert result.signature.get("dropped") == "3 by exclude zero"
    by_condition = analysed(rows, **KEYS, transform="log", where=["rt > 0"])
    excluded = analysed(rows, **KEYS, transform="log", exclude="zero")
    assert value(excluded) == value(by_condition)
    moved = analysed(rows, **KEYS, exclude="zero", shift=1)
    assert 0.0 not in moved.words["y"]
    assert moved.results[0].n == 720 - 12 - 3


def test_words_alone_have_the_number_of_their_rows(tmp_path: Path) -> None:
    """The words t+2 to t-3 are there for 55 of the 60 words of a story, t-1 for 59."""
    found = analysed(stories(), **KEYS, spillover=1, lags=True)
    assert set(found.lags["n"]) == {12 * 55}
    assert {e.n for e in found.results[0].estimates if e.metric.startswith("lag_")} == {12 * 55}
    assert "fitted on the 660 rows that have all words from t+2 to t-3, not on the 708" in found.results[0].warnings[0]
    table = write(tmp_path / "t.csv", stories())
    options = ("--measure", "rt", "--predictors", "surp", "--text", "story", "--position", "position", "--lags")
    said = command("reading", table, *options, "--no-save").out
    assert "660" in said
    assert LEAST_SQUARES in said


def test_a_frequency_that_no_term_uses_is_said() -> None:
    pytest.importorskip("wordfreq")
    rows = stories()
    assert "--frequency makes log_frequency, which no term uses" in warned(
        rows, baseline="length", frequency="wordfreq:en", word="word"
    )
    for options in ({"baseline": "length + log_frequency"}, {"baseline": "1", "predictors": "surp + log_frequency"}):
        assert "which no term uses" not in warned(rows, **options, frequency="wordfreq:en", word="word")


def test_slopes_of_several_terms_are_labelled() -> None:
    rng = np.random.default_rng(0)
    rows = [{**row, "other": float(rng.normal())} for row in stories()]
    found = analysed(rows, **KEYS, predictors="surp + other", spillover=1)
    head, cells = found.summary({found.results[0].model: "both"})
    slopes = [value(found, f"slope:{term}") for term in ("surp", "surp@1", "other", "other@1")]
    numbers = [f"{slope:.4g}".replace("-", "−") for slope in slopes]
    expected = "surp {}, {}; other {}, {}".format(*numbers)
    assert dict(zip(head, cells, strict=True))["slope at t, t-1, …"] == expected
    (single,) = list(analysed(rows, **KEYS, spillover=1).summary({"surp": "surp"}))[1:]
    assert "surp" not in single[-1]


def test_python_shows_the_result_and_its_warnings(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        found = analysed(stories(count=3), **KEYS)
    assert any("folds are blocks of rows" in text for text in caplog.messages)
    assert repr(found).startswith("<Reading of table · rt by surp: ΔLL 0.")
    assert "[" in repr(found)
    assert "p ≤ .001, n 180>" in repr(found)


def test_python_compares_the_predictor_sets_of_one_reading() -> None:
    rng = np.random.default_rng(0)
    rows = [{**row, "other": row["surp"] + float(rng.normal(0, 6))} for row in stories()]
    found = analysed(rows, **KEYS, predictors={"full": "surp", "noisy": "other"})
    (contrast,) = wug.compare(found).contrasts
    assert contrast.metric == "delta_ll:rt"
    first, second = (result.estimates[0].value for result in found.results)
    assert contrast.difference == pytest.approx(second - first, abs=1e-12)


def test_figures_of_delta_ll_and_slopes_have_a_line_at_zero() -> None:
    found = analysed(stories(), **KEYS, spillover=1, lags=True)
    for kind in ("delta_ll", "slopes", "lags"):
        layers = json.loads(found.plot(kind).to_json())["layer"]
        assert any(one["mark"].get("type") == "rule" and one["encoding"]["x"]["field"] == "zero" for one in layers)


@pytest.mark.parametrize(
    ("p", "least", "text"),
    [
        (0.001, 0.001, "≤ .001"),
        (0.002, 0.001, ".002"),
        (1e-30, 0.001, "< .001"),
        (0.0498, 0.001, ".0498"),
        (1, 0, "1.000"),
    ],
)
def test_a_p_value_says_what_the_permutations_can_show(p: float, least: float, text: str) -> None:
    assert p_text(p, least) == text


def test_a_p_value_of_a_comparison_is_exact_next_to_five_percent() -> None:
    assert (comparison.p_text(0.0498), comparison.p_text(0.051)) == ("0.0498", "0.051")


def test_files_for_r_are_named_after_the_measure_and_number_rows_as_words_does(tmp_path: Path) -> None:
    found = analysed(stories())
    names = [path.name for path in found.to_r(tmp_path)]
    assert names == ["rt_1.csv", "rt_1.R"]
    assert (tmp_path / "rt_1.csv").read_text(encoding="utf-8").splitlines()[1].startswith("row 1,")
    assert found.words["row"][0] == 1
