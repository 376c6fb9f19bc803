"""Static files, fonts and scripts, help, the CSRF token, and the state of the store."""

from __future__ import annotations

import functools
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.views.templating import font_css, font_woff2, template_source
from wug.web.downloads import vega_script
from wug.web.site import JsonResponse, NavLink, Site, site_of

NAV = NavLink("Help", "/help", 90)
FONT_URL = "/assets/inter-4.1.woff2"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}  # a machine's table may differ
IMMUTABLE = "public, max-age=31536000, immutable"
NO_STORE = {"cache-control": "no-store"}


@functools.cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Content and ETag of each file in `static/`.

    They are read once: a file opened per request would stay open if the client disconnects in between.
    """
    contents = {path.name: path.read_bytes() for path in (files("wug.web") / "static").iterdir()}
    return {name: (data, f'"{sha256(data).hexdigest()[:32]}"') for name, data in contents.items()}


def _asset(path: str, media_type: str, content: Callable[[Site], str | bytes], cache: str = "no-cache") -> Route:
    def endpoint(request: Request) -> Response:
        return Response(content(site_of(request)), media_type=media_type, headers={"cache-control": cache})

    return Route(path, endpoint)


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
    _asset("/assets/report.css", "text/css", lambda site: font_css(FONT_URL) + template_source("page.css")),
    _asset("/assets/chart.js", "text/javascript", lambda site: template_source("chart.js")),
    _asset(FONT_URL, "font/woff2", lambda site: font_woff2(), IMMUTABLE),
    _asset("/assets/vega.js", "text/javascript", lambda site: vega_script(site.cache.parent), IMMUTABLE),
    _asset("/favicon.ico", "image/svg+xml", lambda site: static_files()["icon.svg"][0], "max-age=86400"),
    Route("/static/{name}", _static, name="static"),
    Route("/help", _help),
    Route("/token", _token),
    Route("/state.json", _state),
]
