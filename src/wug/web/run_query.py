"""Query parameters of the grid and of the list of runs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from starlette.datastructures import QueryParams

from wug.web.site import build_url, parse_page_number

MAX_PINS = 20
"""Maximum number of pinned rows or columns."""
PARAMETERS = {"text": "q", "pins": "pin", "pinned_suites": "pincol"}
"""Names of query parameters that differ from the field."""
DEFAULT_SORT = "-newest"


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Filters, order, page and pins."""

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
    pins: tuple[str, ...] = ()
    """Keys of rows that come first."""
    pinned_suites: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: QueryParams) -> RunQuery:
        """Parse query parameters; invalid values are ignored."""
        words = {name: query.get(name, "") for name in ("kind", "phenomenon", "suite", "model", "status", "show")}
        return cls(
            text=query.get("q", "").strip(),
            sort=query.get("sort") or DEFAULT_SORT,
            page=parse_page_number(query.get("page", "")),
            columns=parse_page_number(query.get("columns", "")),
            pins=tuple(dict.fromkeys(query.getlist("pin")))[:MAX_PINS],
            pinned_suites=tuple(dict.fromkeys(query.getlist("pincol")))[:MAX_PINS],
            **words,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.text or self.kind or self.phenomenon or self.suite or self.model or self.status)

    def url(self, path: str = "/", **changed: object) -> str:
        """The URL of this query with some fields changed."""
        default = RunQuery()
        given: dict[str, object] = {}
        for field in fields(self):
            value = changed.get(field.name, getattr(self, field.name))
            given[PARAMETERS.get(field.name, field.name)] = "" if value == getattr(default, field.name) else value
        return build_url(path, given)

    def sort_url(self, column: str, path: str = "/") -> str:
        """The URL that sorts by a column; reversed if it is sorted by it already."""
        descending = column in ("newest", "run", "started", "suites") or column.startswith("suite:")
        first, second = (f"-{column}", column) if descending else (column, f"-{column}")
        return self.url(path, sort=second if self.sort == first else first, page=1)

    def pin_url(self, key: str) -> str:
        """The URL that pins a row, or unpins it."""
        return self.url(pins=_toggled(self.pins, key))

    def pin_suite_url(self, suite: str) -> str:
        """The URL that pins a column, or unpins it."""
        return self.url(pinned_suites=_toggled(self.pinned_suites, suite))


def _toggled(pins: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(pin for pin in pins if pin != key) if key in pins else (*pins, key)
