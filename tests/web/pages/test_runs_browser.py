"""The pages about runs in a real browser: where to start, what to sort, filter, name and remove, and watching."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

import run_factory
import sample_results
from browsing import Served, follow
from timeouts import PATIENCE
from wug.outcomes import Outcome
from wug.results import run_admin
from wug.results.progress import ProgressReporter
from wug.results.store import Store

pytestmark = pytest.mark.slow

A, B, C = "causal/lab/alpha@1", "causal/lab/beta@1", "causal/lab/gamma@1"


def fill(store: Store) -> None:
    """Three models on two suites; gamma has one of them."""
    for model in (A, B):
        sample_results.keep(store, sample_results.pairs(items=60, model=model), sample_results.syntaxgym(model=model))
    sample_results.keep(store, sample_results.pairs(items=60, model=C))


def names(page: Any) -> list[str]:
    """The rows of the grid, from the top."""
    return list(page.locator(".matrix tbody th .name").all_inner_texts())


def until(page: Any, found: Callable[[], bool]) -> None:
    """Wait until something holds of the page."""
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end, page.content()[-3000:]
        page.wait_for_timeout(20)


def test_the_grid_has_one_row_a_model_with_its_newest_result(served: Served, page: Any) -> None:
    fill(served.site.store)
    number = sample_results.keep(served.site.store, sample_results.pairs(items=8, model=A))
    page.goto("/")
    assert names(page) == ["alpha", "gamma", "beta"]
    assert page.locator(".matrix tbody tr").nth(0).locator("td a").all_inner_texts() == ["71.4", "66.7!"]  # 5 of 7
    page.locator(".matrix tbody td a").first.click()
    page.wait_for_url("**/result/*")
    assert f"run {number}" in page.locator(".crumbs").inner_text()


def test_the_interval_is_shown_on_hover_and_on_keyboard_focus(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym(items=6))
    page.goto("/")
    link = page.locator(".matrix td a")
    link.hover()
    assert page.locator(".tip").inner_text() == "[30.0, 90.3] n 6\nitem 2 has a region with a trailing space"
    page.mouse.move(5, 5)
    page.locator("h1").click()
    assert page.locator(".tip").is_hidden()
    link.focus()
    assert page.locator(".tip").inner_text() == "[30.0, 90.3] n 6\nitem 2 has a region with a trailing space"
    assert link.get_attribute("aria-describedby") == "tip"


def test_sorting_keeps_the_page_and_the_focus_and_is_in_the_address(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/")
    page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    page.focus(".suites >> text=model")
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=model**")
    assert names(page) == ["alpha", "beta", "gamma"]
    assert page.evaluate("document.activeElement.textContent") == "model"
    assert page.locator("h1").get_attribute("data-kept") == "yes"
    page.reload()
    assert names(page) == ["alpha", "beta", "gamma"]
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


def test_back_brings_the_list_back_and_the_text_of_the_filter_with_it(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/")
    page.fill("input[name=q]", "beta")
    page.keyboard.press("Enter")
    until(page, lambda: names(page) == ["beta"])
    assert "q=beta" in page.url
    page.go_back()
    until(page, lambda: len(names(page)) == 3)
    assert page.input_value("input[name=q]") == ""
    page.go_forward()
    until(page, lambda: names(page) == ["beta"])
    assert page.input_value("input[name=q]") == "beta"


def test_the_filter_field_is_empty_after_going_back_to_an_unfiltered_list(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=60))
    page.goto("/result/1/items")
    page.fill("input[name=q]", "themselves 7.")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=themselves**")
    page.go_back()
    page.wait_for_url("**/items")
    until(page, lambda: page.input_value("input[name=q]") == "")


def test_typing_filters_the_grid_without_a_new_page(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/")
    page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    page.type("input[name=suite]", "number")
    until(page, lambda: names(page) == ["beta", "alpha"])
    assert page.locator(".suites .name").all_inner_texts() == ["number_prep"]  # the empty column is hidden
    assert page.evaluate("document.activeElement.name") == "suite"
    assert page.locator("h1").get_attribute("data-kept") == "yes"


def test_one_click_says_which_model_is_best_on_agreement(served: Served, page: Any) -> None:
    for model, share in (("causal/good@1", 3), ("causal/bad@1", 1)):
        outcomes = [Outcome(str(n), "accuracy", n % 4 < share, {"pattern": "subj_rel"}) for n in range(40)]
        circuit = replace(sample_results.syntaxgym(model=model), meta={"phenomenon": "Agreement"})
        run_factory.keep(served.site.store.path, run_factory.result("clams", model, outcomes), circuit)
    page.goto("/")
    page.get_by_role("navigation", name="Phenomenon").get_by_role("link", name="Agreement").click()
    expect(page.locator(".ranking")).to_contain_text(
        "Agreement: good has the highest mean of 2 models with all 2 suites"
    )
    assert page.locator("tbody .name").all_inner_texts() == ["good", "bad"]
    assert "2 families, 2 suites" in page.locator("td.mean").first.inner_text()
    page.get_by_role("link", name="Test the difference").click()
    expect(page.locator(".scope")).to_contain_text("Compared on 2 suites")


def test_a_row_of_the_list_has_suites_headline_and_duration(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/runs")
    cells = page.locator("#run-1 td, #run-1 th").all_inner_texts()
    assert cells[3:5] == ["reflexives, number_prep", "66.7–74.6%"]
    assert cells[7].endswith(" s")


@pytest.mark.parametrize("width", [1440, 390])
def test_models_stand_below_their_heading(served: Served, page: Any, width: int) -> None:
    fill(served.site.store)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/runs")
    heading, name = page.locator(".run-list thead th a", has_text="model"), page.locator(".run-list tbody th a").first
    assert heading.bounding_box()["x"] == name.bounding_box()["x"]


def test_a_long_name_of_a_suite_stays_in_its_column(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, replace(sample_results.pairs(items=8), suite="agreement" * 12))
    page.goto("/runs")
    assert page.locator(".run-list .tested").evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_values_far_apart_have_shades_far_apart(served: Served, page: Any) -> None:
    for share in (49, 90, 100):
        outcomes = [Outcome(str(n), "accuracy", n < share) for n in range(100)]
        run_factory.keep(served.site.store.path, run_factory.result("s", f"causal/m{share}@1", outcomes))
    page.goto("/?sort=suite%3As")
    assert page.locator("td.value").all_inner_texts() == ["49.0", "90.0", "100"]
    colours = page.locator("td.value").evaluate_all("all => all.map(cell => getComputedStyle(cell).backgroundColor)")
    assert len(set(colours)) == 3


@pytest.mark.parametrize("address", ["/", "/compare", "/sweeps"])
def test_an_empty_store_suggests_a_command_for_this_store(served: Served, page: Any, address: str) -> None:
    page.goto(address)
    command = page.locator("pre.copy code").first.inner_text()
    assert command.startswith("wug run wug_syntaxgym --model ")
    assert command.endswith(f"--store {served.site.store.path}")


def test_with_drafts_alone_the_first_page_says_what_to_run_and_where_they_are(served: Served, page: Any) -> None:
    store = served.site.store
    number = store.begin("draft", A, "wug run my_suite.json", origin="editor")
    store.add(number, sample_results.syntaxgym(suite="my_suite", model=A))
    store.finish(number, "complete")
    page.goto("/")
    assert page.locator("pre.copy code").first.inner_text().endswith(f"--store {store.path}")
    assert page.locator("form.filters").count() == 0
    follow(page, page.locator(".tabs a", has_text="Drafts").click)
    assert page.locator(".run-list tbody tr").count() == 1


def test_models_that_are_ticked_are_compared(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/")
    page.check("[aria-label='compare alpha']")
    page.check("[aria-label='compare beta']")
    follow(page, lambda: page.click("button:has-text('Compare')"))
    page.wait_for_selector("figure.chart svg")
    assert page.locator("table.compared tbody tr").count() == 3  # two checks and accuracy


def test_a_run_is_named_noted_removed_and_brought_back(served: Served, page: Any) -> None:
    fill(served.site.store)
    page.goto("/runs")
    follow(page, lambda: page.click("[aria-label='give name and note of run 2']"))
    until(page, lambda: page.evaluate("document.activeElement.name") == "name")
    page.keyboard.type("second try")
    page.fill("textarea[name=note]", "with <b>care</b>\nand time")
    follow(page, lambda: page.click("text=Save"))
    assert page.locator("h1", has_text="second try").count() == 1
    assert page.locator(".note-text").inner_text() == "with <b>care</b>\nand time"
    run = served.site.reader.run(2)
    assert (run.name, run.note) == ("second try", "with <b>care</b>\nand time")
    page.goto("/runs?q=second")
    page.check("[aria-label='run 2']")
    follow(page, lambda: page.click("button:has-text('Remove')"))
    page.wait_for_selector("text=Run 2 removed.")
    assert page.locator("#run-2").count() == 0
    assert [one.id for one in served.site.reader.runs()] == [3, 1]
    follow(page, lambda: page.click("text=Undo"))
    page.wait_for_selector("text=Run 2 restored.")
    assert page.locator("#run-2").count() == 1


def test_removed_runs_are_deleted_for_good_when_the_user_is_sure(served: Served, page: Any) -> None:
    fill(served.site.store)
    run_admin.remove(served.site.store, [served.site.reader.run(1)])
    page.goto("/runs?show=removed")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.click("text=Delete all permanently")
    assert len(served.site.reader.runs(removed=True)) == 1
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("text=Delete all permanently")
    page.wait_for_url("**/runs")
    assert served.site.reader.runs(removed=True) == []


def test_a_name_that_is_taken_is_refused_with_the_reason(served: Served, page: Any, recorder: Any) -> None:
    recorder.expected.append("400")
    fill(served.site.store)
    run_admin.rename(served.site.store, served.site.reader.run(1), "mine")
    page.goto("/run/2?edit")
    page.fill("input[name=name]", "mine")
    page.click("text=Save")
    page.wait_for_selector("text=run 1 is already called 'mine'")


def test_scorings_from_the_editor_stand_apart_as_drafts(served: Served, page: Any) -> None:
    fill(served.site.store)
    store = served.site.store
    number = store.begin("draft", A, "wug run my_suite.json", origin="editor")
    store.add(number, sample_results.syntaxgym(suite="my_suite", model=A))
    store.finish(number, "complete")
    page.goto("/")
    assert "my_suite" not in page.locator("#grid").inner_text()
    follow(page, lambda: page.click("text=Drafts"))
    assert page.locator(".run-list tbody tr").count() == 1
    assert page.locator(f"#run-{number}").count() == 1


def test_a_failed_run_shows_the_message_that_it_gave(served: Served, page: Any) -> None:
    store = served.site.store
    store.finish(store.begin("x", A, "wug run x"), "failed", "the server does not answer:\n<b>refused</b>")
    page.goto("/")
    assert "the server does not answer" in page.locator("main").inner_text()
    page.goto("/runs")
    assert "<b>refused</b>" in page.locator("#run-1 .said").inner_text()
    follow(page, lambda: page.click("#run-1 th a"))
    assert page.locator(".notice.bad").inner_text() == "It failed\n\nthe server does not answer:\n<b>refused</b>"


def test_a_suite_that_failed_says_why_on_the_page_of_its_run(served: Served, page: Any) -> None:
    from dataclasses import replace

    made = replace(sample_results.pairs(items=8), status="failed", failure="line 3 has no verb")
    sample_results.keep(served.site.store, made, status="failed")
    page.goto("/run/1")
    assert "reflexives: line 3 has no verb" in page.locator(".notice.bad").inner_text()


@pytest.mark.usefixtures("hurried")
def test_a_run_that_goes_on_says_how_far_it_is_and_the_page_keeps_up(served: Served, page: Any) -> None:
    store, now = served.site.store, [1000.0]
    number = store.begin("x", A, "wug run x")
    report = ProgressReporter(None, lambda: now[0])
    report.begin(store, number, 2, 0, 4000)
    page.goto(f"/run/{number}")
    assert "0 of 4,000 requests · 0 of 2 suites done" in page.locator("main").inner_text()
    page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    page.evaluate("scrollTo(0, 120)")
    page.click("summary >> text=Name, note, remove")
    page.fill("input[name=name]", "half a na")
    at = page.evaluate("scrollY")
    now[0] += 10
    report.computed(1000, 4000)
    page.wait_for_selector("text=1,000 of 4,000 requests · 100 per second · 30 s left · 0 of 2 suites done")
    assert page.locator("progress").get_attribute("value") == "1000"
    store.add(number, sample_results.pairs(items=8, model=A))
    page.wait_for_selector("#result-rows tr")
    store.add(number, sample_results.syntaxgym(model=A))
    page.wait_for_selector("#result-rows tr >> nth=1")
    assert "2 of 2 suites done" in page.locator(".far p").inner_text()
    store.finish(number, "complete")
    page.wait_for_selector(".status.complete")
    assert page.locator("h1").get_attribute("data-kept") == "yes"  # only what changed was replaced
    assert page.input_value("input[name=name]") == "half a na"
    assert page.evaluate("document.activeElement.name") == "name"
    assert page.evaluate("scrollY") == at


@pytest.mark.usefixtures("hurried")
def test_the_grid_keeps_up_without_losing_ticks_scroll_or_focus(served: Served, page: Any) -> None:
    store = served.site.store
    for place in range(30):
        sample_results.keep(
            store, sample_results.pairs(items=8, model=f"causal/m{place:02}@1"), sample_results.syntaxgym()
        )
    number = store.begin("x", A, "wug run x")
    page.goto("/")
    assert "loading" in page.locator("#now").inner_text()
    page.check("[aria-label='compare m20']")
    page.focus("[aria-label='compare m20']")
    page.evaluate("document.getElementById('grid-scroll').scrollTop = 100")
    store.add(number, sample_results.pairs(items=8, model=A))
    until(page, lambda: "alpha" in names(page))
    assert page.is_checked("[aria-label='compare m20']")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "compare m20"
    assert page.evaluate("document.getElementById('grid-scroll').scrollTop") == 100
    store.finish(number, "complete")
    until(page, lambda: page.locator("#now li").count() == 0)


def test_a_sweep_is_one_row_that_leads_to_its_curves(served: Served, page: Any) -> None:
    store = served.site.store
    store.change(
        "INSERT INTO sweeps (key, name, command, started, plan) VALUES ('k', 'alpha@step*', 'wug run', '2026', '{}')"
    )
    for step in (0, 1000, 2000):
        number = store.begin(f"{step}", f"causal/alpha@{step}", "wug run", revision=f"step{step}", sweep=1)
        store.add(number, sample_results.pairs(items=8, model=f"causal/alpha@{step}"))
        store.finish(number, "complete")
    page.goto("/")
    assert [name.split()[0] for name in names(page)] == ["alpha@step*"]
    assert page.locator(".matrix tbody th a.name").get_attribute("href") == "/sweeps/1"
    assert page.locator(".swept polyline").count() == 1
    assert "sweep of 3 checkpoints" in page.locator(".matrix tbody th").inner_text()


def test_the_pages_about_runs_fit_a_phone(new_context: Any, served: Served, recorder: Any) -> None:
    fill(served.site.store)
    served.site.store.finish(served.site.store.begin("x", A, "wug run x"), "failed", "the server does not answer " * 9)
    page = new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page()
    recorder.watch(page)
    widths = {}
    for address in ("/", "/runs", "/runs?show=drafts", "/run/1", "/compare"):
        page.goto(address)
        page.wait_for_selector("[aria-busy]", state="detached")
        widths[address] = page.evaluate("document.documentElement.scrollWidth")
    assert {address: width for address, width in widths.items() if width > 390} == {}
    page.goto("/runs")
    room = page.locator("#grid-scroll").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert room[0] <= room[1]  # a list of runs is read without scrolling it to the side
    recorder.check()
