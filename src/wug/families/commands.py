"""Commands that families add: `wug make KIND` makes test data, `wug score KIND` scores predictions.

A family lists them in its module `commands`, as `MAKE` and `SCORE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import click

from wug.interfaces import Family, implemented

if TYPE_CHECKING:
    from wug.families.suite import ScoredAnswers
    from wug.interfaces import Suite
    from wug.outcomes import Metric, SuiteOutput
    from wug.requests import Request

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
POSITIVE = click.IntRange(min=1)


class OutputFile(click.Path):
    """A file or folder to write, in an existing folder."""

    def __init__(self, *, dir_okay: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or a usage error if its folder does not exist."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[arg-type, assignment]
        folder = path.parent
        if not folder.is_dir():
            self.fail(f"{str(path)!r}: there is no folder {str(folder)!r}. Make it first, or name another", param, ctx)
        return path


def key_values(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """The callback of options written key=value."""
    contents: dict[str, str] = {}
    for text in value:
        key, equals, content = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not key=value", ctx=ctx, param=param)
        name = key.strip().replace("-", "_")
        if name in contents:
            message = f"{name} is given twice: {name}={contents[name]}, {name}={content}"
            raise click.BadParameter(message, ctx=ctx, param=param)
        contents[name] = content
    return contents


def option(names: str, help: str, **more: Any) -> click.Option:
    """An option by its names, separated by spaces; help shows its default, if it has one."""
    return click.Option(names.split(), help=help, **{"show_default": "default" in more, **more})


def key_value_option(flag: str, name: str, help: str) -> click.Option:
    """A repeatable option written `FLAG KEY=VALUE`."""
    return option(f"{flag} {name}", help, multiple=True, callback=key_values, metavar="KEY=VALUE")


def table_options(about: str) -> click.Option:
    """The option -S of a command that reads tables with named columns."""
    return key_value_option("-S", "suite_options", f"{about}; repeatable.")


OUTPUT_FILE = OutputFile()
OUTPUT_FOLDER = OutputFile(dir_okay=True)
SEED = option("--seed", "Random seed.", type=int, default=0)
FORCE = option("--force", "Overwrite existing files.", is_flag=True)
FILES = click.Argument(["more"], nargs=-1, type=PATH, metavar="[FILE]...")
"""Files without an option before them, so that a shell may expand `--predictions run=*.txt`."""


def predictions(about: str, *names: str) -> click.Option:
    """The option --predictions, repeatable; `names` are other spellings of it."""
    spelled = " ".join(("--predictions", *names, "paths"))
    return option(spelled, f"{about}; repeatable.", multiple=True, required=True, type=PATH)


class MakeCommand(NamedTuple):
    """A command of `wug make`: the function takes the options as keywords, writes files, and returns text to print."""

    name: str
    make: Callable[..., str | None]
    options: tuple[click.Parameter, ...]
    help: str


ScoredSuites: TypeAlias = "Iterable[tuple[Suite, str, Iterable[SuiteOutput]]]"
"""Suites, the ids of the models that made the predictions, and their outcomes."""


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A suite whose outcomes were computed from a table of scores or responses; no model can run it."""

    name: str
    kind: str
    checksum: str
    options: Mapping[str, str]
    metrics: Sequence[Metric]
    size: int
    meta: Mapping[str, object] = field(default_factory=dict)
    needs: Literal["scores"] = "scores"

    def __len__(self) -> int:
        return self.size

    def sample(self, items: int) -> ScoredTable:
        """The same suite: there is nothing to run on fewer items."""
        return self

    def requests(self) -> Sequence[Request]:
        """No requests."""
        return ()

    def run(self, model: object) -> Iterator[SuiteOutput]:
        """No outcomes: those of the table are returned with the suite."""
        return iter(())


class ScoreCommand(NamedTuple):
    """A command of `wug score`: the function takes the files of predictions, and the values of the options as keywords.

    It returns scored suites, or text to print instead of results. Its docstring is the help of the command.
    """

    name: str
    score: Callable[..., ScoredSuites | str]
    options: tuple[click.Parameter, ...]
    spread: Literal["sample", "population"] | None = "population"
    """The standard deviation that is reported with a mean over several models; None for no mean."""
    unaveraged: str = ""
    """The scoring option with which results are of different models, so that no mean is reported."""


def notify(message: str) -> None:
    """Print a line on stderr, as the command line prints it."""
    click.get_current_context().find_root().obj.notify(message)


def write_made(files: Mapping[str, Sequence[object]], folder: Path, *, force: bool) -> None:
    """Write the lines of each file into a folder, and report their numbers."""
    from wug.files import refuse_existing, write_lines
    from wug.formatting import plural

    refuse_existing((folder / name for name in files), force=force)
    write_lines(files, folder)
    counts = ", ".join(f"{name} {len(lines):,}" for name, lines in files.items() if not name.endswith(".tgt"))
    notify(f"wrote {plural(len(files), 'file')} to {folder}: {counts} lines")


def model_id(name: str, *paths: Path) -> str:
    """The id of a model that is known only from files of predictions."""
    from wug.files import checksum, read_bytes

    return f"file/{name}@{checksum(*(read_bytes(path) for path in paths))}"


def each_scored(paths: Sequence[Path], score: Callable[[Path], ScoredAnswers]) -> ScoredSuites:
    """The scored answers in each file, with its name as that of the model."""
    for path in paths:
        suite, rows = score(path)
        yield suite, model_id(path.name, path), rows


@dataclass(frozen=True)
class FamilyCommands:
    """Commands of `wug make` and `wug score`, in the module `commands` of a family."""

    MAKE: Sequence[MakeCommand] = ()
    SCORE: Sequence[ScoreCommand] = ()


def commands_of(family: Family) -> FamilyCommands:
    """The commands in the module `commands` of a family, or in its package."""
    return implemented(FamilyCommands, family.submodule("commands") or family.module)
