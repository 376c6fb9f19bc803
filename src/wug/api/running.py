"""Asking models what suites want to know."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from wug import stats
from wug.api.model import KINDS, Model, model_of
from wug.api.results import Results
from wug.api.stores import Store
from wug.errors import InputError, ModelError, UnknownName
from wug.files import user_path
from wug.runs import opening, patterns
from wug.runs.cache import Cache
from wug.runs.evaluate import record
from wug.runs.store import Store as Kept
from wug.runs.sweep import Plan, Swept, Told, shared_once, sweep
from wug.types import Result, Suite

Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


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
    """A result for each model and suite, model by model; kept in `store` as they come."""
    chosen = suites_of(suites, options, kind)
    if limit is not None and limit < 1:
        raise InputError(f"limit={limit}: write a whole number, 1 or more")
    if interval not in get_args(stats.Method):
        raise UnknownName("kind of interval", str(interval), get_args(stats.Method))
    asked = [suite if limit is None else suite.sample(limit) for suite in chosen]
    opening.require_packages(asked)
    if store is not None and not isinstance(store, (Store, str, Path)):
        raise InputError(f"store={store!r}: write a path, or wug.open_store(…)")
    path = store.path if isinstance(store, Store) else None if store is None else user_path(store)
    kept = None if path is None else Kept(path)
    answers = None if cache is None else Cache(user_path(cache))
    results: list[Result] = []
    runs: list[int] = []
    try:
        named = None if models is None else listed(models)
        if named == []:
            raise InputError(f"there is no model. Give {KINDS}, or a list of them")
        if named is not None and any(map(_is_pattern, named)):
            plan = _plan(named, asked, interval, _also(limit, options))
            swept = sweep(plan, store=kept, cache=answers, tell=None if progress is None else _in_questions(progress))
            if swept.failures and not swept.found:
                raise ModelError(_failed(swept))
            if swept.failures:
                warnings.warn(_failed(swept), stacklevel=4)
            return Results(swept.results, runs=list(swept.runs.values()), store=path)
        for model, own in _who(named, asked):
            command = f"wug.run({[suite.name for suite in own]}, {model.id!r}{_also(limit, options)})"
            found = record(
                own, model.opened, command=command, store=kept, cache=answers, interval=interval, tell=progress
            )
            results += found.results
            runs += [] if found.number is None else [found.number]
    finally:
        for file in (kept, answers):
            if file is not None:
                file.close()
    return Results(results, runs=runs, store=path)


def _is_pattern(model: object) -> bool:
    return isinstance(model, (str, Path)) and patterns.is_pattern(str(model))


def _plan(models: Sequence[object], suites: Sequence[Suite], interval: stats.Method, also: str) -> Plan:
    """What is asked of the models that names and patterns stand for, as a sweep."""
    texts = [str(one) for one in models if isinstance(one, (str, Path))]
    if len(texts) < len(models):
        raise InputError("patterns cannot stand in one list with models that are open already: ask these by themselves")
    found = patterns.expand(texts)
    specs = tuple(opening.model_spec(named.text) for named in found)
    return Plan(
        models=specs,
        suites=shared_once(suites),
        command=f"wug.run({[suite.name for suite in suites]}, {texts}{also})",
        name=" ".join(texts),
        scope=tuple(texts),
        interval=interval,
        commits={
            (spec.name, spec.revision or ""): named.commit
            for spec, named in zip(specs, found, strict=True)
            if named.commit is not None
        },
    )


def _in_questions(progress: Progress) -> Callable[[Told], None]:
    """Progress of a sweep as questions, each model counted as having those of the one that is asked."""

    def tell(told: Told) -> None:
        done, total = told.questions
        if total:
            progress(told.done * total + done, told.models * total)

    return tell


def _failed(swept: Swept) -> str:
    lines = "\n".join(f"  {failure.model}: {failure.message}" for failure in swept.failures)
    return f"{len(swept.failures)} models failed; the same call tries them again\n{lines}"


def suites_of(
    given: str | Path | Suite | Iterable[str | Path | Suite], options: Mapping[str, str], kind: str | None
) -> list[Suite]:
    """The suites that are named or given, in order, each once."""
    found: dict[tuple[object, ...], Suite] = {}
    for named, some in groupby(listed(given), key=lambda one: isinstance(one, (str, Path))):
        group = list(some)
        opened = opening.open_suites(list(map(str, group)), options, kind) if named else group
        for suite in opened:
            if not isinstance(suite, Suite):
                remedy = "Give a name, a path, or wug.read_suite(…), which takes dictionaries"
                raise InputError(f"{type(suite).__name__} is not a suite. {remedy}")
            if not named and (options or kind is not None):
                what = "kind" if not options else f"options ({', '.join(options)})"
                raise InputError(f"{suite.name} is open already: give its {what} where it is opened")
            found.setdefault((suite.name, suite.checksum, *sorted(suite.options.items())), suite)
    if not found:
        raise InputError("there is no suite: give a name, a path, or a list of them")
    return list(found.values())


def listed(given: Any) -> list[Any]:
    """What is given, one or several."""
    single = isinstance(given, (str, bytes, Path, Suite, Mapping)) or not isinstance(given, Iterable)
    return [given] if single else list(given)


def _who(models: Iterable[object] | None, suites: Sequence[Suite]) -> Iterable[tuple[Model, Sequence[Suite]]]:
    """Who is asked what: every model everything, or built-in models the suites that they fit."""
    if models is not None:
        return ((model_of(one), suites) for one in models)
    fitting: dict[str, list[Suite]] = {}
    for suite in suites:
        fitting.setdefault(opening.builtin_model_for(suite), []).append(suite)
    return ((model_of(name), own) for name, own in fitting.items())


def _also(limit: int | None, options: Mapping[str, str]) -> str:
    """The rest of a call, as it is kept with a run."""
    given = {**({} if limit is None else {"limit": limit}), **({"options": dict(options)} if options else {})}
    return "".join(f", {name}={value!r}" for name, value in given.items())
