"""The reference of the Python API, drawn by mkdocstrings for the same names that docs/reference.md has."""

from __future__ import annotations

import re
from typing import Any

PAGE = "reference.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Every section below a name becomes what mkdocstrings makes of that name."""
    if page.file.src_uri != PAGE:
        return markdown
    return re.sub(r"^### (wug\.\w+)\n.*?(?=^##|\Z)", r"::: \1\n\n", markdown, flags=re.DOTALL | re.MULTILINE)
