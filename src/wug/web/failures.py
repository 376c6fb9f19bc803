"""Errors as pages that say what happened and what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug.errors import MissingExtra, StoreError, WugError
from wug.web.safety import TooLarge
from wug.web.site import Forbidden, Site, wants_json


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
        except TooLarge:
            raise
        except Exception as error:
            logging.getLogger("wug").error("%s failed", scope.get("path"), exc_info=error)
            if started or scope["type"] != "http":
                raise
            text = f"wug itself failed ({type(error).__name__}: {error}). This is a bug: please report it."
            await _answer(self.site, Request(scope), 500, text)(scope, receive, send)


def handlers(site: Site) -> Mapping[Any, Any]:
    """What answers each kind of error."""

    def known(request: Request, error: Exception) -> Response:
        return _answer(site, request, _status(error), str(error))

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        usual = HTTPStatus(error.status_code).phrase
        text = _PLAIN.get(error.status_code, usual) if error.detail == usual else error.detail
        return _answer(site, request, error.status_code, text)

    return {WugError: known, HTTPException: http}


def _status(error: Exception) -> int:
    match error:
        case Forbidden():
            return 403
        case StoreError():
            return 404
        case MissingExtra():
            return 501
        case _:
            return 400


def _answer(site: Site, request: Request, status: int, text: str) -> Response:
    if wants_json(request.url.path, request.headers):
        return JSONResponse({"error": text}, status_code=status)
    title = _TITLES.get(status, "This did not work")
    return site.page(request, "failure.html", status=status, title=title, text=text)


_TITLES = {403: "Not allowed", 404: "Not here", 405: "Not like this", 413: "Too large", 500: "A bug in wug"}
_PLAIN = {404: "There is no page at this address.", 405: "This address cannot be used in this way."}
