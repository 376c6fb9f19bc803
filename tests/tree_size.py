"""Counts of the source tree: `python tests/tree_size.py` prints them, and tests/test_tree_size.py limits them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
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
    wide_functions: int
    """Functions with more than 8 parameters, `self` not counted."""
    tiny_modules: int
    """Modules of at most 70 lines that exactly one other module imports."""


def count(folder: Path = SOURCE) -> Counts:
    """The counts of all Python files below a folder."""
    paths = sorted(folder.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    names = Counter(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Counts(
        files=len(texts),
        lines=sum(text.count("\n") for text in texts),
        untyped=sum(len(re.findall(r": Any\b", text)) for text in texts),
        class_names_used_twice=sum(times > 1 for times in names.values()),
        long_modules=sum(text.count("\n") > 400 for text in texts),
        wide_functions=sum(_parameters(node) > 8 for tree in trees for node in ast.walk(tree)),
        tiny_modules=len(tiny_modules(dict(zip(paths, trees, strict=True)), folder)),
    )


def tiny_modules(trees: Mapping[Path, ast.Module], folder: Path) -> list[Path]:
    """The modules of at most 70 lines that exactly one other module imports."""
    importers: dict[str, set[Path]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers.setdefault(name, set()).add(path)
    found = []
    for path in trees:
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        small = path.read_text(encoding="utf-8").count("\n") <= 70
        if path.name != "__init__.py" and small and len(importers.get(name, set()) - {path}) == 1:
            found.append(path)
    return found


def _parameters(node: ast.AST) -> int:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len(given) - bool(given and given[0].arg in ("self", "cls"))


if __name__ == "__main__":
    counts = count()
    for name in Counts.__slots__:
        print(f"{name}: {getattr(counts, name):,}")
