"""The pages of a result: its charts, its estimates, and its variants by option of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.formatting import FormattedEstimate, format_estimate, headline_estimate, headlines, spaced_name
from wug.identity import Group
from wug.labels import caption
from wug.outcomes import Result
from wug.views import charts
from wug.views.family_views import intro_of
from wug.views.parts import DeferredPart, Figure, FigurePair, OtherResult, TablePart, ViewPart
from wug.web.downloads import estimates_response, figure_response
from wug.web.result_view import RelatedResult, ResultView, load_result, related_results, result_of
from wug.web.site import Site, page_of, parse_page_number

SIDES = {"first": "first", "second": "second", "one": "both"}
ESTIMATES_PER_PAGE = 300


class ChartPair(NamedTuple):
    """The charts of two results."""

    id: int
    """Id of the other result."""
    names: tuple[str, str]
    figures: FigurePair
    in_one_chart: bool


class OptionVariant(NamedTuple):
    """The result with one value of the option."""

    label: str
    url: str
    headlines: Mapping[str, FormattedEstimate]
    """By metric."""
    table_rows: Mapping[tuple[str, ...], str]


def _result(request: Request) -> Response:
    site, view = result_of(request)
    parts, related = view.parts, related_results(site, view)
    return site.render(
        request,
        "result.html",
        result_view=view,
        headline=headline_estimate(view.result),
        intro=intro_of(view.result, view.rows, view.items),
        parts=parts,
        others=related,
        chart_pair=_chart_pair(site, view, parts, related, request),
        tab="overview",
    )


def _numbers(request: Request) -> Response:
    site, view = result_of(request)
    metric = request.query_params.get("metric", "")
    estimates = [estimate for estimate in view.result.estimates if not metric or estimate.metric == metric]
    page = page_of(estimates, parse_page_number(request.query_params.get("page", "")), ESTIMATES_PER_PAGE)
    return site.render(
        request,
        "numbers.html",
        result_view=view,
        metrics=list(dict.fromkeys(estimate.metric for estimate in view.result.estimates)),
        selected_metric=metric,
        page=page.page,
        pages=page.pages,
        rows=[format_estimate(view.result, estimate) for estimate in page.rows],
        tab="numbers",
    )


def _table(request: Request) -> Response:
    view = result_of(request)[1]
    return estimates_response(request.path_params["suffix"], view.file_name, [view.result])


def _figure(request: Request) -> Response:
    site, view = result_of(request)
    name, query = request.path_params["name"], request.query_params
    part = _find_part(view, name)
    names: tuple[str, ...] = (view.name,)
    selected_part: ViewPart | None
    if query.get("item") and isinstance(part, Figure | DeferredPart) and part.item_figure is not None:
        selected_part = part.item_figure(query["item"])
    elif query.get("with"):
        pair = _chart_pair(site, view, view.parts, related_results(site, view), request)
        side = SIDES.get(query.get("as", ""), "both")
        selected_part = None if pair is None else getattr(pair.figures, side)
        if pair is not None:
            names = pair.names if side == "both" else (pair.names[side == "second"],)
    else:
        selected_part = part.make() if isinstance(part, DeferredPart) else part
    figure = selected_part if isinstance(selected_part, Figure) else None
    about = caption([view.result.suite], names, None if query.get("item") else view.result.n)
    return figure_response(
        figure,
        request.path_params.get("suffix", "vl.json"),
        f"{view.file_name}-{name}",
        about=about,
        groups=_groups_of(view.result, figure) if figure else None,
        is_optional=isinstance(part, DeferredPart),
    )


def _deferred_part(request: Request) -> Response:
    site, view = result_of(request)
    part = _find_part(view, request.path_params["name"])
    if not isinstance(part, DeferredPart):
        raise HTTPException(404, "This result has no part of this name that is loaded later.")
    return site.render(request, "part.html", result_view=view, part=part.make())


def _option(request: Request) -> Response:
    site, view = result_of(request)
    page = next((page for page in view.option_pages if page.option == request.path_params["option"]), None)
    if page is None:
        raise HTTPException(404, "Results of this model and suite have no such option.")
    results = site.reader.variants_by_option(view.id, page.option)
    variants = []
    for value, label in page.values.items():
        if value in results:
            variant = load_result(site, results[value])
            by_metric = {row.metric: row for row in headlines(variant.result)}
            table_rows = page.table_rows(variant.result, variant.rows)
            variants.append(OptionVariant(label, variant.url, by_metric, table_rows))
    return site.render(
        request,
        "option.html",
        result_view=view,
        page=page,
        variants=variants,
        missing=next((value for value in page.values if value not in results), None) if len(variants) < 2 else None,
        metrics=[row.metric for row in headlines(view.result)],
        rows=list(dict.fromkeys(row for variant in variants for row in variant.table_rows)),
        tab="",
    )


ROUTES: list[BaseRoute] = [
    Route("/result/{result:number}", _result),
    Route("/result/{result:number}.{suffix}", _table),
    Route("/result/{result:number}/numbers", _numbers),
    Route("/result/{result:number}/figure/{name}.vl.json", _figure),
    Route("/result/{result:number}/figure/{name}.{suffix}", _figure),
    Route("/result/{result:number}/part/{name}", _deferred_part),
    Route("/result/{result:number}/option/{option}", _option),
]


def _chart_pair(
    site: Site, view: ResultView, parts: Sequence[ViewPart], related: Sequence[RelatedResult], request: Request
) -> ChartPair | None:
    """The charts of this result and of the one that the URL adds; None if it names none."""
    sibling_id = request.query_params.get("with", "")
    sibling = next((sibling for sibling in related if str(sibling.id) == sibling_id), None)
    draw = next((part.pair for part in parts if isinstance(part, Figure) and part.pair), None)
    if sibling is None or draw is None:
        return None
    other_view = load_result(site, sibling.id)
    label = view.name if other_view.name != view.name else f"{view.name} (run {view.run.id})"
    figures = draw(label, OtherResult(sibling.name, other_view.result, other_view.rows))
    return ChartPair(sibling.id, (label, sibling.name), figures, request.query_params.get("as") == "one")


def _groups_of(result: Result, figure: Figure) -> dict[str, str]:
    """The groups of items behind the rows of a chart: `field=value` by heading and name, and by name alone."""
    group_names = {cell for row in figure.rows for cell in row}
    groups = (Group.parse(estimate.group) for estimate in result.estimates)
    groups_by_row: dict[str, str] = {}
    for group in groups:
        if not group.is_overall and group.value in group_names:
            groups_by_row[charts.row_key(spaced_name(group.field), group.value)] = str(group)
            if charts.row_key("", group.value) not in groups_by_row or spaced_name(group.field) in figure.columns:
                groups_by_row[charts.row_key("", group.value)] = str(group)
    return groups_by_row


def _find_part(view: ResultView, name: str) -> ViewPart | None:
    return next(
        (part for part in view.parts if isinstance(part, Figure | TablePart | DeferredPart) and part.id == name), None
    )
