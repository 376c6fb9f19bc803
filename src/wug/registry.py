"""The folder is the registry: a module in `wug.models` is a backend, a package in `wug.families` a family.

Other packages add backends, families, metrics, table formats and formats of other programs with the entry points
`wug.models`, `wug.families`, `wug.metrics`, `wug.views.writers`, `wug.exchange.readers` and `wug.exchange.writers`.
Listing names imports nothing. Entry points are looked up once per process.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from wug.errors import BrokenPlugin, InputError, ModelError, UnknownName
from wug.identity import ModelId
from wug.types import FamilyTraits, IdentifiedModel, Traits

EXTENSIBLE = ("families", "models", "metrics", "views.writers", "exchange.readers", "exchange.writers")
"""Folders to which other packages can add, with the entry points `wug.FOLDER`. There is no folder of metrics."""
SINGULAR = {"families": "family"} | dict.fromkeys(("views.writers", "exchange.writers", "exchange.readers"), "format")


def names(folder: str) -> list[str]:
    """The names in a folder of wug (`models`, `families`, …) and those of entry points, sorted."""
    return sorted(_builtin(folder) | _entry_points(folder).keys())


def find(folder: str, name: str) -> ModuleType:
    """The module `name` of a folder; UnknownName with the nearest name if there is none."""
    outside = _entry_points(folder)
    if name in outside:
        return _loaded(outside[name])
    if name not in _builtin(folder):
        raise UnknownName(SINGULAR.get(folder, folder.rstrip("s").replace(".", " ")), name, names(folder))
    return importlib.import_module(f"wug.{folder}.{name}")


def attribute(folder: str, name: str, what: str) -> Any:
    """The attribute `what` of a module; None if it has none, is not installed, or is broken."""
    is_there = name in _builtin(folder) or name in _entry_points(folder)
    try:
        return getattr(find(folder, name), what, None) if is_there else None
    except BrokenPlugin:
        return None


def submodule(module: ModuleType, name: str) -> ModuleType | None:
    """The module `name` inside a package; None if there is none."""
    full_name = f"{module.__name__}.{name}"
    is_there = hasattr(module, "__path__") and importlib.util.find_spec(full_name) is not None
    return importlib.import_module(full_name) if is_there else None


def traits(backend: str) -> Traits:
    """The declared traits of a backend; defaults for one that declares none, is unknown, or is broken."""
    declared = attribute("models", backend, "TRAITS")
    return declared if isinstance(declared, Traits) else Traits()


def family_traits(family: str) -> FamilyTraits:
    """The declared traits of a family; defaults for one that declares none, is unknown, or is broken."""
    declared = attribute("families", family, "TRAITS")
    return declared if isinstance(declared, FamilyTraits) else FamilyTraits()


def all_family_traits() -> dict[str, FamilyTraits]:
    """The declared traits of every family, by its name."""
    declared = attributes("families", "TRAITS").items()
    return {name: traits for name, traits in declared if isinstance(traits, FamilyTraits)}


def backend_with(fits: Callable[[Traits], bool]) -> str | None:
    """The first backend whose traits fit, or None."""
    return next((name for name, module in modules("models") if fits(getattr(module, "TRAITS", Traits()))), None)


def attributes(folder: str, what: str) -> dict[str, Any]:
    """The attribute `what` of every module that has it, by the module's name."""
    return {name: vars(module)[what] for name, module in modules(folder) if what in vars(module)}


def modules(folder: str) -> Iterator[tuple[str, ModuleType]]:
    """Every name of a folder with its module; a broken plugin is logged once and left out."""
    for name in names(folder):
        try:
            yield name, find(folder, name)
        except BrokenPlugin as error:
            _warn_once(str(error))


def plugin(group: str, name: str) -> object:
    """What another package offers under a name in an entry point group that wug itself has nothing in."""
    offered = _entry_points(group)
    if name not in offered:
        raise UnknownName(group.rstrip("s"), name, offered)
    return _loaded(offered[name])


def imported(name: str) -> object:
    """An attribute of a module that is installed, or in the current folder: `my_module:name`."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InputError(f"{name}: write the module and the function, such as my_module:score")
    if "" not in sys.path and "." not in sys.path:
        sys.path.append(".")
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # whatever the user's module raises
        raise ModelError(f"{name}: {module} cannot be imported: {error}") from error
    if not hasattr(loaded, attribute):
        raise UnknownName(f"function of {module}", attribute, vars(loaded))
    return getattr(loaded, attribute)


def summary(folder: str, name: str) -> str:
    """The first line of the module's docstring."""
    return (find(folder, name).__doc__ or "").strip().split("\n")[0]


def _loaded(entry: EntryPoint) -> ModuleType:
    try:
        module: ModuleType = entry.load()
    except Exception as error:  # whatever another package's code raises
        raise BrokenPlugin(entry.name, entry.dist.name if entry.dist else entry.value, error) from error
    return module


@functools.cache
def _warn_once(text: str) -> None:
    logging.getLogger("wug").warning("%s", text)


@functools.cache
def _builtin(folder: str) -> frozenset[str]:
    package = importlib.import_module(f"wug.{folder}")
    modules_of_folder = pkgutil.iter_modules(package.__path__)
    shared: frozenset[str] = getattr(package, "SHARED", frozenset())
    # In `families`, modules are shared code, and packages are families.
    public = (m for m in modules_of_folder if not m.name.startswith("_") and m.name not in shared)
    return frozenset(m.name for m in public if m.ispkg or folder != "families")


@functools.cache
def _entry_points(folder: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"wug.{folder}")} if folder in EXTENSIBLE else {}


def sees_right_context(model: IdentifiedModel) -> bool:
    """Whether the words after a region affect its probability, as in masked models."""
    if model.options.get("score") == "spans":  # an encoder–decoder that fills in spans
        return True
    return traits(ModelId.parse(model.id).kind).sees_right_context
