"""The Python reference, rendered by mkdocstrings for the names in docs/reference.md."""

from __future__ import annotations

import re
from typing import Any

PAGE = "reference.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the section of every name by the output of mkdocstrings."""
    if page.file.src_uri != PAGE:
        return markdown
    return re.sub(r"^### (wug\.\w+)\n.*?(?=^##|\Z)", r"::: \1\n\n", markdown, flags=re.DOTALL | re.MULTILINE)
