"""The server: the address it has, who may come, how it ends."""

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
from wug.runs.opening import builtin_models
from wug.runs.store import Store
from wug.show import vega, views
from wug.web import authentication, chart_rendering, templating
from wug.web.pages import runs
from wug.web.pages.runs.grid_query import Wanted
from wug.web.site import LOOPBACK, Site

LATER = 1.0
"""Seconds after the start, when the first page is there."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    db: Path
    cache: Path
    folders: tuple[Path, ...]
    models: tuple[str, ...]
    host: str
    port: int
    opens: bool
    strict: bool = False
    """Whether it must be this port."""
    secret: str | None = field(default=None, repr=False)
    """What lets a browser in; None for one that is made up."""


def serve(options: Options, say: Callable[[str], None]) -> None:
    """Answer until the user ends it."""
    import uvicorn

    from wug.web.app import create

    site = site_of(options)
    prepare(site)
    config = uvicorn.Config(
        create(site),
        log_level="warning",
        access_log=False,  # an address may hold the secret
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    config.load()
    taken = listen(options.host, options.port, strict=options.strict)
    address = authentication.with_secret(f"http://{_shown(options.host)}:{taken.getsockname()[1]}/", site)
    say(f"wug view at {address}\n{options.db}\nThe address is for you alone. Ctrl-C ends it")
    later = threading.Timer(LATER, _fetch, args=(site,))
    later.daemon = True
    later.start()
    server = uvicorn.Server(config)
    try:
        with _opened(address, say) if options.opens else nullcontext():
            server.run(sockets=[taken])
    except KeyboardInterrupt:
        pass  # the user ended it: that is how it should end
    finally:
        taken.close()
        site.store.close()
    say("ended")


def prepare(site: Site) -> None:
    """Do once what every page needs, so that the first one does not wait for it."""
    for name in templating.own():
        templating.environment().get_template(name)
    for kind in registry.names("families"):
        views.module_of(kind)
    runs.latest(site, Wanted())


def site_of(options: Options) -> Site:
    """The site that the options describe."""
    everywhere = options.host in ("0.0.0.0", "::", "")
    names = {options.host.lower(), *((socket.gethostname().lower(), socket.getfqdn().lower()) if everywhere else ())}
    return Site(
        store=Store(options.db),
        cache=options.cache,
        folders=options.folders,
        models=tuple(dict.fromkeys([*builtin_models(), *options.models])),
        hosts=LOOPBACK | (frozenset(names) - {"", "0.0.0.0", "::"}),
        any_address=everywhere,
        **({} if options.secret is None else {"secret": authentication.chosen(options.secret)}),
    )


def listen(host: str, port: int, *, strict: bool = False) -> socket.socket:
    """A socket at the port, or at a free one where that is taken; an error instead where it must be this one."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        made = socket.socket(kind, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, wanted))
        except OSError as error:
            made.close()
            if wanted == 0 or isinstance(error, socket.gaierror):
                raise WugError(f"cannot listen at {host!r}: {error.strerror or error}. Choose another --host") from None
            if strict and error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise WugError(
                    f"port {port} cannot be used: {error.strerror or error}. Choose another --port; 0 takes a free one"
                ) from None
            continue
        made.listen(1024)
        return made
    raise AssertionError("a free port is always tried")


@contextmanager
def _opened(address: str, say: Callable[[str], None]) -> Iterator[None]:
    """The browser opened at an address which is told to it in a file that its owner alone can read.

    The command line of a program, the browser's too, can be read by all who work on the machine.
    """
    path: Path | None = None
    try:
        try:
            handle, name = tempfile.mkstemp(prefix="wug-view-", suffix=".html")
            path = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(_LEADS_ON.format(escape(address)))
            threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        except OSError as error:
            say(f"The browser is not opened ({error.strerror or error}): open the address yourself")
        yield
    finally:
        if path is not None:
            path.unlink(missing_ok=True)


_LEADS_ON = (
    '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="referrer" content="no-referrer">\n'
    '<meta http-equiv="refresh" content="0; url={0}">\n<title>wug view</title>\n<p><a href="{0}">wug view</a></p>\n'
)


def _shown(host: str) -> str:
    """A host as it stands in an address."""
    if host in ("0.0.0.0", "::", ""):
        return "localhost"
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host


def _fetch(site: Site) -> None:
    """Fetch what the first chart needs, while the user reads the first page."""
    try:
        chart_rendering.script(site.cache.parent)
        vega.altair()
    except WugError:
        return  # the page of the first chart will say so
