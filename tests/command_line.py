"""Runs the command line in the process of the test, and returns its output and exit code."""

from __future__ import annotations

import io
import json
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from wug.cli.main import main

Values = dict[tuple[str, str], float]
"""The value of each check and group."""


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

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


def wug(*arguments: object) -> Said:
    """What `wug ARGUMENTS` says."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGTERM)
    with patch.object(sys, "argv", ["wug", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            signal.signal(signal.SIGTERM, before)
    return Said(code, out.getvalue(), err.getvalue())


def refused(said: Said, *parts: str) -> None:
    """The command failed with one message that has these parts, and printed nothing else."""
    assert said.code in (1, 2), said
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "wug itself failed" not in said.err
    for part in parts:
        assert part in said.err, said.err
