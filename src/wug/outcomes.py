"""What a run finds: outcomes, metrics, estimates and results."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from wug.identity import OVERALL

Value: TypeAlias = bool | float | None
Method: TypeAlias = Literal["wilson", "clopper-pearson"]
"""An interval method for proportions."""
PROPORTION_METHODS: tuple[str, ...] = get_args(Method)
Unit: TypeAlias = Literal["share", "bits", "nats", "tokens", "count", "distance", "score"]
"""The unit of a number: a proportion of items, an amount, or a score on another scale (BLEU, F1)."""
Better: TypeAlias = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A number of each item that is computed from the details of its outcome of another metric, and not stored."""

    metric: str
    """The metric whose outcomes have the details."""
    plus: str
    """The detail that is the number, or the minuend."""
    minus: str = ""
    """The detail that is subtracted; empty for none."""
    factor: float = 1.0
    standardised: bool = False
    """Whether the estimate is the mean divided by the standard deviation of items."""

    def value(self, detail: Mapping[str, Any]) -> float:
        """The number of an item; NaN if a detail is missing."""
        value = detail.get(self.plus)
        other = detail.get(self.minus) if self.minus else 0.0
        return math.nan if value is None or other is None else self.factor * (value - other)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as its suite declares it; views take unit and direction from here.

    Examples:
        >>> wug.run("wug_agreement_pp", limit=4)[0].metrics[0].unit
        'share'
    """

    name: str
    unit: Unit = "share"
    better: Better = "higher"
    headline: bool = True
    """Whether it is shown in summaries; the first headline metric represents the result."""
    meaning: str = ""
    """What it measures, in plain English."""
    derived: Derivation | None = None
    """How its numbers are computed from the outcomes of another metric; None if it has outcomes."""
    split_by: str = ""
    """A group field whose values are different quantities, such as measures: they are compared one by one, and have no
    mean."""

    def __post_init__(self) -> None:
        derived: Any = self.derived
        if isinstance(derived, Mapping):  # as it was stored
            object.__setattr__(self, "derived", Derivation(**derived))


def effect_metrics(name: str, derived: Derivation, meaning: str, unit: Unit = "bits") -> tuple[Metric, Metric]:
    """A mean effect, and the same divided by the standard deviation of items."""
    spread = f"{name.replace('_', ' ')} divided by the standard deviation of items"
    return (
        Metric(name, unit, headline=False, meaning=meaning, derived=derived),
        Metric(
            f"standardised_{name}", "score", headline=False, meaning=spread, derived=replace(derived, standardised=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One judgement on one item. Every table, chart and page is made of these rows.

    Examples:
        >>> outcome = wug.run("wug_agreement_pp", limit=4)[0].outcomes[0]
        >>> outcome.metric
        'prediction_0'
    """

    item: str
    metric: str
    value: Value
    """True or False for a judgement, a number for a measurement, None if there is nothing to judge."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The fields to break results down by, such as `{"pattern": "simple_sing"}`."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON-serializable data that explains the value. Items with the same `source` had the same input, so their rows
    are not independent."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper bound."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """The parts of `Estimate.method`; its text is read and written here only."""

    name: str = ""
    """Such as `wilson` or `t`; empty without an interval."""
    unit: str = ""
    """The unit that is independent, if rows are not."""
    reason: str = ""
    """Why there is no interval."""

    @classmethod
    def parse(cls, text: str | None) -> IntervalMethod:
        """The parts of a text."""
        if (text := text or "").startswith("none:"):
            return cls(reason=text.removeprefix("none:").strip())
        name, _, unit = text.partition(", by ")
        return cls(name, unit)

    def __str__(self) -> str:
        if self.reason:
            return f"none: {self.reason}"
        return f"{self.name}, by {self.unit}" if self.unit else self.name

    @property
    def is_deviation(self) -> bool:
        """Whether the interval is one standard deviation between runs on either side."""
        return "sd" in self.name.split()

    @property
    def for_proportion(self) -> bool:
        """Whether the interval is one for a proportion of items."""
        return self.name.startswith(("wilson", "clopper"))

    @property
    def of_shares(self) -> bool:
        """Whether the values are proportions, as far as the method says."""
        return self.for_proportion or (self.is_deviation and self.name.endswith(" of shares"))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over many items, with its interval.

    Examples:
        >>> estimate = wug.run("wug_agreement_pp", limit=4)[0].headlines[-1]
        >>> estimate.n, estimate.low <= estimate.value <= estimate.high
        (4, True)
    """

    metric: str
    group: str
    """`all`, or `field=value`."""
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str | None = None
    """The interval method, such as `wilson`, `t`, `hall` or `bootstrap-t`, followed by `, by source` if rows are not
    independent; `stderr` is that of another program. `none: …` gives the reason for no interval."""

    @classmethod
    def of(
        cls, metric: str, group: str, value: float, n: int, interval: Interval | None, method: str | None
    ) -> Estimate:
        """An estimate with an interval, or without one."""
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        return cls(metric, group, value, n, low, high, method)


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that is shown with the result."""

    text: str
    measurable: bool = True
    """False if the items do not distinguish anything, such as ties on all of them."""


SuiteOutput: TypeAlias = Outcome | Estimate | Notice
"""What a suite yields: outcomes, values over a corpus that are not means of outcomes, and notices."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that a number depends on, as ordered fields; printed as one line with every result."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Signature:
        """Parse the printed form. A part without a colon is a value without a name."""
        parts = text.split("|") if text else []
        split = [(part, part.partition(":")) for part in parts]
        return cls(tuple((key, value) if key and colon else ("", part) for part, (key, colon, value) in split))

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" if key else value for key, value in self.fields).replace("\n", " ")

    def get(self, key: str) -> str | None:
        """The value of a field, or None."""
        return dict(self.fields).get(key)

    def without(self, *keys: str) -> Signature:
        """The signature without some fields."""
        return Signature(tuple(pair for pair in self.fields if pair[0] not in keys))


