"""Charts: what they show, what they are painted with, how they are kept."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wug.errors import InputError, MissingExtra
from wug.families.syntaxgym.view import region_chart
from wug.families.syntaxgym.view.region_chart import RegionMean
from wug.results.learning_curves import Curve, CurvePoint, Curves
from wug.views import chart_files, charts, grouped, vega
from wug.views.charts import Point
from wug.views.parts import Figure
from wug.views.sweeps import curve_figures

EVIL = "</script><script>alert(1)</script>"

TWO_SUITES = [
    Point("number", 0.75, 0.5, 0.9, 20, group="Agreement"),
    Point("npi", 0.25, 0.1, 0.5, 20, group="Licensing"),
]
TWO_REGIONS = [
    RegionMean("match", 2, "verb", 3.0, 2.0, 4.0, 8),
    RegionMean("match", 1, "noun", 5.0, 4.5, 5.5, 8),
    RegionMean("mismatch", 2, "verb", 9.0, 8.0, 10.0, 8),
    RegionMean("mismatch", 1, "noun", 5.0, None, None, 1),
]


def accuracy(points: Sequence[Point]) -> Any:
    return charts.intervals(points, title="accuracy", share=True)


def channel(spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """One encoding channel of each layer that has it."""
    return [layer["encoding"][name] for layer in spec["layer"] if name in layer["encoding"]]


def data(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chart whose layers share them."""
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_accuracy_has_a_row_for_each_suite_under_the_heading_of_its_circuit() -> None:
    [y, _] = channel(accuracy(TWO_SUITES).to_dict(), "y")
    assert y["scale"]["domain"] == ["Agreement\n", "Agreement\nnumber", "Licensing\n", "Licensing\nnpi"]


def test_a_suite_without_a_heading_stands_under_none_of_the_others() -> None:
    points = [Point("bare", 0.5), *TWO_SUITES]
    [y, _] = channel(accuracy(points).to_dict(), "y")
    assert y["scale"]["domain"][-2:] == ["other\n", "other\nbare"]


def test_accuracy_runs_from_0_to_100_per_cent() -> None:
    [x, _] = channel(accuracy(TWO_SUITES).to_dict(), "x")
    assert x["scale"]["domain"] == [0, 1]
    assert x["axis"]["format"] == "%"


def test_values_that_are_no_shares_have_an_axis_of_their_own() -> None:
    [x, _] = channel(charts.intervals([Point("a", 34.2)], title="perplexity").to_dict(), "x")
    assert "domain" not in x["scale"]
    assert x["title"] == "perplexity"


def test_a_dot_carries_its_interval_and_its_n() -> None:
    [row, _] = data(accuracy(TWO_SUITES).to_dict())
    assert (row["value"], row["low"], row["high"], row["n"]) == (0.75, 0.5, 0.9, 20)


def test_a_value_that_is_no_number_is_left_out() -> None:
    [row] = data(accuracy([Point("a", float("nan"), None, float("inf"))]).to_dict())
    assert (row["value"], row["low"], row["high"]) == (None, None, None)


def test_several_models_are_distinguished_by_colour_shape_and_place() -> None:
    points = [Point("number", 0.5, series="gpt2"), Point("number", 0.75, series="lstm")]
    spec = accuracy(points).to_dict()
    for name in ("color", "shape", "yOffset"):
        assert channel(spec, name)[0]["scale"]["domain"] == ["gpt2", "lstm"]


def test_one_model_needs_no_legend() -> None:
    assert channel(accuracy(TWO_SUITES).to_dict(), "color") == []


def test_regions_stand_in_the_order_of_the_sentence_with_their_names() -> None:
    spec = region_chart.regions(TWO_REGIONS).to_dict()
    assert channel(spec, "x")[0]["scale"]["domain"] == ["1\nnoun", "2\nverb"]


