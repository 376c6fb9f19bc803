"""The request, plan, events and report of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from wug import stats
from wug.errors import WugError
from wug.evaluation.annotated_suite import MetricFunction
from wug.evaluation.handle import ModelHandle
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.outcomes import Result
from wug.results.sweeps import PlannedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One command: which suites, on which models, how, and where results go.

    Example:
        >>> request = RunRequest(suites=["wug_agreement_pp"], models=["wug-causal"], limit=10)
    """

    suites: Sequence[str | Path | Suite]
    """Files, folders, built-in names, names of the catalogue, or suites."""
    models: Sequence[str | Path | ModelSpec | ModelHandle] | None = None
    """Names, patterns, lists (`@FILE`) or models; None for the built-in model that fits each suite."""
    suite_options: Mapping[str, str] = field(default_factory=dict)
    model_options: Mapping[str, str] = field(default_factory=dict)
    """Options of every model; unknown ones are refused."""
    shared_model_options: Mapping[str, str] = field(default_factory=dict)
    """Options that apply only to the backends that have them, such as `device`."""
    protocol: str | None = None
    """The conventions of another program, such as `lm-eval`; None for those that suites declare, or wug's."""
    family: str | None = None
    """Read all suites as this family, instead of identifying it by content."""
    tags: Sequence[str] = ()
    limit: int | None = None
    metrics: Sequence[MetricFunction] = ()
    """Further metrics that the user wrote."""
    interval: stats.Method = "wilson"
    store: Path | None = None
    """The store for runs; None to store nothing."""
    cache: Path | None = None
    executor: str = "auto"
    """One of `executors.names()`."""
    workers: int | None = None
    sweep: str | None = None
    """Store the runs as one sweep with this name; patterns always make a sweep."""
    command: str = ""
    """The command or call, which is stored with the run."""
    origin: str | None = None
    """Who started it, if not a command."""


class ModelTask(NamedTuple):
    """One model and the suites it is evaluated on."""

    model: ModelSpec | ModelHandle
    suites: tuple[Suite, ...]
    commit: str | None = None
    """The known commit of a revision on the Hugging Face Hub."""

    @property
    def spec(self) -> ModelSpec | None:
        """The model as the user named it; None for an object."""
        return self.model.spec if isinstance(self.model, ModelHandle) else self.model

    @property
    def name(self) -> str:
        """Its name in reports and failures."""
        return str(planned_model(self.spec)) if self.spec is not None else str(getattr(self.model, "id", self.model))


@dataclass(frozen=True, slots=True)
class Plan:
    """A request with its names resolved."""

    tasks: tuple[ModelTask, ...]
    command: str
    interval: stats.Method = "wilson"
    sweep: str | None = None
    """The sweep in the store; None for independent runs."""
    scope: tuple[str, ...] = ()
    """The models as the user wrote them; with the suites, they identify a sweep."""
    origin: str | None = None

    @property
    def suites(self) -> tuple[Suite, ...]:
        """All suites, each once."""
        return tuple({id(suite): suite for task in self.tasks for suite in task.suites}.values())


class Failure(NamedTuple):
    """A model that could not be evaluated, and why."""

    model: str
    message: str
    error: WugError | None = None
    """The error itself, if it was raised in this process."""


class RecordedRun(NamedTuple):
    """The results of one model, and the number of its run in the store (None if it was not stored)."""

    number: int | None
    results: tuple[Result, ...]


@dataclass(slots=True)
class RunReport:
    """The results and failures of a request."""

    recorded: dict[str, RecordedRun] = field(default_factory=dict)
    """The run of each model, in the order of the models."""
    failures: list[Failure] = field(default_factory=list)
    resumed: int = 0
    """Models that were complete before."""

    @property
    def results(self) -> list[Result]:
        """The results of all models."""
        return [result for run in self.recorded.values() for result in run.results]

    @property
    def runs(self) -> dict[str, int]:
        """The numbers of stored runs, by model."""
        return {name: run.number for name, run in self.recorded.items() if run.number is not None}

    @property
    def failed(self) -> bool:
        """Whether a model or a result failed."""
        return bool(self.failures) or any(result.status == "failed" for result in self.results)

    @property
    def done(self) -> int:
        """Models that were evaluated, or failed."""
        return len(self.recorded) + len(self.failures)


class RunEvent(NamedTuple):
    """The progress of a request."""

    stage: Literal["loading", "running", "finished"]
    done: int
    """Models that are evaluated, were complete before, or failed."""
    models: int
    model: str = ""
    """The model being evaluated, or the last one."""
    requests: tuple[int, int] = (0, 0)
    """Requests of this model: with an output, and known so far."""
    resumed: int = 0


Listener = Callable[[RunEvent], None]


def planned_model(spec: ModelSpec) -> PlannedModel:
    """A model as the store names it."""
    return PlannedModel(str(spec), tuple(sorted(spec.options.items())))
