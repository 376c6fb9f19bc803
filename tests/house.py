"""Counts of the source tree: `python tests/house.py` prints them, and tests/test_house.py keeps them from growing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wug"


@dataclass(frozen=True, slots=True)
class Counts:
    """What is counted."""

    files: int
    lines: int
    untyped: int
    """Annotations that are `Any`."""
    class_names_used_twice: int
    long_modules: int
    """Modules of more than 400 lines."""


def count(folder: Path = SOURCE) -> Counts:
    """The counts of all Python files below a folder."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    names = Counter(
        node.name
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Counts(
        files=len(texts),
        lines=sum(text.count("\n") for text in texts),
        untyped=sum(len(re.findall(r": Any\b", text)) for text in texts),
        class_names_used_twice=sum(times > 1 for times in names.values()),
        long_modules=sum(text.count("\n") > 400 for text in texts),
    )


if __name__ == "__main__":
    print(count())
