"""Errors and warnings: one message with file, column, first places and a fix; never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wug
from command_line import refused
from command_line import wug as command
from reading_tables import stories, write
from wug.errors import InputError
from wug.formatting import interval_text

KEYS = ("--word", "word", "--text", "story", "--position", "position")
BASE = ("--measure", "rt", "--baseline", "length + log_frequency", "--predictors", "surp")


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return stories()


def said(tmp_path: Path, rows: list[dict[str, Any]], *more: object) -> Any:
    return command("reading", write(tmp_path / "spr.csv", rows), *BASE, *KEYS, *more)


@pytest.mark.parametrize(
    ("options", "value", "near"),
    [
        (["--measure"], "rtt", "rt"),
        (["--baseline"], "lenght", "length"),
        (["--predictors"], "surb", "surp"),
        (["--where"], "storry = s1", "story"),
        (["--text", "--cluster"], "stori", "story"),
        (["--split"], "by:stori", "story"),
    ],
)
def test_an_unknown_column_has_the_nearest_name(
    tmp_path: Path, rows: list[dict[str, Any]], options: list[str], value: str, near: str
) -> None:
    table = write(tmp_path / "spr.csv", rows)
    for option in options:
        given = dict(zip([*BASE, *KEYS][::2], [*BASE, *KEYS][1::2], strict=True)) | {option: value}
        found = command("reading", table, *(part for pair in given.items() for part in pair))
        refused(found, "spr.csv", value.partition(" ")[0].removeprefix("by:"), f"Did you mean {near!r}?")


def test_a_frequency_that_is_not_there_says_how_to_make_it(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    without = [{name: value for name, value in row.items() if name != "log_frequency"} for row in rows]
    refused(said(tmp_path, without), "log_frequency", "--frequency wordfreq:")


def test_a_duplicated_key_is_an_error_with_the_keys(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows[5] = dict(rows[4])
    refused(
        said(tmp_path, rows),
        *("spr.csv", "repeated keys in 1 row (story s1, position 5: line 6 and line 7)", "Correct the positions, or"),
        *("--subject",),
    )
    twice = [{**row, "reader": reader} for row in rows[:40:2] for reader in "ab"]
    repeated = said(tmp_path, twice)
    refused(repeated, "repeated keys in 20 rows", ": line 2 and line 3", "Name the participants with --subject")
    assert "orrect the positions" not in repeated.err
    without_text = command("reading", write(tmp_path / "spr.csv", rows), *BASE, "--position", "position")
    refused(without_text, "Name the text with --text, or name the participants")


def test_words_that_differ_are_an_error_with_count_and_pairs(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    bits = [{"story": r["story"], "position": r["position"], "word": r["word"], "surprisal": r["surp"]} for r in rows]
    bits[3]["word"] = "peaked"
    path = write(tmp_path / "bits.csv", bits)
    table = write(tmp_path / "spr.csv", rows)
    given = ("reading", table, *BASE[:4], *KEYS, "--surprisals", path)
    refused(command(*given), "spr.csv", "'word'", "line 5", "1 words differ", "peaked", "--allow-mismatch")
    assert command(*given, "--allow-mismatch", "--format", "json").results[0]["n"] < len(rows)


def test_missing_values_are_counted_by_column_and_refused_beyond_half(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    for row in rows[:10]:
        row["surp"] = "Inf"
    found = said(tmp_path, rows, "--spillover", 0, "--format", "json").results[0]
    assert found["n"] == len(rows) - 10
    assert any("10 without a value (surp 10)" in text for text in found["warnings"])
    for row in rows[: len(rows) // 2 + 1]:
        row["surp"] = ""
    refused(said(tmp_path, rows, "--spillover", 0), "spr.csv", "line 2, line 3, line 4", "surp 361", "--allow-missing")
    assert said(tmp_path, rows, "--spillover", 0, "--allow-missing", "--split", "contiguous").code == 0


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda row: 3.0, "term 'bad' is constant"),
        (lambda row: row["length"], "term 'bad' is collinear with 'length'"),
        (
            lambda row: 2 * row["length"] - row["log_frequency"],
            "term 'bad' is collinear with 'length', 'log_frequency'",
        ),
        (lambda row: float(row["story"] == "s1" and row["position"] == 3), "constant in the training set of fold 1"),
    ],
)
def test_a_term_without_information_of_its_own_is_an_error_with_its_fold(
    tmp_path: Path, rows: list[dict[str, Any]], made: Any, message: str
) -> None:
    rows = [{**row, "bad": made(row)} for row in rows]
    found = said(tmp_path, rows, "--predictors", "bad", "--spillover", 0, "--split", "by:story", "--folds", 12)
    refused(found, message, "training set of fold")


def test_a_constant_measure_is_an_error(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    refused(said(tmp_path, [{**row, "rt": 250} for row in rows]), "spr.csv", "the measure is constant")


def test_too_few_rows_empty_folds_and_few_groups_are_errors_with_the_numbers(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    few = rows[:30]
    refused(said(tmp_path, few, "--split", "contiguous", "--folds", 2, "--spillover", 0), "15 training rows", "3 coeff")
    refused(said(tmp_path, few, "--split", "contiguous", "--folds", 31, "--spillover", 0), "30 rows", "31 folds")
    refused(
        said(tmp_path, rows, "--split", "by:story", "--folds", 13), "'story' has 12 values", "13 folds", "--folds 12"
    )


@pytest.mark.parametrize("column", ["rt", "surp", "length"])
def test_a_value_that_is_not_a_number_is_an_error_with_the_value(
    tmp_path: Path, rows: list[dict[str, Any]], column: str
) -> None:
    rows[3][column] = "fast"
    refused(said(tmp_path, rows), "spr.csv", f"column {column!r}", "line 5", "'fast' is not a number")
    rows[3][column] = "310,5"
    refused(said(tmp_path, rows), "'310,5' is not a number", "decimal comma? Use a point")


def test_zero_and_negative_times_have_no_logarithm(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows[3]["rt"], rows[4]["rt"] = 0, -5
    refused(said(tmp_path, rows, "--transform", "log"), "'rt'", "line 5, line 6", "2 values", "--where 'rt > 0'")
    assert said(tmp_path, rows, "--transform", "log", "--where", "rt > 0").code == 0


def test_suspicious_words_are_counted_with_delta_ll_without_them(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    for place, row in enumerate(rows):
        row["unknown"] = "True" if place % 50 == 0 else "False"
        row["word"] = f"{row['word']}." if place % 10 == 0 else row["word"]
        row["surp"] = 0.0 if place % 30 == 0 else row["surp"]
    found = said(tmp_path, rows, "--spillover", 0, "--format", "json").results[0]
    for text in ("15 of 720 rows: unknown word", "72 of 720 rows: word with punctuation", "24 of 720 rows: surp is 0"):
        warning = next(one for one in found["warnings"] if text in one)
        assert "refitted without them, ΔLL is" in warning
    for kind in ("punctuation", "unknown"):
        excluded = said(tmp_path, rows, "--spillover", 0, "--format", "json", "--exclude", kind).results[0]
        delta = next(one for one in excluded["estimates"] if one["metric"] == "delta_ll")
        text = f"{delta['value']:.6f} {interval_text(delta['low'], delta['high'], None, share=False)}"
        assert any(warning.endswith(text) for warning in found["warnings"]), kind


def test_few_clusters_are_a_warning_and_intervals_are_over_words(tmp_path: Path) -> None:
    rows = stories(count=4)
    found = said(tmp_path, rows, "--format", "json").results[0]
    assert any("4 values, too few" in text for text in found["warnings"])
    assert next(one for one in found["estimates"] if one["metric"] == "delta_ll")["method"] == "t"
    assert "|cluster:none|" in found["signature"]
    many = said(tmp_path, stories(count=10), "--format", "json").results[0]
    assert next(one for one in many["estimates"] if one["metric"] == "delta_ll")["method"] == "t, by source"
    assert not any("too few" in text for text in many["warnings"])


def test_exclusions_remove_words_and_count_them(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows[20]["rt"] = 0
    found = said(tmp_path, rows, "--spillover", 0, "--exclude", "first,last,zero", "--format", "json").results[0]
    assert found["n"] == len(rows) - 2 * 12 - 1
    assert any("12 by exclude first" in text and "12 by exclude last" in text for text in found["warnings"])


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--where", "rt"), ("COLUMN OP VALUE",)),
        (("--where", "word =~ ("), ("not a regular expression",)),
        (("--where", "rt > fast"), ("'fast' is not a number",)),
        (("--where", "rt >"), ("a value is missing after '>'",)),
        (("--measure", "rt,surp"), ("Several measures: --measure rt --measure surp",)),
        (("--measure", "RT"), ("Did you mean 'rt'?",)),
        (("--measure", "surp"), ("'surp' is also a term",)),
        (
            ("--predictors", "(1|reader)"),
            (
                "There is: story, position",
                ". Random effects are for R: --r",
            ),
        ),
        (("--predictors", "log(length)"), ("--transform log",)),
        (("other.csv",), ("join the files first",)),
        (("--plot", "figure.jpg", "--measure", "absent"), ("'.jpg'",)),
        (("--exclude", "commas"), ("exclude=commas", "punctuation")),
        (("--split", "halves"), ("split=halves", "contiguous")),
        (("--predictors", "length"), ("all in the baseline",)),
        (("--frequency", "subtlex"), ("wordfreq:LANGUAGE",)),
        (("--frequency", "wordfreq:xx"), ("xx",)),
        (("--use", "surprise", "--surprisals", "none.csv"), ("use=surprise", "surprisal_boundary")),
    ],
)
def test_a_wrong_option_says_what_may_be_written(
    tmp_path: Path, rows: list[dict[str, Any]], options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    table = write(tmp_path / "spr.csv", rows)
    refused(command("reading", table, *BASE[:4], *KEYS, "--predictors", "surp", *options), *parts)


def test_lags_without_keys_are_refused_and_a_default_without_them_is_said(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    table = write(tmp_path / "spr.csv", rows)
    refused(command("reading", table, *BASE, "--spillover", 1), "--text and --position")
    found = command("reading", table, *BASE, "--format", "json").results[0]
    assert any("spillover 0" in text for text in found["warnings"])
    assert "|spillover:0|" in found["signature"]


@pytest.mark.parametrize("position", ["1.5", "", "first", "1e300"])
def test_positions_are_whole_numbers(tmp_path: Path, rows: list[dict[str, Any]], position: str) -> None:
    rows[3]["position"] = position
    refused(said(tmp_path, rows), "spr.csv", "column 'position'", "line 5")


def test_usage_errors_end_with_2(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    table = write(tmp_path / "spr.csv", rows)
    assert command("reading", table, "--measure", "rt").code == 2
    assert command("reading", table, "--measure", "rt", "--model", "wug-causal").code == 2
    assert command("reading", tmp_path / "absent.csv", *BASE).code == 1
    assert command("reading", tmp_path, *BASE).code == 1
    assert command("reading", table, *BASE, "--folds", 1).code == 2
    assert command("reading", table, "--predictors", "surp").code == 2


def test_participants_are_averaged_with_zeros_and_without_missing_values() -> None:
    rows = [
        {**row, "subject": subject, "rt": value}
        for row in stories(count=2, length=30)
        for subject, value in (("a", row["rt"]), ("b", 0), ("c", None))
    ]
    table = wug.Table.of_rows(rows)
    with pytest.raises(InputError, match="repeated keys"):
        wug.reading(table, "rt", "length", "surp", text="story", position="position")
    each = wug.reading(table, "rt", "length", "surp", text="story", position="position", subject="subject", spillover=1)
    assert each.results[0].n == 2 * 29 * 2
    given: dict[str, Any] = {"text": "story", "position": "position", "aggregate": True, "spillover": 1}
    mean = wug.reading(table, "rt", "length", "surp", **given)
    assert mean.results[0].n == 2 * 29
    halves = [row["rt"] / 2 for row in stories(count=2, length=30) if row["position"] > 1]
    np.testing.assert_allclose(mean.words["y"], halves)
    kept = wug.reading(table, "rt", "length", "surp", **given, where=["rt > 0"])
    np.testing.assert_allclose(kept.words["y"], [2 * value for value in halves])


def test_python_refuses_what_the_command_line_refuses() -> None:
    table = wug.Table.of_rows(stories(count=2))
    with pytest.raises(wug.WugError, match="Did you mean 'spillover'"):
        wug.reading(table, "rt", "length", "surp", spilover=1)
    with pytest.raises(wug.WugError, match="no predictors"):
        wug.reading(table, "rt", "length")
    with pytest.raises(wug.WugError, match=r"a path, a wug\.Table or a data frame"):
        wug.reading(5, "rt", "length", "surp")
    found = wug.reading(table, "rt", "length", "surp", spillover=0)
    with pytest.raises(wug.WugError, match="--text and --position"):
        _ = found.lags
    with pytest.raises(wug.WugError, match="lags=True"):
        found.plot("lags")
    with pytest.raises(wug.WugError, match="kind of plot"):
        found.plot("pie")  # type: ignore[arg-type]
