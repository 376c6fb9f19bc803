"""Every page of results, with an empty store, with one run of each family, with damaged rows."""

from __future__ import annotations

import csv
import html
import io
import re
import sqlite3
from contextlib import closing

import pytest
from starlette.testclient import TestClient

import sample_results
from wug.results.schema import INDEX, OUTCOMES
from wug.web.site import Site

LINK = re.compile(r'(?:href|data-spec|data-fragment)="(/[^"#]*)')
PICTURE = re.compile(r"/figure/\w+\.svg|\.(?:png|pdf)$")
# A text in a page has its < and > written as &lt; and &gt;, so this is an element that a name made.
LIVE = re.compile(r"<img src=x", re.IGNORECASE)


def crawl(client: TestClient, first: str = "/", most: int = 250) -> dict[str, str]:
    """Every page that can be reached, by its address; each answers, and none has a live hostile name in it.

    A separate process draws each picture, so one of each kind of chart is fetched, and one of each other format.
    """
    seen: dict[str, str] = {}
    drawn: set[str] = set()
    waiting = [first]
    while waiting and len(seen) < most:
        address = waiting.pop(0)
        if address in seen or address.startswith(("/static", "/assets", "/editor", "/sentence")):
            continue
        if picture := PICTURE.search(address):
            if picture[0] in drawn:
                continue
            drawn.add(picture[0])
        answer = client.get(address)
        assert answer.status_code == 200, (address, answer.text[-600:])
        seen[address] = answer.text
        if "text/html" in answer.headers["content-type"]:
            assert not LIVE.search(answer.text), address
            waiting += map(html.unescape, LINK.findall(answer.text))
    return seen


def test_an_empty_store_says_what_to_run_so_that_it_appears_on_this_page(client: TestClient, site: Site) -> None:
    page = client.get("/").text
    assert "No runs yet" in page
    assert f"wug run wug_syntaxgym --model causal:gpt2 --store {site.store.path}" in page


def test_the_page_of_a_suite_names_models_as_people_do(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(model="causal/EleutherAI/pythia-70m@607a30d783df"))
    page = client.get("/suite?name=reflexives").text
    assert '<a href="/result/1" title="causal/EleutherAI/pythia-70m@607a30d783df">pythia-70m</a>' in page


