"""Tools of the suite editor in a real browser: large suites, find and replace, templates, proof-reading, models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from editing import cell, document, grid, kept_, paste, ready
from wug.results.store import Store
from wug.web.site import Site

REGIONS, CONDITIONS, ITEMS = 12, 8, 200


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_worker")]


@pytest.fixture
def site(tmp_path: Path, kept: Path, tiny_causal: Callable[..., Path]) -> Site:
    """A site with a tiny model under two names, and a folder to save to."""
    folder = tmp_path / "suites"
    folder.mkdir()
    model = tiny_causal()
    models = (str(model), f"causal:{model}")
    return Site(store=Store(tmp_path / "store"), cache=kept / "answers.db", folders=(folder,), models=models)


@pytest.fixture
def large(page: Any, site: Site) -> Any:
    """A suite of 19,200 cells; each contains its position."""
    conditions = [f"c{number}" for number in range(1, CONDITIONS + 1)]
    made = {
        "meta": {"name": "large", "metric": "sum"},
        "region_meta": {str(number): f"r{number}" for number in range(1, REGIONS + 1)},
        "predictions": ["(1;%c1%) < (1;%c2%)"],
        "items": [
            {
                "item_number": item,
                "conditions": [
                    {
                        "condition_name": name,
                        "regions": [
                            {"region_number": region, "content": f"{item} {name} {region}"}
                            for region in range(1, REGIONS + 1)
                        ],
                    }
                    for name in conditions
                ],
            }
            for item in range(1, ITEMS + 1)
        ],
    }
    headers = {"x-wug-token": site.csrf_token, "x-file-name": "large.json"}
    address = page.request.post("/editor/upload.json", data=json.dumps(made), headers=headers).json()["address"]
    page.goto(address)
    return ready(page)


def copied(page: Any) -> list[list[str]]:
    """What Ctrl+C would take."""
    text: str = page.evaluate(
        """() => { const data = new DataTransfer();
             const copy = new ClipboardEvent("copy", { clipboardData: data, cancelable: true });
             document.activeElement.dispatchEvent(copy);
             return data.getData("text/plain"); }"""
    )
    return [line.split("\t") for line in text.split("\n")]


def active(page: Any) -> str:
    """The text of the active cell, which has the focus."""
    text: str = page.evaluate("document.activeElement.closest('.active').querySelector('.text').textContent")
    return text


def test_only_what_is_in_view_of_a_large_suite_is_on_the_page(large: Any) -> None:
    assert large.evaluate("document.querySelectorAll('*').length") < 3000
    assert large.locator("#grid tbody tr:not(.gap)").count() < 60
    assert large.get_attribute("#grid", "aria-rowcount") == str(CONDITIONS * ITEMS + 1)
    large.keyboard.press("Control+End")
    assert active(large) == f"{ITEMS} c{CONDITIONS} {REGIONS}"
    last = large.locator(f'#grid tr[aria-rowindex="{CONDITIONS * ITEMS + 1}"]')
    assert last.locator("td").last.inner_text() == f"{ITEMS} c{CONDITIONS} {REGIONS}"
    assert large.evaluate("document.querySelectorAll('*').length") < 3000
    assert large.locator('#grid tr[aria-rowindex="2"]').count() == 0


def test_keys_selection_and_paste_reach_rows_that_are_out_of_view(large: Any) -> None:
    large.keyboard.press("PageDown")
    page_down = int(large.evaluate("Number(document.activeElement.closest('tr').getAttribute('aria-rowindex'))")) - 2
    assert 5 < page_down < 60, "a screen of rows"
    large.keyboard.press("PageUp")
    assert active(large) == "1 c1 1"
    large.keyboard.press("Control+Shift+ArrowDown")
    assert active(large) == f"{ITEMS} c{CONDITIONS} 1"
    taken = copied(large)
    assert (len(taken), taken[0], taken[-1]) == (1600, ["1 c1 1"], [f"{ITEMS} c{CONDITIONS} 1"])
    large.keyboard.press("Delete")
    large.keyboard.press("Control+Home")
    assert cell(large, 1, 2).locator(".text").inner_text() == ""
    paste(large, "\n".join(f"new {number}" for number in range(1600)))
    large.keyboard.press("Control+End")
    large.keyboard.press("Home")
    assert active(large) == "new 1599"
    large.keyboard.type("typed")
    large.keyboard.press("Enter")
    found = document(large)["items"]
    assert [c["regions"][0]["content"] for c in found[-1]["conditions"]][-2:] == ["new 1598", "typed"]


def test_a_cell_that_is_scrolled_away_keeps_the_focus_and_is_written_to(large: Any) -> None:
    cell(large, 3, 2).click()
    large.evaluate("document.querySelector('.sheet').scrollTop = 30000")
    expect(large.locator('#grid tr[aria-rowindex="12"]')).to_have_count(0)
    large.keyboard.type("still here")
    large.keyboard.press("Enter")
    assert cell(large, 3, 2).locator(".text").inner_text() == "still here"
    assert active(large) == "1 c4 1"


def test_a_region_added_to_a_large_suite_is_there_in_every_row(large: Any) -> None:
    cell(large, 9, 3).click()
    large.keyboard.press("Alt+r")
    large.keyboard.type("added")
    large.keyboard.press("Enter")
    assert grid(large)[0] == ["r1", "r2", "added", *[f"r{number}" for number in range(3, REGIONS + 1)]]
    assert len(document(large)["items"][-1]["conditions"][-1]["regions"]) == REGIONS + 1


def test_find_goes_to_cells_out_of_view_and_replace_changes_them_in_one_step(large: Any) -> None:
    large.keyboard.press("Control+f")
    large.keyboard.type("150 c2")
    expect(large.locator("#found")).to_have_text("12 found")
    large.keyboard.press("Enter")
    expect(large.locator("#found")).to_have_text("1 of 12")
    expect(large.locator("#grid .active .text")).to_have_text("150 c2 1")
    large.keyboard.press("Enter")
    expect(large.locator("#grid .active .text")).to_have_text("150 c2 2")
    large.keyboard.press("Shift+Enter")
    large.fill("#replace-text", "found 150 c2")
    large.click("#replace-one")
    expect(large.locator("#found")).to_have_text("2 of 12")
    large.click("#replace-all")
    expect(large.locator("#found")).to_have_text("12 replaced in 12 cells; Undo restores it")
    regions = document(large)["items"][149]["conditions"][1]["regions"]
    assert regions[0]["content"] == "found found 150 c2 1"
    assert regions[11]["content"] == "found 150 c2 12"
    large.keyboard.press("Escape")
    large.keyboard.press("Control+z")
    expect(large.locator(".cell-field")).to_have_attribute("aria-label", "item 150, c2, region 2 r2: 150 c2 2")
    for _ in range(300):  # the page says that all is kept till the change is on its way
        regions = document(large)["items"][149]["conditions"][1]["regions"]
        if regions[1]["content"] == "150 c2 2":
            break
        large.wait_for_timeout(100)
    assert [region["content"] for region in regions[:2]] == ["found 150 c2 1", "150 c2 2"]


def test_whole_words_and_case_are_distinguished(begin: Callable[..., Any]) -> None:
    page = begin()
    page.keyboard.press("Control+f")
    page.keyboard.type("the")
    expect(page.locator("#found")).to_have_text("8 found")
    page.check("#find-case")
    expect(page.locator("#found")).to_have_text("4 found")
    page.fill("#find-text", "boy")
    page.check("#find-word")
    expect(page.locator("#found")).to_have_text("2 found")
    page.fill("#find-text", "(b.y")
    expect(page.locator("#found")).to_have_text("nothing found")


def test_undo_and_redo_go_on_after_a_reload(begin: Callable[..., Any]) -> None:
    page = begin()
    before = grid(page)
    cell(page, 1, 2).click()
    page.keyboard.type("A girl")
    page.keyboard.press("Enter")
    page.click('[data-act="copyItem"]')
    page.keyboard.press("Alt+r")
    page.fill("#meta-name", "named")
    after = grid(page)
    page.click("#undo")
    page.reload()
    ready(page)
    assert page.input_value("#meta-name") == ""
    page.click("#redo")
    assert (page.input_value("#meta-name"), grid(page)) == ("named", after)
    for _ in range(4):
        page.click("#undo")
    assert grid(page) == before
    assert page.is_disabled("#undo")


def test_saving_again_asks_nothing_until_someone_else_has_changed_the_file(
    begin: Callable[..., Any], site: Site, recorder: Any
) -> None:
    page = begin()
    recorder.expected.append("409")
    questions: list[str] = []

    def refuse(dialog: Any) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.fill("#meta-name", "again")
    page.keyboard.press("Control+s")
    page.click("#save-go")
    target = site.folders[0] / "again.json"
    expect(page.locator("#notices .good")).to_contain_text("again.json")
    page.get_by_role("button", name="Show or hide the formula").first.click()
    page.fill("#prediction-0", "(1;%match_sing%) > 0")
    page.click("#notices button")
    page.keyboard.press("Control+s")
    expect(page.locator("#notices .good")).to_contain_text("again.json")
    assert json.loads(target.read_text())["predictions"][0] == "(1;%match_sing%) > 0"
    assert questions == []
    target.write_text("someone else's")
    page.reload()
    ready(page)
    with page.expect_response("**/save.json"), page.expect_event("dialog"):
        page.click("#save")
    assert "has changed since it was saved here" in questions[0]
    assert target.read_text() == "someone else's"


def test_a_long_sentence_is_clipped_in_its_cell_and_in_the_preview(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    page.keyboard.type("a very long subject ")
    page.keyboard.insert_text("a very long subject " * 29)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    assert page.locator("#sentence").bounding_box()["height"] < 30
    assert page.get_attribute("#sentence", "title").startswith("a very long subject a very")
    heights = page.eval_on_selector_all("#grid tbody tr", "(rows) => rows.map((row) => row.offsetHeight)")
    assert len(set(heights)) == 1
    assert cell(page, 1, 2).bounding_box()["width"] < 400


def test_all_sentences_are_proof_read_in_a_table_and_lead_back_to_their_cells(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 2, 3).click()
    page.keyboard.type("near near the dogs")
    page.keyboard.press("Enter")
    page.click('[data-act="copyItem"]')
    page.click("#proof")
    rows = page.locator("#proof-rows tr")
    assert rows.count() == 8
    assert rows.nth(1).inner_text().split("\t") == ["1", "mismatch_sing", "The boy near near the dogs swim today ."]
    assert page.locator("#proof-rows mark").all_inner_texts() == ["near near", "near near"]
    page.select_option("#proof-order", "condition")
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()[:3]] == [
        ["1", "match_sing"], ["2", "match_sing"], ["1", "mismatch_sing"]
    ]  # fmt: skip
    rows.nth(3).locator("button").click()
    expect(page.locator("#proof-dialog")).to_be_hidden()
    assert "active" in cell(page, 6, 2).get_attribute("class")


def test_a_template_is_filled_from_lists_line_by_line(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    for text in ("The {noun_sg}", "The {noun_sg}", "The {noun_pl}", "The {noun_pl}"):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    page.click("#template")
    expect(page.locator("#template-preview")).to_have_text("There are no words for {noun_sg} yet.")
    page.locator('[data-slot="noun_sg"]').click()
    paste(page, "cat\tcats\r\nwug\twugs\r\nfox\tfoxes\r\n")
    expect(page.locator("#template-preview")).to_contain_text("3 items. The first: The cat near the dogs swims today .")
    page.fill('[data-slot="noun_pl"]', "cats\nwugs")
    expect(page.locator("#template-preview")).to_contain_text("{noun_pl} has 2 words and another list has 3")
    assert page.is_disabled("#template-go")
    page.fill('[data-slot="noun_pl"]', "cats\nwugs\nfoxes")
    page.click("#template-go")
    assert [row[1] for row in grid(page)[1:]] == [
        *["The cat"] * 2, *["The cats"] * 2, *["The wug"] * 2, *["The wugs"] * 2, *["The fox"] * 2, *["The foxes"] * 2
    ]  # fmt: skip
    assert [item["item_number"] for item in document(page)["items"]] == [1, 2, 3]
    page.keyboard.press("Control+z")
    assert grid(page)[1][1] == "The {noun_sg}"


def test_a_template_is_filled_with_every_combination_and_may_stay(begin: Callable[..., Any]) -> None:
    page = begin("blank")
    cell(page, 1, 2).click()
    page.keyboard.type("{det} {noun}")
    page.keyboard.press("Enter")
    page.click("#template")
    page.fill('[data-slot="det"]', "a\nthe")
    page.fill('[data-slot="noun"]', "dog\ncat\nwug")
    page.check("#template-cross")
    page.check("#template-keep")
    page.click("#template-go")
    kept_(page)
    firsts = [item["conditions"][0]["regions"][0]["content"] for item in document(page)["items"]]
    assert firsts == ["{det} {noun}", "a dog", "a cat", "a wug", "the dog", "the cat", "the wug"]
    assert [item["item_number"] for item in document(page)["items"]] == [1, 2, 3, 4, 5, 6, 7]


def test_a_suite_is_run_on_several_models_at_once(begin: Callable[..., Any], site: Site) -> None:
    page = begin()
    page.fill("#meta-name", "several")
    for box in page.locator("#score-form [name=model]").all():
        box.check()
    page.click("#score")
    expect(page.locator("#models-result tbody tr")).to_have_count(2)
    expect(page.locator("#score")).to_be_enabled()
    assert page.get_attribute("#compare-link", "href") == "/compare?run=1&run=2"
    page.locator("#models-result button").nth(1).click()
    expect(page.locator("#run-link")).to_have_text("Run 2")
    assert len(site.store.runs()) == 2
    page.reload()
    ready(page)
    expect(page.locator("#models-result tbody tr")).to_have_count(2)
    assert page.locator("#score-form [name=model]:checked").count() == 2


POINTS = "#chart path[aria-roledescription='point']"


def test_the_chart_of_a_small_suite_begins_at_0_bits_and_has_a_working_legend(
    begin: Callable[..., Any],
) -> None:
    page = begin()
    page.fill("#meta-name", "one item")
    page.click("#score")
    page.wait_for_selector("#result:not([hidden]) #chart svg.marks")
    texts = page.locator("#chart g.role-axis-label text[text-anchor=end]").all_text_contents()
    assert min(float(text.replace("−", "-")) for text in texts if text[-1].isdecimal()) == 0
    assert page.locator("#chart g.mark-rule path[aria-label]").count() == 0  # of one item there is no interval
    assert page.locator(POINTS).count() == 16  # four conditions, four regions
    ground = page.locator("#chart g.mark-rect path").first.bounding_box()
    boxes = [one.bounding_box() for one in page.locator(f"{POINTS}[aria-label*='verb']").all()]
    assert len(boxes) == 4
    for box in boxes:
        assert ground["x"] <= box["x"]
        assert box["x"] + box["width"] <= ground["x"] + ground["width"]
    page.locator("#chart").get_by_text("match_plural", exact=True).first.click()
    expect(page.locator(f"{POINTS}:not([opacity='0.12'])")).to_have_count(4)


def test_without_enough_items_no_interval_is_shown(begin: Callable[..., Any]) -> None:
    page = begin()
    page.fill("#meta-name", "few")
    cell(page, 1, 2).click()
    page.click('[data-act="copyItem"]')
    page.click("#score")
    page.wait_for_selector("#result:not([hidden]) #chart svg")
    assert {
        cells[2] for cells in (row.split("\t") for row in page.locator("#estimates tbody tr").all_inner_texts())
    } == {"–"}
    assert page.inner_text("#few") == "With 2 items there is no interval: it needs at least 5."
    for _ in range(3):
        page.click('[data-act="copyItem"]')
    page.click("#score")
    expect(page.locator("#estimates tbody")).to_contain_text("[")
    assert page.inner_text("#few") == ""
