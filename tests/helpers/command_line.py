"""Runs `wug` and Python for tests, in this process or in another one, and returns the output and exit code.

`wug` is the usual way. `run_wug` and `start_wug` are for tests of the process itself: signals, closed streams, imports.
"""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from timeouts import PATIENCE
from wug.cli.main import main
from wug.errors import WugError

Values = dict[tuple[str, str], float]
"""The value of each metric and group."""
COMMAND_ERRORS = (WugError, click.ClickException, click.exceptions.Abort)
"""Errors that the program raises itself for users."""


@dataclass(frozen=True)
class CommandOutput:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str
    screen: str = ""
    """Both streams in the order in which they were written, as on a terminal; only of commands in this process."""

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results that `--format json` printed."""
        assert self.code == 0, self.err
        found: list[dict[str, Any]] = json.loads(self.out)
        return found

    @property
    def values(self) -> list[Values]:
        """The values of each result."""
        return [{(e["metric"], e["group"]): e["value"] for e in result["estimates"]} for result in self.results]


class _Stream(io.BytesIO):
    """A stream that is also written to a screen."""

    def __init__(self, screen: io.BytesIO) -> None:
        super().__init__()
        self.screen = screen

    def write(self, data: Any) -> int:
        self.screen.write(data)
        return super().write(data)


def wug(
    *arguments: object,
    given: str = "",
    encoding: str = "utf-8",
    printed_errors: tuple[type[Exception], ...] = (*COMMAND_ERRORS, OSError, MemoryError),
) -> CommandOutput:
    """Runs `wug ARGUMENTS` in this process, with streams of this encoding; an error of another type is raised."""
    screen = io.BytesIO()
    streams = [_Stream(screen), _Stream(screen)]
    out, err = (
        io.TextIOWrapper(stream, encoding=encoding, errors=errors, write_through=True)
        for stream, errors in zip(streams, ("strict", "backslashreplace"), strict=True)  # as Python opens its own
    )
    stdin = io.TextIOWrapper(io.BytesIO(given.encode(encoding)), encoding=encoding)
    code = 0
    before, handlers = signal.getsignal(signal.SIGTERM), logging.getLogger("wug").handlers[:]
    with (
        patch.object(sys, "argv", ["wug", *map(str, arguments)]),
        patch.object(sys, "stdin", stdin),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            # `main` makes a message of an internal error: the error itself is the context of the exit.
            if isinstance(end.__context__, Exception) and not isinstance(end.__context__, printed_errors):
                raise end.__context__ from None
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        finally:
            signal.signal(signal.SIGTERM, before)
            logging.getLogger("wug").handlers[:] = handlers
    printed, warned, shown = (stream.getvalue().decode(encoding, "replace") for stream in (*streams, screen))
    return CommandOutput(code, printed, warned, shown)


def results(*arguments: object) -> list[dict[str, Any]]:
    """The results of `wug ARGUMENTS --format json`."""
    return wug(*arguments, "--format", "json").results


def score_table(family: str, option: str, path: Path, *options: str) -> CommandOutput:
    """Runs `wug score FAMILY OPTION PATH` with these options as `-S`."""
    given = [part for one in options for part in ("-S", one)]
    return wug("score", family, option, path, *given, "--no-save", "--format", "json")


def refused(output: CommandOutput, *parts: str) -> None:
    """The command failed with one message that has these parts, and printed nothing else."""
    assert output.code in (1, 2), output
    assert output.out == ""
    assert "Traceback" not in output.err
    assert "wug itself failed" not in output.err
    for part in parts:
        assert part in output.err, output.err


def run_python(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> CommandOutput:
    """Runs `python ARGUMENTS` in another process, with these variables in addition."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        check=False,
    )
    return CommandOutput(done.returncode, done.stdout, done.stderr)


def run_wug(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> CommandOutput:
    """Runs `wug ARGUMENTS` in another process."""
    return run_python("-m", "wug", *arguments, env=env, cwd=cwd)


def start_wug(*arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """Starts `wug ARGUMENTS` in another process, with settings of `Popen`."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "wug", *map(str, arguments)], **{**streams, **settings})
