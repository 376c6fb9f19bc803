"""Printing: names come from files, and none of them may send control characters to the terminal."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from wug.formatting import visible

if TYPE_CHECKING:
    from rich.console import Console


def prepare() -> None:
    """Make printing safe: discard output to closed streams, and escape characters that cannot be encoded."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as by `>&-`
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (for the rest of the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def echo(text: str = "", *, end: str = "\n") -> None:
    """Print text for a person on stdout."""
    _write(sys.stdout, visible(text) + end)


def emit(text: str, *, end: str = "\n") -> None:
    """Print text for other programs on stdout: unaltered, unless that is a terminal."""
    _write(sys.stdout, (visible(text) if sys.stdout.isatty() else _encodable(text, sys.stdout)) + end)


def tell(text: str, **fields: object) -> None:
    """Print a line on stderr; as JSON, with further fields."""
    if not in_json():
        _write(sys.stderr, visible(text) + "\n")
        return
    level, colon, rest = text.partition(": ")
    known = colon and level in ("error", "warning", "failed")
    record = {"level": level.replace("failed", "error") if known else "info", "message": rest if known else text}
    _write(sys.stderr, json.dumps({**record, **fields}, ensure_ascii=True) + "\n")


def in_json() -> bool:
    """Whether stderr gets JSON lines (`--log-format json`)."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger("wug").handlers)


def console(width: int | None = None, *, stderr: bool = False) -> Console:
    """A console that shows control characters; `width` applies if it is not a terminal."""
    from wug.views.terminal import SafeConsole

    made = SafeConsole(stderr=stderr, soft_wrap=False)
    return made if made.is_terminal or width is None else SafeConsole(stderr=stderr, width=width)


def silence_stdout() -> None:
    """Discard further output: stdout is closed, and Python would try again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a file
        sys.stdout = io.StringIO()


class SafeFormatter(logging.Formatter):
    """Log records as lines that are safe to print."""

    def format(self, record: logging.LogRecord) -> str:
        """The line with visible control characters."""
        return visible(super().format(record))


class JsonFormatter(logging.Formatter):
    """Log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """An object with level and message."""
        return json.dumps({"level": record.levelname.lower(), "message": record.getMessage()}, ensure_ascii=True)


class SafeStream:
    """A stream that shows control characters, for what click prints."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with visible control characters."""
        return self._stream.write(visible(text))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def _encodable(text: str, stream: TextIO) -> str:
    r"""The text, with `\u00e9` for what the stream's encoding lacks: so JSON stays JSON."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if _fits(text, encoding):
        return text
    return re.sub(r"[^\x00-\x7f]", lambda one: one[0] if _fits(one[0], encoding) else json.dumps(one[0])[1:-1], text)


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a stream that prepare() could not set up
        stream.write(text.encode(stream.encoding or "ascii", "backslashreplace").decode(stream.encoding or "ascii"))
    stream.flush()
