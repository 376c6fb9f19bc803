"""Items in an order that a reader chose."""

from __future__ import annotations

from starlette.testclient import TestClient

import sample_results
from wug.web.pages.items import neighbours, sorted_positions
from wug.web.site import Site, page_of

VALUES = [(0, 2.0), (1, None), (2, "b"), (3, 1.0), (4, 2.0), (5, "a")]


def test_numbers_come_before_texts_and_what_has_no_value_last() -> None:
    assert list(sorted_positions(VALUES, descending=False)) == [3, 0, 4, 5, 2, 1]
    assert list(sorted_positions(VALUES, descending=True)) == [0, 4, 3, 2, 5, 1]


def test_a_stretch_says_which_of_how_many_it_has() -> None:
    found = page_of(range(45), 3, 20)
    assert (list(found.rows), found.first, found.last, found.total, found.pages) == ([*range(40, 45)], 41, 45, 45, 3)
    assert page_of(range(45), 99, 20).page == 3
    assert page_of([], 1, 20).total == 0


def test_neighbours_are_those_of_the_order() -> None:
    assert neighbours([4, 2, 9], 2) == (4, 9)
    assert neighbours([4, 2, 9], 4) == (None, 2)
    assert neighbours([4, 2, 9], 7) == (None, None)


def test_an_item_is_found_by_its_name(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=16))
    page = client.get("/result/1/item/16")
    assert page.status_code == 200
    assert "<strong>16</strong>" in page.text
    assert {row["item"] for row in client.get("/result/1/item/16.json").json()} == {"16"}
    assert client.get("/result/1/item/17").status_code == 404
    assert client.get("/result/1/item/").status_code == 404


def test_an_item_with_a_single_outcome_is_found_by_its_name(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=17))
    assert [row["item"] for row in client.get("/result/1/item/16.json").json()] == ["16"]
    assert client.get("/result/1/item/17").status_code == 404


def items(client: TestClient, sort: str) -> list[str]:
    return [row["item"] for row in client.get(f"/result/1/items.json?sort={sort}").json()]


def test_regions_are_sorted_by_margin_surprisal_and_length(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.syntaxgym(items=6))
    # Margins are 5.5 bits but for items 3 and 6: 3 − 4.3 and 3 − 4.6.
    assert items(client, "margin")[:2] == ["6", "3"]
    assert items(client, "-margin")[-2:] == ["3", "6"]
    # Both conditions have 35.5 bits and two tenths more for each item; items 3 and 6 are some six bits below that.
    assert items(client, "-surprisal") == ["5", "4", "2", "1", "6", "3"]
    assert items(client, "length") == ["1", "2", "3", "4", "5", "6"]


def test_pairs_are_sorted_by_what_they_carry_and_by_group(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    assert items(client, "logprob_good")[:1] == ["6"]  # −26.5
    assert items(client, "group:paradigm") == [str(number) for number in range(8)]
    assert items(client, "-group:paradigm") == ["4", "5", "6", "7", "0", "1", "2", "3"]
    assert items(client, "no_such_order") == [str(number) for number in range(8)]


def test_a_pair_is_a_suite_of_two_conditions_for_the_editor(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8))
    suite = client.get("/result/1/outcome/0/suite.json").json()
    contents = {
        one["condition_name"]: [region["content"] for region in one["regions"]]
        for one in suite["items"][0]["conditions"]
    }
    assert contents == {
        "grammatical": ["Many girls insulted", "themselves", "0."],
        "ungrammatical": ["Many girls insulted", "herself", "0."],
    }
    assert suite["predictions"] == [{"type": "formula", "formula": "(*;%ungrammatical%) > (*;%grammatical%)"}]


def test_an_item_without_sentences_is_no_suite(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.localism())
    assert client.get("/result/1/outcome/0/suite.json").status_code == 404
