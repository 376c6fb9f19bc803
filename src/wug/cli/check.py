"""`wug check`: find all errors in test data."""

from __future__ import annotations

from collections.abc import Sequence

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.formatting import plural
from wug.types import Problem


@common.with_options(common.KIND, common.SUITE_OPTIONS)
@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def command(files: tuple[str, ...], kind: str | None, suite_options: dict[str, str], strict: bool) -> int:
    """Find all errors in test data, with their locations and fixes.

    FILE is a file, a folder, or a built-in name. The predictions of a valid SyntaxGym suite are printed in English.
    Exits with 0 if there is no error, 1 otherwise.

    \b
    wug check my_suite.json
    wug check suites/ --strict
    wug check mine.csv -S good=acceptable -S bad=unacceptable
    """
    from wug.evaluation.opening import check_place, find_suites, refuse_unknown_options

    words = [find_suites(text, kind, suite_options) for text in files]
    places = [place for one in words for place in one.places]
    refuse_unknown_options(places, kind, suite_options)
    errors = 0
    for place in places:
        found = check_place(place, kind, suite_options)
        errors += any(problem.level == "error" or strict for problem in found.problems)
        total = f" ({plural(sum(found.counts.values()), 'item')})" if len(found.counts) == 1 else ""
        printing.echo(f"{place.path}: {_summary(found.problems)}{total}")
        for problem in found.problems:
            printing.echo("\n".join(f"  {line}" for line in f"{problem.level}: {problem}".split("\n")))
        for file, items in found.counts.items() if not total else ():
            printing.echo(f"  {file}: {plural(items, 'item')}")
        for line in found.meaning:
            printing.echo(f"  {line}")
    for one in words:
        errors += bool(one.unread and strict)
        for path, why in one.unread.items():
            printing.echo(f"{path}: 1 warning\n  warning: not read: {why}")
        for path, why in one.ignored.items():
            printing.echo(f"{path}: left out: {why}")
    return 1 if errors else 0


def _summary(problems: Sequence[Problem]) -> str:
    levels = [problem.level for problem in problems]
    counts = [(levels.count("error"), "error"), (levels.count("warning"), "warning")]
    said = [plural(count, word) for count, word in counts if count]
    return ", ".join(said) or "good"
