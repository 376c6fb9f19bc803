"""What commands share: options, the run store, progress, and how results are printed and written."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from wug import registry
from wug.cli import _printing as printing
from wug.cli._printing import Verbosity
from wug.configuration import default_cache, default_store
from wug.errors import InputError, WugError
from wug.families.commands import FILE, OUTPUT_FILE, OUTPUT_FOLDER, key_value_option, option
from wug.files import format_of, write_text
from wug.formatting import escape_controls
from wug.outcomes import Result
from wug.tables import Tabular, format_named, format_names, write_table

if TYPE_CHECKING:
    from wug.evaluation.handle import ModelHandle
    from wug.results.contrasts import RunComparison
    from wug.results.store import Store

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_RUNS_IN_FULL = 3
"""The results of more models are printed as models by suites."""
MAX_LISTED_RUNS = 12
"""A hint lists at most this many runs."""
SECONDS_BETWEEN_LINES = 10.0
"""Between two lines of progress if stderr is not a terminal."""
CHARTS = (".svg", ".png", ".pdf")
"""Suffixes of images."""


def on_command_line(name: str) -> bool:
    """Whether the user wrote an option on the command line, not in the environment."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _in_existing_folder(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """The callback of --store and --cache: a folder named on the command line must exist."""
    kind = OUTPUT_FOLDER if param is STORE else OUTPUT_FILE
    return kind.convert(value, param, ctx) if value is not None and on_command_line(param.name or "") else value


STORE = option(
    "--store store_path",
    "Folder of the run store.  [default: store in the user's data folder]",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    callback=_in_existing_folder,
    envvar="WUG_STORE",
    default=default_store,
    show_default=False,
)


class FormatChoice(click.Choice[str]):
    """A table format, by its name or a suffix such as `md`."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name of the format, or a usage error."""
        return super().convert(format_named(value) or value, param, ctx)


FORMATS = FormatChoice(format_names())


def _format(about: str) -> click.Option:
    return option("--format", about, type=FORMATS, default="table", envvar="WUG_FORMAT")


FORMAT = _format("Format of the results. For SyntaxGym suites, tsv is SyntaxGym's own table, one row per judgement.")
TABLE_FORMAT = _format("Format of the output.")
SAVE = option("--save/--no-save", "Store the run.", default=True)
SUMMARY = option("--summary", "Print only the headline metric of each suite.", is_flag=True)
BY = option(
    "--by",
    "Break results down by this field, such as phenomenon, or by all; repeatable.",
    multiple=True,
    metavar="FIELD",
)
EFFECTS = option("--effects", "Print mean effects and margins in bits as well.", is_flag=True)
RESULT_OPTIONS = (SUMMARY, BY, EFFECTS, SAVE, STORE, FORMAT)
MODEL_OPTIONS = key_value_option("-M", "model_options", "Model option; see `wug list models --all`.")
SUITE_OPTIONS = key_value_option("-S", "suite_options", "Scoring option; see `wug list suites --all`.")
KIND = option("--kind", "Family of the suites, if their content does not identify it.")
DEVICE = option("--device", "Device, such as cpu, cuda, cuda:1.  [default: WUG_DEVICE, or the fastest]")
CACHE = option(
    "--cache",
    "Cache of model outputs, which lets a command resume.  [default: in the user's cache folder]",
    type=FILE,
    callback=_in_existing_folder,
    envvar="WUG_CACHE",
    default=default_cache,
    show_default=False,
)
suite_filter = click.option("--suite", "suites", multiple=True, help="Only this suite; * matches anything; repeatable.")
NO_CACHE = option("--no-cache", "Compute everything again, and cache nothing.", is_flag=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """How results are printed: the values of SUMMARY, BY, EFFECTS and FORMAT."""

    summary: bool = False
    by: tuple[str, ...] = ()
    effects: bool = False
    format: str = "table"

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> ResultOptions:
        """The options, removed from the values of a command."""
        options = cls(**{field.name: values.pop(field.name) for field in fields(cls) if field.name in values})
        if options.summary and (options.by or options.effects):
            raise click.UsageError("--summary prints only headlines: it excludes --by and --effects")
        return options


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups."""

    def __init__(
        self,
        callback: Callable[..., Any],
        arguments: Sequence[click.Parameter],
        groups: Mapping[str, Sequence[click.Option]],
    ) -> None:
        options = (option for group in groups.values() for option in group)
        super().__init__(None, params=[*arguments, *options], callback=callback, help=callback.__doc__)
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group, then the options of all commands."""
        grouped_options = {option for group in self._groups.values() for option in group}
        parameters = [item for item in self.get_params(ctx) if isinstance(item, click.Option)]
        general_options = [option for option in parameters if option not in grouped_options]
        for title, options in {**self._groups, "General": general_options}.items():
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)