DATASET_KEY = "data"
"""The key in `Result.meta` of the record of a published set: set, title, licence, terms, citation, repository and
commit."""
Status: TypeAlias = Literal["running", "complete", "partial", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one model on one suite.

    Examples:
        >>> wug.run("wug_agreement_pp", limit=4)[0].n
        4
    """

    suite: str
    kind: str
    model: str
    status: Status
    signature: Signature
    """Text is parsed."""
    n: int
    """Items judged."""
    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...] = ()
    outcomes: Sequence[Outcome] = ()
    """A tuple, or, for a result in a store, a sequence that reads them on demand."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Further data for the pages of the result: region names, formulas, reference."""
    metrics: tuple[Metric, ...] = ()
    """The metrics in the order of the suite; inferred from the values if it declares none."""
    measurable: bool = True
    """Whether its proportions say anything about the model; False if no item distinguishes anything."""
    failure: str = ""
    """The error that ended it, if its status is `failed`; also among the warnings."""

    def __post_init__(self) -> None:
        signature: Any = self.signature
        if isinstance(signature, str):
            object.__setattr__(self, "signature", Signature.read(signature))
        if not self.metrics:
            object.__setattr__(self, "metrics", _inferred_metrics(self))

    def metric(self, name: str) -> Metric:
        """The metric of a name; `accuracy:COLUMN` and `prediction_0/mean` inherit from the name before `:` or `/`."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        base = re.split("[:/]", name)[0]
        return replace(next((metric for metric in self.metrics if metric.name == base), Metric(name)), name=name)

    def declared_metric(self, name: str) -> Metric | None:
        """The declared metric of a number: `accuracy` for `accuracy:plural` if it is divided (`Metric.split_by`)."""
        declared = {metric.name: metric for metric in self.metrics}
        base = declared.get(name.partition(":")[0])
        return declared.get(name, base if base is not None and base.split_by else None)

    def __repr__(self) -> str:
        from wug.labels import result_line

        return f"<Result {result_line(self)}>"

    def _repr_html_(self) -> str:
        """The headline estimates with their intervals, for a notebook."""
        from wug.labels import html

        return html([self])

    @property
    def overall(self) -> list[Estimate]:
        """Estimates over all items; of a metric that is split (`Metric.split_by`), those by group as `metric:value`."""
        fields = {metric.name: f"{metric.split_by}=" for metric in self.metrics if metric.split_by}
        for estimate in self.estimates:
            if estimate.group == OVERALL:
                fields.pop(estimate.metric, None)
        estimates = []
        for estimate in self.estimates:
            field = fields.get(estimate.metric)
            if estimate.group == OVERALL:
                estimates.append(estimate)
            elif field and estimate.group.startswith(field):
                value = estimate.group.removeprefix(field)
                estimates.append(replace(estimate, metric=f"{estimate.metric}:{value}", group=OVERALL))
        return estimates

    @property
    def headlines(self) -> list[Estimate]:
        """The headline estimates over all items."""
        return [e for e in self.overall if (declared := self.declared_metric(e.metric)) and declared.headline]

    @property
    def headline(self) -> Estimate | None:
        """The estimate that represents the result; None if it has none over all items."""
        declared = list(self.metrics)
        return min(
            self.headlines,
            key=lambda one: declared.index(self.declared_metric(one.metric) or declared[0]),
            default=next(iter(self.overall), None),
        )


def _inferred_metrics(result: Result) -> tuple[Metric, ...]:
    """The metrics of a result that declares none: proportions where values are judgements, scores otherwise."""
    judged = {row.metric: isinstance(row.value, bool) for row in result.outcomes if row.value is not None}
    for estimate in result.estimates:
        if estimate.method and estimate.metric not in judged:
            judged[estimate.metric] = IntervalMethod.parse(estimate.method).of_shares
    names = dict.fromkeys([*(estimate.metric for estimate in result.estimates), *judged])
    return tuple(Metric(name, "share" if judged.get(name) else "score") for name in names)


def phenomenon_of(meta: Mapping[str, Any]) -> str:
    """The phenomenon that a suite tests, from its metadata or a result's; empty if it names none.

    `--tag` selects suites by it, and overviews are sorted by it.
    """
    return str(meta.get("phenomenon") or "")
