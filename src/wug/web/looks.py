"""A result as the site looks at it: without its outcomes, which are read page by page."""

from __future__ import annotations

from dataclasses import dataclass

from wug.rows import Rows
from wug.runs.shelf import Run, Summary
from wug.show.numbers import Shown, shown
from wug.show.view import Items, Part
from wug.show.views import items_of, parts_of
from wug.types import Result, Signature
from wug.web.site import Site


@dataclass(frozen=True, slots=True)
class Look:
    """A result that is looked at, and where its outcomes are."""

    id: int
    result: Result
    run: Run
    rows: Rows
    items: Items
    counts: dict[str, int]
    """How many items pass, fail and are not judged, by the check that stands for them."""

    @property
    def parts(self) -> list[Part]:
        """What there is to see of it, in the order of reading."""
        return list(parts_of(self.result, self.rows))

    @property
    def address(self) -> str:
        """Of the page about it."""
        return f"/result/{self.id}"


def look_at(site: Site, number: int) -> Look:
    """A result, or an error that says that it is not there or damaged."""
    result, run = site.shelf.result(number)
    rows = site.shelf.rows(number)
    items = items_of(result, rows)
    return Look(number, result, run, rows, items, rows.tally(items.check))


def headline(summary: Summary) -> Shown | None:
    """What stands for a result in the grid; None where it has no estimate."""
    result = Result(
        summary.suite,
        summary.kind,
        summary.model,
        summary.status,
        Signature(),
        summary.n,
        summary.estimates,
        checks=summary.checks,
    )
    return headline_of(result)


def headline_of(result: Result) -> Shown | None:
    """The same, of a result."""
    return None if result.headline is None else shown(result, result.headline)
