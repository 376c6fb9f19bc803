"""Figures at addresses of their own: the chart's specification, its picture, its numbers."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from wug.show import vega
from wug.show.view import Figure
from wug.web import bundle
from wug.web.rendering import Json
from wug.web.tables import disposition, table

PICTURES = {"svg": "image/svg+xml", "png": "image/png"}


def spec(figure: Figure) -> dict[str, Any]:
    """The chart for a page: as wide as its place, in the page's colours."""
    return {**vega.page_spec(figure.chart), "description": figure.title}


def answer(figure: Figure | None, form: str, name: str, *, may_lack: bool = False) -> Response:
    """A figure in the form that the address asks for; one that may lack is told by an answer of its own."""
    if figure is None and may_lack and form not in PICTURES:
        return Json({"absent": name}) if form == "vl.json" else table(form, name, (), ())
    if figure is None:
        raise HTTPException(404, f"There is no chart {name!r} here.")
    if form == "vl.json":
        return Json(spec(figure), headers={"content-disposition": disposition(name, form, attached=False)})
    if form in PICTURES:
        made = bundle.picture(vega.spec(figure.chart), f".{form}")
        return Response(
            made, media_type=PICTURES[form], headers={"content-disposition": disposition(name, form, attached=False)}
        )
    if figure.records:
        return table(form, name, list(figure.records[0]), figure.records)
    columns = [column or "of" for column in figure.columns]
    return table(form, name, columns, (dict(zip(columns, row, strict=False)) for row in figure.rows))
