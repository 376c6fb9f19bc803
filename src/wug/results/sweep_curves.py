"""Learning curves and matrices of sweeps, with seeds averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from wug.errors import InputError, UnknownName
from wug.identity import Group
from wug.outcomes import Result, Signature
from wug.patterns import matches
from wug.results.average import without_seed
from wug.results.comparison import ComparisonSettings, compare_loaded
from wug.results.contrasts import Contrast
from wug.results.learning_curves import CurvePoints, Curves, step_in, training_of, wanted_estimates
from wug.results.reader import RunReader
from wug.results.records import Run, Summary, signature_of_row
from wug.results.result_loader import ResultLoader
from wug.results.store import Store
from wug.results.sweeps import Sweep, members, runs_of
from wug.stats_paired import holm


class Placed(NamedTuple):
    """A run of a sweep, with its training step."""

    run: Run
    step: float
    training: str
    """The model without its step and its seed."""


class MatrixLine(NamedTuple):
    """A model and its result on each suite; None if it has none."""

    model: str
    run: int | None
    status: str
    results: tuple[Result | None, ...]


class SweepMatrix(NamedTuple):
    """Models by suites."""

    suites: tuple[str, ...]
    lines: tuple[MatrixLine, ...]
    signatures: tuple[Signature, ...] = ()


class StepContrast(NamedTuple):
    """Two sweeps on one metric at one training step; without a step, at all steps."""

    step: float | None
    contrast: Contrast


class SweepComparison(NamedTuple):
    """Two sweeps, step by step: second minus first."""

    first: str
    second: str
    steps: tuple[StepContrast, ...]
    """By suite, metric and step; contrasts over all steps come first."""
    warnings: tuple[str, ...] = ()


def placed(runs: Sequence[Run]) -> list[Placed]:
    """The complete runs with a training step in their names."""
    checkpoints = []
    for run in runs:
        if run.status == "complete" and (step := step_in(run)) is not None:
            training = training_of(run.specification or run.model)
            checkpoints.append(Placed(run, step, without_seed(training)))
    return checkpoints


def sweep_curves(
    reader: RunReader,
    sweeps: Sequence[Sweep],
    *,
    suites: Sequence[str] = (),
    metrics: Sequence[str] = (),
    by: str = "",
    trainings: Sequence[str] = (),
) -> Curves:
    """A curve for each suite and training, or for each value of the field `by` (`phenomenon`) of each.

    `trainings` are those that are drawn; all by default. Runs of one training at one step are its seeds: their mean ±
    one standard deviation.
    """
    points = CurvePoints()
    numbers: list[int] = []
    fields: dict[str, None] = {}
    for sweep in sweeps:
        checkpoints = [
            checkpoint
            for checkpoint in placed(runs_of(reader, sweep))
            if not trainings or checkpoint.training in trainings
        ]
        numbers += (checkpoint.run.id for checkpoint in checkpoints)
        results = _results(reader, [checkpoint.run.id for checkpoint in checkpoints], whole=bool(by or metrics))
        for checkpoint in checkpoints:
            series = sweep.name if len(sweeps) > 1 else checkpoint.training
            for result in results.get(checkpoint.run.id, ()):
                if result.status != "complete" or not matches(result.suite, suites):
                    continue
                fields |= dict.fromkeys(field for one in result.estimates if (field := Group.parse(one.group).field))
                for estimate in wanted_estimates(result, metrics, by=by, representative=True):
                    name = Group.parse(estimate.group).value if by else ""
                    points.add(checkpoint.run.id, checkpoint.step, series, result, estimate, name=name)
    curves = points.curves()
    if by and fields and by not in fields:
        raise UnknownName("field", by, fields)
    if not curves:
        names = " and ".join(str(sweep) for sweep in sweeps)
        raise InputError(
            f"{names}: no metric has values at two training steps named by the models (step1000, checkpoint-20), "
            "so there is no curve to draw"
        )
    return Curves(curves, signatures(reader, numbers))


def sweep_matrix(reader: RunReader, sweep: Sweep) -> SweepMatrix:
    """Every model of a sweep by every suite."""
    every = members(reader, sweep)
    runs = [member.run.id for member in every if member.run is not None]
    by_run = {run: {result.suite: result for result in of_run} for run, of_run in _results(reader, runs).items()}
    met = dict.fromkeys(suite for own in by_run.values() for suite in own)
    suites = tuple(dict.fromkeys([*(name for name in sweep.suites if name in met), *met])) or sweep.suites
    lines = []
    for model, run in every:
        own = {} if run is None else by_run.get(run.id, {})
        number, status = (None, "missing") if run is None else (run.id, run.status)
        lines.append(MatrixLine(str(model), number, status, tuple(own.get(suite) for suite in suites)))
    return SweepMatrix(suites, tuple(lines), signatures(reader, runs))


def signatures(reader: RunReader, runs: Sequence[int]) -> tuple[Signature, ...]:
    """The distinct signatures of the results of runs."""
    marks = ",".join("?" * len(runs))
    rows = reader.each(f"SELECT DISTINCT signature FROM results WHERE run IN ({marks})", *runs)
    return tuple(map(signature_of_row, rows))


def compare_sweeps(store: Store, first: Sweep, second: Sweep, choice: ComparisonSettings) -> SweepComparison:
    """Compare two sweeps at each training step that both have, and over all these steps.

    At a step, the runs of a sweep are its seeds, averaged item by item. Over all steps, every step has the same weight,
    whatever its number of seeds. Holm's correction covers all tests.
    """
    sides: list[dict[float, list[int]]] = [{}, {}]
    for side, sweep in zip(sides, (first, second), strict=True):
        for checkpoint in placed(runs_of(store.reader, sweep)):
            side.setdefault(checkpoint.step, []).append(checkpoint.run.id)
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        raise InputError(f"{first} and {second} have no training step in common in the names of their models")
    found: list[StepContrast] = []
    warnings: dict[str, None] = {}
    whole = [[run for step in shared for run in side[step]] for side in sides]
    steps = [[step for step in shared for _ in side[step]] for side in sides] if len(shared) > 1 else None
    loader = ResultLoader(store.reader)
    for step, side_pair in [(None, whole), *((step, [side[step] for side in sides]) for step in shared)]:
        comparison = compare_loaded(loader, side_pair, replace(choice, items=0), steps if step is None else None)
        found += (StepContrast(step, contrast) for contrast in comparison.contrasts)
        warnings |= dict.fromkeys(comparison.warnings)
    corrected = holm([contrast.p for _, contrast in found])
    by_metric: dict[tuple[str, str], list[StepContrast]] = {}
    for (step, contrast), p in zip(found, corrected, strict=True):
        same_metric = by_metric.setdefault((contrast.suite, contrast.metric), [])
        same_metric.append(StepContrast(step, replace(contrast, p_holm=p)))
    return SweepComparison(first.name, second.name, tuple(chain(*by_metric.values())), tuple(warnings))


def _results(reader: RunReader, runs: Sequence[int], *, whole: bool = False) -> dict[int, list[Result]]:
    """The results of runs: from the overview, or complete ones for groups and other metrics."""
    if whole:
        stored_results = reader.stored_by_run(runs)
        return {run: [stored.result for stored in of_run] for run, of_run in stored_results.items()}
    results: dict[int, list[Result]] = {}
    for summary in reader.overview(runs) if runs else ():
        if not summary.error:
            results.setdefault(summary.run, []).append(result_of(summary))
    return results


def result_of(summary: Summary) -> Result:
    """The summary of a result, as a result."""
    return Result(
        summary.suite,
        summary.kind,
        summary.model,
        summary.status,
        Signature(),
        summary.n,
        summary.estimates,
        metrics=summary.metrics,
    )
