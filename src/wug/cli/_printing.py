"""Printing: names come from files, and none of them may send control characters to the terminal."""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

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
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger("wug").handlers)


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


class JsonFormatter(logging.Formatter):
    """Log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """An object with level and message."""
        return json.dumps({"level": record.levelname.lower(), "message": record.getMessage()}, ensure_ascii=True)


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""What a stream cannot encode, as `\u00e9`: so JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
