"""Printing and the log, with -q, -v and --debug, before or after the command.

Names come from files, and none of them may send control characters to the terminal.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

import click

from wug.formatting import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

Level: TypeAlias = Literal["info", "warning", "error", "failed"]
"""The level of a line on stderr; `failed` is an error that does not end the command."""
ESCAPES = "wug-escapes"
"""How streams treat characters that they cannot encode."""


def prepare_streams() -> None:
    """Make printing safe: discard output to closed streams, and escape characters that cannot be encoded."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as by `>&-`
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (for the rest of the process)
    codecs.register_error(ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPES)


def print_text(text: str = "", *, end: str = "\n") -> None:
    """Print text for a person on stdout."""
    _write(sys.stdout, escape_controls(text) + end)


def print_data(text: str, *, end: str = "\n") -> None:
    """Print text for other programs on stdout: unaltered, unless that is a terminal."""
    _write(sys.stdout, (escape_controls(text) if sys.stdout.isatty() else text) + end)


def print_message(message: str, level: Level = "info", **fields: object) -> None:
    """Print a line on stderr, after its level unless that is `info`; as JSON, with further fields."""
    if is_json_log():
        record = {"level": "error" if level == "failed" else level, "message": message, **fields}
        _write(sys.stderr, json.dumps(record, ensure_ascii=True) + "\n")
    else:
        _write(sys.stderr, escape_controls(message if level == "info" else f"{level}: {message}") + "\n")


def is_json_log() -> bool:
    """Whether stderr gets JSON lines (`--log-format json`)."""
    return any(isinstance(handler, LogHandler) and handler.is_json for handler in logging.getLogger("wug").handlers)


def console(width: int | None = None, *, stderr: bool = False) -> Console:
    """A console that shows control characters; `width` applies if it is not a terminal."""
    from wug.views.terminal import SafeConsole

    terminal = SafeConsole(stderr=stderr, soft_wrap=False)
    return terminal if terminal.is_terminal or width is None else SafeConsole(stderr=stderr, width=width)


def silence_stdout() -> None:
    """Discard further output: stdout is closed, and Python would try again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a file
        sys.stdout = io.StringIO()


class LogHandler(logging.Handler):
    """Prints the log on stderr; each warning once per command."""

    is_json = False

    def __init__(self) -> None:
        super().__init__()
        self._known_lines: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record as a line."""
        line = record.getMessage()
        text = line if self.is_json else self.format(record)  # with the traceback
        try:
            if record.levelno <= logging.INFO:
                print_message(text)
            elif line not in self._known_lines:
                print_message(text, "warning" if record.levelno == logging.WARNING else "error")
        except OSError:
            self.handleError(record)
        self._known_lines.add(line)


@dataclass(slots=True)
class Verbosity:
    """The flags that were given before or after the command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    log_format: str = "text"

    def apply(self) -> None:
        """Set the level of the log."""
        level = logging.INFO if self.verbose else logging.ERROR if self.quiet else logging.WARNING
        logger = logging.getLogger("wug")
        logger.setLevel(level)
        for handler in logger.handlers:
            if isinstance(handler, LogHandler):
                handler.is_json = self.log_format == "json"

    def notify(self, text: str, level: Level = "info") -> None:
        """Print a line on stderr, unless the user gave --quiet."""
        if not self.quiet:
            print_message(text, level)


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
    """Write the log to stderr."""
    logger = logging.getLogger("wug")
    logger.handlers[:] = [LogHandler()]
    logger.propagate = False


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""What a stream cannot encode, as `\u00e9`: so JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
