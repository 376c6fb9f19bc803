"""The first page: runs by suites, with intervals; and a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.runs.shelf import Run, Summary
from wug.web.grid import Grid, Wanted, choose, grid
from wug.web.looks import headline
from wug.web.site import Site
from wug.web.tables import table

NAV = ("Runs", "/", 0)
COLUMNS = (
    "run", "model", "status", "started", "suite", "kind", "check", "value", "low", "high", "method", "n", "result",
)  # fmt: skip


def routes(site: Site) -> list[BaseRoute]:
    """The first page and its table."""

    def home(request: Request) -> Response:
        wanted = Wanted.of(request.query_params)
        state, going = site.shelf.state()
        found = _grid(site, wanted)
        return site.page(
            request, "runs.html", grid=found, wanted=wanted, state=state, going=going, empty=state.startswith("0-")
        )

    def rows(request: Request) -> Response:
        wanted = Wanted.of(request.query_params)
        return table(request.path_params["form"], "runs", COLUMNS, _rows(site, wanted))

    return [Route("/", home), Route("/runs.{form}", rows)]


def _grid(site: Site, wanted: Wanted) -> Grid:
    return grid(site.shelf.runs(), site.shelf.overview(), wanted)


def _rows(site: Site, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """A row for each result that the filters let through, on all pages."""
    found = choose(site.shelf.runs(), site.shelf.overview(), wanted)
    for run in found.runs:
        own = found.by_run.get(run.id, {})
        for column in found.columns:
            if column.suite in own:
                yield _row(run, own[column.suite])


def _row(run: Run, kept: Summary) -> dict[str, Any]:
    shown = headline(kept)
    method = next((e.method for e in kept.estimates if shown and e.check == shown.check), None)
    value = {"check": shown.check, "value": shown.value, "low": shown.low, "high": shown.high} if shown else {}
    return {
        "run": run.id,
        "model": run.model,
        "status": kept.status,
        "started": run.started,
        "suite": kept.suite,
        "kind": kept.kind,
        "n": shown.n if shown else kept.n,
        "result": kept.id,
        "method": method,
        **value,
    }
