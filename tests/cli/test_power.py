"""`wug power`: items for a wanted width or difference."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

import run_factory
from command_line import wug
from wug.outcomes import Outcome
from wug.results.store import Store
from wug.results.sweeps import PlannedModel, plan_text
from wug.stats_paired import mcnemar_power, min_items, share_width


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    for model, right in (("kind/a@1", 12), ("kind/b@2", 18)):
        rows = [Outcome(str(n), "accuracy", n < right) for n in range(20)]
        run_factory.keep(path, run_factory.result("s", model, rows))
    return path


def test_one_run_needs_items_for_a_width(store: Path) -> None:
    said = wug("power", "1", "--width", "0.2", "--store", store, "--format", "json")
    [row] = json.loads(said.out)
    assert (row["value"], row["n"], row["wanted_width"]) == (0.6, 20, 0.2)
    assert row["items_needed"] == min_items(lambda n: share_width(0.6, n) <= 0.2)


def test_two_runs_need_items_for_their_difference(store: Path, tmp_path: Path) -> None:
    chart = tmp_path / "power.svg"
    said = wug("power", "1", "2", "--store", store, "--format", "json", "-o", chart)
    [row] = json.loads(said.out)
    # 6 of 20 items differ, all in favour of the second.
    assert row["difference"] == pytest.approx(0.3)
    assert row["power_now"] == pytest.approx(mcnemar_power(0.3, 0.3, 20))
    assert row["items_needed"] == min_items(lambda n: mcnemar_power(0.3, 0.3, n) >= 0.8)
    assert "power" in chart.read_text(encoding="utf-8")
    smaller = json.loads(wug("power", "1", "2", "--difference", "0.1", "--store", store, "--format", "json").out)
    assert smaller[0]["items_needed"] > row["items_needed"]


def test_a_sweep_of_two_runs_counts_as_two(tmp_path: Path) -> None:
    store, models = tmp_path / "sweeps", {"kind:a": 12, "kind:b": 18}
    with closing(Store(store)) as opened:
        sweep = opened.begin_sweep("k", "both", "wug run s", plan_text(map(PlannedModel, models), ["s"]))
        for name, right in models.items():
            number = opened.begin(name, name, "wug run s", specification=name, sweep=sweep)
            rows = [Outcome(str(n), "accuracy", n < right) for n in range(20)]
            opened.add(number, run_factory.result("s", name, rows))
            opened.finish(number, "complete")
    said = wug("power", "sweep:both", "--difference", "0.1", "--store", store, "--format", "json")
    assert [row["wanted_difference"] for row in json.loads(said.out)] == [0.1]
    assert "--width is for one run" in wug("power", "sweep:both", "--width", "0.1", "--store", store).err


def test_the_figure_joins_the_numbers_of_a_curve(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "power.svg"
    wug("power", "1", "2", "--store", store, "-o", target)
    [line] = re.findall(r'"line mark"[^>]* d="([^"]*)"', target.read_text(encoding="utf-8"))
    assert line.count("L") > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "--difference", "0.1"], "--difference is for two runs"),
        (["1", "2", "--width", "0.1"], "--width is for one run"),
        (["1", "--width", "-1"], "a number greater than 0"),
        (["1", "--width", "3"], "3 is more than 100%, and accuracy is a proportion"),
        (["1", "--power", "80"], "power=80.0: write a number between 0 and 1"),
        (["1", "--metric", "acuracy"], "Did you mean 'accuracy'?"),
        (["1", "--suite", "t"], "unknown suite 't'"),
        (["1", "-o", "x.csv"], "write a chart: one of .svg"),
        (["1", "2", "1"], "name one run"),
    ],
)
def test_mistakes_are_errors(store: Path, arguments: list[str], message: str) -> None:
    said = wug("power", *arguments, "--store", store)
    assert said.code != 0
    assert message in said.err
