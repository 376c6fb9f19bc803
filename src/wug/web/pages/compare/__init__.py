"""Comparison of runs item by item, and all models on one suite."""

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
from wug.results.comparison import Choice, Comparison, compare
from wug.results.learning_curves import learning_curves
from wug.results.reader import Summary
from wug.views import charts
from wug.views.comparison import FORMATS, side_names
from wug.views.comparison_section import compared
from wug.views.grouped import point
from wug.views.learning_curves import figures as curve_figures
from wug.views.numbers import Shown
from wug.views.parts import Figure
from wug.web.downloads import figure_response, table_response
from wug.web.pages.compare.options import ComparisonOptions, ComparisonSide
from wug.web.result_view import summary_headline
from wug.web.site import parse_page_number, site_of

NAV = ("Compare", "/compare", 10)
TEXT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "tex": "text/plain", "md": "text/plain"}
MAX_CONTRAST_ITEMS = 20
"""Differing items listed per contrast."""
ITEMS_PER_PAGE = 50
"""Differing items per page of all of them."""
MAX_CURVE_SUITES = 8
"""Suites whose learning curves are drawn; the user can choose another."""
MAX_RANKED_MODELS = 60
COLUMNS = ("run", "model", "status", "check", "value", "low", "high", "n", "result")


@dataclass(frozen=True, slots=True)
class RankedResult:
    """The result of a model on a suite."""

    kept: Summary
    shown: Shown


