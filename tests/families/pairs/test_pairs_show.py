"""What there is to see of minimal pairs: accuracy by group, margins, the pairs that fail."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import run_factory
from fake_models import FakeScorer, word_scores
from html_helpers import Seen, check_escaped, read, tainted_outcomes
from wug.evaluation.evaluate import build_result
from wug.families import pairs as family
from wug.families.pairs import view
from wug.families.pairs.view.figures import RIGHT, TIED, WRONG, histogram
from wug.formatting import number
from wug.outcomes import Estimate, Outcome, Result, Signature
from wug.results.queries import table_of
from wug.results.reader import RunReader
from wug.rows import Rows
from wug.stats import estimates
from wug.views import charts
from wug.views.family_views import computed_parts, sampled_groups
from wug.views.parts import CountsPart, FactsPart, Figure, ItemView, LabelledText, LinesPart, ViewPart
from wug.views.report import ReportedResult, render
from wug.views.text_display import Piece

BLIMP = [
    ("agreement_1", "agreement", "morphology", "The wugs swim.", "The wugs swims."),
    ("agreement_1", "agreement", "morphology", "The wug swims.", "The wug swim."),
    ("agreement_2", "agreement", "morphology", "Two wugs sing.", "Two wugs sings."),
    ("island", "island_effects", "syntax", "Who left the room?", "Who the room left?"),
    ("island", "island_effects", "syntax", "A wug ate.", "A wug ate."),
]


def blimp(folder: Path, rows: Sequence[tuple[str, str, str, str, str]] = BLIMP, **options: str) -> Result:
    """The pairs judged by a model to which `swims.` is improbable: 2 of 5 are right, one is tied, one identical."""
    keys = ("UID", "linguistics_term", "field", "sentence_good", "sentence_bad")
    lines = [json.dumps({**dict(zip(keys, row, strict=True)), "pairID": str(n)}) for n, row in enumerate(rows)]
    path = folder / "blimp.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [suite] = family.read(path, options)
    model = FakeScorer(word_scores({"swims.": -3.0, "sings.": -2.5}), "toy/weights")
    return build_result(suite, model.id, "wug:0.1.0|suite:blimp|target:sentence|normalise:none", suite.run(model))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return blimp(tmp_path_factory.mktemp("pairs"))


Kind = TypeVar("Kind", bound=ViewPart)


def parts(result: Result, rows: Rows | None = None) -> list[ViewPart]:
    """All parts, those that wait for someone to ask among them."""
    return list(computed_parts(view.parts(result, table_of(result.outcomes) if rows is None else rows)))


def of(kind: type[Kind], result: Result) -> list[Kind]:
    """The parts of one kind."""
    return [part for part in parts(result) if isinstance(part, kind)]


def figure(result: Result, title: str) -> Figure:
    [found] = [one for one in of(Figure, result) if one.title.startswith(title)]
    return found


def item(result: Result, name: str) -> ItemView:
    """How one pair is shown."""
    rows = table_of(result.outcomes)
    shown = view.items(result, rows)
    [row] = [row for row in map(rows.at, range(len(result.outcomes))) if row.outcome.item == name]
    return shown.show(row, rows.same_item(row))


def lines(shown: ItemView) -> tuple[LabelledText, ...]:
    [part] = shown.parts
    assert isinstance(part, LinesPart)
    return part.lines


def rows_of(found: Figure) -> list[str]:
    """The rows of a dot chart from top to bottom, headings included."""
    layers: list[dict[str, Any]] = found.chart.to_dict()["layer"]
    domain: list[str] = layers[-1]["encoding"]["y"]["scale"]["domain"]
    return domain


def published(values: Sequence[tuple[float, float]]) -> Result:
    """Published scores of two original and two nonce pairs, as the family yields them."""
    kinds = ("original", "original", "nonce", "nonce")
    outcomes = [
        Outcome(
            f"across/1/{number}",
            "accuracy",
            good > bad,
            {"pattern": "across", "type": kind, "pattern_type": f"across/{kind}"},
            {"good": good, "bad": bad, "forms": "swim/swims"},
        )
        for number, (kind, (good, bad)) in enumerate(zip(kinds, values, strict=True))
    ]
    return run_factory.result("agreement", "file/scores", outcomes, signature=Signature.read("wug:0.1.0"))


FIRST = [(-1.0, -2.0), (-1.0, -3.0), (-5.0, -2.0), (-2.0, -4.0)]


def test_accuracy_by_field_and_phenomenon_stands_under_headings_best_first(result: Result) -> None:
    found = figure(result, "Accuracy by field and phenomenon")
    assert rows_of(found) == [
        "field\n",
        "field\nmorphology",
        "field\nsyntax",
        "phenomenon\n",
        "phenomenon\nagreement",
        "phenomenon\nisland_effects",
    ]
    assert found.rows[0] == ("field", "morphology", "66.7%", "[20.8, 93.9]", "3")


def test_margins_by_group_are_means_in_bits_with_a_line_at_0(result: Result) -> None:
    found = figure(result, "Margin by field, paradigm, phenomenon")
    assert found.columns == ("group", "field", "margin (bits)", "interval", "n")
    bits = {row[1]: row[2] for row in found.rows if row[0] == "field"}
    # swims. costs 3 nats and every other word 1: two nats for, two against, and one and a half for sings.
    assert bits == {"morphology": number((2.0 - 2.0 + 1.5) / 3 / math.log(2)), "syntax": "0"}
    assert found.records[0]["margin (bits)"] == pytest.approx(0.5 / math.log(2))
    assert '"zero": 0' in json.dumps(found.chart.to_dict())


def test_every_paradigm_stands_under_its_phenomenon(result: Result) -> None:
    assert rows_of(figure(result, "Accuracy by paradigm")) == [
        "agreement\n",
        "agreement\nagreement_2",
        "agreement\nagreement_1",
        "island effects\n",
        "island effects\nisland",
    ]


def test_original_and_nonce_sentences_are_compared_pattern_by_pattern() -> None:
    found = figure(published(FIRST), "Accuracy on original and nonce sentences")
    assert found.columns == ("pattern", "type", "accuracy", "interval", "n")
    assert [row[:3] for row in found.rows] == [
        ("all pairs", "original", "100.0%"),
        ("all pairs", "nonce", "50.0%"),
    ]


def test_a_field_with_one_value_has_no_chart(tmp_path: Path) -> None:
    assert [one.title for one in of(Figure, blimp(tmp_path, BLIMP[:2]))] == ["Margins"]


def test_tied_identical_and_unjudged_pairs_are_counted(result: Result) -> None:
    [tally] = of(CountsPart, result)
    assert tally.rows == (
        ("tied", 1, "equal scores; counted as wrong"),
        ("identical", 1, "identical sentences; counted as wrong"),
    )


def test_pairs_that_were_not_judged_are_counted_with_the_reason(tmp_path: Path) -> None:
    rows = [*BLIMP[:2], ("a", "b", "c", "A wug or two wugs ate fish.", "Two wug or a wugs ate fish.")]
    [tally] = of(CountsPart, blimp(tmp_path, rows, target="word"))
    assert ("not judged", 1, "the two sentences differ in more than one place") in tally.rows


def test_a_tie_is_neither_right_nor_wrong() -> None:
    found = histogram([-1.0, 0.0, 0.25, 1.0], "log-probability (nats)")
    assert found is not None
    bars = [row for row in found.chart.to_dict()["data"]["values"] if row["count"]]
    assert sum(bar["count"] for bar in bars if bar["series"] == WRONG) == 1
    assert [bar for bar in bars if bar["series"] == TIED] == [{"low": 0, "high": 0, "count": 1, "series": TIED}]
    assert sum(bar["count"] for bar in bars if bar["series"] == RIGHT) == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_every_margin_is_in_one_bar_on_its_side_of_zero(margins: list[float]) -> None:
    found = histogram(margins, "score")
    assert found is not None
    counts = {RIGHT: 0, WRONG: 0, TIED: 0}
    for _, _, count, which in found.rows:
        counts[which] += int(count.replace(",", ""))
    assert counts == {
        RIGHT: sum(m > 0 for m in margins),
        WRONG: sum(m < 0 for m in margins),
        TIED: sum(m == 0 for m in margins),
    }


def test_margins_that_are_all_0_are_drawn_as_ties_at_0() -> None:
    found = histogram([0.0, 0.0], "score")
    assert found is not None
    assert "2 pairs are tied" in found.note
    assert found.rows == (("0", "0", "2", TIED),)
    assert found.chart.to_dict()["layer"][0]["mark"] == {"type": "bar", "size": 6}


def test_a_histogram_has_the_given_colours() -> None:
    bins = [charts.HistogramBin(-1, 0, 3, "wrong"), charts.HistogramBin(0, 1, 5, "right")]
    chart = charts.histogram(bins, title="margin", what="pairs", colours={"right": 1, "wrong": 2}).to_dict()
    colour = chart["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == ["right", "wrong"]
    assert colour["legend"]["values"] == ["wrong", "right"]


def test_the_scale_of_margins_is_what_was_compared(result: Result) -> None:
    for field, words in (("normalise:word", "log-probability per word"), ("slor:1f3a", "SLOR")):
        changed = replace(result, signature=Signature.read(f"wug:0.1.0|suite:blimp|{field}"))
        assert words in figure(changed, "Margins").note
        [sample] = view.items(changed, table_of(changed.outcomes)).samples
        assert f"Numbers are the {words}" in sample.note


def test_what_differs_in_a_failing_pair_is_marked_without_shared_punctuation(page: str) -> None:
    assert "The wug <ins>swims</ins>." in page
    assert "The wug <del>swim</del>." in page


def test_a_failing_pair_stands_with_both_scores_and_its_margin(seen: Seen) -> None:
    text = "grammatical The wug swims. −7.21 ungrammatical The wug swim. −4.33 difference −2.89"
    assert f"Pair agreement_1/1 by −2.89 {text}" in seen.text  # −2 nats / ln 2


def test_a_pair_is_two_lines_with_scores_and_a_bar(result: Result) -> None:
    shown = item(result, "agreement_1/1")
    good, bad, difference = lines(shown)
    same = Piece("The wug ")
    assert good == LabelledText("grammatical", (same, Piece("swims", differs=True), Piece(".")), "ins", "−7.21")
    assert bad == LabelledText("ungrammatical", (same, Piece("swim", differs=True), Piece(".")), "del", "−4.33")
    assert (difference.label, difference.value) == ("difference", "−2.89")
    assert difference.side == pytest.approx(math.tanh(-2 / math.log(2) / 9))
    assert (shown.note, shown.fails) == ("by −2.89", True)
    assert shown.sentences == ("The wug swims.", "The wug swim.")


def test_a_pair_that_is_right_says_by_how_much(result: Result) -> None:
    shown = item(result, "agreement_1/0")
    assert (shown.note, shown.fails) == ("by 2.89", False)


def test_a_pair_that_was_not_judged_says_why(tmp_path: Path) -> None:
    rows = [*BLIMP[:2], ("a", "b", "c", "A wug or two wugs ate fish.", "Two wug or a wugs ate fish.")]
    shown = item(blimp(tmp_path, rows, target="word"), "a/2")
    assert (shown.note, shown.fails) == ("the two sentences differ in more than one place", False)
    assert [line.label for line in lines(shown)] == ["grammatical", "ungrammatical"]


def test_a_pair_of_unknown_sentences_shows_what_is_known() -> None:
    outcome = Outcome("1", "accuracy", False, {}, {"sentence": "A wug ate."})
    result = replace(published(FIRST), outcomes=(outcome,))
    assert item(result, "1").parts == (FactsPart({"sentence": "A wug ate."}),)


def test_a_tie_and_a_sentence_against_itself_are_called_so(seen: Seen) -> None:
    assert "island/3 tie" in seen.text
    assert "island/4 identical sentences" in seen.text


def test_words_stand_in_the_shade_of_their_bits(tmp_path: Path) -> None:
    result = blimp(tmp_path, print_word_probs="yes")
    good, bad, _ = lines(item(result, "agreement_1/1"))
    assert good.pieces[2:] == (  # 1 / ln 2 = 1.44 bits, 3 / ln 2 = 4.33
        Piece("wug", value="1.4", shade="s0"),
        Piece(" "),
        Piece("swims.", differs=True, value="4.3", shade="s2"),
    )
    assert "".join(piece.text for piece in bad.pieces) == "The wug swim."
    page = render([ReportedResult(result)])
    assert '<b class="s0" title="1.4">wug</b> <b class="s2" title="4.3"><ins>swims.</ins></b>' in page
    assert "Bits of surprisal of each word:" in read(page).text


def test_without_words_there_is_no_legend_of_shades(result: Result) -> None:
    assert not view.items(result, table_of(result.outcomes)).scale


def test_a_word_without_a_log_probability_and_damaged_words_are_no_fault() -> None:
    words = {"words_good": [["A", None], ["wug", -1.0]], "words_bad": [["A", float("-inf")], "wug", ["x"]]}
    detail = {"good": "A wug", "bad": "A", "logprob_good": -2.0, "logprob_bad": -1.0}
    outcome = Outcome("1", "accuracy", False, {}, {**detail, **words})
    result = replace(published(FIRST), outcomes=(outcome,))
    good, bad, _ = lines(item(result, "1"))
    assert [(piece.value, piece.shade) for piece in good.pieces if piece.shade] == [("–", "sx"), ("1.4", "s0")]
    assert bad.pieces == (Piece("A", value="–", shade="sx"),)
    damaged = replace(result, outcomes=(replace(outcome, detail={**detail, "words_good": 3, "words_bad": "no"}),))
    assert lines(item(damaged, "1"))[0].pieces == (Piece("A "), Piece("wug", differs=True))


def test_word_probabilities_are_printed_in_nats_a_line_a_sentence(tmp_path: Path) -> None:
    result = blimp(tmp_path, BLIMP[:1], print_word_probs="yes")
    assert list(view.word_probabilities(result)) == [
        "agreement_1/0   The -1.000  wugs -1.000  swim. -1.000",
        "agreement_1/0 * The -1.000  wugs -1.000  swims. -3.000",
    ]


def test_published_scores_show_the_two_forms() -> None:
    page = render([ReportedResult(published(FIRST))])
    assert "<ins>swim</ins>" in page
    assert "by −3.00" in page


def test_the_sample_is_from_every_paradigm_and_the_rest_is_counted() -> None:
    outcomes = tuple(
        Outcome(
            f"{paradigm}/{number}",
            "accuracy",
            False,
            {"paradigm": f"paradigm_{paradigm}"},
            {"good": f"a {number}", "bad": f"b {number}", "logprob_good": -2.0, "logprob_bad": -1.0},
        )
        for paradigm in range(67)
        for number in range(100)
    )
    result = replace(published(FIRST), outcomes=outcomes, estimates=tuple(estimates(outcomes)), n=6700)
    rows = table_of(result.outcomes)
    shown = view.items(result, rows)
    found = sampled_groups(shown, shown.samples[0], rows, 200)
    assert len(found) == 67
    assert {len(batch.items) for batch in found} == {2, 3}
    assert {(batch.count, batch.total) for batch in found} == {(100, 100)}
    page = render([ReportedResult(result, run=7)])
    assert "6,500 more pairs of these are left out" in read(page).text
    assert "wug export 7 --to csv" in page
    assert len(page.encode()) < 3_000_000


def test_a_group_of_very_many_values_fills_neither_chart_nor_table() -> None:
    rows = [Estimate("accuracy", f"verb=v{n}", 0.5, 2, 0.1, 0.9, "wilson") for n in range(1500)]
    whole = Estimate("accuracy", "all", 0.5, 3000, 0.4, 0.6, "wilson")
    found = figure(replace(published(FIRST), estimates=(whole, *rows), outcomes=()), "Accuracy by verb")
    assert len(rows_of(found)) == 100
    assert len(found.rows) == 1000
    assert "The chart has the first 100 of 1,500. The table has the first 1,000." in found.note


def test_estimates_alone_still_make_a_section() -> None:
    result = replace(published(FIRST), outcomes=())
    assert "Accuracy on original and nonce sentences" in read(render([ReportedResult(result)])).text


def test_no_failing_pair_leaves_the_list_out() -> None:
    right = [(-1.0, -2.0)] * 4
    assert "Pairs that fail" not in read(render([ReportedResult(published(right))])).text


def test_every_tag_of_the_section_is_closed_and_headings_skip_no_level(seen: Seen) -> None:
    assert seen.unbalanced == []
    assert seen.open == []
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_markup_in_sentences_names_and_groups_is_shown_as_text(tmp_path: Path) -> None:
    results = [blimp(tmp_path, print_word_probs="yes"), blimp(tmp_path), published(FIRST)]
    seen = read(render([ReportedResult(tainted(result)) for result in results]))
    check_escaped(seen)


def tainted(result: Result) -> Result:
    """The result with markup in its items, groups and details."""
    outcomes = tainted_outcomes(result)
    return replace(result, outcomes=tuple(outcomes), estimates=tuple(estimates(outcomes)))


def test_the_order_of_reading(result: Result) -> None:
    names = [part.title if isinstance(part, Figure) else type(part).__name__ for part in parts(result)]
    assert names == [
        "EstimatesPart",
        "CountsPart",
        "Accuracy by field and phenomenon",
        "Accuracy by paradigm",
        "Margins",
        "EstimatesPart",
        "Margin by field, paradigm, phenomenon",
    ]


def test_published_scores_are_the_same_in_memory_and_in_a_store(tmp_path: Path) -> None:
    check_same_in_a_store(published(FIRST), tmp_path)


@pytest.mark.parametrize("options", [{}, {"print_word_probs": "yes"}, {"target": "word"}])
def test_pairs_are_the_same_in_memory_and_in_a_store(tmp_path: Path, options: Mapping[str, str]) -> None:
    rows = [*BLIMP, ("a", "b", "c", "A wug or two wugs ate fish.", "Two wug or a wugs ate fish.")]
    check_same_in_a_store(blimp(tmp_path, rows, **options), tmp_path)


def check_same_in_a_store(result: Result, folder: Path) -> None:
    number = run_factory.keep(folder / "runs.db", result)
    reader = RunReader(folder / "runs.db")
    [kept] = reader.overview([number])
    memory, store = table_of(result.outcomes), reader.rows(kept.id)
    found, _ = reader.result(kept.id)
    assert list(map(undrawn, parts(found, store))) == list(map(undrawn, parts(result, memory)))
    here, there = view.items(result, memory), view.items(found, store)
    assert there._replace(samples=(), show=here.show) == here._replace(samples=())
    for place in range(len(result.outcomes)):
        row, stored = memory.at(place), store.at(place)
        assert there.show(stored, store.same_item(stored)) == here.show(row, memory.same_item(row))
    for mine, other in zip(here.samples, there.samples, strict=True):
        ours, theirs = sampled_groups(here, mine, memory, 3), sampled_groups(there, other, store, 3)
        assert [replace(batch, items=()) for batch in theirs] == [replace(batch, items=()) for batch in ours]
        chosen = [[(row.position, item) for batch in found for row, item in batch.items] for found in (ours, theirs)]
        assert chosen[0] == chosen[1]


def undrawn(part: ViewPart) -> object:
    """A part that can be compared: a chart by its specification."""
    return (part.id, part.title, part.note, part.rows, part.chart.to_dict()) if isinstance(part, Figure) else part
