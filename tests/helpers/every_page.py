"""A store with every kind of run, and the addresses of every kind of page that shows it."""

from __future__ import annotations

import re
from typing import Any

import run_factory
import sample_results
from wug.outcomes import Outcome
from wug.results import run_admin
from wug.results.progress import ProgressReporter
from wug.results.store import Store
from wug.results.sweeps import PlannedModel, plan_text

RESULTS = range(1, len(sample_results.every()) + 1)
PAGES = (
    *("/", "/?sort=-suite%3Areflexives", "/?q=nothing"),
    *("/runs", "/runs?show=drafts", "/runs?show=removed", "/runs?gone=4", "/runs?q=nothing"),
    *("/run/1", "/run/2?edit", "/run/3", "/run/5", "/run/6"),
    *("/compare", "/compare?run=1&run=2", "/compare?run=1&run=1", "/suite?name=reflexives"),
    *(f"/result/{number}" for number in RESULTS),
    *(f"/result/{number}/items" for number in RESULTS),
    *("/result/1/outcome/0", "/result/3/outcome/0", "/result/1/numbers", "/result/3/items?value=false"),
    *("/editor", "/editor/new", "/sentence?s=", "/sentence?s=The+keys+are+here.", "/help", "/result/4711", "/nowhere"),
    *("/sweeps", "/sweeps/1"),
)
"""Every kind of page; `/editor/new` opens a draft."""


def kind(address: str) -> str:
    """The kind of page at an address: `/result/0/items?` for all pages of some items of a result."""
    path, asked, _ = address.partition("?")
    return re.sub(r"\d+", "0", path) + asked


def fill(store: Store) -> None:
    """Every family, a second model, runs in every state, and a sweep."""
    sample_results.keep(store, *sample_results.every())
    sample_results.keep(
        store, sample_results.syntaxgym(model="causal/other@1"), sample_results.pairs(model="causal/other@1")
    )
    store.finish(store.begin("3", "causal/x@1", "wug run x"), "failed", "the server does not answer\nat port 9")
    sample_results.keep(store, sample_results.pairs(items=8))
    run_admin.remove(store, [store.run(4)])
    number = store.begin("5", "causal/y@1", "wug run y")
    ProgressReporter().begin(store, number, 6, 1200, 4000)
    store.finish(number, "interrupted")
    number = store.begin("6", "causal/z@1", "wug run z")
    ProgressReporter().begin(store, number, 6, 1200, 4000)
    number = store.begin("7", "causal/gpt2@607a30d", "wug run mine.json", origin="editor")
    store.add(number, sample_results.syntaxgym(suite="mine"))
    store.finish(number, "complete")
    run_admin.rename(store, store.run(1), "a name")
    run_admin.annotate(store, store.run(1), "a note")
    steps = (0, 1000, 2000)
    plan = plan_text([PlannedModel(f"causal:alpha@step{step}") for step in steps], ["reflexives", "easy"])
    store.begin_sweep("k", "alpha@step*", "wug run", plan)
    for step in steps:
        model = f"causal/alpha@{step}"
        spec, revision = f"causal:alpha@step{step}", f"step{step}"
        number = store.begin(f"step {step}", model, "wug run", specification=spec, revision=revision, sweep=1)
        store.add(number, sample_results.pairs(items=8, model=model))
        if step == steps[-1]:  # every pair right: the strongest shade
            right = [Outcome(str(place), "accuracy", True) for place in range(8)]
            store.add(number, run_factory.result("easy", model, right))
        store.finish(number, "complete")


DRAWN = """() => {
  const waiting = document.querySelector("[aria-busy=true], .waiting, #editor:not([data-ready])");
  waiting?.scrollIntoView();
  return !waiting;
}"""


def visit(page: Any, address: str) -> Any:
    """The page at an address, with all of its charts drawn, seen from its top."""
    if address == "/editor/new":
        page.goto("/editor")
        token = page.locator("meta[name=wug-token]").get_attribute("content")
        made = page.request.post("/editor/new.json", data={"from": "2x2"}, headers={"X-Wug-Token": token})
        address = made.json()["address"]
    page.goto(address)
    page.wait_for_function(DRAWN)
    if page.locator("#editor").count():
        page.wait_for_load_state("networkidle")  # it is checked after it is drawn
    page.evaluate("scrollTo(0, 0)")  # what has been scrolled under the page's head counts as hidden
    return page


def alive(page: Any) -> int:
    """Elements that a hostile name has made."""
    found: int = page.evaluate("document.querySelectorAll('img[src=\"x\"], [onerror]').length")
    return found