def choice(name: str, *words: str, help: str) -> click.Option:
    """An option with a few values, the first of which is the default."""
    return click.Option([name], type=click.Choice(words), default=words[0], show_default=True, help=help)


def with_options(*options: click.Parameter) -> Callable[[click.Command], click.Command]:
    """A decorator that adds options to a command, after its own."""

    def decorate(command: click.Command) -> click.Command:
        command.params.extend(options)
        return command

    return decorate


def resolve_format(format: str | None, output: Path | None, formats_by_suffix: Mapping[str, str]) -> str | None:
    """The format that is given, or that of the file's suffix; an error if they differ."""
    if output is None or format is None:
        return format if output is None else format_of(output, formats_by_suffix)
    suffix_format = formats_by_suffix.get(output.suffix.lower())
    if suffix_format is not None and suffix_format != format:
        raise InputError(f"its suffix means {suffix_format}, not {format}: change one of them", file=output)
    return format


def open_store(store_path: Path) -> Store:
    """The run store to read; one that the command names must exist."""
    from wug.results.store import Store

    if on_command_line("store_path") and not store_path.exists():
        raise InputError("no such run store. See --store", file=store_path)
    return Store(store_path)


def open_models(names: Sequence[str], options: Mapping[str, str], device: str | None) -> Iterator[ModelHandle]:
    """The models of names and patterns, opened one after the other; all names are checked first."""
    from wug.evaluation.models import expand, model_spec, open_model

    matches = expand(names) if names else ()
    specs = [model_spec(match.text, options, device) for match in matches]
    return (open_model(spec) for spec in specs)


def suggested_command(*words: object, cache: bool = False) -> str:
    """A command to run next, with the same --store, and the same --cache if that matters."""
    context = click.get_current_context(silent=True)
    names = {"store_path": "--store", **({"cache": "--cache"} if cache else {})}
    stores = [part for key in names if context and on_command_line(key) for part in (names[key], context.params[key])]
    return escape_controls(shlex.join(map(str, ("wug", *words, *stores))))


def command_line() -> str:
    """The command as the user wrote it."""
    return escape_controls(shlex.join(["wug", *sys.argv[1:]]))


def deliver(results: Sequence[Result], options: ResultOptions, hint: str | None = None) -> None:
    """Print results on stdout, and a hint for people on stderr."""
    from wug.views.result_tables import break_down, estimate_table, headline, with_effects

    if options.effects:
        results = [with_effects(result) for result in results]
    if options.summary:
        results = [headline(result) for result in results]
    elif options.by:
        results = break_down(results, options.by)
    if options.format == "table":
        from wug.views.terminal import show

        show(results, printing.console(width=120), options.by or None)
        if hint:
            notify(hint)
    else:
        deliver_table(estimate_table(results, options.format), options.format, None)


def deliver_new(results: Sequence[Result], options: ResultOptions, hint: str | None = None) -> None:
    """Print results that were just computed; a wrong --by is a warning, so that they are not lost."""
    from wug.views.result_tables import break_down

    try:
        break_down(results, options.by)
    except WugError as error:
        printing.print_message(f"--by: {error}", "warning")
        options = replace(options, by=())
    deliver(results, options, hint)


def deliver_runs(
    runs: Sequence[tuple[str, int | None, Sequence[Result]]], options: ResultOptions, hint: str | None = None
) -> None:
    """Print the results of models, given with the numbers of their runs; those of many as models by suites."""
    is_default_table = options.format == "table" and not options.summary and not options.by
    if not is_default_table or len(runs) <= MAX_RUNS_IN_FULL:
        deliver_new([result for _, _, results in runs for result in results], options, hint)
        return
    from wug.views import sweeps

    sweeps.show_matrix(sweeps.result_matrix(runs), printing.console(width=160))
    if hint:
        notify(hint)


