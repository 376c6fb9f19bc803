"""`wug.run`: a run request made of what Python users pass, and its report as results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wug import stats
from wug.api.model import KINDS, model_of
from wug.api.results import Results
from wug.api.stores import Store
from wug.errors import InputError, ModelError
from wug.evaluation.handle import ModelHandle
from wug.evaluation.request import Listener, RunEvent, RunReport, RunRequest
from wug.evaluation.service import execute, resolve_suites
from wug.files import user_path
from wug.types import Suite

Progress = Callable[[int, int], None]
"""Called with the number of requests done and the number known so far."""


def run(
    suites: str | Path | Suite | Iterable[str | Path | Suite],
    models: Any,
    *,
    options: Mapping[str, str],
    kind: str | None = None,
    limit: int | None = None,
    store: str | Path | Store | None = None,
    cache: str | Path | None = None,
    interval: stats.Method = "wilson",
    progress: Progress | None = None,
) -> Results:
    """One result per model and suite, model by model; kept in `store` as they come."""
    if store is not None and not isinstance(store, (Store, str, Path)):
        raise InputError(f"store={store!r}: write a path, or wug.open_store(…)")
    path = store.path if isinstance(store, Store) else None if store is None else user_path(store)
    given = listed(suites)
    named = None if models is None else [_model(model) for model in listed(models)]
    if named == []:
        raise InputError(f"there is no model. Give {KINDS}, or a list of them")
    request = RunRequest(
        suites=given,
        models=named,
        suite_options=options,
        family=kind,
        limit=limit,
        interval=interval,
        store=path,
        cache=None if cache is None else user_path(cache),
        command=_call(given, named, limit, options),
    )
    report = execute(request, None if progress is None else _in_requests(progress))
    if report.failures and not report.found:
        raise ModelError(_failed(report))
    if report.failures:
        warnings.warn(_failed(report), stacklevel=3)
    return Results(report.results, runs=list(report.runs.values()), store=path)


def suites_of(
    given: str | Path | Suite | Iterable[str | Path | Suite], options: Mapping[str, str], kind: str | None
) -> list[Suite]:
    """The suites that are named or passed, in order, each once."""
    return resolve_suites(RunRequest(suites=listed(given), suite_options=options, family=kind))


def listed(given: Any) -> list[Any]:
    """What is given, one or several."""
    single = isinstance(given, (str, bytes, Path, Suite, Mapping)) or not isinstance(given, Iterable)
    return [given] if single else list(given)


def _model(model: object) -> str | ModelHandle:
    """A name as it is; anything else as a model."""
    return str(model) if isinstance(model, (str, Path)) else model_of(model).opened


def _in_requests(progress: Progress) -> Listener:
    """Progress over all models, each counted as having as many requests as the current one."""

    def listen(event: RunEvent) -> None:
        done, total = event.requests
        if total:
            progress(event.done * total + done, event.models * total)

    return listen


def _failed(report: RunReport) -> str:
    lines = "\n".join(f"  {failure.model}: {failure.message}" for failure in report.failures)
    return f"{len(report.failures)} models failed; the same call tries them again\n{lines}"


def _call(
    suites: Sequence[str | Path | Suite],
    models: Sequence[str | ModelHandle] | None,
    limit: int | None,
    options: Mapping[str, str],
) -> str:
    """The call, as it is kept with a run."""
    names = [suite.name if isinstance(suite, Suite) else str(suite) for suite in suites]
    asked = None if models is None else [model if isinstance(model, str) else model.id for model in models]
    given = {**({} if limit is None else {"limit": limit}), **({"options": dict(options)} if options else {})}
    model = "" if asked is None else f", {asked[0]!r}" if len(asked) == 1 else f", {asked}"
    return f"wug.run({names}{model}{''.join(f', {name}={value!r}' for name, value in given.items())})"
