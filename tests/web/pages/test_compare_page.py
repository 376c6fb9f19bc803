"""The page of comparisons: choosing by model, suite and date, pooling seeds, all items that differ, curves."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

import run_factory
import sample_results
from browsing import Served, client_of
from wug.results.sweeps import PlannedModel, plan_text
from wug.web.site import Site

SEEDS = [f"causal/lab/small-seed{seed}@{seed}" for seed in (1, 2, 3)]


@pytest.fixture
def seeds(site: Site) -> Site:
    """Three seeds of one model (runs 1 to 3) that have all right, and another model (run 4) that has half."""
    for model in SEEDS:
        run_factory.keep(
            site.store.path, run_factory.result("s", model, run_factory.outcomes({"accuracy": [True] * 130}))
        )
    half = [place % 2 == 0 for place in range(130)]
    run_factory.keep(
        site.store.path, run_factory.result("s", "causal/lab/big@9", run_factory.outcomes({"accuracy": half}))
    )
    return site


def options(page: str) -> dict[str, str]:
    """What there is to choose as the first side: value → words."""
    first = page.partition('<select name="side">')[2].partition("</select>")[0]
    return {value: html.unescape(text) for value, text in re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)', first)}


def test_runs_are_offered_by_model_with_date_and_suites_and_seeds_together(client: TestClient, seeds: Site) -> None:
    offered = options(client.get("/compare").text)
    assert list(offered) == ["", "1,2,3", "4", "3", "2", "1"]
    assert offered["1,2,3"] == "lab/small, 3 seeds (runs 1, 2, 3)"
    assert re.fullmatch(r"big · \d+ \w+ \d{4}, \d\d:\d\d · 1 suite · run 4", offered["4"])


def test_only_runs_with_the_chosen_suite_are_offered(client: TestClient, seeds: Site) -> None:
    sample_results.keep(seeds.store, sample_results.pairs(items=8))
    assert list(options(client.get("/compare?suite=reflexives").text)) == ["", "5"]


def test_models_are_compared_on_every_suite_that_any_of_their_runs_share(served: Served, site: Site, page: Any) -> None:
    x, y = "a/x@1", "a/y@1"
    sample_results.keep(site.store, sample_results.pairs(items=8, model=x), sample_results.syntaxgym(model=x))
    sample_results.keep(site.store, sample_results.pairs(suite="other", items=8, model=x))
    sample_results.keep(site.store, sample_results.pairs(suite="mine", items=8, model=x))
    sample_results.keep(site.store, sample_results.pairs(items=8, model=y), sample_results.syntaxgym(model=y))
    sample_results.keep(site.store, sample_results.pairs(suite="other", items=8, model=y))
    page.goto("/")
    for model in ("x", "y"):
        page.get_by_label(f"compare {model}").check()
    page.get_by_role("button", name="Compare").click()
    assert page.locator("select[name=side]").nth(1).input_value() == "model:a/x@1"
    assert page.locator(".scope").inner_text().startswith("Compared on 3 suites and ")
    assert "with the newest result of each" in page.locator(".scope").inner_text()
    assert page.get_by_text("left out, since A was not evaluated on it: mine").is_visible()
    suites = page.locator("table.compared tbody th").all_inner_texts()
    assert set(suites) == {"reflexives", "other", sample_results.syntaxgym().suite}


def test_a_verdict_on_top_follows_holm_and_both_p_values_are_there(served: Served, site: Site, page: Any) -> None:
    right = [True] * 60
    for model, wrong, lost in (("a/x@1", 0, 0), ("a/y@1", 30, 6)):
        run_factory.keep(
            site.store.path,
            run_factory.result("clear", model, run_factory.outcomes({"accuracy": right[wrong:] + [False] * wrong})),
            *(
                run_factory.result(name, model, run_factory.outcomes({"accuracy": right[lost:] + [False] * lost}))
                for name in ("slight", "slight_too", "slight_three")
            ),
        )
    page.goto("/compare?run=1&run=2")
    verdict = page.locator(".verdict-line").inner_text()
    assert verdict.startswith("x is better than y on ")
    assert "after Holm's correction for 4 tests" in verdict
    heads = page.locator("table.compared thead th").all_inner_texts()
    assert {"p", "p (Holm)"} <= set(heads)
    notes = page.locator("main > p.left").last.inner_text()
    assert "Holm" in notes
    assert page.locator("table.compared", has_text="McNemar").count() == 0  # methods are named once, below


def test_a_model_with_one_run_is_that_run_and_an_unknown_one_is_an_error(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8, model="a/x@1"))
    sample_results.keep(site.store, sample_results.pairs(items=8, model="a/y@1"))
    assert '<option value="1" selected>' in client.get("/compare?model=a/x@1&model=a/y@1").text
    assert client.get("/compare?model=nobody&model=a/y@1").status_code == 404


def test_seeds_are_pooled_and_taken_apart_by_a_click(served: Served, seeds: Site, page: Any) -> None:
    page.goto("/compare?side=2&side=4")
    page.click("text=pool all 3 seeds of lab/small")
    page.wait_for_url("**side=1%2C2%2C3&side=4")
    assert "mean of runs 1, 2, 3" in page.locator(".about").inner_text()
    page.click("text=take run 1 alone")
    page.wait_for_url("**side=1&side=4")


def test_choosing_two_models_compares_them(served: Served, seeds: Site, page: Any) -> None:
    page.goto("/compare")
    page.select_option("select[name=side] >> nth=0", "1,2,3")
    page.wait_for_url("**side=1%2C2%2C3**")
    page.select_option("select[name=side] >> nth=1", "4")
    page.wait_for_selector("table.compared tbody tr")
    assert page.locator("table.compared tbody td >> nth=3").inner_text() == "50.0%"


def test_all_items_that_differ_are_there_page_by_page(client: TestClient, seeds: Site) -> None:
    page = client.get("/compare?side=1&side=4").text
    link = re.search(r'href="(/compare/items[^"]+)">All 65 items that differ', page)
    assert link
    first = client.get(html.unescape(link[1])).text
    assert "1–50 of 65" in first
    forth = re.search(r'rel="next" href="([^"]+)"', first)
    assert forth
    second = client.get(html.unescape(forth[1])).text
    assert "51–65 of 65" in second
    found = [re.findall(r'<tr><th scope="row">(\d+)</th>', text) for text in (first, second)]
    # The second model has every other item wrong, beginning with the second.
    assert sorted(map(int, found[0] + found[1])) == list(range(2, 131, 2))
    assert client.get(html.unescape(forth[1]).replace("page=2", "page=99")).status_code == 200


def test_a_suite_whose_name_is_a_pattern_has_its_items_too(client: TestClient, site: Site) -> None:
    for model, right in (("a/x@1", True), ("a/y@1", False)):
        rows = run_factory.outcomes({"accuracy": [right] * 30})
        run_factory.keep(site.store.path, run_factory.result("s[1]*", model, rows))
    link = re.search(r'href="(/compare/items[^"]+)"', client.get("/compare?side=1&side=2").text)
    assert link
    assert "30 items that differ" in client.get(html.unescape(link[1])).text


@pytest.fixture
def sweeps(site: Site) -> Site:
    """Sweeps 1 and 2, of three checkpoints each, on two suites."""
    for number, name in ((1, "small"), (2, "large")):
        models = [PlannedModel(f"causal:{name}@step{step}") for step in (0, 100, 200)]
        assert site.store.begin_sweep(name, name, "wug run", plan_text(models, ["s", "t"])) == number
        for step in (200, 0, 100):
            run = site.store.begin(f"{name}{step}", f"causal/{name}@{step}", "x", revision=f"step{step}", sweep=number)
            values = [place < step // 10 for place in range(30)]
            rows = run_factory.outcomes({"accuracy": values})
            for suite in ("s", "t"):
                site.store.add(run, run_factory.result(suite, f"causal/{name}@{step}", rows))
            site.store.finish(run, "complete")
    return site


def test_without_runs_the_command_names_models_that_score_sentences(site: Site) -> None:
    page = client_of(replace(site, models=("wug-causal", "wug-cogs", "wug-lstm"))).get("/compare")
    assert "wug run wug_syntaxgym --model wug-causal --model wug-lstm --store" in page.text


def test_one_side_alone_leads_to_its_own_page(client: TestClient, sweeps: Site) -> None:
    chosen = {
        "side=sweep:2": "/sweeps/2",
        "suite=s&side=&side=sweep:2": "/sweeps/2",
        "run=4": "/run/4",
        "side=4,5": "/run/4",
    }
    for query, own in chosen.items():
        page = client.get(f"/compare?{query}").text
        sentence = page.partition('<p class="alone">')[2].partition("</p>")[0]
        assert "Choose a second" in sentence, query
        assert re.findall(r'href="([^"]*)"', sentence) == [own]
        assert client.get(own).status_code == 200
    for query in ("", "?suite=s", "?side=sweep:1&side=sweep:2"):
        assert "Choose a second" not in client.get(f"/compare{query}").text


def test_two_sweeps_are_compared_by_their_curves_in_one_chart_a_suite(client: TestClient, sweeps: Site) -> None:
    page = client.get("/compare?side=sweep:1&side=sweep:2").text
    assert "(the last of 3)" in page
    assert "s over training" in page
    rows = client.get("/compare/figure/curve-0.json?side=sweep:1&side=sweep:2").json()
    assert [(row["model"], row["step"]) for row in rows] == [
        (f"causal/{name}", step) for name in ("small", "large") for step in (0, 100, 200)
    ]
    chosen = client.get("/compare?side=sweep:1&side=sweep:2&suite=t").text
    assert "t over training" in chosen
    assert "s over training" not in chosen
    assert client.get("/compare?side=sweep:9&side=sweep:2").status_code == 404
