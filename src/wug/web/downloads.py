"""Tables at addresses of their own: the same rows as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from wug.show import vega
from wug.show.table import no_formula
from wug.show.view import Figure
from wug.web import chart_rendering
from wug.web.json_body import without_halves
from wug.web.templating import Json

TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
ROWS = 500
"""Rows that are sent at once."""


def table(form: str, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Response:
    """Rows as CSV or JSON, sent as they come."""
    if form not in TYPES:
        raise HTTPException(404, f"There is no table as {form!r} here, only as csv and json.")
    made = _csv(columns, rows) if form == "csv" else _json(columns, rows)
    # The first rows are read before anything is sent, so that a fault in them is told as one.
    made = chain([next(made)], made)
    headers = {"content-disposition": disposition(name, form)}
    return StreamingResponse(made, media_type=TYPES[form], headers=headers)


def disposition(name: str, form: str, *, attached: bool = True) -> str:
    """What a browser calls the file, and whether it is kept rather than shown; a picture is shown by a page, too."""
    kept = re.sub(r"[^\w.-]+", "-", name).strip("-")[:120] or "table"
    how = "attachment" if attached else "inline"
    return f'{how}; filename="{kept.encode("ascii", "replace").decode().replace("?", "_")}.{form}"'


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(row.get(column)) for column in columns])
        if number % ROWS == 0:
            yield without_halves(text.getvalue()).encode()
            text.seek(0)
            text.truncate()
    yield without_halves(text.getvalue()).encode()


def _json(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    parts: list[str] = []
    before = "["
    for number, row in enumerate(rows, 1):
        plain = {column: _plain(row.get(column)) for column in columns}
        parts.append(f"{before}\n{json.dumps(plain, ensure_ascii=False)}")
        before = ","
        if number % ROWS == 0:
            yield "".join(parts).encode("utf-8", "backslashreplace")  # the same in JSON as a half of a character
            parts.clear()
    end = ("[]" if before == "[" else "\n]") + "\n"
    yield ("".join(parts) + end).encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return no_formula(value)


def _plain(value: Any) -> Any:
    """What JSON can hold: no infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


PICTURES = {"svg": "image/svg+xml", "png": "image/png"}


def spec(figure: Figure) -> dict[str, Any]:
    """The chart for a page: as wide as its place, in the page's colours."""
    return {**vega.page_spec(figure.chart), "description": figure.title}


def figure_response(figure: Figure | None, form: str, name: str, *, may_lack: bool = False) -> Response:
    """A figure in the form that the address asks for; one that may lack is told by an answer of its own."""
    if figure is None and may_lack and form not in PICTURES:
        return Json({"absent": name}) if form == "vl.json" else table(form, name, (), ())
    if figure is None:
        raise HTTPException(404, f"There is no chart {name!r} here.")
    if form == "vl.json":
        return Json(spec(figure), headers={"content-disposition": disposition(name, form, attached=False)})
    if form in PICTURES:
        made = chart_rendering.picture(vega.spec(figure.chart), f".{form}")
        return Response(
            made, media_type=PICTURES[form], headers={"content-disposition": disposition(name, form, attached=False)}
        )
    if figure.records:
        return table(form, name, list(figure.records[0]), figure.records)
    columns = [column or "of" for column in figure.columns]
    return table(form, name, columns, (dict(zip(columns, row, strict=False)) for row in figure.rows))
