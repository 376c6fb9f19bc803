"""`wug run`: sweep files, progress, and the results of many models."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.files import user_path
from wug.results.progress import duration

if TYPE_CHECKING:
    from wug.evaluation.request import Listener, Plan, RunEvent, RunReport, RunRequest

MAX_NAME_COLUMNS = 100


def with_sweep_file(request: RunRequest) -> RunRequest:
    """The request with the models, suites and options of a sweep file, if a suite is one."""
    names = [str(name) for name in request.suites]
    if not any(name.endswith(".toml") for name in names):
        return request
    if len(names) > 1:
        raise click.UsageError("a sweep file names the suites: name nothing else")
    source = click.get_current_context().get_parameter_source("models")
    if request.models and source is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("a sweep file names the models: leave --model out, or name suites instead of the file")
    from wug.evaluation.sweep_file import read

    path = user_path(names[0])
    sweep_file = read(path)
    return dataclasses.replace(
        request,
        suites=sweep_file.suites,
        models=sweep_file.models,
        suite_options={**sweep_file.suite, **request.suite_options},
        model_options={**sweep_file.model, **request.model_options},
        family=request.family or sweep_file.kind,
        tags=request.tags or sweep_file.tags,
        limit=request.limit or sweep_file.limit,
        interval=sweep_file.interval or request.interval,
        sweep=request.sweep or sweep_file.name or path.stem,
    )


def deliver(plan: Plan, report: RunReport, options: common.ResultOptions) -> None:
    """Print the results, and what failed on stderr."""
    if report.results and plan.sweep is not None:
        runs = [(name, recorded.number, recorded.results) for name, recorded in report.recorded.items()]
        common.deliver_runs(runs, options, _hint(plan, report))
    elif report.results:
        common.deliver_new(report.results, options, _hint(plan, report))
    for failure in report.failures:
        printing.print_message(f"{failure.model}: {failure.message}", "failed")
    if report.failures:
        printing.print_message(
            f"{len(report.failures)} of {len(plan.tasks)} models failed; the same command tries them again"
        )


def _hint(plan: Plan, report: RunReport) -> str:
    if not report.runs:
        return ""
    if plan.sweep is None:
        return common.next_steps(report.runs)
    resumed_note = f", {report.resumed} of them before" if report.resumed else ""
    done = f"{len(report.runs)} of {len(plan.tasks)} models done{resumed_note}"
    return f"{done} · {common.suggested_command('show', f'sweep:{plan.sweep}')} · {common.suggested_command('view')}"


def show_dry_run(plan: Plan, request: RunRequest, format: str) -> int:
    """Print what would be computed; return the exit code."""
    from wug.evaluation.dry_run import dry_run
    from wug.evaluation.service import opened_cache, opened_store

    with opened_store(request.store) as store, opened_cache(request.cache) as cache:
        preview = dry_run(plan, store, cache)
    if format == "json":
        printing.print_data(json.dumps(preview.as_data(), ensure_ascii=False, indent=2))
        return 0
    printing.print_text(preview.heading)
    width = min(MAX_NAME_COLUMNS, max((len(str(planned_model.model)) for planned_model in preview.models), default=0))
    for planned_model in preview.models:
        printing.print_text(f"  {planned_model.model!s:<{width}}  {planned_model.state}")
    printing.print_text(preview.total)
    return 0


@contextmanager
def progress(plan: Plan) -> Iterator[Listener]:
    """A listener that shows progress: a bar on a terminal, else a line every few seconds for several models."""
    if common.quiet():
        yield lambda event: None
        return
    if printing.is_json_log():
        yield _ProgressLines()
        return
    if not sys.stderr.isatty():
        yield _ProgressLines() if len(plan.tasks) > 1 else _say_loading
        return
    has_models = len(plan.tasks) > 1
    with common.progress_bar("models" if has_models else "requests") as draw:

        def listen(event: RunEvent) -> None:
            done, total = event.requests
            if has_models:
                now = f"{event.model}  {done:,} of {total:,} requests" if total else event.model
                draw(event.done + (done / total if total else 0.0), event.models, now)
            else:
                draw(done, total, event.model)

        yield listen


def _say_loading(event: RunEvent) -> None:
    if event.stage == "loading" and event.model:
        common.notify(f"loading {event.model}")


class _ProgressLines:
    """Progress as lines, the first at once, then one every few seconds."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._lines = 0

    def __call__(self, event: RunEvent) -> None:
        now = time.monotonic()
        if self._lines and now - self._last < common.SECONDS_BETWEEN_LINES and event.done < event.models:
            return
        self._last, self._lines = now, self._lines + 1
        done, total = event.requests
        progress = {"model": event.model, "models_done": event.done, "models": event.models}
        requests = {"requests_done": done, "requests": total}
        printing.print_message(line(event, now - self._began), "info", event=event.stage, **progress, **requests)


def line(event: RunEvent, seconds: float) -> str:
    """How far a run is: models done, the current model, its requests, time left."""
    parts = [f"{event.done:,} of {event.models:,} models"]
    if event.model:
        parts.append(event.model)
    done, total = event.requests
    if total:
        parts.append(f"{done:,} of {total:,} requests")
    new_models = event.done - event.resumed + (done / total if total else 0.0)
    if new_models > 0 and event.done < event.models:
        parts.append(f"about {duration(seconds * (event.models - event.resumed - new_models) / new_models)} left")
    return " · ".join(parts)
