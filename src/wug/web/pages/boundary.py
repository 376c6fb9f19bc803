"""A SyntaxGym result with the end of a word counted with that word, and with the next: both values side by side."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.show.families import Shown, bits
from wug.show.families.syntaxgym import region_means
from wug.types import Result
from wug.web.families import Look
from wug.web.families.syntaxgym import measured_items, region_names
from wug.web.pages.results import counts_of, look_at
from wug.web.shown import overall_shown
from wug.web.site import Site

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


def routes(site: Site) -> list[BaseRoute]:
    """The page."""

    def boundary(request: Request) -> Response:
        look = look_at(site, request)
        if look.result.kind != "syntaxgym" or not look.result.model.startswith("causal/"):
            raise HTTPException(404, "Only causal models can count the end of a word in more than one way.")
        names = region_names(look.result, measured_items(look))
        kept = site.shelf.otherwise(look.id, "boundary")
        ways = {value: _way(site, kept[value], name, names) for value, name in WAYS.items() if value in kept}
        places = sorted({place for way in ways.values() for place in way.means})
        return site.page(
            request,
            "boundary.html",
            look=look,
            result=look.result,
            run=look.run,
            counts=counts_of(look),
            ways=list(ways.values()),
            missing=[value for value in ("no", "yes") if value not in ways],
            checks=[row.check for row in overall_shown(look.result)],
            places=[(place, f"{place[0]} {names.get(place[0], '')}".strip(), place[1]) for place in places],
            tab="",
        )

    return [Route("/result/{result:number}/boundary", boundary)]


def _way(site: Site, result: int, name: str, names: dict[int, str]) -> Way:
    found: Result
    found, run = site.shelf.result(result)
    look = Look(result, found, run, site.shelf)
    means = region_means(measured_items(look).values(), names)
    return Way(
        name,
        look.address,
        {row.check: row for row in overall_shown(found)},
        {(mean.number, mean.condition): bits(mean.value) for mean in means},
    )
