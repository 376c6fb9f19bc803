"""Results of another program on their way into the store: suites with their outcomes or aggregates, and runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from wug import data, registry
from wug.identity import IMPORTED, OVERALL, Group
from wug.interfaces import Family
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature, Status
from wug.results.outcomes import OutcomeCollector
from wug.samples import Sample
from wug.stats import EstimateAccumulator, wilson

AGGREGATES_ONLY = "aggregates only: no items to compare"
SHARES = ("accuracy", "acc_", "exact_match", "em:")
"""Beginnings of the metrics of other programs that are proportions."""
LOWER = ("perplexity", "ppl", "bits_per_byte", "loss")
"""Words in the names of metrics whose lower values are better, whatever a file says."""


class Aggregate(NamedTuple):
    """A value over the items of a task."""

    metric: str
    groups: Mapping[str, str]
    value: float
    n: int | None
    """None if unknown."""
    error: float | None = None
    """The standard error; None if unknown."""


@dataclass(slots=True)
class ImportedSuite:
    """A suite that is being read."""

    name: str
    kind: str = IMPORTED
    fields: dict[str, str] = field(default_factory=dict)
    """What follows the program in the signature."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    aggregates: list[Aggregate] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    """Those that are given as they are."""
    warnings: list[str] = field(default_factory=list)
    status: Status = "complete"
    meta: dict[str, Any] = field(default_factory=dict)
    outcomes: OutcomeCollector = field(default_factory=OutcomeCollector)
    collected: EstimateAccumulator = field(default_factory=EstimateAccumulator)
    unsampled: int = 0
    """Tasks without samples."""

    def add(self, outcome: Outcome) -> None:
        """Take in an outcome."""
        self.outcomes.add(outcome)
        self.collected.add(outcome)

    def declare(self, metric: str, *, better: bool = True, meaning: str = "", share: bool = False) -> None:
        """Take in a metric; the first one is that of the suite."""
        unit: Any = "share" if share or f"{metric}:".startswith(SHARES) else "score"
        better = better and not any(word in metric for word in LOWER)
        self.metrics.setdefault(metric, Metric(metric, unit, "higher" if better else "lower", meaning=meaning))

    def result(self, model: str, signature: Signature) -> Result:
        """The result without its outcomes, which are collected."""
        estimates = self._estimates()
        for e in estimates:
            self.declare(e.metric)
        alone = () if self.collected else (AGGREGATES_ONLY,)
        values = {e.metric: e.value for e in estimates if e.group == OVERALL}
        differing = tuple(
            f"{e.metric} is {e.value:.6g} in the file, and {values[e.metric]:.6g} over its items"
            for e in self.estimates
            if e.group == OVERALL and abs(e.value - values[e.metric]) > 1e-6
        )
        n = self.collected.items if not self.unsampled and self.collected else 0
        return Result(
            suite=self.name,
            kind=self.kind,
            model=model,
            status=self.status,
            signature=signature,
            n=n or max((e.n for e in estimates if e.group == OVERALL), default=0),
            estimates=tuple(estimates),
            warnings=(*alone, *self.warnings, *differing),
            meta=self.meta,
            metrics=tuple(self.metrics.values()),
        )

    def _estimates(self) -> list[Estimate]:
        """Estimates of the outcomes if every task has samples, then pooled aggregates of what they lack."""
        estimates = [] if self.unsampled else self.collected.estimates("wilson")
        for further in (self.estimates, pooled(self.aggregates)):
            present = {(e.metric, e.group) for e in estimates}
            estimates += [e for e in further if (e.metric, e.group) not in present]
        order = {name: position for position, name in enumerate(self.metrics)}
        return sorted(estimates, key=lambda e: order.get(e.metric, len(order)))


@dataclass(slots=True)
class ImportedRun:
    """A model and checkpoint with the suites that were read."""

    name: str
    revision: str
    """The checkpoint, such as `step1000`; empty if there is only one."""
    format: str
    program: str
    files: list[Path]
    suites: list[ImportedSuite]
    condition: str = ""
    """What separates runs of one model, such as the number of examples in the prompt."""

    @property
    def model(self) -> str:
        """The model's id."""
        return f"{IMPORTED}/{self.name}" + (f"@{self.revision}" if self.revision else "")

    def signature(self, suite: ImportedSuite, digest: str) -> Signature:
        """The signature of one of its suites."""
        first = ((IMPORTED, f"{self.format}@{digest[:12]}"), ("program", self.program))
        return Signature((*first, *suite.fields.items()))


def pooled(aggregates: Sequence[Aggregate]) -> Iterator[Estimate]:
    """Estimates over all aggregates of each metric, and over those of each group."""
    cells: dict[tuple[str, str], list[Aggregate]] = defaultdict(list)
    for aggregate in aggregates:
        for group in (OVERALL, *(str(Group(name, value)) for name, value in aggregate.groups.items())):
            cells[aggregate.metric, group].append(aggregate)
    for (metric, group), members in cells.items():
        values, sizes = [member.value for member in members], [member.n or 0 for member in members]
        if not all(sizes):
            error = members[0].error if len(members) == 1 else None
            yield estimate(metric, group, fmean(values), None, error)
            continue
        errors = [member.error * size for member, size in zip(members, sizes, strict=True) if member.error is not None]
        pooled_error = math.hypot(*errors) / sum(sizes) if len(errors) == len(members) else None
        yield estimate(metric, group, fmean(values, sizes), sum(sizes), pooled_error)


def estimate(metric: str, group: str, value: float, n: int | None, error: float | None) -> Estimate:
    """A value with Wilson's interval if it is a proportion of n items, else with that of its standard error."""
    if n and 0 <= value <= 1 and abs(value * n - round(value * n)) < 1e-6:
        interval = wilson(round(value * n), n)
        return Estimate(metric, group, value, n, interval.low, interval.high, "wilson")
    if error or n:
        return with_standard_error(metric, group, value, n or 0, error or None)
    return Estimate(metric, group, value, 0, method="none: the number of items is unknown")


def with_standard_error(metric: str, group: str, value: float, n: int, error: float | None) -> Estimate:
    """A value with the interval of its standard error, if that is known."""
    if error is None:
        return Estimate(metric, group, value, n)
    return Estimate(metric, group, value, n, value - 1.96 * error, value + 1.96 * error, "stderr")


def families_of_samples() -> list[Family]:
    """The families that imported choices can belong to, those with the narrowest condition first."""
    families = [family for family in registry.families() if family.TRAITS.sample_options is not None]
    return sorted(families, key=lambda family: (not family.TRAITS.sample_options, family.name))


def is_item_of(family: Family, sample: Sample) -> bool:
    """Whether a sample can be an item of a family."""
    options = family.TRAITS.sample_options
    return not options or (len(sample.choices) == options and not sample.contexts)


def fetched_data(name: str) -> Path | None:
    """The folder or file of a published set; None if it is not on this machine."""
    return data.path(name) if data.fetched(name) else None


def hub_data(hub: str, part: str) -> Path | None:
    """The file of a published set by its id and configuration on the Hugging Face Hub; None if there is none.

    Raises:
        DataError: If the file is not on this machine.
    """
    name = next((set_name for set_name in data.names() if data.find(set_name).set.hub == hub), None)
    if name is None or part not in (Path(file.name).stem for file in data.find(name).set.files):
        return None
    return data.path(f"{name}/{part}")


def adopted_data(name: str) -> Path | None:
    """The folder of a set's data that the user has from elsewhere; None if there is none."""
    folder = data.adopted(name)
    return folder if folder.is_dir() else None
