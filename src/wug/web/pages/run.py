"""A run: how far it is or how it ended, its results, its name and its note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.brief import short_names
from wug.errors import StoreError
from wug.runs import tidying
from wug.types import Result, Signature
from wug.web import drawing
from wug.web.grouping import by_group, suites_figure
from wug.web.listing import entry
from wug.web.looks import headline
from wug.web.rendering import Json
from wug.web.site import Site
from wug.web.tables import table

ESTIMATES = ("suite", "check", "group", "value", "low", "high", "method", "n")
FAILED = "failed: "
"""How the warning begins that says why a suite failed."""


def routes(site: Site) -> list[BaseRoute]:
    """The page about a run, its parts, and what is sent to name it."""

    def run(request: Request) -> Response:
        with site.shelf.snapshot():
            found = site.shelf.run(request.path_params["run"])
            kept = site.shelf.overview([found.id])
            results = [(one, headline(one)) for one in kept]
            heads = {one.id: site.shelf.head(one.id) for one in kept if not one.fault}
            state, going = site.shelf.state()
            return site.page(
                request,
                "run.html",
                run=found,
                entry=entry(found, short_names(one.model for one in site.shelf.runs())),
                results=results,
                figure=suites_figure(results),
                details=heads,
                failed=_failed({one.id: one.suite for one in kept if one.status == "failed" and not one.fault}, heads),
                editing="edit" in request.query_params,
                state=state,
                going=going,
            )

    async def change(request: Request) -> Response:
        given = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        number = request.path_params["run"]
        await run_in_threadpool(_change, site, number, given)
        return Json({"address": f"/run/{number}"})

    def figure(request: Request) -> Response:
        kept = site.shelf.overview([site.shelf.run(request.path_params["run"]).id])
        found = suites_figure([(one, headline(one)) for one in kept])
        return drawing.answer(found, request.path_params.get("form", "vl.json"), "suites")

    def groups(request: Request) -> Response:
        kept = site.shelf.overview([site.shelf.run(request.path_params["run"]).id])
        tables = [one for kept in kept if not kept.fault for one in by_group(kept.id, _result(site, kept.id))]
        return site.page(request, "groups.html", tables=tables)

    def rows(request: Request) -> Response:
        number = request.path_params["run"]
        site.shelf.run(number)
        return table(request.path_params["form"], f"run-{number}", ESTIMATES, _rows(site, number))

    return [
        Route("/run/{run:number}", run),
        Route("/run/{run:number}", change, methods=["POST"]),
        Route("/run/{run:number}.{form}", rows),
        Route("/run/{run:number}/groups", groups),
        Route("/run/{run:number}/figure.vl.json", figure),
        Route("/run/{run:number}/figure.{form}", figure),
    ]


def _change(site: Site, number: int, given: Mapping[str, list[str]]) -> None:
    """Give a run the name and the note that were sent."""
    run = site.shelf.run(number)
    with site.writable() as store:
        if "name" in given:
            tidying.rename(store, run, given["name"][0])
        if "note" in given:
            tidying.annotate(store, run, given["note"][0])


def _failed(suites: Mapping[int, str], heads: Mapping[int, Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """The suites of a run that failed: result, name, and what each said."""
    said = {number: [text for text in heads[number]["warnings"] if text.startswith(FAILED)] for number in suites}
    return [(number, name, "".join(said[number][-1:]).removeprefix(FAILED)) for number, name in suites.items()]


def _result(site: Site, number: int) -> Result:
    """A result, or an empty one in its place where its row is damaged."""
    try:
        return site.shelf.result(number)[0]
    except StoreError:
        return Result("", "", "", "failed", Signature(), 0, ())


def _rows(site: Site, number: int) -> Iterator[dict[str, Any]]:
    for kept in site.shelf.overview([number]):
        if not kept.fault:
            result, _ = site.shelf.result(kept.id)
            for estimate in result.estimates:
                yield {"suite": result.suite, **asdict(estimate)}
