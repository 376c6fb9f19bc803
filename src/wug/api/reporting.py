"""The report of results that Python holds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from wug.api.comparison import Comparison, compare, results_in
from wug.errors import InputError
from wug.files import user_path, write_text
from wug.types import Result

ITEMS = 20
"""Items that differ, listed for each check of a comparison."""

log = logging.getLogger("wug")


SUFFIXES = (".html", ".htm")


def report(given: Result | Iterable[Result], path: str | Path, comparison: Comparison | None = None) -> None:
    """Write results, and how they compare, as one HTML page."""
    from wug.views import charts
    from wug.views.page import Report, render

    target, results = user_path(path), results_in(given)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError("a report is an HTML page: name the file .html", file=target)
    if comparison is not None and not isinstance(comparison, Comparison):
        raise InputError(f"comparison={comparison!r}: write wug.compare(…)")
    charts.require()
    compared = comparison or _compared(results)
    page = render([Report(result) for result in results], None if compared is None else compared.found)
    write_text(target, page)


def _compared(results: Sequence[Result]) -> Comparison | None:
    """Several models with the first; None where there is nothing to compare."""
    if len({result.model for result in results}) < 2:
        return None
    try:
        return compare(results, items=ITEMS)
    except InputError as error:
        log.warning("the page has no comparison: %s", error)
        return None
