"""Results compared item by item: who is ahead, by how much, how surely."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.arguments import members, public
from wug.errors import InputError, UnknownName
from wug.results import comparison as runs
from wug.results.store import Store
from wug.tables import Table
from wug.types import Result

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow


@members(public)
class Comparison:
    """Differences of the sides from the first, on the items that they share; as a table, one row a difference."""

    __slots__ = ("found",)

    def __init__(self, found: runs.Comparison) -> None:
        self.found = found
        """As the rest of wug knows it."""

    @property
    def contrasts(self) -> Sequence[runs.Contrast]:
        """Each difference with its interval, its p-value and the items on which the sides differ."""
        return self.found.contrasts

    @property
    def warnings(self) -> Sequence[str]:
        """About suites that were left out, or that were not asked in the same way."""
        return self.found.warnings

    @property
    def table(self) -> Table:
        """One row per difference."""
        from wug.views.comparison import COLUMNS, rows

        found = list(rows(self.found))
        return Table({name: [row[place] for row in found] for place, name in enumerate(COLUMNS)})

    def to_pandas(self) -> pandas.DataFrame:
        """The differences as a data frame of pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The differences as a data frame of Polars."""
        return self.table.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """The differences as a table of Apache Arrow."""
        return self.table.to_arrow()

    def write(self, path: str | Path) -> None:
        """Write the differences to a file by its suffix: .csv, .tsv, .json, .jsonl or .parquet."""
        self.table.write(path)

    def plot(self) -> altair.LayerChart:
        """The differences with their intervals, for a notebook."""
        from wug.views import vega
        from wug.views.comparison_chart import chart

        return vega.dressed(chart(self.found))

    def __len__(self) -> int:
        return len(self.found.contrasts)

    def __repr__(self) -> str:
        from wug.views.comparison import difference, interval, verdict

        sides = ", ".join(f"{side.label} = {side.name}" for side in self.found.sides)
        lines = [f"  {c.suite}, {c.check}: {difference(c)} {interval(c)}, {verdict(c)}" for c in self.contrasts]
        return "\n".join([f"<Comparison of {sides}>", *lines])

    def _repr_html_(self) -> str:
        """The differences with what they mean, for a notebook."""
        from wug.views import comparison

        parts = []
        for first, second, contrasts in comparison.couples(self.found):
            parts.append(
                f"<p>{', '.join(f'<b>{side.label}</b> = {escape(side.name)}' for side in (first, second))}</p>"
            )
            head = "".join(f"<th>{escape(name)}</th>" for name in comparison.head(first.label, second.label))
            rows = ("".join(f"<td>{escape(cell)}</td>" for cell in comparison.line(c)) for c in contrasts)
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        said = [*comparison.notes(self.found), *(f"warning: {text}" for text in comparison.warnings(self.found))]
        return "".join([*parts, *(f"<p><small>{escape(text)}</small></p>" for text in said)])


def results_in(given: Result | Iterable[Any]) -> list[Result]:
    """The results that were given, one or several, or several several times."""
    if isinstance(given, Result):
        return [given]
    if isinstance(given, str):
        raise InputError(f"{given!r} is not a result. Write by={given!r} to say what tells the sides apart")
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InputError(f"{type(given).__name__} is not a result. Give what wug.run(…) or store.results(…) returns")
    return [result for one in given for result in results_in(one)]


def compare(
    results: Iterable[Result | Iterable[Result]],
    by: str | Callable[[Result], str] = "model",
    suites: str | Sequence[str] = (),
    checks: str | Sequence[str] = (),
    *,
    all_pairs: bool = False,
    pool: bool = False,
    items: int = 0,
) -> Comparison:
    """The sides that `by` tells apart, each with the first; a side with several models is their mean."""
    if not isinstance(by, str) and not callable(by):
        raise InputError(f"by={by!r}: write 'model', a field of the signature, or a function from a result to a name")
    if items < 0:
        raise InputError(f"items={items}: write a whole number, 0 or more")
    choice = runs.Choice(_names("suites", suites), _names("checks", checks), all_pairs, pool, items)
    sides = _sides(results_in(results), by)
    with tempfile.TemporaryDirectory(prefix="wug-", ignore_cleanup_errors=True) as folder:
        store = Store(Path(folder) / "compared.db")
        try:
            numbers = [[_keep(store, model, some) for model, some in side.items()] for side in sides.values()]
            return Comparison(runs.compare(store, numbers, choice))
        finally:
            store.close()


def _names(what: str, given: str | Sequence[str]) -> Sequence[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{what}={given!r}: write a name, or a list of names")
    return names


def _sides(results: Sequence[Result], by: str | Callable[[Result], str]) -> dict[str, dict[str, list[Result]]]:
    """Side → model → results, each as first met."""
    sides: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        side = sides.setdefault(by(result) if callable(by) else _value(result, by), {})
        some = side.setdefault(result.model, [])
        if same := [other for other in some if _asked(other) == _asked(result)]:
            field = _difference(same, result)
            remedy = "leave one out"
            if field is not None:
                remedy = f"compare by an option in which they differ, such as by={field!r}, or {remedy}"
            raise InputError(f"{result.model} has two results of {result.suite} on one side: {remedy}")
        some.append(result)
    if len(sides) < 2:
        what = "a function" if callable(by) else repr(by)
        found = f"{len(sides)} side{'s' * (len(sides) != 1)}"
        raise InputError(f"there is nothing to compare: by={what} gives {found}, and two are needed")
    return sides


def _asked(result: Result) -> tuple[str, str | None]:
    """What was asked: the suite with its checksum."""
    return result.suite, result.signature.get("suite")


def _value(result: Result, by: str) -> str:
    """What a result has in the field by which sides are told apart."""
    if by == "model":
        return result.model
    fields = [name for name, _ in result.signature.fields if name not in ("", "suite", "model")]
    value = result.signature.get(by)
    if value is None or by == "suite":
        raise UnknownName("field to compare by", by, ["model", *fields])
    return value


def _difference(some: Sequence[Result], result: Result) -> str | None:
    """A field of the signature in which a result differs from the others; None if there is none."""
    for other in some:
        for name, value in result.signature.fields:
            if other.signature.get(name) != value:
                return name
    return None


def _keep(store: Store, model: str, results: Sequence[Result]) -> int:
    """The number of a run with these results."""
    with store.writing(f"{len(store.runs())}", model, "wug.compare") as (number, _):
        for result in results:
            store.add(number, result)
    return number
