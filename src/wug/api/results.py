"""`wug.Results` and `wug.Store`: results as tables and figures, and the runs in a store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from wug.arguments import members, public
from wug.configuration import config, default_store
from wug.errors import InputError, UnknownName
from wug.files import user_path
from wug.labels import html, result_line, short_names
from wug.outcomes import Outcome, Result
from wug.results import store as results_store
from wug.results.average import PoolBy, pool
from wug.results.records import Run
from wug.tables import Table, Tabulated

if TYPE_CHECKING:
    import altair

MAX_SHOWN = 12
"""Results that `repr` lists."""
OUTCOME_COLUMNS = ("suite", "kind", "model", "item", "metric", "value")
"""The first columns of every table of outcomes."""


@members(public)
class Results(Tabulated, Sequence[Result]):
    """A list of results, one per suite and model; as a table, one row per estimate.

    Examples:
        >>> results = wug.run("wug_agreement_pp", ["wug-causal", "wug-lstm"], limit=8)
        >>> len(results.select(model="wug-lstm"))
        1
    """

    __slots__ = ("_results", "runs", "store")

    def __init__(self, results: Iterable[Result], *, runs: Iterable[int] = (), store: Path | None = None) -> None:
        self._results = tuple(results)
        if not all(isinstance(result, Result) for result in self._results):
            raise InputError("Results takes results, as wug.run(…) returns them")
        self.runs = tuple(runs)
        """The numbers of the stored runs, one per model."""
        self.store = store
        """The folder of the store; None if nothing is stored."""

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice | str) -> Results: ...
    def __getitem__(self, index: object) -> Result | Results:
        if isinstance(index, str):
            return self.select(suite=index)
        if not isinstance(index, (int, slice)):
            raise InputError(f"results[{index!r}]: write a number, a slice, or the name of a suite")
        selection = self._results[index]
        return selection if isinstance(selection, Result) else Results(selection, runs=self.runs, store=self.store)

    def __repr__(self) -> str:
        names = short_names(result.model for result in self._results)
        lines = [f"  {result_line(result, names)}" for result in self._results[:MAX_SHOWN]]
        further_line = [f"  and {len(self) - MAX_SHOWN:,} more"] if len(self) > MAX_SHOWN else []
        return "\n".join([f"<Results of {len(self):,}>", *lines, *further_line])

    def _repr_html_(self) -> str:
        return html(self._results)

    def select(self, suite: str | None = None, model: str | None = None, metric: str | None = None) -> Results:
        """The results of a suite, of a model, or with one metric only.

        Args:
            suite: The name of the suite.
            model: The id of the model, or its short name.
            metric: The name of the metric.

        Examples:
            >>> results = wug.run("wug_coord", ["wug-causal", "wug-lstm"], limit=8)
            >>> frame = results.select(model="wug-lstm", metric="accuracy").to_pandas()
        """
        names = short_names(result.model for result in self._results)
        metrics = {estimate.metric for result in self._results for estimate in result.estimates}
        known_names = {"suite": {r.suite for r in self}, "model": {*names, *names.values()}, "metric": metrics}
        for parameter, name in (("suite", suite), ("model", model), ("metric", metric)):
            if name is not None and name not in known_names[parameter]:
                raise UnknownName(parameter, name, known_names[parameter])
        selection = [
            result
            for result in self._results
            if suite in (None, result.suite) and model in (None, result.model, names[result.model])
        ]
        if metric is not None:
            selection = [with_metric(result, metric) for result in selection]
        return Results(selection, runs=self.runs, store=self.store)

    def pool(self, by: PoolBy = "seed") -> Results:
        """The mean of each estimate over runs that differ in their seed alone, give or take one standard deviation.

        Args:
            by: "seed": models whose names differ in `seed1`, `seed2`, … alone, or that were run with different seeds;
                "model": all models on a suite.

        Raises:
            InputError: If there is nothing to pool.
        """
        return Results(pool(self._results, by))

    def to_latex(self, *, wide: bool = False, labels: Mapping[str, str] | None = None) -> str:
        """The estimates as a LaTeX table; with `wide`, the headlines of models (rows) on suites (columns).

        Args:
            wide: One row per model and one column per suite, with the best value of each suite in bold.
            labels: Names for models in a wide table, by their ids or short names.
        """
        from wug.tables import render_table
        from wug.views.result_tables import estimate_table, wide_table

        return render_table(wide_table(self._results, labels) if wide else estimate_table(self._results), "latex")

    @property
    def estimates(self) -> Table:
        """One row per estimate, over all items and by group."""
        from wug.views.result_tables import estimate_table

        table = estimate_table(self._results)
        return Table.of_tuples(table.names, table.values(), table.kinds)

    @property
    def outcomes(self) -> Table:
        """One row per outcome, with a column for each group field and each detail.

        Nested details have their path as a name (`conditions.match_sing.sentence`); lists stay lists.
        """
        rows = [_row(result, outcome) for result in self._results for outcome in result.outcomes]
        empty_table = Table.of_tuples(OUTCOME_COLUMNS, (), dict.fromkeys(OUTCOME_COLUMNS[:-1], str))
        return Table.of_rows(rows) if rows else empty_table

    def _as_table(self) -> Table:
        return self.estimates

    def plot(
        self,
        title: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        width: int | None = None,
        height: int | None = None,
        font_size: int | None = None,
        palette: str | Sequence[str] | None = None,
    ) -> altair.LayerChart:
        """The figure of these results, for a notebook: an overview, or for one result the first figure of its family.

        Args:
            title: Chooses the figure with this text in its title, if there are several.
            labels: Names for models, by their ids or short names.
            width: Pixels, without the labels of the axes.
            height: Pixels.
            font_size: Of labels; titles are larger in proportion.
            palette: "default", "grey", "okabe-ito", or a list of colours such as "#0072b2".
        """
        from wug.views import chart_files, vega
        from wug.views.chart_files import ChartStyle
        from wug.views.report import choose_figure

        style = ChartStyle(width, height, font_size, palette, labels or {})
        figure = choose_figure(style.relabelled(self._results), title)
        return vega.styled_chart(chart_files.titled_chart(figure, style.title_characters), style.apply)


@members(public)
class Store:
    """The runs in a store.

    Examples:
        >>> wug.open_store("runs").results(1)[0].suite
        'wug_agreement_pp'
    """

    __slots__ = ("_store", "path")

    def __init__(self, path: Path) -> None:
        if not isinstance(path, Path):
            raise InputError("wug.open_store(…) opens a store")
        self.path = path
        self._store = results_store.Store(path)

    def runs(self) -> Table:
        """One row per run, the latest first: its number, status, model and time."""
        names = [field.name for field in fields(Run)]
        runs = self._store.runs()
        kinds = {"id": int, "suites": int, "finished": str, "specification": str, "revision": str}
        return Table({name: [getattr(run, name) for run in runs] for name in names}, kinds)

    def results(self, *numbers: int) -> Results:
        """The results of the runs with these numbers, or of all, in order."""
        run_numbers = list(dict.fromkeys(numbers)) or sorted(run.id for run in self._store.runs())
        results = [result for number in run_numbers for result in self._store.results(number)]
        return Results(results, runs=run_numbers, store=self.path)

    def __repr__(self) -> str:
        return f"<Store {self.path}: {len(self._store.runs()):,} runs>"

    def _repr_html_(self) -> str:
        return self.runs()._repr_html_()


@public
def open_store(path: str | Path | None = None) -> Store:
    """Open a run store.

    Args:
        path: The folder of the store; by default that of the command line (`wug config`).

    Returns:
        A store: `.runs()` lists its runs, `.results(7)` returns the results of run 7.

    Raises:
        InputError: If there is no such folder.

    Examples:
        >>> store = wug.open_store("runs")
        >>> frame = store.results(1).to_pandas()
    """
    file = user_path(path or config().store or default_store())
    if not file.exists():
        raise InputError("no such folder. A store is made by wug.run(…, store=…) or by `wug run`", file=file)
    return Store(file)


@public
def import_results(
    files: str | Path | Sequence[str | Path],
    *,
    store: str | Path,
    format: str | None = None,
    model: str | None = None,
    sweep: str | None = None,
) -> Results:
    """Results of another evaluation program, stored as runs: one per model and checkpoint.

    Args:
        files: Files and folders: results and samples of lm-eval, Every Eval Ever, logs of inspect, and others.
        store: The folder of the store.
        format: The format, such as `lm-eval`; recognised by content by default.
        model: The name of the model, such as `gpt2@step1000`; as in the files by default.
        sweep: The name of the sweep that the runs become part of.

    Returns:
        The results of all runs, also of those that were imported before.

    Raises:
        InputError: If a file is damaged or of no known format, or two files contradict each other.

    Examples:
        >>> results = wug.import_results("results/", store="runs")
    """
    from wug.exchange.importing import import_files

    paths = [files] if isinstance(files, str | Path) else list(files)
    target = results_store.Store(user_path(store))
    imports = import_files(
        [user_path(file) for file in paths],
        target,
        format=format,
        model=model,
        sweep=sweep,
        command="wug.import_results(…)",
    )
    results = (result for stored_import in imports for result in stored_import.results)
    return Results(results, runs=(stored_import.number for stored_import in imports), store=target.path)


def with_metric(result: Result, metric: str) -> Result:
    """The result with the estimates and outcomes of one metric; those of a mean effect are the effects of items."""
    derivation = result.metric(metric).derived
    if derivation is None or derivation.standardised:
        outcomes = [outcome for outcome in result.outcomes if outcome.metric == metric]
    else:
        values = [(o, derivation.value(o.detail)) for o in result.outcomes if o.metric == derivation.metric]
        outcomes = [replace(o, metric=metric, value=value if math.isfinite(value) else None) for o, value in values]
    return replace(
        result,
        estimates=tuple(estimate for estimate in result.estimates if estimate.metric == metric),
        outcomes=tuple(outcomes),
        metrics=tuple(replace(m, derived=None) if m.name == metric else m for m in result.metrics),
    )


def _row(result: Result, outcome: Outcome) -> dict[str, object]:
    values = (result.suite, result.kind, result.model, outcome.item, outcome.metric, outcome.value)
    leading_cells = dict(zip(OUTCOME_COLUMNS, values, strict=True))
    groups, details = outcome.groups, _flatten(outcome.detail)
    return {
        **leading_cells,
        **_without_clashes(groups, "group", leading_cells),
        **_without_clashes(details, "detail", leading_cells),
    }


def _without_clashes(values: Mapping[str, object], prefix: str, used_names: Mapping[str, object]) -> dict[str, object]:
    return {f"{prefix}.{name}" if name in used_names else name: value for name, value in values.items()}


def _flatten(values: Mapping[str, object], path: str = "") -> dict[str, object]:
    """Nested values by their paths."""
    by_path: dict[str, object] = {}
    for name, value in values.items():
        by_path |= _flatten(value, f"{path}{name}.") if isinstance(value, Mapping) else {f"{path}{name}": value}
    return by_path
