"""Every control of every page is reached by keyboard, its focus is seen, and nothing keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import every_page
import tabbing
from browsing import Served
from patience import PATIENCE


@pytest.fixture(scope="module")
def browsed(chromium: Any, everything: Served) -> Iterator[Any]:
    """A page of the browser on the site with everything."""
    context = chromium.new_context(
        base_url=everything.address, reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(1000 * PATIENCE)
    everything.let_in(context)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("address", every_page.PAGES)
def test_every_control_is_reached_by_tab_and_its_focus_is_seen(browsed: Any, address: str) -> None:
    assert tabbing.faults(every_page.visit(browsed, address)) == []
