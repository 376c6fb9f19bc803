"""A run, and a result: its charts, its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import StoreError
from wug.show.families import Figure
from wug.types import Result, Signature
from wug.web import drawing
from wug.web.families import Look
from wug.web.grouping import by_group, suites_figure
from wug.web.rendering import own
from wug.web.shown import estimate_shown, headline, headline_of, overall_shown, page_family
from wug.web.site import Site
from wug.web.tables import table

ESTIMATES = ("suite", "check", "group", "value", "low", "high", "method", "n")
NUMBERS = 300
"""Estimates on a page."""


def routes(site: Site) -> list[BaseRoute]:
    """The pages about a run and its results."""

    def run(request: Request) -> Response:
        found = site.shelf.run(request.path_params["run"])
        kept = site.shelf.overview([found.id])
        results = [(one, headline(one)) for one in kept]
        state, going = site.shelf.state()
        return site.page(
            request,
            "run.html",
            run=found,
            results=results,
            figure=suites_figure(results),
            details=_details(site, [one.id for one in kept if not one.fault]),
            state=state,
            going=going,
        )

    def run_figure(request: Request) -> Response:
        kept = site.shelf.overview([site.shelf.run(request.path_params["run"]).id])
        found = suites_figure([(one, headline(one)) for one in kept])
        return drawing.answer(found, request.path_params.get("form", "vl.json"), "suites")

    def run_groups(request: Request) -> Response:
        kept = site.shelf.overview([site.shelf.run(request.path_params["run"]).id])
        tables = [one for kept in kept if not kept.fault for one in by_group(kept.id, _result(site, kept.id))]
        return site.page(request, "groups.html", tables=tables)

    def run_table(request: Request) -> Response:
        number = request.path_params["run"]
        site.shelf.run(number)
        return table(request.path_params["form"], f"run-{number}", ESTIMATES, _run_rows(site, number))

    def result(request: Request) -> Response:
        look = look_at(site, request)
        family = page_family(look.result.kind)
        figures: list[Figure] = family.figures(look, request.query_params)
        return site.page(
            request,
            "result.html",
            look=look,
            result=look.result,
            run=look.run,
            headline=headline_of(look.result),
            overall=overall_shown(look.result),
            figures=figures,
            later=_later(look),
            counts=counts_of(look),
            values=family.values(look),
            part=template_of("look", look.result.kind),
            tab="overview",
        )

    def numbers(request: Request) -> Response:
        look = look_at(site, request)
        wanted = request.query_params.get("check", "")
        rows = [e for e in look.result.estimates if not wanted or e.check == wanted]
        page = _number(request.query_params.get("page", ""))
        return site.page(
            request,
            "numbers.html",
            look=look,
            result=look.result,
            run=look.run,
            checks=list(dict.fromkeys(e.check for e in look.result.estimates)),
            wanted=wanted,
            page=page,
            pages=max(1, -(-len(rows) // NUMBERS)),
            rows=[estimate_shown(look.result, e) for e in rows[(page - 1) * NUMBERS : page * NUMBERS]],
            counts=counts_of(look),
            tab="numbers",
        )

    def result_table(request: Request) -> Response:
        look = look_at(site, request)
        rows = ({"suite": look.result.suite, **asdict(e)} for e in look.result.estimates)
        return table(request.path_params["form"], look.result.suite, ESTIMATES, rows)

    def figure(request: Request) -> Response:
        look = look_at(site, request)
        name, form = request.path_params["name"], request.path_params.get("form", "vl.json")
        family = page_family(look.result.kind)
        if name in family.LATER:
            found: Figure | None = family.later(look, name, request.query_params)
        else:
            made: list[Figure] = family.figures(look, request.query_params)
            found = next((one for one in made if one.id == f"f-{name}"), None)
        return drawing.answer(found, form, f"{look.result.suite}-{name}", may_lack=name in family.LATER)

    def fragment(request: Request) -> Response:
        look = look_at(site, request)
        family = page_family(look.result.kind)
        if not callable(getattr(family, "fragment", None)):
            raise HTTPException(404, "There is nothing to read afterwards for this family.")
        template = f"fragment_{look.result.kind}.html"
        return site.page(request, template, look=look, values=family.fragment(look))

    return [
        Route("/run/{run:number}", run),
        Route("/run/{run:number}.{form}", run_table),
        Route("/run/{run:number}/groups", run_groups),
        Route("/run/{run:number}/figure.vl.json", run_figure),
        Route("/run/{run:number}/figure.{form}", run_figure),
        Route("/result/{result:number}", result),
        Route("/result/{result:number}.{form}", result_table),
        Route("/result/{result:number}/numbers", numbers),
        Route("/result/{result:number}/figure/{name}.vl.json", figure),
        Route("/result/{result:number}/figure/{name}.{form}", figure),
        Route("/result/{result:number}/fragment", fragment),
    ]


def look_at(site: Site, request: Request) -> Look:
    """The result that an address names."""
    number = request.path_params["result"]
    result, run = site.shelf.result(number)
    return Look(number, result, run, site.shelf)


def _result(site: Site, number: int) -> Result:
    """A result, or an empty one in its place where its row is damaged."""
    try:
        return site.shelf.result(number)[0]
    except StoreError:
        return Result("", "", "", "failed", Signature(), 0, ())


def _details(site: Site, results: list[int]) -> dict[int, dict[str, Any]]:
    """Signature and warnings of each result; what cannot be read says so."""
    found: dict[int, dict[str, Any]] = {}
    for number in results:
        found[number] = site.shelf.head(number)
    return found


def _later(look: Look) -> list[tuple[str, str]]:
    """The charts that read outcomes, where there are any to read."""
    family = page_family(look.result.kind)
    if not family.LATER or not look.shelf.any_outcome(look.id):
        return []
    if look.result.kind == "pcfgset" and not family.values(look)["tree"]:
        return []
    return list(family.LATER.items())


def counts_of(look: Look) -> dict[str, int]:
    """How many items pass, fail and are not judged, by the check that stands for them."""
    return look.shelf.tally(look.id, page_family(look.result.kind).check(look))


def template_of(what: str, kind: str) -> str:
    """The family's own template, or the one for all others."""
    name = f"{what}_{kind}.html"
    return name if name in own() else f"{what}_other.html"


def _run_rows(site: Site, number: int) -> Iterator[dict[str, Any]]:
    for kept in site.shelf.overview([number]):
        if not kept.fault:
            result, _ = site.shelf.result(kept.id)
            for estimate in result.estimates:
                yield {"suite": result.suite, **asdict(estimate)}


def _number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1
