"""The suite editor in a real browser: a suite written from nothing, crashes survived, the file it gives."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browsing import full_disk
from command_line import wug
from editing import cell, document, grid, kept_, paste, ready
from job_helpers import ended
from reference import reference
from wug.errors import InputError
from wug.files import write_text
from wug.results.store import Store
from wug.web.jobs import job_queue
from wug.web.site import Site
from wug.web.worker import score_texts

HOSTILE = "<img src=x onerror=alert(1)>"
GONE = ["ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "403 (Forbidden)"]
"""What the browser itself says while the server is away, and when it shows the token of the one before."""


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_worker")]


@pytest.fixture
def site(tmp_path: Path, kept: Path, tiny_causal: Callable[..., Path]) -> Site:
    """A site with a tiny model, and a folder to save to."""
    folder = tmp_path / "suites"
    folder.mkdir()
    return Site(
        store=Store(tmp_path / "store"), cache=kept / "answers.db", folders=(folder,), models=(str(tiny_causal()),)
    )


def fill(page: Any, *texts: str) -> None:
    """Write texts from the active cell on, each closed by Tab."""
    for text in texts:
        page.keyboard.type(text)
        page.keyboard.press("Tab")


def write_a_suite(page: Any) -> None:
    """Name, conditions, regions, and an item in two conditions, with the keyboard alone."""
    page.keyboard.type("my agreement")
    cell(page, 0, 2).click()
    fill(page, "subject", "verb", "rest")
    cell(page, 1, 1).click()
    page.keyboard.type("match")
    page.keyboard.press("Enter")
    page.keyboard.type("mismatch")
    page.keyboard.press("Enter")
    cell(page, 1, 2).click()
    fill(page, "the boy", "swims", "quickly .", "the boy", "swim", "quickly .")


@pytest.mark.usefixtures("hurried")
def test_a_suite_written_in_the_editor_has_the_same_result_on_the_command_line(
    begin: Callable[..., Any], served: Any, site: Site, new_site: Callable[[], Site], recorder: Any, tmp_path: Path
) -> None:
    page = begin("blank")
    write_a_suite(page)
    assert grid(page)[:3] == [
        ["subject", "verb", "rest"],
        ["match", "the boy", "swims", "quickly ."],
        ["mismatch", "the boy", "swim", "quickly ."],
    ]

    # A prediction with an error, its caret, and the plain English once it is fixed.
    page.click("#add-prediction")
    page.keyboard.type("(2;%match%) < (2;%mismach%)")
    page.wait_for_selector(".caret")
    assert page.inner_text(".caret") == "(2;%match%) < (2;%mismach%)\n                 ^^^^^^^^^"
    assert "Did you mean 'mismatch'?" in page.inner_text(".fault-words")
    assert "mono" in page.evaluate("getComputedStyle(document.querySelector('.caret')).fontFamily").lower()
    page.fill("#prediction-0", "(2;%match%) < (2;%mismatch%)")
    page.wait_for_selector(".english")
    assert page.inner_text(".english") == "Region 2 (verb) is less surprising in match than in mismatch."
    expect(page.locator("#verdict")).to_have_text("Ready: no problems found.")

    # The server goes; what is written in the meantime is there when it is back, even after a reload without it.
    kept_(page)
    recorder.expected += GONE
    served.stop()
    cell(page, 2, 4).click()
    page.keyboard.press("Control+Enter")
    fill(page, "the girl", "sees", ".", "the girl", "see", ".")
    page.wait_for_selector("#kept.alone")
    served.start(new_site())
    page.wait_for_selector("#kept.bad")
    assert "Open the address that wug view printed" in page.inner_text("#kept")
    page.context.new_page().goto(served.entrance)  # as wug view does by itself
    kept_(page)
    page.reload()
    ready(page)
    assert grid(page)[3:] == [["match", "the girl", "sees", "."], ["mismatch", "the girl", "see", "."]]

    page.click("#score")
    page.wait_for_selector("#result:not([hidden]) #chart svg")
    assert "mismatch" in page.text_content("#chart .legend")
    run = int(re.findall(r"\d+", page.inner_text("#run-link"))[0])
    assert page.get_attribute("#run-link", "href") == f"/run/{run}"
    assert page.locator("#stale").is_hidden()
    assert float(cell(page, 1, 3).locator(".mark").inner_text()) > 0
    expect(page.locator(".held")).to_contain_text("of 2 items")

    with page.expect_download() as coming:
        page.click("#download-json")
    assert coming.value.suggested_filename == "my_agreement.json"
    path = tmp_path / "downloaded.json"
    coming.value.save_as(path)
    said = wug("run", path, "--model", site.models[0], "--format", "json", "--no-cache").results[0]
    (result,) = Store(site.store.path).results(run)
    assert said["signature"] == str(result.signature)
    assert [(e["metric"], e["value"], e["low"]) for e in said["estimates"]] == [
        (e.metric, e.value, e.low) for e in result.estimates
    ]
    assert page.locator("#estimates tbody tr").count() == 1  # every prediction at once says no more than the only one


def test_the_builtin_model_scores_the_design(
    chromium: Any, site: Site, served: Any, new_site: Callable[[], Site], context: Any, recorder: Any
) -> None:
    served.stop()
    served.start(replace(new_site(), models=("wug-causal",)))
    served.let_in(context)
    page = context.new_page()
    recorder.watch(page)
    page.goto("/editor")
    page.click('[data-from="2x2"]')
    ready(page).keyboard.type("design")
    page.click("#score")
    page.wait_for_selector("#result:not([hidden]) #chart svg")
    assert "wug-causal" in page.inner_text("#run-model")
    recorder.check()


def test_a_block_from_a_spreadsheet_makes_the_grid_grow(begin: Callable[..., Any]) -> None:
    page = begin("blank")
    cell(page, 1, 3).click()
    paste(page, 'a\tb\tc\r\n"d ""q"""\t\tf\r\ng\th\ti\r\n')
    assert grid(page) == [
        ["region_1", "region_2", "region_3", ""],
        ["condition_1", "", "a", "b", "c"],
        ["condition_2", "", 'd "q"', "", "f"],
        ["condition_1", "", "g", "h", "i"],
        ["condition_2", "", "", "", ""],
    ]
    assert page.locator("#grid .item").count() == 2


