"""`wug report`: a page to look at and to send."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=int, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The page.",
)
@common.db_option
def command(runs: tuple[int, ...], output: Path, db: Path | None) -> None:
    """Write runs as one HTML page that opens anywhere, without a network.

    \b
    wug report 7 -o page.html
    wug report 7 8 9 -o models.html
    """
    from wug.files import write_text
    from wug.report.page import Report, render
    from wug.runs.store import Store

    store = Store(db or common.default_db())
    reports = [
        Report(result, run=number, command=store.run(number).command, created=store.run(number).started)
        for number in runs
        for result in store.results(number)
    ]
    write_text(output, render(reports))
    common.say(f"wrote {output}")
