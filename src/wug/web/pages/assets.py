"""What every page loads: the report's style, Vega, the token, the state of the store."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.web import bundle, rendering
from wug.web.rendering import Json
from wug.web.site import Site

FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


def routes(site: Site) -> list[BaseRoute]:
    """The addresses of files that are made rather than kept."""

    def style(request: Request) -> Response:
        environment = rendering.environment()
        assert environment.loader is not None
        return Response(environment.loader.get_source(environment, "page.css")[0], media_type="text/css")

    def vega(request: Request) -> Response:
        return Response(bundle.script(site.cache.parent), media_type="text/javascript", headers=FOR_EVER)

    def token(request: Request) -> Response:
        """For a page that was open while the server was started again; no other site can read it."""
        return Json({"token": site.token}, headers={"cache-control": "no-store"})

    def state(request: Request) -> Response:
        word, going = site.shelf.state()
        return Json({"state": word, "going": going}, headers={"cache-control": "no-store"})

    def icon(request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})

    return [
        Route("/assets/report.css", style),
        Route("/assets/vega.js", vega),
        Route("/favicon.ico", icon),
        Route("/token", token),
        Route("/state.json", state),
    ]


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><ellipse cx="15" cy="19" rx="11" ry="10" '
    'fill="#0072b2"/><circle cx="21" cy="9" r="6" fill="#0072b2"/><circle cx="23" cy="8" r="1.4" fill="#fff"/>'
    '<path d="M26 10l5 2-5 1z" fill="#c84e00"/><path d="M12 28v3m6-3v3" stroke="#c84e00" stroke-width="2"/></svg>'
)