@pytest.mark.parametrize("address", ["/", "/compare", "/runs.csv", "/runs.json", "/state.json"])
def test_an_empty_store_answers_everywhere(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("address", ["/run/1", "/result/1", "/result/1/items", "/result/1/outcome/0", "/suite?name=x"])
def test_what_is_not_there_has_a_page_that_says_so(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert "All runs" in answer.text


def test_an_error_for_a_program_is_json(client: TestClient) -> None:
    answer = client.get("/result/7/figure/regions.vl.json")
    assert answer.status_code == 404
    assert "no result 7" in answer.json()["error"]


def test_every_link_of_every_family_answers(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, *sample_results.every())
    sample_results.keep(
        site.store, sample_results.syntaxgym(model="causal/other@1"), sample_results.pairs(model="causal/other@1")
    )
    seen = crawl(client)
    assert len(seen) > 150


def test_the_grid_shows_value_and_interval(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    page = client.get("/").text
    assert '<td class="value h4"><a href="/result/1" title="[30.0, 90.3] n 6\nitem 2' in page  # Wilson's, 4 of 6
    assert '">66.7<sup class="warned"' in page


def test_the_grid_as_csv_has_the_row_in_full(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    (row,) = csv.DictReader(io.StringIO(client.get("/runs.csv").text))
    assert row["suite"] == "number_prep"
    assert float(row["value"]) == pytest.approx(4 / 6)
    assert row["method"] == "wilson"


def test_the_grid_as_json_has_the_rows_that_the_page_is_filtered_to(client: TestClient, site: Site) -> None:
    sample_results.keep(
        site.store, sample_results.syntaxgym(), sample_results.pairs(items=8), command="wug run --model causal:one"
    )
    sample_results.keep(
        site.store, sample_results.pairs(items=8, model="causal/other@1"), command="wug run --model causal:two"
    )
    rows = client.get("/runs.json?q=one&kind=pairs").json()
    assert [(row["run"], row["suite"]) for row in rows] == [(1, "reflexives")]


def test_a_run_shows_command_signature_and_warnings(client: TestClient, site: Site) -> None:
    number = sample_results.keep(
        site.store, sample_results.syntaxgym(), command="wug run number_prep --model causal:gpt2"
    )
    page = client.get(f"/run/{number}").text
    assert "wug run number_prep --model causal:gpt2" in page
    assert "wug:0|suite:number_prep@1|unit:bits" in page
    assert "item 2 has a region with a trailing space" in page


def test_a_prediction_has_formula_english_and_counts(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    page = client.get("/result/1").text
    assert "(2;%mismatch%) &gt; (2;%match%)" in page
    assert "the verb is more surprising in mismatch than in match" in page
    assert "4 passing" in page
    assert "2 failing" in page


def test_the_region_chart_is_of_all_items_or_of_one(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    mean = client.get("/result/1/figure/regions.json").json()
    one = client.get("/result/1/figure/regions.json?item=3").json()
    assert {row["items"] for row in mean} == {6}
    assert {row["items"] for row in one} == {1}
    assert [row["bits"] for row in one if row["condition"] == "match"] == [11.0, 4.3]


def test_the_region_chart_of_many_items_is_deferred_and_that_of_one_item_is_not(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.families.syntaxgym.view.MANY", 5)
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    page = client.get("/result/1").text
    assert 'data-spec="/result/1/figure/regions.vl.json"' in page
    assert "The numbers of this chart" not in page
    assert {row["items"] for row in client.get("/result/1/figure/regions.json").json()} == {6}
    assert 'data-spec="/result/1/figure/regions.vl.json?item=2"' in client.get("/result/1/outcome/3").text
    assert {row["items"] for row in client.get("/result/1/figure/regions.json?item=2").json()} == {1}


def test_an_item_has_its_tokens_shaded(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    page = client.get("/result/1/outcome/1").text
    assert '<b class="s4" title="8.5">author</b>' in page


def test_failing_items_of_a_prediction_are_listed_alone(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    rows = client.get("/result/1/items.json?metric=prediction_0&value=false").json()
    assert [row["item"] for row in rows] == ["3", "6"]


def test_a_pair_has_its_difference_marked(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    page = client.get("/result/1/items").text
    assert "<ins>themselves</ins>" in page
    assert "<del>herself</del>" in page


def test_pairs_page_forth_and_back(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=120))
    first = client.get("/result/1/items").text
    forth = re.search(r'rel="next" href="([^"]+)"', first)
    assert forth
    second = client.get(html.unescape(forth[1])).text
    assert "themselves 50." in second.replace("<ins>", "").replace("</ins>", "")
    back = re.search(r'rel="prev" href="([^"]+)"', second)
    assert back
    assert "themselves 0." in client.get(html.unescape(back[1])).text.replace("<ins>", "").replace("</ins>", "")


def test_pairs_are_filtered_by_group(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=60))
    rows = client.get("/result/1/items.json?group=paradigm%3Dparadigm_1&value=false").json()
    assert [row["item"] for row in rows] == ["32", "36", "40", "44", "48", "52", "56"]


def test_pairs_are_found_by_a_word(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=60))
    assert [row["item"] for row in client.get("/result/1/items.json?q=HERSELF+41.").json()] == ["41"]


def test_words_of_a_pair_are_shaded_by_surprisal(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.words())
    page = client.get("/result/1/items").text
    assert '<b class="s5" title="10.1"><del>laugh</del></b>' in page  # 7 nats are 10.1 bits
    assert '<b class="sx" title="–">.</b>' in page
    assert "Bits of surprisal of each word:" in page


def test_a_pair_stands_with_its_scores_and_by_how_much_one_is_ahead(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    page = client.get("/result/1/items?value=false").text
    assert "Many girls insulted <del>herself</del> 0." in page
    assert "<span>by −1.50</span>" in page
    assert '<dd class="num">−20.50</dd>' in page
    assert '<svg class="margin"' in page
    assert "no token begins in the target" in client.get("/result/1/items?value=none").text


def test_what_became_of_the_pairs_is_counted_afterwards(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    assert 'data-fragment="/result/1/part/tally"' in client.get("/result/1").text
    counted = re.findall(r"<dt>(.+?)</dt><dd><strong>(\d+)</strong>", client.get("/result/1/part/tally").text)
    assert counted == [("not judged", "1")]


def test_localism_is_a_tree_with_the_first_divergence(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.localism())
    page = client.get("/result/1/items?value=false").text
    assert page.count("first wrong here") == 1
    assert "<b>reverse</b>" in page


def test_substitutivity_says_which_of_the_twins_is_right(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.substitutivity())
    assert "only the first is right" in client.get("/result/1/items?value=false").text


def test_how_whole_and_steps_go_together_is_read_afterwards(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.localism())
    page = client.get("/result/1").text
    assert 'data-fragment="/result/1/part/together"' in page
    assert "A step is right if its answer is the result of the function for the inputs" in page
    assert "not consistent, only the whole right" in client.get("/result/1/part/together").text
    single = client.get("/result/1/figure/single.json").json()
    assert [(row["function"], row["share of steps"]) for row in single] == [
        ("copy", 1.0),
        ("reverse", 0.5),
    ]


def test_cogs_differs_term_by_term(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.cogs())
    page = client.get("/result/1/items?value=false").text
    assert "wrong role" in page
    assert "<del>recipient</del>" in page


def test_cogs_errors_are_read_afterwards(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.cogs())
    assert 'data-fragment="/result/1/part/types-by-error"' in client.get("/result/1").text
    assert "Errors type by type" in client.get("/result/1/part/types-by-error").text


def test_two_runs_are_compared(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=60))
    sample_results.keep(site.store, sample_results.pairs(items=60, model="causal/other@1"))
    page = client.get("/compare?run=1&run=2").text
    assert "no difference shown" in page.lower()
    assert client.get("/compare.json?run=1&run=2").json()["contrasts"][0]["p"] == 1
    assert "\\toprule" in client.get("/compare.tex?run=1&run=2").text


def test_a_run_against_itself_is_refused_on_the_page(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    answer = client.get("/compare?run=1&run=1")
    assert answer.status_code == 400
    assert "is given twice" in answer.text


def test_a_running_run_is_described_by_the_small_state(client: TestClient, site: Site) -> None:
    before = client.get("/state.json").json()
    sample_results.keep(site.store, sample_results.pairs(items=8), status="running")
    after = client.get("/state.json").json()
    assert before["going"] is False
    assert after["going"] is True
    assert after["state"] != before["state"]


def test_a_damaged_row_does_not_take_the_page_down(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8), sample_results.syntaxgym())
    with closing(sqlite3.connect(site.store.path / INDEX)) as db, db:
        db.execute("UPDATE results SET summary = '{', estimates = '{\"', warnings = 'x' WHERE id = 1")
        (second,) = db.execute("SELECT file FROM results WHERE id = 2").fetchone()
    assert "damaged" in client.get("/").text
    assert "66.7" in client.get("/").text
    assert "damaged" in client.get("/run/1").text
    assert client.get("/result/1").status_code == 404
    assert "the store is damaged here" in client.get("/result/1").text
    (site.store.path / OUTCOMES / second).write_bytes(b"PAR1")
    assert "the store is damaged here" in client.get("/result/2/items?metric=prediction_0").text


def test_a_result_with_a_damaged_outcome_is_refused_by_every_page_of_it(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    (file,) = (site.store.path / OUTCOMES).iterdir()
    file.write_bytes(file.read_bytes().replace(b"paradigm", b"Paradigm", 1))
    for address in ("", "/items", "/items?group=paradigm%3Dparadigm_1", "/figure/margins.vl.json", "/items.csv"):
        said = client.get(f"/result/1{address}")
        assert said.status_code == 404
        assert "the checksum of its file outcomes/" in said.text


def test_odd_wishes_in_an_address_do_no_harm(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    for query in (
        "page=x",
        "page=999999999",
        "sort=nothing",
        "sort=-suite:reflexives",
        "columns=7",
        "kind=%00",
        "q=%25_'\"",
    ):
        assert client.get(f"/?{query}").status_code == 200
    for query in (
        "after=x",
        "after=-1",
        "before=0",
        "before=99999999999999999999",
        "value=7",
        "group=x",
        "group=a%22%3Db",
        "metric=no",
        "q=%25'",
    ):
        assert client.get(f"/result/1/items?{query}").status_code == 200
    assert client.get("/compare?run=x").status_code == 400


def test_a_learning_curve_is_drawn_for_checkpoints(client: TestClient, site: Site) -> None:
    for step in (10, 20):
        sample_results.keep(
            site.store,
            sample_results.pairs(items=8, model=f"causal/m-step{step}@1"),
            command=f"wug run p --model causal:m@step{step}",
        )
    assert "Learning curves" in client.get("/compare?run=1&run=2").text
    assert client.get("/compare/figure/curve-0.vl.json?run=1&run=2").status_code == 200


def test_a_chart_is_a_picture_too(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym())
    assert client.get("/result/1/figure/regions.svg").text.startswith("<svg")
    assert client.get("/result/1/figure/regions.png").content.startswith(b"\x89PNG")


def test_the_groups_of_a_run_are_read_afterwards(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=60))
    assert 'data-fragment="/run/1/groups"' in client.get("/run/1").text
    page = client.get("/run/1/groups").text
    assert "paradigm_<wbr/>1" in page
    assert "[57.9, 87.8]" in page  # 22 of 29 right: the last pair is not judged
