"""The folder is the registry: a module in `wug.models` is a backend, one in `wug.suites` a family.

Outsiders add theirs with the entry points `wug.models` and `wug.suites`. Listing names imports nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from types import ModuleType

from wug.errors import UnknownName


def names(folder: str) -> list[str]:
    """The names in a folder of wug (`models`, `suites`, …), with outsiders' added, sorted."""
    package = importlib.import_module(f"wug.{folder}")
    own = {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}
    return sorted(own | {entry.name for entry in entry_points(group=f"wug.{folder}")})


def find(folder: str, name: str) -> ModuleType:
    """The module `name` of a folder, or UnknownName with the nearest one."""
    known = names(folder)
    if name not in known:
        raise UnknownName(folder.rstrip("s").replace(".", " "), name, known)
    for entry in entry_points(group=f"wug.{folder}"):
        if entry.name == name:
            module: ModuleType = entry.load()
            return module
    return importlib.import_module(f"wug.{folder}.{name}")


def summary(folder: str, name: str) -> str:
    """The first line of the module's docstring."""
    return (find(folder, name).__doc__ or "").strip().split("\n")[0]
