"""Download responses: tables in every format, figures as Vega-Lite, image or table.

Vega runs in a subprocess: the JavaScript engine takes about 100 MB that the server would never get back. Its script for
the browser is built once and stored next to the cache.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from wug import registry, tables
from wug.errors import InputError, MissingExtra, WugError
from wug.files import write_bytes
from wug.outcomes import Result
from wug.tables import RowTable, Tabular
from wug.views import chart_files, vega
from wug.views.parts import Figure
from wug.views.result_tables import estimate_table
from wug.web.site import JsonResponse

IMAGE_TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
VEGA_LITE_FILE = "vegalite"
"""The form of a specification with a title, for a file; `vl.json` is the one that a page draws."""
CHUNK_ROWS = 500
"""Rows per chunk of a streamed table."""
_BUILD_SCRIPT = "import sys; from wug.views import vega; sys.stdout.buffer.write(vega.javascript().encode())"
_RENDER_IMAGE = (
    "import json, sys; from wug.views.vega import CHART_WRITERS;"
    "sys.stdout.buffer.write(CHART_WRITERS[sys.argv[1]](json.load(sys.stdin)))"
)
_lock = threading.Lock()


def table_response(suffix: str, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Response:
    """Stream rows in a format: that of a suffix such as csv or tex, or its name."""
    return tabular_response(suffix, name, RowTable(columns, ([row.get(column) for column in columns] for row in rows)))


def tabular_response(suffix: str, name: str, table: Tabular) -> Response:
    """Stream a table in a format."""
    format = tables.format_named(suffix)
    if format is None:
        names = ", ".join(tables.format_names())
        raise HTTPException(404, f"This table is available as {names}, not as {suffix!r}.")
    pieces = tables.table_chunks(table, format)
    chunks = iter(lambda: b"".join(islice(pieces, CHUNK_ROWS)), b"")
    # The first chunk is made before the response starts, so that an error in it becomes an error page.
    first_chunk = next(chunks, b"")
    headers = {"content-disposition": content_disposition(name, suffix)}
    media_type = registry.table_format(format).MEDIA_TYPE
    return StreamingResponse(chain([first_chunk], chunks), media_type=media_type, headers=headers)


def estimates_response(suffix: str, name: str, results: Sequence[Result]) -> Response:
    """The estimates of results, one row each."""
    return tabular_response(suffix, name, replace(estimate_table(results), document=None))


def figure_response(
    figure: Figure | None,
    suffix: str,
    name: str,
    *,
    about: str = "",
    groups: Mapping[str, str] | None = None,
    is_optional: bool = False,
) -> Response:
    """A figure with the requested suffix; a missing one is a 404, or an empty response if it is optional.

    `about` names suites and models in files, unless the figure does; `groups` are those of the items behind its rows.
    """
    if figure is None:
        if not is_optional or suffix in IMAGE_TYPES:
            raise HTTPException(404, f"There is no chart {name!r} here.")
        return JsonResponse({"absent": name}) if suffix == "vl.json" else table_response(suffix, name, (), ())
    inline = {"content-disposition": content_disposition(name, suffix, attachment=False)}
    if suffix == "vl.json":
        spec = vega.page_spec(figure.chart)
        meta = {**spec.get("usermeta", {}), "groups": groups or {}}
        return JsonResponse({**spec, "usermeta": meta, "description": figure.title}, headers=inline)
    if suffix in (VEGA_LITE_FILE, *IMAGE_TYPES):
        spec = vega.spec(chart_files.titled_chart(replace(figure, about=figure.about or about)))
        if suffix in IMAGE_TYPES:
            return Response(render_image(spec, f".{suffix}"), media_type=IMAGE_TYPES[suffix], headers=inline)
        return JsonResponse(spec, headers={"content-disposition": content_disposition(name, "vl.json")})
    if figure.records:
        return table_response(suffix, name, list(figure.records[0]), figure.records)
    columns = [column or "of" for column in figure.columns]
    return table_response(suffix, name, columns, (dict(zip(columns, row, strict=False)) for row in figure.rows))


def content_disposition(name: str, suffix: str, *, attachment: bool = True) -> str:
    """Content-Disposition header: the file name, and whether the browser saves or shows it."""
    file = (re.sub(r"[^\w.+-]+", "-", name).strip("-")[:120] or "table") + f".{suffix}"
    ascii_name = file.encode("ascii", "replace").decode().replace("?", "_")
    disposition = "attachment" if attachment else "inline"
    return f'{disposition}; filename="{ascii_name}"' + ("" if file.isascii() else f"; filename*=UTF-8''{quote(file)}")


def vega_script(folder: Path) -> bytes:
    """The bundled Vega script, read from `folder` or built and saved there."""
    try:
        path = folder / f"vega-{version('vl-convert-python')}-{version('altair')}.js"
    except PackageNotFoundError:
        raise MissingExtra("charts", "web") from None
    with _lock:
        if path.is_file():
            return path.read_bytes()
        script = _run_python([_BUILD_SCRIPT])
        with contextlib.suppress(InputError, OSError):  # it is built again for the next page
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, script)
        return script


def render_image(spec: dict[str, Any], suffix: str) -> bytes:
    """Render a chart as `.svg`, `.png` or `.pdf`, one at a time."""
    with _lock:
        return _run_python([_RENDER_IMAGE, suffix], json.dumps(vega.without_controls(spec)).encode())


def _run_python(code: list[str], stdin: bytes = b"") -> bytes:
    process = subprocess.run([sys.executable, "-c", *code], input=stdin, capture_output=True, check=False)
    if process.returncode:
        raise WugError(f"charts cannot be drawn: {process.stderr.decode(errors='replace').strip()[-400:]}")
    return process.stdout
