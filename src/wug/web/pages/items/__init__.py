"""The items of a result, page by page from the database; and an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.rows import Placed
from wug.runs.stored_rows import StoredRows
from wug.show.numbers import plain
from wug.show.view import Figure, Item, Later
from wug.types import Value
from wug.web.downloads import disposition, table
from wug.web.editor.items import suite_of
from wug.web.pages.items.query import VALUES, Choice, choice, groups, neighbours, places, sorts, stretch
from wug.web.result_view import Look, look_at, model_names
from wug.web.site import Site, page_number
from wug.web.templating import Json

MODELS = 24
"""Other models whose judgement on an item is shown."""
COLUMNS = ("place", "item", "check", "value", "groups", "detail")


def routes(site: Site) -> list[BaseRoute]:
    """The pages about items."""

    def listed(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        query = request.query_params
        chosen = choice(look, query)
        shown = stretch(places(site, look, chosen), page_number(query.get("page", "")), look.items.size)
        return site.page(
            request,
            "items.html",
            look=look,
            chosen=chosen,
            values=VALUES,
            shown=shown,
            rows=[(row, _item(look, row)) for row in map(look.rows.at, shown.places)],
            checks=look.rows.checks(),
            groups=groups(look, chosen.check),
            sorts=sorts(look, chosen.check),
            others=site.shelf.siblings(look.id)[:1],
            tab="items",
            whole=False,
        )

    def one(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        chosen = choice(look, request.query_params)
        row = look.rows.at(request.path_params["place"])
        front, behind = neighbours(places(site, look, chosen), row.place)
        return site.page(
            request,
            "item.html",
            look=look,
            chosen=chosen,
            row=row,
            item=_item(look, row),
            judgements=look.rows.same_item(row),
            chart=next((part for part in look.parts if isinstance(part, Figure | Later) and part.alone), None),
            front=None if front is None else look.rows.at(front),
            behind=None if behind is None else look.rows.at(behind),
            elsewhere=list(_elsewhere(site, look, row)),
            file_name=look.file_name,
            others=(),
            tab="items",
            whole=True,
        )

    def as_suite(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        row = look.rows.at(request.path_params["place"])
        found = suite_of(look, row, _item(look, row))
        if found is None:
            raise HTTPException(404, "This item has no sentences that the editor could open.")
        name = f"{look.result.suite}-item-{row.outcome.item}"
        return Json(found, headers={"content-disposition": disposition(name, "json")})

    def rows(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        chosen = choice(look, request.query_params)
        found = map(look.rows.at, places(site, look, chosen)) if chosen.sort else _every(look, chosen)
        return table(request.path_params["form"], f"{look.file_name}-items", COLUMNS, map(_row, found))

    def item_rows(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        row = look.rows.at(request.path_params["place"])
        every = map(_row, look.rows.same_item(row))
        return table(request.path_params["form"], f"{look.file_name}-item-{row.outcome.item}", COLUMNS, every)

    return [
        Route("/result/{result:number}/items", listed),
        Route("/result/{result:number}/items.{form}", rows),
        Route("/result/{result:number}/item/{place:number}", one),
        Route("/result/{result:number}/item/{place:number}.{form}", item_rows),
        Route("/result/{result:number}/item/{place:number}/suite.json", as_suite),
    ]


def _item(look: Look, row: Placed) -> Item:
    return look.items.show(row, look.rows.same_item(row))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same item as another run judged it."""

    name: str
    """What the model is called."""
    model: str
    address: str
    value: Value
    note: str


def _elsewhere(site: Site, look: Look, row: Placed) -> Iterator[Elsewhere]:
    """The same judgement by other models, each as its latest run has it."""
    names = model_names(site)
    for other in list({one.model: one for one in reversed(site.shelf.siblings(look.id))}.values())[:MODELS]:
        rows = StoredRows(site.shelf, other.id)
        judgements = rows.same_item(row)
        found = next((one for one in judgements if one.outcome.check == row.outcome.check), None)
        if found is not None and other.model != look.result.model:
            address = f"/result/{other.id}/item/{found.place}"
            item = look.items.show(found, judgements)
            failed = f"fails {', '.join(map(plain, item.failed))}" if item.failed else ""
            note = " · ".join(filter(None, (item.note, failed)))
            yield Elsewhere(names[other.model], other.model, address, found.outcome.value, note)


def _every(look: Look, chosen: Choice) -> Iterator[Placed]:
    """Page after page, so that nothing is held while the other side is slow."""
    after = None
    while True:
        page = look.rows.page(chosen.wanted, after=after, size=1000)
        yield from page.rows
        if page.after is None:
            return
        after = page.after


def _row(placed: Placed) -> dict[str, Any]:
    outcome = placed.outcome
    return {
        "place": placed.place,
        "item": outcome.item,
        "check": outcome.check,
        "value": outcome.value,
        "groups": dict(outcome.groups),
        "detail": dict(outcome.detail),
    }
