"""The pages of a result: its charts and its estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.views.numbers import shown
from wug.views.parts import Beside, Figure, Later, Other, Part, Table
from wug.web.downloads import figure_response, table_response
from wug.web.pages.run import ESTIMATE_COLUMNS
from wug.web.result_view import RelatedResult, ResultView, headline, load_result, related_results
from wug.web.site import Site, page_count, parse_page_number, site_of

SIDES = {"first": "first", "second": "second", "one": "both"}
ESTIMATES_PER_PAGE = 300


@dataclass(frozen=True, slots=True)
class ChartPair:
    """The charts of two results."""

    id: int
    """Id of the other result."""
    names: tuple[str, str]
    figures: Beside
    one: bool
    """Whether both are shown in one chart."""


def _result(request: Request) -> Response:
    site, view = _load(request)
    parts, related = view.parts, related_results(site, view)
    return site.render(
        request,
        "result.html",
        result_view=view,
        headline=headline(view.result),
        parts=parts,
        others=related,
        beside=_chart_pair(site, view, parts, related, request),
        file_name=view.file_name,
        tab="overview",
    )


def _numbers(request: Request) -> Response:
    site, view = _load(request)
    check = request.query_params.get("check", "")
    estimates = [one for one in view.result.estimates if not check or one.check == check]
    page = parse_page_number(request.query_params.get("page", ""))
    first = (page - 1) * ESTIMATES_PER_PAGE
    return site.render(
        request,
        "numbers.html",
        result_view=view,
        checks=list(dict.fromkeys(one.check for one in view.result.estimates)),
        selected_check=check,
        page=page,
        pages=page_count(len(estimates), ESTIMATES_PER_PAGE),
        rows=[shown(view.result, one) for one in estimates[first : first + ESTIMATES_PER_PAGE]],
        tab="numbers",
    )


def _table(request: Request) -> Response:
    _, view = _load(request)
    rows = ({"suite": view.result.suite, **asdict(one)} for one in view.result.estimates)
    return table_response(request.path_params["form"], view.file_name, ESTIMATE_COLUMNS, rows)


def _figure(request: Request) -> Response:
    site, view = _load(request)
    name, form, query = request.path_params["name"], request.path_params.get("form", "vl.json"), request.query_params
    part = _find_part(view, name)
    found: Part | None
    if query.get("item") and isinstance(part, Figure | Later) and part.alone is not None:
        found = part.alone(query["item"])
    elif query.get("with"):
        pair = _chart_pair(site, view, view.parts, related_results(site, view), request)
        found = None if pair is None else getattr(pair.figures, SIDES.get(query.get("as", ""), "both"))
    else:
        found = part.make() if isinstance(part, Later) else part
    figure = found if isinstance(found, Figure) else None
    return figure_response(figure, form, f"{view.file_name}-{name}", optional=isinstance(part, Later))


def _deferred_part(request: Request) -> Response:
    site, view = _load(request)
    part = _find_part(view, request.path_params["name"])
    if not isinstance(part, Later):
        raise HTTPException(404, "This result has no part of this name that is loaded later.")
    return site.render(request, "part.html", result_view=view, part=part.make())


ROUTES: list[BaseRoute] = [
    Route("/result/{result:number}", _result),
    Route("/result/{result:number}.{form}", _table),
    Route("/result/{result:number}/numbers", _numbers),
    Route("/result/{result:number}/figure/{name}.vl.json", _figure),
    Route("/result/{result:number}/figure/{name}.{form}", _figure),
    Route("/result/{result:number}/part/{name}", _deferred_part),
]


def _load(request: Request) -> tuple[Site, ResultView]:
    site = site_of(request)
    return site, load_result(site, request.path_params["result"])


def _chart_pair(
    site: Site, view: ResultView, parts: Sequence[Part], related: Sequence[RelatedResult], request: Request
) -> ChartPair | None:
    """The charts of this result and of the one that the URL adds; None if it names none."""
    wanted = request.query_params.get("with", "")
    named = next((one for one in related if str(one.id) == wanted), None)
    draw = next((part.beside for part in parts if isinstance(part, Figure) and part.beside), None)
    if named is None or draw is None:
        return None
    other = load_result(site, named.id)
    own = view.name if other.name != view.name else f"{view.name} (run {view.run.id})"
    figures = draw(own, Other(named.name, other.result, other.rows))
    return ChartPair(named.id, (own, named.name), figures, request.query_params.get("as") == "one")


def _find_part(view: ResultView, name: str) -> Part | None:
    return next((part for part in view.parts if isinstance(part, Figure | Table | Later) and part.id == name), None)
