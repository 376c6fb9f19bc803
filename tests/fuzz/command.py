"""The command line inside a process: what it writes as bytes, and how it ends. Internal errors come through."""

from __future__ import annotations

import io
import logging
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
    """What `wug ARGUMENTS` says on a terminal or into a file of this encoding."""
    import click

    from wug.cli.main import cli
    from wug.errors import WugError

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=way) for way in ("strict", "backslashreplace"))
    given = [str(argument) for argument in arguments]
    with patch.object(sys, "argv", ["wug", *given]), redirect_stdout(out), redirect_stderr(err):
        try:
            code = cli.main(given, prog_name="wug", standalone_mode=False)
            code = code if isinstance(code, int) else 0
        except WugError as error:
            print(f"error: {error}", file=sys.stderr)
            code = 1
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            logging.getLogger("wug").handlers[:] = [logging.NullHandler()]
        out.flush()
        err.flush()
    written, said = (stream.buffer.getvalue().decode(encoding, "replace") for stream in (out, err))  # type: ignore[attr-defined]
    return Said(code, written, said)
