"""Fixtures of browser tests of the suite editor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from editing import begun
from job_helpers import shared


@pytest.fixture
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """All jobs run in one process."""
    monkeypatch.setattr("wug.web.jobs.JobQueue", shared)


@pytest.fixture
def begin(page: Any, served: Any) -> Callable[[str], Any]:
    """A function that opens a new suite in the editor, and returns its page."""

    def start(source: str = "2x2") -> Any:
        return begun(page, served.site, source)

    return start
