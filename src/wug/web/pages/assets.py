"""What every page loads: styles and scripts, Vega, the token, the state of the store."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.show import face, page
from wug.web import chart_rendering
from wug.web.site import Site
from wug.web.templating import Json

FACE = "/assets/inter-4.1.woff2"
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}  # a machine's own table may differ
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


def routes(site: Site) -> list[BaseRoute]:
    """The addresses of what is made and of what is kept in `static/`.

    Kept files are read once: a file opened for each request stays open when the reader leaves in between.
    """
    kept = {path.name: path.read_bytes() for path in (files("wug.web") / "static").iterdir()}
    tags = {name: f'"{sha256(data).hexdigest()[:32]}"' for name, data in kept.items()}

    def style(request: Request) -> Response:
        return Response(face.css(FACE) + page.source("page.css"), media_type="text/css")

    def chart(request: Request) -> Response:
        return Response(page.source("chart.js"), media_type="text/javascript")

    def letters(request: Request) -> Response:
        return Response(face.woff2(), media_type="font/woff2", headers=FOR_EVER)

    def vega(request: Request) -> Response:
        return Response(chart_rendering.script(site.cache.parent), media_type="text/javascript", headers=FOR_EVER)

    def token(request: Request) -> Response:
        """For a page that was open while the server was started again; no other site can read it."""
        return Json({"token": site.token}, headers={"cache-control": "no-store"})

    def state(request: Request) -> Response:
        word, going = site.shelf.state()
        return Json({"state": word, "going": going}, headers={"cache-control": "no-store"})

    def icon(request: Request) -> Response:
        return Response(kept["icon.svg"], media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})

    def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in kept:
            raise HTTPException(status_code=404)
        headers = {"etag": tags[name]}
        if request.headers.get("if-none-match") == tags[name]:
            return Response(status_code=304, headers=headers)
        return Response(kept[name], media_type=KINDS[PurePath(name).suffix], headers=headers)

    return [
        Route("/assets/report.css", style),
        Route("/assets/chart.js", chart),
        Route(FACE, letters),
        Route("/assets/vega.js", vega),
        Route("/favicon.ico", icon),
        Route("/static/{name}", static, name="static"),
        Route("/token", token),
        Route("/state.json", state),
    ]
