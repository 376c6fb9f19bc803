"""`wug report`: a page to look at and to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.results.comparison import Comparison
    from wug.results.store import Store

ITEMS = 20
"""Items that differ, listed for each check of a comparison."""


@common.having(common.DB)
@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "-o", "--output", type=common.OUTPUT_FILE, default="report.html", show_default=True, help="The page, .html."
)
def command(runs: tuple[str, ...], output: Path, db: Path | None) -> None:
    """Write runs as one HTML page that opens anywhere, offline.

    RUN is a number, the beginning of a name, or last, which need not be said. Several runs are also compared with the
    first, item by item, where they share suites.

    \b
    wug report
    wug report 7 -o page.html
    wug report 7 8 9 -o models.html
    """
    from wug.results.run_names import numbers
    from wug.views import vega

    common.format_of(output, {".html": "html", ".htm": "html"})
    store = common.open_store(db)
    found = list(dict.fromkeys(numbers(store.reader, runs or ("last",))))
    common.write_page(store, found, _comparison(store, found), output)
    if not vega.can_draw():
        common.say("its charts are tables of numbers: pip install 'wug[report]' draws them")


def _comparison(store: Store, runs: list[int]) -> Comparison | None:
    """The runs against the first of them; None where there is nothing to compare."""
    from wug.errors import InputError
    from wug.results.comparison import Choice, compare

    if len(runs) < 2:
        return None
    try:
        return compare(store, [[number] for number in runs], Choice(items=ITEMS))
    except InputError as error:
        common.say(f"the page has no comparison: {error}")
        return None
