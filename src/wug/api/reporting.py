"""The report of results that Python holds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from wug.api.comparison import Comparison, compare
from wug.errors import InputError
from wug.files import user_path, write_text
from wug.runs.compare import Choice
from wug.types import Result

ITEMS = 20
"""Items that differ, listed for each check of a comparison."""

log = logging.getLogger("wug")


def report(results: Sequence[Result], path: str | Path, comparison: Comparison | None = None) -> None:
    """Write results, and how they compare, as one HTML page."""
    from wug.show import charts
    from wug.show.page import Report, render

    charts.require()
    compared = comparison or _compared(results)
    page = render([Report(result) for result in results], None if compared is None else compared.found)
    write_text(user_path(path), page)


def _compared(results: Sequence[Result]) -> Comparison | None:
    """Several models with the first; None where there is nothing to compare."""
    if len({result.model for result in results}) < 2:
        return None
    try:
        return compare(results, "model", Choice(items=ITEMS))
    except InputError as error:
        log.warning("the page has no comparison: %s", error)
        return None
