"""`wug.compare` and `wug.report`: results compared item by item, and as an HTML page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wug.arguments import members, public
from wug.errors import InputError, UnknownName
from wug.files import user_path, write_text
from wug.formatting import plural
from wug.outcomes import Result
from wug.results.comparison import ComparisonSettings, compare_loaded
from wug.results.contrasts import Contrast, RunComparison
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable, table_of
from wug.results.records import Run, StoredResult
from wug.results.result_loader import ResultLoader
from wug.tables import Table, Tabulated, render_table
from wug.views import chart_files, vega
from wug.views import comparison as comparison_text
from wug.views.comparison_charts import chart
from wug.views.report import ReportedResult, render

if TYPE_CHECKING:
    import altair

log = logging.getLogger("wug")


@members(public)
class Comparison(Tabulated):
    """Differences between each side and the first, on shared items; as a table, one row per difference.

    Examples:
        >>> models = ["wug-causal", "wug-lstm"]
        >>> wug.compare(wug.run("wug_agreement_pp", models, limit=8)).table["metric"]
        ['prediction_0', 'prediction_1', 'all_predictions']
    """

    __slots__ = ("comparison",)

    def __init__(self, comparison: RunComparison) -> None:
        self.comparison = comparison
        """The comparison that the command line and the site show."""

    @property
    def contrasts(self) -> Sequence[Contrast]:
        """Each difference with its interval, p-value and differing items."""
        return self.comparison.contrasts

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about suites that were left out, or evaluated with different settings."""
        return self.comparison.warnings

    @property
    def table(self) -> Table:
        """One row per difference."""
        return Table.of_tuples(comparison_text.COLUMNS, map(comparison_text.row, self.comparison.contrasts))

    def _as_table(self) -> Table:
        return self.table

    def plot(self) -> altair.LayerChart:
        """The differences with their intervals, for a notebook."""
        return vega.styled_chart(chart(self.comparison))

    def __len__(self) -> int:
        return len(self.comparison.contrasts)

    def __repr__(self) -> str:
        sides = ", ".join(f"{side.label} = {side.name}" for side in self.comparison.sides)
        lines = []
        for c in self.contrasts:
            row = f"{comparison_text.difference(c)} {comparison_text.interval(c)}, {comparison_text.verdict(c)}"
            lines.append(f"  {c.suite}, {c.metric}: {row}")
        return "\n".join([f"<Comparison of {sides}>", *lines])

    def _repr_html_(self) -> str:
        return render_table(comparison_text.table(self.comparison), "html")


@public
def compare(
    *results: Result | Iterable[Result],
    by: str | Callable[[Result], str] = "model",
    suites: str | Sequence[str] = (),
    metrics: str | Sequence[str] = (),
    all_pairs: bool = False,
    pool: bool = False,
    items: int = 0,
) -> Comparison:
    """Compare results on shared items, with intervals and p-values.

    Args:
        *results: Results, or lists of them.
        by: What distinguishes the sides: the model, a field of the signature such as "bos", or a function that names
            the side of a result. A side with several models is their mean.
        suites: Only these suites; `*` matches anything.
        metrics: Only these metrics; by default the headline metrics of each suite.
        all_pairs: Compare all pairs of sides, not only each side with the first.
        pool: Also pool the right-or-wrong metrics of each suite, and all suites.
        items: The number of differing items to list.

    Returns:
        The differences between the sides.

    Raises:
        InputError: If there are fewer than two sides, or a side has two results of a suite and model.

    Examples:
        >>> results = wug.run("wug_agreement_pp", ["wug-causal", "wug-lstm"], limit=8)
        >>> frame = wug.compare(results).to_pandas()
    """
    if not isinstance(by, str) and not callable(by):
        raise InputError(f"by={by!r}: write 'model', a field of the signature, or a function from a result to a name")
    if items < 0:
        raise InputError(f"items={items}: write a whole number, 0 or more")
    settings = ComparisonSettings(_name_list("suites", suites), _name_list("metrics", metrics), all_pairs, pool, items)
    sides = _sides(_flatten(results), by)
    runs = _LoadedRuns()
    numbers = [[runs.add(model, of_model) for model, of_model in side.items()] for side in sides.values()]
    return Comparison(compare_loaded(ResultLoader(runs), numbers, settings))


