"""axe-core's rules hold on every page, light and dark, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import every_page
from browsing import Served
from patience import PATIENCE

pytest.importorskip("axe_playwright_python", reason="pip install 'wug[dev]'")

SETTINGS = {
    f"{scheme}-{place}": {"color_scheme": scheme, "viewport": {"width": width, "height": height}, "has_touch": touch}
    for scheme in ("light", "dark")
    for place, (width, height, touch) in {"desk": (1280, 900, False), "phone": (390, 844, True)}.items()
}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module", params=list(SETTINGS))
def visit(request: pytest.FixtureRequest, chromium: Any, everything: Served) -> Iterator[Callable[[str], Any]]:
    """A function that opens a page in one of the settings and waits until all of it is drawn."""
    # The pages let no foreign script run; the rules come as one.
    context = chromium.new_context(
        base_url=everything.address, bypass_csp=True, reduced_motion="reduce", **SETTINGS[request.param]
    )
    context.set_default_timeout(1000 * PATIENCE)
    everything.let_in(context)
    page = context.new_page()
    yield lambda address: every_page.visit(page, address)
    context.close()


@pytest.mark.parametrize("address", every_page.PAGES)
def test_no_rule_is_broken(visit: Callable[[str], Any], address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(visit(address), options={"runOnly": {"type": "tag", "values": RULES}})
    broken = {rule["id"]: [node["html"][:300] for node in rule["nodes"][:5]] for rule in found.response["violations"]}
    assert broken == {}