def test_each_condition_has_a_line_points_and_intervals() -> None:
    spec = region_chart.regions(TWO_REGIONS).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]
    assert channel(spec, "color")[0]["scale"]["domain"] == ["match", "mismatch"]


def test_without_intervals_there_is_no_layer_for_them() -> None:
    spec = region_chart.regions([RegionMean("match", 1, "noun", 2.0, None, None, 1)]).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "point"]


def test_surprisal_is_never_drawn_below_0() -> None:
    means = [RegionMean("match", 1, "noun", 2.0, -3.0, 7.0, 5), RegionMean("other", 1, "noun", -0.001, None, None, 1)]
    spec = region_chart.regions(means).to_dict()
    assert channel(spec, "y")[0]["scale"]["domain"] == [0, 8]
    assert [(row["mean"], row["low"]) for row in data(spec)] == [(2.0, 0.0), (0.0, None)]


def test_a_page_makes_the_legend_and_a_file_has_one() -> None:
    chart = region_chart.regions(TWO_REGIONS)
    page, file = vega.page_spec(chart), vega.spec(chart)
    assert {one["legend"] for one in channel(page, "color")} == {None}
    assert all(one["legend"] for one in channel(file, "color"))
    keys = page["usermeta"]["legend"]["keys"]
    assert [(key["name"], key["colour"], key["end"]) for key in keys] == [("match", 1, 3.0), ("mismatch", 2, 9.0)]


def test_of_two_models_the_second_is_dashed_and_hollow() -> None:
    means = [RegionMean("match", 1, "noun", float(bits), None, None, 1, model) for bits, model in ((2, "a"), (3, "b"))]
    spec = region_chart.regions(means).to_dict()
    assert channel(spec, "strokeDash")[0]["scale"] == {"domain": ["a", "b"], "range": [[1, 0], [5, 4]]}
    assert [layer["mark"].get("filled") for layer in spec["layer"]] == [None, None, False]


def test_tens_are_written_out() -> None:
    svg = vega.page_svg(charts.intervals([Point("a", -20.0), Point("b", 30.0)], title="difference"))
    assert ">20<" in svg
    assert "e+1" not in svg


def test_the_regions_of_a_prediction_stand_on_a_tinted_ground() -> None:
    spec = region_chart.regions(TWO_REGIONS, highlight=[2]).to_dict()
    assert spec["layer"][0]["mark"]["style"] == "ground"
    assert {row["region"] for row in data(spec) if row.get("marked")} == {"2\nverb"}


def test_a_marked_region_that_is_not_there_changes_nothing() -> None:
    spec = region_chart.regions(TWO_REGIONS, highlight=[9]).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]


def test_a_chart_in_a_page_takes_every_colour_from_the_page() -> None:
    text = json.dumps(vega.page_spec(region_chart.regions(TWO_REGIONS, highlight=[2])))
    assert re.findall(r"#[0-9a-f]{6}", re.sub(r"var\(--chart-[a-z0-9]+, #[0-9a-f]{6}\)", "", text)) == []


def test_a_chart_in_a_file_has_plain_colours() -> None:
    text = json.dumps(vega.spec(region_chart.regions(TWO_REGIONS, highlight=[2])))
    assert "var(" not in text
    assert "#0072b2" in text


@pytest.mark.parametrize("colour", vega.PALETTE)
def test_every_colour_stands_out_from_white_and_from_the_tinted_ground(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, vega.COLOURS["marked"]) >= 3


def test_the_picture_shows_markup_in_names_as_text() -> None:
    means = [RegionMean(EVIL, 1, EVIL, 1.0, 0.5, 1.5, 3)]
    svg = vega.page_svg(region_chart.regions(means))
    assert "<script" not in svg
    assert "&lt;/script&gt;" in svg


