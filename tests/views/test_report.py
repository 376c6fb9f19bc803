"""The report page: what it shows, that it is whole in itself, that names in it are only text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

from html_helpers import EVIL, Seen, read, taint
from run_factory import result
from wug import registry
from wug.errors import InputError, WugError
from wug.formatting import local_time
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature
from wug.views import family_views as views
from wug.views.parts import (
    FactsPart,
    ItemsView,
    ItemView,
    TableCell,
    TableColumn,
    TablePart,
    TablePartRow,
    TextPart,
    ViewPart,
)
from wug.views.report import ReportedResult, render


def region(number: int, content: str, value: float | None, tokens: list[list[Any]]) -> dict[str, Any]:
    return {"number": number, "content": content, "value": value, "values": {}, "oovs": [], "tokens": tokens}


def conditions(match: float, mismatch: float) -> dict[str, Any]:
    """An item in two conditions; the verb has `match` and `mismatch` bits."""
    return {
        "match": {
            "sentence": "The wugs swim",
            "regions": [
                region(1, "The wugs", 7.5, [["The", None], ["w", 5.0], ["ugs", 2.5]]),
                region(2, "swim", match, [["swim", match]]),
            ],
        },
        "mismatch": {
            "sentence": "The wugs swims",
            "regions": [
                region(1, "The wugs", 7.5, [["The", None], ["w", 5.0], ["ugs", 2.5]]),
                region(2, "swims", mismatch, [["swims", mismatch]]),
            ],
        },
    }


def item(name: str, match: float, mismatch: float) -> list[Outcome]:
    """The rows of one item with the prediction that the verb has fewer bits in `match`."""
    holds = match < mismatch
    compared = {"formula": "(2;%match%) < (2;%mismatch%)", "left": match, "operator": "<", "right": mismatch}
    detail = {"margin": mismatch - match, "comparisons": [{**compared, "holds": holds}]}
    return [
        Outcome(name, "prediction_0", holds, {}, detail),
        Outcome(name, "all_predictions", holds, {}, {"conditions": conditions(match, mismatch)}),
    ]


def agreement(**changes: Any) -> Result:
    """Two items: the first holds by 6 bits, the second fails by 2."""
    made = result(
        "agreement",
        "causal/gpt2@607a30d",
        [*item("1", 2.0, 8.0), *item("2", 4.0, 2.0)],
        kind="syntaxgym",
        signature=Signature.read("wug:0.1.0|suite:agreement@1f3a9c|unit:bits"),
        estimates=(
            Estimate("prediction_0", "all", 0.5, 2, 0.095, 0.905, "wilson"),
            Estimate("all_predictions", "all", 0.5, 2, 0.095, 0.905, "wilson"),
        ),
        warnings=("1 token spans two regions",),
        metrics=(
            Metric("prediction_0", meaning="the verb is less surprising in match than in mismatch"),
            Metric("all_predictions"),
        ),
        meta={
            "regions": {"1": "subject", "2": "verb"},
            "formulas": [
                {
                    "source": "[(2;%match%)]<(2;%mismatch%)",
                    "canonical": "(2;%match%) < (2;%mismatch%)",
                    "regions": [[2, "match"], [2, "mismatch"]],
                }
            ],
            "metric": ["sum"],
            "phenomenon": "Agreement",
            "reference": "Berko (1958)",
        },
    )
    return replace(made, **changes)


def pairs(**changes: Any) -> Result:
    """A family without its own section."""
    outcomes = [
        Outcome("7", "accuracy", True),
        Outcome("8", "accuracy", False, {"pattern": "across"}, {"bad": "the wugs swims", "bits": {"bad": 3.5}}),
    ]
    made = result(
        "verbs",
        "causal/gpt2@607a30d",
        outcomes,
        kind="some_new_family",
        signature=Signature.read("wug:0.1.0|suite:verbs"),
        n=4,
        estimates=(
            Estimate("accuracy", "all", 0.75, 4, 0.301, 0.954, "wilson"),
            Estimate("accuracy", "pattern=simple", 1.0, 2, 0.342, 1.0, "wilson"),
            Estimate("accuracy", "pattern=across", 0.5, 2, 0.095, 0.905, "wilson"),
            Estimate("perplexity", "all", 34.2231, 4, 30.0, 38.5, "t"),
        ),
    )
    return replace(made, **changes)


COMMAND = "wug run agreement.json --model causal:gpt2"


@pytest.fixture(scope="module")
def page() -> str:
    return render([ReportedResult(agreement(), run=7, command=COMMAND, created="2026-10-14")])


@pytest.fixture(scope="module")
def seen(page: str) -> Seen:
    return read(page)


def test_accuracy_stands_with_its_interval_and_n(seen: Seen) -> None:
    assert "50.0% [9.5, 90.5]" in seen.text
    assert "n = 2" in seen.text


def test_a_prediction_has_its_reading_and_its_formula(seen: Seen) -> None:
    assert "the verb is less surprising in match than in mismatch" in seen.text
    assert "(2;%match%) < (2;%mismatch%)" in seen.text


def test_a_formula_that_was_written_otherwise_stands_there_too(seen: Seen) -> None:
    assert "[(2;%match%)]<(2;%mismatch%)" in seen.text


def test_the_items_that_fail_stand_with_margin_sentences_and_both_sides(seen: Seen) -> None:
    assert "1 item fails, shown below." in seen.text
    start = seen.text.index("Prediction 1: items that fail")
    failing = seen.text[start : seen.text.index("Item by item")]
    assert "failing items 1 of 2 fail Item 2 The wugs swim margin −2.00 bits" in failing
    assert "fails 4.00 ≥ 2.00 (2;%match%) < (2;%mismatch%)" in failing
    assert "1 subject 2 verb match Thewugs Σ 7.5 swim mismatch Thewugs Σ 7.5 swims" in failing


def test_the_tokens_of_an_item_are_shaded_by_their_bits(page: str) -> None:
    # Two bits to a shade: 5 bits are in the third, 2.5 in the second; a token without any has none.
    assert '<b class="sx" title="–">The</b><b class="s2" title="5.0">w</b><b class="s1" title="2.5">ugs</b>' in page


def test_signature_command_run_and_warnings_stand_there(seen: Seen) -> None:
    for words in ("wug:0.1.0|suite:agreement@1f3a9c|unit:bits", COMMAND, "run 7", "1 token spans two regions"):
        assert words in seen.text


def test_the_region_chart_has_condition_means_without_intervals_for_two_items(seen: Seen) -> None:
    [chart] = [json.loads(text) for text in seen.data]
    [row] = [r for r in chart["data"]["values"] if (r["condition"], r["region"]) == ("match", "2\nverb")]
    assert (row["mean"], row["n"]) == (3, 2)
    assert (row["low"], row["high"]) == (None, None)


def test_every_chart_has_its_picture_and_its_numbers(seen: Seen) -> None:
    assert len(seen.data) == 1
    assert len([given for tag, given in seen.tags if tag == "svg" and "xmlns" in given]) == 1
    assert "2 verb match 3 – 2" in seen.text


def test_every_tag_is_closed_and_every_place_has_its_own_name(seen: Seen) -> None:
    assert seen.unbalanced == []
    assert seen.open == []
    ids = [value for _, given in seen.tags if (value := given.get("id")) is not None]
    assert len(ids) == len(set(ids))


def test_links_go_to_places_on_the_page(seen: Seen) -> None:
    ids = {given.get("id") for _, given in seen.tags}
    links = seen.attributes("a", "href")
    assert links
    assert {link.removeprefix("#") for link in links} <= ids


def test_headings_skip_no_level(seen: Seen) -> None:
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_nothing_is_asked_of_the_network(page: str, seen: Seen) -> None:
    places = [v for _, given in seen.tags for k, v in given.items() if k in ("src", "srcset", "action", "data")]
    assert places == []
    assert seen.attributes("link", "href") == ["data:,"]
    style = page[page.index("<style>") : page.index("</style>")]
    assert re.findall(r"url\(.{20}", style) == ['url("data:font/woff2;bas']
    assert "@import" not in style


def test_only_the_two_scripts_of_the_page_may_run(seen: Seen) -> None:
    [policy] = [v for v in seen.attributes("meta", "content") if v.startswith("default-src")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for script in seen.scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert len(seen.scripts) == 2


def test_the_same_results_give_the_same_page(page: str) -> None:
    assert render([ReportedResult(agreement(), run=7, command=COMMAND, created="2026-10-14")]) == page


def test_markup_in_any_name_is_shown_as_text() -> None:
    reports = [
        ReportedResult(tainted(agreement()), run=7, command=EVIL, created=EVIL),
        ReportedResult(tainted(pairs()), run=8),
    ]
    seen = read(render(reports))
    assert len(seen.scripts) == 2
    assert seen.unbalanced == []
    assert seen.attributes("img", "src") == []
    assert [name for _, given in seen.tags for name in given if name.startswith("on")] == []
    assert seen.text.count(" ".join(EVIL.split())) > 20
    specs = [json.loads(text) for text in seen.data]
    assert EVIL in json.dumps(specs, ensure_ascii=False).replace('\\"', '"')


def test_markup_in_the_title_is_text() -> None:
    page = render([ReportedResult(agreement(suite=EVIL))])
    title = page[page.index("<title>") + 7 : page.index("</title>")]
    assert title.startswith("&lt;script&gt;")


def test_several_models_stand_in_a_grid_of_suite_by_model() -> None:
    lstm = agreement(
        model="lstm/gulordava", estimates=(Estimate("all_predictions", "all", 1.0, 2, 0.342, 1, "wilson"),)
    )
    seen = read(render([ReportedResult(agreement()), ReportedResult(lstm), ReportedResult(pairs())]))
    assert "suite items gpt2 gulordava Agreement" in seen.text
    assert "agreement 2 50.0% 100.0%" in seen.text
    assert "verbs 4 75.0% –" in seen.text
    assert "prediction 1 50.0% [9.5, 90.5], n = 2" in seen.attributes("a", "title")
    assert "causal/gpt2@607a30d" in seen.attributes("th", "title")


def test_a_report_opens_with_its_date_and_a_summary_of_one_model_or_of_several() -> None:
    right = (Estimate("prediction_0", "all", 1.0, 2, 0.342, 1, "wilson"),)
    one = [ReportedResult(agreement(), created="2026-10-14"), ReportedResult(pairs(), created="2026-10-15")]
    seen = read(render(one))
    assert local_time("2026-10-15") in seen.text
    assert "gpt2 scores between 50.0% (agreement) and 75.0% (verbs) on 2 suites." in seen.text
    two = read(render([*one, ReportedResult(agreement(model="lstm/gulordava", estimates=right))]))
    assert "gulordava has the highest score on 1 of 1 shared suite." in two.text
    assert "Where models differ most agreement · gpt2 · 50.0%" in two.text


def test_suites_of_no_known_circuit_come_last() -> None:
    seen = read(render([ReportedResult(pairs()), ReportedResult(agreement())]))
    assert "Agreement agreement 2 50.0% [9.5, 90.5] prediction 1 some_new_family verbs 4 75.0%" in seen.text


def test_two_runs_of_one_model_are_distinguished() -> None:
    seen = read(render([ReportedResult(agreement(), run=3), ReportedResult(agreement(), run=5)]))
    assert "suite items gpt2 (run 3) gpt2 (run 5)" in seen.text


def test_failing_items_come_first_and_items_beyond_the_limit_are_counted() -> None:
    outcomes = [row for number in range(1, 211) for row in item(str(number), 2.0, 8.0 if number < 210 else 1.0)]
    seen = read(render([ReportedResult(agreement(outcomes=tuple(outcomes)), run=7)]))
    failing, items = seen.text.split("Prediction 1: items that fail")[1].split("Item by item")
    assert re.findall(r"Item (\d+) The", failing) == ["210"]
    assert len(re.findall(r"Item \d+ The", items)) == 199  # one of the 200 that a section may show is above
    assert "11 more items of these are left out to keep this page small. All of them: wug export 7 --to csv" in items


def test_a_page_of_34_suites_of_28_items_stays_under_six_megabytes() -> None:
    # Twelve tokens in eight regions, which is more than the sentences of published suites have.
    one, two = [["sentence", 7.25]], [["sen", 7.25], ["tence", 7.25]]
    regions = [region(number, "sentence", 7.25, two if number % 2 else one) for number in range(1, 9)]
    four = {f"condition_{number}": {"sentence": "", "regions": regions} for number in range(4)}
    outcomes = tuple(Outcome(str(number), "all_predictions", True, {}, {"conditions": four}) for number in range(28))
    reports = [ReportedResult(agreement(outcomes=outcomes, suite=name)) for name in ("a", "b", "c", "d")]
    three, four_suites = (len(render(reports[:count]).encode()) for count in (3, 4))
    assert three + 31 * (four_suites - three) < 6_000_000


def test_a_page_of_very_many_results_leaves_the_pictures_to_the_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.views.report.MAX_RESULTS_WITH_SVG", 0)
    seen = read(render([ReportedResult(agreement())]))
    assert [tag for tag, given in seen.tags if tag == "svg" and "xmlns" in given] == []
    assert len(seen.data) == 1


def test_an_unfinished_run_says_so_at_the_top() -> None:
    seen = read(render([ReportedResult(agreement(status="interrupted"))]))
    assert "1 of 1 results is not complete" in seen.text


def test_a_result_with_nothing_but_estimates_still_has_its_page() -> None:
    seen = read(render([ReportedResult(agreement(outcomes=(), metrics=(), meta={}, warnings=()))]))
    assert "Prediction 1 50.0% [9.5, 90.5] · n = 2 No item fails." in seen.text
    assert seen.data == []


def test_a_suite_without_predictions_still_shows_its_regions() -> None:
    outcomes = tuple(replace(o, value=None) for o in agreement().outcomes if o.metric == "all_predictions")
    seen = read(render([ReportedResult(agreement(estimates=(), outcomes=outcomes))]))
    assert "Surprisal region by region" in seen.text


def test_a_region_without_a_value_is_shown_without_one() -> None:
    endless = agreement().outcomes[1]
    given: dict[str, Any] = conditions(2.0, 8.0)
    given["match"]["regions"][1] = region(2, "swim", None, [["swim", None]])
    outcome = replace(endless, detail={"conditions": given})
    page = render([ReportedResult(agreement(outcomes=(outcome,)))])
    assert '<b class="sx" title="–">swim</b>' in page


def test_another_family_shows_estimates_by_group_and_what_explains_a_failure() -> None:
    seen = read(render([ReportedResult(pairs())]))
    assert "Accuracy by pattern" in seen.text
    assert "across 50.0% [9.5, 90.5] 2" in seen.text
    assert "Items that fail all items 1 of 2 fail Item 8 pattern across bad the wugs swims bits bad 3.5" in seen.text


def test_a_value_that_is_no_share_is_shown_as_it_is() -> None:
    seen = read(render([ReportedResult(pairs())]))
    assert "perplexity 34.22 [30, 38.5]" in seen.text


@pytest.fixture
def show_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that makes every family show the given parts."""

    def install(*parts: object) -> None:
        module = ModuleType("some_new_family")
        module.__dict__.update(
            parts=lambda result, rows: parts,
            items=lambda result, rows: ItemsView("accuracy", lambda row, rows: ItemView()),
        )
        views.view_of.cache_clear()
        monkeypatch.setattr(registry, "names", lambda folder: ["some_new_family"])
        monkeypatch.setattr(registry, "find", lambda folder, name: module)

    yield install
    views.view_of.cache_clear()


