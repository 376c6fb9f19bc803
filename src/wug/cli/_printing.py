"""What reaches the terminal: names come from files, and none of them may steer it."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from wug.views.markup import visible

if TYPE_CHECKING:
    from rich.console import Console


def prepare() -> None:
    """Make sure that printing cannot fail: closed streams discard, and characters without an encoding are escaped."""
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


def tell(text: str) -> None:
    """Print a line on stderr."""
    _write(sys.stderr, visible(text) + "\n")


def console(width: int | None = None, *, stderr: bool = False) -> Console:
    """A console that shows control characters instead of obeying them; so wide where there is no terminal."""
    from wug.views.terminal import SafeConsole

    made = SafeConsole(stderr=stderr, soft_wrap=False)
    return made if made.is_terminal or width is None else SafeConsole(stderr=stderr, width=width)


def silence_stdout() -> None:
    """Send what is still to be written nowhere: stdout takes no more, and Python would try again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no file at all
        sys.stdout = io.StringIO()


class Lines(logging.Formatter):
    """Log records as lines that are safe to print."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return visible(super().format(record))


class Safe:
    """A stream whose text is made safe: for what click itself prints."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, made safe."""
        return self._stream.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
    except UnicodeEncodeError:  # a stream that is not ours to set up
        stream.write(text.encode(stream.encoding or "ascii", "backslashreplace").decode(stream.encoding or "ascii"))
    stream.flush()
