"""Every control of every page is reached by keyboard, its focus is seen, and nothing keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import every_page
import material
import tabbing
from browsing import Served
from patience import PATIENCE
from wug.show.page import Report, render


@pytest.fixture(scope="module")
def browsed(chromium: Any, everything: Served) -> Iterator[Any]:
    """A page of the browser on the site with everything."""
    context = chromium.new_context(
        base_url=everything.address, reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(1000 * PATIENCE)
    everything.let_in(context)
    yield context.new_page()
    context.close()


SKIPPED = {*(f"/result/{number}/items" for number in every_page.RESULTS if number not in (1, 2, 4, 8)), "/result/11"}
"""Pages with the controls of others."""


@pytest.mark.parametrize("address", [one for one in every_page.PAGES if one not in SKIPPED])
def test_every_control_is_reached_by_tab_and_its_focus_is_seen(browsed: Any, address: str) -> None:
    assert tabbing.faults(every_page.visit(browsed, address)) == []


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
    text = render([Report(material.syntaxgym(items=3), run=1), Report(material.pairs(items=8), run=1)])
    path.write_text(text, encoding="utf-8")
    browsed.goto(path.as_uri())
    browsed.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    browsed.locator("figure.chart").first.scroll_into_view_if_needed()
    browsed.wait_for_selector(".drawn:not(.loading) svg.marks")
    browsed.evaluate("scrollTo(0, 0)")
    assert tabbing.faults(browsed) == []