def deliver_text(text: str, output: Path | None) -> None:
    """Print text for other programs, or write it to a file."""
    if output is None:
        printing.print_data(text)
    else:
        write_text(output, text + "\n")
        notify(f"wrote {output}")


def deliver_table(table: Tabular, format: str, output: Path | None, *, raw: bool = False) -> None:
    """Print a table in a format as it is read, or write it to a file."""
    if output is not None:
        write_table(table, output, format, raw=raw)
        notify(f"wrote {output}")
        return
    require_format(format, output)
    chunks = map(str, registry.table_format(format).write(table, raw=raw))
    while text := "".join(islice(chunks, 1000)):
        printing.print_data(text, end="")


def require_format(format: str, output: Path | None) -> None:
    """Refuse to print a format that is not text, or to write one whose packages are missing."""
    writer = registry.table_format(format)
    if output is None and writer.BINARY:
        raise InputError(f"{format} is not text: name a file with -o")
    writer.require()


def write_page(store: Store, runs: Iterable[int], comparison: RunComparison | None, output: Path) -> None:
    """Write the report of runs, with their comparison."""
    from wug.views.report import ReportedResult, render

    reports = [
        ReportedResult(result, run=number, command=store.run(number).command, created=store.run(number).started)
        for number in runs
        for result in store.results(number)
    ]
    write_text(output, render(reports, comparison))
    notify(f"wrote {output}")


def store_runs(results: Sequence[Result], store_path: Path) -> str:
    """Store results as one run per model; returns a hint."""
    from wug.results.store import Store, run_key

    store = Store(store_path)
    numbers: dict[str, int] = {}
    for model in dict.fromkeys(result.model for result in results):
        model_results = [result for result in results if result.model == model]
        key = run_key([result.signature for result in model_results], {})
        with store.writing(key, model, command_line()) as (number, _):
            for result in model_results:
                store.add(number, result)
        numbers[model] = number
    return next_steps(numbers)


def next_steps(runs: Mapping[str, int]) -> str:
    """A hint: what to do with the runs just stored."""
    numbers = list(runs.values())
    if len(numbers) > MAX_LISTED_RUNS:
        show, listing = suggested_command("show", numbers[-1]), suggested_command("list", "runs")
        return f"runs {numbers[0]} to {numbers[-1]} saved · {show} · {listing}"
    word = "run" if len(numbers) == 1 else "runs"
    report = suggested_command("report", *numbers, "-o", "page.html")
    saved_text = f"{word} {' '.join(map(str, numbers))} saved"
    return (
        f"{saved_text} · {suggested_command('show', numbers[0])} · {report} · {suggested_command('view', cache=True)}"
    )


def log_paths(store_path: Path | None, cache: Path | None) -> None:
    """With -v, say where runs and model outputs are stored."""
    log = logging.getLogger("wug")
    for label, path in (("runs", store_path), ("model outputs", cache)):
        log.info("%s are %s", label, "not stored" if path is None else f"stored in {path}")


def quiet() -> bool:
    """Whether the user gave --quiet."""
    context = click.get_current_context(silent=True)
    verbosity = context and context.find_object(Verbosity)
    return bool(verbosity and verbosity.quiet)


def notify(text: str, level: printing.Level = "info") -> None:
    """Print a line on stderr, unless the user gave --quiet."""
    if not quiet():
        printing.print_message(text, level)


@contextmanager
def progress(label: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A function that takes what is done and the total, and draws a bar if stderr is a terminal."""
    with progress_bar(label, in_bytes=in_bytes) as draw:
        yield draw or (lambda done, total: None)


@contextmanager
def progress_bar(label: str, *, in_bytes: bool = False) -> Iterator[Callable[..., None] | None]:
    """A function that draws a bar on stderr: it takes what is done, the total, and a text about the present.

    None if stderr is not a terminal or gets JSON lines, or the user gave --quiet.
    """
    if quiet() or printing.is_json_log() or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    label_column, text_column = (
        TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[now]")
    )
    count_column = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (label_column, BarColumn(), count_column, TimeRemainingColumn(), text_column)
    with Progress(*columns, console=printing.console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, now="")
        yield lambda done, total, now="": bar.update(task, completed=done, total=total or None, now=now)
