"""The application: every module of `pages/`, the files it needs, and what guards it."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug import registry
from wug.errors import MissingExtra, StoreError, WugError
from wug.web import security
from wug.web.security import TooLarge
from wug.web.site import Forbidden, Site, wants_json
from wug.web.templating import Json


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
            Middleware(security.Headers),
            Middleware(security.Guard, site=site),
            Middleware(Caught, site=site),
        ],
        exception_handlers=handlers(site),
    )


EXPECTED = (WugError, OSError, sqlite3.Error, UnicodeEncodeError)
"""What is nobody's bug: a wish that cannot be met, a disk, a file that someone else changed."""
FULL = (errno.ENOSPC, errno.EDQUOT)

_log = logging.getLogger("wug")


class Caught:
    """A fault of our own as a page, inside of everything that adds to an answer."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; answer where nobody else did."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except (TooLarge, ClientDisconnect):
            raise
        except Exception as error:
            if started and isinstance(error.__cause__, EXPECTED):
                # The rest of a long answer cannot be made: it stays unfinished, which the other side can tell.
                _log.warning("%s was broken off: %s", scope.get("path"), _said(error.__cause__))
                return
            if not started and (damage := await run_in_threadpool(self.site.shelf.damage)):
                await _answer(self.site, Request(scope), 404, damage)(scope, receive, send)
                return
            _log.error("%s failed", scope.get("path"), exc_info=error)
            if started or scope["type"] != "http":
                raise
            text = f"wug itself failed ({type(error).__name__}: {error}). This is a bug: please report it."
            await _answer(self.site, Request(scope), 500, text)(scope, receive, send)


def handlers(site: Site) -> Mapping[Any, Any]:
    """What answers each kind of error."""

    def known(request: Request, error: Exception) -> Response:
        return _answer(site, request, _status(error), _said(error))

    def left(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        usual = HTTPStatus(error.status_code).phrase
        text = _PLAIN.get(error.status_code, usual) if error.detail == usual else error.detail
        return _answer(site, request, error.status_code, text)

    return {**dict.fromkeys(EXPECTED, known), HTTPException: http, ClientDisconnect: left}


def _status(error: Exception) -> int:
    match error:
        case Forbidden():
            return 403
        case StoreError() | sqlite3.Error():
            return 404
        case OSError() if error.errno in FULL:
            return 507
        case OSError():
            return 503
        case MissingExtra():
            return 501
        case _:
            return 400


def _said(error: BaseException) -> str:
    """What happened, for the user."""
    match error:
        case sqlite3.Error():
            return f"The run store cannot be read: {error}"
        case OSError() if error.errno in FULL:
            return "Nothing was changed: the disk is full. Make room and try again."
        case OSError():
            where = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return f"Nothing was changed: {where}{error.strerror or error}"
        case UnicodeEncodeError():
            near = error.object[max(0, error.start - 30) : error.end]
            return f"half a character, which no file can hold, stands behind {near!r}: write it again"
        case _:
            return str(error)


def _answer(site: Site, request: Request, status: int, text: str) -> Response:
    if wants_json(request.url.path, request.headers):
        return Json({"error": text}, status_code=status)
    title = _TITLES.get(status, "This did not work")
    return site.page(request, "failure.html", status=status, title=title, text=text)


_TITLES = {
    403: "Not allowed",
    404: "Not here",
    405: "Not like this",
    413: "Too large",
    500: "A bug in wug",
    507: "No room",
}
_PLAIN = {404: "There is no page at this address.", 405: "This address cannot be used in this way."}
