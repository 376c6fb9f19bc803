"""The folder is the registry: a module in `wug.models` is a backend, a package in `wug.families` a family.

Other packages add backends, families, metrics, table formats and formats of other programs with the entry points
`wug.models`, `wug.families`, `wug.metrics`, `wug.views.writers`, `wug.exchange.readers` and `wug.exchange.writers`.
Listing names imports nothing. Entry points are looked up once per process.
"""

from __future__ import annotations

import functools
import importlib
import logging
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from wug.errors import BrokenPlugin, InputError, ModelError, UnknownName
from wug.identity import ModelId
from wug.interfaces import Backend, Family, TableFormat, implemented, traits_of
from wug.requests import IdentifiedModel
from wug.traits import BackendTraits, FamilyTraits

EXTENSIBLE_FOLDERS = ("families", "models", "metrics", "views.writers", "exchange.readers", "exchange.writers")
"""Folders to which other packages can add, with the entry points `wug.FOLDER`. There is no folder of metrics."""
NOUNS = {"families": "family"} | dict.fromkeys(("views.writers", "exchange.writers", "exchange.readers"), "format")


def names(folder: str) -> list[str]:
    """The names in a folder of wug (`models`, `families`, …) and those of entry points, sorted."""
    return sorted(_builtin(folder) | _entry_points(folder).keys())


def find(folder: str, name: str) -> ModuleType:
    """The module `name` of a folder; UnknownName with the nearest name if there is none."""
    outside = _entry_points(folder)
    if name in outside:
        return _loaded(outside[name])
    if name not in _builtin(folder):
        raise UnknownName(NOUNS.get(folder, folder.rstrip("s").replace(".", " ")), name, names(folder))
    return importlib.import_module(f"wug.{folder}.{name}")


def family(name: str) -> Family:
    """The family of a name; UnknownName with the nearest name if there is none."""
    return Family.of(name, find("families", name))


def families() -> list[Family]:
    """Every family that can be imported."""
    return [Family.of(name, module) for name, module in modules("families")]


def family_of(name: str) -> Family:
    """The family of a stored result; one that declares nothing if it is not installed, or broken."""
    return Family.of(name, _installed("families", name))


def family_traits(name: str) -> FamilyTraits:
    """The declared traits of a family; defaults for one that declares none, is unknown, or is broken."""
    return traits_of(_installed("families", name), FamilyTraits())


def backend(name: str) -> Backend:
    """The backend of a name; UnknownName with the nearest name if there is none."""
    return Backend.of(name, find("models", name))


def backends() -> list[Backend]:
    """Every backend that can be imported."""
    return [Backend.of(name, module) for name, module in modules("models")]


def backend_of(model: ModelId) -> Backend:
    """The backend of a stored result's model; one that declares nothing if it is not installed, or broken."""
    return Backend.of(model.backend, _installed("models", model.backend))


def traits(name: str) -> BackendTraits:
    """The declared traits of a backend; defaults for one that declares none, is unknown, or is broken."""
    return traits_of(_installed("models", name), BackendTraits())


def backend_with(fits: Callable[[BackendTraits], bool]) -> str | None:
    """The first backend whose traits fit, or None."""
    return next((backend.name for backend in backends() if fits(backend.TRAITS)), None)


def backend_of_config(config: Mapping[str, Any]) -> str | None:
    """The backend for the architecture that a config.json names; None if there is none."""
    architectures = config.get("architectures")
    names = [name for name in architectures if isinstance(name, str)] if isinstance(architectures, list) else []
    return backend_with(lambda traits: any(name.endswith(traits.architectures) for name in names))


def table_format(name: str) -> TableFormat:
    """The format of tables of a name; UnknownName with the nearest name if there is none."""
    return implemented(TableFormat, find("views.writers", name))


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


def _installed(folder: str, name: str) -> ModuleType:
    """The module of a name; an empty one if it is not installed, or broken."""
    try:
        return find(folder, name) if name in names(folder) else ModuleType(name)
    except BrokenPlugin:
        return ModuleType(name)


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
    return {entry.name: entry for entry in entry_points(group=f"wug.{folder}")} if folder in EXTENSIBLE_FOLDERS else {}


def sees_right_context(model: IdentifiedModel) -> bool:
    """Whether the words after a region affect its probability, as in masked models."""
    backend = traits(ModelId.parse(model.id).backend)
    return backend.sees_right_context or _has_options(model, backend.right_context_options)


def reads_sources(model: IdentifiedModel) -> bool:
    """Whether it scores a text as the output for its source: an encoder–decoder opened for that."""
    return _has_options(model, traits(ModelId.parse(model.id).backend).source_options)


def _has_options(model: IdentifiedModel, options: Mapping[str, str]) -> bool:
    return bool(options) and options.items() <= model.options.items()
