"""Download responses: tables as CSV and JSON, figures as Vega-Lite, image or table."""

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

from wug.views import vega
from wug.views.parts import Figure
from wug.views.table import no_formula
from wug.web import chart_rendering
from wug.web.request_body import replace_surrogates
from wug.web.templating import JsonResponse

TABLE_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
IMAGE_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
CHUNK_ROWS = 500
"""Rows per chunk of a streamed table."""


def table_response(form: str, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Response:
    """Stream rows as CSV or JSON."""
    if form not in TABLE_TYPES:
        raise HTTPException(404, f"This table is available as csv and json, not as {form!r}.")
    chunks = _csv_chunks(columns, rows) if form == "csv" else _json_chunks(columns, rows)
    # The first chunk is made before the response starts, so that an error in it becomes an error page.
    chunks = chain([next(chunks)], chunks)
    return StreamingResponse(
        chunks, media_type=TABLE_TYPES[form], headers={"content-disposition": content_disposition(name, form)}
    )


def figure_response(figure: Figure | None, form: str, name: str, *, optional: bool = False) -> Response:
    """A figure in the requested form; a missing one is a 404, or an empty response if it is optional."""
    if figure is None and optional and form not in IMAGE_TYPES:
        return JsonResponse({"absent": name}) if form == "vl.json" else table_response(form, name, (), ())
    if figure is None:
        raise HTTPException(404, f"There is no chart {name!r} here.")
    inline = {"content-disposition": content_disposition(name, form, attachment=False)}
    if form == "vl.json":
        return JsonResponse({**vega.page_spec(figure.chart), "description": figure.title}, headers=inline)
    if form in IMAGE_TYPES:
        image = chart_rendering.render_image(vega.spec(figure.chart), f".{form}")
        return Response(image, media_type=IMAGE_TYPES[form], headers=inline)
    if figure.records:
        return table_response(form, name, list(figure.records[0]), figure.records)
    columns = [column or "of" for column in figure.columns]
    return table_response(form, name, columns, (dict(zip(columns, row, strict=False)) for row in figure.rows))


def content_disposition(name: str, suffix: str, *, attachment: bool = True) -> str:
    """Content-Disposition header: the file name, and whether the browser saves or shows it."""
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-")[:120] or "table"
    how = "attachment" if attachment else "inline"
    return f'{how}; filename="{stem.encode("ascii", "replace").decode().replace("?", "_")}.{suffix}"'


def _csv_chunks(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for number, row in enumerate(rows, 1):
        writer.writerow([_csv_cell(row.get(column)) for column in columns])
        if number % CHUNK_ROWS == 0:
            yield replace_surrogates(text.getvalue()).encode()
            text.seek(0)
            text.truncate()
    yield replace_surrogates(text.getvalue()).encode()


def _json_chunks(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    parts: list[str] = []
    separator = "["
    for number, row in enumerate(rows, 1):
        values = {column: _finite_or_none(row.get(column)) for column in columns}
        parts.append(f"{separator}\n{json.dumps(values, ensure_ascii=False)}")
        separator = ","
        if number % CHUNK_ROWS == 0:
            yield "".join(parts).encode("utf-8", "backslashreplace")  # the JSON escape of a lone surrogate
            parts.clear()
    end = ("[]" if separator == "[" else "\n]") + "\n"
    yield ("".join(parts) + end).encode("utf-8", "backslashreplace")


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return no_formula(value)


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
