"""What a run is asked to do, what it reports while it works, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from wug import stats
from wug.errors import WugError
from wug.evaluation.handle import ModelHandle
from wug.evaluation.own_metrics import MetricFunction
from wug.models import ModelSpec
from wug.results.sweeps import Planned
from wug.types import Result, Suite

ExecutorName: TypeAlias = Literal["auto", "serial", "processes", "ray"]


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
    """Options of every model; an unknown one is refused."""
    shared_model_options: Mapping[str, str] = field(default_factory=dict)
    """Options that apply only to the backends that have them, such as `device`."""
    protocol: str | None = None
    """The conventions of another program or community, such as `lm-eval`; None: those that suites ask for, or wug's."""
    family: str | None = None
    """Read all suites as of this family, where the content does not identify it."""
    tags: Sequence[str] = ()
    limit: int | None = None
    metrics: Sequence[MetricFunction] = ()
    """Further metrics that the user wrote."""
    interval: stats.Method = "wilson"
    store: Path | None = None
    """Where runs are kept; None to keep none."""
    cache: Path | None = None
    executor: ExecutorName = "auto"
    workers: int | None = None
    sweep: str | None = None
    """Keep the runs as one sweep of this name; patterns always make one."""
    command: str = ""
    """The command or call, as it is kept with the run."""
    origin: str | None = None
    """Who started it, if not a command."""


@dataclass(frozen=True, slots=True)
class ModelTask:
    """One model and the suites it is evaluated on."""

    model: ModelSpec | ModelHandle
    suites: tuple[Suite, ...]

    @property
    def spec(self) -> ModelSpec | None:
        """How the user named the model; None for an object."""
        return self.model.spec if isinstance(self.model, ModelHandle) else self.model

    @property
    def name(self) -> str:
        """What reports and failures call it."""
        return str(planned(self.spec)) if self.spec is not None else str(getattr(self.model, "id", self.model))


@dataclass(frozen=True, slots=True)
class Plan:
    """A request with its names resolved."""

    tasks: tuple[ModelTask, ...]
    command: str
    interval: stats.Method = "wilson"
    sweep: str | None = None
    """The sweep in the store; None for independent runs."""
    scope: tuple[str, ...] = ()
    """What the user wrote for the models: together with the suites, it identifies a sweep."""
    commits: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Commits of models on the Hugging Face Hub by name and revision, as far as they are known."""
    origin: str | None = None

    @property
    def suites(self) -> tuple[Suite, ...]:
        """All suites, each once."""
        return tuple({id(suite): suite for task in self.tasks for suite in task.suites}.values())


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that could not be evaluated, and why."""

    model: str
    message: str
    error: WugError | None = None
    """The error itself, where it happened in this process."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The results of one model, and the number of its run in the store (None if it was not kept)."""

    number: int | None
    results: tuple[Result, ...]


@dataclass(slots=True)
class RunReport:
    """What came of a request."""

    found: dict[str, RecordedRun] = field(default_factory=dict)
    """The run of each model, in the order of the models."""
    failures: list[Failure] = field(default_factory=list)
    resumed: int = 0
    """Models that were complete before."""

    @property
    def results(self) -> list[Result]:
        """The results of all models."""
        return [result for run in self.found.values() for result in run.results]

    @property
    def runs(self) -> dict[str, int]:
        """The numbers of the runs that were kept, by model."""
        return {name: run.number for name, run in self.found.items() if run.number is not None}

    @property
    def failed(self) -> bool:
        """Whether a model or a result failed."""
        return bool(self.failures) or any(result.status == "failed" for result in self.results)

    @property
    def done(self) -> int:
        """Models that were evaluated, or failed."""
        return len(self.found) + len(self.failures)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """How far a request is."""

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


def planned(spec: ModelSpec) -> Planned:
    """A model as the store names it."""
    return Planned(str(spec), tuple(sorted(spec.options.items())))
