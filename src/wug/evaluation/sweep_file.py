"""Sweep files: models, suites and options of a sweep, as TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from wug import options as declared
from wug import registry, stats
from wug.configuration import is_text
from wug.errors import InputError, suggestion
from wug.files import parse_toml, read_text
from wug.types import PROPORTION_METHODS as METHODS

SEED = "{seed}"
"""The placeholder for seeds in a model's name."""


class Key(NamedTuple):
    """A key of a sweep file."""

    name: str
    values: str
    help: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class SweepFile:
    """The content of a sweep file."""

    models: tuple[str, ...]
    """Names, patterns and lists; a name with `{seed}` is repeated for each seed."""
    suites: tuple[str, ...]
    name: str | None = None
    seeds: tuple[int, ...] = ()
    model: Mapping[str, str] = field(default_factory=dict)
    """Options of the models, as -M."""
    suite: Mapping[str, str] = field(default_factory=dict)
    """Scoring options, as -S."""
    limit: int | None = None
    interval: stats.Method | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()


def read(path: Path) -> SweepFile:
    """Read a sweep file; InputError describes the first error."""
    data = parse_toml(read_text(path), path)
    known = {key.name: key for key in KEYS}
    for name, value in data.items():
        if name not in known:
            raise InputError(f"unknown key {name!r}.{suggestion(name, known)}", file=path)
        if not known[name].fits(value):
            meant = f" List {name}s under `{name}s`." if f"{name}s" in EXAMPLES else ""
            raise InputError(f"{name} is {known[name].values}, not {value!r}.{meant}", file=path)
    for name in ("models", "suites"):
        if not data.get(name):
            raise InputError(f"{name} is missing. Write {name} = {EXAMPLES[name]}", file=path)
    try:
        models = tuple(_seeded(data["models"], data.get("seeds", ())))
    except InputError as error:
        raise InputError(error.message, file=path) from None
    content: dict[str, Any] = {
        **data,
        **{name: tuple(data.get(name, ())) for name in ("suites", "seeds", "tags")},
        **{name: {k: declared.written(v) for k, v in data.get(name, {}).items()} for name in ("model", "suite")},
        "models": models,
    }
    return SweepFile(**content)


def _seeded(models: Iterable[str], seeds: Iterable[int]) -> Iterable[str]:
    """The models for each seed: in the name, or as the option of a model that samples."""
    for text in models:
        if SEED in text and not seeds:
            raise InputError(f"the model {text} has {SEED} in its name, but seeds is missing. Write seeds = [1, 2, 3]")
        if SEED in text:
            yield from (text.replace(SEED, str(seed)) for seed in seeds)
        elif not seeds:
            yield text
        elif "seed" in _options_of(text):
            yield from (f"{text}{'&' if '?' in text else '?'}seed={seed}" for seed in seeds)
        else:
            raise InputError(
                f"the model {text} has no option seed. Write {SEED} in its name, as in "
                f"causal:EleutherAI/pythia-70m-seed{SEED}@step*"
            )


def _options_of(model: str) -> list[str]:
    kind = model.partition(":")[0]
    return declared.names(registry.find("models", kind).OPTIONS) if kind in registry.names("models") else []


def _is_list(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(type(element) is kind for element in value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str | int | float | bool) for one in value.values())


EXAMPLES = {"models": '["causal:runs/*/checkpoint-*"]', "suites": '["blimp"]'}
KEYS = (
    Key("name", "a text", "name of the sweep  [default: that of the file]", is_text),
    Key("models", "a list of texts", "names, patterns and @lists, as for --model", _is_list(str)),
    Key("suites", "a list of texts", "files, folders, names", _is_list(str)),
    Key("seeds", "a list of whole numbers", f"values of {SEED} in a model's name", _is_list(int)),
    Key("model", "a table of options", "options of the models, as for -M", _is_table),
    Key("suite", "a table of options", "scoring options, as for -S", _is_table),
    Key("limit", "a whole number", "items per suite, as for --limit", lambda value: type(value) is int and value > 0),
    Key("interval", " or ".join(METHODS), "method for intervals of proportions", lambda value: value in METHODS),
    Key("kind", "a text", "the family, as for --kind", is_text),
    Key("tags", "a list of texts", "only suites with one of these tags, as for --tag", _is_list(str)),
)
