"""The items of a result, page by page from the database; and an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.rows import Placed
from wug.show.view import Figure, Item, Later
from wug.web.choosing import VALUES, Choice, choice, groups
from wug.web.looks import Look, look_at
from wug.web.site import Site
from wug.web.tables import table

COLUMNS = ("place", "item", "check", "value", "groups", "detail")


def routes(site: Site) -> list[BaseRoute]:
    """The pages about items."""

    def listed(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        query = request.query_params
        chosen = choice(look, query)
        size, before = look.items.size, _place(query.get("before"))
        page = look.rows.page(chosen.wanted, after=_place(query.get("after")), before=before, size=size)
        if before is not None and not page.rows:
            page = look.rows.page(chosen.wanted, size=size)
        return site.page(
            request,
            "items.html",
            look=look,
            chosen=chosen,
            values=VALUES,
            page=page,
            total=look.rows.count(chosen.wanted),
            rows=[(row, _item(look, row)) for row in page.rows],
            checks=look.rows.checks(),
            groups=groups(look, chosen.check),
            tab="items",
            whole=False,
        )

    def one(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        chosen = choice(look, request.query_params)
        row = look.rows.at(request.path_params["place"])
        front = look.rows.page(chosen.wanted, before=row.place, size=1).rows
        behind = look.rows.page(chosen.wanted, after=row.place, size=1).rows
        return site.page(
            request,
            "item.html",
            look=look,
            chosen=chosen,
            row=row,
            item=_item(look, row),
            judgements=look.rows.same_item(row),
            chart=next((part for part in look.parts if isinstance(part, Figure | Later) and part.alone), None),
            front=front[0] if front else None,
            behind=behind[0] if behind else None,
            tab="items",
            whole=True,
        )

    def rows(request: Request) -> Response:
        look = look_at(site, request.path_params["result"])
        chosen = choice(look, request.query_params)
        return table(request.path_params["form"], f"{look.file_name}-items", COLUMNS, _rows(look, chosen))

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
    ]


def _item(look: Look, row: Placed) -> Item:
    return look.items.show(row, look.rows.same_item(row))


def _rows(look: Look, chosen: Choice) -> Iterator[dict[str, Any]]:
    """Page after page, so that nothing is held while the other side is slow."""
    after = None
    while True:
        page = look.rows.page(chosen.wanted, after=after, size=1000)
        yield from map(_row, page.rows)
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


def _place(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None
