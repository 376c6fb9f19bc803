"""Pictures of pages of `wug view`, for the documentation.

    python docs/screenshots.py                   writes docs/images/view-*.png
    python docs/screenshots.py --folder /tmp/x   writes them, and the store that they show, elsewhere
    python docs/screenshots.py --pythia evals    the learning curves of Pythia's published evaluations, alone

It evaluates the built-in models on built-in suites.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute
from wug.exchange.importing import import_files
from wug.results.store import Store
from wug.web import security as authentication
from wug.web.app import create_app
from wug.web.site import Site

DRAWN = """() => document.fonts.status === "loaded" && ![...document.querySelectorAll(".waiting, [aria-busy=true]")]
  .some((one) => one.getBoundingClientRect().top < innerHeight)"""
"""Whether everything in view is there."""
LIMITS = {"wug-cogs": 84, "wug-pcfg": 40}
"""Items per suite for models that generate, so that it takes a minute."""
HERE = Path(__file__).resolve().parent
SCORED = ("wug_syntaxgym", "wug_agreement", "wug_reflexives", "wug_npi")
COMPUTED = ("localism", "substitutivity", "systematicity")
ASKED = {"wug-causal": SCORED, "wug-lstm": SCORED, "wug-pcfg": COMPUTED, "wug-cogs": ("wug_cogs_gen",)}
"""Suites by model."""
SENTENCES = ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table.")


@dataclass(frozen=True)
class Shot:
    """A page, and how it is looked at."""

    name: str
    path: str
    width: int = 1280
    height: int = 900
    scheme: Any = "light"
    full: bool = False


def fill(store: Store) -> None:
    """Evaluate every model on its suites."""
    for name, wanted in ASKED.items():
        limit = LIMITS.get(name)
        shown = f"{name} --limit {limit}" if limit else name
        execute(
            RunRequest(
                suites=wanted,
                models=[name],
                limit=limit,
                store=store.path,
                cache=Path("answers.db"),
                command=f"wug run {' '.join(wanted)} --model {shown}",
            )
        )


@contextmanager
def served(site: Site) -> Iterator[str]:
    """The address of the site, while it answers."""
    import uvicorn

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(create_app(site), host="127.0.0.1", port=port, log_level="error", lifespan="off", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def shots(site: Site) -> list[Shot]:
    """The pages, in the order of the documentation."""
    kept = site.reader.overview()

    def first(kind: str, suite: str = "") -> int:
        return next((one.id for one in kept if one.kind == kind and suite in one.suite), 0)

    gym, pairs = first("syntaxgym", "agreement"), first("pairs", "agreement")
    local, cogs = first("pcfgset", "localism"), first("cogs")
    sentence = urllib.parse.urlencode([*(("s", text) for text in SENTENCES), *(("m", m) for m in site.models[:2])])
    found = [
        Shot("runs", "/", 1440),
        Shot("runs-phone", "/", 390, 844),
        Shot("agreement", "/?phenomenon=Agreement", 1440, 600),
        Shot("list", "/runs", 1440),
        Shot("syntaxgym", f"/result/{gym}", height=1500),
        Shot("syntaxgym-items", f"/result/{gym}/items?metric=prediction_0&value=false", 1440),
        Shot("pairs-items", f"/result/{pairs}/items?value=false"),
        Shot("localism-items", f"/result/{local}/items?value=false", height=1200),
        Shot("cogs-items", f"/result/{cogs}/items?value=false", height=1200),
        Shot("compare", "/compare?run=1&run=2", 1440, 1300),
        Shot("editor", "/editor", 1440),
        Shot("sentence", f"/sentence?{sentence}", height=1000),
    ]
    return [shot for shot in found if "/result/0" not in shot.path]


LARGE = {"runs": Shot("runs-large", "/", 1440, 1000), "sweep": Shot("runs-sweep", "/", 1440, 600)}
"""The first page of stores that `benchmarks/first_page.py` makes."""


def take_large(folder: Path, stores: Path, only: str) -> None:
    """Pictures of the first page of large stores."""
    sys.path.insert(0, str(HERE.parent / "benchmarks"))
    from first_page import made

    wanted = [name for name, shot in LARGE.items() if only in shot.name]
    for name, path in made(stores, wanted).items():
        site = Site(store=Store(path), cache=stores / "answers.db")
        with served(site) as address:
            take(site, address, [LARGE[name]], folder)


def take_pythia(files: Path, folder: Path) -> None:
    """A picture of the learning curves of all paradigms of BLiMP in Pythia's files."""
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name) / "store")
        import_files([files], store, sweep="pythia-v0")
        site = Site(store=store, cache=Path(name) / "answers.db")
        with served(site) as address:
            take(site, address, [Shot("pythia", "/sweeps/1?by=paradigm", height=860)], folder)


def take(site: Site, address: str, wanted: Sequence[Shot], folder: Path) -> None:
    """A picture of every page."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("no chromium on this machine: apt install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for shot in wanted:
            context = browser.new_context(
                viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(authentication.url_with_token(address + "/", site))
            page.goto(address + shot.path)
            if shot.name == "editor":
                open_grid(page)
            page.wait_for_function(DRAWN, timeout=120_000)
            page.wait_for_timeout(600)
            page.screenshot(path=folder / f"view-{shot.name}.png", full_page=shot.full)
            print(folder / f"view-{shot.name}.png", flush=True)
            context.close()
        browser.close()


def open_grid(page: Any) -> None:
    """From the editor's first page to a grid with a suite in it, where there is one to choose."""
    for name in ("wug_agreement_pp", "agreement"):
        link = page.locator(f"a:has-text('{name}'), button:has-text('{name}')").first
        if link.count():
            link.click()
            page.wait_for_load_state("networkidle")
            page.get_by_role("button", name="Score", exact=True).click()
            page.wait_for_selector(".live svg", timeout=120_000)
            return


def main() -> None:
    """Make the store, look at every page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where pictures and store go, instead of docs/images")
    parser.add_argument("--only", default="", help="pictures whose name has this in it")
    parser.add_argument("--pythia", type=Path, help="files of EleutherAI/pythia, evals/pythia-v0: only their curves")
    given = parser.parse_args()
    if given.pythia:
        take_pythia(given.pythia, given.folder or HERE / "images")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = (given.folder or Path(name)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        store = Store(Path("wug-store"))
        if not store.runs():
            fill(store)
        site = Site(store=store, cache=Path("answers.db"), folders=(Path(),), models=("wug-causal", "wug-lstm"))
        wanted = [shot for shot in shots(site) if given.only in shot.name]
        pictures = folder if given.folder else HERE / "images"
        with served(site) as address:
            take(site, address, wanted, pictures)
        take_large(pictures, folder, given.only)


if __name__ == "__main__":
    main()
