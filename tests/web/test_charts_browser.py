"""Charts, items and reports in a real browser: legends that work, axes that are true, names that are short."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import urllib.parse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import every_page
import reading_tables
import sample_results
import wug
from browsing import Served, follow
from wug import stats
from wug.outcomes import Derivation, Estimate, Metric, Outcome, Result, Signature, effect_metrics
from wug.views.report import ReportedResult, render

pytestmark = pytest.mark.slow

POINTS = "path[aria-roledescription='point']"
BARS = "path[aria-roledescription='bar']"
LEGEND = ".legend button"
DRAWN = ".drawn:not(.loading) svg.marks"


def entry(page: Any, name: str) -> Any:
    """The symbol of a name in the legend of a chart."""
    return page.locator("figure.chart").get_by_text(name, exact=True).first


def bits(page: Any) -> list[float]:
    """The numbers at the vertical axis of a chart."""
    texts = page.locator("svg.marks g.role-axis-label text[text-anchor=end]").all_text_contents()
    return [float(text.replace("−", "-").replace(",", "")) for text in texts]


def drawn(page: Any, address: str) -> None:
    """Open a page and wait for its first chart."""
    page.goto(address)
    page.wait_for_selector(DRAWN)


def two_items(*names: str, items: int = 2) -> Result:
    """A suite of a 2 × 2 design or another, whose items differ so much that an interval would be enormous."""
    regions = [[2, names[0]], [2, names[1]]]
    formulas = [{"source": "", "canonical": f"(2;%{names[0]}%) < (2;%{names[1]}%)", "english": "", "regions": regions}]
    made = sample_results.syntaxgym()
    outcomes = []
    for number in range(1, items + 1):
        conditions = {
            name: {
                "regions": [
                    {"number": region, "content": f"{name}{region}", "value": 2.0 + 9 * number * (place + region)}
                    for region in (1, 2, 3)
                ]
            }
            for place, name in enumerate(names)
        }
        outcomes.append(Outcome(str(number), "all_predictions", True, {}, {"conditions": conditions}))
        outcomes.append(Outcome(str(number), "prediction_0", number != 1, {}, {"margin": number - 1.5}))
    return Result(
        suite="design", kind="syntaxgym", model=sample_results.MODEL, status="complete",
        signature=Signature.read("wug:0"), n=items, estimates=made.estimates, outcomes=tuple(outcomes),
        metrics=made.metrics,
        meta={"regions": {"1": "noun", "2": "verb", "3": "end"}, "formulas": formulas, "metric": ["sum"]},
    )  # fmt: skip


DESIGN = ("sing_match", "sing_mismatch", "plur_match", "plur_mismatch")
EIGHT = tuple(f"{a}_{b}_{c}" for a in ("sg", "pl") for b in ("near", "far") for c in ("ok", "bad"))


@pytest.mark.parametrize("way", ["pointer", "touch", "keyboard"])
def test_a_condition_that_is_chosen_in_the_legend_fades_the_others(
    served: Served, new_context: Any, recorder: Any, way: str
) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN))
    page = new_context(has_touch=way == "touch").new_page()
    recorder.watch(page)
    drawn(page, "/result/1")
    assert page.locator(POINTS).count() == 12  # four conditions, three regions
    button = entry(page, "plur_match")
    if way == "keyboard":
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent.trim()") == "plur_match":
                break
        page.keyboard.press("Enter")
    else:
        button.tap() if way == "touch" else button.click()
    expect(page.locator(f"{POINTS}:not([opacity='0.12'])")).to_have_count(3)
    assert page.locator(POINTS).count() == 12  # what it is compared with is still there
    button = page.locator(LEGEND, has_text="plur_match")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.locator(f"{POINTS}[aria-label*='condition: plur_match']").count() == 3
    button.press(" ") if way == "keyboard" else button.click()
    expect(page.locator(POINTS)).to_have_count(12)
    recorder.check()


def test_a_pair_of_models_that_is_chosen_in_a_comparison_is_seen_alone(served: Served, page: Any) -> None:
    for name in ("a", "b", "c"):
        sample_results.keep(served.site.store, sample_results.pairs(items=8, model=f"causal/{name}@1"))
    drawn(page, "/compare?run=1&run=2&run=3")
    assert page.locator(POINTS).count() == 2
    page.locator("figure.chart").get_by_text("b − a", exact=True).first.click()
    expect(page.locator(POINTS)).to_have_count(1)


def test_the_legend_stands_at_the_ends_of_the_lines(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN))
    drawn(page, "/result/1")
    # At the last region, the later condition is the more surprising one: its label is higher.
    names = page.locator(LEGEND).all_inner_texts()
    assert names == list(reversed(DESIGN))
    tops = [box.bounding_box()["y"] for box in page.locator(LEGEND).all()]
    assert all(after - before >= 24 for before, after in pairwise(tops))


def test_two_items_are_drawn_from_0_bits_up_and_without_intervals(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN))
    drawn(page, "/result/1")
    ticks = bits(page)
    assert (min(ticks), max(ticks)) == (0, 100)  # the highest mean: 2 + 9 · 1.5 · 6 = 83 bits
    assert page.locator("path[aria-roledescription='rule mark container'], g.mark-rule path[aria-label]").count() == 0


def test_the_tint_covers_every_point_of_the_region_that_is_compared_even_of_one_item(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN, items=1))
    drawn(page, "/result/1")
    ground = page.locator("g.mark-rect path").bounding_box()
    boxes = [point.bounding_box() for point in page.locator(f"{POINTS}[aria-label*='verb']").all()]
    assert len(boxes) == 4
    for box in boxes:
        assert ground["x"] <= box["x"]
        assert box["x"] + box["width"] <= ground["x"] + ground["width"]


def test_eight_conditions_differ_in_colour_shape_and_dash(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*EIGHT))
    drawn(page, "/result/1")
    lines = page.locator("g.mark-line path").evaluate_all("all => all.map(p => p.getAttribute('stroke-dasharray'))")
    assert len(set(lines)) == 5  # four are solid
    looks = page.evaluate(
        "[...document.querySelectorAll('.legend button svg')].map(s => [...s.children].map(p =>"
        " p.getAttribute('d') + p.getAttribute('fill') + p.getAttribute('stroke-dasharray')).join())"
    )
    assert len(set(looks)) == 8


def test_whole_numbers_stand_once_on_the_axis_of_depth(served: Served, page: Any) -> None:
    outcomes = []
    for number in range(60):
        groups = {"depth": str(3 + number % 2), "function": "copy", "steps": "2"}
        for metric in ("consistency", "original_accuracy", "unrolled_accuracy"):
            outcomes.append(Outcome(str(number), metric, number % 5 != 0, groups, {}))
    made = Result(
        "localism",
        "pcfgset",
        "m/x@1",
        "complete",
        Signature.read("wug:0"),
        60,
        tuple(stats.estimates(outcomes)),
        (),
        tuple(outcomes),
    )
    sample_results.keep(served.site.store, made)
    page.goto("/result/1")
    page.wait_for_selector("#f-by-depth .drawn:not(.loading) svg.marks")
    labels = page.locator("#f-by-depth g.role-axis-label").first.locator("text").all_text_contents()
    assert labels == ["3", "4"]
    # Three series that coincide are next to each other.
    dots = [p.bounding_box()["x"] for p in page.locator(f"#f-by-depth {POINTS}").all()]
    assert len({round(x) for x in dots}) == 6


def test_single_samples_are_not_joined_by_a_line(served: Served, page: Any) -> None:
    outcomes = [
        Outcome(str(number), "accuracy", number % 3 > 0, {"depth": str(depth)}, {})
        for number, depth in enumerate([1] * 8 + [2] * 9 + [3])
    ]
    made = replace(sample_results.plain(), n=18, outcomes=tuple(outcomes), estimates=tuple(stats.estimates(outcomes)))
    sample_results.keep(served.site.store, made)
    page.goto("/result/1")
    page.wait_for_selector("#f-by-depth .drawn:not(.loading) svg.marks")
    assert page.locator(f"#f-by-depth {POINTS}").count() == 3
    (line,) = page.locator("#f-by-depth g.mark-line path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    assert re.findall("[ML]", line) == ["M", "L"]


def test_numbers_are_saved_in_full_under_a_name_that_says_what_they_are(
    served: Served, page: Any, tmp_path: Path
) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN, items=3))
    drawn(page, "/result/1")
    kept = {}
    for form in ("CSV", "JSON", "PNG"):
        with page.expect_download() as waiting:
            page.locator(".tools a", has_text=form).first.click()
        assert waiting.value.suggested_filename == f"design-gpt2-regions.{form.lower()}"
        kept[form] = Path(waiting.value.path()).read_bytes()
    assert kept["PNG"].startswith(b"\x89PNG")
    rows = json.loads(kept["JSON"])
    third = [row["bits"] for row in rows if (row["region"], row["condition"]) == (3, "sing_match")]
    assert third == [(29.0 + 56.0 + 83.0) / 3]  # 2 + 9 · 3 · number
    table = list(csv.DictReader(io.StringIO(kept["CSV"].decode())))
    assert [float(row["bits"]) for row in table] == [row["bits"] for row in rows]


def saved_text(page: Any) -> str:
    """What the first chart of a page says when it is saved as a picture."""
    with page.expect_download() as waiting:
        page.locator(".tools a", has_text="SVG").first.click()
    return " ".join(re.findall(r">([^<>]+)</t(?:ext|span)>", Path(waiting.value.path()).read_text(encoding="utf-8")))


def test_a_saved_figure_says_what_it_shows(served: Served, page: Any) -> None:
    for model in ("causal/alpha@1", "lstm/beta@1"):
        sample_results.keep(served.site.store, sample_results.syntaxgym(items=8, model=model))
    drawn(page, "/result/1")
    text = saved_text(page)
    for part in ("number_prep", "alpha", "n = 8", "surprisal (bits)"):
        assert part in text, (part, text)
    drawn(page, "/compare?run=1&run=2")
    assert "beta − alpha" in saved_text(page)


def test_every_chart_of_a_result_with_a_chance_level_draws_it(served: Served, page: Any) -> None:
    pairs = sample_results.pairs(items=40)
    third = Estimate("chance", "all", 1 / 3, 40)
    choices = replace(pairs, suite="places", kind="choices", estimates=(*pairs.estimates, third))
    sample_results.keep(served.site.store, pairs, choices)
    lines = {
        "/result/1": "chance 50%",
        "/result/2": "chance 33.3%",
        "/suite?name=reflexives": "chance 50%",
        "/run/1": None,
    }
    for address, label in lines.items():
        drawn(page, address)
        texts = page.locator("svg.marks").first.locator("text").all_text_contents()
        assert label is None or label in texts, (address, texts)
    # Suites with different chance levels have a short line each.
    assert page.get_by_text("Short grey lines are chance levels.").is_visible()


def test_every_item_has_its_dot_beside_a_prediction_and_a_click_opens_it(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN, items=4))
    drawn(page, "/result/1")
    strip = page.locator(".strip")
    assert strip.locator("circle").count() == 3
    assert strip.locator("rect.breaks title").all_text_contents() == ["item 1: −0.50 bits, fails"]
    strip.focus()
    page.keyboard.press("Home")
    assert strip.locator("output").inner_text() == "item 1: −0.50 bits, fails"
    page.keyboard.press("Enter")
    page.wait_for_url("**/result/1/outcome/1")
    assert page.locator(".row-head strong").inner_text() == "1"


def test_a_click_on_a_dot_opens_the_items_of_its_group(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=40), sample_results.syntaxgym())
    drawn(page, "/result/1")
    group = page.locator(POINTS).first.get_attribute("aria-label").partition("of: ")[2].partition(";")[0]
    page.locator(POINTS).first.click()
    page.wait_for_url("**/result/1/items?group=*")
    assert page.locator("select[name=group]").input_value() == f"term={group}"
    drawn(page, "/run/1")
    page.locator("figure .role-mark path").last.click()
    page.wait_for_url("**/result/*")


def follow_mark(page: Any, address: str, figure: str, mark: str = POINTS) -> str:
    """Click on the first mark of a chart; the address that it leads to."""
    page.goto(address)
    place = page.locator(f"#{figure} .plot {mark}").first
    page.locator(f"#{figure}").scroll_into_view_if_needed()
    place.wait_for()
    follow(page, place.click)
    return urllib.parse.unquote_plus(page.url.removeprefix(page.url.partition("/result/")[0]))


def test_a_click_on_a_mark_of_each_kind_of_chart_opens_its_items(served: Served, page: Any) -> None:
    judged = sample_results.pairs(items=40)
    human = [replace(one, detail={**one.detail, "human": int(one.item) / 10}) for one in judged.outcomes]
    agreed = Estimate("spearman", "all", 0.4, 40)
    gym, effects = sample_results.syntaxgym(), effect_metrics("effect", Derivation("prediction_0", "margin"), "")
    samples = [
        Outcome(str(number), "accuracy", number % 2 == 0, {"depth": str(number % 2 + 1), "function": "copy"}, {})
        for number in range(40)
    ]
    sample_results.keep(
        served.site.store,
        replace(judged, outcomes=tuple(human), estimates=(*judged.estimates, agreed)),
        replace(gym, estimates=(*gym.estimates, Estimate("effect", "all", 3.0, 6)), metrics=(*gym.metrics, *effects)),
        sample_results.substitutivity(),
        replace(sample_results.plain(), n=40, outcomes=tuple(samples), estimates=tuple(stats.estimates(samples))),
        sample_results.cogs(),
    )

    def listed() -> int:
        assert page.locator(".list > li").count() > 0
        return int(page.locator(".pager span").first.inner_text().partition(" of ")[2])

    assert follow_mark(page, "/result/1", "f-paradigms") == "/result/1/items?group=paradigm=paradigm_0"
    assert listed() == 20
    assert follow_mark(page, "/result/1", "f-margins", BARS).startswith("/result/1/items?value=false&sort=margin")
    assert listed() == 10
    assert follow_mark(page, "/result/1", "f-people").startswith("/result/1/outcome/")
    assert follow_mark(page, "/result/2", "f-regions") == "/result/2/items?"
    assert listed() == 6
    assert follow_mark(page, "/result/2?item=2", "f-regions").startswith("/result/2/outcome/")
    assert page.locator(".row-head strong").inner_text() == "2"
    assert follow_mark(page, "/result/2", "f-effects", f"{POINTS}[aria-label*='item: 3;']").startswith("/result/2/")
    assert page.locator(".row-head strong").inner_text() == "3"
    assert follow_mark(page, "/result/3", "f-shares", BARS) == "/result/3/items?"
    assert follow_mark(page, "/result/3", "f-functions") == "/result/3/items?group=function=copy"
    assert follow_mark(page, "/result/4", "f-by-depth") == "/result/4/items?group=depth=1"
    assert listed() == 20
    cogs = f"{POINTS}[aria-label*='of: subj → obj common']"
    assert follow_mark(page, "/result/5", "f-types", cogs) == "/result/5/items?group=type=subj_to_obj_common"
    assert listed() == 1


def test_a_click_on_a_curve_opens_its_run(everything: Served, chromium: Any) -> None:
    context = chromium.new_context(base_url=everything.address)
    everything.let_in(context)
    page = context.new_page()
    page.goto("/sweeps/1")
    page.locator(POINTS).first.wait_for()
    follow(page, page.locator(POINTS).first.click)
    assert page.url == f"{everything.address}/run/8"
    context.close()


def test_a_click_on_a_difference_opens_the_items_that_differ(served: Served, page: Any) -> None:
    made = sample_results.pairs(items=40)
    other = [replace(one, value=not one.value) if int(one.item) < 3 else one for one in made.outcomes]
    sample_results.keep(served.site.store, made)
    sample_results.keep(served.site.store, replace(made, model="causal/other@1", outcomes=tuple(other)))
    drawn(page, "/compare?run=1&run=2")
    page.locator(POINTS).first.click()
    expect(page.locator("details[data-row][open]")).to_have_count(1)
    assert page.locator("details[open] tbody th").all_inner_texts() == ["0", "1", "2"]


def test_a_click_on_a_difference_opens_the_items_of_its_pair_of_models(served: Served, page: Any) -> None:
    made = sample_results.pairs(items=40)
    for number, name in enumerate("abc"):
        other = [replace(one, value=not one.value) if int(one.item) < number else one for one in made.outcomes]
        sample_results.keep(served.site.store, replace(made, model=f"causal/{name}@1", outcomes=tuple(other)))
    drawn(page, "/compare?run=1&run=2&run=3")
    page.locator(f"{POINTS}[aria-label*='pair: c − a']").click()
    expect(page.locator("details[data-row][open]")).to_have_count(1)
    assert page.locator("details[open] tbody th").all_inner_texts() == ["0", "1"]


def test_a_prediction_shows_the_conditions_that_it_compares(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items(*DESIGN))
    drawn(page, "/result/1")
    button = page.get_by_role("button", name="Show these conditions in the chart").first
    button.click()
    expect(page.locator(f"{POINTS}:not([opacity='0.12'])")).to_have_count(6)
    assert page.locator(POINTS).count() == 12
    assert page.locator(".legend [aria-pressed=true]").count() == 2
    button.click()
    expect(page.locator(f"{POINTS}:not([opacity='0.12'])")).to_have_count(12)


def test_the_words_of_an_item_stand_under_its_regions(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, two_items("match", "mismatch"))
    drawn(page, "/result/1?item=2")
    texts = page.locator("g.role-axis-label text").all_text_contents()
    assert any("match2 /" in text and "mismatch2" in text for text in texts)


def test_an_address_with_an_items_name_shows_that_item(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym(items=16))
    page.goto("/result/1/item/16")
    assert page.locator(".row-head strong").all_inner_texts() == ["16"]


def test_two_models_are_drawn_side_by_side_and_in_one_chart(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym(items=8))
    sample_results.keep(served.site.store, sample_results.syntaxgym(items=8, model="lstm/other@1"))
    page.goto("/result/1")
    page.select_option("select[name=with]", label="other")
    page.wait_for_url("**with=2**")
    expect(page.locator(DRAWN)).to_have_count(2)
    assert page.locator(".of-chart").all_inner_texts() == ["gpt2", "other"]
    page.select_option("select[name=as]", "one")
    page.wait_for_url("**as=one**")
    page.wait_for_selector(DRAWN)
    assert page.locator(POINTS).count() == 8  # two regions, two conditions, two models
    assert page.locator(".legend span.key").all_inner_texts() == ["gpt2", "other"]


def test_the_chart_is_above_the_fold_with_its_question(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym(items=8))
    drawn(page, "/result/1")
    box = page.locator("svg.marks").bounding_box()
    assert box["y"] + box["height"] < 900
    assert page.locator(".question").inner_text() == "Is the verb more surprising in mismatch than in match?"


def test_items_are_sorted_filtered_and_counted(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=130))
    page.goto("/result/1/items")
    assert page.locator(".pager span").first.inner_text() == "1–50 of 130"
    page.locator("a[rel=next]").first.click()
    page.wait_for_url("**page=2**")
    assert page.locator(".pager span").first.inner_text() == "51–100 of 130"
    page.goto("/result/1/items")
    page.select_option("select[name=sort]", "-margin")
    page.wait_for_url("**sort=-margin**")
    # A pair that passes is ahead by 3.25, one that fails behind by 1.5.
    assert page.locator(".row-head").first.inner_text().split()[:2] == ["1", "passes"]
    page.select_option("select[name=sort]", "margin")
    page.wait_for_url("**sort=margin**")
    assert page.locator(".row-head").first.inner_text().split()[:2] == ["0", "fails"]
    assert page.locator("form button:visible").count() == 0
    page.fill("input[name=q]", "themselves 77")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=themselves**")
    assert page.locator(".list > li").count() == 1


def test_an_item_leads_on_to_its_tokens_the_editor_and_other_models(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=8))
    sample_results.keep(served.site.store, sample_results.pairs(items=8, model="lstm/other@1"))
    page.goto("/result/1/items")
    follow(page, page.locator(".onward a", has_text="other models").first.click)
    assert page.locator("#elsewhere").count() == 1
    link = page.locator("#elsewhere + .scroll a")
    assert (link.inner_text(), link.get_attribute("href")) == ("other", "/result/2/outcome/0")
    assert page.locator("a", has_text="token by token").get_attribute("href").startswith("/sentence?s=Many%20girls")
    page.locator("text=open in the editor").click()
    page.wait_for_url("**/editor/*")
    page.wait_for_selector("text=themselves")


def test_the_items_of_cogs_fit_on_a_phone(served: Served, new_context: Any) -> None:
    long = sample_results.cogs()
    kinds = ("prim_to_subj_common", "a_generalisation_type_with_a_name_that_is_much_longer_than_a_telephone_is_wide")
    outcomes = [
        Outcome(str(number), "exact_match", False, {"type": kinds[number % 2]}, dict(long.outcomes[2].detail))
        for number in range(4)
    ]
    made = Result(
        "cogs",
        "cogs",
        "m/x@1",
        "complete",
        Signature.read("wug:0"),
        4,
        tuple(stats.estimates(outcomes)),
        (),
        tuple(outcomes),
    )
    sample_results.keep(served.site.store, made)
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto("/result/1/items")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_what_has_no_tag_stands_under_a_heading_of_its_own_not_under_that_of_others(served: Served, page: Any) -> None:
    outcomes = [
        Outcome(str(place), "accuracy", place % 2 == 0, {"paradigm": name, **({"term": term} if term else {})}, {})
        for place, (name, term) in enumerate([("tagged", "binding"), ("too", "binding"), ("untagged", "")] * 8)
    ]
    made = sample_results.pairs(items=8)
    sample_results.keep(
        served.site.store, replace(made, n=24, outcomes=tuple(outcomes), estimates=tuple(stats.estimates(outcomes)))
    )
    page.goto("/result/1")
    page.wait_for_selector("svg.marks >> text=untagged")
    rows = page.locator("figure.chart", has_text="untagged").locator("svg.marks text").all_text_contents()
    assert [text for text in rows if text in ("binding", "tagged", "too", "untagged", "other")] == [
        *("binding", "tagged", "too", "other", "untagged")
    ]


def test_figures_stand_below_each_other_in_the_bundled_face(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=8))
    page.goto("/result/1/numbers")
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px Inter') && [...document.fonts].some(f => f.status === 'loaded')")
    width = (
        "text => { const s = document.createElement('span'); s.style.fontVariantNumeric = 'tabular-nums';"
        " s.textContent = text; document.querySelector('td').append(s); return s.getBoundingClientRect().width; }"
    )
    assert page.evaluate(width, "1111") == page.evaluate(width, "8888")


def test_warnings_are_amber(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym())
    page.goto("/result/1")
    red, green, blue = page.locator(".notice").evaluate(
        "n => getComputedStyle(n).borderLeftColor.match(/\\d+/g).map(Number)"
    )
    assert red > green > blue


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report on eleven suites and two models."""
    results = [
        *sample_results.every(),
        *(sample_results.pairs(model="causal/EleutherAI/other@607a30d") for _ in range(1)),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render([ReportedResult(one, run=1) for one in results]), encoding="utf-8")
    return path.as_uri()


