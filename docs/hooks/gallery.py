"""The figures of the gallery, drawn at build time from built-in suites and models."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import Files


def on_files(files: Files, config: Any, **_: Any) -> Files:
    return files
