"""Try a sentence, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import tabbing
from job_helpers import shared
from wug.results.store import Store
from wug.web.site import Site

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


@pytest.fixture
def site(tmp_path: Path, kept: Path, tiny_causal: Callable[..., Path]) -> Site:
    models = (str(tiny_causal()), str(tiny_causal("gpt2", "metaspace")))
    return Site(store=Store(tmp_path / "store"), cache=kept / "answers.db", models=models)


def test_two_sentences_are_typed_and_the_address_shows_the_same_again(page: Any, context: Any) -> None:
    page.goto("/sentence?s=")
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
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy")
    page.focus("#more")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "s3"
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    expect(page.locator(".scored > li")).to_have_count(2)
    assert page.input_value("#s2") == HOSTILE
    assert page.locator("img").count() == 0


def test_answers_follow_what_is_typed_and_old_values_are_greyed_until_then(page: Any) -> None:
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy swims .")
    line = page.locator(".scored > li")
    expect(line).to_have_count(1)
    expect(line).to_have_attribute("data-text", "the boy swims .")
    page.evaluate("() => { window.real = fetch; window.fetch = () => new Promise(() => {}); }")  # no answer comes
    page.focus("#s1")
    page.keyboard.press("End")
    page.keyboard.type(" now")
    expect(line).to_have_class("old")
    page.evaluate("() => { window.fetch = window.real; }")
    page.keyboard.type(" or")
    expect(line).to_have_attribute("data-text", "the boy swims . now or")
    expect(line).not_to_have_class("old")
    assert page.locator(".piece bdi").last.inner_text() == "or"
    assert "now+or" in page.url
    page.keyboard.press("Control+a")
    page.keyboard.type("the boy swims . now or")
    expect(line).not_to_have_class("old")


def test_two_models_stand_side_by_side(page: Any) -> None:
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy swims .")
    expect(page.locator(".panel")).to_have_count(1)
    page.locator("[name=m]").nth(1).check()
    expect(page.locator(".panel .scored")).to_have_count(2)
    first, second = (panel.bounding_box() for panel in page.locator(".panel").all())
    assert first["y"] == second["y"]
    assert second["x"] >= first["x"] + first["width"]
    page.set_viewport_size({"width": 390, "height": 800})
    first, second = (panel.bounding_box() for panel in page.locator(".panel").all())
    assert second["y"] >= first["y"] + first["height"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_token_opens_into_its_entropy_and_the_ten_likeliest_tokens(page: Any) -> None:
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy swims .")
    piece = page.locator(".piece").nth(1)
    piece.focus()
    page.keyboard.press("Enter")
    rows = page.locator(".instead li")
    expect(rows).to_have_count(10)
    assert tabbing.faults(page) == []
    expect(page.locator(".instead")).to_contain_text(f"Entropy here: {piece.get_attribute('data-entropy')} bits.")
    shares = [float(text.split(" %")[0]) for text in page.locator(".instead li .num:nth-child(3)").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[0] <= 100
    assert piece.get_attribute("aria-expanded") == "true"
    piece.click()
    expect(rows).to_have_count(0)


def test_a_link_with_a_text_alone_is_answered_at_once(page: Any, site: Site) -> None:
    page.goto("/sentence?text=the+boy+swims&text=the+boy+swim")
    expect(page.locator(".scored > li")).to_have_count(2)
    assert page.locator(".panel").get_attribute("data-model") == site.models[0]
    assert page.locator("[name=m]:checked").get_attribute("value") == site.models[0]
    assert [page.input_value("#s1"), page.input_value("#s2")] == ["the boy swims", "the boy swim"]


def test_the_example_of_the_page_is_aligned_by_token_and_becomes_a_suite(page: Any) -> None:
    page.goto("/sentence")
    expect(page.locator(".scored > li")).to_have_count(2)
    assert page.input_value("#s1") == "The keys to the cabinet are on the table."
    rows = page.locator(".aligned tr")
    first, second = (rows.nth(place).locator("td").all_inner_texts() for place in (0, 1))
    assert len(first) == len(second) == rows.nth(2).locator("td").count()
    assert first[0] == second[0]
    assert first != second
    page.get_by_role("button", name="Make this a suite").click()
    page.wait_for_selector("#editor[data-ready]")
    assert page.locator("#grid tbody tr").count() == 2


PIXELS = """async () => {
  const [item] = await navigator.clipboard.read();
  const image = await createImageBitmap(await item.getType("image/png"));
  const canvas = new OffscreenCanvas(image.width, image.height), draw = canvas.getContext("2d");
  draw.drawImage(image, 0, 0);
  const { data } = draw.getImageData(0, 0, image.width, image.height), colours = new Set();
  for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join());
  return [image.width, image.height, colours.size];
}"""


def test_the_answers_are_copied_as_an_image(page: Any, context: Any) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy swims .")
    page.fill("#s2", "the boy swim .")
    page.keyboard.press("Enter")
    expect(page.locator(".scored > li")).to_have_count(2)
    page.click("#as-image")
    expect(page.locator("#as-image")).to_have_text("Copied")
    box = page.locator("#answers").bounding_box()  # now: fonts and scores may arrive after the sentences
    width, height, colours = page.evaluate(PIXELS)
    assert 0 < width <= 2 * box["width"] + 64
    assert box["height"] < height <= 2 * box["height"] + 64  # twice the size of the page
    assert colours > 20  # shades, letters


def test_without_a_clipboard_the_image_is_saved(page: Any) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined });")
    page.goto("/sentence?s=")
    page.fill("#s1", "the boy swims .")
    page.keyboard.press("Enter")
    expect(page.locator(".scored > li")).to_have_count(1)
    with page.expect_download() as saved:
        page.click("#as-image")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
