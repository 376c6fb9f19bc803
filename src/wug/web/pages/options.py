"""Compares a result with those that differ in one option of the model only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.views.numbers import Shown, headlines
from wug.views.parts import OptionPage
from wug.web.result_view import load_result
from wug.web.site import Site, site_of


@dataclass(frozen=True, slots=True)
class OptionVariant:
    """The result with one value of the option."""

    label: str
    url: str
    headlines: Mapping[str, Shown]
    """By metric."""
    table_rows: Mapping[tuple[str, ...], str]


def _page(request: Request) -> Response:
    site = site_of(request)
    view = load_result(site, request.path_params["result"])
    page = next((one for one in view.option_pages if one.option == request.path_params["option"]), None)
    if page is None:
        raise HTTPException(404, "Results of this model and suite have no such option.")
    results = site.reader.variants_by_option(view.id, page.option)
    variants = [_variant(site, page, results[value], label) for value, label in page.values.items() if value in results]
    return site.render(
        request,
        "option.html",
        result_view=view,
        page=page,
        variants=variants,
        missing=next((value for value in page.values if value not in results), None) if len(variants) < 2 else None,
        checks=[row.check for row in headlines(view.result)],
        rows=list(dict.fromkeys(row for variant in variants for row in variant.table_rows)),
        tab="",
    )


ROUTES: list[BaseRoute] = [Route("/result/{result:number}/option/{option}", _page)]


def _variant(site: Site, page: OptionPage, id: int, label: str) -> OptionVariant:
    view = load_result(site, id)
    shown = {row.check: row for row in headlines(view.result)}
    return OptionVariant(label, view.url, shown, page.table_rows(view.result, view.rows))
