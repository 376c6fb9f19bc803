"""What the steps of a plan found: the values of each cell, by group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from wug.distributions import t_quantile
from wug.files import read_text
from wug.identity import Group, ModelId
from wug.reproduce.plan import Cell, Plan
from wug.types import OF_SHARES, Estimate

EPOCH = "epoch"
"""The field by which the tests during a training are told apart."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one training, or one released model, gave for a cell."""

    estimate: Estimate
    signature: str
    seed: int | None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of what several trainings or models gave, with its interval; of one, what that gave."""

    value: float
    sd: float | None
    """Of what the mean is of; None for fewer than two."""
    low: float | None
    high: float | None
    method: str
    """How the interval was made: from the items of one training, or from several trainings."""
    n: int
    """Items of each test."""


def found_in(plan: Plan, cells: Iterable[Cell], check: str) -> list[dict[str, Found]]:
    """By group, the values of a check, for each training or model among the cells that is done."""
    return [found for cell in cells for found in (_profile if cell.test.profile else _results)(plan, cell, check)]


def mean(found: Sequence[Found]) -> Mean | None:
    """The mean, with Student's interval where it is of several, cut to what a share can be; None of nothing."""
    if not found:
        return None
    values = [result.estimate.value for result in found]
    value, n = fmean(values), max(result.estimate.n for result in found)
    if len(values) == 1:
        only = found[0].estimate
        return Mean(value, None, only.low, only.high, only.method or "", n)
    sd = stdev(values)
    half = t_quantile(len(values) - 1, 0.975) * sd / len(values) ** 0.5
    low, high = value - half, value + half
    if all((result.estimate.method or "").startswith(OF_SHARES) for result in found):
        low, high = max(0.0, low), min(1.0, high)
    trained = any(result.seed is not None for result in found)
    return Mean(value, sd, low, high, "t over seeds" if trained else "t over models", n)


def fields_in(values: Iterable[Mapping[str, Found]], field: str) -> dict[str, list[Found]]:
    """By the value of a field of groups, such as `depth`, what each training or model gave, in the order of finding."""
    parts: dict[str, list[Found]] = {}
    for found in values:
        for group, result in found.items():
            parsed = Group.parse(group)
            if parsed.field == field:
                parts.setdefault(parsed.value, []).append(result)
    return parts


def _results(plan: Plan, cell: Cell, check: str) -> list[dict[str, Found]]:
    """By group, the values of a test that is done; of released scores, for each model that was judged."""
    step = None if cell.step is None else plan.step(cell.step)
    if step is None or not step.done:
        return []
    return [
        {
            estimate["group"]: Found(Estimate(**estimate), result["signature"], cell.seed)
            for estimate in result["estimates"]
            if estimate["check"] == check
        }
        for result in json.loads(read_text(step.made))
        if not result["model"].startswith("mean/")  # which `wug score` adds, and we compute
    ]


def _profile(plan: Plan, cell: Cell, check: str) -> list[dict[str, Found]]:
    """What a finished training left in the store: by group the highest of all its tests, and each by its epoch."""
    if cell.step is None or not plan.step(cell.step).done or not plan.store.exists():
        return []
    highest: dict[str, Found] = {}
    epochs: dict[int, Found] = {}
    for epoch, result in _tests(plan, cell.step):
        for estimate in result.estimates:
            if estimate.check != check:
                continue
            found = Found(estimate, str(result.signature), cell.seed)
            before = highest.get(estimate.group)
            if before is None or estimate.value > before.estimate.value:
                highest[estimate.group] = found
            if estimate.group == cell.test.group:
                epochs[epoch] = found
    return [{**highest, **{f"{EPOCH}={epoch}": epochs[epoch] for epoch in sorted(epochs)}}]


def _tests(plan: Plan, training: str) -> Iterable[tuple[int, Any]]:
    """The epoch and the result of each test during a training, the first first."""
    from wug.results.reader import RunReader

    reader = RunReader(plan.store)
    for run in reversed(reader.runs()):
        _, within, epoch = f"/{ModelId.parse(run.model).name}".rpartition(f"/{training}-epoch")
        if within and run.status == "complete":
            for stored in reader.stored(run.id, outcomes=False):
                yield int(epoch), stored.result
