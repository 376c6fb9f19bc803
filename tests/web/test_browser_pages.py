"""The pages in a real browser: nothing in the console, nobody else asked, names are text, a run is kept up with."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest

import every_page
import sample_results
from browsing import Served, follow

pytestmark = pytest.mark.slow

EMPTY = ("/", "/compare")


def visit(page: Any, address: str) -> None:
    """Open a page and see every chart and every late part of it drawn."""
    page.goto(address)
    # Charts are drawn when they are about to be seen.
    page.evaluate("for (const one of document.querySelectorAll('[data-spec]')) one.scrollIntoView()")
    page.wait_for_selector("[aria-busy]", state="detached")
    assert not page.locator("text=cannot be drawn").count()


@pytest.mark.parametrize("address", EMPTY)
def test_an_empty_store_is_shown(page: Any, address: str) -> None:
    visit(page, address)
    assert page.locator("h1").count() == 1


def test_a_hostile_suite_name_is_shown_as_text(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.unknown())
    visit(page, "/")
    assert sample_results.HOSTILE in page.locator(".suites th .name").inner_text().replace("\n", "")
    follow(page, lambda: page.click("td.value a"))
    assert page.locator("h1").inner_text() == sample_results.HOSTILE
    assert every_page.alive(page) == 0


def test_a_run_of_the_size_of_blimp_is_paged(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.blimp())
    visit(page, "/")
    follow(page, lambda: page.click("td.value a"))
    visit(page, page.url)
    assert page.locator("figure.chart svg").count() == 3  # terms, paradigms, margins
    follow(page, lambda: page.click("text=failing >> nth=0"))
    assert page.locator(".list > li").count() == 50

    def item() -> str:
        """The first one, without the ways on, some of which the page's script brings."""
        told: str = page.locator(".list > li >> nth=0").inner_text()
        return told.split("token by token")[0]

    first = item()
    follow(page, lambda: page.keyboard.press("]"))
    assert page.url.endswith("page=2")
    assert item() != first
    follow(page, lambda: page.keyboard.press("["))
    assert page.url.endswith("/result/1/items")
    assert item() == first


def test_the_region_chart_of_one_item_is_chosen(served: Served, page: Any) -> None:
    sample_results.keep(served.site.store, sample_results.syntaxgym())
    visit(page, "/result/1")
    page.select_option("select[name=item]", "3")
    page.wait_for_url("**item=3**")
    visit(page, page.url)
    assert "Item 3." in page.locator("figcaption").inner_text()


def test_a_signature_is_copied(served: Served, context: Any, page: Any) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    sample_results.keep(served.site.store, sample_results.syntaxgym())
    page.goto("/result/1")
    page.click(".copying button >> nth=0")
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "wug:0|suite:number_prep@1|unit:bits"


def test_pages_are_readable_on_a_phone(new_context: Any, served: Served, recorder: Any) -> None:
    sample_results.keep(served.site.store, *sample_results.every())
    phone = {"width": 390, "height": 844}
    page = new_context(viewport=phone, has_touch=True).new_page()
    recorder.watch(page)
    for address in ("/", "/run/1", "/result/1", "/result/1/items", "/result/2/items", "/result/8/items", "/compare"):
        visit(page, address)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 390, (address, scheme, wide)
    recorder.check()


@pytest.mark.parametrize("width", [390, 360, 320])
def test_a_phone_shows_every_link_of_the_navigation_bar_whole(new_context: Any, width: int) -> None:
    page = new_context(viewport={"width": width, "height": 844}).new_page()
    page.goto("/")
    links = page.locator(".bar-top li a")
    assert links.last.inner_text() == "Help"
    boxes = [link.bounding_box() for link in links.all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] >= 24 for box in boxes)


@pytest.mark.usefixtures("hurried")
def test_an_ended_server_is_reported_and_the_page_stays(served: Served, page: Any, recorder: Any) -> None:
    recorder.expected.append("ERR_CONNECTION_REFUSED")
    sample_results.keep(served.site.store, sample_results.pairs(items=8), status="running")
    visit(page, "/")
    served.stop()
    page.wait_for_selector("body.alone")
    assert page.locator("td.value").count() == 1
    served.start()
    page.wait_for_selector("body:not(.alone)")


def test_help_is_one_key_away_on_every_page(page: Any) -> None:
    page.goto("/")
    page.keyboard.press("?")
    page.wait_for_url("**/help")
    assert page.get_by_role("heading", name="How to read the pages").is_visible()
    assert page.locator("kbd", has_text="Alt+R").count() == 1


def test_text_has_six_sizes() -> None:
    package = resources.files("wug")
    sheets = [one for place in ("web/static", "views/templates") for one in (package / place).iterdir()]
    texts = [one.read_text(encoding="utf-8") for one in sheets if one.name.endswith(".css")]
    assert len({size for text in texts for size in re.findall(r"font-size: ([\d.]+rem)", text)}) <= 6
