"""A result as the site looks at it: without its outcomes, which are read page by page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wug.brief import short_names
from wug.rows import Rows
from wug.runs.shelf import Run, Summary
from wug.runs.sweep_curves import result_of
from wug.show.numbers import Shown, shown
from wug.show.view import Items, Part
from wug.show.views import items_of, parts_of
from wug.types import Result
from wug.web.site import Site

OTHERS = 100
"""Results of other runs on a suite that there are to choose from."""


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
    name: str
    """What its model is called, as short as it can be in this store."""

    @property
    def parts(self) -> list[Part]:
        """What there is to see of it, in the order of reading."""
        return list(parts_of(self.result, self.rows))

    @property
    def file_name(self) -> str:
        """What files about it begin with: suite and model."""
        return f"{self.result.suite}-{self.name}"

    @property
    def address(self) -> str:
        """Of the page about it."""
        return f"/result/{self.id}"


def look_at(site: Site, number: int) -> Look:
    """A result, or an error that says that it is not there or damaged."""
    result, run = site.shelf.result(number)
    rows = site.shelf.rows(number)
    items = items_of(result, rows)
    name = model_names(site).get(result.model, result.model)
    return Look(number, result, run, rows, items, rows.tally(items.check), name)


def model_names(site: Site) -> dict[str, str]:
    """What the models of the store are called."""
    return short_names(site.shelf.models())


@dataclass(frozen=True, slots=True)
class Named:
    """A result of another run on the same suite, with a name to choose it by."""

    id: int
    name: str


def others(site: Site, look: Look) -> list[Named]:
    """The results that a result can be looked at beside, the latest first."""
    found = site.shelf.siblings(look.id)[:OTHERS]
    names, models = model_names(site), Counter([look.result.model, *(one.model for one in found)])
    return [
        Named(one.id, f"{names[one.model]} (run {one.run})" if models[one.model] > 1 else names[one.model])
        for one in found
    ]


def headline(summary: Summary) -> Shown | None:
    """What stands for a result in the grid; None where it has no estimate."""
    return headline_of(result_of(summary))


def headline_of(result: Result) -> Shown | None:
    """The same, of a result."""
    return None if result.headline is None else shown(result, result.headline)
