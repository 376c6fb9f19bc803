"""A run: how far it is or how it ended, its results, its name and its note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.brief import short_names
from wug.errors import StoreError
from wug.runs import tidying
from wug.runs.shelf import Summary
from wug.show import charts
from wug.show.grouped import best_first, in_order, point, record
from wug.show.numbers import Shown, shown
from wug.show.view import Figure
from wug.types import Result, Signature
from wug.web.downloads import figure_response, table
from wug.web.pages.runs.run_list import entry
from wug.web.result_view import headline
from wug.web.site import Site
from wug.web.templating import Json

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
        return figure_response(found, request.path_params.get("form", "vl.json"), "suites")

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


GROUPS = 24
"""Groups of a field that a table shows; a field with more has its chart on the result's page."""
FIELDS = 2
"""Fields of a result that are shown."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """A result's headline by one field."""

    result: int
    suite: str
    field: str
    rows: tuple[Shown, ...]


def by_group(number: int, result: Result) -> Iterator[Grouped]:
    """The headline of a result by the first fields that it is broken down by."""
    check = None if result.headline is None else result.headline.check
    fields: dict[str, list[Shown]] = {}
    for estimate in result.estimates:
        field, equals, value = estimate.group.partition("=")
        if estimate.check == check and equals and field not in ("circuit", "macro"):
            fields.setdefault(field, []).append(replace(shown(result, estimate), group=value))
    fitting = [(field, rows) for field, rows in fields.items() if 1 < len(rows) <= GROUPS]
    for field, rows in fitting[:FIELDS]:
        yield Grouped(number, result.suite, field, tuple(best_first(in_order(rows))))


SUITES = 100
"""Suites that the chart of a run holds."""


def suites_figure(results: Sequence[tuple[Summary, Shown | None]]) -> Figure | None:
    """The headline of every suite that is a share, circuit by circuit; None where there is one alone."""
    shares = [(kept, row) for kept, row in results if row is not None and row.share][:SUITES]
    if len(shares) < 2:
        return None
    grouped = sorted(shares, key=lambda pair: not pair[0].circuit)
    points = [point(row, name=kept.suite, group=kept.circuit or kept.kind) for kept, row in grouped]
    return Figure(
        id="suites",
        draw=partial(charts.accuracy, points),
        title="Every suite",
        note="The headline of each suite with its 95 % interval.",
        columns=("suite", "family", "check", "value", "interval", "n"),
        rows=tuple((k.suite, k.kind, s.name, s.text, s.interval, f"{s.n:,}") for k, s in grouped),
        records=tuple(
            {"suite": k.suite, "family": k.kind, "check": s.check, **record(point(s), "value")} for k, s in grouped
        ),
    )