def test_a_family_with_a_module_of_its_own_is_shown_by_it(show_parts: Callable[..., None]) -> None:
    show_parts(TextPart("Wugs, and nothing else."))
    text = read(render([ReportedResult(pairs())])).text
    assert "Wugs, and nothing else." in text
    assert "Accuracy by pattern" not in text


def test_only_a_long_table_scrolls_in_a_box_of_its_own(show_parts: Callable[..., None]) -> None:
    for rows, box in ((21, "scroll"), (31, "scroll tall")):
        group = ("", (TablePartRow((TableCell("wug"),)),) * rows)
        show_parts(TablePart("t", "Models", (TableColumn("model"),), (group,)))
        assert f'<div class="{box}" tabindex="0" role="group" aria-label="Models"' in render([ReportedResult(pairs())])


def test_a_number_among_facts_has_four_figures(show_parts: Callable[..., None]) -> None:
    show_parts(FactsPart({"predicted": 236.44533945326594, "fold": 3}))
    text = read(render([ReportedResult(pairs())])).text
    assert "predicted 236.4 fold 3" in text


def test_a_part_of_an_unknown_type_is_an_error(show_parts: Callable[..., None]) -> None:
    class Hologram:
        """Not one of the parts."""

    show_parts(Hologram())
    with pytest.raises(WugError, match=r"cannot show a Hologram: .* gives CardsPart, CodePart"):
        render([ReportedResult(pairs())])


