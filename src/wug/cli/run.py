"""`wug run`: evaluate models on test suites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _flags as flags
from wug.cli import _printing as printing
from wug.cli import _sweeping as sweeping

if TYPE_CHECKING:
    from wug.evaluation.request import ExecutorName, Plan, RunReport, RunRequest
    from wug.stats import Method
    from wug.types import Result


@common.having(*flags.OPTIONS, *common.ASKING, *common.RESULT_OPTIONS)
@click.command("run")
@click.argument("suites", nargs=-1, metavar="SUITE...")
@click.option("--data", "more", multiple=True, hidden=True, help="Another way to name a suite.")
@click.option(
    "--model",
    "models",
    multiple=True,
    envvar="WUG_MODEL",
    help="Such as causal:gpt2, 'causal:runs/*/checkpoint-*', 'causal:NAME@step*' or @LIST; repeatable.  [default: the "
    "built-in model that fits]",
)
@click.option(
    "-S",
    "suite_options",
    multiple=True,
    callback=common.pairs,
    metavar="KEY=VALUE",
    help="A scoring option; see `wug list suites --all`.",
)
@click.option("--kind", help="The family, where the content does not tell.")
@click.option("--tag", "tags", multiple=True, help="Only suites with this tag, or of this phenomenon; repeatable.")
@click.option("--fetch", is_flag=True, help="Fetch published sets that are not here; see `wug data`.")
@click.option("--accept", is_flag=True, help="With --fetch, accept licences that do not allow every use.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Only N items of each suite, every group with its share."
)
@common.choice("--interval", "wilson", "clopper-pearson", help="How intervals of shares are made.")
@common.choice(
    "--executor", "auto", "serial", "processes", "ray", help="Where models run: in this process, in several, or on Ray."
)
@click.option(
    "-o",
    "--output",
    type=common.OUTPUT_FILE,
    help="Also write the results to a file; its suffix says how: .json .csv .tsv .md .tex, .html a report.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many models at a time, one process each; with --executor ray also copies of one.  [default: as many as "
    "keep a GPU busy; 1 on a CPU]",
)
@click.option("--sweep", "sweep_name", metavar="NAME", help="Keep the runs as one sweep of this name.")
@click.option("--dry-run", is_flag=True, help="Print what would be asked, and how much of it is cached; ask nothing.")
def command(
    suites: tuple[str, ...],
    more: tuple[str, ...],
    models: tuple[str, ...],
    model_options: dict[str, str],
    suite_options: dict[str, str],
    kind: str | None,
    tags: tuple[str, ...],
    fetch: bool,
    accept: bool,
    limit: int | None,
    interval: Method,
    cache: Path | None,
    no_cache: bool,
    executor: ExecutorName,
    output: Path | None,
    workers: int | None,
    sweep_name: str | None,
    dry_run: bool,
    summary: bool,
    by: tuple[str, ...],
    save: bool,
    db: Path | None,
    form: str,
    **flagged: Any,
) -> int:
    """Evaluate models on test suites.

    SUITE is a file, a folder, a built-in name (`wug list suites`) or a published set (`wug data list`); or a sweep
    file, which names models too. A run that was stopped, even killed, goes on where it was when the same command is
    given again.

    \b
    wug run wug_agreement_pp                                     the built-in model that fits
    wug run number_prep.json --model causal:gpt2
    wug run blimp/anaphor_agreement --fetch --model causal:gpt2   a published set, fetched where it is not here
    wug run suites/ --model causal:gpt2 --model causal:EleutherAI/pythia-70m@step1000 --format json
    wug run wug_filler_gap --model causal:./my-model -M dtype=bfloat16 -S join=detokenized
    wug run wug_syntaxgym --model 'causal:runs/*/checkpoint-*' --dry-run   what a sweep would ask
    wug run sweep.toml --executor ray                            models, suites and options from a file
    """
    from wug.evaluation import service
    from wug.evaluation.request import RunRequest

    common.refuse_both(summary, by)
    if output is not None:
        _require_writer(output, save)
    given = flags.Flags(**flagged)
    request = RunRequest(
        suites=suites + more,
        models=models or None,
        suite_options={**suite_options, **given.suite_options},
        model_options=model_options,
        shared_model_options=given.model_options,
        family=kind,
        tags=tags,
        limit=limit,
        interval=interval,
        store=(db or common.default_db()) if save else None,
        cache=None if no_cache else cache or common.default_cache(),
        executor=executor,
        workers=workers,
        sweep=sweep_name,
        command=common.command_line(),
    )
    request = sweeping.from_file(request)
    if not request.suites:
        raise click.UsageError("name a suite: a file, a folder, or one of `wug list suites`")
    if accept and not fetch:
        raise click.UsageError("--accept is for --fetch")
    if fetch:
        _fetch([str(name) for name in request.suites], accept)
    common.tell_places(request.store, request.cache)
    plan = service.resolve(request)
    _describe(request, plan)
    if dry_run:
        return sweeping.show_preview(plan, request, form)
    if workers is not None and workers > 1 and executor != "ray" and len(plan.tasks) == 1:
        raise click.UsageError("--workers is for several models, or for --executor ray")
    with sweeping.progress(plan) as listen:
        report = service.execute_plan(plan, request, listen)
    if output is not None:
        _write(report, output, request)
    sweeping.deliver(plan, report, form, summary=summary, by=by)
    if given.print_word_probs and form == "table":
        _print_words(report.results)
    return 1 if report.failed else 0


def _describe(request: RunRequest, plan: Plan) -> None:
    """Say how ambiguous tables were read, and which models are used where none was named."""
    for suite in plan.suites:
        if how := getattr(suite, "understood", None):  # a table that could have been read in other ways
            common.say(f"{suite.name}: {how}")
    if request.models is None:
        common.say(f"no --model given: using the built-in {' and '.join(plan.scope)}")


def _print_words(results: Sequence[Result]) -> None:
    """Print the log-probabilities of words, for families that keep them."""
    from wug.views.family_views import module_of

    for result in results:
        lines = getattr(module_of(result.kind), "word_probabilities", None)
        for line in lines(result) if lines else ():
            printing.echo(line)


def _require_writer(output: Path, save: bool) -> None:
    """Refuse a file that results cannot be written to, before any model is loaded."""
    if common.format_of(output, {**common.SUFFIXES, ".html": "html"}) != "html":
        return
    from wug.views import charts

    charts.require()
    if not save:
        raise click.UsageError("-o page.html is a report of the stored run: it does not go with --no-save")


def _write(report: RunReport, output: Path, request: RunRequest) -> None:
    """Write results to a file in the format of its suffix."""
    from wug.results.store import Store
    from wug.views.table import FORMATS

    if output.suffix.lower() == ".html":
        assert request.store is not None
        common.write_page(Store(request.store), report.runs.values(), None, output)
    else:
        common.deliver_text(FORMATS[common.SUFFIXES[output.suffix.lower()]](report.results), output)


def _fetch(names: Sequence[str], accept: bool) -> None:
    """Download the published sets among some names, as far as a run needs them."""
    from wug import data
    from wug.cli.data import bring
    from wug.files import existing

    bring(
        [data.find(name).for_a_run().without_training() for name in names if data.knows(name) and not existing(name)],
        accept,
    )
