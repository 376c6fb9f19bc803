"""The documentation as a site: built without a warning, without a dead link, and without a request to anywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from doc_blocks import ROOT
from timeouts import PATIENCE
from wug.cli.main import cli

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""Elements that a browser loads by itself, and the attribute with the address; links only with these relations:"""
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "preconnect", "dns-prefetch", "prefetch"}


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
    assert len(figures) == 9


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


def test_a_browser_asks_nothing_of_the_network_and_search_works_without_a_server(built: tuple[Path, str]) -> None:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on this machine: apt install chromium")
    pytest.importorskip("playwright.sync_api")
    # In a thread of its own: other tests of this process may have a browser of theirs.
    with ThreadPoolExecutor(1) as apart:
        asked = apart.submit(_asked, path, built[0]).result()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def _asked(chromium: str, site: Path) -> list[str]:
    """What the browser asks for while some pages are read and something is searched."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=1000 * PATIENCE
        )
        page = browser.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "tutorial.html", "gallery.html", "reference.html", "coming-from/minicons.html"):
            page.goto((site / name).as_uri())
            page.wait_for_load_state("networkidle")
        page.keyboard.press("/")
        page.keyboard.type("localism")
        page.wait_for_selector(".md-search-result__item")
        assert "ocalism" in page.inner_text(".md-search-result__list")
        browser.close()
    return asked