def test_a_report_is_short_and_a_suite_opens_with_its_figure_first(chromium: Any, report: str) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report)
    assert page.locator(".top .lead").inner_text() == "3 models on 11 suites."
    expect(page.locator("#featured figure")).to_have_count(3)
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    grid = page.locator("table.grid").evaluate("t => [t.scrollWidth, t.closest('.scroll').clientWidth]")
    assert grid[0] <= grid[1]
    assert page.locator("table.grid").bounding_box()["height"] < 900
    assert "607a30d" not in page.locator("main").inner_text()  # whose place is the signature
    assert page.locator(f"[title='{sample_results.MODEL}']").count() > 0
    page.locator("table.grid a", has_text="number_").first.click()
    page.wait_for_selector("details[open] .drawn:not(.loading) svg.marks")
    section = page.locator("details.suite[open] section.result").first
    assert section.locator("> :nth-child(2)").evaluate("e => e.tagName") == "FIGURE"
    assert section.locator(".on-demand").get_attribute("open") is None
    button = page.locator("details[open] .legend button").first
    button.click()
    expect(page.locator("details[open] .legend [aria-pressed=true]")).to_have_count(1)
    page.close()


def test_five_models_fit_into_a_report(chromium: Any, tmp_path: Path) -> None:
    results = [
        ReportedResult(replace(one, model=f"causal/lab/model-{size}@1"), run=place)
        for place, size in enumerate(("70m", "160m", "410m", "1b", "6.9b"))
        for one in (sample_results.pairs(items=8), sample_results.syntaxgym())
    ]
    path = tmp_path / "report.html"
    path.write_text(render(results), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(path.as_uri())
    heads = page.locator("table.grid thead th", has_text="model-")
    assert heads.count() == 5
    assert all(one["x"] + one["width"] <= 1440 for one in (head.bounding_box() for head in heads.all()))
    assert page.evaluate("document.documentElement.scrollWidth") == 1440
    page.close()


def test_a_report_has_at_most_six_pages_on_paper(chromium: Any, report: str) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report)
    page.wait_for_selector("#featured .drawn:not(.loading) svg.marks")
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert 1 <= len(pages) <= 6
    page.emulate_media(media="print")
    assert page.locator("#featured .plot svg:visible").count() == 3
    assert page.locator(".on-demand:visible, .suite:visible, button:visible:not(.legend button)").count() == 0
    page.close()


