"""Copies files of the repository that pages link to into the site, so that no link leads out of it.

Comments that tell the tests how to run a block are removed as well.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "repository/"
_LINK = re.compile(r"(?<=\]\()(?P<target>(?!https?:|mailto:|#)[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
_COMMENT = re.compile(r"^<!-- (not run|setup|exit)\b.*?-->\n", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a copy of each file of the repository that a page links to."""
    waiting = [(f"docs/{file.src_uri}", file.content_string) for file in files if file.src_uri.endswith(".md")]
    while waiting:
        page, text = waiting.pop()
        for found in _LINK.finditer(text):
            path = _outside(page, found["target"])
            if path is None or files.get_file_from_path(PREFIX + path):
                continue
            content = (ROOT / path).read_bytes()
            files.append(File.generated(config, PREFIX + path, content=content if _binary(path) else content.decode()))
            if path.endswith(".md"):
                waiting.append((path, content.decode()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave the documentation to the copies."""
    uri: str = page.file.src_uri
    place = uri.removeprefix(PREFIX) if uri.startswith(PREFIX) else f"docs/{uri}"

    def turned(found: re.Match[str]) -> str:
        path = _outside(place, found["target"])
        target = PREFIX + path if path else _inside(place, found["target"])
        if not target or not (uri.startswith(PREFIX) or path):
            return found[0]
        return posixpath.relpath(target, posixpath.dirname(uri) or ".") + (found["anchor"] or "")

    return _COMMENT.sub("", _LINK.sub(turned, markdown))


def _inside(page: str, target: str) -> str | None:
    """The page of the documentation that a link leads to."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def _outside(page: str, target: str) -> str | None:
    """The file of the repository that a link leads to, if it is not a page of the documentation."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    if path.startswith("docs/") and not path.endswith((".py", ".ipynb")):
        return None
    if (ROOT / path).is_dir():
        path += "/README.md"
    return path if (ROOT / path).is_file() else None


def _binary(path: str) -> bool:
    return path.endswith((".png", ".gz", ".db"))
