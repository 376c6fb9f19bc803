"""Try a sentence, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import shared
from playwright.sync_api import expect

from wug.runs.store import Store
from wug.web.site import Site

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.scoring.Scoring", shared)


@pytest.fixture
def site(tmp_path: Path, kept: Path, tiny_causal: Callable[..., Path]) -> Site:
    return Site(store=Store(tmp_path / "wug.db"), cache=kept / "answers.db", models=(str(tiny_causal()),))


def test_two_sentences_are_typed_and_the_address_shows_the_same_again(page: Any, context: Any) -> None:
    page.goto("/sentence")
    page.fill("#s1", "the boy swims .")
    page.fill("#s2", "the boy swim .")
    page.keyboard.press("Enter")
    expect(page.locator(".scored > li")).to_have_count(2)
    assert "the+boy+swims" in page.url
    assert page.locator(".piece.differs").count() == 2
    bits = [float(text) for text in page.locator(".scored > li").first.locator(".piece small").all_inner_texts()]
    total = float(page.locator(".sums strong").first.inner_text().removesuffix(" bits"))
    assert abs(sum(bits) - total) < 0.05 * len(bits) + 0.05
    other = context.new_page()
    other.goto(page.url)
    expect(other.locator(".scored > li")).to_have_count(2)
    assert other.inner_text("#answers") == page.inner_text("#answers")


def test_a_third_sentence_is_added_with_the_keyboard_and_markup_is_text(page: Any) -> None:
    page.goto("/sentence")
    page.fill("#s1", "the boy")
    page.focus("#more")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "s3"
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    expect(page.locator(".scored > li")).to_have_count(2)
    assert page.input_value("#s2") == HOSTILE
    assert page.locator("img").count() == 0
