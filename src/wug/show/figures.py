"""The charts that a report would show of some results, to have one alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wug.errors import InputError
from wug.show import charts
from wug.show.families import Figure, overall
from wug.show.page import Report, figures_of
from wug.types import Result


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
    overview, sections = figures_of([Report(result) for result in results])
    if overview is not None:
        yield overview
    met = False
    for values in sections:
        for figure in within(values):
            met = True
            yield figure
    if not met and overview is None:
        yield from _plain(results)


def _plain(results: Sequence[Result]) -> Iterator[Figure]:
    """The shares of results that have no chart of their own, as dots."""
    rows = [row for result in results for row in overall(result) if row.share]
    if rows:
        yield Figure(
            id="checks",
            chart=charts.accuracy([charts.Point(row.name, row.value, row.low, row.high, row.n) for row in rows]),
            title="Every check",
            note="With 95 % intervals.",
            columns=("check", "value", "95 % interval", "n"),
            rows=tuple((row.name, row.text, row.interval, str(row.n)) for row in rows),
        )


def within(values: Any) -> Iterator[Figure]:
    """The charts among what a template shows."""
    if isinstance(values, Figure):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from within(value)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from within(value)
