"""axe-core's rules hold on every page, light and dark, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import material
from browsing import Served, free_port
from wug.runs import tidying
from wug.runs.progress import Report
from wug.runs.store import Store
from wug.web.site import Site

pytest.importorskip("axe_playwright_python", reason="pip install 'wug[dev]'")

SETTINGS = {
    f"{scheme}-{place}": {"color_scheme": scheme, "viewport": {"width": width, "height": height}, "has_touch": touch}
    for scheme in ("light", "dark")
    for place, (width, height, touch) in {"desk": (1280, 900, False), "phone": (390, 844, True)}.items()
}
RESULTS = range(1, len(material.every()) + 1)
PAGES = (
    *("/", "/?sort=-suite%3Areflexives&pin=causal%2Fother%401&pincol=reflexives", "/?q=nothing"),
    *("/runs", "/runs?show=drafts", "/runs?show=removed", "/runs?gone=4", "/runs?q=nothing"),
    *("/run/1", "/run/2?edit", "/run/3", "/run/5", "/run/6"),
    *("/compare", "/compare?run=1&run=2", "/compare?run=1&run=1", "/suite?name=reflexives"),
    *(f"/result/{number}" for number in RESULTS),
    *(f"/result/{number}/items" for number in RESULTS),
    *("/result/1/item/0", "/result/3/item/0", "/result/1/numbers", "/result/3/items?value=false"),
    *("/editor", "/editor/new", "/sentence", "/sentence?s=The+keys+are+here.", "/result/4711", "/nowhere"),
)
"""Every kind of page; `/editor/new` stands for a draft."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def fill(store: Store) -> None:
    """Every family, a second model, and runs in every state."""
    material.keep(store, *material.every())
    material.keep(store, material.syntaxgym(model="causal/other@1"), material.pairs(model="causal/other@1"))
    store.finish(store.begin("3", "causal/x@1", "wug run x"), "failed", "the server does not answer\nat port 9")
    material.keep(store, material.pairs(items=8))
    tidying.remove(store, [store.run(4)])
    number = store.begin("5", "causal/y@1", "wug run y")
    Report().begin(store, number, 6, 1200, 4000)
    store.finish(number, "interrupted")
    number = store.begin("6", "causal/z@1", "wug run z")
    Report().begin(store, number, 6, 1200, 4000)
    number = store.begin("7", "causal/gpt2@607a30d", "wug run mine.json", origin="editor")
    store.add(number, material.syntaxgym(suite="mine"))
    store.finish(number, "complete")
    tidying.rename(store, store.run(1), "a name")
    tidying.annotate(store, store.run(1), "a note")


@pytest.fixture(scope="module")
def everything(chromium: Any, kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A site with every kind of run, answering for all tests of this module."""
    folder = tmp_path_factory.mktemp("axe")
    site = Site(store=Store(folder / "wug.db"), cache=kept / "answers.db", folders=(folder,), models=("wug-causal",))
    fill(site.store)
    server = Served(site, free_port())
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module", params=list(SETTINGS))
def visit(request: pytest.FixtureRequest, chromium: Any, everything: Served) -> Iterator[Callable[[str], Any]]:
    """A function that opens a page in one of the settings and waits until all of it is drawn."""
    # The pages let no foreign script run; the rules come as one.
    context = chromium.new_context(
        base_url=everything.address, bypass_csp=True, reduced_motion="reduce", **SETTINGS[request.param]
    )
    everything.let_in(context)
    page = context.new_page()

    def go(address: str) -> Any:
        if address == "/editor/new":
            page.goto("/editor")
            token = page.locator("meta[name=wug-token]").get_attribute("content")
            made = page.request.post("/editor/new.json", data={"from": "2x2"}, headers={"X-Wug-Token": token})
            address = made.json()["address"]
        page.goto(address)
        page.wait_for_load_state("networkidle")
        page.evaluate("for (const one of document.querySelectorAll('[data-spec]')) one.scrollIntoView()")
        page.wait_for_selector("[aria-busy=true]", state="detached")
        page.evaluate("scrollTo(0, 0)")  # what has been scrolled under the page's head counts as hidden
        return page

    yield go
    context.close()


@pytest.mark.parametrize("address", PAGES)
def test_no_rule_is_broken(visit: Callable[[str], Any], address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(visit(address), options={"runOnly": {"type": "tag", "values": RULES}})
    broken = {rule["id"]: [node["html"][:300] for node in rule["nodes"][:5]] for rule in found.response["violations"]}
    assert broken == {}
