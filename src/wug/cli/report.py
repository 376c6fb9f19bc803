"""`wug report`: a page to look at and to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.runs.compare import Comparison
    from wug.runs.store import Store

ITEMS = 20
"""Items that differ, listed for each check of a comparison."""


@common.having(common.DB)
@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=int, metavar="RUN...")
@click.option("-o", "--output", type=common.FILE, default="report.html", show_default=True, help="The page.")
def command(runs: tuple[int, ...], output: Path, db: Path | None) -> None:
    """Write runs as one HTML page that opens anywhere, without a network.

    Several runs are also compared with the first, item by item, where they share suites.

    \b
    wug report 7 -o page.html
    wug report 7 8 9 -o models.html
    """
    from wug.runs.store import Store
    from wug.show import charts

    charts.require()
    store = Store(db or common.default_db())
    common.write_page(store, runs, _comparison(store, list(dict.fromkeys(runs))), output)


def _comparison(store: Store, runs: list[int]) -> Comparison | None:
    """The runs against the first of them; None where there is nothing to compare."""
    from wug.errors import InputError
    from wug.runs.compare import Choice, compare

    if len(runs) < 2:
        return None
    try:
        return compare(store, [[number] for number in runs], Choice(items=ITEMS))
    except InputError as error:
        common.say(f"the page has no comparison: {error}")
        return None
