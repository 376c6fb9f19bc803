"""Models compared: every model on one suite, and two runs or more item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, StoreError, UnknownName
from wug.runs.compare import Choice, Comparison, compare
from wug.runs.learning import learning_curves
from wug.runs.shelf import Summary
from wug.show import charts
from wug.show.comparison import FORMATS, side_names
from wug.show.comparison_section import compared
from wug.show.grouped import point
from wug.show.learning import figures as curve_figures
from wug.show.numbers import Shown
from wug.show.view import Figure
from wug.web.downloads import figure_response, table
from wug.web.pages.compare.options import Offers, Side
from wug.web.result_view import headline
from wug.web.site import Site, page_number

NAV = ("Compare", "/compare", 10)
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "tex": "text/plain", "md": "text/plain"}
ITEMS, PAGE = 20, 50
"""Items on which models disagree that each contrast lists, and that the page of all of them has at a time."""
CURVES = 8
"""Suites whose learning curves are drawn; another is drawn when it is chosen."""
COLUMNS = ("run", "model", "status", "check", "value", "low", "high", "n", "result")


@dataclass(frozen=True, slots=True)
class Standing:
    """A model on a suite."""

    kept: Summary
    shown: Shown


def routes(site: Site) -> list[BaseRoute]:
    """The pages that compare."""

    def page(request: Request) -> Response:
        query = request.query_params
        offers = Offers(site, query.get("suite", ""))
        sides = offers.sides(query)
        context: dict[str, Any] = {
            "offers": offers,
            "sides": sides,
            "pooling": offers.pooling(sides, query),
            "section": None,
            "curves": [],
            "fault": "",
        }
        if len(sides) > 1:
            try:
                found = _compared(site, request, sides)
                context |= {
                    "section": compared(found),
                    "sides_named": found.sides,
                    "short": side_names(found),
                    "curves": _curves(site, request, sides),
                }
            except (InputError, StoreError) as error:
                context["fault"] = str(error)
        return site.page(request, "compare.html", status=400 if context["fault"] else 200, asked=query, **context)

    def differing(request: Request) -> Response:
        query = request.query_params
        number = page_number(query.get("page", ""))
        sides = Offers(site).sides(query)
        suites, checks = ([escape(query.get(name, ""))] for name in ("suite", "check"))
        with site.writable() as store:
            choice = Choice(suites, checks, items=PAGE, skip=(number - 1) * PAGE)
            found = compare(store, [side.compared for side in sides], choice)
        return site.page(
            request,
            "compare_items.html",
            couple=compared(found).couples[0],
            row=compared(found).couples[0].rows[0],
            page=number,
            size=PAGE,
            asked=query,
            sides=sides,
        )

    def as_text(request: Request) -> Response:
        form = request.path_params["form"]
        if form not in TYPES:
            raise HTTPException(404, f"There is no comparison as {form!r}, only as {', '.join(TYPES)}.")
        found = _compared(site, request, Offers(site).sides(request.query_params))
        return PlainTextResponse(FORMATS["latex" if form == "tex" else form](found) + "\n", media_type=TYPES[form])

    def figure(request: Request) -> Response:
        name, form = request.path_params["name"], request.path_params.get("form", "vl.json")
        sides = Offers(site).sides(request.query_params)
        made: Sequence[Figure] = ()
        if name.startswith("compared-"):
            made = compared(_compared(site, request, sides)).figures
        elif name.startswith("curve-"):
            return figure_response(dict(_curves(site, request, sides)).get(name), form, name)
        return figure_response(next((one for one in made if one.id == name), None), form, name)

    def suite(request: Request) -> Response:
        name = request.query_params.get("name", "")
        rows = _standings(site, name)
        if not rows:
            raise HTTPException(404, f"No run has a suite called {name!r}.")
        return site.page(request, "suite.html", name=name, rows=rows, figure=_dots(name, rows))

    def suite_rows(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return table(request.path_params["form"], name, COLUMNS, _rows(_standings(site, name)))

    def suite_figure(request: Request) -> Response:
        name = request.query_params.get("name", "")
        rows = _standings(site, name)
        return figure_response(_dots(name, rows) if rows else None, request.path_params.get("form", "vl.json"), name)

    return [
        Route("/compare", page),
        Route("/compare/items", differing),
        Route("/compare/figure/{name}.vl.json", figure),
        Route("/compare/figure/{name}.{form}", figure),
        Route("/compare.{form}", as_text),
        Route("/suite", suite),
        Route("/suite.{form}", suite_rows),
        Route("/suite/figure.vl.json", suite_figure),
        Route("/suite/figure.{form}", suite_figure),
    ]


def _compared(site: Site, request: Request, sides: Sequence[Side]) -> Comparison:
    query = request.query_params
    choice = Choice(
        suites=[name for name in query.getlist("suite") if name],
        checks=[name for name in query.getlist("check") if name],
        all_pairs=query.get("pairs") == "all",
        pool=query.get("pool") == "yes",
        items=ITEMS,
    )
    with site.writable() as store:
        return compare(store, [side.compared for side in sides], choice)


def _curves(site: Site, request: Request, sides: Sequence[Side]) -> list[tuple[str, Figure]]:
    """A chart a suite with the curves of all models, where runs are checkpoints whose names tell their steps."""
    wanted = [name for name in request.query_params.getlist("suite") if name]
    numbers = list(dict.fromkeys(number for side in sides for number in side.runs))
    try:
        with site.writable() as store:
            found = learning_curves(store, numbers, suites=wanted)
    except (InputError, UnknownName):
        return []
    suites = list(dict.fromkeys(curve.suite for curve in found.curves))
    figures: list[Figure] = []
    for suite in suites[:CURVES]:
        own = replace(found, curves=tuple(curve for curve in found.curves if curve.suite == suite))
        figures += (replace(figure, title=f"{suite} over training") for figure in curve_figures(own))
    return [(f"curve-{place}", replace(figure, id=f"curve-{place}")) for place, figure in enumerate(figures)]


def _standings(site: Site, suite: str) -> list[Standing]:
    """Every model on a suite, the best first."""
    found = [kept for kept in site.shelf.overview() if kept.suite == suite and not kept.fault]
    rows = [Standing(kept, shown) for kept in found if (shown := headline(kept)) is not None]
    return sorted(rows, key=lambda row: -row.shown.value)


def _dots(suite: str, rows: Sequence[Standing]) -> Figure:
    several = len({row.kept.model for row in rows}) < len(rows)
    shown = rows[:60]
    points = [
        point(row.shown, name=f"{row.kept.model} (run {row.kept.run})" if several else row.kept.model) for row in shown
    ]
    share = all(row.shown.share for row in shown)
    more = f" The first {len(shown)} of {len(rows)}." if len(shown) < len(rows) else ""
    return Figure(
        id="suite",
        draw=partial(charts.intervals, points, title=rows[0].shown.name, share=share),
        title=f"Every model on {suite}",
        note=f"{rows[0].shown.name.capitalize()} with 95 % intervals, the best first.{more}",
        columns=COLUMNS[:8],
        rows=tuple(tuple(str(row.get(name, "")) for name in COLUMNS[:8]) for row in _rows(shown)),
        records=tuple(_rows(shown)),
    )


def _rows(rows: Sequence[Standing]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "run": row.kept.run,
            "model": row.kept.model,
            "status": row.kept.status,
            "check": row.shown.check,
            "value": row.shown.value,
            "low": row.shown.low,
            "high": row.shown.high,
            "n": row.shown.n,
            "result": row.kept.id,
        }
