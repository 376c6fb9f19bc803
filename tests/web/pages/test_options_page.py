"""The page that shows both ways of counting the end of a word."""

from __future__ import annotations

from dataclasses import replace

from starlette.testclient import TestClient

import sample_results
from wug.outcomes import Result, Signature
from wug.web.site import Site


def counted(boundary: str | None, shift: float = 0.0) -> Result:
    """A result whose verbs are that many bits more surprising."""
    made = sample_results.syntaxgym(items=4)
    moved = [
        replace(outcome, detail={**outcome.detail, "conditions": _moved(outcome.detail["conditions"], shift)})
        if "conditions" in outcome.detail
        else outcome
        for outcome in made.outcomes
    ]
    way = f"|boundary:{boundary}" if boundary else ""
    return replace(made, signature=Signature.read(f"{made.signature}|bos:yes{way}"), outcomes=tuple(moved))


def _moved(conditions: dict, shift: float) -> dict:  # type: ignore[type-arg]
    return {
        name: {**one, "regions": [{**region, "value": region["value"] + shift} for region in one["regions"]]}
        for name, one in conditions.items()
    }


def test_both_values_stand_side_by_side(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, counted(None))
    sample_results.keep(site.store, counted("yes", shift=1.5))
    assert "/result/1/option/boundary" in client.get("/result/1").text
    for result in (1, 2):
        page = " ".join(client.get(f"/result/{result}/option/boundary").text.split())
        # The subject has 11 bits in each of the conditions, and 12.5 with the end of the word counted otherwise.
        row = '<th scope="row">1 subject</th><td>match</td><td class="num">11.00</td><td class="num">12.50</td>'
        assert row in page
        assert "To compare, run the same command" not in page


def test_where_only_one_was_asked_the_page_has_the_command_for_the_other(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, counted(None))
    sample_results.keep(
        site.store,
        replace(counted("yes"), signature=Signature.read("wug:0|suite:number_prep@other|bos:yes|boundary:yes")),
    )
    page = client.get("/result/1/option/boundary").text
    assert "-M boundary=yes</code>" in page
    assert page.count('scope="col" class="num"') == 2  # one column in each of the two tables


def test_other_families_and_models_have_no_such_page(client: TestClient, site: Site) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=4))
    assert client.get("/result/1/option/boundary").status_code == 404
