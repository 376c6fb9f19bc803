"""Traps of published data: each is met here once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import devarda
import wug
from reading_tables import stories, write
from wug.errors import InputError
from wug.families.reading import table as tables
from wug.families.reading.prepare import prepare
from wug.families.reading.settings import settings
from wug.families.reading.surprisals import running_texts
from wug.families.reading.table import read_words

KEYS: dict[str, Any] = {"word": "word", "text": "story", "position": "position"}


def delta(found: wug.Reading, n: bool = False) -> float:
    row = next(row for row in found.estimates if row["metric"] == "delta_ll" and row["measure"])
    return float(row["n" if n else "value"])


def shifted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Times that are one word late: each is written at the word before its own."""
    return [{**row, "rt": rows[place + 1]["rt"] if place + 1 < len(rows) else 300.0} for place, row in enumerate(rows)]


def test_1_times_that_are_off_by_one_are_noticed_and_can_be_moved() -> None:
    rows = shifted(stories())
    given = {**KEYS, "spillover": 1, "lags": True}
    as_shipped = wug.reading(wug.Table.of_rows(rows), "rt", "length + log_frequency", "surp", **given)
    assert any("next word predicts rt" in text and "--shift 1" in text for text in as_shipped.results[0].warnings)
    moved = wug.reading(wug.Table.of_rows(rows), "rt", "length + log_frequency", "surp", **given, shift=1)
    assert not any("next word" in text for text in moved.results[0].warnings)
    assert delta(moved) > 2 * delta(as_shipped)
    assert moved.results[0].signature.get("shift") == "1"
    assert [row["word"] for row in moved.lags] == ["t+2", "t+1", "t", "t-1", "t-2", "t-3"]


def test_2_the_exclusion_of_de_varda_is_that_of_the_words_and_not_of_a_column() -> None:
    table = tables.read_words(devarda.table())
    assert np.count_nonzero(~table.fulfils(devarda.NO_PUNCTUATION)) == 239
    assert np.count_nonzero(table.fulfils("is_start_end = 1")) == 205
    row = devarda.published("results_linear")[0]
    wrong = devarda.fitted([row], row["iv"], split="none", sigma="train-ml", where=["is_start_end = 0"])
    found = next(one["value"] for one in wrong.estimates if one["metric"] == "delta_ll_sum")
    assert abs(found - float(row["D_llik"])) > 0.01


def test_3_lags_are_looked_up_by_key_in_a_table_in_random_order(tmp_path: Path) -> None:
    rows = stories()
    mixed = [rows[place] for place in np.random.default_rng(3).permutation(len(rows))]
    given = {**KEYS, "spillover": 2, "split": "by:story", "folds": 12}
    first, second = (
        wug.reading(wug.Table.of_rows(some), "rt", "length + log_frequency", "surp", **given) for some in (rows, mixed)
    )
    assert delta(first, n=True) == delta(second, n=True) == 12 * 58
    slopes = [
        next(row["value"] for row in found.estimates if row["metric"] == "slope:surp@1") for found in (first, second)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-12)


def test_4_an_excluded_word_is_still_the_previous_word_and_a_gap_is_not_bridged() -> None:
    rows = stories(count=2)
    given = {**KEYS, "spillover": 1, "split": "contiguous", "folds": 2}
    table = wug.Table.of_rows(rows)
    kept = wug.reading(table, "rt", "length", "surp", **given, where=["position != 5"])
    assert delta(kept, n=True) == 2 * 58  # without positions 1 and 5; position 6 has its previous word
    gap = wug.Table.of_rows([row for row in rows if row["position"] != 5])
    assert delta(wug.reading(gap, "rt", "length", "surp", **given), n=True) == 2 * 57  # nor position 6


def test_5_keys_that_count_from_0_are_named_by_the_shift_that_joins_them(tmp_path: Path) -> None:
    rows = stories(count=3)
    surprisals = [
        {"story": r["story"], "position": r["position"] - 1, "word": r["word"], "surprisal": r["surp"]} for r in rows
    ]
    write(tmp_path / "bits.csv", surprisals)
    with pytest.raises(InputError) as raised:
        wug.reading(wug.Table.of_rows(rows), "rt", "length", surprisals=tmp_path / "bits.csv", **KEYS)
    assert "words differ from those of" in str(raised.value)
    assert "positions are moved by" in str(raised.value)


