"""Tokens fall into regions as in SyntaxGym's own test cases."""

from __future__ import annotations

import json
from typing import Any, Literal

from reference import reference
from wug.alignment import align
from wug.families.syntaxgym.measures import RegionSurprisal, WarningCounts, measure
from wug.families.syntaxgym.parts import Condition, Region
from wug.requests import Scored

STARTS = ("<s>", "<BOUNDARY>")
ENDS = ("</s>", "<BOUNDARY>")


def measured(case: dict[str, Any], eos: Literal["none", "last_region"]) -> tuple[list[RegionSurprisal], WarningCounts]:
    regions = tuple(Region(number, content) for number, content in enumerate(case["regions"], start=1))
    layout = Condition("c", regions).layout()
    places = align(layout.text, case["tokens"], starts=STARTS, ends=ENDS)
    scored = Scored(
        layout.text,
        tuple(start for start, _ in places),
        tuple(end for _, end in places),
        (-1.0,) * len(places),
        tuple(case["tokens"]),
    )
    tally = WarningCounts()
    found = measure(scored, layout, regions, eos=eos, region_metrics=["sum"], tally=tally, place="item 1")
    return found, tally


def cases() -> list[dict[str, Any]]:
    path = reference("syntaxgym/reference_cases/extracted/alignment_cases.json")
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    assert len(found) == 21
    return found


def test_every_case_puts_the_tokens_into_the_regions_that_the_reference_expects() -> None:
    for case in cases():
        found, _ = measured(case, "last_region")
        # The one deviation: a start mark belongs to no region here, the reference counts it in the first.
        expected = {
            number: [token for token in tokens if token not in STARTS or number != "1"]
            for number, tokens in case["expected_region_to_tokens"].items()
        }
        assert {str(m.number): [text for text, _ in m.tokens] for m in found} == expected, case["description"]


def test_every_case_names_the_unknown_words_that_the_reference_expects() -> None:
    for case in cases():
        found, _ = measured(case, "last_region")
        expected = case["expected_oovs"] or {str(m.number): [] for m in found}
        assert {str(m.number): list(m.oovs) for m in found} == expected, case["description"]


def test_end_marks_belong_to_no_region_unless_asked() -> None:
    for case in cases():
        with_end, _ = measured(case, "last_region")
        without, _ = measured(case, "none")
        marks = [token for token in case["tokens"][-1:] if token in ENDS]
        assert [text for text, _ in with_end[-1].tokens[len(without[-1].tokens) :]] == marks, case["description"]


def test_no_case_has_a_token_that_spans_two_regions() -> None:
    assert all("spanning" not in measured(case, "none")[1].counts for case in cases())


def test_an_empty_first_region_takes_no_token() -> None:
    # The reference sets every edge one too far here.
    found, _ = measured({"regions": ["", "This", "is"], "tokens": ["This", "is"]}, "none")
    assert [[text for text, _ in m.tokens] for m in found] == [[], ["This"], ["is"]]


def test_unknown_words_in_a_row_stay_in_their_own_regions() -> None:
    # The reference gives all of them to the leftmost region.
    case = {"regions": ["the", "wug", "blicked the", "dax"], "tokens": ["the", "<unk>", "<unk>", "the", "<unk>"]}
    found, _ = measured(case, "none")
    assert [list(m.oovs) for m in found] == [[], ["wug"], ["blicked"], ["dax"]]
