"""Helpers for the page of the suite editor: cells, texts, pasting, and the draft on the server."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from wug.web.site import Site


def ready(page: Any) -> Any:
    page.wait_for_selector("#editor[data-ready]")
    return page


def begun(page: Any, site: Site, source: str) -> Any:
    """A suite that was begun, as by a click on `/editor`: the page, ready to be written in."""
    headers = {"x-wug-token": site.csrf_token}
    made = page.request.post("/editor/new.json", data={"from": source}, headers=headers)
    page.goto(made.json()["address"])
    return ready(page)


def cell(page: Any, row: int, column: int) -> Any:
    return page.locator(f'#grid [data-row="{row}"][data-column="{column}"]').first


def grid(page: Any) -> list[list[str]]:
    """The texts of the grid: the names of the regions, then condition and regions of each row."""
    found: list[list[str]] = page.evaluate(
        """[...document.querySelectorAll("#grid tr")].map((row) =>
             [...row.querySelectorAll("[data-row]:not(.item) > .text")].map((one) => one.textContent))"""
    )
    return found


def paste(page: Any, text: str) -> None:
    page.evaluate(
        """(text) => { const data = new DataTransfer(); data.setData("text/plain", text);
             document.activeElement.dispatchEvent(
               new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); }""",
        text,
    )


def kept_(page: Any) -> None:
    expect(page.locator("#kept")).to_have_text(re.compile("^(Kept|Draft saved)"))


def document(page: Any) -> dict[str, Any]:
    """The draft as the server has it."""
    kept_(page)
    found: dict[str, Any] = page.request.get(f"{page.url}/draft.json").json()["document"]
    return found
