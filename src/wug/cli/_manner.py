"""How much wug tells: -q, -v and --debug, before the command or behind it."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from wug.cli import _printing as printing


@dataclass(slots=True)
class Manner:
    """What the user asked for on either side of the command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    def take_effect(self) -> None:
        """Let the log tell as much as is wanted."""
        logger = logging.getLogger("wug")
        level = logging.INFO if self.verbose else logging.ERROR if self.quiet else logging.WARNING
        logger.setLevel(level)


def _take(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Note the flag where it is given; without it, what was said on the other side stays."""
    if value and param.name is not None:
        manner = ctx.find_object(Manner)
        assert manner is not None
        setattr(manner, param.name, True)
        manner.take_effect()


def _flag(*names: str, help: str, envvar: str | None = None) -> click.Option:
    return click.Option(names, is_flag=True, expose_value=False, callback=_take, help=help, envvar=envvar)


FLAGS = (
    _flag("-q", "--quiet", envvar="WUG_QUIET", help="No progress and no hints on stderr."),
    _flag("-v", "--verbose", envvar="WUG_VERBOSE", help="Also tell where runs and answers are kept."),
    _flag("--debug", envvar="WUG_DEBUG", help="Show the traceback of an error."),
)
"""For the command `wug` and for every command below it."""


def on_either_side(command: click.Command) -> click.Command:
    """The command, with the flags behind its own options and those of the commands in it.

    An option of one value that is given twice is refused: click would keep the last one.
    """
    known = {param.name for param in command.params}
    command.params.extend(flag for flag in FLAGS if flag.name not in known)
    if not isinstance(command.make_parser, partial):
        command.make_parser = partial(_refusing_repeats, command.make_parser)  # type: ignore[method-assign]
    if isinstance(command, click.Group):
        for below in command.commands.values():
            on_either_side(below)
    return command


def _refusing_repeats(make: Callable[[click.Context], Any], ctx: click.Context) -> Any:
    """The parser of a command, with a usage error for an option of one value that is given twice."""
    parser = make(ctx)
    parse = parser.parse_args

    def parse_args(args: list[str]) -> Any:
        opts, rest, order = parse(args=args)
        for param, times in Counter(order).items():
            if times > 1 and isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count):
                raise click.UsageError(f"{param.opts[0]} is given twice and takes one value", ctx)
        return opts, rest, order

    parser.parse_args = parse_args
    return parser


def begin_log() -> None:
    """Let warnings go to stderr as lines, each once for a command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Levels())
    given: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        line = record.getMessage()
        repeated = record.levelno >= logging.WARNING and line in given
        given.add(line)
        return not repeated

    handler.addFilter(is_new)
    logger = logging.getLogger("wug")
    logger.handlers[:] = [handler]
    logger.propagate = False


class _Levels(printing.Lines):
    """Lines with the level before them, unless they only tell."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = super().format(record)
        return line if record.levelno <= logging.INFO else f"{record.levelname.lower()}: {line}"