def test_5_commas_may_be_written_as_percent_2c(tmp_path: Path) -> None:
    rows = stories(count=2)
    bits = [{"story": r["story"], "position": r["position"], "word": r["word"], "surprisal": r["surp"]} for r in rows]
    rows[4]["word"], bits[4]["word"] = "dog%2C", "dog,"
    path = write(tmp_path / "bits.csv", bits)
    found = wug.reading(wug.Table.of_rows(rows), "rt", "length", surprisals=path, folds=2, spillover=0, **KEYS)
    assert delta(found, n=True) == len(rows)
    prepared = prepare(
        tables.read_words(wug.Table.of_rows(rows)), settings({"measure": "rt", "baseline": "length", **KEYS})
    )
    assert "dog, " in running_texts(prepared)[0].text


def test_6_null_none_and_na_are_words(tmp_path: Path) -> None:
    rows = stories(count=2)
    for place, word in enumerate(("null", "None", "NA", "nan", "Inf")):
        rows[place]["word"] = word
    rows[7]["surp"] = "NA"
    rows[8]["surp"] = ""
    rows[9]["surp"] = "-Inf"
    rows[10]["surp"] = "NaN"
    table = tables.read_words(write(tmp_path / "t.csv", rows))
    assert table.texts("word")[:5] == ["null", "None", "NA", "nan", "Inf"]
    assert np.flatnonzero(np.isnan(table.numbers("surp"))).tolist() == [7, 8, 9, 10]
    assert np.count_nonzero(table.fulfils("word = null")) == 1
    found = wug.reading(tmp_path / "t.csv", "rt", "length", "surp", spillover=0)
    assert delta(found, n=True) == 120 - 4
    assert any("surp 4" in text for text in found.results[0].warnings)


def test_7_a_region_of_several_words_has_the_sum_of_their_surprisals() -> None:
    words = ["The dogs", "chased", "the old cat", "away."]
    rows = [{"story": "a", "position": place, "word": word, "rt": 300.0} for place, word in enumerate(words)]
    prepared = prepare(
        tables.read_words(wug.Table.of_rows(rows)), settings({"measure": "rt", "baseline": "length", **KEYS})
    )
    (text,) = running_texts(prepared)
    assert text.text == "The dogs chased the old cat away."
    assert [text.text[start:end] for start, end in text.spans] == words
    by_region = _model_surprisals(prepared)
    by_word = wug.surprisal(text=text.text, model="wug-causal")["surprisal"]
    assert by_region[2] == pytest.approx(sum(by_word[3:6]), abs=1e-4)


def test_7_words_that_differ_are_an_error_with_pairs_or_left_out(tmp_path: Path) -> None:
    rows = stories(count=12)
    surprisals = [
        {"story": r["story"], "position": r["position"], "word": r["word"], "surprisal": r["surp"]} for r in rows
    ]
    surprisals[5]["word"], surprisals[9]["word"] = "peeked", "‘old’"
    path = write(tmp_path / "bits.csv", surprisals)
    with pytest.raises(InputError, match="2 words differ") as raised:
        wug.reading(wug.Table.of_rows(rows), "rt", "length", surprisals=path, **KEYS)
    assert "'peeked'" in str(raised.value)
    assert "row 6" in str(raised.value)
    allowed = wug.reading(
        wug.Table.of_rows(rows), "rt", "length", surprisals=path, allow_mismatch=True, spillover=0, **KEYS
    )
    assert delta(allowed, n=True) == len(rows) - 2
    assert any("2 words differ" in text for text in allowed.results[0].warnings)


def test_8_unscored_words_are_missing_and_zero_bits_are_suspicious() -> None:
    rows = stories()
    for row in rows[::7]:
        row["surp"] = 0.0
    rows[1]["surp"] = None
    found = wug.reading(wug.Table.of_rows(rows), "rt", "length", "surp", **KEYS, spillover=0)
    assert delta(found, n=True) == len(rows) - 1
    zeros = len(rows[::7])
    warning = next(text for text in found.results[0].warnings if "surp is 0" in text)
    assert f"{zeros} of {len(rows) - 1} rows" in warning
    without = wug.reading(wug.Table.of_rows(rows), "rt", "length", "surp", **KEYS, spillover=0, where=["surp > 0"])
    assert f"{delta(without):.6f}" in warning


def test_9_the_first_column_may_have_no_name(tmp_path: Path) -> None:
    rows = [{"": place, **row} for place, row in enumerate(stories(count=2))]
    found = wug.reading(write(tmp_path / "r.csv", rows), "rt", "length", "surp", spillover=0)
    assert delta(found, n=True) == 120


