"""The Starlette application: routes of every page, middleware, error pages."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug import registry
from wug.errors import MissingExtra, StoreError, WugError
from wug.web.security import BodyTooLarge, RequestGuard
from wug.web.site import ForbiddenPath, JsonResponse, Site, wants_json

EXPECTED_ERRORS = (WugError, OSError, sqlite3.Error, UnicodeEncodeError)
"""Errors that are not bugs: bad input, a full disk, a file that another program changed."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)

_TITLES = {
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    500: "A bug in wug",
    507: "Disk full",
}
_TEXTS = {404: "There is no page at this address.", 405: "This address does not support this method."}

_log = logging.getLogger("wug")


def create_app(site: Site) -> Starlette:
    """The application that serves a site."""
    routes: list[BaseRoute] = []
    for name in registry.names("web.pages"):
        routes += registry.find("web.pages", name).ROUTES
    app = Starlette(
        routes=routes,
        middleware=[Middleware(RequestGuard, site=site), Middleware(ErrorPages, site=site)],
        exception_handlers=exception_handlers(site),
    )
    app.state.site = site
    return app


class ErrorPages:
    """Middleware that turns unexpected exceptions into error pages."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        has_response = False

        async def tracked_send(message: Message) -> None:
            nonlocal has_response
            has_response = True
            await send(message)

        try:
            await self.app(scope, receive, tracked_send)
        except (BodyTooLarge, ClientDisconnect):
            raise
        except Exception as error:
            if has_response and isinstance(error.__cause__, EXPECTED_ERRORS):
                # The rest of a streamed response cannot be made: it stays incomplete, which the client can tell.
                _log.warning("%s was aborted: %s", scope.get("path"), _error_text(error.__cause__))
                return
            if not has_response and (damage := await run_in_threadpool(self.site.reader.damage)):
                await _error_response(self.site, Request(scope), 404, damage)(scope, receive, send)
                return
            _log.error("%s failed", scope.get("path"), exc_info=error)
            if has_response or scope["type"] != "http":
                raise
            text = f"wug itself failed ({type(error).__name__}: {error}). This is a bug: please report it."
            await _error_response(self.site, Request(scope), 500, text)(scope, receive, send)


def exception_handlers(site: Site) -> Mapping[Any, Any]:
    """Handlers for the errors that pages raise."""

    def expected(request: Request, error: Exception) -> Response:
        return _error_response(site, request, _status(error), _error_text(error))

    def disconnected(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        phrase = HTTPStatus(error.status_code).phrase
        text = _TEXTS.get(error.status_code, phrase) if error.detail == phrase else error.detail
        return _error_response(site, request, error.status_code, text)

    return {**dict.fromkeys(EXPECTED_ERRORS, expected), HTTPException: http, ClientDisconnect: disconnected}


def _status(error: Exception) -> int:
    match error:
        case ForbiddenPath():
            return 403
        case StoreError() | sqlite3.Error():
            return 404
        case OSError() if error.errno in DISK_FULL:
            return 507
        case OSError():
            return 503
        case MissingExtra():
            return 501
        case _:
            return 400


def _error_text(error: BaseException) -> str:
    match error:
        case sqlite3.Error():
            return f"The run store cannot be read: {error}"
        case OSError() if error.errno in DISK_FULL:
            return "Nothing was changed: the disk is full. Free some space and try again."
        case OSError():
            location = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return f"Nothing was changed: {location}{error.strerror or error}"
        case UnicodeEncodeError():
            near = error.object[max(0, error.start - 30) : error.end]
            return f"{near!r} ends in half a character (a lone surrogate), which no file can store: write it again"
        case _:
            return str(error)


def _error_response(site: Site, request: Request, status: int, text: str) -> Response:
    if wants_json(request.url.path, request.headers):
        return JsonResponse({"error": text}, status_code=status)
    title = _TITLES.get(status, "This did not work")
    return site.render(request, "error.html", status=status, title=title, text=text)
