"""A run, and a result: its charts, its numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.show.numbers import shown
from wug.show.view import Beside, Figure, Later, Other, Part, Table
from wug.web.downloads import figure_response, table
from wug.web.result_view import Look, Named, headline_of, look_at, others
from wug.web.site import Site, page_number

ESTIMATES = ("suite", "check", "group", "value", "low", "high", "method", "n")
SIDES = {"first": "first", "second": "second", "one": "both"}
NUMBERS = 300
"""Estimates on a page."""


def routes(site: Site) -> list[BaseRoute]:
    """The pages about a result."""

    def result(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        parts, choices = look.parts, others(site, look)
        return site.page(
            request,
            "result.html",
            look=look,
            headline=headline_of(look.result),
            parts=parts,
            others=choices,
            beside=_pair(site, look, parts, choices, request),
            file_name=look.file_name,
            tab="overview",
        )

    def numbers(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        wanted = request.query_params.get("check", "")
        rows = [e for e in look.result.estimates if not wanted or e.check == wanted]
        page = page_number(request.query_params.get("page", ""))
        return site.page(
            request,
            "numbers.html",
            look=look,
            checks=list(dict.fromkeys(e.check for e in look.result.estimates)),
            wanted=wanted,
            page=page,
            pages=max(1, -(-len(rows) // NUMBERS)),
            rows=[shown(look.result, e) for e in rows[(page - 1) * NUMBERS : page * NUMBERS]],
            tab="numbers",
        )

    def result_table(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        rows = ({"suite": look.result.suite, **asdict(e)} for e in look.result.estimates)
        return table(request.path_params["form"], look.file_name, ESTIMATES, rows)

    def figure(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        name, form = request.path_params["name"], request.path_params.get("form", "vl.json")
        part = _part(look, name)
        item = request.query_params.get("item")
        if item and isinstance(part, Figure | Later) and part.alone is not None:
            found: Part | None = part.alone(item)
        elif request.query_params.get("with"):
            pair = _pair(site, look, look.parts, others(site, look), request)
            which = request.query_params.get("as")
            found = None if pair is None else getattr(pair.figures, SIDES.get(which or "", "both"))
        else:
            found = part.make() if isinstance(part, Later) else part
        drawn = found if isinstance(found, Figure) else None
        return figure_response(drawn, form, f"{look.file_name}-{name}", may_lack=isinstance(part, Later))

    def fragment(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        part = _part(look, request.path_params["name"])
        if not isinstance(part, Later):
            raise HTTPException(404, "There is nothing of this name to read afterwards.")
        return site.page(request, "part.html", look=look, part=part.make())

    return [
        Route("/result/{result:number}", result),
        Route("/result/{result:number}.{form}", result_table),
        Route("/result/{result:number}/numbers", numbers),
        Route("/result/{result:number}/figure/{name}.vl.json", figure),
        Route("/result/{result:number}/figure/{name}.{form}", figure),
        Route("/result/{result:number}/part/{name}", fragment),
    ]


@dataclass(frozen=True, slots=True)
class Pair:
    """A chart of two results."""

    id: int
    """Of the other result."""
    names: tuple[str, str]
    figures: Beside
    one: bool
    """Whether both are wanted in one chart."""


def _pair(site: Site, look: Look, parts: list[Part], choices: list[Named], request: Request) -> Pair | None:
    """The chart of a result and the one that the address puts beside it; None where it names none."""
    wanted = request.query_params.get("with", "")
    named = next((one for one in choices if str(one.id) == wanted), None)
    draw = next((part.beside for part in parts if isinstance(part, Figure) and part.beside), None)
    if named is None or draw is None:
        return None
    other = look_at(site, named.id)
    own = look.name if other.name != look.name else f"{look.name} (run {look.run.id})"
    figures = draw(own, Other(named.name, other.result, other.rows))
    return Pair(named.id, (own, named.name), figures, request.query_params.get("as") == "one")


def _part(look: Look, name: str) -> Part | None:
    """The part of a result that is called so."""
    return next((part for part in look.parts if isinstance(part, Figure | Table | Later) and part.id == name), None)
