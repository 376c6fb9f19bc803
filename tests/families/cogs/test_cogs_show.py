"""What there is to see of COGS: types as the paper groups them, kinds of error, forms side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from html_helpers import EVIL, Seen, check_escaped, read, tainted_outcomes
from wug.evaluation.evaluate import build_result
from wug.families import cogs as family
from wug.families.cogs.logical_form import ERRORS
from wug.families.cogs.view import LABELS, MAX_TERMS, broken_rules, short
from wug.outcomes import Outcome, Result, Signature
from wug.results.average import averages
from wug.results.queries import table_of
from wug.stats import estimates
from wug.views.family_views import SampledGroup, computed_parts, items_of, parts_of, sampled_groups
from wug.views.parts import EstimatesPart, Figure, ItemView, TablePart, TextPart, ViewPart
from wug.views.report import ReportedResult, render

BOY = "* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . theme ( x _ 2 , x _ 4 ) AND cake ( x _ 4 )"
GOLD = [
    ("The boy wanted a cake .", BOY, "subj_to_obj_common"),
    ("The boy wanted a cake again .", BOY, "subj_to_obj_common"),
    ("Emma slept .", "sleep . agent ( x _ 1 , Emma )", "cp_recursion"),
    ("A cat slept .", "cat ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )", "only_seen_as_unacc_subj_as_unerg_subj"),
    ("A dog slept .", "dog ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )", "a_new_type"),
]
PREDICTED = [
    "* boy ( x _ 1 ) ; want . theme ( x _ 2 , x _ 1 ) AND want . theme ( x _ 2 , x _ 4 )",
    BOY,
    "sleep . agent ( x _ 1 , Emma",
    "sleep . agent ( x _ 2 , x _ 1 ) AND cat ( x _ 1 )",
    "dog ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )",
]
"""A wrong role and a missing term; right; ill-formed; only the order; right."""


def scored(folder: Path, predicted: Sequence[Sequence[str]] = (PREDICTED,), **options: bool) -> Result:
    gold = folder / "gen.tsv"
    gold.write_text("".join("\t".join(row) + "\n" for row in GOLD), encoding="utf-8")
    paths = []
    for number, forms in enumerate(predicted):
        paths.append(folder / f"system_{number}.txt")
        paths[-1].write_text("".join(f"{form}\n" for form in forms), encoding="utf-8")
    systems = family.score(gold, paths, dialect=None, **options)
    suite = systems[0].suite
    results = [
        build_result(suite, f"file/{number}", f"wug:0.1.0|suite:gen|model:{number}", judged.rows())
        for number, judged in enumerate(systems)
    ]
    return results[0] if len(results) == 1 else averages(results)[0]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return scored(tmp_path_factory.mktemp("cogs"))


def parts(result: Result) -> list[ViewPart]:
    return list(computed_parts(parts_of(result, table_of(result.outcomes))))


def figure(result: Result, name: str) -> Figure:
    [found] = [part for part in parts(result) if isinstance(part, Figure) and part.id == name]
    return found


def table(result: Result, name: str) -> TablePart:
    [found] = [part for part in parts(result) if isinstance(part, TablePart) and part.id == name]
    return found


def wrong_lines(result: Result, room: int = 200) -> list[SampledGroup]:
    rows = table_of(result.outcomes)
    items = items_of(result, rows)
    return sampled_groups(items, items.samples[0], rows, room)


def terms(item: ItemView) -> TablePart:
    [found] = [part for part in item.parts if isinstance(part, TablePart)]
    return found


def test_the_headline_is_exact_match(result: Result) -> None:
    assert result.headline is not None
    assert result.headline.metric == "exact_match"


def test_types_stand_lexical_first_under_their_sections_and_unknown_ones_last(result: Result) -> None:
    domain = figure(result, "types").chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert domain == [
        "all types\n",
        "all types\nall lines",
        "all types\nlexical types",
        "all types\nstructural types",
        "3.1 known words in new grammatical roles\n",
        "3.1 known words in new grammatical roles\nsubj → obj common",
        "3.5 verb classes\n",
        "3.5 verb classes\nunacc subj → unerg subj",
        "3.3 deeper recursion\n",
        "3.3 deeper recursion\ncp recursion",
        "other types\n",
        "other types\na new type",
    ]


def test_every_type_has_its_exact_and_its_semantic_matches(result: Result) -> None:
    rows = figure(result, "types").rows
    found = {row[2]: row[3] for row in rows if row[1] == "unacc subj → unerg subj"}
    assert found == {"exact match": "0.0%", "semantic match": "100.0%"}


def test_the_table_of_types_has_headings_titles_and_what_kinds_come_to(result: Result) -> None:
    found = table(result, "types")
    whole = [row.cells[0].text for row in found.groups[0][1]]
    assert whole == ["all lines", "lexical types", "structural types", "mean of the types"]
    assert [heading for heading, _ in found.groups[1:]] == [
        "Lexical: 3.1 known words in new grammatical roles",
        "Lexical: 3.5 verb classes",
        "Structural: 3.3 deeper recursion",
        "other types",
    ]
    [row] = found.groups[1][1]
    head, n, first, *_ = row.cells
    assert (head.text, head.remark, n.text) == (
        "subj_to_obj_common",
        "a common noun seen as subject becomes an object",
        "2",
    )
    assert first.estimate is not None
    assert first.estimate.text == "50.0%"
    assert [column.name for column in found.columns[2:5]] == ["exact match", "semantic match", "order invariant match"]


def test_a_type_has_a_short_name_on_the_axis() -> None:
    assert short("obj_pp_to_subj_pp") == "obj pp → subj pp"
    assert short("only_seen_as_transitive_subj_as_unacc_subj") == "transitive subj → unacc subj"
    assert short("cp_recursion") == "cp recursion"


def test_the_error_chart_counts_wrong_lines_by_kind(result: Result) -> None:
    found = figure(result, "errors")
    assert [(row[0], row[1], row[3]) for row in found.rows] == [
        ("ill-formed", "33.3%", "1"),
        ("wrong role", "33.3%", "1"),
        ("missing conjunct", "33.3%", "1"),
        ("order only", "33.3%", "1"),
    ]
    assert found.rows[0][-1] == ERRORS["ill-formed"]
    assert found.note.startswith("The share of 3 wrong lines")


def test_every_kind_of_error_has_a_short_name() -> None:
    assert set(LABELS) == set(ERRORS)


def test_errors_by_type_leave_out_types_without_any(result: Result) -> None:
    found = table(result, "types-by-error")
    heads = ["type", "wrong", "ill-formed", "wrong role", "missing conjunct", "order only"]
    assert [column.name for column in found.columns] == heads
    [(_, rows)] = found.groups
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["subj_to_obj_common", "1", "·", "1", "1", "·"],
        ["only_seen_as_unacc_subj_as_unerg_subj", "1", "·", "·", "·", "1"],
        ["cp_recursion", "1", "1", "·", "·", "·"],
    ]


def test_rules_that_predictions_break_are_counted(result: Result) -> None:
    [(_, rows)] = table(result, "rules").groups
    rules = {row.cells[0].text: row.cells[1].text for row in rows}
    assert (rules["unreadable"], rules["unbound"]) == ("1", "1")


def test_rules_that_are_broken_equally_often_stand_in_the_order_of_the_lines() -> None:
    names = ["unbound", "unreadable", "order", "gap", "type", "root", "cycle"]
    outcome = Outcome("1", "exact", False, {}, {"violations": [f"{name}: in the line" for name in names]})
    part = broken_rules([outcome, outcome])
    assert part is not None
    assert [row.cells[0].text for row in part.groups[0][1]] == names


def test_gold_and_prediction_stand_term_beside_term(page: str, seen: Seen) -> None:
    assert (
        "<td>want . <ins>agent</ins> ( x _ 2 , x _ 1 )</td><td>want . <del>theme</del> ( x _ 2 , x _ 1 )</td>" in page
    )
    assert "<td><ins>cake ( x _ 4 )</ins></td><td>–</td><td>missing conjunct</td>" in page
    assert '<tr class="same"><td>* boy ( x _ 1 )</td><td>* boy ( x _ 1 )</td><td></td></tr>' in page
    assert "Line 1 The boy wanted a cake . wrong role missing conjunct" in seen.text


def test_a_moved_term_is_marked_by_words_and_not_as_changed(page: str) -> None:
    row = "<td>cat ( x _ 1 )</td><td>cat ( x _ 1 )</td><td>order only</td>"
    other = "<td>sleep . agent ( x _ 2 , x _ 1 )</td><td>sleep . agent ( x _ 2 , x _ 1 )</td><td>order only</td>"
    assert row in page or other in page


def test_an_ill_formed_prediction_says_what_it_breaks(seen: Seen) -> None:
    assert re.search(r"Line 3 Emma slept \. ill-formed edit distance 1 .* breaks unreadable: ", seen.text)


def test_a_prediction_without_end_is_cut(tmp_path: Path) -> None:
    endless = " AND ".join(f"cat ( x _ {n} )" for n in range(5000))
    result = scored(tmp_path, [[endless, *PREDICTED[1:]]])
    [(_, line)] = wrong_lines(result)[0].items
    assert len(terms(line).groups[0][1]) == MAX_TERMS
    page = render([ReportedResult(result)])
    assert len(page.encode()) < 2_000_000
    assert "more terms are not shown" in read(page).text


def test_an_empty_prediction_is_all_missing(tmp_path: Path) -> None:
    result = scored(tmp_path, [["", *PREDICTED[1:]]])
    [(_, line)] = wrong_lines(result)[0].items
    assert {row.cells[2].text for row in terms(line).groups[0][1]} == {"missing conjunct"}


def test_right_predictions_leave_errors_and_lines_out(tmp_path: Path) -> None:
    result = scored(tmp_path, [[form for _, form, _ in GOLD]])
    assert {part.id for part in parts(result) if isinstance(part, Figure | TablePart)} == {"types"}
    assert wrong_lines(result) == []
    assert "Wrong lines" not in read(render([ReportedResult(result)])).text


def test_the_first_measures_are_few_and_the_rest_is_folded_away(result: Result, seen: Seen) -> None:
    first, more = (part for part in parts(result) if isinstance(part, EstimatesPart))
    assert [row.metric for row in first.rows][:2] == ["exact_match", "semantic_match"]
    assert len(first.rows) < 12
    assert f"{len(more.rows)} more measures" in seen.text


def test_means_over_seeds_are_in_per_cent_with_their_deviation(tmp_path: Path) -> None:
    gold = [form for _, form, _ in GOLD]
    result = scored(tmp_path, [gold, PREDICTED])
    numbers, note = parts(result)[:2]
    # 100% and 40%: the mean is 70%, the standard deviation of the sample 42.4.
    assert isinstance(numbers, EstimatesPart)
    assert (numbers.rows[0].text, numbers.rows[0].interval) == ("70.0%", "± 42.4")
    assert note == TextPart("Means of 2, with one standard deviation either side.")
    highs = [row["high"] for row in figure(result, "types").chart.to_dict()["data"]["values"]]
    assert max(high for high in highs if high is not None) == 1


def test_the_first_evaluators_measures_still_show_forms_side_by_side(tmp_path: Path) -> None:
    result = scored(tmp_path, reference_compat=True)
    assert "types-by-error" not in {part.id for part in parts(result) if isinstance(part, TablePart)}
    assert [len(batch.items) for batch in wrong_lines(result)] == [1, 1, 1]
    assert "Wrong lines" in read(render([ReportedResult(result)])).text


def test_what_is_left_out_is_counted(result: Result) -> None:
    found = wrong_lines(result, room=2)
    assert sum(len(batch.items) for batch in found) == 2
    whole = wrong_lines(result)
    assert sum(len(batch.items) for batch in whole) == 3


def test_the_page_has_no_loose_ends(seen: Seen) -> None:
    assert seen.unbalanced == []
    assert seen.open == []
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [value for _, given in seen.tags if (value := given.get("id")) is not None]
    assert len(ids) == len(set(ids))


def test_a_result_without_anything_still_has_its_section() -> None:
    result = Result("s", "cogs", "m", "failed", Signature.read(""), 0, ())
    assert "failed" in read(render([ReportedResult(result)])).text


def test_markup_in_sentences_forms_and_types_is_shown_as_text(tmp_path: Path) -> None:
    seen = read(render([ReportedResult(tainted(scored(tmp_path)))]))
    check_escaped(seen)


def tainted(result: Result) -> Result:
    """The result with markup in its lines, types, errors and headings."""
    outcomes = tainted_outcomes(result)
    meta = {**result.meta, "types": []}
    for given in result.meta["types"]:
        markup = {key: given[key] + EVIL for key in ("type", "title", "section")}
        meta["types"].append({**given, **markup})
    kept = [e for e in result.estimates if e.metric != "exact_match"]
    return replace(result, outcomes=tuple(outcomes), estimates=(*estimates(outcomes), *kept), meta=meta)
