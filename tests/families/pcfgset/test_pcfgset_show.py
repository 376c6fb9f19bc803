"""What there is to see of PCFG SET: curves, functions, trees of answers, the profile over epochs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

import wug
from fake_models import FakeGenerator
from html_helpers import EVIL, check_escaped, read, tainted_outcomes
from wug.evaluation.evaluate import build_result
from wug.families import pcfgset as family
from wug.families.pcfgset import view
from wug.families.pcfgset import view_localism as localism
from wug.families.pcfgset.language import FUNCTIONS, answer
from wug.families.pcfgset.overgeneralisation import score_exceptions
from wug.families.pcfgset.view_localism import MAX_NODES
from wug.interfaces import Suite
from wug.outcomes import Estimate, Outcome, Result, Signature, SuiteOutput
from wug.results.average import averages
from wug.results.queries import table_of
from wug.stats import estimates
from wug.views import charts
from wug.views.charts import LinePoint, StackedBar
from wug.views.family_views import SampledGroup, computed_parts, intro_of, items_of, parts_of, sampled_groups
from wug.views.parts import CountsPart, DeferredPart, EstimatesPart, Figure, ItemView, LinesPart, TextPart, TreePart
from wug.views.report import ReportedResult, render

BUILT_IN = Path(wug.__file__).parent / "assets" / "suites" / "pcfgset"
LINES = ["copy A1 B2", "repeat A1 B2", "append repeat A1 B2 , C3 D4", "reverse echo A1 B2"]


def concluded(suite: Suite, rows: Iterable[SuiteOutput], model: str = "toy/mistaken") -> Result:
    return build_result(suite, model, f"wug:0.1.0|suite:{suite.name}|model:{model}", rows)


def written(folder: Path, files: Mapping[str, Sequence[str]]) -> Path:
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("suite", sorted(path.name for path in BUILT_IN.iterdir() if path.is_dir()))
def test_the_page_of_each_built_in_suite_begins_with_its_question(suite: str) -> None:
    (result,) = wug.run(suite, "oracle:pcfgset", limit=2)
    rows = table_of(result.outcomes)
    assert intro_of(result, rows, items_of(result, rows)).question == view.QUESTIONS[suite]


def ran(folder: Path, files: Mapping[str, Sequence[str]], answers: Mapping[str, str]) -> Result:
    """The one test of a folder, run on an interpreter that errs as told."""
    [suite] = family.read(written(folder, files), {})
    return concluded(suite, suite.run(FakeGenerator(lambda source: answers.get(source, answer(source)))))


def plain(folder: Path, answers: Mapping[str, str], lines: Sequence[str] = LINES) -> Result:
    return ran(folder, {"test.src": lines, "test.tgt": [answer(line) for line in lines]}, answers)


def unrolled(folder: Path, answers: Mapping[str, str]) -> Result:
    """Two samples: `append echo A1 B2 , reverse C3 D4` in three steps, `copy copy A1 B2` in two."""
    lines = [
        "unrolled\techo A1 B2\t*1",
        "unrolled\treverse C3 D4\t*2",
        "unrolled\tappend *1 , *2\tA1 B2 B2 D4 C3",
        "original\tappend echo A1 B2 , reverse C3 D4\tA1 B2 B2 D4 C3",
        "unrolled\tcopy A1 B2\t*1",
        "unrolled\tcopy *1\tA1 B2",
        "original\tcopy copy A1 B2\tA1 B2",
    ]
    return ran(folder, {"unrolled_test.tsv": lines}, answers)


def twins(folder: Path, answers: Mapping[str, str]) -> Result:
    sources = ["repeat A1 B2", "copy append A1 B2 , C3 D4"]
    files = {
        "test.src": sources,
        "test.tgt": [answer(source) for source in sources],
        "test_twin.src": ["repeat_twin A1 B2", "copy append_twin A1 B2 , C3 D4"],
        "test_twin.tgt": [answer(source) for source in sources],
    }
    return ran(folder, files, answers)


def exceptions(folder: Path, answers: Mapping[str, str]) -> Result:
    sources = ["reverse echo A1 B2", "copy reverse echo A1 B2 C3"]
    stem = "test_pcfg_ratio=0.1"
    files = {
        f"{stem}_exception.src": sources,
        f"{stem}_exception.tgt": ["A1 B2 B2", "A1 B2 C3 C3"],
        f"{stem}_original.src": sources,
        f"{stem}_original.tgt": [answer(source) for source in sources],
    }
    return ran(folder, files, answers)


def log(folder: Path, shares: Sequence[tuple[float, float]]) -> Result:
    """A log of epochs with overgeneralisation and memorisation in each."""
    path = folder / "ratio=0.1_run=1.txt"
    lines = []
    for epoch, (rules, exception) in enumerate(shares, 1):
        lines += [f"Epoch {epoch}", f"Adapted - Sequence Accuracy: {exception}"]
        lines += [f"Original - Sequence Accuracy: {rules}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = score_exceptions(path)
    return concluded(found.suite, found.rows, f"file/{shares[0][0]}")


Shown = TypeVar("Shown")


def parts(result: Result, kind: type[Shown]) -> list[Shown]:
    """The parts of a kind, those that wait for someone to ask among them."""
    return [part for part in computed_parts(parts_of(result, table_of(result.outcomes))) if isinstance(part, kind)]


def figure(result: Result, title: str) -> Figure:
    [found] = [one for one in parts(result, Figure) if one.title == title]
    return found


def sampled(result: Result, room: int = 200) -> list[SampledGroup]:
    """The items that a page with so much room shows, group by group."""
    rows = table_of(result.outcomes)
    items = items_of(result, rows)
    [sample] = items.samples
    return sampled_groups(items, sample, rows, room)


def only_item(result: Result) -> ItemView:
    """The one item that a page shows."""
    [batch] = sampled(result)
    [(_, item)] = batch.items
    return item


def layers(chart: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.to_dict()["layer"]
    return found


def test_accuracy_by_function_distinguishes_outermost_from_anywhere(tmp_path: Path) -> None:
    found = figure(plain(tmp_path, {"repeat A1 B2": "A1 B2"}), "Accuracy by function")
    assert [row[:3] for row in found.rows if row[0] == "repeat"] == [
        ("repeat", "outermost", "0.0%"),
        ("repeat", "anywhere in it", "50.0%"),
    ]


def test_functions_stand_in_the_order_of_the_language(tmp_path: Path) -> None:
    found = figure(plain(tmp_path, {}), "Accuracy by function")
    assert list(dict.fromkeys(row[0] for row in found.rows)) == ["copy", "reverse", "repeat", "echo", "append"]


def test_lines_of_one_function_each_need_no_second_dot(tmp_path: Path) -> None:
    found = figure(plain(tmp_path, {}, LINES[:2]), "Accuracy by function")
    assert found.columns == ("function", "accuracy", "interval", "n")


@pytest.mark.parametrize("title", ["Accuracy by depth", "Accuracy by number of functions", "Accuracy by length"])
def test_there_is_a_curve_by_depth_functions_and_length(tmp_path: Path, title: str) -> None:
    found = figure(plain(tmp_path, {}), title)
    assert [layer["mark"]["type"] for layer in layers(found.chart)] == ["area", "line", "point"]
    assert [float(row[0]) for row in found.rows] == sorted(float(row[0]) for row in found.rows)


def test_pairs_that_systematicity_holds_out_have_their_chart(tmp_path: Path) -> None:
    lines = ["append remove_second A1 B2 , C3 D4 , E5 F6", "repeat remove_second A1 B2 , C3 D4", "copy A1 B2"]
    found = figure(
        plain(tmp_path, {lines[0]: ""}, lines), "Accuracy on pairs of functions that systematicity holds out"
    )
    assert [row[:2] for row in found.rows] == [
        ("repeat remove_second", "100.0%"),
        ("append remove_second", "0.0%"),
    ]


def test_points_of_few_items_are_in_the_table_alone() -> None:
    cells = {"1": 40, "2": 30, "3": 20, "4": 2}
    outcomes = [Outcome(f"{d}/{n}", "accuracy", True, {"depth": d}) for d, many in cells.items() for n in range(many)]
    result = Result("s", "pcfgset", "m", "complete", Signature.read(""), 92, tuple(estimates(outcomes)))
    found = figure(result, "Accuracy by depth")
    assert [row["x"] for row in found.chart.to_dict()["data"]["values"]] == [1, 2, 3]
    assert [row[0] for row in found.rows] == ["1", "2", "3", "4"]
    assert "fewer than 10" in found.note


def test_a_wrong_answer_stands_beside_its_target_with_the_difference_marked(tmp_path: Path) -> None:
    page = render([ReportedResult(plain(tmp_path, {"copy A1 B2": "A1 C3"}))])
    assert "A1 <ins>B2</ins>" in page
    assert "A1 <del>C3</del>" in page
    assert "copy 1 of 1 wrong Item 1 source copy A1 B2 target A1 B2 ✗ answer A1 C3" in read(page).text


@pytest.mark.parametrize(("said", "note"), [("A1", "stops too early"), ("", "no answer"), ("B2 A1", "")])
def test_an_answer_that_ends_too_early_is_called_so(tmp_path: Path, said: str, note: str) -> None:
    assert only_item(plain(tmp_path, {"copy A1 B2": said})).note == note


def test_an_empty_answer_is_shown_as_nothing(tmp_path: Path) -> None:
    assert "answer (nothing)" in read(render([ReportedResult(plain(tmp_path, {"copy A1 B2": ""}))])).text


def test_increasing_length_has_a_line_for_each_function(tmp_path: Path) -> None:
    strings = ["A1 B2", "A1 B2 C3"]
    lines = [f"{name} {string}" for name in ("copy", "echo") for string in strings]
    files = {"increasing_length.src": lines, "increasing_length.tgt": [answer(line) for line in lines]}
    found = figure(ran(tmp_path, files, {"echo A1 B2 C3": ""}), "Accuracy as strings grow")
    assert [row[:3] for row in found.rows] == [
        ("copy", "2", "100.0%"),
        ("copy", "3", "100.0%"),
        ("echo", "2", "100.0%"),
        ("echo", "3", "0.0%"),
    ]


def test_ten_lines_are_distinguished_by_colour_shape_and_dash() -> None:
    points = [LinePoint(x, 0.5, 0.4, 0.6, 50, name) for name in FUNCTIONS for x in (2, 3)]
    interval, line, dot = layers(charts.curves(points, x="length", title="accuracy"))
    dashes = line["encoding"]["strokeDash"]["scale"]["range"]
    shapes = dot["encoding"]["shape"]["scale"]["range"]
    assert len({(place % 8, str(dash)) for place, dash in enumerate(dashes)}) == 10
    assert len(set(shapes)) == 10
    assert interval["mark"]["type"] == "rule"
    places = {row["at"] for row in charts.curves(points, x="length", title="accuracy").to_dict()["data"]["values"]}
    assert len(places) == 20  # no point on another


def test_a_curve_of_one_series_needs_no_legend() -> None:
    points = [LinePoint(x, 0.5) for x in (1, 2)]
    chart = charts.curves(points, x="depth", title="accuracy").to_dict()
    assert {layer["encoding"]["color"]["legend"] for layer in chart["layer"]} == {None}
    assert "params" not in chart


def test_parts_of_a_row_have_the_given_colours() -> None:
    parts = [StackedBar("all", "equal", 0.75, 3), StackedBar("all", "not equal", 0.25, 1)]
    [bars] = layers(charts.shares(parts, title="share", colours={"not equal": 4}))
    colour = bars["encoding"]["color"]
    assert [colour["scale"]["domain"].index(name) for name in ("equal", "not equal")] == [0, 3]
    assert colour["legend"]["values"] == ["equal", "not equal"]


LOCAL_WRONG = {"echo A1 B2": "A1 B2", "append A1 B2 , D4 C3": "A1"}
"""The step `echo` is wrong, and so is `append`, given what `echo` said."""


def test_consistency_and_both_accuracies_are_curves_over_steps(tmp_path: Path) -> None:
    found = figure(unrolled(tmp_path, LOCAL_WRONG), "Consistency by number of steps")
    assert [row[:3] for row in found.rows] == [
        ("consistent", "2", "100.0%"),
        ("consistent", "3", "0.0%"),
        ("right as a whole", "2", "100.0%"),
        ("right as a whole", "3", "100.0%"),
        ("right step by step", "2", "100.0%"),
        ("right step by step", "3", "0.0%"),
    ]


def test_a_sample_is_a_tree_with_the_first_wrong_step_marked(tmp_path: Path) -> None:
    result = unrolled(tmp_path, LOCAL_WRONG)
    assert [(batch.name, batch.count, batch.total) for batch in sampled(result)] == [("3 steps", 1, 1)]
    item = only_item(result)
    tree, _ = item.parts
    assert isinstance(tree, TreePart)
    assert [(node.function, node.state) for node in tree.nodes] == [
        ("append", "later"),
        ("echo", "first"),
        ("", ""),
        ("reverse", ""),
        ("", ""),
    ]
    assert item.note == "first wrong: echo"


def test_the_tree_is_nested_lists_that_close(tmp_path: Path) -> None:
    page = render([ReportedResult(unrolled(tmp_path, LOCAL_WRONG))])
    seen = read(page)
    assert seen.unbalanced == []
    tree = page[page.index('<div class="tree">') : page.index("Signature")]
    signs = {"<ul": "[", "</ul": "]", "<li": "(", "</li": ")"}
    shape = "".join(signs[tag] for tag in re.findall(r"</?(?:ul|li)\b", tree[: tree.index("</div>")]))
    # append, below it echo with its string, and reverse with its own.
    assert shape == "[([([()])([()])])]"
    assert "echo A1 B2 ✗ first wrong here right: A1 B2 B2" in seen.text


def test_right_steps_with_a_wrong_whole_are_called_so(tmp_path: Path) -> None:
    result = unrolled(tmp_path, {"copy copy A1 B2": "B2"})
    item = only_item(result)
    _, lines = item.parts
    assert isinstance(lines, LinesPart)
    assert item.note == "every step is right, the whole is not"
    assert [line.label for line in lines.lines] == ["target", "✓ step by step", "✗ as a whole"]


def test_a_very_deep_tree_is_cut_and_says_so(tmp_path: Path) -> None:
    depth = 3000
    steps = [{"source": "copy A1", "inputs": ["A1"], "answer": "A1", "right": "A1", "diverges": False}]
    steps += [{**steps[0], "inputs": [place]} for place in range(depth)]
    detail = {"source": "", "target": "A1", "answer": "B2", "steps": steps}
    outcome = Outcome("1", "consistency", False, {"steps": str(depth)}, detail)
    made = (outcome, Outcome("1", "unrolled_accuracy", True), Outcome("1", "original_accuracy", False))
    result = Result("s", "pcfgset", "m", "complete", Signature.read(""), 1, tuple(estimates(made)), outcomes=made)
    tree, _ = only_item(result).parts
    assert isinstance(tree, TreePart)
    assert len(tree.nodes) == MAX_NODES
    seen = read(render([ReportedResult(result)]))
    assert seen.unbalanced == []
    assert "The rest of this tree is left out." in seen.text


def test_how_whole_and_steps_go_together_is_counted(tmp_path: Path) -> None:
    [tally] = parts(unrolled(tmp_path, LOCAL_WRONG), CountsPart)
    assert [row[:2] for row in tally.rows] == [("consistent, right", 1), ("not consistent, only the whole right", 1)]


def test_single_steps_are_judged_by_the_inputs_that_they_were_given(tmp_path: Path) -> None:
    found = figure(unrolled(tmp_path, {"echo A1 B2": "A1 B2"}), "Single steps by function")
    assert [(row[0], row[1]) for row in found.rows] == [
        ("copy", "100.0%"),
        ("reverse", "100.0%"),
        ("echo", "0.0%"),
        ("append", "100.0%"),
    ]


def test_the_two_answers_of_substitutivity_are_shares_of_each_function(tmp_path: Path) -> None:
    found = figure(twins(tmp_path, {"repeat_twin A1 B2": "A1 B2"}), "The two answers, by function")
    assert found.rows[:3] == (
        ("all functions", "equal and right", "50.0%", "1"),
        ("all functions", "equal and wrong", "0.0%", "0"),
        ("all functions", "not equal", "50.0%", "1"),
    )
    rows = {row[0]: row[2] for row in found.rows if row[1] == "not equal"}
    assert rows == {"all functions": "50.0%", "repeat": "100.0%", "append": "0.0%"}


def test_answers_that_differ_show_the_twin_and_which_is_right(tmp_path: Path) -> None:
    page = render([ReportedResult(twins(tmp_path, {"repeat_twin A1 B2": "A1 B2"}))])
    assert "<mark>repeat_twin</mark> A1 B2" in page
    text = read(page).text
    assert "repeat 1 of 1 differ Item 1 only the first is right" in text
    assert "✓ answer A1 B2 A1 B2 ✗ answer with synonym A1 B2" in text


def test_the_profile_over_epochs_names_its_first_peak(tmp_path: Path) -> None:
    result = log(tmp_path, [(0.0, 0.0), (0.5, 0.125), (0.75, 0.25), (0.75, 0.5)])
    chart = figure(result, "Exceptions over the epochs").chart.to_dict()
    assert "peak 75.0%, epoch 3" in json.dumps(chart, ensure_ascii=False)
    assert '"domain": ["overgeneralisation", "memorisation"]' in json.dumps(chart)


def test_the_values_of_a_log_are_in_per_cent_and_the_epoch_is_none(tmp_path: Path) -> None:
    found = parts(log(tmp_path, [(0.25, 0.0), (0.75, 0.5)]), EstimatesPart)
    assert {row.metric: row.text for numbers in found for row in numbers.rows} == {
        "overgeneralisation_peak": "75.0%",
        "peak_epoch": "2",
        "memorisation_final": "50.0%",
        "memorisation_max": "50.0%",
    }


def test_a_log_in_which_nothing_is_overgeneralised_has_no_peak(tmp_path: Path) -> None:
    chart = figure(log(tmp_path, [(0.0, 0.0), (0.0, 0.5)]), "Exceptions over the epochs").chart.to_dict()
    assert "peak" not in json.dumps(chart)


def test_the_mean_of_several_logs_has_a_band_and_no_peak(tmp_path: Path) -> None:
    [mean] = averages([log(tmp_path, [(0.25, 0.0), (0.5, 0.5)]), log(tmp_path, [(0.75, 0.0), (0.5, 0.5)])])
    found = figure(mean, "Exceptions over the epochs")
    assert found.rows[0] == ("overgeneralisation", "1", "50.0%", "± 35.4", "2")
    assert "peak" not in json.dumps(found.chart.to_dict())
    assert parts(mean, TextPart) == [TextPart("Means of 2, with one standard deviation either side.")]


def test_how_exceptions_are_answered_comes_by_pair_and_for_two_functions(tmp_path: Path) -> None:
    found = figure(exceptions(tmp_path, {"reverse echo A1 B2": "A1 B2 B2"}), "How exceptions are answered")
    shares = {(row[0], row[1]): row[2] for row in found.rows}
    assert shares["all exceptions", "by the rules"] == "50.0%"
    assert shares["of two functions", "as an exception"] == "100.0%"
    assert shares["reverse echo", "otherwise"] == "0.0%"


def test_an_answer_to_an_exception_says_which_reading_it_is(tmp_path: Path) -> None:
    result = exceptions(tmp_path, {"reverse echo A1 B2": "A1 B2 B2", "copy reverse echo A1 B2 C3": "Z1"})
    [batch] = sampled(result)
    assert [(item.note, item.fails) for _, item in batch.items] == [
        ("answered as an exception", False),
        ("answered otherwise", True),
    ]
    assert "reverse echo 0 of 2 by the rules" in read(render([ReportedResult(result)])).text


def test_each_test_has_the_headline_of_the_paper(tmp_path: Path) -> None:
    made: list[tuple[Callable[[Path], Result], str]] = [
        (lambda folder: plain(folder, {}), "accuracy"),
        (lambda folder: unrolled(folder, {}), "consistency"),
        (lambda folder: twins(folder, {}), "consistency"),
        (lambda folder: exceptions(folder, {}), "overgeneralisation"),
        (lambda folder: log(folder, [(0.5, 0.0)]), "overgeneralisation_peak"),
    ]
    for number, (make, metric) in enumerate(made):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = make(folder).headline
        assert found is not None
        assert found.metric == metric


def test_means_over_runs_have_their_curves_and_no_answers(tmp_path: Path) -> None:
    runs = [
        plain(tmp_path, {}),
        replace(plain(tmp_path, {"copy A1 B2": ""}), signature=Signature.read("wug:0.1.0|suite:x|model:b")),
    ]
    [mean] = averages([replace(runs[0], signature=Signature.read("wug:0.1.0|suite:x|model:a")), runs[1]])
    assert sampled(mean) == []
    assert parts(mean, EstimatesPart)[0].rows[0].text == "87.5%"
    assert "standard deviation" in figure(mean, "Accuracy by depth").note


def test_a_result_without_anything_still_has_its_section() -> None:
    result = Result("s", "pcfgset", "m", "failed", Signature.read(""), 0, ())
    assert "failed" in read(render([ReportedResult(result)])).text


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    lines = [f"copy A{n} B{n}" for n in range(1, 13)] + [f"echo A{n} B{n}" for n in range(1, 3)]
    result = plain(tmp_path, dict.fromkeys(lines, "Z1"), lines)
    assert [(batch.name, len(batch.items), batch.remainder) for batch in sampled(result, room=5)] == [
        ("copy", 3, 9),
        ("echo", 2, 0),
    ]


def test_the_page_says_how_many_are_left_out_with_the_command_that_has_them(tmp_path: Path) -> None:
    lines = [f"copy A{n % 20 + 1} B{n // 20 + 1}" for n in range(203)]
    page = render([ReportedResult(plain(tmp_path, dict.fromkeys(lines, "Z1"), lines), run=7)])
    assert "3 more items of these are left out to keep this page small." in read(page).text
    assert "wug export 7 --to csv" in page


def test_samples_stand_by_their_number_of_steps(tmp_path: Path) -> None:
    made = [
        outcome
        for number, steps in enumerate((10, 2, 1))
        for outcome in (
            Outcome(str(number), "consistency", False, {"steps": str(steps)}),
            Outcome(str(number), "unrolled_accuracy", False, {"steps": str(steps)}),
        )
    ]
    result = Result(
        "s", "pcfgset", "m", "complete", Signature.read(""), 3, tuple(estimates(made)), outcomes=tuple(made)
    )
    assert [batch.name for batch in sampled(result)] == ["1 step", "2 steps", "10 steps"]


def test_of_very_many_samples_single_steps_of_the_first_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = unrolled(tmp_path, {"copy A1 B2": "B2"})
    every = figure(result, "Single steps by function")
    assert "first" not in every.note
    monkeypatch.setattr(localism, "MAX_SAMPLES", 1)
    first = figure(result, "Single steps by function")
    assert first.note.endswith("Only the first 1 samples.")
    assert {row[0] for row in first.rows} == {"reverse", "echo", "append"} < {row[0] for row in every.rows}


def test_what_looks_at_every_sample_waits_until_it_is_requested(tmp_path: Path) -> None:
    result = unrolled(tmp_path, LOCAL_WRONG)
    waiting = [part.id for part in parts_of(result, table_of(result.outcomes)) if isinstance(part, DeferredPart)]
    assert waiting == ["together", "single", "inputs"]


@pytest.mark.parametrize(
    ("answers", "note", "fails"),
    [
        ({}, "equal and right", False),
        (dict.fromkeys(["repeat A1 B2", "repeat_twin A1 B2"], "Z1"), "equal and wrong", False),
        ({"repeat A1 B2": "Z1"}, "only the second is right", True),
        ({"repeat A1 B2": "Z1", "repeat_twin A1 B2": "Y1"}, "both are wrong", True),
    ],
)
def test_a_pair_of_twins_says_which_of_them_is_right(
    tmp_path: Path, answers: Mapping[str, str], note: str, fails: bool
) -> None:
    result = twins(tmp_path, answers)
    rows = table_of(result.outcomes)
    first = rows.at(0)
    item = items_of(result, rows).show(first, rows.same_item(first))
    assert (item.note, item.fails) == (note, fails)


def test_a_sample_without_a_wrong_step_says_so(tmp_path: Path) -> None:
    result = unrolled(tmp_path, {})
    rows = table_of(result.outcomes)
    first = rows.at(0)
    assert items_of(result, rows).show(first, rows.same_item(first)).note == "every step is right"


def test_markup_in_sources_and_answers_is_shown_as_text(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    results = [
        plain(folders[0], {"copy A1 B2": "Z1"}),
        unrolled(folders[1], LOCAL_WRONG),
        twins(folders[2], {"repeat_twin A1 B2": "A1 B2"}),
        exceptions(folders[3], {}),
    ]
    seen = read(render([ReportedResult(tainted(result)) for result in results]))
    check_escaped(seen)


def tainted(result: Result) -> Result:
    """The result with markup in its items, groups and details."""
    outcomes = tainted_outcomes(result)
    kept: list[Estimate] = [e for e in result.estimates if e.group.startswith(("contains=", "pair="))]
    more = [replace(e, group=e.group + EVIL) for e in kept]
    return replace(result, outcomes=tuple(outcomes), estimates=(*estimates(outcomes), *more))