def test_a_report_shows_everything_where_no_script_runs(chromium: Any, report: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("details.suite section.result").count() == len(sample_results.every()) + 1
    context.close()


def all_tied() -> Result:
    """Sixty pairs of unknown words, all of them with the same score."""
    outcomes = [
        Outcome(str(number), "accuracy", False, {"paradigm": f"p{number % 2}"}, detail)
        for number in range(60)
        for detail in [{"good": f"a b {number}", "bad": f"b a {number}", "logprob_good": -9.0, "logprob_bad": -9.0}]
    ]
    return replace(
        sample_results.pairs(),
        outcomes=tuple(outcomes),
        estimates=tuple(stats.estimates(outcomes)),
        warnings=("all 60 pairs tied, counted as failures: the accuracy is not measurable",),
        measurable=False,
    )


def test_ties_are_drawn_at_0_and_60_of_60_are_not_measurable(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, all_tied())
    page.goto("/result/1")
    assert page.locator(".headline strong").inner_text() == "not measurable"
    assert page.locator(".headline .warned").inner_text() == "1 warning"
    page.wait_for_selector("#f-margins svg.marks")
    assert "0.0%" not in page.locator("main").inner_text()
    bars = page.locator("#f-margins g.mark-rect path")
    assert bars.count() == 1
    bar, plot = (
        bars.bounding_box(),
        page.locator("#f-margins g.mark-group.role-frame > g > path.background").bounding_box(),
    )
    assert bar["width"] < 10
    assert abs(bar["x"] + bar["width"] / 2 - plot["x"] - plot["width"] / 2) < 3


def test_a_warning_marks_the_cell_of_its_value(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym(), all_tied())
    sample_results.keep(served.site.store, sample_results.pairs(model="causal/other@1"))
    page.goto("/")
    marks = page.locator(".matrix td.value")
    assert sorted(marks.all_inner_texts()) == ["66.7!", "74.6", "–!"]
    page.locator(".matrix td.value", has_text="–").locator("a").hover()
    assert "not measurable" in page.locator(".tip").inner_text()


def test_a_list_of_failing_items_says_that_they_fail(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym())
    page.goto("/result/1/items?value=false")
    assert page.locator(".sum").inner_text().startswith("2 items failing · criterion: every prediction holds")
    page.goto("/result/1/items?metric=prediction_0&value=false")
    assert " ".join(page.locator(".breaks").first.inner_text().split()).startswith("fails 3.00 ≤ 4.30")


def test_lists_of_metrics_count_predictions_from_1(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym())
    for address in ("/result/1/items", "/result/1/numbers"):
        page.goto(address)
        shown = page.locator("select[name=metric] option").all_inner_texts()
        assert {"prediction 1", "all predictions"} <= set(shown), address
    page.select_option("select[name=metric]", label="prediction 1")
    page.wait_for_url("**metric=prediction_0**")


def test_a_marked_synonym_has_a_colour_of_the_page(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.substitutivity())
    page.goto("/result/1/items")
    paint = "mark => [getComputedStyle(mark).backgroundColor, getComputedStyle(mark).color]"
    for scheme, colours in (("light", "rgb(255, 246, 220)"), ("dark", "rgb(51, 41, 15)")):
        page.emulate_media(color_scheme=scheme)
        background, letters = page.locator("mark").first.evaluate(paint)
        assert background == colours
        assert letters == page.evaluate("getComputedStyle(document.body).color")


def test_a_result_opens_with_its_question_an_example_and_a_verdict(served: Served, page: Any) -> None:
    store = served.site.store
    sample_results.keep(
        store, sample_results.syntaxgym(items=60), sample_results.pairs(items=60), all_tied(), sample_results.cogs()
    )

    def opening(result: int) -> tuple[str, list[str], str]:
        page.goto(f"/result/{result}")
        part = page.locator(".intro")
        verdict = part.locator(".verdict-line")
        shown = part.locator(".example dd:not(.num)").all_inner_texts()
        return part.locator(".question").inner_text(), shown, verdict.inner_text() if verdict.count() else ""

    question, sentences, verdict = opening(1)
    assert question == "Is the verb more surprising in mismatch than in match?"
    assert sentences == ["The author laugh", "The author laughs"]
    assert page.locator(".example mark").all_inner_texts() == ["laugh", "laughs"]
    assert verdict == "Most items pass: 50% is outside its 95% interval [54.1, 77.3]."
    question, sentences, verdict = opening(2)
    assert question == "Does the model give the grammatical sentence a higher probability than the ungrammatical one?"
    assert sentences == ["Many girls insulted themselves 0.", "Many girls insulted herself 0."]
    assert verdict.startswith("Above chance (50.0%), which is outside its 95% interval [")
    assert opening(3)[2].startswith("Not measurable")
    question, sentences, _ = opening(4)
    assert question == "Does the model find the logical form of a sentence with an unseen structure?"
    assert sentences[0] == "The cat saw Emma ."


def test_every_family_opens_with_a_question_and_an_example(everything: Served, chromium: Any) -> None:
    context = chromium.new_context(base_url=everything.address)
    everything.let_in(context)
    page = context.new_page()
    lacking = []
    for number in every_page.RESULTS:
        page.goto(f"/result/{number}")
        if not page.locator(".intro .question").count() or not page.locator(".intro .example dd").count():
            lacking.append((number, page.locator("h1").inner_text()))
    context.close()
    assert lacking == [(9, sample_results.HOSTILE)]  # a family that is not installed


def test_completions_of_babylm_open_with_an_example_and_the_score_of_the_leaderboard(served: Served, page: Any) -> None:
    outcomes = [
        Outcome(
            f"p{number % 2}/{number}",
            "accuracy",
            number > 9,
            {"paradigm": f"p{number % 2}", "field": "syntax"},
            {"options": ["She laughs.", "She laugh."], "logprobs": [-9.0, -8.0 - number / 5], "right": 1, "chosen": 1},
        )
        for number in range(40)
    ]
    mean = Estimate("accuracy", "macro=paradigms", 0.75, 2)
    made = sample_results.pairs()
    metrics = (Metric("accuracy", meaning="the right completion has the highest log-probability"),)
    estimates = (*stats.estimates(outcomes), mean)
    sample_results.keep(
        served.site.store,
        replace(
            made, suite="blimp", kind="babylm", n=40, outcomes=tuple(outcomes), estimates=estimates, metrics=metrics
        ),
    )
    drawn(page, "/result/1")
    opening = page.locator(".intro")
    assert opening.locator(".question").inner_text().startswith("Does the model give the right completion")
    assert opening.locator(".example dd:not(.num)").all_inner_texts() == ["She laughs.", "She laugh."]
    assert "Numbers are the log-probability" in opening.inner_text()
    assert page.locator(".estimates tbody tr").all_inner_texts()[0].split()[:3] == ["mean", "of", "paradigms"]
    assert page.locator("figure h2").all_inner_texts() == ["Accuracy by paradigm"]  # one field has a single value


def test_a_word_that_is_split_in_one_condition_is_explained(served: Served, page: Any) -> None:
    made = two_items("match", "mismatch")
    cut = [["s", 1.0], ["ings", 2.0]]
    outcomes = []
    for one in made.outcomes:
        detail = copy.deepcopy(dict(one.detail))
        for name, tokens in (("match", cut), ("mismatch", [["sing", 3.0]])) if "conditions" in detail else ():
            detail["conditions"][name]["regions"][1]["tokens"] = tokens
        outcomes.append(replace(one, detail=detail))
    sample_results.keep(served.site.store, replace(made, outcomes=tuple(outcomes)))
    page.goto("/result/1")
    assert page.get_by_text("In 2 of 2 items, a compared region has more tokens").is_visible()
    page.goto("/result/1/items")
    assert page.get_by_text("Region 2 has 1 token in mismatch and 2 tokens in match.").count() == 2


def test_pairs_say_which_words_are_split_and_in_how_many(served: Served, page: Any) -> None:
    made = sample_results.pairs(items=4)
    first, *others = made.outcomes
    split = replace(first, detail={**first.detail, "tokens_good": 4, "tokens_bad": 6})
    sample_results.keep(served.site.store, replace(made, outcomes=(split, *others)))
    page.goto("/result/1")
    counted = page.locator(".tally div").filter(has_text="split differently")
    assert counted.locator("strong").inner_text() == "1"
    page.goto("/result/1/items?value=")
    assert page.get_by_text("2 tokens more in the ungrammatical one").count() == 1


def test_reading_times_open_with_words_their_times_and_a_verdict(served: Served, page: Any, tmp_path: Path) -> None:
    table = reading_tables.write(tmp_path / "times.csv", reading_tables.stories(4, 30))
    found = wug.reading(table, "rt", predictors="surp", text="story", position="position", word="word")
    sample_results.keep(served.site.store, *found)
    page.goto("/result/1")
    opening = page.locator(".intro")
    assert opening.locator(".question").inner_text().startswith("Does surp predict rt beyond length")
    assert opening.locator(".example dt").all_inner_texts() == ["observed", "predicted"]
    assert opening.get_by_text("a ΔLL of 0 is").is_visible()
