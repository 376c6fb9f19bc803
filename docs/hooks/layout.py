"""Pages without neighbours need no list of them."""

from __future__ import annotations

from typing import Any

ALONE = ("index.md", "tutorial.md", "gallery.md")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave out the navigation beside the page; the tabs above it are enough."""
    if page.file.src_uri in ALONE:
        page.meta.setdefault("hide", ["navigation"])
    return markdown
