"""The items of a result, page by page from the database; and an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.runs.browse import Placed
from wug.web.choosing import VALUES, Choice, choice, groups
from wug.web.families import Item, Look
from wug.web.pages.results import counts_of, look_at, template_of
from wug.web.shown import page_family
from wug.web.site import Site
from wug.web.tables import table

COLUMNS = ("place", "item", "check", "value", "groups", "detail")


def routes(site: Site) -> list[BaseRoute]:
    """The pages about items."""

    def listed(request: Request) -> Response:
        look = look_at(site, request)
        query = request.query_params
        chosen = choice(look, query)
        family = page_family(look.result.kind)
        size = family.SIZE
        before = _place(query.get("before"))
        page = site.shelf.page(look.id, chosen.wanted, after=_place(query.get("after"), -1), before=before, size=size)
        if before is not None and not page.rows:
            page = site.shelf.page(look.id, chosen.wanted, size=size)
        items = _items(look, page.rows)
        return site.page(
            request,
            "items.html",
            look=look,
            result=look.result,
            run=look.run,
            chosen=chosen,
            values=VALUES,
            page=page,
            total=site.shelf.count(look.id, chosen.wanted),
            rows=list(zip(items, family.rows(look, items), strict=True)),
            checks=site.shelf.checks(look.id),
            groups=groups(look, chosen.check),
            part=template_of("rows", look.result.kind),
            counts=counts_of(look),
            tab="items",
            whole=False,
        )

    def one(request: Request) -> Response:
        look = look_at(site, request)
        chosen = choice(look, request.query_params)
        placed = site.shelf.place(look.id, request.path_params["place"])
        items = _items(look, [placed])
        front = site.shelf.page(look.id, chosen.wanted, before=placed.place, size=1).rows
        behind = site.shelf.page(look.id, chosen.wanted, after=placed.place, size=1).rows
        return site.page(
            request,
            "item.html",
            look=look,
            result=look.result,
            run=look.run,
            chosen=chosen,
            item=items[0],
            rows=list(zip(items, page_family(look.result.kind).rows(look, items), strict=True)),
            part=template_of("rows", look.result.kind),
            front=front[0] if front else None,
            behind=behind[0] if behind else None,
            counts=counts_of(look),
            tab="items",
            whole=True,
        )

    def rows(request: Request) -> Response:
        look = look_at(site, request)
        chosen = choice(look, request.query_params)
        return table(request.path_params["form"], f"{look.result.suite}-items", COLUMNS, _rows(look, chosen))

    def item_rows(request: Request) -> Response:
        look = look_at(site, request)
        placed = site.shelf.place(look.id, request.path_params["place"])
        every = site.shelf.same_item(look.id, [placed])[0]
        return table(request.path_params["form"], f"item-{placed.outcome.item}", COLUMNS, map(_row, every))

    return [
        Route("/result/{result:number}/items", listed),
        Route("/result/{result:number}/items.{form}", rows),
        Route("/result/{result:number}/item/{place:number}", one),
        Route("/result/{result:number}/item/{place:number}.{form}", item_rows),
    ]


def _items(look: Look, rows: tuple[Placed, ...] | list[Placed]) -> list[Item]:
    every = look.shelf.same_item(look.id, rows)
    return [Item(row.place, row.outcome, others) for row, others in zip(rows, every, strict=True)]


def _rows(look: Look, chosen: Choice) -> Iterator[dict[str, Any]]:
    """Page after page, so that nothing is held while the other side is slow."""
    after = -1
    while True:
        page = look.shelf.page(look.id, chosen.wanted, after=after, size=1000)
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


def _place(text: str | None, otherwise: int | None = None) -> Any:
    return int(text) if text and text.isdecimal() and len(text) < 16 else otherwise
