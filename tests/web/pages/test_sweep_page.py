"""The pages of sweeps: a list, curves, models by suites; and the first page, which shows a sweep as one line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from run_factory import outcomes, result
from wug.exchange.importing import import_files
from wug.results.store import Store, run_key
from wug.results.sweeps import PlannedModel, plan_text
from wug.web.pages import sweep as pages
from wug.web.site import Site


def keep_sweep(store: Store, name: str, learned: dict[str, int], *, missing: int = 0) -> int:
    """A sweep in whose runs that many of ten items are right, by the name of the model."""
    models = [PlannedModel(model) for model in [*learned, *(f"causal:x/step-{90 + place}" for place in range(missing))]]
    number = store.begin_sweep(f"key of {name}", name, f"wug run s --sweep {name}", plan_text(models, ["s"]))
    for model, right in learned.items():
        rows = outcomes({"accuracy": [True] * right + [False] * (10 - right)})
        found = result("s", model.replace(":", "/", 1) + "@1", rows)
        key = run_key([found.signature], {"interval": "wilson", "given": {}})
        run = store.begin(key, found.model, "wug run", specification=model, sweep=number)
        store.add(run, found)
        store.finish(run, "complete")
    return number


LEARNED = {"causal:x/step-1": 5, "causal:x/step-10": 7, "causal:x/step-100": 9}


def test_a_sweep_has_a_page_with_curves_and_a_matrix(site: Site, client: TestClient) -> None:
    keep_sweep(site.store, "over training", LEARNED, missing=1)
    page = client.get("/sweeps/1").text
    assert "<h1>over training</h1>" in page
    assert "causal:x/<wbr/>step-100</a>" in page  # so that a narrow column breaks it between its parts
    assert "4 models" in page
    assert "wug run s --sweep over training" in page
    matrix = page.split("Models by suites", 1)[1]
    for text in ("<strong>50.0", "<strong>70.0", "<strong>90.0", "step-90", "missing", "· accuracy, with 95"):
        assert text in matrix, text
    answer = client.get("/sweeps/1/figure/curve-0.vl.json")
    assert 'filename="sweep-1-curve-0.vl.json"' in answer.headers["content-disposition"]
    spec: dict[str, Any] = answer.json()
    (data,) = (found["values"] for found in [spec["data"]])
    assert [(row["x"], row["value"]) for row in data] == [(1, 0.5), (10, 0.7), (100, 0.9)]
    assert spec["layer"][-1]["encoding"]["x"]["scale"]["type"] == "log"


def test_seeds_are_one_line_with_their_mean(site: Site, client: TestClient) -> None:
    seeds = {
        "causal:x-seed1@step-1": 4,
        "causal:x-seed2@step-1": 6,
        "causal:x-seed1@step-2": 8,
        "causal:x-seed2@step-2": 8,
    }
    keep_sweep(site.store, "seeds", seeds)
    data = client.get("/sweeps/1/figure/curve-0.vl.json").json()["data"]["values"]
    assert [(row["x"], row["value"]) for row in data] == [(1, 0.5), (2, 0.8)]
    assert data[0]["high"] - data[0]["low"] == pytest.approx(
        2 * 0.02**0.5, abs=1e-4
    )  # the deviation of .4 and .6, either way


def test_the_reader_chooses_suite_and_model_and_the_first_stands_for_too_many(
    tmp_path: Path, site: Site, client: TestClient
) -> None:
    """Five models with 21 suites are 105 lines: by suite those of the first suite, by paradigm those of one model."""
    for name in "abcde":
        for step in (1, 2):
            results: dict[str, Any] = {f"task{n:02}": {"acc,none": 0.5, "sample_len": 100} for n in range(20)}
            results |= {f"blimp_{task}": {"acc,none": 0.6} for task in ("causative", "wh_island")}
            content = {"results": results, "model_name": name, "config": {"model_args": {"revision": f"step{step}"}}}
            (tmp_path / f"results_{name}{step}.json").write_text(json.dumps(content))
    import_files(sorted(tmp_path.glob("results_*.json")), site.store, sweep="many")

    def lines(query: str) -> set[str]:
        found = client.get(f"/sweeps/1/figure/curve-0.vl.json{query}").json()["data"]["values"]
        return {row["series"] for row in found}

    assert lines("") == set("abcde")
    assert "<option selected>blimp" in client.get("/sweeps/1").text
    assert len(lines("?suite=*")) == 105
    assert lines("?suite=task07") == set("abcde")
    assert len(lines("?suite=*&model=imported:c")) == 21
    assert lines("?by=paradigm") == {"causative", "wh_island"}
    page = client.get("/sweeps/1?by=paradigm").text
    assert "<option selected>imported:a" in page
    assert len(lines("?by=paradigm&model=*")) == 10
    assert client.get("/sweeps/1?suite=none&model=none").status_code == 200


def test_the_table_of_a_sweep_has_every_model(site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MODELS_PER_PAGE", 2)
    keep_sweep(site.store, "s", LEARNED)
    first, second = client.get("/sweeps/1").text, client.get("/sweeps/1?page=2").text
    assert "page 1 of 2" in first
    assert "step-100" not in first.split("Models by suites", 1)[1]
    assert "step-100" in second.split("Models by suites", 1)[1]
    rows = client.get("/sweeps/1.json").json()
    assert [(row["model"], row["value"]) for row in rows] == [(model, right / 10) for model, right in LEARNED.items()]
    assert client.get("/sweeps/1.csv").text.count("\n") == 4


def test_curves_of_very_many_runs_are_drawn_when_the_page_is_there(
    site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_INLINE_RUNS", 2)
    keep_sweep(site.store, "s", LEARNED)
    page = client.get("/sweeps/1").text
    assert page.count('data-spec="/sweeps/1/figure/curve-') == 3
    assert client.get("/sweeps/1/figure/curve-0.vl.json").status_code == 200
    assert client.get("/sweeps/1/figure/curve-1.vl.json").json() == {"absent": "sweep-1-curve-1"}


def test_models_whose_names_tell_no_step_have_a_matrix_alone(site: Site, client: TestClient) -> None:
    keep_sweep(site.store, "s", {"causal:a": 5, "causal:b": 6})
    page = client.get("/sweeps/1").text
    assert "Learning curves" not in page
    assert "<strong>60.0" in page


def test_the_first_page_shows_a_sweep_as_one_line(site: Site, client: TestClient) -> None:
    keep_sweep(site.store, "over <b>training", LEARNED)
    page = client.get("/").text
    assert 'href="/sweeps/1"' in page
    assert "over &lt;b&gt;" in page
    assert "step-10" not in page
    assert '<a href="/sweeps/1">' in client.get("/sweeps").text


def test_what_is_not_there_has_a_page_that_says_so(client: TestClient) -> None:
    assert client.get("/sweeps/1").status_code == 404
    assert "There is none yet" in client.get("/sweeps").text


@pytest.mark.parametrize("size", [(1440, 900), (1024, 600), (390, 844)])
def test_the_head_of_the_table_hides_no_row(served: Any, new_context: Any, size: tuple[int, int]) -> None:
    keep_sweep(served.site.store, "s", {f"causal:x/step-{10 * step}": step % 10 for step in range(1, 30)})
    page = new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.goto("/sweeps/1")
    for down in (0, 300, 5000):
        page.evaluate(f"scrollTo(0, {down})")
        head, row = (
            page.locator(f"table.runs {part}").bounding_box() for part in ("thead th >> nth=1", "tbody tr >> nth=0")
        )
        assert head["y"] + head["height"] <= row["y"] + 1


def test_the_axis_of_a_sweep_is_called_by_its_unit_and_is_linear_or_logarithmic(site: Site, client: TestClient) -> None:
    keep_sweep(site.store, "s", {f"causal:x/epoch-{epoch}": epoch for epoch in (1, 2, 4, 8)})

    def axis(query: str) -> tuple[str, str]:
        x = client.get(f"/sweeps/1/figure/curve-0.vl.json{query}").json()["layer"][-1]["encoding"]["x"]
        return x["title"], x["scale"].get("type", "linear")

    assert axis("") == ("epoch", "linear")
    assert axis("?scale=log") == ("epoch", "log")
    assert axis("?scale=%3Cscript%3E") == ("epoch", "linear")
    assert "<option selected>linear</option>" in client.get("/sweeps/1").text
    assert 'curve-0.pdf?scale=log"' in client.get("/sweeps/1?scale=log").text


def test_a_sweep_of_minimal_pairs_has_a_line_at_chance(site: Site, client: TestClient) -> None:
    keep_sweep(site.store, "s", LEARNED)
    rule, label, *_ = client.get("/sweeps/1/figure/curve-0.vl.json").json()["layer"]
    assert rule["mark"] == {"style": "chance", "tooltip": None, "type": "rule"}
    assert label["data"]["values"] == [{"chance": 0.5, "text": "chance 50%"}]


def test_a_line_at_chance_is_drawn_for_the_suites_that_have_one(site: Site, client: TestClient) -> None:
    number = keep_sweep(site.store, "s", LEARNED)
    for run in site.store.runs():
        rows = outcomes({"all_predictions": [True, False]})
        site.store.add(run.id, result("gaps", run.model, rows, kind="syntaxgym"))
    rule, *_ = client.get(f"/sweeps/{number}/figure/curve-0.vl.json").json()["layer"]
    assert rule["mark"]["style"] == "chance"
    assert "The chance level is that of s." in client.get(f"/sweeps/{number}").text


def test_every_tick_of_a_logarithmic_axis_has_its_own_number(served: Any, page: Any) -> None:
    steps = {f"causal:x/step-{step}": right for right, step in enumerate((0, 100, 500, 1000, 8000))}
    keep_sweep(served.site.store, "s", steps)
    page.goto("/sweeps/1")
    page.wait_for_selector(".plot svg.marks")
    ticks = page.locator(".plot .role-axis-label").first.locator("text").all_text_contents()
    assert ticks[0] == "0"
    assert ticks[-1] == "8k"
    assert "0k" not in ticks
    assert len(set(ticks)) == len(ticks)


def test_the_axis_has_its_unit_a_logarithm_switch_and_a_line_at_chance(served: Any, page: Any) -> None:
    keep_sweep(served.site.store, "s", {f"causal:x/epoch-{epoch}": epoch for epoch in (1, 2, 4, 8)})
    page.goto("/sweeps/1")
    points = page.locator(".plot path[aria-roledescription='point']")

    def gaps() -> list[float]:
        expect(points).to_have_count(4)
        places = sorted(point.bounding_box()["x"] for point in points.all())
        return [after - before for before, after in pairwise(places)]

    first, _, last = gaps()
    assert last > 3 * first
    texts = page.locator(".plot svg.marks text").all_text_contents()
    assert "epoch" in texts
    assert "chance 50%" in texts
    page.select_option("select[name=scale]", "log")
    page.wait_for_url("**scale=log**")
    first, _, last = gaps()
    assert last == pytest.approx(first, abs=2)


def test_a_sweep_is_renamed_and_one_row_in_the_list_of_runs(served: Any, page: Any) -> None:
    keep_sweep(served.site.store, "s", LEARNED)
    page.goto("/runs")
    assert page.locator(".run-list tbody tr").count() == 1
    page.get_by_role("link", name="s (3 models)").click()
    page.get_by_text("Rename").click()
    page.get_by_label("Name").fill("agreement over training")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("agreement over training")
    # The command that resumes the sweep does not change its name.
    assert keep_sweep(served.site.store, "s", {}) == 1
    page.goto("/runs")
    page.get_by_label("sweep 1").check()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".notice.done")).to_contain_text("removed")
    assert served.site.store.runs() == []