def test_every_type_of_part_can_be_rendered() -> None:
    source = (resources.files("wug.views") / "templates" / "view.html").read_text()
    (table,) = re.findall(r"{% set RENDERERS = {(.*)} %}", source)
    assert set(re.findall(r'"(\w+)": ', table)) == {part.__name__ for part in ViewPart.__subclasses__()}


def test_no_results_make_no_page() -> None:
    with pytest.raises(InputError, match="nothing to report"):
        render([])


def tainted(result: Result) -> Result:
    """The result with markup in everything that comes from users' files."""
    renamed = {"match": f"match{EVIL}", "mismatch": f"mismatch{EVIL}"}
    return replace(
        result,
        suite=result.suite + EVIL,
        model=result.model + EVIL,
        signature=Signature.read(f"{result.signature}{EVIL}"),
        warnings=(EVIL,),
        estimates=tuple(replace(e, group=e.group if e.group == "all" else e.group + EVIL) for e in result.estimates),
        outcomes=tuple(
            replace(o, item=o.item + EVIL, groups={EVIL: EVIL}, detail=taint(o.detail, renamed))
            for o in result.outcomes
        ),
        metrics=tuple(replace(metric, meaning=metric.meaning + EVIL) for metric in result.metrics),
        meta=taint({**result.meta, "author": "A", "description": "D", "tags": ["t"]}, {}),
    )
