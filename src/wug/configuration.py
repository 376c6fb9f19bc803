"""Defaults of the command line: `wug.toml`, here or in the user's config folder, and where files are kept.

Python uses those of the file where it says so: `wug.config()`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.arguments import members, public
from wug.errors import InputError, suggestion
from wug.files import parse_toml, read_text
from wug.labels import short_names
from wug.outcomes import Result
from wug.tables import format_named, format_names

FILE = "wug.toml"


def is_text(value: Any) -> bool:
    """Whether a value of a file is a text with more than blanks."""
    return isinstance(value, str) and bool(value.strip())


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_text, value.values()))


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A key of a TOML file of wug."""

    name: str
    values: str
    help: str
    fits: Callable[[Any], bool] = is_text
    variable: str = ""
    """The environment variable that has precedence over the file."""
    is_path: bool = False
    """Whether it is a path, relative to the folder of the file."""
    fix: str = ""
    """What to do about a wrong value, for the end of its message."""


KEYS = (
    ConfigKey(
        "model",
        "a name or a list of names",
        "--model of wug run and wug surprisal",
        lambda value: is_text(value) or (isinstance(value, list) and bool(value) and all(map(is_text, value))),
        "WUG_MODEL",
    ),
    ConfigKey("device", "text", "--device", variable="WUG_DEVICE"),
    ConfigKey("store", "a path", "--store: the folder of the run store", variable="WUG_STORE", is_path=True),
    ConfigKey("cache", "a path", "--cache: the file of model outputs", variable="WUG_CACHE", is_path=True),
    ConfigKey(
        "format",
        f"one of {', '.join(format_names())}",
        "--format",
        lambda value: isinstance(value, str) and format_named(value) is not None,
        "WUG_FORMAT",
    ),
    ConfigKey("labels", "a table of names by model", "names of models in tables and charts", _is_table),
)


def default_store() -> Path:
    """The store in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("wug", appauthor=False) / "store"


def default_cache() -> Path:
    """The output cache in the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("wug", appauthor=False) / "answers.db"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A value, and where it is from."""

    value: Any
    source: str
    """A file, an environment variable, or `default`."""


def read_keys(path: Path, keys: Iterable[ConfigKey]) -> dict[str, Any]:
    """The values in a TOML file; InputError for an unknown key or a wrong value."""
    known = {key.name: key for key in keys}
    values = parse_toml(read_text(path), path)
    for name, value in values.items():
        if name not in known:
            raise InputError(f"unknown key {name!r}.{suggestion(name, known)}", file=path)
        key = known[name]
        if not key.fits(value):
            raise InputError(f"{name} is {key.values}, not {value!r}{key.fix}", file=path)
        if key.is_path:
            values[name] = str(path.parent / Path(value).expanduser())
    return values


def read_config() -> dict[str, ConfigValue]:
    """The values in configuration files: the user's, and the one in the current folder, which has precedence."""
    from platformdirs import user_config_path

    values: dict[str, ConfigValue] = {}
    for path in (user_config_path("wug", appauthor=False) / FILE, Path(FILE)):
        if path.is_file():
            values |= {name: ConfigValue(value, str(path)) for name, value in read_keys(path, KEYS).items()}
    return values


def settings() -> dict[str, ConfigValue]:
    """The value of every key, from the environment, a file, or the defaults."""
    from_files = read_config()
    values = {}
    for key in KEYS:
        text = os.environ.get(key.variable) if key.variable else None
        if text:
            values[key.name] = ConfigValue(text, f"environment ({key.variable})")
        else:
            values[key.name] = from_files.get(key.name, ConfigValue(None, "default"))
    return values


@members(public)
@dataclass(frozen=True, slots=True)
class Config:
    """The defaults in wug.toml and the environment; None where none is set.

    Examples:
        >>> wug.config().labels_for([])
        {}
    """

    models: list[str] | None
    """Names for `wug.run(suites, models)`."""
    device: str | None
    """For `wug.open_model(name, device=…)`."""
    store: Path | None
    cache: Path | None
    labels: Mapping[str, str]
    """Names of models in tables and charts, by id or short name."""

    def labels_for(self, results: Iterable[Result]) -> dict[str, str]:
        """The labels of the models in some results, for `results.plot(labels=…)`."""
        names = short_names(result.model for result in results)
        return {key: label for key, label in self.labels.items() if key in {*names, *names.values()}}


@public
def config() -> Config:
    """Read the defaults of the command line: wug.toml in the current folder or the user's, and the environment.

    Functions use them only if you pass them, so that a script does not depend on the folder it runs in.

    Returns:
        The defaults; None where none is set.

    Raises:
        WugError: If a file has an unknown key or a wrong value.

    Examples:
        >>> defaults = wug.config()
        >>> results = wug.run("wug_coord", defaults.models, limit=4, cache=defaults.cache)
    """
    values = settings()
    model, store, cache = (values[name].value for name in ("model", "store", "cache"))
    several = values["model"].source.startswith("environment")  # separated by spaces, as click reads them
    return Config(
        models=model.split() if several else [model] if isinstance(model, str) else model,
        device=values["device"].value,
        store=None if store is None else Path(store),
        cache=None if cache is None else Path(cache),
        labels=values["labels"].value or {},
    )
