"""The command line for fuzzing: an error of the operating system is raised like an internal error."""

from __future__ import annotations

from functools import partial

import command_line
from command_line import COMMAND_ERRORS

wug = partial(command_line.wug, printed_errors=COMMAND_ERRORS)
