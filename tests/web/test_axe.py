"""axe-core's rules hold on every page, light and dark, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import every_page
from browsing import Served
from patience import PATIENCE

pytest.importorskip("axe_playwright_python", reason="pip install 'wug[dev]'")

PLACES: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1280, "height": 900}, "has_touch": False, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": "dark"},
}
"""Where a page is opened; then its colours are changed, as at dusk and at dawn."""
OTHER = {"light": "dark", "dark": "light"}
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


@pytest.mark.parametrize("address", every_page.PAGES)
def test_no_rule_is_broken(opened: dict[str, Any], address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = {}
    for place, page in opened.items():
        first = PLACES[place]["color_scheme"]
        page.emulate_media(color_scheme=first)
        every_page.visit(page, address)
        page.evaluate(Axe().axe_script)
        found[place, first] = broken(page)
        page.emulate_media(color_scheme=OTHER[first])
        found[place, OTHER[first]] = broken(page)
    assert {setting: rules for setting, rules in found.items() if rules} == {}
