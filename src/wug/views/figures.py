"""The charts that a report would show of some results, to have one alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from wug.errors import InputError
from wug.rows import rows_of
from wug.types import Result
from wug.views import charts
from wug.views.family_views import figures_of
from wug.views.grouped import point, record
from wug.views.numbers import headlines
from wug.views.page import overview_of
from wug.views.parts import Figure


def choose(results: Sequence[Result], title: str | None = None) -> Figure:
    """One chart: of a single result its first, of several the overview; or the one whose title has the word `title`."""
    found = list(every(results))
    if not found:
        raise InputError("there is no chart of these results")
    if title is None:
        return found[0]
    fitting = [figure for figure in found if title.lower() in figure.title.lower()]
    if not fitting:
        titles = ", ".join(repr(name) for name in dict.fromkeys(figure.title for figure in found))
        raise InputError(f"no chart has {title!r} in its title. There is: {titles}")
    return fitting[0]


def every(results: Sequence[Result]) -> Iterator[Figure]:
    """All charts: the overview, where there are several results, then those of each."""
    overview = overview_of(results)
    found = [figure for result in results for figure in figures_of(result, rows_of(result))]
    yield from [*([overview] if overview else []), *found] or _plain(results)


def _plain(results: Sequence[Result]) -> Iterator[Figure]:
    """The shares of results that have no chart of their own, as dots."""
    rows = [row for result in results for row in headlines(result) if row.share]
    if rows:
        yield Figure(
            id="checks",
            draw=partial(charts.accuracy, [point(row, name=row.name) for row in rows]),
            title="Every check",
            note="With 95 % intervals.",
            columns=("check", "value", "95 % interval", "n"),
            rows=tuple((row.name, row.text, row.interval, str(row.n)) for row in rows),
            records=tuple({"check": row.check, **record(point(row), "value")} for row in rows),
        )
