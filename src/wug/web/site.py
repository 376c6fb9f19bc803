"""State and services that all pages share: the run store, allowed folders and models, tokens, templates."""

from __future__ import annotations

import functools
import json
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from wug import registry
from wug.errors import InputError
from wug.formatting import number
from wug.outcomes import Value
from wug.results.reader import RunReader
from wug.results.store import Store
from wug.views.templating import view_environment

Row = TypeVar("Row")
DEFAULT_SORT = "-newest"
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class ForbiddenPath(InputError):
    """A path outside the allowed folders."""


class NavLink(NamedTuple):
    """A link in the navigation bar."""

    label: str
    path: str
    order: int


@dataclass(frozen=True, slots=True)
class Site:
    """Configuration and shared services of one server."""

    store: Store
    """The run store, for writing."""
    cache: Path
    """The file with cached model outputs."""
    folders: tuple[Path, ...] = ()
    """The only folders that may be read and written. Relative names are resolved against the first."""
    models: tuple[str, ...] = ()
    """Models that may be evaluated: the built-in ones and those given on the command line."""
    csrf_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """Required with every write; changes with every start."""
    access_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """Required with every request: in the printed URL, then in a cookie."""
    hosts: frozenset[str] = LOOPBACK_HOSTS
    """Accepted host names."""
    any_ip_address: bool = False
    """Accept any IP address as host: the server listens on all interfaces."""
    reader: RunReader = field(init=False)
    """The run store, for reading page by page without blocking a writer."""
    store_identity: tuple[int, int] = field(init=False)
    """Device and inode of the file that `store` has open."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reader", RunReader(self.store.path))
        object.__setattr__(self, "store_identity", self.reader.identity())

    def render(self, request: Request, template: str, *, status: int = 200, **context: object) -> HTMLResponse:
        """Render a template that extends `base.html` as the response to a request."""
        text = (
            environment()
            .get_template(template)
            .render(
                path=request.url.path,
                query_string=f"?{request.url.query}" if request.url.query else "",
                query=dict(request.query_params),
                site=self,
                navigation=navigation(),
                **context,
            )
        )
        return HTMLResponse(make_printable(text), status_code=status)

    @contextmanager
    def open_store(self) -> Iterator[Store]:
        """The store for writing; reopened if another file has taken its place."""
        if self.reader.identity() == self.store_identity:
            yield self.store
            return
        self.reader.state()  # raises if the file is not a store: it must not be turned into one
        with closing(Store(self.reader.path)) as store:
            yield store

    def resolve_path(self, name: str) -> Path:
        """Resolve the name of a file or folder; ForbiddenPath if it is outside the allowed folders."""
        quoted = repr(name if len(name) <= 80 else f"{name[:80]}…")
        if not name or "\0" in name:
            raise ForbiddenPath(f"{quoted} is not a file name")
        try:
            requested_path = Path(name).expanduser()
            roots = [folder.resolve() for folder in self.folders]
            candidates = [requested_path] if requested_path.is_absolute() else [root / requested_path for root in roots]
            allowed_paths = [
                path
                for candidate in candidates
                if any((path := candidate.resolve()).is_relative_to(root) for root in roots)
            ]
            existing_path = next((path for path in allowed_paths if path.exists()), None)
        except (OSError, RuntimeError, ValueError) as error:  # too long, a symlink loop, a lone surrogate, `~nobody`
            reason = error.strerror if isinstance(error, OSError) else "it is not a valid path"
            raise InputError(f"{quoted} cannot be the name of a file: {reason}") from None
        if not allowed_paths:
            folders = ", ".join(map(str, self.folders)) or "none"
            raise ForbiddenPath(f"{quoted} is outside the folders that this page may use ({folders}). Choose: --folder")
        return existing_path or allowed_paths[0]


class JsonResponse(JSONResponse):
    """JSON in ASCII, so that lone surrogates survive."""

    def render(self, content: object) -> bytes:
        """Serialise the content."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site: Site = request.app.state.site
    return site


def wants_json(path: str, headers: Headers) -> bool:
    """Whether the response to a request should be JSON."""
    return (
        path.endswith(".json") or "x-wug-token" in headers or headers.get("accept", "").startswith("application/json")
    )


@functools.cache
def navigation() -> tuple[NavLink, ...]:
    """Links of the navigation bar, in order."""
    links = (getattr(module, "NAV", None) for _, module in registry.modules("web.pages"))
    return tuple(sorted(filter(None, links), key=lambda link: link.order))


