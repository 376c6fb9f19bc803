"""Hides the side navigation on pages that have no neighbours in their tab."""

from __future__ import annotations

from typing import Any

ALONE = ("index.md", "papers.md")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave out the side navigation; the tabs above the page are enough."""
    if page.file.src_uri in ALONE:
        page.meta.setdefault("hide", ["navigation"])
    return markdown
