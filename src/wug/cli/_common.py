"""What several commands share: options, where files lie, how results are delivered."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wug.cli import _printing as printing
from wug.cli._hints import again as again
from wug.cli._hints import given as given
from wug.cli._hints import open_store as open_store
from wug.cli._manner import Manner
from wug.results.paths import default_cache as default_cache
from wug.results.paths import default_db as default_db
from wug.views.markup import visible

if TYPE_CHECKING:
    from wug.results.comparison import Comparison
    from wug.results.store import Store
    from wug.types import Result, Row, Suite

SUFFIXES = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".md": "md", ".tex": "latex"}
"""How the name of a file with results ends, and the format that it has."""


class OutputFile(click.Path):
    """A file to write, in a folder that is there."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or a usage error where nothing could be written there."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        folder = path.parent
        if not folder.is_dir():
            self.fail(f"{str(path)!r}: there is no folder {str(folder)!r}. Make it first, or name another", param, ctx)
        return path


OUTPUT_FILE = OutputFile()


def in_a_folder(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """The callback of a file that wug keeps: where the command itself names one, its folder is there."""
    given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    return OUTPUT_FILE.convert(value, param, ctx) if given and value is not None else value


def agreed(form: str | None, output: Path | None, known: Mapping[str, str]) -> str | None:
    """The format that the user names, or else that of the file's suffix; an error where the two differ."""
    from wug.errors import InputError

    if output is None or form is None:
        return form if output is None else format_of(output, known)
    named = known.get(output.suffix.lower())
    if named is not None and named != form:
        raise InputError(f"its suffix stands for {named}, and {form} is asked for: change one of them", file=output)
    return form


def format_of(path: Path, known: Mapping[str, str]) -> str:
    """The format that the name of a file asks for, or an error that lists those that there are."""
    from wug.errors import InputError, suggestion

    suffix = path.suffix.lower()
    if suffix not in known:
        what = f"cannot be written as {suffix}" if suffix else "its name has no suffix"
        near = suggestion(suffix, known) if suffix else ""
        raise InputError(f"{what}: use {' '.join(known).strip()}.{near if 'Did you' in near else ''}", file=path)
    return known[suffix]


Function = TypeVar("Function", bound=Callable[..., Any])

MANY = 12
"""Beyond so many runs a hint does not list them."""
FORMATS = ("table", "json", "csv", "tsv", "md", "latex")


POSITIVE = click.IntRange(min=1)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
SEED_OF_MATERIAL = click.Option(
    ["--seed"], type=int, default=0, show_default=True, help="The same seed makes the same material."
)
FORCE = click.Option(["--force"], is_flag=True, help="Write over files that exist.")


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """InputError for the first file that exists already, unless it may be written over."""
    from wug.errors import InputError

    for path in paths:
        if path.exists() and not force:
            raise InputError("exists already. Give another name, or --force to write over it", file=path)


DB = click.Option(
    ["--db"],
    type=FILE,
    callback=in_a_folder,
    envvar="WUG_DB",
    help="The file that keeps runs.  [default: wug.db in the user's data folder]",
)
FORMAT = click.Option(
    ["--format", "form"],
    type=click.Choice(FORMATS),
    default="table",
    envvar="WUG_FORMAT",
    show_default=True,
    help="How results are printed. tsv of SyntaxGym suites is SyntaxGym's own table, a row a judgement.",
)
SAVE = click.Option(["--save/--no-save"], default=True, show_default=True, help="Keep the run in the store.")
SUMMARY = click.Option(["--summary"], is_flag=True, help="The headline of each suite alone.")
BY = click.Option(
    ["--by"],
    multiple=True,
    metavar="FIELD",
    help="Break results down by this, such as phenomenon; all for every field; repeatable.",
)
RESULT_OPTIONS = (SUMMARY, BY, SAVE, DB, FORMAT)


def choice(name: str, *words: str, help: str) -> Callable[[Function], Function]:
    """An option that is one of some words, the first of them by default."""
    return click.option(name, type=click.Choice(words), default=words[0], show_default=True, help=help)


def having(*options: click.Parameter) -> Callable[[click.Command], click.Command]:
    """A decorator that gives a command options that several have, behind its own."""

    def decorate(command: click.Command) -> click.Command:
        command.params.extend(options)
        return command

    return decorate


def refuse_both(summary: bool, by: Sequence[str]) -> None:
    """A usage error where the headline alone is wanted, and breakdowns too."""
    if summary and by:
        raise click.UsageError("--summary is the headline alone: --by does not go with it")


def pairs(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """The callback of options written key=value."""
    given: dict[str, str] = {}
    for text in value:
        key, equals, content = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not key=value", ctx=ctx, param=param)
        name = key.strip().replace("-", "_")
        if name in given:
            message = f"{name} is given twice: {name}={given[name]}, {name}={content}"
            raise click.BadParameter(message, ctx=ctx, param=param)
        given[name] = content
    return given


ASKING = (
    click.Option(
        ["-M", "model_options"],
        multiple=True,
        callback=pairs,
        metavar="KEY=VALUE",
        help="An option of the model; see `wug list models --all`.",
    ),
    click.Option(
        ["--cache"],
        type=FILE,
        callback=in_a_folder,
        envvar="WUG_CACHE",
        help="The file of answers, which lets a command resume.  [default: in the user's cache folder]",
    ),
    click.Option(["--no-cache"], is_flag=True, help="Ask everything anew and keep no answers."),
)
"""What every command that asks a model can be told."""


def command_line() -> str:
    """The command as the user wrote it."""
    return visible(shlex.join(["wug", *sys.argv[1:]]))


def deliver(
    results: Sequence[Result], form: str, hint: str | None = None, *, summary: bool = False, by: Sequence[str] = ()
) -> None:
    """Print results on stdout, only their headlines, or these breakdowns; for a person, what to do next on stderr."""
    from wug.views.breakdown import broken_down, headline

    results = [headline(result) for result in results] if summary else broken_down(results, by) if by else results
    if form == "table":
        from wug.views.terminal import show

        show(results, printing.console(width=120), by or None)
        if hint:
            say(hint)
    else:
        from wug.views.table import FORMATS as WRITERS

        printing.emit(WRITERS[form](results))


def deliver_made(
    results: Sequence[Result], form: str, hint: str | None = None, *, summary: bool = False, by: Sequence[str] = ()
) -> None:
    """The same for results that were made just now: what cannot be shown as asked is shown as ever, and not lost."""
    from wug.errors import WugError
    from wug.views.breakdown import broken_down

    try:
        broken_down(results, by)
    except WugError as error:
        printing.tell(f"warning: --by: {error}")
        by = ()
    deliver(results, form, hint, summary=summary, by=by)


def deliver_text(text: str, output: Path | None) -> None:
    """Print text for other programs, or write it to a file."""
    from wug.files import write_text

    if output is None:
        printing.emit(text)
    else:
        write_text(output, text + "\n")
        say(f"wrote {output}")


def deliver_lines(lines: Iterable[str], output: Path | None) -> None:
    """Print lines for other programs as they come, or write them to a file."""
    from wug.files import write_pieces, writing

    if output is None:
        for some in _by_the_thousand(lines):
            printing.emit("\n".join(some))
        return
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
    # Lone surrogates have no UTF-8; in JSON what stands for them here is read as what they were.
    write_pieces(output, (f"{line}\n".encode(errors="backslashreplace") for line in lines))
    say(f"wrote {output}")


def _by_the_thousand(lines: Iterable[str]) -> Iterator[list[str]]:
    source = iter(lines)
    while some := list(islice(source, 1000)):
        yield some


def write_page(store: Store, runs: Iterable[int], comparison: Comparison | None, output: Path) -> None:
    """Write the report of runs, with their comparison in it."""
    from wug.files import write_text
    from wug.views.page import Report, render

    reports = [
        Report(result, run=number, command=store.run(number).command, created=store.run(number).started)
        for number in runs
        for result in store.results(number)
    ]
    write_text(output, render(reports, comparison))
    say(f"wrote {output}")


def scored(suite: Suite, model: str, options: Mapping[str, str], rows: Iterable[Row]) -> Result:
    """The result of answers that were made elsewhere."""
    from wug.evaluation.evaluate import conclude
    from wug.evaluation.signature import sign

    mark = sign(suite.name, suite.checksum, suite.options, model, options)
    return conclude(suite, model, mark, rows)


def keep(results: Sequence[Result], db: Path | None) -> str:
    """Save results as runs, one for each model; comes back with what to do next."""
    from wug.results.store import Store, run_key

    store = Store(db or default_db())
    numbers: dict[str, int] = {}
    for model in dict.fromkeys(result.model for result in results):
        own = [result for result in results if result.model == model]
        number = store.begin(run_key([result.signature for result in own], {}), model, command_line())
        for result in own:
            store.add(number, result)
        store.finish(number, "complete")
        numbers[model] = number
    return next_steps(numbers)


def tell_places(db: Path | None, cache: Path | None) -> None:
    """With -v, say where runs and answers are kept."""
    log = logging.getLogger("wug")
    for what, path in (("runs", db), ("answers", cache)):
        log.info("%s are %s", what, "not kept" if path is None else f"kept in {path}")


def quiet() -> bool:
    """Whether the user asked for silence on stderr."""
    context = click.get_current_context(silent=True)
    found = context and context.find_object(Manner)
    return bool(found and found.quiet)


def say(text: str) -> None:
    """A line on stderr, unless the user asked for silence."""
    if not quiet():
        printing.tell(text)


@contextmanager
def progress(label: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A function to tell how far work is; it draws a bar on stderr where that is a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    done = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn())
    with Progress(*columns, console=printing.console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def next_steps(runs: Mapping[str, int]) -> str:
    """What a person can do with the runs just saved."""
    every = list(runs.values())
    numbers = " ".join(map(str, every))
    if len(every) > MANY:
        return f"runs {every[0]} to {every[-1]} saved · {again('show', every[-1])} · {again('list', 'runs')}"
    word = "run" if len(runs) == 1 else "runs"
    report = again("report", *every, "-o", "page.html")
    return f"{word} {numbers} saved · {again('show', every[0])} · {report} · {again('view', cache=True)}"
