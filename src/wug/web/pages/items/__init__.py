"""The items of a result, page by page, and single items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.results.stored_rows import StoredRows
from wug.rows import Placed
from wug.types import Value
from wug.views.numbers import plain
from wug.views.parts import Figure, Item, Later
from wug.web.downloads import content_disposition, table_response
from wug.web.editor.families import default_editor
from wug.web.pages.items.query import (
    VALUE_LABELS,
    ItemQuery,
    group_choices,
    item_page,
    neighbours,
    ordered_places,
    sort_options,
)
from wug.web.result_view import ResultView, load_result, model_names
from wug.web.site import Site, parse_page_number, site_of
from wug.web.templating import JsonResponse

MAX_OTHER_MODELS = 24
"""Other models whose outcome on an item is shown."""
COLUMNS = ("place", "item", "check", "value", "groups", "detail")


@dataclass(frozen=True, slots=True)
class OtherOutcome:
    """The same item in another run."""

    name: str
    """Short name of the model."""
    model: str
    url: str
    value: Value
    note: str


def _list(request: Request) -> Response:
    site, view, query = _parse(request)
    page = parse_page_number(request.query_params.get("page", ""))
    shown = item_page(ordered_places(site, view, query), page, view.items.size)
    return site.render(
        request,
        "items.html",
        result_view=view,
        item_query=query,
        values=VALUE_LABELS,
        shown=shown,
        rows=[(row, _item(view, row)) for row in map(view.rows.at, shown.places)],
        checks=view.rows.checks(),
        groups=group_choices(view, query.check),
        sorts=sort_options(view, query.check),
        others=site.reader.siblings(view.id)[:1],
        tab="items",
        whole=False,
    )


def _item_page(request: Request) -> Response:
    site, view, query = _parse(request)
    row = view.rows.at(request.path_params["place"])
    before, after = neighbours(ordered_places(site, view, query), row.place)
    return site.render(
        request,
        "item.html",
        result_view=view,
        item_query=query,
        row=row,
        item=_item(view, row),
        judgements=view.rows.same_item(row),
        chart=next((part for part in view.parts if isinstance(part, Figure | Later) and part.alone), None),
        before=None if before is None else view.rows.at(before),
        after=None if after is None else view.rows.at(after),
        other_outcomes=list(_other_outcomes(site, view, row)),
        file_name=view.file_name,
        others=(),
        tab="items",
        whole=True,
    )


def _item_as_suite(request: Request) -> Response:
    view, row = _row_of(request)
    found = default_editor().suite_of_item(view.result, view.rows.same_item(row), _item(view, row))
    if found is None:
        raise HTTPException(404, "This item has no sentences that the editor could open.")
    name = f"{view.result.suite}-item-{row.outcome.item}"
    return JsonResponse(found, headers={"content-disposition": content_disposition(name, "json")})


def _table(request: Request) -> Response:
    site, view, query = _parse(request)
    found = map(view.rows.at, ordered_places(site, view, query)) if query.sort else _every_row(view, query)
    return table_response(request.path_params["form"], f"{view.file_name}-items", COLUMNS, map(_fields, found))


def _item_table(request: Request) -> Response:
    view, row = _row_of(request)
    rows = map(_fields, view.rows.same_item(row))
    return table_response(request.path_params["form"], f"{view.file_name}-item-{row.outcome.item}", COLUMNS, rows)


ROUTES: list[BaseRoute] = [
    Route("/result/{result:number}/items", _list),
    Route("/result/{result:number}/items.{form}", _table),
    Route("/result/{result:number}/item/{place:number}", _item_page),
    Route("/result/{result:number}/item/{place:number}.{form}", _item_table),
    Route("/result/{result:number}/item/{place:number}/suite.json", _item_as_suite),
]


def _parse(request: Request) -> tuple[Site, ResultView, ItemQuery]:
    site = site_of(request)
    view = load_result(site, request.path_params["result"])
    return site, view, ItemQuery.parse(view, request.query_params)


def _row_of(request: Request) -> tuple[ResultView, Placed]:
    view = load_result(site_of(request), request.path_params["result"])
    return view, view.rows.at(request.path_params["place"])


def _item(view: ResultView, row: Placed) -> Item:
    return view.items.show(row, view.rows.same_item(row))


def _other_outcomes(site: Site, view: ResultView, row: Placed) -> Iterator[OtherOutcome]:
    """The outcomes of other models on an item and metric, each from the model's newest run."""
    names = model_names(site)
    newest = {one.model: one for one in reversed(site.reader.siblings(view.id))}
    for other in list(newest.values())[:MAX_OTHER_MODELS]:
        judgements = StoredRows(site.reader, other.id).same_item(row)
        found = next((one for one in judgements if one.outcome.check == row.outcome.check), None)
        if found is not None and other.model != view.result.model:
            item = view.items.show(found, judgements)
            failed = f"fails {', '.join(map(plain, item.failed))}" if item.failed else ""
            note = " · ".join(filter(None, (item.note, failed)))
            url = f"/result/{other.id}/item/{found.place}"
            yield OtherOutcome(names[other.model], other.model, url, found.outcome.value, note)


def _every_row(view: ResultView, query: ItemQuery) -> Iterator[Placed]:
    """All matching rows, read page by page so that a slow client holds no cursor open."""
    after = None
    while True:
        page = view.rows.page(query.filter, after=after, size=1000)
        yield from page.rows
        if page.after is None:
            return
        after = page.after


def _fields(placed: Placed) -> dict[str, Any]:
    outcome = placed.outcome
    return {
        "place": placed.place,
        "item": outcome.item,
        "check": outcome.check,
        "value": outcome.value,
        "groups": dict(outcome.groups),
        "detail": dict(outcome.detail),
    }