def test_10_the_sign_of_a_frequency_column_changes_its_slope_and_nothing_else() -> None:
    rows = stories()
    turned = [{**row, "log_frequency": -row["log_frequency"]} for row in rows]
    first, second = (
        wug.reading(wug.Table.of_rows(some), "rt", "length + log_frequency", "surp", spillover=0, **KEYS)
        for some in (rows, turned)
    )
    assert delta(first) == pytest.approx(delta(second), abs=1e-13)
    slopes = [
        next(row["value"] for row in found.estimates if row["metric"] == "slope:log_frequency")
        for found in (first, second)
    ]
    assert slopes[0] == pytest.approx(-slopes[1], rel=1e-9)


def test_11_columns_in_use_must_have_a_value_or_all_numeric_ones() -> None:
    rows = [{**row, "entropy": None if place < 6 else 1.0 * place} for place, row in enumerate(stories(count=2))]
    table = wug.Table.of_rows(rows)
    used = wug.reading(table, "rt", "length", "surp", spillover=0, **KEYS)
    every = wug.reading(table, "rt", "length", "surp", spillover=0, complete="all", **KEYS)
    assert (delta(used, n=True), delta(every, n=True)) == (120, 114)


def test_11_predictor_sets_of_one_call_share_their_rows() -> None:
    rows = [{**row, "other": None if place < 6 else 1.0 * place} for place, row in enumerate(stories(count=2))]
    found = wug.reading(wug.Table.of_rows(rows), "rt", "length", {"a": "surp", "b": "other"}, spillover=0, **KEYS)
    assert [result.n for result in found.results] == [114, 114]
    assert [result.model for result in found.results] == ["a", "b"]


def test_quotation_marks_in_a_tab_separated_file_may_be_characters_of_words(tmp_path: Path) -> None:
    (tmp_path / "literal.tsv").write_text('word\tx\n"Oh\t1\n"Ah"\t2\n', encoding="utf-8")
    (tmp_path / "quoted.tsv").write_text('word\tx\n"""Oh"\t1\nAh\t2\n', encoding="utf-8")
    (tmp_path / "r.tsv").write_text('"word"\t"x"\n"Oh"\t1\n', encoding="utf-8")
    assert tables.read_words(tmp_path / "literal.tsv").texts("word") == ['"Oh', '"Ah"']
    assert tables.read_words(tmp_path / "quoted.tsv").texts("word") == ['"Oh', "Ah"]
    assert tables.read_words(tmp_path / "r.tsv").texts("word") == ["Oh"]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv", "t.jsonl", "t.parquet"])
def test_every_format_gives_the_same_numbers(tmp_path: Path, name: str) -> None:
    rows = stories(count=2)
    table = wug.Table.of_rows(rows)
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(table.text("csv").encode()))
    elif name.endswith("jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        table.write(path)
    found = wug.reading(path, "rt", "length", "surp", spillover=1, **KEYS)
    assert delta(found) == delta(wug.reading(table, "rt", "length", "surp", spillover=1, **KEYS))
    assert found.results[0].suite == "t"
    frame = wug.reading(table.to_pandas(), "rt", "length", "surp", spillover=1, **KEYS)
    assert delta(frame) == delta(found)


def _model_surprisals(prepared: Any) -> list[float]:
    from wug.evaluation.cached_model import CachedModel
    from wug.evaluation.models import open_model
    from wug.families.reading.surprisals import predict

    found = predict(prepared, CachedModel(open_model("wug-causal")), "surprisal")
    return [float(value) for value in found.columns["surprisal"]]


def test_rows_keep_values_and_lines_whether_quoted_or_not(tmp_path: Path) -> None:
    plain, quoted = tmp_path / "plain.csv", tmp_path / "quoted.csv"
    plain.write_text("\nword,rt\n" + "".join(f"w{n},{n}.50\n\n" for n in range(200)), encoding="utf-8")
    quoted.write_text("\nword,rt\n" + "".join(f'"w,\n{n}","{n}.50"\n' for n in range(200)), encoding="utf-8")
    for path, word in ((plain, "w{}"), (quoted, "w,\n{}")):
        table = read_words(path)
        assert table.texts("word") == [word.format(n) for n in range(200)]
        assert table.columns["word"][130] == word.format(130)
        assert table.numbers("rt").tolist() == [n + 0.5 for n in range(200)]
        assert table.place(130) == f"line {263 if path == plain else 264}"
