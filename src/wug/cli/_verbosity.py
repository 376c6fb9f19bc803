"""-q, -v and --debug, before or after the command, and the log on stderr."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import click

from wug.cli import _printing as printing
from wug.formatting import escape_controls


@dataclass(slots=True)
class Verbosity:
    """The flags that were given before or after the command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    log_format: str = "text"

    def apply(self) -> None:
        """Set the level of the log."""
        level = logging.ERROR if self.quiet else logging.WARNING
        if self.verbose:
            level = logging.INFO
        logging.getLogger("wug").setLevel(level)
        for handler in logging.getLogger("wug").handlers if self.log_format == "json" else ():
            handler.setFormatter(printing.JsonFormatter())

    def notify(self, text: str, level: printing.Level = "info") -> None:
        """Print a line on stderr, unless the user gave --quiet."""
        if not self.quiet:
            printing.print_message(text, level)


def _set_flag(ctx: click.Context, param: click.Parameter, value: bool | str | None) -> None:
    verbosity = ctx.find_object(Verbosity)
    if value and param.name is not None and verbosity is not None:
        setattr(verbosity, param.name, value)
        verbosity.apply()


def _flag(*names: str, help: str, envvar: str | None = None) -> click.Option:
    return click.Option(names, is_flag=True, expose_value=False, callback=_set_flag, help=help, envvar=envvar)


FLAGS = (
    _flag("-q", "--quiet", envvar="WUG_QUIET", help="Print no progress and no hints."),
    _flag("-v", "--verbose", envvar="WUG_VERBOSE", help="Print where runs and model outputs are stored."),
    _flag("--debug", envvar="WUG_DEBUG", help="Show the traceback of an error."),
    click.Option(
        ["--log-format"],
        type=click.Choice(["text", "json"]),
        expose_value=False,
        callback=_set_flag,
        envvar="WUG_LOG_FORMAT",
        help="Write progress, hints and warnings on stderr as text or as JSON lines.  [default: text]",
    ),
)


def add_global_flags(command: click.Command) -> click.Command:
    """The command, with the flags added to it and to the commands in it.

    An option with one value that is given twice is refused: click would use the last one.
    """
    names = {param.name for param in command.params}
    command.params.extend(flag for flag in FLAGS if flag.name not in names)
    if not isinstance(command.make_parser, partial):
        command.make_parser = partial(_refusing_repeats, command.make_parser)  # type: ignore[method-assign]
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            add_global_flags(subcommand)
    return command


def _refusing_repeats(
    make: Callable[[click.Context], click.parser._OptionParser], ctx: click.Context
) -> click.parser._OptionParser:
    parser = make(ctx)
    parse = parser.parse_args

    def parse_args(args: list[str]) -> tuple[dict[str, object], list[str], list[click.Parameter]]:
        opts, remainder, order = parse(args=args)
        for param, times in Counter(order).items():
            if times > 1 and isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count):
                raise click.UsageError(f"{param.opts[0]} is given twice and takes one value", ctx)
        return opts, remainder, order

    parser.parse_args = parse_args  # type: ignore[method-assign]
    return parser


def begin_log() -> None:
    """Write the log to stderr; each warning once per command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LevelFormatter())
    known_lines: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        line = record.getMessage()
        is_repeat = record.levelno >= logging.WARNING and line in known_lines
        known_lines.add(line)
        return not is_repeat

    handler.addFilter(is_new)
    logger = logging.getLogger("wug")
    logger.handlers[:] = [handler]
    logger.propagate = False


class _LevelFormatter(logging.Formatter):
    """Lines with the level before them, unless it is INFO, and with visible control characters."""

    def format(self, record: logging.LogRecord) -> str:
        line = escape_controls(super().format(record))
        return line if record.levelno <= logging.INFO else f"{record.levelname.lower()}: {line}"