def test_the_script_can_stand_inside_a_page() -> None:
    script = vega.javascript()
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "vegaEmbed" in script


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.html", b"<!DOCTYPE html>"), ("a.JSON", b"{")],
)
def test_a_chart_is_kept_as_its_suffix_says(tmp_path: Path, name: str, start: bytes) -> None:
    chart_files.save(accuracy(TWO_SUITES), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_chart_kept_as_html_asks_nothing_of_the_network_and_shows_markup_as_text(tmp_path: Path) -> None:
    chart_files.save(accuracy([Point(EVIL, 0.5)]), tmp_path / "a.html")
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "src=" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert EVIL not in html


def test_an_unknown_suffix_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'\.gif'.*\.svg, \.png, \.pdf, \.html, \.json"):
        chart_files.save(accuracy(TWO_SUITES), tmp_path / "a.gif")


def test_a_folder_that_is_not_there_is_an_error_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.*cannot be written"):
        chart_files.save(accuracy(TWO_SUITES), tmp_path / "nowhere" / "a.json")


def test_without_altair_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"wug\[report\]"):
        accuracy(TWO_SUITES)


def test_without_vl_convert_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = accuracy(TWO_SUITES)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"wug\[report\]"):
        vega.page_svg(chart)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def chance_layers(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The layers of a chart that show chance levels."""
    layers = accuracy(points).to_dict()["layer"]
    return [layer for layer in layers if str(layer["mark"].get("style", "")).startswith("chance")]


def test_one_chance_level_is_a_labelled_line_through_all_rows() -> None:
    [rule, label] = chance_layers([point._replace(chance=0.5) for point in TWO_SUITES])
    assert rule["mark"]["type"] == "rule"
    assert label["data"]["values"] == [{"chance": 0.5, "text": "chance 50%"}]


def test_different_chance_levels_are_short_lines_in_their_rows() -> None:
    [ticks] = chance_layers(
        [point._replace(chance=chance) for point, chance in zip(TWO_SUITES, (0.5, 0.25), strict=True)]
    )
    assert ticks["data"]["values"] == [
        {"row": "Agreement\nnumber", "chance": 0.5},
        {"row": "Licensing\nnpi", "chance": 0.25},
    ]
    assert grouped.chance_note([Point("a", 1.0, chance=0.5), Point("b", 1.0)]).startswith(" Short grey lines")


def test_a_histogram_of_few_items_has_each_whole_number_once_on_its_axis() -> None:
    bins = [charts.HistogramBin(low, low + 0.5, count, "right") for low, count in ((0.0, 2), (0.5, 1))]
    svg = vega.page_svg(charts.histogram(bins, title="margin", what="pairs", colours={}))
    assert re.findall(r">(\d)</text>", svg) == ["0", "1", "2"]


def test_without_a_chance_level_there_is_no_line() -> None:
    assert chance_layers(TWO_SUITES) == []


def test_a_curve_without_intervals_does_not_say_that_it_has_them() -> None:
    for low, words in ((None, ""), (0.1, "With 95% intervals")):
        points = tuple(CurvePoint(step, 0.5, low, low and 0.9, 1, None, (1,)) for step in (1.0, 2.0))
        [figure] = curve_figures(Curves((Curve("s", "pairs", "score", "", "m", False, points),), ()))
        assert figure.note.partition(";")[0] == words


def test_a_figure_in_a_file_says_what_it_shows() -> None:
    figure = Figure(
        id="a",
        draw=partial(accuracy, TWO_SUITES),
        title="Accuracy",
        note="Dots with 95% intervals.",
        columns=(),
        rows=(),
        about="number, npi · gpt2 · n = 20",
    )
    title = vega.spec(chart_files.titled_chart(figure))["title"]
    assert title == {"text": ["Accuracy"], "subtitle": ["number, npi · gpt2 · n = 20", "Dots with 95% intervals."]}
    svg = vega.CHART_WRITERS[".svg"](vega.spec(chart_files.titled_chart(figure))).decode()
    assert "number, npi · gpt2 · n = 20" in svg
