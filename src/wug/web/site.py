"""What every page knows: the store, what may be read and asked, how a template becomes an answer."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse

from wug import registry
from wug.errors import InputError
from wug.runs.shelf import Shelf
from wug.runs.store import Store
from wug.web import templating

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Forbidden(InputError):
    """A path outside the folders that the user chose."""


class Link(NamedTuple):
    """An entry of the navigation bar."""

    label: str
    path: str
    order: int


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that pages share."""

    store: Store
    """The runs, to write to."""
    cache: Path
    """The file of cached answers."""
    folders: tuple[Path, ...] = ()
    """The only folders that may be read and written; the first is where relative names begin."""
    models: tuple[str, ...] = ()
    """The models that may be asked: built-in ones, and those the user gave."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """What a page must show with every write; new with every start."""
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """What a browser must show to be let in at all: in the printed address, then in a cookie."""
    hosts: frozenset[str] = LOOPBACK
    """The names under which the site may be asked for."""
    any_address: bool = False
    """Whether it may be asked for by any numeric address: the user bound it to all of them."""
    shelf: Shelf = field(init=False)
    """The runs, to read page by page without getting in a writer's way."""
    opened: tuple[int, int] = field(init=False)
    """Which file `store` has open."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shelf", Shelf(self.store.path))
        object.__setattr__(self, "opened", self.shelf.identity())

    def page(self, request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        """A template as the answer to a request; it extends `base.html`."""
        made = templating.environment().get_template(template)
        text = made.render(
            request=request,
            path=request.url.path,
            here=_here(request),
            query=dict(request.query_params),
            site=self,
            token=self.token,
            navigation=navigation(),
            **context,
        )
        return HTMLResponse(templating.visible(text), status_code=status)

    @contextmanager
    def writable(self) -> Iterator[Store]:
        """The store as it is now, to write to: another file may have been put in its place."""
        if self.shelf.identity() == self.opened:
            yield self.store
            return
        self.shelf.state()  # an error where it is no store: none must be made of it
        with closing(Store(self.shelf.path)) as other:
            yield other

    def inside(self, name: str) -> Path:
        """The file or folder that a user names, or Forbidden where it is outside the chosen folders."""
        shown = repr(name if len(name) <= 80 else f"{name[:80]}…")
        if not name or "\0" in name:
            raise Forbidden(f"{shown} is no name of a file")
        try:
            given = Path(name).expanduser()
            roots = [folder.resolve() for folder in self.folders]
            tried = [given] if given.is_absolute() else [root / given for root in roots]
            found = [path for one in tried if any((path := one.resolve()).is_relative_to(root) for root in roots)]
            there = next((path for path in found if path.exists()), None)
        except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, half a character, `~nobody`
            why = error.strerror if isinstance(error, OSError) else "no path can be made of it"
            raise InputError(f"{shown} cannot be the name of a file: {why}") from None
        if not found:
            folders = ", ".join(map(str, self.folders)) or "none"
            raise Forbidden(f"{shown} is outside the folders that this page may use ({folders}). Choose: --folder")
        return there or found[0]


def wants_json(path: str, headers: Headers) -> bool:
    """Whether the answer to a request is for a program."""
    return (
        path.endswith(".json") or "x-wug-token" in headers or headers.get("accept", "").startswith("application/json")
    )


@functools.cache
def navigation() -> tuple[Link, ...]:
    """The navigation bar, in its order."""
    modules = [registry.find("web.pages", name) for name in registry.names("web.pages")]
    given = [getattr(module, "NAV", None) for module in modules]
    return tuple(sorted((Link(*nav) for nav in given if nav), key=lambda link: (link.order, link.label)))


def page_number(text: str) -> int:
    """Which page an address asks for; the first where it makes no sense."""
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1


def _here(request: Request) -> str:
    """The address of the page without the server's, as it may be sent on."""
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def address(path: str, given: Mapping[str, Any]) -> str:
    """A path with its query; what is None or empty is left out, and what is a tuple stands there several times."""
    from urllib.parse import urlencode

    each = [(key, one) for key, value in given.items() for one in (value if isinstance(value, tuple) else (value,))]
    kept = [(key, value) for key, value in each if value not in (None, "")]
    query = urlencode(kept, errors="replace")
    return f"{path}?{query}" if query else path
