"""Sweeps: all of them, and one as learning curves and as models by suites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, StoreError
from wug.runs.shelf import Run, Shelf, Summary
from wug.runs.sweep_curves import placed, sweep_curves
from wug.runs.sweeps import Member, Sweep, counts, members, sweeps
from wug.show.sweep import figures
from wug.show.view import Figure
from wug.web.downloads import figure_response, table
from wug.web.pages.runs.grid import Cell
from wug.web.result_view import headline
from wug.web.site import Site, address, page_number

ROWS, COLUMNS = 50, 24
"""Models and suites on a page."""
AT_ONCE = 300
"""Runs whose curves are made with the page; those of more are drawn when the page is there."""
PANELS = 3
"""Charts that such a page asks for; those that there are not are left out."""
VALUES = ("check", "value", "low", "high", "n")
TABLE = ("model", "run", "status", "suite", *VALUES, "result")


@dataclass(frozen=True, slots=True)
class Line:
    """A model of the matrix."""

    model: str
    run: Run | None
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Glance:
    """A sweep in a list."""

    sweep: Sweep
    status: Mapping[str, int]
    """How many models have a run of which status."""


def routes(site: Site) -> list[BaseRoute]:
    """The pages of sweeps."""

    def every(request: Request) -> Response:
        return site.page(request, "sweeps.html", glances=glances(site.shelf))

    def page(request: Request) -> Response:
        sweep = _sweep(site.shelf, request.path_params["number"])
        everyone = members(site.shelf, sweep)
        number, columns = (page_number(request.query_params.get(name, "")) for name in ("page", "columns"))
        pages, column_pages = (
            max(1, -(-len(some) // size)) for some, size in ((everyone, ROWS), (sweep.suites, COLUMNS))
        )
        number, columns = min(number, pages), min(columns, column_pages)
        suites = sweep.suites[(columns - 1) * COLUMNS : columns * COLUMNS]
        lines = list(_lines(site.shelf, everyone[(number - 1) * ROWS : number * ROWS], suites))
        by = request.query_params.get("by", "")
        return site.page(
            request,
            "sweep.html",
            sweep=sweep,
            tally=counts(everyone),
            suites=suites,
            lines=lines,
            number=number,
            pages=pages,
            columns=columns,
            column_pages=column_pages,
            link=lambda **changed: address(f"/sweeps/{sweep.id}", {**dict(request.query_params), **changed}),
            figures=_figures(site.shelf, sweep, everyone, by),
            by=by,
            fields=_fields(site.shelf, everyone),
        )

    def figure(request: Request) -> Response:
        sweep = _sweep(site.shelf, request.path_params["number"])
        name, form = request.path_params["name"], request.path_params.get("form", "vl.json")
        made = {one.id: one for one in _curves(site.shelf, sweep, request.query_params.get("by", ""))}
        return figure_response(made.get(name), form, name, may_lack=True)

    def rows(request: Request) -> Response:
        sweep = _sweep(site.shelf, request.path_params["number"])
        return table(request.path_params["form"], f"sweep-{sweep.id}", TABLE, _rows(site.shelf, sweep))

    return [
        Route("/sweeps", every),
        Route("/sweeps/{number:number}", page),
        Route("/sweeps/{number:number}/figure/{name}.vl.json", figure),
        Route("/sweeps/{number:number}/figure/{name}.{form}", figure),
        Route("/sweeps/{number:number}.{form}", rows),
    ]


def _pages(count: int, size: int) -> int:
    return max(1, -(-count // size))


def glances(shelf: Shelf) -> list[Glance]:
    """All sweeps, the latest first."""
    found: dict[int, dict[str, int]] = {}
    for row in shelf.each(
        "SELECT sweep, status, count(DISTINCT specification) AS models FROM runs"
        " WHERE sweep IS NOT NULL AND removed IS NULL GROUP BY sweep, status"
    ):
        found.setdefault(row["sweep"], {})[str(row["status"])] = row["models"]
    return [Glance(sweep, found.get(sweep.id, {})) for sweep in sweeps(shelf)]


def _sweep(shelf: Shelf, number: int) -> Sweep:
    for sweep in sweeps(shelf):
        if sweep.id == number:
            return sweep
    raise HTTPException(404, f"There is no sweep {number} in this store.")


def _lines(shelf: Shelf, some: list[Member], suites: tuple[str, ...]) -> Iterator[Line]:
    by_run = _summaries(shelf, some)
    for member in some:
        own = {} if member.run is None else by_run.get(member.run.id, {})
        cells = (own.get(suite) for suite in suites)
        yield Line(
            str(member.model),
            member.run,
            tuple(
                None if one is None else Cell(one.id, one.run, one.status, one.fault, headline(one)) for one in cells
            ),
        )


def _summaries(shelf: Shelf, some: list[Member]) -> dict[int, dict[str, Summary]]:
    found: dict[int, dict[str, Summary]] = {}
    numbers = [member.run.id for member in some if member.run is not None]
    for summary in shelf.overview(numbers) if numbers else ():
        found.setdefault(summary.run, {})[summary.suite] = summary
    return found


def _rows(shelf: Shelf, sweep: Sweep) -> Iterator[dict[str, Any]]:
    """A row for each model and suite, on all pages."""
    everyone = members(shelf, sweep)
    by_run = _summaries(shelf, everyone)
    for member in everyone:
        for kept in () if member.run is None else by_run.get(member.run.id, {}).values():
            shown = headline(kept)
            yield {
                "model": str(member.model),
                "run": kept.run,
                "status": kept.status,
                "suite": kept.suite,
                "result": kept.id,
                **({} if shown is None else {name: getattr(shown, name) for name in VALUES}),
            }


def _figures(shelf: Shelf, sweep: Sweep, everyone: list[Member], by: str) -> list[Any]:
    """The curves; of very many runs only where they are to be drawn."""
    runs = [member.run for member in everyone if member.run is not None]
    if len({place.step for place in placed(sweep, runs)}) < 2:
        return []
    if len(runs) <= AT_ONCE:
        return list(_curves(shelf, sweep, by))
    stub = {"title": "Over training", "note": "", "columns": (), "rows": ()}
    return [{"id": f"curve-{place}", **stub} for place in range(PANELS)]


def _curves(shelf: Shelf, sweep: Sweep, by: str) -> list[Figure]:
    try:
        return figures(sweep_curves(shelf, [sweep], by=by))
    except InputError:
        return []


def _fields(shelf: Shelf, everyone: list[Member]) -> list[str]:
    """What the first complete run's values are broken down by."""
    run = next((member.run for member in everyone if member.run and member.run.status == "complete"), None)
    try:
        results = [] if run is None else [stored.result for stored in shelf.stored(run.id)]
    except StoreError:
        results = []
    groups = (estimate.group.partition("=") for result in results for estimate in result.estimates)
    return list(dict.fromkeys(name for name, equals, _ in groups if equals))
