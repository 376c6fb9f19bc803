"""What the tests of the web pages share: a site, a client, a server in a thread, a browser that tells everything."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import every_page
from browsing import HURRY, Recorder, Served, client_of, free_port
from timeouts import PATIENCE
from wug.results.store import Store
from wug.web.site import Site

DESK = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the charts' script is kept for all tests: making it takes a second."""
    return tmp_path_factory.mktemp("charts")


@pytest.fixture
def site(tmp_path: Path, kept: Path) -> Site:
    """A site with an empty store; its folder is `tmp_path / "suites"`."""
    folder = tmp_path / "suites"
    folder.mkdir()
    return Site(store=Store(tmp_path / "store"), cache=kept / "answers.db", folders=(folder,))


@pytest.fixture
def client(site: Site) -> TestClient:
    """A client of the site, in this process, that is let in."""
    return client_of(site)


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    """A port that nobody else is given as long as the tests run; nobody answers there until a site does."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def served(site: Site, port: int) -> Iterator[Served]:
    """The site on a port, answering."""
    server = Served(site, port)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def everything(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A site with every kind of run, answering for all tests of a module."""
    folder = tmp_path_factory.mktemp("everything")
    site = Site(store=Store(folder / "store"), cache=kept / "answers.db", folders=(folder,), models=("wug-causal",))
    every_page.fill(site.store)
    server = Served(site, free_port())
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's chromium, driven by playwright.

    Without it a test is skipped, or fails where CI=true or WUG_BROWSER=required.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        reason = "no chromium on this machine: apt install chromium"
        if os.environ.get("WUG_BROWSER") == "required" or os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=path,
            # One process draws all pages: starting another for each page takes a quarter of a second.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--renderer-process-limit=1"],
            timeout=1000 * PATIENCE,
        )
        yield browser
        browser.close()


@pytest.fixture
def new_context(chromium: Any, served: Served) -> Iterator[Callable[..., Any]]:
    """A function that makes a fresh profile of the browser, let in or not, whose addresses begin at the server."""
    made: list[Any] = []

    def make(*, let_in: bool = True, **options: Any) -> Any:
        usual = {"base_url": served.address, "viewport": DESK}
        context = chromium.new_context(**{**usual, **options})
        context.set_default_timeout(1000 * PATIENCE)
        if let_in:
            served.let_in(context)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def recorder(served: Served) -> Recorder:
    """What goes wrong in the browser; give it a page with `watch`, or use the fixture `page`."""
    return Recorder(served.address)


@pytest.fixture(scope="session")
def profile(chromium: Any, port: int) -> Iterator[Any]:
    """A profile of the browser for test after test.

    Its first page stays open: the process behind it draws all others, and takes a second to start.
    """
    made = chromium.new_context(base_url=f"http://127.0.0.1:{port}", viewport=DESK)
    made.set_default_timeout(1000 * PATIENCE)
    first = made.new_page()
    first.route("**/*", lambda route: route.fulfill(body="no site yet"))
    first.goto("/")
    yield made
    made.close()


@pytest.fixture
def context(profile: Any, served: Served) -> Iterator[Any]:
    """A profile of the browser that is let in and knows nothing else, whose addresses begin at the server."""
    served.let_in(profile)
    yield profile
    first, *others = profile.pages
    for page in others:
        page.close()
    session = profile.new_cdp_session(first)
    session.send("Storage.clearDataForOrigin", {"origin": served.address, "storageTypes": "all"})
    session.detach()
    profile.clear_cookies()
    profile.clear_permissions()


@pytest.fixture
def page(context: Any, recorder: Recorder) -> Iterator[Any]:
    """An empty page of the browser; at its end nothing went wrong in the console, and nobody else was asked."""
    made = context.new_page()
    recorder.watch(made)
    yield made
    recorder.check()


@pytest.fixture
def hurried(page: Any) -> Any:
    """The page, which looks at the server ten times as often as it does for people."""
    page.add_init_script(HURRY)
    return page


@pytest.fixture
def new_site(site: Site) -> Callable[[], Site]:
    """The same site after a restart: the same files, a new token and a new secret."""

    def make() -> Site:
        return Site(store=Store(site.store.path), cache=site.cache, folders=site.folders, models=site.models)

    return make
