"""The server process: its socket, URL and shutdown."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from wug import registry
from wug.errors import WugError
from wug.evaluation.models import builtin_models
from wug.results.store import Store
from wug.views import family_views as views
from wug.views import vega
from wug.web import downloads, security
from wug.web.pages import runs
from wug.web.run_query import RunQuery
from wug.web.site import LOOPBACK_HOSTS, Site, environment, template_names

PREFETCH_DELAY_SECONDS = 1.0
"""Time after the start at which the first page has been sent."""


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

    from wug.web.app import create_app

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
    for name in template_names():
        environment().get_template(name)
    for kind in registry.names("families"):
        views.view_of(kind)
    runs.result_grid(site, RunQuery())


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
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host


def _prefetch_charts(site: Site) -> None:
    """Load what the first chart needs, while the user reads the first page."""
    try:
        downloads.vega_script(site.cache.parent)
        vega.altair()
    except WugError:
        return  # reported with the first chart
