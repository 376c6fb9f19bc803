"""`wug run`: evaluate models on test suites."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.evaluation import executors
from wug.families.commands import OUTPUT_FILE, POSITIVE, option
from wug.files import existing, format_of, user_path
from wug.interfaces import SuiteAttributes
from wug.outcomes import PROPORTION_METHODS, Result
from wug.results.progress import duration
from wug.tables import format_suffixes
from wug.views import chart_files

if TYPE_CHECKING:
    from wug.evaluation.request import Listener, Plan, RunEvent, RunReport, RunRequest

MAX_NAME_COLUMNS = 100
SUITES = click.Argument(["suites"], nargs=-1, metavar="SUITE...")
GROUPS: Mapping[str, Sequence[click.Option]] = {
    "What to run": (
        option("--data more", "Another way to name a suite.", multiple=True, hidden=True),
        option(
            "--model models",
            "Model, such as causal:gpt2, 'causal:runs/*/checkpoint-*', 'causal:NAME@step*' or @LIST; repeatable.  "
            "[default: a built-in model]",
            multiple=True,
            envvar="WUG_MODEL",
        ),
        common.MODEL_OPTIONS,
        option("--vocab", "Vocabulary of a word-level model; short for -M vocab=FILE."),
        common.KIND,
        option("--original", "Read files as the original format; short for -S format=original.", is_flag=True),
        option("--tag tags", "Only suites with this tag or phenomenon; repeatable.", multiple=True),
        option("--limit", "Only N items per suite, stratified by group.", type=POSITIVE, metavar="N"),
        option("--fetch", "Fetch published sets that are missing; see `wug data`.", is_flag=True),
        option("--accept", "With --fetch, accept restricted licences.", is_flag=True),
    ),
    "Scoring": (
        common.SUITE_OPTIONS,
        option(
            "--protocol",
            "Score by the conventions of another program: lm-eval, babylm, minicons; or wug's, where a file asks "
            "for others.",
            metavar="NAME",
        ),
        option("--people", "People's responses to minimal pairs; short for -S people=FILE.", metavar="FILE"),
        option("--fast", "Short version of a benchmark; short for -S fast=yes.", is_flag=True),
        option("--target", "What to score of a pair.", type=click.Choice(["sentence", "word"])),
        option("--eval-target-word --eval_target_word", "Short for --target word.", is_flag=True),
        option(
            "--mask-target/--no-mask-target --mask_target/--no_mask_target",
            "With --target word, mask only the target for a masked model.",
            default=None,
        ),
        option(
            "--single-piece-only --single_piece_only",
            "With --target word, leave out targets of several tokens.",
            is_flag=True,
        ),
        option("--seed", "Random seed of models that sample; scoring is deterministic.", type=int),
        option(
            "--metric metrics",
            "Further metric: my_module:function of an item's outcomes, or the name of a plugin's; repeatable.",
            multiple=True,
            metavar="NAME",
        ),
        common.choice("--interval", *PROPORTION_METHODS, help="Method for intervals of proportions."),
    ),
    "Output": (
        common.FORMAT,
        common.SUMMARY,
        common.BY,
        common.EFFECTS,
        option(
            "--print-word-probs --print_word_probs",
            "Print the log-probability of every word of every pair.",
            is_flag=True,
        ),
        option(
            "-o --output path",
            "Also write results to a file, in the format of its suffix: .json .csv .tsv .md .tex, .html for a report.",
            type=OUTPUT_FILE,
        ),
        common.SAVE,
        common.STORE,
        option("--sweep", "Store the runs as one sweep of this name.", metavar="NAME"),
    ),
    "Where it runs": (
        common.DEVICE,
        option("--cuda", "Short for --device cuda.", is_flag=True),
        common.choice(
            "--executor",
            *executors.names(),
            help="Run models in this process, in several, or on Ray.",
        ),
        option(
            "--workers",
            "Models at a time, one process each; with --executor ray also copies of one.  [default: as many as "
            "keep a GPU busy; 1 on a CPU]",
            type=POSITIVE,
            metavar="N",
        ),
        common.CACHE,
        common.NO_CACHE,
        option("--dry-run", "Print what would be computed, and how much of it is cached.", is_flag=True),
    ),
}
"""The options. An option is declared here, passed to RunRequest below, and used by the run service."""


def run(*, path: Path | None, fetch: bool, accept: bool, dry_run: bool, **values: Any) -> int:
    """Evaluate models on test suites.

    SUITE is a file, a folder, a built-in name (`wug list suites`), a published set (`wug data list`), or a sweep file,
    which names models too. To resume an interrupted or killed run, repeat the command.

    \b
    wug run wug_agreement_pp                                     the built-in model
    wug run number_prep.json --model causal:gpt2
    wug run blimp/anaphor_agreement --fetch --model causal:gpt2   a published set, fetched if it is missing
    wug run suites/ --model causal:gpt2 --model causal:EleutherAI/pythia-70m@step1000 --format json
    wug run pairs.jsonl --model causal:gpt2 --people responses.csv   correlate with people's judgements
    wug run wug_filler_gap --model causal:./my-model -M dtype=bfloat16 -S join=detokenized
    wug run wug_syntaxgym --model 'causal:runs/*/checkpoint-*' --dry-run   what a sweep would compute
    wug run sweep.toml --executor ray                            models, suites and options from a file
    """
    from wug.evaluation import service

    result_options = common.ResultOptions.from_values(values)
    if path is not None:
        _require_writer(path, values["save"])
    request = _with_sweep_file(_request(values))
    if values["sweep"] and not values["save"]:
        raise click.UsageError("--sweep names runs in the store: it excludes --no-save")
    if not request.suites:
        raise click.UsageError("name a suite: a file, a folder, or one of `wug list suites`")
    if accept and not fetch:
        raise click.UsageError("--accept is for --fetch")
    if fetch:
        _fetch([str(name) for name in request.suites], accept)
    common.log_paths(request.store, request.cache)
    gc.disable()  # it would look at every item of a large suite again and again
    try:
        plan = service.resolve(request)
        gc.freeze()
    finally:
        gc.enable()
    click.get_current_context().call_on_close(gc.unfreeze)
    _describe(request, plan)
    if dry_run:
        _show_dry_run(plan, request, result_options.format)
        return 0
    if (request.workers or 1) > 1 and request.executor != "ray" and len(plan.tasks) == 1:
        raise click.UsageError("--workers is for several models, or for --executor ray")
    with _progress(plan) as listen:
        report = service.execute_plan(plan, request, listen)
    if path is not None:
        _write(report, path, request)
    _deliver(plan, report, result_options)
    if values["print_word_probs"] and result_options.format == "table":
        _print_words(report.results)
    return 1 if report.failed else 0


command = common.GroupedCommand(run, [SUITES], GROUPS)


def _request(values: Mapping[str, Any]) -> RunRequest:
    from wug.evaluation.annotated_suite import find_metric
    from wug.evaluation.request import RunRequest

    scoring = {
        "target": values["target"] or ("word" if values["eval_target_word"] else None),
        "mask_target": "no" if values["mask_target"] is False else None,
        "single_piece_only": "yes" if values["single_piece_only"] else None,
        "print_word_probs": "yes" if values["print_word_probs"] else None,
        "format": "original" if values["original"] else None,
        "people": values["people"],
        "fast": "yes" if values["fast"] else None,
    }
    model = {
        "vocab": values["vocab"],
        "seed": None if values["seed"] is None else str(values["seed"]),
        "device": values["device"] or ("cuda" if values["cuda"] else None),
    }
    return RunRequest(
        suites=values["suites"] + values["more"],
        models=values["models"] or None,
        suite_options={**values["suite_options"], **{k: v for k, v in scoring.items() if v is not None}},
        model_options=values["model_options"],
        shared_model_options={k: v for k, v in model.items() if v is not None},
        protocol=values["protocol"],
        family=values["kind"],
        tags=values["tags"],
        limit=values["limit"],
        metrics=[find_metric(name) for name in values["metrics"]],
        interval=values["interval"],
        store=values["store_path"] if values["save"] else None,
        cache=None if values["no_cache"] else values["cache"],
        executor=values["executor"],
        workers=values["workers"],
        sweep=values["sweep"],
        command=common.command_line(),
    )


def _describe(request: RunRequest, plan: Plan) -> None:
    for suite in plan.suites:
        if explanation := SuiteAttributes.of(suite).understood:
            common.notify(f"{suite.name}: {explanation}")
    source = click.get_current_context().get_parameter_source("models")
    if request.models is not None and source is click.core.ParameterSource.DEFAULT_MAP:
        common.notify(f"using the configured model (wug config): {' '.join(map(str, request.models))}")
    if request.models is None:
        common.notify(f"no --model given: using the built-in {' and '.join(plan.scope)}")


def _print_words(results: Sequence[Result]) -> None:
    from wug.views.family_views import view_of

    for result in results:
        lines = view_of(result.kind).word_probabilities
        for line in lines(result) if lines else ():
            printing.print_text(line)


def _require_writer(path: Path, save: bool) -> None:
    """Refuse a file that results cannot be written to, before any model is loaded."""
    format = format_of(path, format_suffixes())
    if format != "html":
        common.require_format(format, path)
        return
    chart_files.require()
    if not save:
        raise click.UsageError("-o page.html is a report of the stored run: it excludes --no-save")


def _write(report: RunReport, path: Path, request: RunRequest) -> None:
    from wug.results.store import Store
    from wug.views.result_tables import estimate_table

    format = format_suffixes()[path.suffix.lower()]
    if format == "html":
        assert request.store is not None
        common.write_page(Store(request.store), report.runs.values(), None, path)
    else:
        common.deliver_table(estimate_table(report.results, format), format, path)


def _fetch(names: Sequence[str], accept: bool) -> None:
    from wug import data
    from wug.cli.data import fetch

    fetch(
        [data.find(name).for_run().without_training() for name in names if data.is_known(name) and not existing(name)],
        accept,
    )


def _with_sweep_file(request: RunRequest) -> RunRequest:
    """The request with the models, suites and options of a sweep file, if a suite is one."""
    names = [str(name) for name in request.suites]
    if not any(name.endswith(".toml") for name in names):
        return request
    if len(names) > 1:
        raise click.UsageError("a sweep file names the suites: name nothing else")
    if common.on_command_line("models"):
        raise click.UsageError("a sweep file names the models: leave --model out, or name suites instead of the file")
    from wug.evaluation.sweep_file import read

    path = user_path(names[0])
    sweep_file = read(path)
    return replace(
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


def _deliver(plan: Plan, report: RunReport, options: common.ResultOptions) -> None:
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


def _show_dry_run(plan: Plan, request: RunRequest, format: str) -> None:
    """Print what would be computed."""
    from wug.evaluation.dry_run import dry_run
    from wug.evaluation.service import opened_cache, opened_store

    with opened_store(request.store) as store, opened_cache(request.cache) as cache:
        preview = dry_run(plan, store, cache)
    if format == "json":
        printing.print_data(json.dumps(preview.as_data(), ensure_ascii=False, indent=2))
        return
    printing.print_text(preview.heading)
    width = min(MAX_NAME_COLUMNS, max((len(str(planned_model.model)) for planned_model in preview.models), default=0))
    for planned_model in preview.models:
        printing.print_text(f"  {planned_model.model!s:<{width}}  {planned_model.state}")
    printing.print_text(preview.total)


@contextmanager
def _progress(plan: Plan) -> Iterator[Listener]:
    """A listener that shows progress: a bar on a terminal, else a line every few seconds for several models."""
    has_models = len(plan.tasks) > 1
    with common.progress_bar("models" if has_models else "requests") as draw:
        if draw is None:
            lines = not common.quiet() and (has_models or printing.is_json_log())
            yield _ProgressLines() if lines else _say_loading
            return

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
        printing.print_message(_line(event, now - self._began), "info", event=event.stage, **progress, **requests)


def _line(event: RunEvent, seconds: float) -> str:
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
