"""Size, fonts, colours and names of models of exported charts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import run_factory
import wug
from command_line import wug as command
from wug.errors import InputError, UnknownName
from wug.outcomes import Outcome
from wug.views.chart_files import PALETTES, ChartStyle


def results() -> wug.Results:
    rows = [Outcome(str(n), "accuracy", n < 3) for n in range(4)]
    return wug.Results(run_factory.result("s", model, rows) for model in ("causal/one@1", "causal/two@2"))


def test_a_plot_has_the_size_fonts_colours_and_names_that_are_given() -> None:
    labels = {"one": "First / small"}
    spec = results().plot(labels=labels, width=300, height=90, font_size=18, palette="grey").to_dict()
    assert (spec["width"], spec["height"]) == (300, 90)
    assert spec["config"]["axis"]["labelFontSize"] == 18
    assert spec["config"]["title"]["fontSize"] == pytest.approx(15 * 18 / 12, abs=0.1)
    assert tuple(spec["config"]["range"]["category"]) == PALETTES["grey"]
    assert spec["config"]["style"]["dot"]["color"] == PALETTES["grey"][0]
    assert "First \N{DIVISION SLASH} small" in json.dumps(spec, ensure_ascii=False)
    assert "two" in json.dumps(spec)
    assert " ".join(spec["title"]["subtitle"]).startswith("s · First \N{DIVISION SLASH} small, two · n = 4")


def test_without_a_style_the_chart_is_unchanged() -> None:
    assert ChartStyle().apply(made := results().plot().to_dict()) == made


def test_the_command_line_has_the_same_options(tmp_path: Path) -> None:
    store, chart = tmp_path / "store", tmp_path / "chart.json"
    for result in results():
        run_factory.keep(store, result)
    look = ("--width", 300, "--height", 90, "--font-size", 18, "--palette", "#000000,#ff0000", "--label", "one=First")
    assert command("export", "1", "2", "--chart", *look, "-o", chart, "--store", store).code == 0
    spec = json.loads(chart.read_text(encoding="utf-8"))
    assert (spec["width"], spec["height"], spec["config"]["axis"]["labelFontSize"]) == (300, 90, 18)
    assert spec["config"]["range"]["category"] == ["#000000", "#ff0000"]
    assert "First" in json.dumps(spec)
    assert "--palette is for --chart" in command("export", "1", "--palette", "grey", "--store", store).err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width 0: write a whole number from 1"),
        ({"font_size": 100}, "font size 100"),
        ({"palette": "gray"}, "Did you mean 'grey'"),
        ({"palette": ["red", "blue"]}, "palette 'red': write colours such as #0072b2"),
        ({"labels": {"three": "x"}}, "unknown model 'three'"),
    ],
)
def test_wrong_settings_are_errors(settings: dict[str, object], message: str) -> None:
    with pytest.raises((InputError, UnknownName)) as error:
        results().plot(**settings)  # type: ignore[arg-type]
    assert message in str(error.value)
