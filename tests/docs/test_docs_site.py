"""The documentation as a site: built without a warning, without a dead link, and without a request to anywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from doc_blocks import ROOT
from timeouts import PATIENCE
from wug.cli.main import cli

pytestmark = pytest.mark.slow

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""Elements that a browser loads by itself, and the attribute with the address; links only with these relations:"""
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "preconnect", "dns-prefetch", "prefetch"}

DRAWN = (
    *("regions", "compared", "overview", "patterns", "margins", "choices", "past", "slopes", "scan", "steps"),
    *("functions", "types", "errors"),
)
"""The figures of the gallery."""


class Page(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        self.names |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and (tag != "link" or FETCHED & set(values.get("rel", "").split())):
            self.loads.append(values.get(LOADED[tag], ""))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The site, and the output of the build; a warning ends it."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("built") / "site"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=5 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages(built: tuple[Path, str]) -> dict[Path, Page]:
    found = sorted(built[0].rglob("*.html"))
    return {path: Page(path.read_text(encoding="utf-8")) for path in found if path.name != "404.html"}


def test_the_site_is_built_without_a_warning(built: tuple[Path, str]) -> None:
    assert "WARNING" not in built[1]
    assert (built[0] / "index.html").is_file()


def test_no_link_of_the_site_is_dead(pages: dict[Path, Page]) -> None:
    dead = [
        f"{path.name}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not link.startswith(("http://", "https://", "mailto:")) and not _leads(path, link, pages)
    ]
    assert dead == []


def _leads(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    target, _, anchor = unquote(link).partition("#")
    goal = (path.parent / target).resolve() if target else path
    goal = goal / "index.html" if goal.is_dir() else goal
    return goal.is_file() and (not anchor or anchor in pages[goal].names or anchor.startswith("__"))


def test_no_page_loads_anything_from_elsewhere(built: tuple[Path, str], pages: dict[Path, Page]) -> None:
    loads = {(path, load) for path, page in pages.items() for load in page.loads if not load.startswith("data:")}
    assert [load for _, load in loads if re.match(r"(https?:)?//", load)] == []
    missing = [load for path, load in loads if not (path.parent / unquote(load.partition("?")[0])).exists()]
    assert missing == []
    for sheet in built[0].rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_every_page_of_the_documentation_and_every_figure_is_there(pages: dict[Path, Page], built: Any) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert built[0] / page.relative_to(ROOT / "docs").with_suffix(".html") in pages
    figures = [load for load in pages[built[0] / "gallery.html"].loads if load.startswith("gallery/")]
    assert len(figures) == 2 * len(DRAWN)  # light and dark
    for name in DRAWN:
        assert (built[0] / f"gallery/{name}.pdf").read_bytes().startswith(b"%PDF")
        assert f"gallery/{name}.pdf" in pages[built[0] / "gallery.html"].links


def test_tables_on_the_site_can_be_copied_with_their_tabs(built: tuple[Path, str]) -> None:
    text = re.sub("<[^>]*>", "", (built[0] / "tutorial.html").read_text(encoding="utf-8"))
    assert "near\tThe keys are on the table.\tThe keys is on the table." in text


def test_the_command_line_has_every_command_and_option(built: tuple[Path, str], pages: dict[Path, Page]) -> None:
    text = (built[0] / "command-line.html").read_text(encoding="utf-8")
    for command, options in _commands(cli, "wug"):
        assert command.replace(" ", "-") in pages[built[0] / "command-line.html"].names
        for option in options:
            assert option in text, f"{command} {option}"


def _commands(group: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    import click

    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        yield f"{path} {name}", [option for one in shown for option in one.opts]
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


def test_the_python_reference_has_every_name(built: tuple[Path, str], pages: dict[Path, Page]) -> None:
    import wug

    assert {f"wug.{name}" for name in dir(wug)} <= pages[built[0] / "reference.html"].names


@pytest.fixture(scope="module")
def seen(built: tuple[Path, str]) -> Seen:
    """What a browser found on the site."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on this machine: apt install chromium")
    pytest.importorskip("playwright.sync_api")
    # In a separate thread: other tests of this process may have a browser of theirs.
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(_seen, path, built[0]).result()


def test_a_browser_asks_nothing_of_the_network_and_search_works_without_a_server(seen: Seen) -> None:
    assert [url for url in seen.asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert "ocalism" in seen.results


def test_no_line_of_text_has_more_than_75_characters(seen: Seen) -> None:
    long = {name: lines for name, lines in seen.long_lines.items() if lines}
    assert long == {}


def test_figures_follow_the_colours_of_the_page(seen: Seen) -> None:
    for scheme, drawn in seen.figures.items():
        assert len(drawn) == len(DRAWN)
        assert {name.rpartition("-")[2] for name in drawn} == {f"{scheme}.svg"}


def test_pages_have_the_typeface_and_the_colours_of_the_program(built: tuple[Path, str], seen: Seen) -> None:
    assert seen.faces == {"light": True, "dark": True}
    sheet = (ROOT / "src/wug/views/templates/page.css").read_text(encoding="utf-8")
    for scheme, colours in zip(("light", "dark"), sheet.split("@media screen")[:2], strict=True):
        of = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", colours))
        assert seen.colours[scheme] == [of["paper"], of["ink"], of["accent"]]
        drawn = (built[0] / f"gallery/regions-{scheme}.svg").read_text(encoding="utf-8")
        assert of["chart-1"] in drawn
        assert of["chart-ink"] in drawn


@dataclass
class Seen:
    """What a browser found on the site."""

    asked: list[str] = field(default_factory=list)
    results: str = ""
    long_lines: dict[str, list[str]] = field(default_factory=dict)
    figures: dict[str, list[str]] = field(default_factory=dict)
    """Those shown in the gallery, by colour scheme."""
    faces: dict[str, bool] = field(default_factory=dict)
    colours: dict[str, list[str]] = field(default_factory=dict)
    """Of the page, its text and its links, by colour scheme."""


LONG_LINES = """() => {
  const found = [], range = document.createRange();
  for (const block of document.querySelectorAll(".md-content :is(p, li, dd)")) {
    if (block.closest("td, th, pre")) continue;
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), lines = [];
    let bottom = -Infinity;
    for (let node; (node = walker.nextNode());) {
      if (node.parentElement.closest("p, li, dd, td, th, pre") !== block) continue;
      for (let place = 0; place < node.length; place += 1) {
        range.setStart(node, place), range.setEnd(node, place + 1);
        const box = range.getBoundingClientRect();
        if (!box.width) continue;
        if (box.top > bottom - 4) lines.push("");
        bottom = box.bottom, lines[lines.length - 1] += node.data[place];
      }
    }
    found.push(...lines.filter((line) => line.trim().length > 75));
  }
  return found;
}"""
COLOURS = """() => {
  const two = (number) => (+number).toString(16).padStart(2, "0");
  const hex = (colour) => "#" + colour.match(/\\d+/g).slice(0, 3).map(two).join("");
  const of = (selector, name) => hex(getComputedStyle(document.querySelector(selector))[name]);
  return [of("body", "backgroundColor"), of(".md-content p", "color"), of(".md-content li a", "color")];
}"""
SHOWN = """() =>
  [...document.querySelectorAll("img.figure")].filter((one) => one.checkVisibility()).map((one) => one.src)"""


def _seen(chromium: str, site: Path) -> Seen:
    """Read some pages, search for something, and look at the gallery in both colour schemes."""
    from playwright.sync_api import sync_playwright

    seen = Seen()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=1000 * PATIENCE
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", lambda request: seen.asked.append(request.url))
        for name in ("index.html", "tutorial.html", "gallery.html", "reference.html", "coming-from/minicons.html"):
            page.goto((site / name).as_uri())
            page.wait_for_load_state("networkidle")
            seen.long_lines[name] = page.evaluate(LONG_LINES)
        page.keyboard.press("/")
        page.keyboard.type("localism")
        page.wait_for_selector(".md-search-result__item")
        seen.results = page.inner_text(".md-search-result__list")
        for scheme in ("light", "dark"):
            own = browser.new_page(color_scheme=scheme)
            own.goto((site / "gallery.html").as_uri())
            seen.figures[scheme] = own.evaluate(SHOWN)
            own.goto((site / "index.html").as_uri())
            seen.faces[scheme] = own.evaluate("document.fonts.ready.then(() => document.fonts.check('16px Inter'))")
            seen.colours[scheme] = own.evaluate(COLOURS)
        browser.close()
    return seen