@public
def report(results: Result | Iterable[Result], path: str | Path, *, comparison: Comparison | None = None) -> None:
    """Write results as one HTML page that opens offline.

    Args:
        results: One result or several; several models are compared with the first.
        path: The file, which ends in .html.
        comparison: A comparison to show instead.

    Raises:
        InputError: If the file does not end in .html.
        MissingExtra: If the packages that draw charts are not installed.

    Examples:
        >>> wug.report(wug.run("wug_agreement_pp", limit=8), "page.html")
    """
    target, all_results = user_path(path), _flatten(results)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError("a report is an HTML page: name the file .html", file=target)
    if comparison is not None and not isinstance(comparison, Comparison):
        raise InputError(f"comparison={comparison!r}: write wug.compare(…)")
    chart_files.require()
    contrasts = comparison or _compare_models(all_results)
    reports = [ReportedResult(result) for result in all_results]
    page = render(reports, None if contrasts is None else contrasts.comparison)
    write_text(target, page)


def _compare_models(results: Sequence[Result]) -> Comparison | None:
    """Several models compared with the first; None if there is nothing to compare."""
    if len({result.model for result in results}) < 2:
        return None
    try:
        return compare(results, items=comparison_text.DIFFERING_ITEMS)
    except InputError as error:
        log.warning("the page has no comparison: %s", error)
        return None


def _flatten(results: object) -> list[Result]:
    if isinstance(results, Result):
        return [results]
    if isinstance(results, str):
        raise InputError(f"{results!r} is not a result. Write by={results!r} to choose what distinguishes the sides")
    if not isinstance(results, Iterable) or isinstance(results, (bytes, Mapping)):
        raise InputError(f"{type(results).__name__} is not a result. Give what wug.run(…) or store.results(…) returns")
    return [result for part in results for result in _flatten(part)]


def _name_list(parameter: str, value: str | Sequence[str]) -> Sequence[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{parameter}={value!r}: write a name, or a list of names")
    return names


def _sides(results: Sequence[Result], by: str | Callable[[Result], str]) -> dict[str, dict[str, list[Result]]]:
    """Side → model → results, in order."""
    sides: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        side = sides.setdefault(by(result) if callable(by) else _side_name(result, by), {})
        same_model = side.setdefault(result.model, [])
        repeated = next((other for other in same_model if _suite_version(other) == _suite_version(result)), None)
        if repeated is not None:
            fields = (name for name, value in result.signature.fields if repeated.signature.get(name) != value)
            fix = "leave one out"
            if (field := next(fields, None)) is not None:
                fix = f"compare by an option in which they differ, such as by={field!r}, or {fix}"
            raise InputError(f"{result.model} has two results of {result.suite} on one side: {fix}")
        same_model.append(result)
    if len(sides) < 2:
        source = "a function" if callable(by) else repr(by)
        raise InputError(f"nothing to compare: by={source} gives {plural(len(sides), 'side')}, and two are needed")
    return sides


def _suite_version(result: Result) -> tuple[str, str | None]:
    return result.suite, result.signature.get("suite")


def _side_name(result: Result, by: str) -> str:
    """The value of a result in the field that distinguishes sides."""
    if by == "model":
        return result.model
    fields = [name for name, _ in result.signature.fields if name not in ("", "suite", "model")]
    value = result.signature.get(by)
    if value is None or by == "suite":
        raise UnknownName("field to compare by", by, ["model", *fields])
    return value


class _LoadedRuns:
    """Results that are compared as the results of runs, which are numbered from 1."""

    def __init__(self) -> None:
        self._runs: dict[int, Run] = {}
        self._results: dict[int, list[StoredResult]] = {}
        self._tables: list[OutcomeTable] = []

    def add(self, model: str, results: Sequence[Result]) -> int:
        """Add a run with the results of a model; returns its number."""
        number, first = len(self._runs) + 1, len(self._tables)
        self._runs[number] = Run(number, "complete", model, "wug.compare", "", None, len(results))
        self._results[number] = [StoredResult(first + n, number, result) for n, result in enumerate(results)]
        self._tables += (table_of(result.outcomes) for result in results)
        return number

    def runs(self) -> list[Run]:
        return list(self._runs.values())

    def run(self, number: int) -> Run:
        return self._runs[number]

    def stored_by_run(self, runs: Sequence[int]) -> dict[int, list[StoredResult]]:
        return {number: self._results[number] for number in runs}

    def rows(self, result: int, *, keep: bool = False) -> OutcomeTable:
        return self._tables[result]

    def outcome_file(self, result: int) -> OutcomeFile:
        return self._tables[result].locate()
