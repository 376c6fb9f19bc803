"""Runs of `wug reading` in `wug show` and `wug compare`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import client_of
from command_line import refused
from command_line import wug as command
from reading_tables import stories, write
from wug.results.store import Store
from wug.web.site import Site

KEYS = ("--text", "story", "--position", "position")


def two_measures() -> list[dict[str, Any]]:
    """Stories with two measures, and a second predictor that knows less about them."""
    rng = np.random.default_rng(1)
    return [
        {**row, "gaze": row["rt"] / 2 + float(rng.normal(0, 20)), "other": row["surp"] + float(rng.normal(0, 6))}
        for row in stories()
    ]


def saved(store: Path, table: Path, predictors: str, *options: str) -> list[dict[str, Any]]:
    said = command(
        *("reading", table, *KEYS, "--predictors", predictors, "--spillover", "0", *options),
        *("--store", store, "--format", "json"),
    )
    assert said.code == 0, said.err
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


def contrasts(store: Path, *options: str) -> list[dict[str, Any]]:
    said = command("compare", *options, "--store", store, "--format", "json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    return list(found["contrasts"] if isinstance(found, dict) else found)


def test_each_measure_is_compared_by_itself_as_if_it_were_alone(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    both = ("--measure", "rt", "--measure", "gaze")
    for predictors in ("surp", "other"):
        saved(tmp_path / "both", table, predictors, *both)
        for measure in ("rt", "gaze"):
            saved(tmp_path / measure, table, predictors, "--measure", measure)
    together = contrasts(tmp_path / "both", "1", "2")
    assert [one["metric"] for one in together] == ["delta_ll:rt", "delta_ll:gaze"]
    for one, measure in zip(together, ("rt", "gaze"), strict=True):
        (alone,) = contrasts(tmp_path / measure, "1", "2")
        for field in ("metric", "n", "items", "difference", "low", "high", "p"):
            assert one[field] == alone[field], field
    (chosen,) = contrasts(tmp_path / "both", "1", "2", "--metric", "delta_ll:gaze")
    assert chosen["difference"] == together[1]["difference"]
    assert len(contrasts(tmp_path / "both", "1", "2", "--metric", "delta_ll")) == 2


def test_the_listed_items_are_rows_whose_values_fit_their_details(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    for predictors in ("surp", "other"):
        saved(tmp_path / "store", table, predictors, "--measure", "rt")
    (one,) = contrasts(tmp_path / "store", "1", "2", "--items", "5")
    assert (one["n"], one["items"], one["disagreeing"]) == (720, 12, 720)
    for item in one["disagreements"]:
        for side in ("first", "second"):
            detail = item[f"detail_{side}"]
            assert item[side] == pytest.approx(detail["ll_target"] - detail["ll_baseline"], abs=1e-12)
    said = command("compare", "1", "2", "--store", tmp_path / "store")
    assert "clustered by story (12)" in said.out
    assert "not asked in the same way" not in said.out + said.err


def test_items_with_other_names_are_shown(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    saved(tmp_path / "store", table, "surp", "--measure", "rt")
    without = ("reading", table, "--predictors", "surp", "--measure", "rt", "--store", tmp_path / "store")
    assert command(*without).code == 0
    said = command("compare", "1", "2", "--store", tmp_path / "store")
    assert "'s1/1', measure 'rt' and 'line 2', measure 'rt': run both with the same options" in said.err


def test_different_measures_are_not_compared_with_each_other(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    for measure in ("rt", "gaze"):
        saved(tmp_path / "store", table, "surp", "--measure", measure)
    said = command("compare", "1", "2", "--store", tmp_path / "store")
    assert said.code == 1
    assert "'s1/1', measure 'rt' and 's1/1', measure 'gaze'" in said.err


def test_several_measures_have_no_mean_and_one_measure_has_its_own(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    (alone,) = saved(tmp_path / "store", table, "surp", "--measure", "rt")
    groups = [one["group"] for one in alone["estimates"] if one["metric"] == "delta_ll"]
    assert groups == ["all", "measure=rt"]
    (both,) = saved(tmp_path / "store", table, "surp", "--measure", "rt", "--measure", "gaze")
    groups = [one["group"] for one in both["estimates"] if one["metric"] == "delta_ll"]
    assert groups == ["measure=rt", "measure=gaze"]
    shown = command("show", "2", "--store", tmp_path / "store").out
    assert "ΔLL" in shown
    assert "measure=rt" in shown
    assert "measure=gaze" in shown
    page = tmp_path / "page.html"
    assert command("report", "2", "-o", page, "--store", tmp_path / "store").code == 0
    assert "ΔLL:gaze" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [("--summary",), ("--format", "csv")])
def test_a_run_with_several_measures_is_shown_in_every_form(tmp_path: Path, options: tuple[str, ...]) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    saved(tmp_path / "store", table, "surp", "--measure", "rt", "--measure", "gaze")
    shown = command("show", "1", *options, "--store", tmp_path / "store").out
    assert "rt" in shown
    assert "gaze" in shown


def test_pages_show_measures_one_by_one(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", two_measures())
    for predictors in ("surp", "other"):
        saved(tmp_path / "store", table, predictors, "--measure", "rt", "--measure", "gaze")
    with closing(Store(tmp_path / "store")) as store:
        client = client_of(Site(store=store, cache=tmp_path / "answers.db", folders=()))
        for address in ("/run/1", "/result/1", "/compare?side=1&side=2"):
            page = client.get(address)
            assert page.status_code == 200, address
            assert "ΔLL:rt" in page.text, address


def trials() -> list[dict[str, Any]]:
    """Three participants who read the same stories."""
    rng = np.random.default_rng(2)
    return [
        {"participant": name, **row, "rt": row["rt"] + float(rng.normal(0, 20))}
        for name in ("P1", "P2", "P3")
        for row in stories()
    ]


def test_means_over_participants_belong_to_nobody_and_are_not_paired_with_trials(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", trials())
    files = ("--words", str(tmp_path / "words.csv"), "--r", str(tmp_path / "r"))
    common = ("--measure", "rt", "--subject", "participant")
    saved(tmp_path / "store", table, "surp", *common, "--aggregate", *files)
    saved(tmp_path / "store", table, "surp", *common)
    exported = tmp_path / "rows.csv"
    assert command("export", "1", "-o", exported, "--store", tmp_path / "store").code == 0
    for path in (tmp_path / "words.csv", next((tmp_path / "r").glob("*.csv")), exported):
        assert "P1" not in path.read_text(encoding="utf-8"), path
    said = command("compare", "1", "2", "--store", tmp_path / "store")
    assert said.code == 1
    assert "'s1/1', measure 'rt' and 's1/P1/1', measure 'rt'" in said.err


@pytest.mark.parametrize("option", [("--split", "by:participant"), ("--cluster", "participant")])
def test_averaged_participants_make_neither_folds_nor_clusters(tmp_path: Path, option: tuple[str, str]) -> None:
    table = write(tmp_path / "t.csv", trials())
    given = ("--measure", "rt", "--predictors", "surp", "--subject", "participant", "--aggregate", *KEYS)
    refused(command("reading", table, *given, *option), "averages over 'participant'")
