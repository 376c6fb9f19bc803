"""axe-core's rules hold on every page, light and dark, on a desk and on a phone.

By day a page is looked at in one of the four ways, in turn, and of pages of one kind, such as those of results, one;
at night every page in every way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import every_page
from browsing import Served
from case_selection import cases, each_kind
from timeouts import PATIENCE

pytestmark = pytest.mark.slow

pytest.importorskip("axe_playwright_python", reason="pip install 'wug[dev]'")

PLACES: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1280, "height": 900}, "has_touch": False},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}
"""Where a page is opened."""
WAYS = [("desk", "light"), ("phone", "dark"), ("desk", "dark"), ("phone", "light")]
SEEN = each_kind(every_page.PAGES, every_page.kind, most=1)
BY_DAY = [(address, *WAYS[number % 4]) for number, address in enumerate(SEEN)]
AT_NIGHT = [(address, *way) for address in every_page.PAGES for way in WAYS if (address, *way) not in BY_DAY]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def opened(chromium: Any, everything: Served) -> Iterator[dict[str, Any]]:
    """An empty page in each place."""
    # The pages let no foreign script run; the rules come as one.
    contexts = {
        place: chromium.new_context(
            base_url=everything.address, bypass_csp=True, reduced_motion="reduce", **PLACES[place]
        )
        for place in PLACES
    }
    for context in contexts.values():
        context.set_default_timeout(1000 * PATIENCE)
        everything.let_in(context)
    yield {place: context.new_page() for place, context in contexts.items()}
    for context in contexts.values():
        context.close()


def broken(page: Any) -> dict[str, list[str]]:
    """The rules that a page breaks, and where."""
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found = page.evaluate("(options) => axe.run(options)", options)["violations"]
    return {rule["id"]: [node["html"][:300] for node in rule["nodes"][:5]] for rule in found}


@pytest.mark.parametrize(("address", "place", "colours"), cases(BY_DAY, AT_NIGHT))
def test_no_rule_is_broken(opened: dict[str, Any], address: str, place: str, colours: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = opened[place]
    # The page is opened in the other colours, and these change, as at dusk and at dawn.
    page.emulate_media(color_scheme={"light": "dark", "dark": "light"}[colours])
    every_page.visit(page, address)
    page.emulate_media(color_scheme=colours)
    page.evaluate(Axe().axe_script)
    assert broken(page) == {}