def parse_page_number(text: str) -> int:
    """The page number in a query parameter; 1 if it is not a number."""
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1


class RowPage(NamedTuple, Generic[Row]):
    """Some of many rows."""

    rows: Sequence[Row]
    page: int
    pages: int
    total: int
    """Rows on all pages."""
    first: int
    """Rank of the first row among all, from 1."""

    @property
    def last(self) -> int:
        """Rank of the last row."""
        return self.first + len(self.rows) - 1


def page_of(rows: Sequence[Row], page: int, size: int) -> RowPage[Row]:
    """One page of rows; the last one if the number is too high."""
    pages = max(1, -(-len(rows) // size))
    page = min(page, pages)
    start = (page - 1) * size
    return RowPage(rows[start : start + size], page, pages, len(rows), start + 1)


def build_url(path: str, parameters: Mapping[str, object]) -> str:
    """Path and query string; None and "" are left out, a tuple gives one parameter per value."""
    pairs = [
        (key, entry) for key, value in parameters.items() for entry in (value if isinstance(value, tuple) else (value,))
    ]
    query = urlencode([(key, value) for key, value in pairs if value not in (None, "")], errors="replace")
    return f"{path}?{query}" if query else path


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Query parameters of the grid and of the list of runs: filters, order and page."""

    text: str = ""
    """Part of a model's name; for a run also of the run's name, id, command, note or suites."""
    kind: str = ""
    """The family."""
    phenomenon: str = ""
    suite: str = ""
    """Part of a suite's name."""
    model: str = ""
    """A model's id."""
    status: str = ""
    show: str = ""
    """`drafts` or `removed`; anything else for the other runs."""
    sort: str = DEFAULT_SORT
    """A column, or `suite:NAME`; descending with `-` in front."""
    page: int = 1
    columns: int = 1
    """The page of suites."""

    @classmethod
    def parse(cls, query: QueryParams) -> RunQuery:
        """Parse query parameters; invalid values are ignored."""
        words = {name: query.get(name, "") for name in ("kind", "phenomenon", "suite", "model", "status", "show")}
        page, columns = (parse_page_number(query.get(name, "")) for name in ("page", "columns"))
        text, sort = query.get("q", "").strip(), query.get("sort") or DEFAULT_SORT
        return cls(text=text, sort=sort, page=page, columns=columns, **words)

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.text or self.kind or self.phenomenon or self.suite or self.model or self.status)

    def url(self, path: str = "/", **changes: object) -> str:
        """The URL of this query with some fields changed."""
        values = {field.name: changes.get(field.name, getattr(self, field.name)) for field in fields(self)}
        changed = {name: value for name, value in values.items() if value != getattr(RunQuery(), name)}
        return build_url(path, {"q" if name == "text" else name: value for name, value in changed.items()})

    def sort_url(self, column: str, path: str = "/") -> str:
        """The URL that sorts by a column; reversed if it is sorted by it already."""
        descending = column in ("newest", "run", "started", "suites") or column.startswith("suite:")
        first_order, second_order = (f"-{column}", column) if descending else (column, f"-{column}")
        return self.url(path, sort=second_order if self.sort == first_order else first_order, page=1)


@functools.cache
def environment() -> Environment:
    """The Jinja environment; a template of the site overrides one of the report with the same name."""
    templates = [PackageLoader("wug.web", "templates"), PackageLoader("wug.views", "templates")]
    jinja = view_environment(ChoiceLoader(templates))
    jinja.filters["urlquote"] = lambda text: quote(str(text), safe="", errors="replace")
    jinja.filters["shell"] = lambda text: shlex.quote(str(text))
    jinja.globals["verdict"] = verdict
    jinja.tests["printable"] = lambda text: make_printable(text) == text
    return jinja


def make_printable(text: str) -> str:
    """Replace control characters by their Unicode pictures, and lone surrogates by U+FFFD."""
    return _UNPRINTABLE.sub(_replacement, text)


def verdict(value: Value) -> Markup:
    """HTML for the value of an outcome: a coloured word, or a number."""
    match value:
        case True:
            kind, word = "true", "passes"
        case False:
            kind, word = "false", "fails"
        case None:
            kind, word = "none", "not judged"
        case _:
            kind, word = "number", number(value)
    return Markup('<span class="verdict {}">{}</span>').format(kind, word)


def _replacement(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\u2421" if code == 0x7F else chr(0x2400 + code) if code < 0x20 else "\ufffd"
