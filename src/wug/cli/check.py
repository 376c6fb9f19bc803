"""`wug check`: find all errors in test data."""

from __future__ import annotations

from collections.abc import Sequence

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.formatting import plural
from wug.problems import Problem


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
    from wug.evaluation.checking import check_location
    from wug.evaluation.suites import find_suites, refuse_unknown_options

    matches = [find_suites(text, kind, suite_options) for text in files]
    locations = [location for match in matches for location in match.locations]
    refuse_unknown_options(locations, kind, suite_options)
    errors = 0
    for location in locations:
        report = check_location(location, kind, suite_options)
        errors += any(problem.level == "error" or strict for problem in report.problems)
        total = f" ({plural(sum(report.counts.values()), 'item')})" if len(report.counts) == 1 else ""
        printing.print_text(f"{location.path}: {_summary(report.problems)}{total}")
        for problem in report.problems:
            printing.print_text("\n".join(f"  {line}" for line in f"{problem.level}: {problem}".split("\n")))
        for file, items in report.counts.items() if not total else ():
            printing.print_text(f"  {file}: {plural(items, 'item')}")
        for line in report.meaning:
            printing.print_text(f"  {line}")
    for match in matches:
        errors += bool(match.unread and strict)
        for path, reason in match.unread.items():
            printing.print_text(f"{path}: 1 warning\n  warning: not read: {reason}")
        for path, reason in match.ignored.items():
            printing.print_text(f"{path}: left out: {reason}")
    return 1 if errors else 0


def _summary(problems: Sequence[Problem]) -> str:
    levels = [problem.level for problem in problems]
    counts = [(levels.count("error"), "error"), (levels.count("warning"), "warning")]
    parts = [plural(count, word) for count, word in counts if count]
    return ", ".join(parts) or "good"