def _page(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    options = ComparisonOptions(site, query.get("suite", ""))
    sides = options.sides(query)
    context: dict[str, Any] = {
        "options": options,
        "sides": sides,
        "pooling_links": options.pooling_links(sides, query),
        "section": None,
        "curves": [],
        "fault": "",
    }
    if len(sides) > 1:
        try:
            found = _comparison(request, sides)
            context |= {
                "section": compared(found),
                "sides_named": found.sides,
                "short": side_names(found),
                "curves": _learning_curves(request, sides),
            }
        except (InputError, StoreError) as error:
            context["fault"] = str(error)
    return site.render(request, "compare.html", status=400 if context["fault"] else 200, asked=query, **context)


def _differing_items(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    page = parse_page_number(query.get("page", ""))
    sides = ComparisonOptions(site).sides(query)
    suites, checks = ([escape(query.get(name, ""))] for name in ("suite", "check"))
    with site.open_store() as store:
        choice = Choice(suites, checks, items=ITEMS_PER_PAGE, skip=(page - 1) * ITEMS_PER_PAGE)
        found = compare(store, [side.compared_runs for side in sides], choice)
    couple = compared(found).couples[0]
    return site.render(
        request,
        "compare_items.html",
        couple=couple,
        row=couple.rows[0],
        page=page,
        size=ITEMS_PER_PAGE,
        asked=query,
        sides=sides,
    )


def _text(request: Request) -> Response:
    form = request.path_params["form"]
    if form not in TEXT_TYPES:
        raise HTTPException(404, f"A comparison is available as {', '.join(TEXT_TYPES)}, not as {form!r}.")
    found = _comparison(request, ComparisonOptions(site_of(request)).sides(request.query_params))
    return PlainTextResponse(FORMATS["latex" if form == "tex" else form](found) + "\n", media_type=TEXT_TYPES[form])


def _figure(request: Request) -> Response:
    name, form = request.path_params["name"], request.path_params.get("form", "vl.json")
    sides = ComparisonOptions(site_of(request)).sides(request.query_params)
    figures: Sequence[Figure] = ()
    if name.startswith("compared-"):
        figures = compared(_comparison(request, sides)).figures
    elif name.startswith("curve-"):
        figures = _learning_curves(request, sides)
    return figure_response(next((one for one in figures if one.id == name), None), form, name)


def _suite(request: Request) -> Response:
    name, rows = _ranking(request)
    if not rows:
        raise HTTPException(404, f"No run has a suite called {name!r}.")
    return site_of(request).render(request, "suite.html", name=name, rows=rows, figure=_ranking_figure(name, rows))


def _suite_table(request: Request) -> Response:
    name, rows = _ranking(request)
    return table_response(request.path_params["form"], name, COLUMNS, _table_rows(rows))


def _suite_figure(request: Request) -> Response:
    name, rows = _ranking(request)
    figure = _ranking_figure(name, rows) if rows else None
    return figure_response(figure, request.path_params.get("form", "vl.json"), name)


ROUTES: list[BaseRoute] = [
    Route("/compare", _page),
    Route("/compare/items", _differing_items),
    Route("/compare/figure/{name}.vl.json", _figure),
    Route("/compare/figure/{name}.{form}", _figure),
    Route("/compare.{form}", _text),
    Route("/suite", _suite),
    Route("/suite.{form}", _suite_table),
    Route("/suite/figure.vl.json", _suite_figure),
    Route("/suite/figure.{form}", _suite_figure),
]


def _comparison(request: Request, sides: Sequence[ComparisonSide]) -> Comparison:
    query = request.query_params
    choice = Choice(
        suites=[name for name in query.getlist("suite") if name],
        checks=[name for name in query.getlist("check") if name],
        all_pairs=query.get("pairs") == "all",
        pool=query.get("pool") == "yes",
        items=MAX_CONTRAST_ITEMS,
    )
    with site_of(request).open_store() as store:
        return compare(store, [side.compared_runs for side in sides], choice)


def _learning_curves(request: Request, sides: Sequence[ComparisonSide]) -> list[Figure]:
    """One chart per suite with the curves of all models, if the runs are checkpoints with known steps."""
    wanted = [name for name in request.query_params.getlist("suite") if name]
    runs = list(dict.fromkeys(run for side in sides for run in side.runs))
    try:
        with site_of(request).open_store() as store:
            found = learning_curves(store, runs, suites=wanted)
    except (InputError, UnknownName):
        return []
    suites = list(dict.fromkeys(curve.suite for curve in found.curves))
    figures: list[Figure] = []
    for suite in suites[:MAX_CURVE_SUITES]:
        own = replace(found, curves=tuple(curve for curve in found.curves if curve.suite == suite))
        figures += (replace(figure, title=f"{suite} over training") for figure in curve_figures(own))
    return [replace(figure, id=f"curve-{number}") for number, figure in enumerate(figures)]


def _ranking(request: Request) -> tuple[str, list[RankedResult]]:
    """The suite in the query, and every model's result on it, best first."""
    suite = request.query_params.get("name", "")
    found = [kept for kept in site_of(request).reader.overview() if kept.suite == suite and not kept.fault]
    rows = [RankedResult(kept, shown) for kept in found if (shown := summary_headline(kept)) is not None]
    return suite, sorted(rows, key=lambda row: -row.shown.value)


def _ranking_figure(suite: str, rows: Sequence[RankedResult]) -> Figure:
    repeated = len({row.kept.model for row in rows}) < len(rows)
    shown = rows[:MAX_RANKED_MODELS]
    points = [
        point(row.shown, name=f"{row.kept.model} (run {row.kept.run})" if repeated else row.kept.model) for row in shown
    ]
    share = all(row.shown.share for row in shown)
    more = f" The first {len(shown)} of {len(rows)}." if len(shown) < len(rows) else ""
    return Figure(
        id="suite",
        draw=partial(charts.intervals, points, title=rows[0].shown.name, share=share),
        title=f"Every model on {suite}",
        note=f"{rows[0].shown.name.capitalize()} with 95% intervals, the best first.{more}",
        columns=COLUMNS[:8],
        rows=tuple(tuple(str(row.get(name, "")) for name in COLUMNS[:8]) for row in _table_rows(shown)),
        records=tuple(_table_rows(shown)),
    )


def _table_rows(rows: Sequence[RankedResult]) -> Iterator[dict[str, Any]]:
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
