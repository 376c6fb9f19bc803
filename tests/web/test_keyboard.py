"""Every control of every page is reached by keyboard, its focus is seen, and nothing keeps it.

On the way every kind of page is shown: nothing goes wrong in the console, nobody else is asked, names stay text. Of
pages of one kind, such as those of results, one is tried by day, and all at night.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import every_page
import sample_results
import tabbing
from browsing import Recorder, Served
from case_selection import each_kind, share
from timeouts import PATIENCE
from wug.views.report import ReportedResult, render

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened(chromium: Any, everything: Served) -> Iterator[tuple[Any, Recorder]]:
    """A page of the browser on the site with everything, and what goes wrong in it."""
    context = chromium.new_context(
        base_url=everything.address, reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(1000 * PATIENCE)
    everything.let_in(context)
    page, recorder = context.new_page(), Recorder(everything.address, expected=["404 (Not Found)", "400 (Bad Request)"])
    recorder.watch(page)
    yield page, recorder
    context.close()


@pytest.fixture
def browsed(opened: tuple[Any, Recorder]) -> Iterator[Any]:
    """The page; at the end of a test nothing went wrong in the console, and nobody else was asked."""
    page, recorder = opened
    recorder.errors.clear()
    yield page
    recorder.check()


SKIPPED = {*(f"/result/{number}/items" for number in every_page.RESULTS if number not in (1, 2, 4, 8)), "/result/11"}
"""Pages with the controls of others."""
WITH_OWN = each_kind((one for one in every_page.PAGES if one not in SKIPPED), every_page.kind)
ITEMS = {f"/result/{number}/outcome/0" for number in every_page.RESULTS} - set(every_page.PAGES)


@pytest.mark.parametrize("address", WITH_OWN)
def test_every_control_is_reached_by_tab_and_its_focus_is_seen(browsed: Any, address: str) -> None:
    page = every_page.visit(browsed, address)
    assert every_page.alive(page) == 0
    assert page.locator("text=cannot be drawn").count() == 0
    assert tabbing.faults(page) == []


@pytest.mark.parametrize("address", share(sorted(SKIPPED | ITEMS), 3))
def test_a_page_with_the_controls_of_others_is_shown(browsed: Any, address: str) -> None:
    assert every_page.alive(every_page.visit(browsed, address)) == 0


@pytest.mark.parametrize(("opener", "dialog"), [("#save", "save"), ("#template", "template"), ("#proof", "proof")])
def test_a_dialog_takes_the_focus_and_escape_gives_it_back(browsed: Any, opener: str, dialog: str) -> None:
    page = every_page.visit(browsed, "/editor/new")
    page.wait_for_selector("#editor[data-ready]")
    page.fill("#meta-name", "x")
    page.focus(opener)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#{dialog}-dialog[open]")
    assert page.evaluate("document.activeElement.closest('dialog').id") == f"{dialog}-dialog"
    assert tabbing.faults(page) == []
    page.keyboard.press("Escape")
    page.wait_for_selector(f"#{dialog}-dialog", state="hidden")
    assert page.evaluate("'#' + document.activeElement.id") == opener


def test_a_report_is_read_by_keyboard_alone(browsed: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    text = render(
        [ReportedResult(sample_results.syntaxgym(items=3), run=1), ReportedResult(sample_results.pairs(items=8), run=1)]
    )
    path.write_text(text, encoding="utf-8")
    browsed.goto(path.as_uri())
    browsed.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    browsed.locator("figure.chart").first.scroll_into_view_if_needed()
    browsed.wait_for_selector(".drawn:not(.loading) svg.marks")
    browsed.evaluate("scrollTo(0, 0)")
    assert tabbing.faults(browsed) == []
