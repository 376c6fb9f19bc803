"""Asking models what suites want to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

from wug import stats
from wug.api.model import Model, model_of
from wug.api.results import Results
from wug.api.stores import Store
from wug.errors import InputError, UnknownName
from wug.files import user_path
from wug.runs import opening
from wug.runs.cache import Cache
from wug.runs.evaluate import record
from wug.runs.store import Store as Kept
from wug.types import Result, Suite

Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


def run(
    suites: Iterable[str | Path | Suite],
    models: Iterable[object] | None,
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
    path = store.path if isinstance(store, Store) else None if store is None else user_path(store)
    kept = None if path is None else Kept(path)
    answers = None if cache is None else Cache(user_path(cache))
    results: list[Result] = []
    runs: list[int] = []
    try:
        for model, own in _who(models, asked):
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


def suites_of(given: Iterable[str | Path | Suite], options: Mapping[str, str], kind: str | None) -> list[Suite]:
    """The suites that are named or given, in order, each once."""
    found: dict[tuple[str, str], Suite] = {}
    for named, some in groupby(given, key=lambda one: isinstance(one, (str, Path))):
        group = list(some)
        opened = opening.open_suites(list(map(str, group)), options, kind) if named else group
        for suite in opened:
            if not isinstance(suite, Suite):
                raise InputError(f"a {type(suite).__name__} is no suite. Give a name, a path, or wug.read_suite(…)")
            found.setdefault((suite.name, suite.checksum), suite)
    if not found:
        raise InputError("there is no suite to ask: give a name, a path, or a list of them")
    return list(found.values())


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
