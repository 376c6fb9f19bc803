"""Help: how to read the pages, and the keys of each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.web.site import site_of

NAV = ("Help", "/help", 90)


def _page(request: Request) -> Response:
    return site_of(request).render(request, "help.html")


ROUTES: list[BaseRoute] = [Route("/help", _page)]
