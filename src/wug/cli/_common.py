"""What several commands share: options, where files lie, how results are delivered."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wug.cli import _printing as printing
from wug.show.markup import visible

if TYPE_CHECKING:
    from wug.types import Result, Row, Suite

Function = TypeVar("Function", bound=Callable[..., Any])

MANY = 12
"""Beyond so many runs a hint does not list them."""
FORMATS = ("table", "json", "csv", "tsv", "md", "latex")


def default_db() -> Path:
    """The run store in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("wug", appauthor=False) / "wug.db"


def default_cache() -> Path:
    """The answer cache in the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("wug", appauthor=False) / "answers.db"


def db_option(function: Function) -> Function:
    """--db, the run store."""
    return click.option(
        "--db",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="WUG_DB",
        help="The file that keeps runs.  [default: wug.db in the user's data folder]",
    )(function)


def format_option(function: Function) -> Function:
    """--format, how results are printed."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        envvar="WUG_FORMAT",
        show_default=True,
        help="How results are printed. tsv of SyntaxGym suites is SyntaxGym's own table, a row a judgement.",
    )(function)


def save_option(function: Function) -> Function:
    """--save/--no-save, whether results go to the store."""
    return click.option("--save/--no-save", default=True, show_default=True, help="Keep the run in the store.")(
        function
    )


def pairs(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """The callback of options written key=value."""
    given: dict[str, str] = {}
    for text in value:
        key, equals, content = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not key=value", ctx=ctx, param=param)
        given[key.strip().replace("-", "_")] = content
    return given


def command_line() -> str:
    """The command as the user wrote it."""
    return visible(shlex.join(["wug", *sys.argv[1:]]))


def deliver(results: Sequence[Result], form: str, hint: str | None = None) -> None:
    """Print results on stdout; for a person, what to do next on stderr."""
    if form == "table":
        from wug.show.terminal import show

        show(results, printing.console(width=120))
        if hint:
            say(hint)
    else:
        from wug.show.table import FORMATS as WRITERS

        printing.emit(WRITERS[form](results))


def scored(suite: Suite, model: str, options: Mapping[str, str], rows: Iterable[Row]) -> Result:
    """The result of answers that were made elsewhere."""
    from wug.runs.evaluate import conclude
    from wug.runs.signature import sign

    mark = sign(suite.name, suite.checksum, suite.options, model, options)
    return conclude(suite, model, mark, rows)


def keep(results: Sequence[Result], db: Path | None) -> str:
    """Save results as runs, one for each model; comes back with what to do next."""
    from wug.runs.store import Store, run_key

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


def quiet() -> bool:
    """Whether the user asked for silence on stderr."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().obj and context.find_root().obj["quiet"])


def say(text: str) -> None:
    """A line on stderr, unless the user asked for silence."""
    if not quiet():
        printing.tell(text)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A function to tell how far work is; it draws a bar on stderr where that is a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=printing.console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def next_steps(runs: Mapping[str, int]) -> str:
    """What a person can do with the runs just saved."""
    every = list(runs.values())
    numbers = " ".join(map(str, every))
    if len(every) > MANY:
        return f"runs {every[0]} to {every[-1]} saved · wug show {every[-1]} · wug list runs"
    word = "run" if len(runs) == 1 else "runs"
    return f"{word} {numbers} saved · wug show {every[0]} · wug report {numbers} -o page.html · wug view"
