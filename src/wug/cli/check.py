"""`wug check`: what is wrong with a file, all at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.types import Problem


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--kind", help="The family, where the content does not tell.")
@click.option("--strict", is_flag=True, help="Warnings count as faults.")
def command(files: tuple[str, ...], kind: str | None, strict: bool) -> int:
    """Find every fault and oddity of test material.

    FILE is a file, a folder, or a built-in name. Exit 0 when there is no fault, 1 otherwise.

    \b
    wug check my_suite.json
    wug check suites/ --strict
    """
    from wug.errors import InputError, SuiteError
    from wug.runs.opening import check_file, locate
    from wug.types import Problem

    faults = 0
    for path in [path for text in files for path in locate(text)]:
        try:
            problems = check_file(Path(path), kind)
        except SuiteError as error:
            problems = list(error.problems)
        except InputError as error:
            where = "" if error.file is None else error.place or ""
            problems = [Problem("error", where, error.message)]
        bad = [problem for problem in problems if problem.level == "error" or strict]
        faults += bool(bad)
        printing.echo(f"{path}: {_summary(problems)}")
        for problem in problems:
            printing.echo("\n".join(f"  {line}" for line in f"{problem.level}: {problem}".split("\n")))
    return 1 if faults else 0


def _summary(problems: list[Problem]) -> str:
    levels = [problem.level for problem in problems]
    counts = [(levels.count("error"), "fault"), (levels.count("warning"), "warning")]
    said = [f"{count} {word}{'s' * (count != 1)}" for count, word in counts if count]
    return ", ".join(said) or "good"
