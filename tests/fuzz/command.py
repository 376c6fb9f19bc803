"""The command line inside a process: what it writes as bytes, and how it ends. Internal errors come through."""

from __future__ import annotations

import io
import logging
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Said:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


def wug(*arguments: object, encoding: str = "utf-8") -> Said:
    """What `wug ARGUMENTS` says on a terminal, or into a file, of this encoding."""
    import click

    from wug.cli.main import main
    from wug.errors import WugError

    streams = [io.BytesIO(), io.BytesIO()]
    out, err = (
        io.TextIOWrapper(stream, encoding=encoding, errors=errors, write_through=True)
        for stream, errors in zip(streams, ("strict", "backslashreplace"), strict=True)  # as Python opens its own
    )
    code = 0
    before = signal.getsignal(signal.SIGTERM)
    with patch.object(sys, "argv", ["wug", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            # An internal error is made into a message there; the error itself is what led to the exit.
            if isinstance(end.__context__, Exception) and not isinstance(
                end.__context__, WugError | click.ClickException | click.exceptions.Abort
            ):
                raise end.__context__ from None
            code = end.code if isinstance(end.code, int) else 1
        finally:
            signal.signal(signal.SIGTERM, before)
            logging.getLogger("wug").handlers[:] = [logging.NullHandler()]
    written, said = (stream.getvalue().decode(encoding, "replace") for stream in streams)
    return Said(code, written, said)
