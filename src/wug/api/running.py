"""`wug.run`, `wug.metric`, `wug.people`, `wug.open_suites` and `wug.read_suite`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from wug import stats
from wug.api.models import EXPECTED, Setting, as_text, is_function, model_of
from wug.api.results import Results, Store
from wug.arguments import public
from wug.errors import InputError, ModelError
from wug.evaluation import inline_suites
from wug.evaluation.annotated_suite import MetricCallable, MetricFunction, as_metric, find_metric
from wug.evaluation.handle import ModelHandle
from wug.evaluation.request import Listener, RunEvent, RunReport, RunRequest
from wug.evaluation.service import execute
from wug.evaluation.suite_selection import resolve_suites
from wug.files import user_path
from wug.formatting import plural
from wug.interfaces import Suite
from wug.outcomes import Better
from wug.outcomes import Unit as MetricUnit
from wug.tables import Table

if TYPE_CHECKING:
    import pandas
    import polars

    from wug.api.models import AnyModel


@public
def open_suites(
    names: str | Path | Suite | Iterable[str | Path | Suite],
    options: Mapping[str, Setting] | None = None,
    *,
    kind: str | None = None,
    **more: Setting,
) -> list[Suite]:
    """Open the suites of files, folders, built-in or published names.

    Args:
        names: One name or path, or several.
        options: Scoring options, as a dictionary.
        kind: The family, if the content does not identify it.
        **more: Scoring options, as keywords, such as `metric="mean"`.

    Returns:
        The suites, each once.

    Raises:
        WugError: If a name is unknown, or a file has errors; all of them are listed.

    Examples:
        >>> [suite.name for suite in wug.open_suites("wug_agreement_pp")]
        ['wug_agreement_pp']
    """
    return resolve_suites(RunRequest(suites=_as_list(names), suite_options=as_text(options, more), family=kind))


@public
def read_suite(
    source: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | pandas.DataFrame | polars.DataFrame | Table,
    name: str = "suite",
    *,
    options: Mapping[str, Setting] | None = None,
    kind: str | None = None,
    **more: Setting,
) -> Suite:
    """Read a suite from a dictionary, a list of dictionaries or a data frame (one row per pair), a file, or its text.

    Args:
        source: The content of the suite, or a path.
        name: The name of a suite that does not contain one.
        options: Scoring options, as a dictionary.
        kind: The family, if the content does not identify it.
        **more: Scoring options, as keywords.

    Returns:
        The suite.

    Raises:
        WugError: If the content has errors; all of them are listed.

    Examples:
        >>> pair = {"sentence_good": "The keys are here.", "sentence_bad": "The keys is here."}
        >>> len(wug.read_suite([pair], "agreement"))
        1
    """
    content: Any = source
    return inline_suites.read_suite(content, as_text(options, more), name=name, family=kind)


@public
def people(path: str | Path, options: Mapping[str, Setting] | None = None) -> Table:
    """Compute how far people agree: with labels, with each other, and in their ratings.

    Args:
        path: A file of responses in a published format, or a table (CSV, TSV, JSONL, XLSX).
        options: What `-S` of `wug score people` takes, such as the names of the columns.

    Returns:
        A table with one row per estimate: `metric`, `group`, `value`, `n`, `low`, `high`, `method`. What was left
        out is a warning.

    Raises:
        WugError: If the file or an option cannot be read.

    Examples:
        >>> table = wug.people("answers.csv", {"item": "sentence", "rater": "who", "correct": "right"})
    """
    from wug.evaluation.evaluate import build_result, build_signature
    from wug.families.people import score_people

    suite, model, rows = score_people(user_path(path), as_text(options))
    result = build_result(suite, model, build_signature(suite.name, suite.checksum, suite.options, model, {}), rows)
    for text in result.warnings:
        warnings.warn(text, stacklevel=4)  # two frames of `public`
    columns = ("metric", "group", "value", "n", "low", "high", "method")
    kinds = {"metric": str, "group": str, "value": float, "n": int, "low": float, "high": float, "method": str}
    return Table({name: [getattr(estimate, name) for estimate in result.estimates] for name in columns}, kinds)


@public
def run(
    suites: str | Path | Suite | Iterable[str | Path | Suite],
    models: AnyModel | Iterable[AnyModel] | None = None,
    *,
    limit: int | None = None,
    store: str | Path | Store | None = None,
    cache: str | Path | None = None,
    options: Mapping[str, Setting] | None = None,
    kind: str | None = None,
    interval: stats.Method = "wilson",
    metrics: str | MetricCallable | Iterable[str | MetricCallable] = (),
    progress: Callable[[int, int], None] | None = None,
    model_options: Mapping[str, Setting] | None = None,
    protocol: str | None = None,
    tags: str | Iterable[str] = (),
    sweep: str | None = None,
    executor: str = "auto",
    workers: int | None = None,
) -> Results:
    """Evaluate each model on each suite.

    Args:
        suites: One suite or several: names, paths, or open suites.
        models: One model or several; by default a built-in one. Patterns and lists (`causal:NAME@step*`,
            `causal:runs/*/checkpoint-*`, `@models.txt`) are a sweep: if a model fails, wug warns.
        limit: The maximum number of items per suite.
        store: A folder that stores the run, for `wug view` and `open_store`.
        cache: A file that caches model outputs, so that a run resumes.
        options: Scoring options, for suites given by name or path.
        kind: The family, if the content does not identify it.
        interval: The method for intervals of proportions: "wilson" or "clopper-pearson".
        metrics: Functions of an item's outcomes that return a number, True, False or None (see `wug.metric`), or names
            of a plugin's metrics.
        progress: Called with the numbers of requests done and in total.
        model_options: Options of every model that is given by name.
        protocol: The conventions of another program, such as "lm-eval", for suites given by name or path.
        tags: Only suites with one of these tags or phenomena.
        sweep: Store the runs as one sweep of this name.
        executor: "serial", "processes" or "ray"; "auto" chooses.
        workers: Models at a time, one process each.

    Returns:
        One result per model and suite, model by model.

    Raises:
        ModelError: If every model fails; if only some do, a warning lists them.
        WugError: If a suite, a model or an option cannot be used.

    Examples:
        >>> results = wug.run("wug_agreement_pp", "wug-causal", limit=10)
        >>> results[0].suite
        'wug_agreement_pp'
    """
    path = _store_path(store)
    if sweep and path is None:
        raise InputError(f"sweep={sweep!r} names runs in a store: give store=… too")
    has_functions = models is not None and any(map(_is_bare, _as_list(models)))
    if protocol is not None and any(isinstance(suite, Suite) for suite in _as_list(suites)):
        raise InputError("protocol= is for suites given by name or path: these are already open")
    if protocol is not None and has_functions:
        raise InputError("protocol= is for models given by name, or opened with wug.open_model(…)")
    suite_list = open_suites(suites, options, kind=kind) if has_functions else _as_list(suites)
    if has_functions:
        options = kind = None
    model_list = None if models is None else _opened_models(models, suite_list, model_options)
    request = RunRequest(
        suites=suite_list,
        models=model_list,
        suite_options=as_text(options),
        model_options=as_text(model_options),
        protocol=protocol,
        family=kind,
        tags=list(map(str, _as_list(tags))),
        limit=limit,
        interval=interval,
        metrics=[find_metric(metric) for metric in _as_list(metrics)],
        store=path,
        cache=None if cache is None else user_path(cache),
        executor=executor,
        workers=workers,
        sweep=sweep,
    )
    request = replace(request, command=_call_text(request))
    report = execute(request, None if progress is None else _in_requests(progress))
    if report.failures and not report.recorded:
        raise ModelError(_failure_message(report))
    if report.failures:
        warnings.warn(_failure_message(report), stacklevel=4)  # two frames of `public`
    return Results(report.results, runs=list(report.runs.values()), store=path)


@overload
def metric(
    function: MetricCallable,
    *,
    name: str | None = None,
    unit: MetricUnit = "score",
    better: Better = "higher",
    headline: bool = True,
    meaning: str | None = None,
) -> MetricFunction: ...
@overload
def metric(
    *,
    name: str | None = None,
    unit: MetricUnit = "score",
    better: Better = "higher",
    headline: bool = True,
    meaning: str | None = None,
) -> Callable[[MetricCallable], MetricFunction]: ...
@public
def metric(
    function: MetricCallable | None = None,
    *,
    name: str | None = None,
    unit: MetricUnit = "score",
    better: Better = "higher",
    headline: bool = True,
    meaning: str | None = None,
) -> MetricFunction | Callable[[MetricCallable], MetricFunction]:
    """Make a metric from a function, for `wug.run(…, metrics=[…])`; also as a decorator.

    Args:
        function: Takes all outcomes of an item; returns a number, True, False or None (no value).
        name: The name of the metric; by default that of the function.
        unit: "share", "bits", "nats", "tokens", "count", "distance" or "score".
        better: "higher", "lower" or "neither".
        headline: Whether summaries show it.
        meaning: What it means; by default the first line of the function's docstring.

    Returns:
        The metric; without a function, a decorator that makes one.

    Raises:
        InputError: If an argument has the wrong type or an unknown value.

    Examples:
        >>> @wug.metric(unit="bits")
        ... def gap(outcomes):
        ...     detail = outcomes[0].detail
        ...     return (detail["logprob_good"] - detail["logprob_bad"]) / math.log(2)
    """

    def make(function: MetricCallable) -> MetricFunction:
        return as_metric(function, name=name, unit=unit, better=better, headline=headline, meaning=meaning)

    make(len)  # a wrong setting is an error here
    return make if function is None else make(function)


def _as_list(value: Any) -> list[Any]:
    is_single = isinstance(value, (str, bytes, Path, Suite, Mapping)) or not isinstance(value, Iterable)
    is_single = is_single or hasattr(value, "columns")  # a data frame
    return [value] if is_single else list(value)


def _is_bare(model: object) -> bool:
    """Whether it is a plain function, for which the suites decide whether it scores or generates."""
    return is_function(model) and not any(hasattr(model, name) for name in ("id", "score", "generate", "forward"))


def _store_path(store: object) -> Path | None:
    if isinstance(store, Store):
        return store.path
    if store is not None and not isinstance(store, (str, Path)):
        raise InputError(f"store={store!r}: write a path, or wug.open_store(…)")
    return None if store is None else user_path(store)


def _opened_models(models: object, suites: Sequence[object], options: object) -> list[str | ModelHandle]:
    """The names and handles of models, of which no two open ones have the same id."""
    model_list = [_model(model, suites) for model in _as_list(models)]
    ids = Counter(m.id for m in model_list if isinstance(m, ModelHandle) and m.spec is None)
    if duplicate := next((name for name, times in ids.items() if times > 1), None):
        raise InputError(f"two models are called {duplicate}: give them names, as in wug.open_model(…, name='other')")
    if not model_list:
        raise InputError(f"there is no model. Give {EXPECTED}, or a list of them")
    if options and not any(isinstance(model, str) for model in model_list):
        raise InputError("the models are already open: give their options when you open them")
    return model_list


def _model(model: object, suites: Sequence[object]) -> str | ModelHandle:
    """A name or a handle; a plain function returns what the suites need."""
    if _is_bare(model):
        needs = {suite.needs for suite in suites if isinstance(suite, Suite)}
        return model_of(model, options={"returns": "text"} if needs == {"text"} else {}).opened
    return str(model) if isinstance(model, (str, Path)) else model_of(model).opened


def _in_requests(progress: Callable[[int, int], None]) -> Listener:
    """Progress over all models, assuming that each has as many requests as the current one."""

    def listen(event: RunEvent) -> None:
        done, total = event.requests
        if total:
            progress(event.done * total + done, event.models * total)

    return listen


def _failure_message(report: RunReport) -> str:
    lines = "\n".join(f"  {failure.model}: {failure.message}" for failure in report.failures)
    return f"{plural(len(report.failures), 'model')} failed; the same call tries again\n{lines}"


def _call_text(request: RunRequest) -> str:
    suites = [suite.name if isinstance(suite, Suite) else str(suite) for suite in request.suites]
    models = [model.id if isinstance(model, ModelHandle) else str(model) for model in request.models or ()]
    model = ""
    if models:
        model = f", {models[0]!r}" if len(models) == 1 else f", {models}"
    arguments = {
        "limit": request.limit,
        "options": request.suite_options,
        "kind": request.family,
        "interval": None if request.interval == "wilson" else request.interval,
        "model_options": request.model_options,
        "protocol": request.protocol,
        "tags": request.tags,
        "sweep": request.sweep,
    }
    argument_text = "".join(f", {name}={value!r}" for name, value in arguments.items() if value)
    return f"wug.run({suites}{model}{argument_text})"
