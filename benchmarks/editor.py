"""The suite editor on a large suite against a small one: nodes on the page, and what a key takes in the browser.

    python benchmarks/editor.py

Both are opened in the same browser, and keys go to them in turn. `cpu` is the processor time of the page's thread for
a key, with all that follows from it (keeping, checking, layout), as a mean: a busy machine changes it little. `script`
is the time from the key until the page's scripts are done with it and its layout is complete, `frame` until the next
frame has been painted; both are medians, by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from wug.results.store import Store
from wug.web.app import create_app
from wug.web.site import Site

LARGE = {"regions": 12, "conditions": 8, "items": 200}
SMALL = {"regions": 4, "conditions": 4, "items": 2}
KEYS = 60
WORDS = "the quick brown fox jumps over lazy dogs near some old wooden tables".split()

MEASURE = """() => new Promise((done) => {
    const start = performance.now();
    addEventListener("keydown", () => {
        const began = performance.now();
        setTimeout(() => {  // behind what the key brought about
            document.querySelector(".sheet").getBoundingClientRect();
            const script = performance.now() - began;
            requestAnimationFrame(() => setTimeout(() => done([script, performance.now() - began]), 0));
        }, 0);
    }, { once: true, capture: true });
})"""


def suite(regions: int, conditions: int, items: int) -> dict[str, Any]:
    def content(item: int, condition: int, region: int) -> str:
        return f"{WORDS[(item * condition + region) % 13]} {WORDS[(item + region) % 13]}"

    return {
        "meta": {"name": f"{regions} x {conditions} x {items}", "metric": "sum"},
        "region_meta": {str(r): f"region_{r}" for r in range(1, regions + 1)},
        "predictions": ["(3;%c1%) < (3;%c2%)"],
        "items": [
            {
                "item_number": i,
                "conditions": [
                    {
                        "condition_name": f"c{c}",
                        "regions": [
                            {"region_number": r, "content": content(i, c, r)} for r in range(1, regions + 1)
                        ],
                    }
                    for c in range(1, conditions + 1)
                ],
            }
            for i in range(1, items + 1)
        ],
    }  # fmt: skip


def serve(folder: Path) -> tuple[Site, str]:
    import uvicorn

    site = Site(store=Store(folder / "store"), cache=folder / "answers.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(site), port=port, log_level="error", lifespan="off", ws="none"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.02)
    return site, f"http://127.0.0.1:{port}"


def opened(context: Any, site: Site, document: dict[str, Any]) -> Any:
    page = context.new_page()
    headers = {"x-wug-token": site.csrf_token, "x-file-name": "suite.json"}
    made = page.request.post("/editor/upload.json", data=json.dumps(document), headers=headers).json()
    page.goto(made["address"])
    page.wait_for_selector("#editor[data-ready]")
    page.wait_for_selector("#verdict:not(:text('…'))")
    return page


def press(page: Any, key: str) -> tuple[float, float]:
    """Milliseconds that a key takes: scripts, and until the next frame."""
    page.bring_to_front()
    waiting = page.evaluate_handle(f"() => {{ window.measured = ({MEASURE})(); }}")
    page.keyboard.press(key)
    waiting.dispose()
    script, frame = page.evaluate("() => window.measured")
    return script, frame


def cpu(session: Any) -> float:
    """Milliseconds of processor time that the page's thread has taken."""
    found = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def measure(browser: Any, site: Site, address: str) -> None:
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(300_000)
    port = address.rpartition(":")[2]
    context.add_cookies(
        [{"name": f"wug-view-{port}", "value": site.access_token, "url": address, "sameSite": "Strict"}]
    )
    pages = {"small": opened(context, site, suite(**SMALL)), "large": opened(context, site, suite(**LARGE))}
    for name, page in pages.items():
        print(f"{name:8} {page.evaluate('document.querySelectorAll(`*`).length'):7,} nodes", flush=True)
    sessions = {name: context.new_cdp_session(page) for name, page in pages.items()}
    for session in sessions.values():
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
    print(f"\n{'key':14} {'':8} {'cpu ms':>8} {'script ms':>10} {'frame ms':>10}   large − small: cpu, script")
    kinds = {"a letter": "x", "arrow down": "ArrowDown", "page down": "PageDown"}
    for name, key in kinds.items():
        times: dict[str, list[tuple[float, float]]] = {"small": [], "large": []}
        for page in pages.values():
            page.bring_to_front()
            page.keyboard.press("Escape")
            page.evaluate("document.querySelector('.cell-field').focus()")
        spent = dict.fromkeys(pages, 0.0)
        for _ in range(KEYS):
            for size, page in pages.items():
                before = cpu(sessions[size])
                times[size].append(press(page, key))
                spent[size] += (cpu(sessions[size]) - before) / KEYS
        middle = {
            size: [statistics.median(column) for column in zip(*found, strict=True)] for size, found in times.items()
        }
        for size in ("small", "large"):
            more = (spent["large"] - spent["small"], middle["large"][0] - middle["small"][0])
            words = f"{more[0]:+25.1f} {more[1]:+7.1f}" if size == "large" else ""
            script, frame = middle[size]
            print(f"{name:14} {size:8} {spent[size]:8.1f} {script:10.1f} {frame:10.1f} {words}", flush=True)
    context.close()


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        site, address = serve(Path(name))
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        measure(browser, site, address)
        browser.close()
        site.store.close()
    os._exit(0)  # the server's thread


if __name__ == "__main__":
    main()
