"""What the site shows of a result: a module here is a family's, `other` everyone else's.

A module offers
    SIZE                                items on a page
    check(look) -> str                  the check whose outcomes carry an item's detail
    figures(look, query) -> [Figure]    charts that need no outcomes, or few
    LATER                               names of charts that read outcomes, with their titles
    later(look, name, query) -> Figure | None
    values(look) -> dict                what its template `look_KIND.html` shows besides
    rows(look, items) -> list           items as its template `rows_KIND.html` shows them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.runs.browse import Placed, Shelf
from wug.runs.shelf import Run
from wug.show.families import Place
from wug.types import Outcome, Result


@dataclass(frozen=True, slots=True)
class Look:
    """A result that is looked at, without its outcomes, and where they are."""

    id: int
    result: Result
    run: Run
    shelf: Shelf

    @property
    def place(self) -> Place:
        """For the report's functions: figures are called `f-NAME`, no item is shown."""
        return Place(id="f", room=0, export=f"wug export {self.run.id} --to csv")

    @property
    def headline(self) -> str:
        """The check that stands for the result; empty where it has none."""
        return "" if self.result.headline is None else self.result.headline.check

    @property
    def address(self) -> str:
        """Of the page about it."""
        return f"/result/{self.id}"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a page: the judgement that is looked at, and all others on the same item."""

    place: int
    outcome: Outcome
    every: tuple[Placed, ...]

    def detail(self, key: str) -> Outcome:
        """The outcome that carries a part of the detail; the one looked at where none does."""
        return next((p.outcome for p in self.every if key in p.outcome.detail), self.outcome)

    @property
    def others(self) -> tuple[Outcome, ...]:
        """The judgements besides the one that is looked at."""
        return tuple(p.outcome for p in self.every if p.place != self.place)


Query = Mapping[str, str]
