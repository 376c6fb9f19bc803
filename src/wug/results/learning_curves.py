"""Learning curves: the values of checkpoints of a model over its training steps.

The step of a run is read from the revision that the user named (`@step1000`), a field of the signature, or the name of
the model (`checkpoint-1000`). Runs of one model at one step, such as seeds, are one point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wug.errors import InputError
from wug.formatting import plural
from wug.identity import Group, ModelId
from wug.outcomes import Estimate, Metric, Result, Signature
from wug.patterns import matches, require_matches
from wug.results.records import Run
from wug.results.result_loader import ResultLoader
from wug.results.shared_items import find_runs
from wug.results.store import Store
from wug.stats import mean_over_runs

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "b": 1e9}
_AMOUNT = r"[-_=.]?(\d+(?:\.\d+)?)([kKmMbB]?)(?![a-zA-Z0-9])"
_STEP = re.compile(
    rf"(?:global_?step|step|checkpoint|chck|ckpt|iter(?:ation)?|epoch|ep|tokens){_AMOUNT}", re.IGNORECASE
)
_NUMBER = re.compile(r"^(\d+(?:\.\d+)?)([kKmMbB]?)$")


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A value at a training step."""

    step: float
    value: float
    low: float | None
    high: float | None
    n: int
    """The number of items, or of runs if several runs are one point."""
    method: str | None
    """The method of the interval; `sd` or `sd of shares` for one standard deviation between runs."""
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric of one suite over the training of one model."""

    suite: str
    kind: str
    metric: str
    meaning: str
    series: str
    """The model, without its step."""
    share: bool
    points: tuple[CurvePoint, ...]
    """In the order of their steps."""


@dataclass(frozen=True, slots=True)
class Curves:
    """All curves of some runs."""

    curves: tuple[Curve, ...]
    signatures: tuple[Signature, ...]
    warnings: tuple[str, ...] = ()


class CurvePoints:
    """Collects estimates at training steps, by curve."""

    def __init__(self) -> None:
        self._by_curve: dict[
            tuple[str, str, str, str, str], tuple[Metric, dict[float, list[tuple[int, Estimate]]]]
        ] = {}

    def __len__(self) -> int:
        return len(self._by_curve)

    def add(
        self,
        run: int,
        step: float,
        series: str,
        result: Result,
        estimate: Estimate,
        *,
        name: str = "",
        version: str = "",
    ) -> None:
        """Add a value of a run; `name` is shown instead of the suite, and each `version` of a suite has its curve."""
        key = (name or result.suite, version, estimate.metric, series, result.kind)
        _, by_step = self._by_curve.setdefault(key, (result.metric(estimate.metric), {}))
        by_step.setdefault(step, []).append((run, estimate))

    def curves(self) -> tuple[Curve, ...]:
        """The curves through at least two points."""
        return tuple(
            Curve(
                suite,
                kind,
                name,
                metric.meaning,
                series,
                metric.unit == "share",
                tuple(_point(step, at_step) for step, at_step in sorted(by_step.items())),
            )
            for (suite, _, name, series, kind), (metric, by_step) in self._by_curve.items()
            if len(by_step) > 1
        )


def wanted_estimates(
    result: Result, metrics: Sequence[str], *, by: str = "", representative: bool = False
) -> list[Estimate]:
    """The estimates of metrics that match, or of the headlines: over all items, or by a group field.

    Of the headlines, `representative` leaves that of the whole result, and divided ones (`Metric.split_by`).
    """
    estimates = [one for one in result.estimates if Group.parse(one.group).field == by] if by else result.overall
    if metrics:
        return [estimate for estimate in estimates if matches(estimate.metric, metrics)]
    shown = result.headlines
    if representative and (first := result.headline) is not None:
        shown = [first, *(one for one in shown if result.metric(one.metric).split_by)]
    names = {name for one in shown for name in (one.metric, one.metric.partition(":")[0])}
    return [estimate for estimate in estimates if estimate.metric in names]


def learning_curves(
    store: Store,
    numbers: Sequence[int],
    *,
    suites: Sequence[str] = (),
    metrics: Sequence[str] = (),
    steps: Sequence[float] | None = None,
) -> Curves:
    """The learning curves of these runs, by suite and metric; `steps` overrides the steps in model names."""
    loader = ResultLoader(store.reader)
    runs = find_runs(loader, numbers)
    if len(runs) < 2:
        raise InputError("a learning curve needs at least two runs: wug compare --curve 1 2 3")
    stored = loader.results([run.id for run in runs])
    results = {run.id: [stored_result.result for stored_result in stored[run.id]] for run in runs}
    placed = _steps(runs, results, steps)
    results = {run: [result for result in every if result.status == "complete"] for run, every in results.items()}
    every = [result for of_run in results.values() for result in of_run]
    require_matches("suite", suites, (result.suite for result in every))
    points = CurvePoints()
    for run, (step, series) in zip(runs, placed, strict=True):
        for result in results[run.id]:
            for estimate in wanted_estimates(result, metrics) if matches(result.suite, suites) else ():
                points.add(run.id, step, series, result, estimate, version=_mark(result))
    curves = points.curves()
    if not curves:
        raise InputError("no suite has results at two steps of one model, so there is no curve to draw")
    single = len(points) - len(curves)
    warnings = [f"{plural(single, 'metric')} left out: evaluated at one step only"] if single else []
    return Curves(curves, tuple(dict.fromkeys(result.signature for result in every)), (*warnings, *_versions(every)))


def step_of(name: str) -> float | None:
    """The training step in a name (`step1000`, `checkpoint-2k`, `epoch_3`), or None."""
    match = _STEP.search(name) or _NUMBER.match(name)
    return None if match is None else float(match[1]) * _UNITS[match[2].lower()]


def step_in(run: Run, results: Sequence[Result] = ()) -> float | None:
    """The training step in the first name that has one: revision, specification, signature, model; None without any."""
    keys = ("step", "revision", "checkpoint")
    signed = [value for result in results[:1] for key in keys if (value := result.signature.get(key))]
    names = [run.revision or run.specification or "", *signed, ModelId.parse(run.model).name]
    return next((step for name in names if (step := step_of(name)) is not None), None)


def training_of(name: str) -> str:
    """The name of a model without its step, which identifies the training run."""
    bare = _STEP.sub("", name)
    head, slash, last = bare.rpartition("/")
    return (head if slash and last.startswith(".") else bare).rstrip("-_/@.") or name


def _steps(
    runs: Sequence[Run], results: Mapping[int, Sequence[Result]], steps: Sequence[float] | None
) -> list[tuple[float, str]]:
    """The step of each run, and its model's name without it."""
    if steps is not None and len(steps) != len(runs):
        raise InputError(f"--steps has {len(steps)} numbers for {len(runs)} runs")
    placed = []
    for index, run in enumerate(runs):
        step = steps[index] if steps else step_in(run, results[run.id])
        if step is None:
            raise InputError(
                f"the training step of run {run.id} ({run.model}) is not in its name. "
                f"Give the steps of all runs, in order: --steps {','.join(str(1000 * n) for n in range(len(runs)))}"
            )
        placed.append((step, training_of(str(replace(ModelId.parse(run.model), fingerprint="")))))
    return placed


def _mark(result: Result) -> str:
    """Name and checksum of the suite; the number of shots of an imported result."""
    shots = result.signature.get("shots")
    name = result.signature.get("suite") or result.suite
    return name if shots is None else f"{name}, {shots}-shot"


def _point(step: float, at_step: Sequence[tuple[int, Estimate]]) -> CurvePoint:
    """The value at a step, or the mean of several runs."""
    numbers = tuple(run for run, _ in at_step)
    (e,) = mean_over_runs([[estimate] for _, estimate in at_step]) if len(at_step) > 1 else [at_step[0][1]]
    return CurvePoint(step, e.value, e.low, e.high, e.n, e.method, numbers)


def _versions(results: Sequence[Result]) -> Iterator[str]:
    marks: dict[str, set[str]] = {}
    for result in results:
        marks.setdefault(result.suite, set()).add(_mark(result))
    for suite, known in marks.items():
        if len(known) > 1:
            yield f"suite {suite} is not the same in all runs ({', '.join(sorted(known))}): each version has its curve"
