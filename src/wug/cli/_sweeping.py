"""`wug run` of many models: what is asked of whom, how far that is, what came of it."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.models import ModelSpec
    from wug.runs.cache import Cache
    from wug.runs.store import Store
    from wug.runs.sweep import Plan, Swept, Told
    from wug.runs.sweep_curves import SweepMatrix
    from wug.runs.sweep_file import SweepFile
    from wug.stats import Method
    from wug.types import Suite

SHOWN = 3
"""Beyond so many models a sweep is printed as a table of models by suites."""
WIDE = 100
"""Characters of a model's name in a list."""
EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def are_many(models: Sequence[str]) -> bool:
    """Whether these stand for more than one model."""
    from wug.runs.patterns import is_pattern

    return len(models) > 1 or any(is_pattern(text) for text in models)


def read_file(
    suites: Sequence[str], models: Sequence[str], kind: str | None, tags: Sequence[str], limit: int | None
) -> SweepFile | None:
    """The sweep file that is named in the place of suites, its say over what the command line leaves open."""
    if not any(name.endswith(".toml") for name in suites):
        return None
    if len(suites) > 1:
        raise click.UsageError("a sweep file names the suites: give it alone")
    source = click.get_current_context().get_parameter_source("models")
    if models and source is not click.core.ParameterSource.ENVIRONMENT:
        raise click.UsageError("a sweep file names the models: leave --model out, or name suites instead of the file")
    from wug.files import user_path
    from wug.runs.sweep_file import read

    path = user_path(suites[0])
    found = read(path)
    return dataclasses.replace(
        found,
        name=found.name or path.stem,
        kind=kind or found.kind,
        tags=tuple(tags) or found.tags,
        limit=limit or found.limit,
    )


def plan(
    models: Sequence[str],
    suites: Sequence[Suite],
    spec_of: Callable[[str], ModelSpec],
    name: str | None,
    interval: Method,
) -> Plan:
    """What is asked of whom; a model that cannot be named so is refused before any is asked."""
    from wug import registry
    from wug.runs.patterns import expand, is_pattern
    from wug.runs.sweep import Plan, shared_once

    commits: dict[tuple[str, str], str] = {}
    specs = []
    for named in expand(models):
        spec = spec_of(named.text)
        spec.read(registry.find("models", spec.kind).OPTIONS)
        specs.append(spec)
        if named.commit is not None:
            commits[spec.name, spec.revision or ""] = named.commit
    called = name or (" ".join(models) if any(map(is_pattern, models)) else None)
    return Plan(
        models=tuple(specs),
        suites=shared_once(suites),
        command=common.command_line(),
        name=called,
        scope=tuple(models),
        interval=interval,
        commits=commits,
    )


def run(plan: Plan, store: Store | None, cache: Cache | None, *, engine: str, workers: int | None) -> Swept:
    """Ask all models, here or on a cluster."""
    with _progress() as tell:
        if engine == "ray":
            from wug.runs.ray import sweep_on_ray

            return sweep_on_ray(plan, workers=workers, store=store, cache=cache, tell=tell)
        from wug.runs.processes import sweep_here

        return sweep_here(plan, workers=workers, store=store, cache=cache, tell=tell)


def deliver(
    plan: Plan, swept: Swept, store: Store | None, form: str, *, summary: bool = False, by: Sequence[str] = ()
) -> None:
    """Print what was found, and on stderr what failed."""
    if form == "table" and plan.name is not None and len(plan.models) > SHOWN and not summary and not by:
        from wug.show import matrix

        matrix.show(matrix.of(_matrix(swept)), printing.console(width=160))
    elif swept.results:
        common.deliver_made(swept.results, form, summary=summary, by=by)
    if form == "table" and (hint := _hint(plan, swept, store)):
        common.say(hint)
    for failure in swept.failures:
        printing.tell(f"failed: {failure.model}: {failure.message}")
    if swept.failures:
        printing.tell(f"{len(swept.failures)} of {len(plan.models)} models failed; the same command tries them again")


def _matrix(swept: Swept) -> SweepMatrix:
    from wug.runs.sweep_curves import MatrixLine, SweepMatrix

    every = swept.results
    suites = tuple(dict.fromkeys(result.suite for result in every))
    lines = []
    for name, recorded in swept.found.items():
        own = {result.suite: result for result in recorded.results}
        status = "failed" if any(result.status == "failed" for result in recorded.results) else "complete"
        lines.append(MatrixLine(name, recorded.number, status, tuple(own.get(suite) for suite in suites)))
    return SweepMatrix(suites, tuple(lines), tuple(dict.fromkeys(result.signature for result in every)))


def _hint(plan: Plan, swept: Swept, store: Store | None) -> str:
    if store is None or not swept.runs:
        return ""
    if plan.name is None:
        return common.next_steps(swept.runs)
    before = f", {swept.before} of them before" if swept.before else ""
    done = f"{len(swept.runs)} of {len(plan.models)} models done{before}"
    return f"{done} · {common.again('show', f'sweep:{plan.name}')} · {common.again('view')}"


def show_outlook(plan: Plan, store: Store | None, cache: Cache | None, form: str) -> int:
    """Print what would be asked; the exit code."""
    from wug.runs.sweep_plan import outlook

    found = outlook(plan, store, cache)
    if form == "json":
        printing.emit(json.dumps(found.as_data(), ensure_ascii=False, indent=2))
        return 0
    printing.echo(found.heading)
    width = min(WIDE, max((len(str(one.model)) for one in found.models), default=0))
    for one in found.models:
        printing.echo(f"  {one.model!s:<{width}}  {one.state}")
    printing.echo(found.total)
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[Told], None]]:
    """A function that is told how far a sweep is; a bar on a terminal, else a line now and then."""
    if common.quiet():
        yield lambda told: None
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    columns = (
        TextColumn("models"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=printing.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, now="")

        def tell(told: Told) -> None:
            done, total = told.questions
            part = done / total if total else 0.0
            now = f"{told.model}  {done:,} of {total:,} questions" if total else told.model
            bar.update(task, completed=told.done + part, total=told.models, now=Text(now).plain)

        yield tell


class _Lines:
    """Progress as lines, the first at once, then one every few seconds."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._told = 0

    def __call__(self, told: Told) -> None:
        now = time.monotonic()
        if self._told and now - self._last < EVERY and told.done < told.models:
            return
        self._last, self._told = now, self._told + 1
        common.say(line(told, now - self._began))


def line(told: Told, seconds: float) -> str:
    """How far a sweep is: models done of all, what is asked, questions, time left."""
    parts = [f"{told.done:,} of {told.models:,} models"]
    if told.model:
        parts.append(told.model)
    done, total = told.questions
    if total:
        parts.append(f"{done:,} of {total:,} questions")
    new = told.done - told.before + (done / total if total else 0.0)
    if new > 0 and told.done < told.models:
        parts.append(f"about {_duration(seconds * (told.models - told.before - new) / new)} left")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
