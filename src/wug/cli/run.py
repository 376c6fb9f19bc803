"""`wug run`: ask models what suites want to know."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _flags as flags
from wug.cli import _printing as printing
from wug.cli import _sweeping as sweeping

if TYPE_CHECKING:
    from wug.models import ModelSpec
    from wug.runs.cache import Cache
    from wug.runs.store import Store
    from wug.stats import Method
    from wug.types import Result, Suite


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
@click.option("--tag", "tags", multiple=True, help="Only suites with this tag, or of this circuit; repeatable.")
@click.option("--fetch", is_flag=True, help="Fetch published sets that are not here; see `wug data`.")
@click.option("--accept", is_flag=True, help="With --fetch, accept licences that do not allow every use.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Only N items of each suite, every group with its share."
)
@common.choice("--interval", "wilson", "clopper-pearson", help="How intervals of shares are made.")
@common.choice("--engine", "local", "ray", help="Where models run: on this machine, or on a Ray cluster, one a GPU.")
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
    help="How many models at a time, each in a process of its own; with --engine ray also copies of one.  [default: as "
    "many as keep a GPU busy; 1 on a CPU]",
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
    engine: str,
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
    """Ask models what suites want to know, and print what was found.

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
    wug run sweep.toml --engine ray                              models, suites and options from a file
    """
    from wug.runs.cache import Cache
    from wug.runs.store import Store

    common.refuse_both(summary, by)
    if output is not None:
        _require_writer(output, save)
    asked = suites + more
    written = sweeping.read_file(asked, models, kind, tags, limit)
    if written is not None:
        asked, models, kind, tags, limit = written.suites, written.models, written.kind, written.tags, written.limit
        suite_options, model_options = {**written.suite, **suite_options}, {**written.model, **model_options}
        interval = written.interval or interval
        sweep_name = sweep_name or written.name
    if not asked:
        raise click.UsageError("name a suite: a file, a folder, or one of `wug list suites`")
    if workers is not None and workers > 1 and engine == "local" and not sweeping.are_many(models):
        raise click.UsageError("--workers is for several models, or for --engine ray")
    if accept and not fetch:
        raise click.UsageError("--accept is for --fetch")
    if fetch:
        _fetch(asked, accept)
    given = flags.Flags(**flagged)
    chosen = _open(asked, {**suite_options, **given.suite_options}, kind, tags, limit)
    store = Store(db or common.default_db()) if save else None
    answers = None if no_cache else Cache(cache or common.default_cache())
    common.tell_places(None if store is None else store.path, None if answers is None else answers.path)

    def spec_of(name: str) -> ModelSpec:
        return _spec(name, given, model_options)

    results: list[Result] = []
    saved: dict[str, int] = {}
    if sweep_name or dry_run or sweeping.are_many(models):
        plans = [
            sweeping.plan(names, own, spec_of, sweep_name, interval)
            for names, own in ([(models, chosen)] if models else [([name], own) for name, own in _who((), chosen)])
        ]
        if dry_run:
            return max(sweeping.show_outlook(plan, store, answers, form) for plan in plans)
        swept = [sweeping.run(plan, store, answers, engine=engine, workers=workers) for plan in plans]
        results = [result for one in swept for result in one.results]
        if output is not None:
            _write(results, output, store, [run for one in swept for run in one.runs.values()])
        for plan, one in zip(plans, swept, strict=True):
            sweeping.deliver(plan, one, store, form, summary=summary, by=by)
        _print_words(results, given, form)
        return 1 if any(one.failed for one in swept) else 0
    for name, own in _who(models, chosen):
        opened = _opened(name, spec_of(name), engine, workers)
        results += _run(own, name, opened, interval, store, answers, saved)
    if output is not None:
        _write(results, output, store, saved.values())
    common.deliver_made(results, form, common.next_steps(saved) if saved else None, summary=summary, by=by)
    _print_words(results, given, form)
    return 1 if any(result.status == "failed" for result in results) else 0


def _print_words(results: Sequence[Result], given: flags.Flags, form: str) -> None:
    """Print the log-probabilities of words, where they are asked for."""
    if given.print_word_probs and form == "table":
        from wug.families.pairs.show import word_probabilities

        for line in (line for result in results for line in word_probabilities(result)):
            printing.echo(line)


def _require_writer(output: Path, save: bool) -> None:
    """An error where results cannot be written to a file of that name: better now than after the model was asked."""
    if common.format_of(output, {**common.SUFFIXES, ".html": "html"}) != "html":
        return
    from wug.show import charts

    charts.require()
    if not save:
        raise click.UsageError("-o page.html is a report of the run that is kept: --no-save does not go with it")


def _write(results: Sequence[Result], output: Path, store: Store | None, runs: Iterable[int]) -> None:
    """Write results to a file in the format that its name asks for."""
    from wug.show.table import FORMATS

    if output.suffix.lower() == ".html":
        assert store is not None
        common.write_page(store, runs, None, output)
    else:
        common.deliver_text(FORMATS[common.SUFFIXES[output.suffix.lower()]](results), output)


def _spec(name: str, given: flags.Flags, model_options: Mapping[str, str]) -> ModelSpec:
    """A model with the options of its name, of flags and of -M."""
    from wug import options, registry
    from wug.runs.opening import model_spec

    spec = model_spec(name)
    known = options.names(registry.find("models", spec.kind).OPTIONS)
    return dataclasses.replace(spec, options={**spec.options, **given.model_options(known), **model_options})


def _fetch(names: Sequence[str], accept: bool) -> None:
    """Bring the published sets among some names onto this machine, as far as a run needs them."""
    from wug import data
    from wug.cli.data import bring
    from wug.files import existing

    bring(
        [data.find(name).for_a_run().without_training() for name in names if data.knows(name) and not existing(name)],
        accept,
    )


def _who(models: Sequence[str], suites: Sequence[Suite]) -> list[tuple[str, Sequence[Suite]]]:
    """Who is asked what: every model everything, or built-in models the suites that they fit."""
    from wug.runs.opening import builtin_model_for

    if models:
        return [(name, suites) for name in models]
    fitting: dict[str, list[Suite]] = {}
    for suite in suites:
        fitting.setdefault(builtin_model_for(suite), []).append(suite)
    common.say(f"no --model given: asking the built-in {' and '.join(fitting)}")
    return list(fitting.items())


def _open(
    names: Sequence[str],
    options: Mapping[str, str],
    kind: str | None,
    tags: Sequence[str],
    limit: int | None,
) -> list[Suite]:
    """The suites asked for, in order, each once."""
    from wug.runs import opening
    from wug.runs.tags import tagged

    found: dict[tuple[str, str], Suite] = {}
    for suite in opening.open_suites(names, options, kind):
        found.setdefault((suite.name, suite.checksum), suite)
        if how := getattr(suite, "understood", None):  # a table that could have been read in other ways
            common.say(f"{suite.name}: {how}")
    chosen = tagged(found.values(), tags) if tags else list(found.values())
    opening.require_packages(chosen)
    return [suite if limit is None else suite.sample(limit) for suite in chosen]


@contextmanager
def _opened(name: str, spec: ModelSpec, engine: str, workers: int | None) -> Iterator[Any]:
    """The model, on this machine or spread over a cluster."""
    from wug.runs.opening import open_model

    common.say(f"loading {name}")
    if engine == "local":
        yield open_model(spec)
        return
    from wug.runs.ray import spread

    with spread(spec, workers) as model:
        yield model


def _run(
    suites: Sequence[Suite],
    name: str,
    opened: AbstractContextManager[Any],
    interval: Method,
    store: Store | None,
    cache: Cache | None,
    saved: dict[str, int],
) -> list[Result]:
    """The results of one model, kept as they come."""
    from wug.runs.evaluate import record

    with opened as model, common.progress(f"asking {model.id}") as tell:
        found = record(
            suites, model, command=common.command_line(), store=store, cache=cache, interval=interval, tell=tell
        )
    if found.number is not None:
        saved[name] = found.number
    return list(found.results)
