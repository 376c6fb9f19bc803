"""The section about minimal pairs: accuracy by group, margins, the pairs that fail."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wug.show.families._marked import LONGEST, marked
from wug.show.families._spread import spread

from seen_page import EVIL, Seen, check_escaped, read, tainted_outcomes
from wug.families import pairs as family
from wug.runs.evaluate import conclude
from wug.show import charts
from wug.show.families import Figure, Place, pairs
from wug.show.families.pairs._margins import RIGHT, WRONG, margins_figure
from wug.show.page import Report, render
from wug.stats import estimates
from wug.types import Estimate, Outcome, Request, Result, Scored

PLACE = Place("here", 200, "wug export 7 --to csv")


@dataclass
class Weights:
    """A model for which a word costs what the table says, and one nat where it says nothing."""

    costs: Mapping[str, float]
    id: str = "toy/weights"
    chunk: int = 100
    ordered: bool = False

    @property
    def options(self) -> Mapping[str, str]:
        return {}

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        found = []
        for request in requests:
            words = list(re.finditer(r"\S+", request.text))
            costs = tuple(-self.costs.get(word.group(), 1.0) for word in words)
            starts, ends = tuple(word.start() for word in words), tuple(word.end() for word in words)
            found.append(Scored(request.text, starts, ends, costs))
        return found


BLIMP = [
    ("agreement_1", "agreement", "morphology", "The wugs swim.", "The wugs swims."),
    ("agreement_1", "agreement", "morphology", "The wug swims.", "The wug swim."),
    ("agreement_2", "agreement", "morphology", "Two wugs sing.", "Two wugs sings."),
    ("island", "island_effects", "syntax", "Who left the room?", "Who the room left?"),
    ("island", "island_effects", "syntax", "A wug ate.", "A wug ate."),
]


def blimp(folder: Path, rows: Sequence[tuple[str, str, str, str, str]] = BLIMP, **options: str) -> Result:
    """The pairs judged by a model that finds `swims.` dear: 2 of 5 are right, one is tied, one identical."""
    keys = ("UID", "linguistics_term", "field", "sentence_good", "sentence_bad")
    lines = [json.dumps({**dict(zip(keys, row, strict=True)), "pairID": str(n)}) for n, row in enumerate(rows)]
    path = folder / "blimp.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [suite] = family.read(path, options)
    model = Weights({"swims.": 3.0, "sings.": 2.5})
    return conclude(suite, model.id, "wug:0.1.0|suite:blimp|normalise:none", suite.run(model))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return blimp(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    return render([Report(result, run=7)])


@pytest.fixture(scope="module")
def seen(page: str) -> Seen:
    return read(page)


def figure(result: Result, title: str) -> Figure:
    [found] = [one for one in pairs.section(result, PLACE).values["figures"] if one.title.startswith(title)]
    return found


def rows_of(found: Figure) -> list[str]:
    """The rows of a dot chart from top to bottom, headings included."""
    layers: list[dict[str, Any]] = found.chart.to_dict()["layer"]
    domain: list[str] = layers[0]["encoding"]["y"]["scale"]["domain"]
    return domain


def published(columns: Mapping[str, Sequence[tuple[float, float]]]) -> Result:
    """Scores that others published for two original and two nonce pairs, as the family yields them."""
    kinds = ("original", "original", "nonce", "nonce")
    outcomes = [
        Outcome(
            f"across/1/{number}",
            f"accuracy:{column}" if len(columns) > 1 else "accuracy",
            good > bad,
            {"pattern": "across", "type": kind, "pattern_type": f"across/{kind}"},
            {"good": good, "bad": bad, "forms": "swim/swims"},
        )
        for column, values in columns.items()
        for number, (kind, (good, bad)) in enumerate(zip(kinds, values, strict=True))
    ]
    means = [Estimate("accuracy", "all", 0.625, 2, 0.448, 0.802, "sd over columns")] if len(columns) > 1 else []
    return Result(
        suite="agreement",
        kind="pairs",
        model="file/scores",
        status="complete",
        signature="wug:0.1.0",
        n=4,
        estimates=(*estimates(outcomes), *means),
        outcomes=tuple(outcomes),
    )


FIRST = [(-1.0, -2.0), (-1.0, -3.0), (-5.0, -2.0), (-2.0, -4.0)]
SECOND = [(-1.0, -2.0), (-4.0, -3.0), (-5.0, -2.0), (-2.0, -4.0)]


def test_accuracy_by_field_and_term_stands_under_headings_best_first(result: Result) -> None:
    found = figure(result, "Accuracy by field and term")
    assert rows_of(found) == [
        "field\n",
        "field\nmorphology",
        "field\nsyntax",
        "term\n",
        "term\nagreement",
        "term\nisland_effects",
    ]
    assert found.rows[0] == ("field", "morphology", "66.7\u00a0%", "[20.8, 93.9]", "3")


def test_every_paradigm_stands_under_its_term(result: Result) -> None:
    assert rows_of(figure(result, "Accuracy by paradigm")) == [
        "agreement\n",
        "agreement\nagreement_2",
        "agreement\nagreement_1",
        "island effects\n",
        "island effects\nisland",
    ]


def test_original_and_nonce_sentences_are_compared_pattern_by_pattern() -> None:
    found = figure(published({"lstm": FIRST}), "Accuracy on original and nonce sentences")
    assert found.columns == ("pattern", "type", "accuracy", "interval", "n")
    assert [row[:3] for row in found.rows] == [
        ("all pairs", "original", "100.0\u00a0%"),
        ("all pairs", "nonce", "50.0\u00a0%"),
    ]


def test_a_field_with_one_value_has_no_chart(tmp_path: Path) -> None:
    titles = [one.title for one in pairs.section(blimp(tmp_path, BLIMP[:2]), PLACE).values["figures"]]
    assert titles == ["Margins"]


def test_right_wrong_tied_identical_and_unjudged_pairs_are_counted(result: Result) -> None:
    assert [row[:2] for row in pairs.section(result, PLACE).values["tally"]] == [
        ("right", 2),
        ("wrong", 3),
        ("tied", 1),
        ("identical", 1),
    ]


def test_pairs_that_were_not_judged_are_counted_with_the_reason(tmp_path: Path) -> None:
    rows = [*BLIMP[:2], ("a", "b", "c", "A wug or two wugs ate fish.", "Two wug or a wugs ate fish.")]
    tally = pairs.section(blimp(tmp_path, rows, target="word"), PLACE).values["tally"]
    assert ("not judged", 1, "the two sentences differ in more than one place") in tally


def test_a_tie_is_on_the_side_of_the_wrong_ones() -> None:
    found = margins_figure("here", [-1.0, 0.0, 0.25, 1.0], "log-probability (nats)")
    assert found is not None
    bars = [row for row in found.chart.to_dict()["data"]["values"] if row["count"]]
    assert sum(bar["count"] for bar in bars if bar["series"] == WRONG) == 2
    assert sum(bar["count"] for bar in bars if bar["series"] == RIGHT) == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_every_margin_is_in_one_bar_on_its_side_of_zero(margins: list[float]) -> None:
    found = margins_figure("here", margins, "score")
    assert found is not None
    counts = {RIGHT: 0, WRONG: 0}
    for _, _, count, which in found.rows:
        counts[which] += int(count.replace(",", ""))
    assert counts == {RIGHT: sum(m > 0 for m in margins), WRONG: sum(m <= 0 for m in margins)}


def test_margins_that_are_all_alike_still_have_a_chart() -> None:
    found = margins_figure("here", [0.0, 0.0], "score")
    assert found is not None
    assert "The median is 0;" in found.note


def test_a_histogram_has_the_colours_that_it_is_told() -> None:
    bins = [charts.Bin(-1, 0, 3, "wrong"), charts.Bin(0, 1, 5, "right")]
    chart = charts.histogram(bins, title="margin", what="pairs", colours={"right": 1, "wrong": 2}).to_dict()
    colour = chart["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == ["right", "wrong"]
    assert colour["legend"]["values"] == ["wrong", "right"]


def test_the_scale_of_margins_is_what_was_compared(result: Result) -> None:
    for field, words in (("normalise:word", "log-probability per word"), ("slor:1f3a", "SLOR")):
        changed = replace(result, signature=f"wug:0.1.0|suite:blimp|{field}")
        assert words in figure(changed, "Margins").note


def test_what_differs_in_a_failing_pair_is_marked_without_shared_punctuation(page: str) -> None:
    assert "The wug <ins>swims</ins>." in page
    assert "The wug <del>swim</del>." in page


def test_a_failing_pair_stands_with_both_scores_and_its_margin(seen: Seen) -> None:
    assert "agreement_1/1 by −2.00 grammatical The wug swims. −5.00 ungrammatical The wug swim. −3.00" in seen.text


def test_a_tie_and_a_sentence_against_itself_are_called_so(seen: Seen) -> None:
    assert "island/3 tie" in seen.text
    assert "island/4 identical sentences" in seen.text


def test_word_probabilities_stand_at_their_words(tmp_path: Path) -> None:
    page = render([Report(blimp(tmp_path, print_word_probs="yes"))])
    assert "wug<sub>−1.00</sub> <ins>swims.<sub>−3.00</sub></ins>" in page


def test_published_scores_show_the_two_forms() -> None:
    page = render([Report(published({"lstm": FIRST}))])
    assert "<ins>swim</ins>" in page
    assert "by −3.00" in page


def test_several_columns_have_their_mean_in_per_cent_and_the_pairs_that_most_fail() -> None:
    result = published({"lstm": FIRST, "gru": SECOND})
    values = pairs.section(result, PLACE).values
    assert [(row.text, row.interval) for row in values["overall"]] == [("62.5\u00a0%", "[44.8, 80.2]")]
    assert values["note"] == "Means of 2, with one standard deviation either side."
    assert [(hard.item, hard.failed, hard.columns) for hard in values["hardest"]] == [
        ("across/1/2", 2, 2),
        ("across/1/1", 1, 2),
    ]
    columns = figure(result, "Accuracy of every column")
    assert columns.columns[-2:] == ("original", "nonce")
    assert columns.rows[1] == ("gru", "50.0\u00a0%", "[15.0, 85.0]", "4", "50.0\u00a0%", "50.0\u00a0%")
    assert "across/1/2 swim swims 2 2" in read(render([Report(result)])).text


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
    result = replace(published({"x": FIRST}), outcomes=outcomes, estimates=tuple(estimates(outcomes)), n=6700)
    section = pairs.section(result, PLACE)
    assert len(section.values["batches"]) == 67
    assert {len(batch.pairs) for batch in section.values["batches"]} == {2, 3}
    page = render([Report(result, run=7)])
    assert "6500 more failing pairs are left out" in read(page).text
    assert "wug export 7 --to csv" in page
    assert len(page.encode()) < 3_000_000


def test_a_group_of_very_many_values_fills_neither_chart_nor_table() -> None:
    rows = [Estimate("accuracy", f"verb=v{n}", 0.5, 2, 0.1, 0.9, "wilson") for n in range(1500)]
    whole = Estimate("accuracy", "all", 0.5, 3000, 0.4, 0.6, "wilson")
    found = figure(replace(published({"x": FIRST}), estimates=(whole, *rows), outcomes=()), "Accuracy by verb")
    assert len(rows_of(found)) == 100
    assert len(found.rows) == 1000
    assert "The chart has the first 100 of 1,500. The table has the first 1,000." in found.note


def test_estimates_alone_still_make_a_section() -> None:
    result = replace(published({"lstm": FIRST}), outcomes=())
    assert "Accuracy on original and nonce sentences" in read(render([Report(result)])).text


def test_no_failing_pair_leaves_the_list_out() -> None:
    right = [(-1.0, -2.0)] * 4
    assert "Pairs that fail" not in read(render([Report(published({"x": right}))])).text


def test_every_tag_of_the_section_is_closed_and_headings_skip_no_level(seen: Seen) -> None:
    assert seen.unbalanced == []
    assert seen.open == []
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_markup_in_sentences_names_and_groups_is_shown_as_text(tmp_path: Path) -> None:
    results = [blimp(tmp_path, print_word_probs="yes"), blimp(tmp_path), published({f"a{EVIL}": FIRST, "b": SECOND})]
    seen = read(render([Report(tainted(result)) for result in results]))
    check_escaped(seen)


def tainted(result: Result) -> Result:
    """The result with markup in its items, groups and details."""
    outcomes = tainted_outcomes(result)
    means = [replace(e, group="all") for e in result.estimates if e.method == "sd over columns"]
    return replace(result, outcomes=tuple(outcomes), estimates=(*estimates(outcomes), *means))


@given(st.text(max_size=60), st.text(max_size=60))
def test_marked_texts_are_whole_and_differ_only_where_marked(one: str, other: str) -> None:
    ours, theirs = marked(one, other)
    assert "".join(piece.text for piece in ours).split() == one.split()
    assert "".join(piece.text for piece in theirs).split() == other.split()
    same = ["".join(piece.text for piece in pieces if not piece.differs).split() for pieces in (ours, theirs)]
    assert "".join(same[0]) == "".join(same[1])


def test_words_that_moved_are_marked_where_they_stand() -> None:
    good, bad = marked("Who left the room?", "Who the room left?")
    assert [piece.text for piece in good if piece.differs] == ["left"]
    assert [piece.text for piece in bad if piece.differs] == ["left"]


def test_neighbouring_words_that_differ_are_one_mark() -> None:
    good, _ = marked("they will smile.", "they smiled.")
    assert [piece.text for piece in good if piece.differs] == ["will smile"]


def test_a_text_without_spaces_is_compared_character_by_character() -> None:
    good, bad = marked("他昨天来了", "他明天来了")
    assert [piece.text for piece in good if piece.differs] == ["昨"]
    assert [piece.text for piece in bad if piece.differs] == ["明"]


def test_a_text_without_end_is_cut() -> None:
    _, answer = marked("A1", "A1 " * 100_000)
    assert sum(len(piece.text) for piece in answer) <= LONGEST + 2


@given(st.lists(st.sampled_from("abcd")), st.integers(0, 30))
def test_a_sample_fills_its_room_from_every_group(names: list[str], room: int) -> None:
    rows = list(enumerate(names))
    found = spread(rows, room, lambda row: row[1])
    shown = [row for some in found.values() for row in some]
    assert len(shown) == len(set(shown)) == min(room, len(rows))
    assert all(row in rows and row[1] == name for name, some in found.items() for row in some)
    if room >= len(set(names)):
        assert set(found) == set(names)
