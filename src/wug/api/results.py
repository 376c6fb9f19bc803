"""What several models found in several suites: to look at, to compute with, to draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from wug.arguments import members, public
from wug.errors import InputError
from wug.labels import html, line, short_names
from wug.tables import Kind, Table
from wug.types import Outcome, Result

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

LISTED = 12
"""Results that a prompt lists."""
FIXED = ("suite", "kind", "model", "item", "check", "value")
"""The first columns of every table of judgements."""


@members(public)
class Results(Sequence[Result]):
    """Results in order, each a suite and a model; as a table, one row an estimate."""

    __slots__ = ("_results", "runs", "store")

    def __init__(self, results: Iterable[Result], *, runs: Iterable[int] = (), store: Path | None = None) -> None:
        self._results = tuple(results)
        if not all(isinstance(result, Result) for result in self._results):
            raise InputError("Results are made of results, as wug.run(…) returns them")
        self.runs = tuple(runs)
        """The numbers of the runs that are kept, one a model."""
        self.store = store
        """The file that keeps them; None where nothing is kept."""

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: Any) -> Result | Results:
        if not isinstance(place, (int, slice)):
            remedy = f"a result by its suite: [one for one in results if one.suite == {place!r}]"
            raise InputError(f"results[{place!r}]: write a number or a slice; {remedy}")
        found = self._results[place]
        return found if isinstance(found, Result) else Results(found, runs=self.runs, store=self.store)

    def __repr__(self) -> str:
        names = short_names(result.model for result in self._results)
        lines = [f"  {line(result, names)}" for result in self._results[:LISTED]]
        more = [f"  and {len(self) - LISTED:,} more"] if len(self) > LISTED else []
        return "\n".join([f"<Results of {len(self):,}>", *lines, *more])

    def _repr_html_(self) -> str:
        """The estimates for a first look with their intervals, for a notebook."""
        return html(self._results)

    @property
    def estimates(self) -> Table:
        """One row an estimate, over all items and group by group."""
        from wug.views.table import COLUMNS, estimate_rows

        rows = estimate_rows(self._results)
        columns = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
        numbers: dict[str, Kind] = {"value": float, "n": int, "low": float, "high": float}
        return Table(columns, {name: numbers.get(name, str) for name in COLUMNS})

    @property
    def outcomes(self) -> Table:
        """One row a judgement: what it is grouped by and what explains it as columns of their own.

        What is nested has its path as a name (`conditions.match_sing.sentence`); lists stay lists.
        """
        rows = [_row(result, outcome) for result in self._results for outcome in result.outcomes]
        return Table.of_rows(rows) if rows else Table(dict.fromkeys(FIXED, ()), dict.fromkeys(FIXED[:-1], str))

    def to_pandas(self) -> pandas.DataFrame:
        """The estimates as a data frame of pandas."""
        return self.estimates.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The estimates as a data frame of Polars."""
        return self.estimates.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """The estimates as a table of Apache Arrow."""
        return self.estimates.to_arrow()

    def write(self, path: str | Path) -> None:
        """Write the estimates to a file by its suffix: .csv, .tsv, .json, .jsonl or .parquet."""
        self.estimates.write(path)

    def plot(self, title: str | None = None) -> altair.LayerChart:
        """The figure of these results, for a notebook; of a family that has several, the one with `title` in its title.

        A single result has the first figure of its family, several have an overview.
        """
        from wug.views import figures, vega

        return vega.dressed(figures.choose(self._results, title).chart)


def _row(result: Result, outcome: Outcome) -> dict[str, Any]:
    fixed = dict(
        zip(
            FIXED,
            (result.suite, result.kind, result.model, outcome.item, outcome.check, outcome.value),
            strict=True,
        )
    )
    return {**fixed, **_apart(outcome.groups, "group", fixed), **_apart(_unfolded(outcome.detail), "detail", fixed)}


def _apart(values: Mapping[str, Any], what: str, taken: Mapping[str, Any]) -> dict[str, Any]:
    """The values under names of their own."""
    return {f"{what}.{name}" if name in taken else name: value for name, value in values.items()}


def _unfolded(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """What is nested under the path to it."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _unfolded(value, f"{path}{name}.")
        else:
            found[f"{path}{name}"] = value
    return found
