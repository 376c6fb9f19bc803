"""Runs of suites on models: `resolve` makes a plan, `execute_plan` carries it out, and `execute` does both."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path

from wug import options, registry
from wug.errors import InputError, UnknownName
from wug.evaluation import executors
from wug.evaluation.annotated_suite import with_metrics
from wug.evaluation.cache import Cache
from wug.evaluation.models import builtin_model_for, expand, is_pattern, model_spec
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import Listener, ModelTask, Plan, RunReport, RunRequest
from wug.evaluation.suite_selection import require_model_options, suites_by_protocol
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.outcomes import PROPORTION_METHODS
from wug.results.store import Store


def execute(request: RunRequest, listen: Listener | None = None) -> RunReport:
    """Evaluate the models of a request on its suites.

    A model that fails is in the report, and the others continue; the error of a single model is raised, and one in a
    name, file or option, before any model is loaded.
    """
    return execute_plan(resolve(request), request, listen)


def execute_plan(plan: Plan, request: RunRequest, listen: Listener | None = None) -> RunReport:
    """Evaluate a resolved request."""
    with opened_store(request.store) as store, opened_cache(request.cache) as cache:
        recorder = Recorder(plan, store, cache, listen)
        executors.run(request.executor, recorder, request.workers)
        return recorder.finish()


def resolve(request: RunRequest) -> Plan:
    """Find the suites and models of a request; errors in names and options are raised here."""
    for name, number in (("limit", request.limit), ("workers", request.workers)):
        if number is not None and number < 1:
            raise InputError(f"{name}={number}: write a whole number, 1 or more")
    if request.interval not in PROPORTION_METHODS:
        raise UnknownName("interval method", str(request.interval), PROPORTION_METHODS)
    request, suites = suites_by_protocol(request)
    suites = with_metrics(suites, request.metrics)
    tasks: list[ModelTask] = []
    written: list[str] = []
    if request.models is None:
        by_model: dict[str, list[Suite]] = {}
        for suite in suites:
            by_model.setdefault(builtin_model_for(suite), []).append(suite)
        written += by_model
        tasks += (ModelTask(_spec(name, request), tuple(fitting)) for name, fitting in by_model.items())
    for argument in request.models or ():
        if isinstance(argument, (str, Path)):
            written.append(str(argument))
            models = expand([str(argument)])
            tasks += (ModelTask(_spec(model.text, request), tuple(suites), model.commit) for model in models)
        else:
            tasks.append(ModelTask(argument, tuple(suites)))
    has_pattern = any(map(is_pattern, written))
    if has_pattern and len(written) < len(request.models or ()):
        raise InputError("patterns cannot be mixed with model objects in one list: evaluate these separately")
    sweep = request.sweep or (" ".join(written) if has_pattern else None)
    return Plan(tuple(tasks), request.command, request.interval, sweep, tuple(written), request.origin)


def opened_store(path: Path | None) -> AbstractContextManager[Store | None]:
    """The store of a path, closed at the end; None without a path."""
    return nullcontext() if path is None else closing(Store(path))


def opened_cache(path: Path | None) -> AbstractContextManager[Cache | None]:
    """The output cache of a path, closed at the end; None without a path."""
    return nullcontext() if path is None else closing(Cache(path))


def _spec(name: str, request: RunRequest) -> ModelSpec:
    """A model with the options of its name and of the request; unknown ones are refused."""
    spec = model_spec(name)
    declared = registry.backend(spec.backend).OPTIONS
    known_options = options.names(declared)
    shared = {key: value for key, value in request.shared_model_options.items() if key in known_options}
    configured = replace(spec, options={**spec.options, **shared, **request.model_options})
    configured.read(declared)
    if request.protocol is not None:
        require_model_options(request.protocol, spec, known_options)
    return configured
