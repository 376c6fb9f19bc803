"""What every page loads: the report's style, Vega, the token, the state of the store."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from wug.show import face, page
from wug.web import bundle
from wug.web.rendering import Json
from wug.web.site import Site

FACE = "/assets/inter-4.1.woff2"
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


def routes(site: Site) -> list[BaseRoute]:
    """The addresses of files that are made rather than kept."""

    def style(request: Request) -> Response:
        return Response(face.css(FACE) + page.source("page.css"), media_type="text/css")

    def chart(request: Request) -> Response:
        return Response(page.source("chart.js"), media_type="text/javascript")

    def letters(request: Request) -> Response:
        return Response(face.woff2(), media_type="font/woff2", headers=FOR_EVER)

    def vega(request: Request) -> Response:
        return Response(bundle.script(site.cache.parent), media_type="text/javascript", headers=FOR_EVER)

    def token(request: Request) -> Response:
        """For a page that was open while the server was started again; no other site can read it."""
        return Json({"token": site.token}, headers={"cache-control": "no-store"})

    def state(request: Request) -> Response:
        word, going = site.shelf.state()
        return Json({"state": word, "going": going}, headers={"cache-control": "no-store"})

    def icon(request: Request) -> Response:
        path = str(files("wug.web") / "static" / "icon.svg")
        return FileResponse(path, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})

    return [
        Route("/assets/report.css", style),
        Route("/assets/chart.js", chart),
        Route(FACE, letters),
        Route("/assets/vega.js", vega),
        Route("/favicon.ico", icon),
        Route("/token", token),
        Route("/state.json", state),
    ]
