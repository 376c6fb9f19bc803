"""Query parameters of the grid and of the list of runs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from starlette.datastructures import QueryParams

from wug.web.site import build_url, parse_page_number

DEFAULT_SORT = "-newest"


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Filters, order and page."""

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
        return cls(
            text=query.get("q", "").strip(),
            sort=query.get("sort") or DEFAULT_SORT,
            page=parse_page_number(query.get("page", "")),
            columns=parse_page_number(query.get("columns", "")),
            **words,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.text or self.kind or self.phenomenon or self.suite or self.model or self.status)

    def url(self, path: str = "/", **changes: object) -> str:
        """The URL of this query with some fields changed."""
        defaults = RunQuery()
        parameters: dict[str, object] = {}
        for field in fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            name = "q" if field.name == "text" else field.name
            parameters[name] = "" if value == getattr(defaults, field.name) else value
        return build_url(path, parameters)

    def sort_url(self, column: str, path: str = "/") -> str:
        """The URL that sorts by a column; reversed if it is sorted by it already."""
        descending = column in ("newest", "run", "started", "suites") or column.startswith("suite:")
        first_order, second_order = (f"-{column}", column) if descending else (column, f"-{column}")
        return self.url(path, sort=second_order if self.sort == first_order else first_order, page=1)
