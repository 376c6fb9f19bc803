"""A SyntaxGym result with the end of a word counted with that word, and with the next: both values side by side."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.families.syntaxgym.view import MANY, counts_word_ends
from wug.families.syntaxgym.view.regions import measured, names_of, region_means
from wug.views.numbers import Shown, bits, headlines
from wug.web.result_view import load_result
from wug.web.site import Site, site_of

WAYS = {
    "no": "with the next word (default)",
    "yes": "with the word itself (boundary=yes)",
    "published": "as Pimentel & Meister's released code (boundary=published)",
}


@dataclass(frozen=True, slots=True)
class Way:
    """The same questions, the ends of words counted in one way."""

    name: str
    address: str
    overall: dict[str, Shown]
    """By check."""
    means: dict[tuple[int, str], str]
    """Mean surprisal in bits by region and condition."""


def _boundary(request: Request) -> Response:
    site = site_of(request)
    view = load_result(site, request.path_params["result"])
    if not counts_word_ends(view.result):
        raise HTTPException(404, "Only causal models can count the end of a word in more than one way.")
    kept = site.reader.otherwise(view.id, "boundary")
    ways = {value: _way(site, kept[value], name) for value, name in WAYS.items() if value in kept}
    places = sorted({place for way in ways.values() for place in way.means})
    names = names_of(view.result, ())
    return site.render(
        request,
        "boundary.html",
        result_view=view,
        ways=list(ways.values()),
        missing=[value for value in ("no", "yes") if value not in ways],
        checks=[row.check for row in headlines(view.result)],
        places=[(place, f"{place[0]} {names.get(place[0], '')}".strip(), place[1]) for place in places],
        tab="",
    )


ROUTES: list[BaseRoute] = [Route("/result/{result:number}/boundary", _boundary)]


def _way(site: Site, number: int, name: str) -> Way:
    view = load_result(site, number)
    means = region_means(measured(view.rows, most=MANY).values(), {})
    return Way(
        name,
        view.url,
        {row.check: row for row in headlines(view.result)},
        {(mean.number, mean.condition): bits(mean.value) for mean in means},
    )
