"""Static files, fonts and scripts, help, the CSRF token, and the state of the store."""

from __future__ import annotations

import functools
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.views import templating
from wug.web import downloads
from wug.web.site import JsonResponse, NavLink, site_of

NAV = NavLink("Help", "/help", 90)
FONT_URL = "/assets/inter-4.1.woff2"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}  # a machine's table may differ
IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}
NO_STORE = {"cache-control": "no-store"}


@functools.cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Content and ETag of each file in `static/`.

    They are read once: a file opened per request would stay open if the client disconnects in between.
    """
    contents = {path.name: path.read_bytes() for path in (files("wug.web") / "static").iterdir()}
    return {name: (data, f'"{sha256(data).hexdigest()[:32]}"') for name, data in contents.items()}


def _style(request: Request) -> Response:
    return Response(templating.font_css(FONT_URL) + templating.template_source("page.css"), media_type="text/css")


def _chart_script(request: Request) -> Response:
    return Response(templating.template_source("chart.js"), media_type="text/javascript")


def _font(request: Request) -> Response:
    return Response(templating.font_woff2(), media_type="font/woff2", headers=IMMUTABLE)


def _vega(request: Request) -> Response:
    script = downloads.vega_script(site_of(request).cache.parent)
    return Response(script, media_type="text/javascript", headers=IMMUTABLE)


def _icon(request: Request) -> Response:
    icon = static_files()["icon.svg"][0]
    return Response(icon, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in static_files():
        raise HTTPException(status_code=404)
    data, etag = static_files()[name]
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"etag": etag})
    return Response(data, media_type=MEDIA_TYPES[PurePath(name).suffix], headers={"etag": etag})


def _help(request: Request) -> Response:
    return site_of(request).render(request, "help.html")


def _token(request: Request) -> Response:
    """For a page that was open while the server restarted; other sites cannot read it."""
    return JsonResponse({"token": site_of(request).csrf_token}, headers=NO_STORE)


def _state(request: Request) -> Response:
    state, is_running = site_of(request).reader.state()
    return JsonResponse({"state": state, "going": is_running}, headers=NO_STORE)


ROUTES: list[BaseRoute] = [
    Route("/assets/report.css", _style),
    Route("/assets/chart.js", _chart_script),
    Route(FONT_URL, _font),
    Route("/assets/vega.js", _vega),
    Route("/favicon.ico", _icon),
    Route("/static/{name}", _static, name="static"),
    Route("/help", _help),
    Route("/token", _token),
    Route("/state.json", _state),
]
