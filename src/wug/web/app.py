"""The application: every module of `pages/`, the files it needs, and what guards it."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from wug import registry
from wug.web import failures, safety
from wug.web.site import Site


class _Number(IntegerConvertor):
    """A number in an address, `{run:number}`: no larger than the store can hold."""

    regex = "[0-9]{1,18}"


def create(site: Site) -> Starlette:
    """The application that shows a site."""
    register_url_convertor("number", _Number())
    routes: list[BaseRoute] = []
    for name in registry.names("web.pages"):
        routes += registry.find("web.pages", name).routes(site)
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(safety.Headers),
            Middleware(safety.Guard, site=site),
            Middleware(failures.Caught, site=site),
        ],
        exception_handlers=failures.handlers(site),
    )
