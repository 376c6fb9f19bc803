"""Names that pages still import from here; the shelf is in `wug.runs.shelf`, the rest in `wug.rows`."""

from __future__ import annotations

from wug.rows import Filter, Page, Placed
from wug.runs.shelf import Shelf
from wug.runs.shelf import Summary as Kept

__all__ = ["Filter", "Kept", "Page", "Placed", "Shelf"]
