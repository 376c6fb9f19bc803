"""What there is to see of a SyntaxGym suite: predictions, the chart of regions, items with their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import run_factory
from html_helpers import EVIL, check_escaped, read, taint
from wug.families.syntaxgym import view
from wug.families.syntaxgym.formula import parse
from wug.families.syntaxgym.view.regions import Conditions, ShownRegion, item_note, region_means, result_note
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature
from wug.results.queries import table_of
from wug.results.reader import RunReader
from wug.rows import Filter, Rows
from wug.views.family_views import computed_parts, figures_of, option_pages_of, sampled_groups
from wug.views.parts import (
    CardsPart,
    DeferredPart,
    EstimatesPart,
    FactsPart,
    Figure,
    ItemsView,
    ItemView,
    StatementsPart,
    TableCell,
    TablePart,
    TextPart,
    ViewPart,
)
from wug.views.report import ReportedResult, render
from wug.views.text_display import Piece

FORMULAS = ("(2;%match%) < (2;%mismatch%)", "(*;%match%) < (*;%mismatch%) + (3;%match%)")
BITS = {"1": (2.0, 8.0), "2": (4.0, 2.0), "3": (3.0, 9.0)}
"""The verb of each item in both conditions: the first prediction fails on the second item."""


def region(
    number: int, content: str, value: float | None, tokens: Sequence[tuple[str, float | None]]
) -> dict[str, Any]:
    return {"number": number, "content": content, "value": value, "oovs": [], "tokens": [list(one) for one in tokens]}


def sentence(verb: str, bits: float) -> dict[str, Any]:
    wugs = region(1, "The wugs", 7.5, [("The", None), (" w", 5.0), ("ugs", 2.5)])
    unknown = {**region(3, "gleep", 20.0, []), "oovs": ["gleep"]}
    return {"sentence": "", "regions": [wugs, region(2, verb, bits, [(f" {verb}", bits)]), unknown]}


def judged(item: str, match: float, mismatch: float) -> list[Outcome]:
    holds = match < mismatch
    compared = {"formula": FORMULAS[0], "left": match, "operator": "<", "right": mismatch, "holds": holds}
    whole = {"formula": FORMULAS[1], "left": float("inf"), "operator": "<", "right": 3.0, "holds": False}
    conditions = {"match": sentence("swim", match), "mismatch": sentence("swims", mismatch)}
    return [
        Outcome(item, "prediction_0", holds, {}, {"margin": mismatch - match, "comparisons": [compared]}),
        Outcome(item, "prediction_1", item != "3", {}, {"margin": None, "comparisons": [whole]}),
        Outcome(item, "all_predictions", holds and item != "3", {}, {"conditions": conditions}),
        Outcome(item, "prediction_0/mean", True, {}, {"margin": 1.0, "comparisons": []}),
        Outcome(item, "all_predictions/mean", False),
    ]


def suite_result(items: int = 3, **changes: Any) -> Result:
    """Two predictions by the sum of the tokens, the first also by their mean."""
    rows = [row for place in range(items) for row in judged(str(place + 1), *BITS[str(place % 3 + 1)])]
    names = ("all_predictions", "prediction_0", "prediction_1", "all_predictions/mean", "prediction_0/mean")
    values = (1 / 3, 2 / 3, 2 / 3, 0.0, 1.0)
    made = run_factory.result(
        "agreement",
        "causal/gpt2@607a30d",
        rows,
        kind="syntaxgym",
        signature=Signature.read("wug:0.1.0|suite:agreement@1f3a9c|unit:bits"),
        estimates=tuple(Estimate(name, "all", value, 3) for name, value in zip(names, values, strict=True)),
        metrics=tuple(Metric(name, meaning=f"{name} holds") for name in names),
        meta={
            "regions": {"1": "subject", "2": "verb"},
            "formulas": [
                {"source": f"({text})", "canonical": text, "english": "plain", "regions": parse(text).atoms()}
                for text in FORMULAS
            ],
            "metric": ["sum", "mean"],
            "description": "Do verbs agree?",
            "author": "Jean",
            "tags": ["agreement"],
        },
    )
    return replace(made, **changes)


def parts(result: Result) -> list[ViewPart]:
    return list(computed_parts(view.parts(result, table_of(result.outcomes))))


def part(result: Result, kind: type[Any]) -> Any:
    [found] = [one for one in parts(result) if isinstance(one, kind)]
    return found


def shown(result: Result, item: str, metric: str) -> ItemView:
    rows = table_of(result.outcomes)
    [row] = [row for row in rows.each(Filter(metric)) if row.outcome.item == item]
    return view.items(result, rows).show(row, rows.same_item(row))


def table(item: ItemView) -> TablePart:
    [found] = [one for one in item.parts if isinstance(one, TablePart)]
    return found


def marked(item: ItemView) -> list[str]:
    return [column.name for column in table(item).columns if column.marked]


def test_the_parts_stand_in_the_order_of_reading() -> None:
    assert [type(one) for one in parts(suite_result())] == [Figure, EstimatesPart, CardsPart, TextPart, FactsPart]
    assert part(suite_result(), TextPart) == TextPart("Do verbs agree?", lead=True)
    assert part(suite_result(), FactsPart).values == {"author": "Jean", "tags": ["agreement"]}


def test_numbers_that_are_no_predictions_stand_by_themselves() -> None:
    assert [row.metric for row in part(suite_result(), EstimatesPart).rows] == [
        "all_predictions",
        "all_predictions/mean",
    ]


def test_a_card_has_meaning_formula_and_how_many_items_pass_and_fail() -> None:
    first, second, mean = part(suite_result(), CardsPart).cards
    assert [card.title for card in (first, second, mean)] == ["Prediction 1", "Prediction 2", "Prediction 1, mean"]
    assert (first.meaning, first.formula) == ("prediction_0 holds", FORMULAS[0])
    assert (first.source, first.estimate.text) == (f"({FORMULAS[0]})", "66.7%")
    assert set(first.conditions) == {"match", "mismatch"}
    assert [(card.passed, card.failed) for card in (first, second, mean)] == [(2, 1), (2, 1), (3, 0)]


def test_a_formula_equal_to_its_source_is_shown_once() -> None:
    alike = [{"source": FORMULAS[0].replace(" ", ""), "canonical": FORMULAS[0], "english": "said so"}]
    bare = tuple(replace(metric, meaning="") for metric in suite_result().metrics)
    card = part(suite_result(meta={"formulas": alike}, metrics=bare), CardsPart).cards[0]
    assert (card.source, card.meaning) == ("", "said so")


def test_a_mean_has_a_t_interval_from_five_items_on() -> None:
    # 1 to 5 bits: mean 3, standard error 0.7071, and Student's t for four degrees of freedom is 2.776.
    items: list[dict[str, tuple[ShownRegion, ...]]] = [
        {"match": (ShownRegion(2, "swims", float(bits), (), ()),)} for bits in range(1, 6)
    ]
    [mean] = region_means(items, {2: "verb"})
    assert (mean.value, mean.low, mean.high) == pytest.approx((3.0, 1.037, 4.963), abs=1e-3)
    [few] = region_means(items[:4], {2: "verb"})
    assert (few.value, few.low, few.high) == (2.5, None, None)


def test_the_chart_has_means_over_all_items_and_says_why_they_have_no_intervals() -> None:
    # 2, 4 and 3 bits.
    figure = part(suite_result(), Figure)
    assert ("2 verb", "match", "3", "–", "3") in figure.rows
    assert figure.columns == ("region", "condition", "mean (bits)", "95% interval", "items")
    assert figure.note.startswith("Means over 3 items (fewer than 5, so without intervals). Tinted:")
    assert figure.items == ("1", "2", "3")
    assert {row["region"] for row in figure.chart.to_dict()["data"]["values"] if row.get("marked")} == {
        "2\nverb",
        "3\n–",
    }


def test_the_chart_of_one_item_has_its_bits_and_no_interval() -> None:
    alone = part(suite_result(), Figure).item_figure
    figure = alone("2")
    assert [row[1:] for row in figure.rows if row[0] == "2 verb"] == [
        ("match", "4", "–", "1"),
        ("mismatch", "2", "–", "1"),
    ]
    assert (figure.columns[2], figure.note.split(". ")[0]) == ("bits", "Item 2")
    assert alone("no such item") is None


def test_of_very_many_items_the_chart_of_means_waits_until_someone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MANY", 2)
    result = suite_result()
    [later] = [one for one in view.parts(result, table_of(result.outcomes)) if isinstance(one, DeferredPart)]
    made_later, alone = later.make(), later.item_figure
    assert isinstance(made_later, Figure)
    assert made_later.rows == part(suite_result(), Figure).rows
    assert alone is not None
    assert alone("2") is not None


@pytest.mark.parametrize(
    ("known", "regions"),
    [
        ({"source": FORMULAS[0], "regions": [["verb", "match"], [3, "mismatch"]]}, ["2", "3"]),  # by its name
        ({"source": FORMULAS[0], "regions": [[1, "match"], ["*", "mismatch"]]}, ["1"]),
        ({"source": FORMULAS[0], "regions": []}, []),
        ({}, []),
    ],
)
def test_the_regions_that_a_prediction_compares_are_marked(known: dict[str, Any], regions: list[str]) -> None:
    result = suite_result()
    given = replace(result, meta={**result.meta, "formulas": [known]})
    assert marked(shown(given, "1", "prediction_0")) == regions


def test_a_prediction_s_row_marks_its_own_regions_and_the_row_of_all_those_of_all() -> None:
    assert marked(shown(suite_result(), "1", "prediction_0")) == ["2"]
    assert marked(shown(suite_result(), "1", "prediction_1")) == ["3"]
    assert marked(shown(suite_result(), "1", "all_predictions")) == ["2", "3"]


def test_a_row_of_a_prediction_has_its_margin_and_both_sides_of_its_comparisons() -> None:
    item = shown(suite_result(), "2", "prediction_0")
    assert (item.note, item.fails, item.failed_metrics, item.sentence) == (
        "margin −2.00 bits",
        True,
        (),
        "The wugs swim gleep",
    )
    [verdicts] = [one for one in item.parts if isinstance(one, StatementsPart)]
    assert [(row.holds, row.text, row.code) for row in verdicts.rows] == [(False, "4.00 ≥ 2.00", FORMULAS[0])]


def test_a_side_that_is_infinite_says_so() -> None:
    [verdicts] = [one for one in shown(suite_result(), "1", "prediction_1").parts if isinstance(one, StatementsPart)]
    assert verdicts.rows[0].text == "∞ ≥ 3.00"


def test_the_row_of_all_predictions_names_those_that_fail() -> None:
    assert shown(suite_result(), "1", "all_predictions").failed_metrics == ()
    assert shown(suite_result(), "2", "all_predictions").failed_metrics == ("prediction_0",)
    assert shown(suite_result(), "3", "all_predictions").failed_metrics == ("prediction_1",)


def test_tokens_are_shaded_by_their_bits_and_a_region_of_several_has_its_value() -> None:
    # Two bits to a shade: 5 bits are in the third, 2.5 in the second; a token without any has none.
    found = table(shown(suite_result(), "1", "all_predictions"))
    assert [column.name for column in found.columns] == ["", "1", "2", "3"]
    assert [column.remark for column in found.columns] == ["", "subject", "verb", ""]
    (_, (first, second)) = found.groups[0]
    wugs = (
        Piece("The", value="–", shade="sx"),
        Piece("w", value="5.0", shade="s2"),
        Piece("ugs", value="2.5", shade="s1"),
    )
    assert first.cells[:2] == (TableCell("match"), TableCell(pieces=wugs, line_below="Σ 7.5"))
    assert second.cells[2] == TableCell(pieces=(Piece("swims", value="8.0", shade="s4"),))
    assert first.cells[3] == TableCell(pieces=(Piece("gleep", value="20.0", shade="s9"),), remark="unknown: gleep")


def test_another_metric_is_named_under_a_region() -> None:
    result = suite_result()
    mean = replace(result, meta={**result.meta, "metric": "mean"})
    assert table(shown(mean, "1", "all_predictions")).groups[0][1][0].cells[1].line_below == "mean 7.5"


def test_a_region_that_a_condition_lacks_leaves_its_cell_empty() -> None:
    result = suite_result()
    detail: dict[str, Any] = {"conditions": {"match": {"regions": [region(3, "gleep", None, [])]}}}
    given = replace(result, outcomes=(Outcome("1", "all_predictions", True, {}, detail),))
    cells = table(shown(given, "1", "all_predictions")).groups[0][1][0].cells
    assert cells[1:] == (TableCell(), TableCell(), TableCell(pieces=(Piece("gleep", value="–", shade="sx"),)))


def test_the_samples_are_the_items_on_which_each_prediction_fails_and_all_items() -> None:
    result = suite_result()
    rows = table_of(result.outcomes)
    items = view.items(result, rows)
    found = {sample.title: sampled_groups(items, sample, rows, 10) for sample in items.samples}
    names = {title: [row.outcome.item for batch in some for row, _ in batch.items] for title, some in found.items()}
    assert names == {
        "Prediction 1: items that fail": ["2"],
        "Prediction 2: items that fail": ["3"],
        "Prediction 1, mean: items that fail": [],
        "Item by item": ["1", "2", "3"],
    }
    [whole] = found["Item by item"]
    assert (whole.count, whole.total) == (2, 3)


def test_only_causal_models_can_count_the_ends_of_words_otherwise() -> None:
    assert [page.option for page in option_pages_of(suite_result())] == ["boundary"]
    assert option_pages_of(suite_result(model="lstm/gulordava")) == []


def test_a_suite_that_says_nothing_of_itself_is_shown_all_the_same() -> None:
    bare = suite_result(meta={}, estimates=(), metrics=())
    assert [type(one) for one in parts(bare)] == [Figure]
    assert view.items(bare, table_of(bare.outcomes)).metric == "all_predictions"
    assert parts(replace(bare, outcomes=(), model="lstm/x")) == []


def test_parts_and_items_are_the_same_in_memory_and_over_a_store(tmp_path: Path) -> None:
    result = suite_result(items=30)
    run_factory.keep(tmp_path / "wug.db", result)
    reader = RunReader(tmp_path / "wug.db")
    kept, _ = reader.result(1)
    stored: Rows = reader.rows(1)
    ours, theirs = (list(view.parts(kept, rows)) for rows in (table_of(result.outcomes), stored))
    assert list(map(_plain, ours)) == list(map(_plain, theirs))
    [figure], [again] = (list(figures_of(kept, rows)) for rows in (table_of(result.outcomes), stored))
    assert figure.chart.to_dict() == again.chart.to_dict()
    assert figure.item_figure is not None
    assert again.item_figure is not None
    assert _plain(figure.item_figure("2")) == _plain(again.item_figure("2"))
    assert _everything(view.items(kept, table_of(result.outcomes)), table_of(result.outcomes)) == _everything(
        view.items(kept, stored), stored
    )


def test_markup_in_any_name_is_shown_as_text() -> None:
    result = suite_result()
    renamed = {"match": f"match{EVIL}", "mismatch": f"mismatch{EVIL}"}
    evil = replace(
        result,
        outcomes=tuple(
            replace(row, item=row.item + EVIL, detail=taint(row.detail, renamed)) for row in result.outcomes
        ),
        metrics=tuple(replace(metric, meaning=metric.meaning + EVIL) for metric in result.metrics),
        meta=taint(result.meta, {}),
    )
    seen = read(render([ReportedResult(evil, run=7)]))
    check_escaped(seen)
    assert seen.text.count(" ".join(EVIL.split())) > 100


def _plain(one: Any) -> dict[str, Any]:
    """A part without what can only be called."""
    values = {field.name: getattr(one, field.name) for field in fields(one)}
    return {name: value for name, value in values.items() if not callable(value)}


def _everything(items: ItemsView, rows: Rows) -> list[ItemView]:
    return [items.show(row, rows.same_item(row)) for row in rows.each(Filter())]


def test_items_whose_compared_word_is_split_in_one_condition_only_say_so() -> None:
    def region(number: int, *tokens: str) -> ShownRegion:
        return ShownRegion(number, "".join(tokens), 1.0, tuple((token, 1.0) for token in tokens), ())

    split: Conditions = {
        "match": (region(1, "a"), region(2, "s", "ings")),
        "mismatch": (region(1, "a", "b"), region(2, "sing")),
    }
    same: Conditions = {
        "match": (region(1, "a"), region(2, "sings")),
        "mismatch": (region(1, "a", "b"), region(2, "sing")),
    }
    assert item_note(split, {2}) == "Region 2 has 1 token in mismatch and 2 tokens in match."
    assert item_note(same, {2}) == ""
    assert result_note([split, same, same], {2}).startswith("In 1 of 3 items, a compared region has more tokens")
    assert result_note([same], {2}) == ""
