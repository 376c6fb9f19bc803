"""The browser tutorial, step by step in a real browser, with the words and the table of its page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from doc_blocks import ROOT, blocks
from editing import cell, grid, paste, ready
from job_helpers import shared
from wug.web.site import Site

PAGE = ROOT / "docs" / "tutorial-browser.md"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


@pytest.fixture
def site(site: Site) -> Site:
    """The site as `wug view` starts it, with two of the built-in models."""
    return replace(site, models=("wug-causal", "wug-lstm"))


def labels(heading: str) -> list[str]:
    """What a section of the tutorial tells the reader to look for, in bold type."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert section, heading
    return re.findall(r"\*\*([^*]+)\*\*", section)


def test_the_tutorial_does_what_it_says(page: Any, site: Site, tmp_path: Path) -> None:
    page.goto("/")
    start, example = labels("Try a sentence")
    page.get_by_role("link", name=start).click()
    page.get_by_role("link", name=example).click()
    expect(page.locator(".scored .sums")).to_have_count(2)
    expect(page.locator(".scored .least")).to_have_count(1)
    assert "are on the table" in page.locator(".scored li").nth(0).get_attribute("data-text")

    editor, empty, predictions, check = labels("Write a suite")
    page.get_by_role("link", name=editor).click()
    page.get_by_role("button", name=empty).click()
    ready(page).keyboard.type("keys")
    (table,) = (block.body for block in blocks(PAGE) if block.title == "keys.csv")
    cell(page, 1, 2).click()
    paste(page, table)
    expect(page.locator("#notices")).to_contain_text("2 conditions × 6 items")
    assert len(grid(page)) == 13
    assert page.get_by_role("heading", name=predictions).is_visible()
    assert page.get_by_role("heading", name=check).is_visible()
    (reading,) = re.findall(r"\*(Region 3 [^*]+)\*", PAGE.read_text(encoding="utf-8"))
    expect(page.locator(".english")).to_have_text(reading)

    title, score, comparison = labels("Score it")
    assert page.get_by_role("heading", name=title).is_visible()
    for model in site.models:
        page.get_by_label(model).check()
    page.get_by_role("button", name=score, exact=True).click()
    expect(page.locator("#models-result tbody tr")).to_have_count(2)
    expect(page.locator("#chart svg").first).to_be_visible()

    download, save, runs, drafts = labels("Keep it")
    with page.expect_download() as coming:
        page.get_by_role("link", name=download).click()
    coming.value.save_as(tmp_path / "keys.json")
    assert coming.value.suggested_filename == "keys.json"
    assert page.get_by_role("button", name=save, exact=True).is_visible()
    page.get_by_role("link", name=comparison).click()
    expect(page.locator("main")).to_contain_text("wug-lstm")
    page.get_by_role("link", name=runs, exact=True).click()
    expect(page.locator("main")).to_contain_text(drafts)
