"""Fixtures of tests of families' views: the report of the module's fixture `result`."""

from __future__ import annotations

import pytest

from html_helpers import Seen, read
from wug.outcomes import Result
from wug.views.report import ReportedResult, render


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    """The report as HTML."""
    return render([ReportedResult(result, run=7)])


@pytest.fixture(scope="module")
def seen(page: str) -> Seen:
    """The elements of the report."""
    return read(page)