@pytest.mark.parametrize("column", [0, 2])  # at the item's number, and where Tab first lands
def test_a_whole_table_with_items_and_conditions_is_pasted_into_an_empty_suite(
    begin: Callable[..., Any], column: int
) -> None:
    page = begin("blank")
    cell(page, 1, column).click()
    paste(page, "item\tcondition\tnoun\tverb\n1\tsg\tboy\tswims\n\tpl\tboys\tswim\n7\tsg\tgirl\tsees\n\tpl\tgirls\tsee")
    expect(page.locator("#notices")).to_contain_text(
        "Read as a wide table: 2 conditions × 2 items, regions noun, verb; 0 predictions; first sentence: boy swims."
    )
    assert grid(page) == [
        ["noun", "verb"],
        ["sg", "boy", "swims"],
        ["pl", "boys", "swim"],
        ["sg", "girl", "sees"],
        ["pl", "girls", "see"],
    ]
    assert [item["item_number"] for item in document(page)["items"]] == [1, 7]
    page.keyboard.press("Control+z")
    assert grid(page)[0] == ["region_1", "region_2", "region_3"]


def test_a_table_pasted_over_a_suite_goes_where_its_items_conditions_and_regions_are(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    rows = "item,condition,rest,verb\n1,match_sing,now .,runs\n2,match_sing,here .,eats\n"
    paste(page, f"# prediction: (verb;%match_sing%) < 9\n{rows}")
    expect(page.locator("#notices")).to_contain_text(
        "1 condition × 2 items, regions rest, verb; 1 prediction; first sentence: now . runs."
    )
    assert grid(page)[0] == ["subject", "modifier", "verb", "rest"]
    assert grid(page)[1] == ["match_sing", "The boy", "near the dogs", "runs", "now ."]
    assert grid(page)[5] == ["match_sing", "", "", "eats", "here ."]
    assert page.input_value("#prediction-2") == "(verb;%match_sing%) < 9"


def test_a_table_with_a_fault_is_not_pasted_and_the_line_is_said(begin: Callable[..., Any], recorder: Any) -> None:
    page = begin("blank")
    recorder.expected.append("400")
    before = grid(page)
    cell(page, 1, 2).click()
    paste(page, "item,condition,a\n1,x,one\n1,x,two\n")
    expect(page.locator("#notices .bad")).to_contain_text("line 3: item 1 has the condition 'x' twice")
    assert grid(page) == before


def test_cells_are_copied_as_a_spreadsheet_takes_them_and_cut_and_filled(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    copied = page.evaluate(
        """() => { const data = new DataTransfer();
             const copy = new ClipboardEvent("copy", { clipboardData: data, cancelable: true });
             document.activeElement.dispatchEvent(copy);
             return data.getData("text/plain"); }"""
    )
    assert copied == "The boy\tnear the dogs\nThe boy\tnear the dogs"
    page.keyboard.press("Delete")
    assert [row[1:3] for row in grid(page)[1:4]] == [["", ""], ["", ""], ["The boys", "near the dog"]]
    page.keyboard.press("Control+z")
    cell(page, 2, 4).click()
    page.keyboard.press("Control+d")
    assert [row[3] for row in grid(page)[1:3]] == ["swims", "swims"]


def test_predictions_follow_when_items_conditions_and_regions_change(
    begin: Callable[..., Any],
) -> None:
    page = begin()
    formula = page.locator("#prediction-0")
    cell(page, 1, 4).click()
    page.keyboard.press("Alt+ArrowLeft")
    assert grid(page)[0] == ["subject", "verb", "modifier", "rest"]
    assert formula.input_value() == "(2;%match_sing%) < (2;%mismatch_sing%)"
    page.keyboard.press("Alt+ArrowRight")
    cell(page, 1, 2).click()
    page.click('[data-act="removeRegion"]')
    assert formula.input_value() == "(2;%match_sing%) < (2;%mismatch_sing%)"
    cell(page, 1, 3).click()
    page.click('[data-act="removeRegion"]')
    assert formula.input_value() == "(removed verb;%match_sing%) < (removed verb;%mismatch_sing%)"
    page.click("#undo")
    page.click("#undo")
    cell(page, 2, 1).click()
    page.keyboard.type("bad_sing")
    page.keyboard.press("Enter")
    assert formula.input_value() == "(3;%match_sing%) < (3;%bad_sing%)"
    cell(page, 2, 1).click()
    page.keyboard.press("Alt+ArrowUp")
    assert [row[0] for row in grid(page)[1:]] == ["bad_sing", "match_sing", "match_plural", "mismatch_plural"]
    page.keyboard.press("Alt+c")
    assert [row[0] for row in grid(page)[1:3]] == ["bad_sing", "condition_5"]
    page.click('[data-act="copyItem"]')
    page.click('[data-act="removeCondition"]')
    assert page.locator("#grid .item").count() == 2
    assert len(grid(page)) == 9
    cell(page, 1, 0).click()
    page.keyboard.press("Alt+ArrowDown")
    assert [item["item_number"] for item in document(page)["items"]] == [2, 1]
    page.click('[data-act="numberItems"]')
    page.click('[data-act="removeItem"]')
    assert [item["item_number"] for item in document(page)["items"]] == [1]


def test_a_region_added_after_the_last_name_comes_last(begin: Callable[..., Any]) -> None:
    page = begin("blank")
    cell(page, 0, 2).click()
    fill(page, "subject", "verb", "rest")
    page.keyboard.press("Alt+r")
    fill(page, "end")
    page.keyboard.press("Alt+r")
    page.keyboard.type("stop")
    page.keyboard.press("Enter")
    assert grid(page)[0] == ["subject", "verb", "rest", "end", "stop"]


@pytest.mark.parametrize(
    ("source", "task"),
    [("blank", "Give the suite a name, and write its sentences."), ("2x2", "Give the suite a name.")],
)
def test_a_new_suite_opens_without_an_error(begin: Callable[..., Any], source: str, task: str) -> None:
    page = begin(source)
    page.wait_for_load_state("networkidle")
    expect(page.locator("#verdict")).to_have_text(task)
    assert page.locator("#problems li").count() == 0
    assert page.locator("#grid .fault").count() == 0
    cell(page, 1, 2).click()
    page.keyboard.type("The boys")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("to fix")
    expect(page.locator("#problems")).to_contain_text("is empty: give the suite a name")


def test_a_draft_has_a_date_as_runs_have(begin: Callable[..., Any], site: Site) -> None:
    page = begin()
    site.store.finish(site.store.begin("x", "causal/x@1", "wug run x"), "complete")
    page.goto("/editor")
    changed = page.locator("#drafts time").inner_text()
    page.goto("/runs")
    started = page.locator(".run-list time").inner_text()
    digits = [re.sub(r"\d", "0", text.replace("Sept", "Sep")) for text in (changed, started)]
    assert digits[0] == digits[1]


def test_names_that_cannot_be_are_refused_with_a_word(begin: Callable[..., Any]) -> None:
    page = begin()
    for name, said in [("match_plural", "already"), ("50%", "cannot have %"), ("  ", "needs a name")]:
        cell(page, 1, 2).click()
        page.keyboard.press("ArrowLeft")
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(page.locator("#notices")).to_contain_text(said)
    assert grid(page)[1][0] == "match_sing"


def test_everything_can_be_undone_and_redone(begin: Callable[..., Any]) -> None:
    page = begin()
    before = grid(page)
    cell(page, 1, 2).click()
    page.keyboard.type("A")
    page.keyboard.press("Enter")
    page.keyboard.press("Alt+r")
    page.keyboard.type("new")
    page.keyboard.press("Enter")
    show_formula(page, 0)
    page.fill("#prediction-0", "1 < 2")
    page.fill("#meta-name", "named")
    after = grid(page)
    for _ in range(5):
        page.keyboard.press("Control+z")
    assert grid(page) == before
    assert page.input_value("#prediction-0") == "(3;%match_sing%) < (3;%mismatch_sing%)"
    for _ in range(5):
        page.keyboard.press("Control+Shift+z")
    assert grid(page) == after
    assert (page.input_value("#meta-name"), page.input_value("#prediction-0")) == ("named", "1 < 2")
    assert page.is_disabled("#redo")


def test_typing_escape_and_f2_work_as_in_a_spreadsheet(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    page.keyboard.type("no")
    page.keyboard.press("Escape")
    assert grid(page)[1][1] == "The boy"
    page.keyboard.press("F2")
    page.keyboard.press("End")
    page.keyboard.type("s")
    page.keyboard.press("Enter")
    assert grid(page)[1][1] == "The boys"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("back")
    page.keyboard.press("ArrowRight")
    assert grid(page)[3][1] == "back", "Enter goes back to the column where the Tabs began"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "try-sentence", "Escape, then Tab, leaves the grid"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "proof"
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.act") == "addItem"


def test_what_is_being_typed_into_a_cell_survives_too_and_is_one_step_to_undo(begin: Callable[..., Any]) -> None:
    page = begin()
    cell(page, 1, 2).click()
    page.keyboard.type("The old boy")
    page.reload()
    assert grid(ready(page))[1][1] == "The old boy"
    cell(page, 1, 2).click()
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+z")
    assert grid(page)[1][1] == "The old boy"
    page.keyboard.press("Control+z")
    assert grid(page)[1][1] == "The boy", "what was written before the reload"
    assert page.is_disabled("#undo")


def test_a_click_that_comes_before_the_script_is_not_lost(page: Any) -> None:
    def arrive_late(route: Any) -> None:
        time.sleep(0.5)
        route.continue_()

    page.route("**/editor-start.js", arrive_late)
    page.goto("/editor", wait_until="commit")
    page.get_by_role("button", name="An empty suite").click()
    ready(page)


def test_a_finger_writes_into_a_cell_with_one_tap(new_context: Any, recorder: Any) -> None:
    page = new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True).new_page()
    recorder.watch(page)
    page.goto("/editor")
    page.tap('[data-from="2x2"]')
    ready(page)
    cell(page, 2, 2).tap()
    page.keyboard.type("s")
    page.tap('[data-act="addItem"]')
    assert grid(page)[2][1] == "The boys"
    assert page.locator("#grid .item").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    recorder.check()


def test_a_problem_leads_to_its_cell(begin: Callable[..., Any]) -> None:
    page = begin()
    page.fill("#meta-name", "x")
    cell(page, 3, 5).click()
    page.keyboard.type("today . ")
    page.keyboard.press("Enter")
    page.click("#problems >> text=condition match_plural, region 4")
    assert "active" in cell(page, 3, 5).get_attribute("class").split()
    assert page.evaluate("document.activeElement.className") == "cell-field"
    show_formula(page, 1)
    page.fill("#prediction-1", "(3;%match_plural%) <")
    page.click("#problems >> text=prediction 2")
    assert page.evaluate("document.activeElement.id") == "prediction-1"


def test_a_prediction_is_built_from_choices_with_its_formula_behind_a_toggle(begin: Callable[..., Any]) -> None:
    page = begin()
    page.get_by_role("button", name="Compare two conditions").click()
    made = page.locator(".prediction").nth(2)
    assert not made.locator(".formula-field").is_visible()
    made.get_by_label("Region", exact=True).select_option("3")
    made.get_by_label("In this condition", exact=True).select_option("mismatch_plural")
    made.get_by_label("Less or more surprising").select_option("more")
    made.get_by_label("Than in this condition").select_option("match_plural")
    expect(made.locator(".english")).to_contain_text("is more surprising in mismatch_plural than in match_plural")
    made.get_by_role("button", name="Show or hide the formula").click()
    assert made.locator(".formula-field").input_value() == "(3;%mismatch_plural%) > (3;%match_plural%)"
    made.locator(".formula-field").fill("(3;%match_plural%) > 2")
    expect(made.locator(".builder")).to_be_hidden()
    page.get_by_role("button", name="A 2 × 2 interaction").click()
    expect(page.locator(".prediction").nth(3).locator(".english")).to_be_visible()
    assert page.locator("#prediction-3").is_visible()  # the builder has no words for it


def show_formula(page: Any, index: int) -> None:
    """Open the formula of a prediction that the builder shows."""
    page.locator(".prediction").nth(index).get_by_role("button", name="Show or hide the formula").click()


def test_a_prediction_takes_a_cell_of_the_grid(begin: Callable[..., Any]) -> None:
    page = begin()
    page.click("#add-prediction")
    cell(page, 2, 4).click()
    page.locator(".prediction").nth(2).locator("text=From the grid").click()
    page.keyboard.type(" > 3")
    assert page.input_value("#prediction-2") == "(3;%mismatch_sing%) > 3"


@pytest.mark.usefixtures("hurried")
def test_what_the_browser_crashed_with_is_back_and_the_newer_version_wins(
    begin: Callable[..., Any], served: Any, new_site: Callable[[], Site], recorder: Any
) -> None:
    page = begin()
    kept_(page)
    recorder.expected += GONE
    served.stop()
    page.fill("#meta-name", "only in the browser")
    page.wait_for_selector("#kept.alone")
    address = page.url
    page.goto("about:blank")
    served.start(new_site())
    page.goto(served.entrance)
    page.goto(address)
    ready(page)
    assert page.input_value("#meta-name") == "only in the browser"
    assert "were restored from this browser" in page.inner_text("#notices")
    assert document(page)["meta"]["name"] == "only in the browser"
    # Somewhere else it is changed later still.
    draft = page.request.get(f"{address}/draft.json").json()
    draft["document"]["meta"]["name"] = "elsewhere"
    later = {"document": draft["document"], "changed": draft["changed"] + 10_000, "seen": draft["revision"]}
    token = page.request.get("/token").json()["token"]
    page.request.put(f"{address}/draft.json", data=later, headers={"x-wug-token": token})
    page.goto("about:blank")
    page.goto(address)
    ready(page)
    assert page.input_value("#meta-name") == "elsewhere"
    page.click("text=Show this browser's version")
    assert page.input_value("#meta-name") == "only in the browser"


def test_a_draft_that_the_server_lost_comes_back_from_the_browser(
    begin: Callable[..., Any], site: Site, recorder: Any
) -> None:
    page = begin()
    page.fill("#meta-name", "kept twice")
    kept_(page)
    for path in (site.store.path.parent / "drafts").iterdir():
        path.unlink()
    recorder.expected.append("404")
    page.reload()
    ready(page)
    assert page.input_value("#meta-name") == "kept twice"
    expect(page.locator("#kept")).to_have_text(re.compile("^Draft saved at"))
    assert document(page)["meta"]["name"] == "kept twice"


def test_two_windows_of_one_suite_follow_each_other(begin: Callable[..., Any], context: Any, recorder: Any) -> None:
    page = begin()
    kept_(page)
    other = context.new_page()
    recorder.watch(other)
    other.goto(page.url)
    ready(other)
    other.fill("#meta-name", "from the other window")
    expect(page.locator("#meta-name")).to_have_value("from the other window")
    kept_(other)
    recorder.expected.append("409")
    page.fill("#meta-name", "and on")
    kept_(page)
    expect(other.locator("#meta-name")).to_have_value("and on")
    assert document(page)["meta"]["name"] == "and on"
    assert page.inner_text("#notices") == ""


def test_saving_asks_before_it_writes_over_a_file(begin: Callable[..., Any], site: Site, recorder: Any) -> None:
    page = begin()
    page.fill("#meta-name", "saved")
    recorder.expected.append("409")
    target = site.folders[0] / "saved.json"
    target.write_text("precious")
    questions: list[str] = []
    answers = iter([False, True])

    def answer(dialog: Any) -> None:
        questions.append(dialog.message)
        dialog.accept() if next(answers) else dialog.dismiss()

    page.on("dialog", answer)
    page.keyboard.press("Control+s")
    page.click("#save-go")
    page.click("#save-go")
    page.wait_for_selector("#notices .good")
    assert len(questions) == 2
    assert "Overwrite it?" in questions[0]
    assert json.loads(target.read_text())["meta"]["name"] == "saved"


@pytest.mark.usefixtures("hurried")
def test_without_room_for_drafts_what_is_on_the_page_can_still_be_saved(
    begin: Callable[..., Any], site: Site, recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = begin()
    page.fill("#meta-name", "before")
    kept_(page)
    recorder.expected.append("400")

    def full(path: Path, text: str, *, private: bool = False) -> None:
        if private:  # a draft
            raise InputError("cannot be written: No space left on device", file=path)
        write_text(path, text)

    monkeypatch.setattr("wug.web.editor.write_text", full)
    page.fill("#meta-name", "after")
    page.wait_for_selector("#kept.bad")
    assert "No space left on device" in page.inner_text("#kept")
    page.click("#download-json")
    page.wait_for_selector("#notices .bad")
    assert "Stored in this browser only, not on the server" in page.inner_text("#notices")
    page.keyboard.press("Control+s")
    page.click("#save-go")
    page.wait_for_selector("#notices .good")
    assert json.loads((site.folders[0] / "after.json").read_text())["meta"]["name"] == "after"


def test_without_room_nothing_is_saved_and_the_dialog_says_so(
    begin: Callable[..., Any], site: Site, recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = begin()
    page.fill("#meta-name", "saved")
    kept_(page)
    recorder.expected.append("400")
    full_disk(monkeypatch)
    page.keyboard.press("Control+s")
    page.click("#save-go")
    page.wait_for_selector("#save-error:not([hidden])")
    assert "saved.json: cannot be written: No space left on device" in page.inner_text("#save-error")
    assert list(site.folders[0].iterdir()) == []


def test_a_file_from_the_disk_is_opened_and_a_bad_one_is_reported(page: Any, recorder: Any, tmp_path: Path) -> None:
    recorder.expected.append("400")
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    page.goto("/editor")
    page.set_input_files("#upload-file", bad)
    page.wait_for_selector("#failure:not([hidden])")
    assert "not valid JSON" in page.inner_text("#failure")
    good = tmp_path / "good.csv"
    good.write_text("item_number,condition_name,region_number,region_name,content\n1,a,1,word,hello\n")
    page.set_input_files("#upload-file", good)
    assert grid(ready(page)) == [["word"], ["a", "hello"]]


def test_a_wide_table_with_predictions_is_opened_as_a_file(page: Any, tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    rows = ("# prediction: (verb;%sg%) < (verb;%pl%)", "item,condition,subj,verb", "1,sg,boy,swims", "1,pl,boy,swim")
    wide.write_text("\n".join(rows))
    page.goto("/editor")
    page.set_input_files("#upload-file", wide)
    page.wait_for_selector("#editor[data-ready], #failure:not([hidden])")
    assert page.locator("#failure:visible").all_inner_texts() == []
    assert grid(page) == [["subj", "verb"], ["sg", "boy", "swims"], ["pl", "boy", "swim"]]
    assert page.input_value("#prediction-0") == "(verb;%sg%) < (verb;%pl%)"


def test_hostile_names_are_text_everywhere(begin: Callable[..., Any]) -> None:
    page = begin("blank")
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.keyboard.type(HOSTILE)
    for row, column in [(0, 2), (1, 0), (1, 1), (1, 2)]:
        cell(page, row, column).click()
        page.keyboard.type(HOSTILE)
        page.keyboard.press("Enter")
    cell(page, 2, 2).click()
    page.keyboard.type("else")
    page.keyboard.press("Enter")
    page.click("#add-prediction")
    page.keyboard.type(f"(1;%{HOSTILE}%) > (1;%{HOSTILE}{HOSTILE}%)")
    page.wait_for_selector(".caret")
    page.fill("#prediction-0", f"(1;%{HOSTILE}%) > (1;%condition_2%)")
    page.wait_for_selector(".english")
    page.click("#score")
    page.wait_for_selector("#result:not([hidden]) #chart svg")
    assert page.locator("img").count() == 0
    page.goto("/editor")
    assert HOSTILE in page.inner_text("#drafts")
    assert page.locator("img").count() == 0


def test_a_job_waits_for_its_turn_and_can_be_stopped(begin: Callable[..., Any], site: Site, tmp_path: Path) -> None:
    page = begin()
    page.fill("#meta-name", "x")
    held = sqlite3.connect(tmp_path / "held.db", isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")  # who wants to use this cache has to wait
    other = job_queue(site).start(site.models[0], score_texts(["the boy"], tmp_path / "held.db"))
    page.click("#score")
    expect(page.locator("#stage")).to_contain_text("Waiting for other jobs")
    assert page.is_disabled("#score")
    page.click("#stop")
    expect(page.locator("#score")).to_be_enabled()
    expect(page.locator("#scoring-now")).to_be_hidden()
    held.execute("ROLLBACK")
    held.close()
    assert ended(other).stage == "done"
    assert site.store.runs() == []


def test_a_model_that_fails_is_one_clear_message(
    begin: Callable[..., Any], served: Any, new_site: Callable[[], Site], context: Any, tmp_path: Path
) -> None:
    served.stop()
    served.start(replace(new_site(), models=(str(tmp_path / "nowhere"),)))
    served.let_in(context)
    page = begin()
    page.fill("#meta-name", "x")
    page.click("#score")
    page.wait_for_selector("#score-error:not([hidden])")
    assert "nowhere" in page.inner_text("#score-error")
    assert page.is_enabled("#score")


def test_every_published_suite_goes_through_the_grid_without_loss(begin: Callable[..., Any]) -> None:
    page = begin()
    paths = sorted(reference("syntaxgym/suites").glob("*.json"))
    assert len(paths) == 34
    again = page.evaluate(
        """async (texts) => { const model = await import("/static/editor-model.js");
             return texts.map((text) => JSON.stringify(model.toDocument(model.fromDocument(JSON.parse(text))))); }""",
        [path.read_text() for path in paths],
    )
    for path, text in zip(paths, again, strict=True):
        assert json.loads(text) == json.loads(path.read_text())


def test_what_the_grid_does_not_show_stays_in_the_file(begin: Callable[..., Any]) -> None:
    page = begin()
    original = {
        "meta": {"name": "x", "metric": ["sum", "mean"], "tags": ["a"], "year": 2020},
        "region_meta": {"1": "one", "2": "two"},
        "predictions": [
            {"type": "formula", "formula": "(1;%a%) > 0", "comment": "why"},
            {"relation": "greaterthan", "region_number": 1, "l_operand": "a", "r_operand": "b"},
            "(1;%a%) < 9",
        ],
        "items": [
            {
                "item_number": "first",
                "conditions": [
                    {
                        "condition_name": name,
                        "regions": [
                            {"region_number": 1, "content": " w ", "metric_value": {"sum": 1.5}, "oovs": []},
                            {"region_number": 2, "content": "", "note": [1, None]},
                        ],
                        "source": "corpus",
                    }
                    for name in ("a", "b")
                ],
                "difficulty": 3,
            }
        ],
        "license": "free",
    }
    again = page.evaluate(
        """async (document) => { const model = await import("/static/editor-model.js");
             const state = model.fromDocument(document);
             const changed = model.setPrediction(model.setCell(state, 0, 0, 0, "v"), 0, "(1;%a%) > 1");
             return [model.toDocument(state), model.toDocument(changed)]; }""",
        original,
    )
    assert again[0] == original
    assert again[1]["predictions"][0] == {"type": "formula", "formula": "(1;%a%) > 1", "comment": "why"}
    regions = again[1]["items"][0]["conditions"][0]["regions"]
    assert regions[0] == {"region_number": 1, "content": "v"}, "its measured value is of another text"
    assert again[1]["license"] == "free"


def test_any_block_of_cells_is_copied_and_pasted_as_it_was(begin: Callable[..., Any]) -> None:
    draw = random.Random(7)
    letters = ['"', "\t", "a", "é", " b", '""', "語"]
    blocks = [
        [
            ["".join(draw.choices(letters, k=draw.randint(0, 5))) for _ in range(width)]
            for _ in range(draw.randint(1, 4))
        ]
        for width in [draw.randint(1, 4) for _ in range(300)]
    ]
    blocks = [block for block in blocks if len(block) == 1 or block[-1] != [""]]  # an empty last line is a line end
    again = begin().evaluate(
        """async (blocks) => { const made = await import("/static/editor-blocks.js");
             return blocks.map((block) => made.parseBlock(made.blockText(block))); }""",
        blocks,
    )
    assert again == blocks
