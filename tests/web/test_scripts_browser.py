"""Scripts of the world in a real browser: no character twice, and every script in its direction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import sample_results
from job_helpers import shared
from wug import stats
from wug.evaluation.evaluate import build_result
from wug.evaluation.models import open_model
from wug.evaluation.suites import open_suites
from wug.outcomes import Outcome, Result, Signature
from wug.results.store import Store
from wug.views.report import ReportedResult, render
from wug.web.site import Site

SENTENCES = {
    "Arabic": "رأى الولد iPhone اليوم.",
    "Hebrew": "הַיֶּלֶד שָׂחָה.",
    "Chinese": "那只猫猫坐着。",
    "Japanese": "猫が座っている。",
    "Turkish": "Çocuk İstanbul’da güldü.",
    "emoji": "a 👩\u200d👩\u200d👧 sat 👍🏽 🇹🇷 cafe\u0301 .",
    "Latin": "the boy swims .",
}
BOXES = "boxes => boxes.map(box => ({text: box.firstChild.textContent, \
    x: box.getBoundingClientRect().x, y: box.getBoundingClientRect().y}))"


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


@pytest.fixture
def site(tmp_path: Path, kept: Path, tiny_causal: Callable[..., Path]) -> Site:
    return Site(store=Store(tmp_path / "store"), cache=kept / "answers.db", models=(str(tiny_causal()),))


def letters(text: str) -> str:
    """A text without white space, the sign for it, and what makes letters join but in an emoji."""
    return "".join(text.split()).replace("␣", "").replace("\u200d", "")


def in_order(boxes: list[dict[str, Any]], way: str) -> bool:
    """Whether boxes of one line follow one another in a direction."""
    places = [(round(box["y"]), box["x"] if way == "ltr" else -box["x"]) for box in boxes]
    return places == sorted(places)


@pytest.mark.parametrize("script", SENTENCES)
def test_a_sentence_has_each_character_once_and_in_its_place(page: Any, site: Site, script: str) -> None:
    text = SENTENCES[script]
    page.set_viewport_size({"width": 2400, "height": 900})
    page.goto("/sentence?" + urlencode({"s": text, "m": site.models[0]}))
    expect(page.locator(".scored > li")).to_have_count(1)
    boxes = page.locator(".piece").evaluate_all(BOXES)
    assert letters("".join(box["text"] for box in boxes)) == letters(text)
    if script == "Arabic":
        latin = [box for box in boxes if letters(box["text"]).isascii() and letters(box["text"]).isalpha()]
        others = [box for box in boxes if box not in latin and letters(box["text"])]
        assert in_order(others, "rtl")
        assert in_order(latin, "ltr")
        first, last = boxes.index(latin[0]), boxes.index(latin[-1])
        row = [(place, box["x"]) for place, box in enumerate(boxes) if box["y"] == latin[0]["y"] and box in others]
        assert all(x > latin[-1]["x"] for place, x in row if place < first)
        assert all(x < latin[0]["x"] for place, x in row if place > last)
    else:
        assert in_order(boxes, "rtl" if script == "Hebrew" else "ltr")
    if script == "Latin":
        assert page.locator("[dir=rtl], .run, .parts").count() == 0
        assert page.locator(".piece").count() == len(boxes)
    if script == "emoji":
        assert {"👩\u200d👩\u200d👧", "👍🏽", "🇹🇷"} <= {box["text"] for box in boxes}


@pytest.mark.parametrize("script", ["Arabic", "Chinese", "Latin"])
def test_regions_have_each_character_once_and_run_as_the_sentence_does(
    page: Any, site: Site, script: str, tmp_path: Path
) -> None:
    text = SENTENCES[script]
    words = text.split() if " " in text else [text[:3], text[3:]]
    regions = [{"region_number": number, "content": word} for number, word in enumerate(words, 1)]
    suite = {
        "meta": {"name": "scripts", "metric": "sum"},
        "region_meta": {str(number): f"r{number}" for number in range(1, len(words) + 1)},
        "predictions": [{"type": "formula", "formula": "(1;%a%) > (1;%b%)"}],
        "items": [{"item_number": 1, "conditions": [{"condition_name": name, "regions": regions} for name in "ab"]}],
    }
    path = tmp_path / "scripts.json"
    path.write_text(json.dumps(suite), encoding="utf-8")
    [read] = open_suites(str(path))
    model = open_model(f"causal:{site.models[0]}", {"device": "cpu"})
    result = build_result(read, "m", "wug:0|suite:scripts", list(read.run(model)))
    sample_results.keep(site.store, result)
    page.set_viewport_size({"width": 2400, "height": 900})
    report = tmp_path / "report.html"
    report.write_text(render([ReportedResult(result)]), encoding="utf-8")
    for address in ("/result/1/items", report.as_uri()):
        page.goto(address)
        if address.startswith("file:"):
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        rows = page.locator("table.tokens tbody tr")
        expect(rows.first).to_be_visible()
        boxes = rows.first.locator("td b").evaluate_all(BOXES)
        assert letters("".join(box["text"] for box in boxes)) == letters(text)
        heads = page.locator("table.tokens").first.locator("thead th").evaluate_all(BOXES)
        assert in_order(heads, "rtl" if script == "Arabic" else "ltr")


def test_the_words_of_a_pair_run_from_right_to_left(page: Any, site: Site) -> None:
    good, bad = "رأى الولد البنت", "رأى الولد بنتا"
    words = {name: [[word, -1.0] for word in text.split()] for name, text in (("good", good), ("bad", bad))}
    detail = {"good": good, "bad": bad, "logprob_good": -2.0, "logprob_bad": -1.0}
    shaded = {**detail, "words_good": words["good"], "words_bad": words["bad"]}
    rows = [Outcome("1", "accuracy", False, {}, shaded), Outcome("2", "accuracy", False, {}, detail)]
    found = Result(
        "p", "pairs", "m", "complete", Signature.read("wug:0"), 2, tuple(stats.estimates(rows)), (), tuple(rows)
    )
    sample_results.keep(site.store, found)
    page.goto("/result/1/items")
    boxes = page.locator(".tokens-line").first.locator("b").evaluate_all(BOXES)
    assert [box["text"] for box in boxes] == good.split()
    assert in_order(boxes, "rtl")
    assert page.locator("dd[dir=rtl]").count() == 4
