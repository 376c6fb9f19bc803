"""`wug` as a program of its own, which ends as soon as it is done."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn

from wug.cli.main import main


def program() -> NoReturn:
    """Run the command line, and end the process with its code."""
    try:
        main()
    except SystemExit as said:
        if isinstance(said.code, int) and "torch" in sys.modules:
            _end(said.code)
        raise


def _end(code: int) -> None:
    """End the process, without a second in which Python takes apart all that torch and transformers brought along.

    Before that, as at every end, threads are waited for and all is called that wants to be. Where something cannot be
    written this returns: Python says so in its own way.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)
