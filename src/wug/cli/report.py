"""`wug report`: a page to look at and to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE
from wug.files import format_of
from wug.views import vega

if TYPE_CHECKING:
    from wug.results.contrasts import RunComparison
    from wug.results.store import Store


@common.with_options(common.STORE)
@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("-o", "--output", type=OUTPUT_FILE, default="report.html", show_default=True, help="Output file, .html.")
def command(runs: tuple[str, ...], output: Path, store_path: Path) -> None:
    """Write runs as one HTML page that opens anywhere, offline.

    RUN is a number, the beginning of a name, or last (the default). Several runs are also compared with the first, item
    by item, on shared suites.

    \b
    wug report
    wug report 1 -o page.html
    wug report 1 2 -o models.html
    """
    from wug.results.run_admin import numbers

    format_of(output, {".html": "html", ".htm": "html"})
    store = common.open_store(store_path)
    run_numbers = list(dict.fromkeys(numbers(store.reader, runs or ("last",))))
    common.write_page(store, run_numbers, _comparison(store, run_numbers), output)
    if not vega.can_draw():
        common.notify("charts are shown as tables of numbers: pip install 'wug[report]' to draw them")


def _comparison(store: Store, runs: list[int]) -> RunComparison | None:
    from wug.results.comparison import ComparisonSettings, compare
    from wug.views.comparison import DIFFERING_ITEMS

    if len(runs) < 2:
        return None
    try:
        return compare(store, [[number] for number in runs], ComparisonSettings(items=DIFFERING_ITEMS))
    except InputError as error:
        common.notify(f"the page has no comparison: {error}")
        return None
