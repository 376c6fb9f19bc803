"""`wug check`: what is wrong with a file, all at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.types import Problem


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--kind", help="The family, where the content does not tell.")
@click.option(
    "-S",
    "options",
    multiple=True,
    callback=common.pairs,
    metavar="KEY=VALUE",
    help="A scoring option, as of `wug run`; see `wug list suites --all`.",
)
@click.option("--strict", is_flag=True, help="Warnings count as faults.")
def command(files: tuple[str, ...], kind: str | None, options: dict[str, str], strict: bool) -> int:
    """Find every fault and oddity of test material.

    FILE is a file, a folder, or a built-in name. The predictions of a sound SyntaxGym suite are read back in English.
    Exit 0 when there is no fault, 1 otherwise.

    \b
    wug check my_suite.json
    wug check suites/ --strict
    wug check mine.csv -S good=acceptable -S bad=unacceptable
    """
    from wug.errors import InputError, SuiteError
    from wug.runs.opening import check_file, locate, read_back
    from wug.types import Problem

    faults = 0
    for path in [path for text in files for path in locate(text)]:
        meaning: list[str] = []
        try:
            problems = check_file(Path(path), kind, options)
            if not any(problem.level == "error" for problem in problems):
                meaning = read_back(Path(path), kind, options)
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
        for line in meaning:
            printing.echo(f"  {line}")
    return 1 if faults else 0


def _summary(problems: list[Problem]) -> str:
    levels = [problem.level for problem in problems]
    counts = [(levels.count("error"), "fault"), (levels.count("warning"), "warning")]
    said = [f"{count} {word}{'s' * (count != 1)}" for count, word in counts if count]
    return ", ".join(said) or "good"
