"""The server of `wug view`: the Starlette application with its error pages, the socket, the URL and the shutdown."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sqlite3
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug import registry
from wug.errors import MissingExtra, StoreError, WugError
from wug.evaluation.models import builtin_models
from wug.results.store import Store
from wug.views import vega
from wug.views.family_views import view_of
from wug.web import downloads, security
from wug.web.pages.runs import grid_source
from wug.web.result_grid import build_grid
from wug.web.security import BodyTooLarge, RequestGuard
from wug.web.site import (
    LOOPBACK_HOSTS,
    ForbiddenPath,
    JsonResponse,
    RunQuery,
    Site,
    environment,
    wants_json,
)

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

PREFETCH_DELAY_SECONDS = 1.0
"""Time after the start at which the first page has been sent."""
_log = logging.getLogger("wug")


def create_app(site: Site) -> Starlette:
    """The application that serves a site."""
    app = Starlette(
        routes=[route for _, module in registry.modules("web.pages") for route in module.ROUTES],
        middleware=[Middleware(RequestGuard, site=site), Middleware(ErrorPages, site=site)],
        exception_handlers=_exception_handlers(site),
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
                _log.warning("%s was aborted: %s", scope.get("path"), _explained(error.__cause__)[1])
                return
            if not has_response and (damage := await run_in_threadpool(self.site.reader.damage)):
                await _error_response(self.site, Request(scope), 404, damage)(scope, receive, send)
                return
            _log.error("%s failed", scope.get("path"), exc_info=error)
            if has_response or scope["type"] != "http":
                raise
            text = f"wug itself failed ({type(error).__name__}: {error}). This is a bug: please report it."
            await _error_response(self.site, Request(scope), 500, text)(scope, receive, send)


def _exception_handlers(site: Site) -> Mapping[Any, Any]:
    def expected(request: Request, error: Exception) -> Response:
        return _error_response(site, request, *_explained(error))

    def disconnected(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        phrase = HTTPStatus(error.status_code).phrase
        text = _TEXTS.get(error.status_code, phrase) if error.detail == phrase else error.detail
        return _error_response(site, request, error.status_code, text)

    return {**dict.fromkeys(EXPECTED_ERRORS, expected), HTTPException: http, ClientDisconnect: disconnected}


def _explained(error: BaseException) -> tuple[int, str]:
    """The status and the text of an expected error."""
    match error:
        case ForbiddenPath():
            return 403, str(error)
        case StoreError():
            return 404, str(error)
        case sqlite3.Error():
            return 404, f"The run store cannot be read: {error}"
        case OSError() if error.errno in DISK_FULL:
            return 507, "Nothing was changed: the disk is full. Free some space and try again."
        case OSError():
            location = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return 503, f"Nothing was changed: {location}{error.strerror or error}"
        case MissingExtra():
            return 501, str(error)
        case UnicodeEncodeError():
            near = error.object[max(0, error.start - 30) : error.end]
            return 400, f"{near!r} ends in half a character (a lone surrogate), which no file can store: write it again"
        case _:
            return 400, str(error)


def _error_response(site: Site, request: Request, status: int, text: str) -> Response:
    if wants_json(request.url.path, request.headers):
        return JsonResponse({"error": text}, status_code=status)
    title = _TITLES.get(status, "This did not work")
    return site.render(request, "error.html", status=status, title=title, text=text)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of `wug view`."""

    store: Path
    cache: Path
    folders: tuple[Path, ...]
    models: tuple[str, ...]
    host: str
    port: int
    open_browser: bool
    strict_port: bool = False
    """Fail if the port is taken, instead of using a free one."""
    access_token: str | None = field(default=None, repr=False)
    """None for a random one."""


def serve(options: ServerOptions, notify: Callable[[str], None]) -> None:
    """Serve until the user interrupts."""
    import uvicorn

    site = create_site(options)
    warm_up(site)
    config = uvicorn.Config(
        create_app(site),
        log_level="warning",
        access_log=False,  # a URL may contain the access token
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    config.load()
    listener = listen(options.host, options.port, strict=options.strict_port)
    url = security.url_with_token(f"http://{_url_host(options.host)}:{listener.getsockname()[1]}/", site)
    notify(f"wug view at {url}\n{options.store}\nThe address is for you alone. Ctrl-C ends it")
    timer = threading.Timer(PREFETCH_DELAY_SECONDS, _prefetch_charts, args=(site,))
    timer.daemon = True
    timer.start()
    server = uvicorn.Server(config)
    try:
        with _browser(url, notify) if options.open_browser else nullcontext():
            server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # the usual way to stop it
    finally:
        listener.close()
        site.store.close()
    notify("ended")


def warm_up(site: Site) -> None:
    """Load what every page needs, so that the first one does not wait for it."""
    for name in environment().list_templates(["html"]):
        environment().get_template(name)
    for kind in registry.names("families"):
        view_of(kind)
    build_grid(grid_source(site), RunQuery())


def create_site(options: ServerOptions) -> Site:
    """The site for the options of `wug view`."""
    everywhere = options.host in ("0.0.0.0", "::", "")
    names = {options.host.lower(), *((socket.gethostname().lower(), socket.getfqdn().lower()) if everywhere else ())}
    wanted_token = options.access_token
    token = {} if wanted_token is None else {"access_token": security.validate_access_token(wanted_token)}
    return Site(
        store=Store(options.store),
        cache=options.cache,
        folders=options.folders,
        models=tuple(dict.fromkeys([*builtin_models(), *options.models])),
        hosts=LOOPBACK_HOSTS | (frozenset(names) - {"", "0.0.0.0", "::"}),
        any_ip_address=everywhere,
        **token,
    )


def listen(host: str, port: int, *, strict: bool = False) -> socket.socket:
    """A listening socket at the port, or at a free one if it is taken and not `strict`."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in (port, 0):
        listener = socket.socket(kind, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
        except OSError as error:
            listener.close()
            if candidate == 0 or isinstance(error, socket.gaierror):
                raise WugError(f"cannot listen at {host!r}: {error.strerror or error}. Choose another --host") from None
            if strict and error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise WugError(
                    f"port {port} cannot be used: {error.strerror or error}. Choose another --port; 0 takes a free one"
                ) from None
            continue
        listener.listen(1024)
        return listener
    raise AssertionError("unreachable: port 0 always binds or raises")


@contextmanager
def _browser(url: str, notify: Callable[[str], None]) -> Iterator[None]:
    """Open the browser at a file that redirects to the URL and that only its owner can read.

    All users of a machine can read command lines, so the URL must not be an argument.
    """
    path: Path | None = None
    try:
        try:
            handle, name = tempfile.mkstemp(prefix="wug-view-", suffix=".html")
            path = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(_REDIRECT.format(escape(url)))
            threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        except OSError as error:
            notify(f"The browser is not opened ({error.strerror or error}): open the address yourself")
        yield
    finally:
        if path is not None:
            path.unlink(missing_ok=True)


_REDIRECT = (
    '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="referrer" content="no-referrer">\n'
    '<meta http-equiv="refresh" content="0; url={0}">\n<title>wug view</title>\n<p><a href="{0}">wug view</a></p>\n'
)


def _url_host(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _prefetch_charts(site: Site) -> None:
    """Load what the first chart needs, while the user reads the first page."""
    try:
        downloads.vega_script(site.cache.parent)
        vega.altair()
    except WugError:
        return  # reported with the first chart
